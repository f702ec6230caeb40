import math
import re
from decimal import Decimal
from itertools import accumulate
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.batching import TokenFile, epoch_order, write_tokens
from tlcourse.bpe import EOS, PAD, SPECIALS
from tlcourse.exercises.pretraining.causal_loss import causal_loss
from tlcourse.exercises.pretraining.find_the_bug import gradients, gradients_as_given
from tlcourse.exercises.pretraining.generate import generate, writing
from tlcourse.exercises.pretraining.mask_tokens import mask_tokens
from tlcourse.exercises.pretraining.sample import sample
from tlcourse.exercises.pretraining.schedule import schedule
from tlcourse.exercises.pretraining.train import handing, train
from tlcourse.exercises.pretraining.windows import windows
from tlcourse.exercises.pretraining.word_perplexity_and_bits import (
    divided_by,
    word_perplexity_and_bits,
)
from tlcourse.training import warmup_stable_decay


def after(right, change):
    """The right answer, with what it returns changed."""
    return lambda *given, **more: change(right(*given, **more))


# mask_tokens


def by_arithmetic(tokens, draw, kind, noise):
    chosen = draw.lt(0.15) & tokens.ge(6)
    masked, swapped = (chosen & kind.lt(0.8)).long(), (chosen & kind.ge(0.9)).long()
    return tokens * (1 - masked - swapped) + 4 * masked + noise * swapped, chosen


def masking(
    chosen=lambda tokens, draw: (draw < 0.15) & (tokens > 5),
    masked=lambda chosen, kind: chosen & (kind < 0.8),
    swapped=lambda chosen, kind: chosen & (kind >= 0.9),
):
    """An answer with one of its conditions done otherwise."""

    def answer(tokens, draw, kind, noise):
        mask = chosen(tokens, draw)
        corrupted = torch.where(masked(mask, kind), 4, tokens)
        return torch.where(swapped(mask, kind), noise, corrupted), mask

    return answer


def one_random_token(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, kind, torch.full_like(noise, int(noise.flatten()[-1])))


test_mask_tokens_right = accepts(
    "pretraining.mask_tokens",
    by_arithmetic,
    masking(lambda tokens, draw: (draw < torch.tensor(0.15)) & (tokens > 5)),
)
test_mask_tokens_wrong = rejects(
    "pretraining.mask_tokens",
    (after(mask_tokens, lambda both: (both[0], both[1].long())), 1, "a boolean mask"),
    (masking(lambda t, draw: draw < 0.15 & t >= 6), 1, "put each of them in brackets"),
    (masking(lambda t, draw: (torch.rand(t.shape) < 0.15) & (t > 5)), 1, "Draw nothing yourself"),
    (masking(lambda t, draw: draw < 0.15), 2, "Only ordinary tokens may be chosen"),
    (masking(lambda t, draw: (draw <= 0.15) & (t > 5)), 2, "if `draw < 0.15`"),
    (masking(swapped=lambda chosen, kind: kind >= 0.9), 2, "chosen positions only"),
    (masking(masked=lambda chosen, kind: chosen), 3, "`kind` decides"),
    (masking(masked=lambda chosen, kind: chosen & (kind <= 0.8)), 3, "Below 0.8 is `kind < 0.8`"),
    (masking(swapped=lambda chosen, kind: chosen & (kind > 0.9)), 3, "is `kind >= 0.9`"),
    (one_random_token, 4, "Yours: 1743 at [0, 26, 23]"),
)


# schedule


def by_running_sum(step, steps, warmup, decay):
    start = max(warmup, round(steps - steps * decay))
    up, down = [1 / warmup] * warmup if warmup else [1.0], steps - start
    changes = up + [0.0] * (start - len(up) + (down > 0)) + [-1 / max(down, 1)] * down
    return list(accumulate(changes))[step]


