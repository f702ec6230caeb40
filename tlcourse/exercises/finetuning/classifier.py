"""Lesson 04: a classifier, which is a body, a pooling and a linear layer."""

import torch
from torch import nn

from tlcourse.exercises.expect import (
    CheckFailed,
    defaults,
    expect_equal,
    expect_shape,
    expect_type,
    short,
)
from tlcourse.exercises.finetuning.last_token import last_token
from tlcourse.exercises.task import Exercise, case
from tlcourse.transformer import Config, Transformer


def body_of(causal=True, width=8):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        body = Transformer(Config(30, width, 2, 2, 16, max_length=16, causal=causal))
        for parameter in body.parameters():
            nn.init.normal_(parameter, std=0.5)
    return body


def padded(lengths, length):
    """Drawn tokens, and the mask of texts of these lengths."""
    draw = torch.Generator().manual_seed(2)
    mask = torch.arange(length) < torch.tensor(lengths)[:, None]
    return torch.randint(6, 30, mask.shape, generator=draw).masked_fill(~mask, 0), mask


def built(candidate, body, labels, dropout=0.0):
    """The candidate's classifier; raises CheckFailed where a part is not what it should be."""
    torch.manual_seed(0)
    made = candidate(body, labels, dropout)
    expect_type(made, nn.Module, "what your class makes")
    expect_type(getattr(made, "head", None), nn.Linear, "the part `head`")
    expect_type(getattr(made, "dropout", None), nn.Dropout, "the part `dropout`")
    expect_equal(made.dropout.p, dropout, f"how much is dropped with `dropout={dropout}`")
    if (kept := getattr(made, "body", None)) is not body:
        due = "the very module that is handed in"
        raise CheckFailed(check="the part `body`", yours=short(kept), expected=due)
    return made


def new_parameters(candidate, labels):
    """The shapes of all parameters that are not the body's."""
    named = built(candidate, body_of(), labels).named_parameters()
    return {name: list(each.shape) for name, each in named if not name.startswith("body.")}


def of_new_head(candidate, statistic):
    return statistic(built(candidate, body_of(width=64), 40).head)


def shape(candidate, lengths, labels):
    got = built(candidate, body_of(), labels)(*padded(lengths, max(lengths)))
    if not hasattr(got, "shape"):
        expect_shape(got, (len(lengths), labels), f"{len(lengths)} texts, {labels} labels")
    return tuple(got.shape)


def logits(candidate, lengths, length, causal):
    """The logits of a head with known weights, in evaluation mode."""
    made = built(candidate, body_of(causal), 4)
    with torch.no_grad():
        made.head.weight.copy_(torch.linspace(-1, 1, 32).reshape(4, 8))
        made.head.bias.copy_(torch.arange(4.0))
        return made.eval()(*padded(lengths, length))


def learns(candidate):
    """Whether a gradient reaches the body."""
    body = body_of()
    got = built(candidate, body, 4)(*padded([5, 3], 5))
    if got.requires_grad:
        got.square().sum().backward()
    return any(each.grad is not None and bool(each.grad.any()) for each in body.parameters())


def differing(candidate, training):
    """Whether two passes with a dropout of 0.5 differ."""
    made = built(candidate, body_of(), 4, 0.5).train(training)
    nn.init.normal_(made.head.weight)
    one, other = (made(*padded([5, 3], 5)) for _ in range(2))
    return not torch.equal(one, other)


def zeros(candidate):
    """The share of logits that are 0 with a dropout of 0.5."""
    made = built(candidate, body_of(), 50, 0.5).train()
    return round((made(*padded([5, 3], 5)) == 0).float().mean().item(), 1)


task = Exercise(
    __name__,
    number="4.3",
    title="The classifier",
    difficulty=2,
    importance=5,
    minutes=10,
    hints=(
        "`__init__` keeps `body` as it is and makes two modules: `nn.Dropout(dropout)` and "
        "`nn.Linear(body.config.width, labels)`.",
        "`forward` has three steps: `self.body.hidden(tokens, mask)`, `last_token(hidden, mask)`, "
        "and the head of the dropout of that.",
        "`nn.init.normal_(self.head.weight, std=0.02)` and `nn.init.zeros_(self.head.bias)`; no "
        "softmax, since the loss takes logits.",
    ),
    imports="import torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    builds_on=("finetuning.last_token",),
    measure=logits,
    tolerance=1e-4,
)


