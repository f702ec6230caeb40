"""Help for the exercise on the classifier: small bodies, and what is looked at in an answer."""

import torch
from torch import nn

from tlcourse.exercises.expect import CheckFailed, expect_shape, short
from tlcourse.transformer import Config, Transformer


def body_of(causal=True, width=8):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        body = Transformer(Config(30, width, 2, 2, 16, max_length=16, causal=causal))
        for parameter in body.parameters():
            nn.init.normal_(parameter, std=0.5)
    return body


def padded(lengths, length):
    drawn = torch.Generator().manual_seed(2)
    mask = torch.arange(length) < torch.tensor(lengths)[:, None]
    return torch.randint(6, 30, mask.shape, generator=drawn).masked_fill(~mask, 0), mask


def built(candidate, body, labels, dropout=0.0):
    """The candidate's classifier, whose draws do not matter to others."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = candidate(body, labels, dropout)
    if not isinstance(made, nn.Module) or not isinstance(getattr(made, "head", None), nn.Linear):
        raise CheckFailed("expected a class of `nn.Module` with a part `head`, an `nn.Linear`.")
    if not isinstance(getattr(made, "dropout", None), nn.Dropout):
        raise CheckFailed("expected a part `dropout`, an `nn.Dropout`.")
    if made.dropout.p != dropout:
        raise CheckFailed(f"with `dropout={dropout}` the part `dropout` drops {made.dropout.p:g}.")
    if (kept := getattr(made, "body", None)) is not body:
        raise CheckFailed(f"expected `body` as it was handed in; got {short(kept)}.")
    return made


def parts(candidate, labels):
    """The shape of the head, and the names of the parameters that are new."""
    made = built(candidate, body_of(), labels)
    new = {name for name, _ in made.named_parameters() if not name.startswith("body.")}
    return list(made.head.weight.shape), sorted(new)


def shape(candidate, lengths, labels):
    tokens, mask = padded(lengths, max(lengths))
    got = built(candidate, body_of(), labels)(tokens, mask)
    expect_shape(got, (len(lengths), labels), f"{len(lengths)} texts, {labels} labels",
                 "One row of logits for each text.")  # fmt: skip
    return tuple(got.shape)


def start(candidate):
    """Whether the head starts small: its standard deviation, roughly, and its bias."""
    head = built(candidate, body_of(width=64), 40).head
    return round(head.weight.std().item(), 2), head.bias.abs().max().item()


def logits(candidate, lengths, length, causal):
    """The logits of a head whose numbers are known, in evaluation mode."""
    made = built(candidate, body_of(causal), 4)
    with torch.no_grad():
        made.head.weight.copy_(torch.linspace(-1, 1, 32).reshape(4, 8))
        made.head.bias.copy_(torch.arange(4.0))
        return made.eval()(*padded(lengths, length))


def truth(lengths, length, causal):
    """The same, each text alone and without a pad."""
    (tokens, mask), body = padded(lengths, length), body_of(causal).eval()
    weight, bias = torch.linspace(-1, 1, 32).reshape(4, 8), torch.arange(4.0)
    with torch.no_grad():
        last = [body.hidden(row[keep][None])[0, -1] for row, keep in zip(tokens, mask, strict=True)]
        return torch.stack([weight @ each + bias for each in last])


def learns(candidate):
    """Whether a gradient reaches the body."""
    body = body_of()
    logits = built(candidate, body, 4)(*padded([5, 3], 5))
    if logits.requires_grad:
        logits.square().sum().backward()
    return any(each.grad is not None and bool(each.grad.any()) for each in body.parameters())


def dropping(candidate, dropout):
    """Whether two passes differ while it trains, and while it does not."""
    made, found = built(candidate, body_of(), 4, dropout), []
    with torch.random.fork_rng(devices=[]):
        for mode in (True, False):
            torch.manual_seed(1)
            made.train(mode)
            nn.init.normal_(made.head.weight)
            one, other = (made(*padded([5, 3], 5)) for _ in range(2))
            found.append(not torch.equal(one, other))
    return found


def zeros(candidate):
    """The share of logits that are exactly 0 while half is dropped: none of them should be."""
    made = built(candidate, body_of(), 50, 0.5).train()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return round((made(*padded([5, 3], 5)) == 0).float().mean().item(), 1)