test_schedule_right = accepts("pretraining.schedule", by_running_sum, after(schedule, Decimal))
test_schedule_wrong = rejects(
    "pretraining.schedule",
    (lambda step, *setting: warmup_stable_decay(*setting), 1, "Expected: one number"),
    (after(schedule, lambda factor: 100 * factor), 1, "a share of the highest learning rate"),
    (lambda k, n, up, d: min(1.0, (k + 1) / max(1, n * up)), 2, "Yours: 0.125 at [3]"),
    (lambda k, n, up, d: schedule(k, n, max(up, 2), d), 2, "the first step already gets 1"),
    (lambda k, n, up, d: schedule(max(0, k - 1), n, up, d), 2, "steps 0 to 3 get 1/4"),
    (lambda k, n, up, d: schedule(k, n, up, d) * (k < n - 1 or not d), 3, "get 4/4, 3/4, 2/4"),
    (lambda k, n, up, d: schedule(k, n, up, math.ceil(n * d) / n), 3, "Round 6.7 to the"),
    (lambda k, n, up, d: schedule(k, n, up, math.floor(n * d) / n), 3, "Round 6.3 to the"),
    (lambda k, n, up, d: schedule(k, n, max(up, 1), d), 4, "`warmup` is 0 here, not 1"),
    (lambda k, n, up, d: schedule(k, n, min(up, 8), d), 5, "The decay begins at step"),
)