@task.reference
class Classifier(nn.Module):
    """(batch, length) tokens and mask to (batch, labels) logits."""

    def __init__(self, body, labels, dropout=0.1):
        super().__init__()
        self.body, self.dropout = body, nn.Dropout(dropout)
        self.head = nn.Linear(body.config.width, labels)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, tokens, mask):
        hidden = self.body.hidden(tokens, mask)
        return self.head(self.dropout(last_token(hidden, mask)))


@task.truth
def each_text_alone(lengths, length, causal):
    (tokens, mask), body = padded(lengths, length), body_of(causal).eval()
    weight, bias = torch.linspace(-1, 1, 32).reshape(4, 8), torch.arange(4.0)
    with torch.no_grad():
        last = [body.hidden(row[keep][None])[0, -1] for row, keep in zip(tokens, mask, strict=True)]
        return torch.stack([weight @ each + bias for each in last])


task.stage(
    "its parts",
    *(
        case(
            f"the parameters that are new, for a body of width 8 and {labels} labels",
            labels,
            expected={"head.weight": [labels, 8], "head.bias": [labels]},
            measure=new_parameters,
            hint="Only the head is new: `nn.Linear(body.config.width, labels)`.",
        )
        for labels in (4, 7)
    ),
    case(
        "the standard deviation of a new head's weights, in two digits",
        lambda head: round(head.weight.std().item(), 2),
        expected=0.02,
    ),
    case(
        "the largest number in a new head's bias",
        lambda head: head.bias.abs().max().item(),
        expected=0.0,
    ),
    measure=of_new_head,
    hint="Call `nn.init.normal_(self.head.weight, std=0.02)`, and `nn.init.zeros_` for the bias.",
)
task.stage(
    "one row of logits for each text",
    case("the shape of the logits of 3 texts, 4 labels", [5, 3, 4], 4, expected=(3, 4)),
    measure=shape,
    hint="There is one row of logits for each text: pool the vectors of its tokens first.",
)
task.stage(
    "the right numbers",
    case("the logits of one text without pads", [5], 5, True),
    case("the logits of two texts, one of them padded", [5, 2], 5, True),
    case("the logits of two texts, both padded", [5, 2], 9, True),
    case("the logits of a body that sees both sides, one text padded", [5, 2], 5, False),
    case(
        "whether a gradient reaches the body",
        expected=True,
        measure=learns,
        hint="The body would learn nothing: leave out `no_grad` and `.detach()`.",
    ),
    hint="The logits are `head(last_token(body.hidden(tokens, mask), mask))`.",
)
task.stage(
    "dropout",
    case("whether two passes differ in training mode", True, expected=True, measure=differing),
    case("whether two passes differ in evaluation mode", False, expected=False, measure=differing),
    case(
        "the share of logits that are 0, with `dropout=0.5`",
        expected=0.0,
        measure=zeros,
        hint="Drop features of the vector, before the head, not logits.",
    ),
    case(
        "the default",
        {"dropout": 0.1},
        expected={"dropout": 0.1},
        measure=defaults,
        hint="`__init__` begins with `def __init__(self, body, labels, dropout=0.1):`.",
    ),
    hint="The pooled vector goes through `self.dropout` before the head.",
)


def forward(wrong):
    return type("Classifier", (Classifier,), {"forward": wrong})


class LargeStart(Classifier):
    def __init__(self, *given):
        super().__init__(*given)
        self.head.reset_parameters()


task.mistakes(
    ("PyTorch drew this head: draw it with std 0.02, and set the bias to 0.", LargeStart),
    (
        "The last position was read, which is a pad in shorter texts.",
        forward(lambda self, tokens, mask: self.head(self.body.hidden(tokens, mask)[:, -1])),
    ),
    (
        "The body must know where the pads are: `hidden(tokens, mask)`.",
        forward(lambda self, tokens, mask: self.head(last_token(self.body.hidden(tokens), mask))),
    ),
    (
        "These are probabilities, but the loss takes logits: leave out the softmax.",
        forward(lambda self, *given: Classifier.forward(self, *given).softmax(dim=-1)),
    ),
    (
        "Two passes in training mode are alike: the dropout is made, but never used.",
        forward(lambda s, tokens, mask: s.head(last_token(s.body.hidden(tokens, mask), mask))),
    ),
)