@pytest.mark.parametrize("steps", [1, 2, 7, 40])
@pytest.mark.parametrize("decay", [0.0, 0.1, 0.33, 0.5, 0.9, 1.0])
def test_the_reference_is_the_engines_schedule(steps, decay):
    for warmup in {0, 1, steps // 3, steps}:
        package = warmup_stable_decay(steps, warmup, decay)
        mine = [schedule(step, steps, warmup, decay) for step in range(steps)]
        assert mine == [package(step) for step in range(steps)]


# causal_loss


def by_one_hot(model, tokens):
    shares = model(tokens[:, :-1]).softmax(-1).clamp_min(1e-30)
    asked = F.one_hot(tokens[:, 1:], shares.shape[-1]) * (tokens[:, 1:, None] != PAD)
    return -(shares.log() * asked).sum(), float(asked.sum())


def token_by_token(model, tokens):
    logits = torch.cat([model(column) for column in tokens[:, :-1].split(1, dim=1)], dim=1)
    nats = F.cross_entropy(logits.mT, tokens[:, 1:], ignore_index=PAD, reduction="sum")
    return nats, (tokens[:, 1:] != PAD).sum()


def scored(kept):
    """An answer with other targets: `kept(tokens)` selects them from all but the first token."""

    def answer(model, tokens):
        due = tokens[:, 1:].masked_fill(~kept(tokens), -100)
        nats = F.cross_entropy(model(tokens[:, :-1]).mT, due, reduction="sum")
        return nats, (due >= 0).sum()

    return answer


test_causal_loss_right = accepts(
    "pretraining.causal_loss",
    by_one_hot,
    after(causal_loss, lambda both: [both[0], torch.tensor(both[1])]),
)
test_causal_loss_wrong = rejects(
    "pretraining.causal_loss",
    (after(causal_loss, lambda both: both[0]), 1, "2 values, `return nats, targets`"),
    (torch.no_grad()(causal_loss), 1, "carries no gradient"),
    (after(causal_loss, lambda both: (both[0], both[1] + 2)), 1, "Yours: 10 at [1]"),
    (lambda model, tokens: causal_loss(model, tokens.flip(1)), 2, "against token i + 1"),
    (scored(lambda tokens: tokens[:, 1:] > -1), 3, "so 8 targets remain"),
    (scored(lambda tokens: tokens[:, 1:] >= len(SPECIALS)), 4, "only pads do not count"),
    (token_by_token, 5, "pass it whole windows"),
    (after(causal_loss, lambda both: (both[0] / 2 + both[0].detach() / 2, both[1])), 5, "gradient"),
)


# windows


def by_folding(ids, step, batch_size, length, seed=0):
    count, found = len(ids) // length - 1, []
    for row in range(step * batch_size, step * batch_size + batch_size):
        offset, order = epoch_order(count, length, seed=seed, epoch=row // count)
        whole = np.asarray(ids[offset : offset + count * length]).reshape(count, length)
        found.append(whole[order[row % count]].tolist())
    return torch.tensor(found)


def counts_its_calls(ids, step, batch_size, length, seed=0, calls=[]):  # noqa: B006, the mistake
    calls.append(step)
    return windows(ids, step + len(calls) // 9, batch_size, length, seed)


test_windows_right = accepts("pretraining.windows", by_folding, after(windows, torch.clone))
test_windows_wrong = rejects(
    "pretraining.windows",
    (after(windows, lambda batch: batch.int()), 1, "Yours: 'torch.int32'"),
    (after(windows, lambda batch: batch.flip(1)), 2, "Each row is `ids"),
    (after(windows, lambda batch: batch.flip(0)), 3, "Row r is at place r of the epoch's order"),
    (lambda ids, step, n, length, seed: windows(ids, 0, n, length, seed), 4, "has the rows 6"),
    (lambda ids, step, *more: windows(ids, step % 3, *more), 5, "row 9 is at place 0 of epoch 1"),
    (counts_its_calls, 6, "on the arguments alone"),
    (lambda *given: windows(*given[:4], *(given[4:] or [1])), 6, "is not given, it is 0"),
)


def test_windows_are_those_of_the_package(tmp_path):
    write_tokens(tmp_path / "tokens.bin", [range(1000)])
    file = TokenFile(tmp_path / "tokens.bin")
    for step in (0, 9, 31):
        package = file.windows(step, batch_size=4, length=16, seed=3)
        assert torch.equal(windows(file.ids, step, 4, 16, 3), package)


# train


def by_hand(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    losses, groups = [], optimizer.param_groups
    for step in steps:
        optimizer.zero_grad()
        nats, targets = loss(model, batch_of(step))
        nats.backward()
        parameters = [p for group in groups for p in group["params"] if p.grad is not None]
        for parameter in parameters:
            parameter.grad.div_(targets)
        length = torch.stack([p.grad.square().sum() for p in parameters]).sum().sqrt().item()
        for parameter in parameters:
            parameter.grad.mul_(min(1.0, clip / max(length, 1e-12)))
        for group in groups:
            group.update(lr=learning_rate(step))
        optimizer.step()
        losses += [nats.item() / targets]
    return losses


def first_group(given):
    kept = given.optimizer
    groups, clear = kept.param_groups[:1], kept.zero_grad
    return {"optimizer": SimpleNamespace(param_groups=groups, step=kept.step, zero_grad=clear)}


def with_graphs(losses):
    return [torch.tensor(loss, requires_grad=True) for loss in losses]


test_train_right = accepts("pretraining.train", by_hand, after(train, torch.tensor))
test_train_wrong = rejects(
    "pretraining.train",
    (after(train, sum), 1, "one loss for each step"),
    (after(train, with_graphs), 1, "A graph keeps the memory of its step"),
    (handing(lambda given: {"steps": given.steps[:1]}), 1, "Expected: a list of 3 numbers"),
    (handing(lambda g: {"batch_of": lambda k: g.batch_of(k + 1)}), 1, "nats / targets of its"),
    (handing(first_group), 1, "every group of the optimizer gets"),
    (handing(lambda given: {"steps": range(len(given.steps))}), 3, "Step 4 uses `batch_of(4)`"),
    (handing(lambda given: {"clip": given.clip / 2}), 4, "at most `clip` long"),
    (handing(lambda given: {"clip": min(given.clip, 0.2)}), 2, "Nothing is clipped, because"),
    (lambda *given: train(*given[:6], *(given[6:] or [5.0])), 4, "If not given, `clip` is 1.0"),
    (
        handing(lambda given: {"optimizer": torch.optim.SGD(given.optimizer.param_groups)}),
        *(5, "the package's loop does the same"),
    ),
)


# sample


def by_shares(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    if not temperature:
        return logits.argmax()
    shares = (logits / temperature).softmax(-1)
    shares[shares < shares.topk(min(top_k, len(shares))).values[-1]] = 0
    shares /= shares.sum()
    likelier = (shares * (shares > shares[:, None])).sum(1)  # for each token: than it
    return torch.multinomial(shares * (likelier < top_p), 1, generator=generator)[0]


def scales_in_place(logits, temperature=1.0, **more):
    logits /= temperature
    return sample(logits, **more)


def top_p_of_all(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    shares = (logits / (temperature or 1.0)).softmax(-1).sort(descending=True).values
    few = int((shares.cumsum(-1) - shares < top_p).sum())
    return sample(logits, temperature, min(top_k, few), generator=generator)


test_sample_right = accepts("pretraining.sample", by_shares, after(sample, torch.tensor))
test_sample_wrong = rejects(
    "pretraining.sample",
    (lambda logits, **more: logits.softmax(-1).max(), 1, "the id of a token, 0 to 3"),
    (lambda logits, **more: sample(-logits, **more), 2, "the largest logit"),
    (scales_in_place, 1, "`logits`, after the call.\nYours: changed"),
    (lambda logits, temperature=1.0, **more: sample(logits, **more), 2, "left to chance"),
    (lambda x, temperature=1.0, **m: sample(x, max(temperature, 0.01), **m), 2, "left to chance"),
    (lambda logits, generator=None, **more: sample(logits, **more), 3, "Draw from `generator`"),
    (lambda logits, temperature=1.0, **m: sample(logits, min(temperature, 1), **m), 4, "Divide"),
    (lambda logits, top_k=50, **more: sample(logits, **more), 5, "Keep only the 2 likeliest"),
    (lambda logits, top_p=1.0, **m: sample(logits, top_p=top_p**0.5, **m), 6, "at least 0.6"),
    (top_p_of_all, 7, "`top_p` applies to what `top_k` leaves"),
    (lambda logits, temperature=0.9, **m: sample(logits, temperature, **m), 7, "default values"),
    (lambda logits, top_k=40, **m: sample(logits, top_k=top_k, **m), 7, "default values"),
    (lambda logits, top_p=0.9, **m: sample(logits, top_p=top_p, **m), 7, "default values"),
)


# generate


def by_recursion(model, tokens, count, pick):
    if count == 0:
        return []
    window = torch.as_tensor(tokens[-model.config.max_length :])[None]
    new = pick(model(window.to(next(model.parameters()).device)).detach()[0][-1])
    rest = [] if new == EOS else by_recursion(model, [*tokens, new], count - 1, pick)
    return [new, *rest]


def grows(model, tokens, count, pick):
    tokens += generate(model, tokens, count, pick)
    return tokens


def stops_at_any_eos(model, tokens, count, pick):
    return [] if EOS in tokens else generate(model, tokens, count, pick)


def all_logits(model, tokens):
    return model(torch.tensor([tokens]))


test_generate_right = accepts("pretraining.generate", by_recursion, after(generate, torch.tensor))
test_generate_wrong = rejects(
    "pretraining.generate",
    (after(generate, lambda new: " ".join(map(str, new))), 1, "Expected: a list of ids"),
    (after(generate, lambda new: new[-1:]), 1, "Return `count` new tokens"),
    (grows, 1, "`tokens`, after the call.\nYours: changed"),
    (writing(torch.enable_grad()(all_logits)), 1, "The logits of the last position, which `pick`"),
    (writing(torch.enable_grad()(lambda *given: all_logits(*given)[0, -1])), 1, "torch.no_grad()"),
    (writing(lambda model, tokens: model(torch.tensor(tokens))[-1]), 2, "a batch of one text"),
    (after(generate, lambda new: [n for n in new if n != EOS]), 3, "which is its last token"),
    (stops_at_any_eos, 3, "Only an `<eos>` that was picked"),
    (writing(lambda *given: all_logits(*given)[0, -1]), 4, "only the last `max_length` tokens"),
    (lambda m, t, n, pick: generate(m, t, n, lambda x: pick(x.abs())), 5, "package's loop"),
)


# find_the_bug


def all_at_once(weights, micro_batches, clip):
    weights = weights.detach().requires_grad_()
    inputs, targets = (torch.cat(parts) for parts in zip(*micro_batches, strict=True))
    (gradient,) = torch.autograd.grad(F.cross_entropy(inputs @ weights, targets), weights)
    return gradient if gradient.norm() <= clip else gradient / gradient.norm() * clip


def clips_each(weights, parts, clip):
    count = sum(len(targets) for _, targets in parts)
    shares = [(part, len(part[1]) / count) for part in parts if len(part[1])]
    return sum(share * gradients(weights, [part], clip) for part, share in shares)


def keeps_the_sum(weights, micro_batches, clip, sums={}):  # noqa: B006, the mistake itself
    total = sums.get(weights.shape, 0) + gradients(weights, micro_batches, clip)
    sums[weights.shape] = total
    return total


test_find_the_bug_right = accepts(
    "pretraining.find_the_bug", all_at_once, after(gradients, torch.Tensor.numpy)
)
test_find_the_bug_wrong = rejects(
    "pretraining.find_the_bug",
    (gradients_as_given, 0, "Not solved yet, this is the code as it was given"),
    (lambda w, parts, clip: 5 * gradients(w, parts, clip), 1, "averaged over the 5"),
    (after(gradients, lambda gradient: gradient.norm()), 1, "`clip_grad_norm_` returns a norm"),
    (after(gradients, lambda gradient: gradient.T), 1, "Expected: shape (4, 3)\nWhy: Return the"),
    (lambda w, *more: gradients(w.requires_grad_(), *more), 1, "left with `requires_grad`"),
    (keeps_the_sum, 1, "is kept from call to call"),
    (lambda w, parts, clip: sum(gradients(w, [p], clip) for p in parts), 2, "however the 12"),
    (lambda w, parts, clip: gradients(w, parts[:1] + parts[2:], clip), 2, "however the 12"),
    (lambda w, parts, clip: gradients(w, parts, 1.0), 3, "With a huge `clip`, nothing is clipped"),
    (clips_each, 4, "not before"),
    (lambda w, parts, clip: gradients(w, parts[:4], clip), 5, "Each target counts equally"),
)


def test_the_code_as_given_is_right_where_the_first_hint_says_so():
    torch.manual_seed(0)
    inputs, targets = torch.randn(12, 4), torch.randint(3, (12,))

    def right(sizes, clip):
        given = torch.zeros(4, 3), [*zip(inputs.split(sizes), targets.split(sizes), strict=True)]
        return torch.allclose(gradients_as_given(*given, clip), gradients(*given, clip), atol=1e-6)

    assert right([12], 0.1) and right([12], 1e6) and right([6, 6], 1e6)
    assert not right([11, 1], 1e6) and not right([6, 6], 0.1)


# word_perplexity_and_bits


def by_pattern(nats, text):
    units, total = len(re.findall(r"\S+|\n", text)), math.fsum(nats)
    return [math.e ** (total / units), math.log2(math.e) * total / len(text.encode())]


test_word_perplexity_right = accepts(
    "pretraining.word_perplexity_and_bits",
    by_pattern,
    after(word_perplexity_and_bits, torch.tensor),
)
test_word_perplexity_wrong = rejects(
    "pretraining.word_perplexity_and_bits",
    (after(word_perplexity_and_bits, lambda both: both[0]), 1, "2 values, `return word_perplexity"),
    (after(word_perplexity_and_bits, lambda both: both[::-1]), 1, "Return the perplexity first"),
    (divided_by(lambda text: len(text.split())), 2, "3 words and 1 line end"),
    (
        divided_by(lambda text: len(text.strip().split(" ")) + text.count("\n")),
        2,
        "A word is whatever",
    ),
    (divided_by(lambda text: len(re.findall(r"\w+|\n", text))), 2, "stands between white space"),
    (divided_by(lambda text: len(re.findall(r"[^ \n]+|\n", text))), 2, "are white space, too"),
    (lambda *given: (word_perplexity_and_bits(*given)[0], sum(given[0])), 3, "by all bytes"),
    (lambda nats, text: word_perplexity_and_bits(nats[:40], text), 4, "the sum of all of them"),
)
