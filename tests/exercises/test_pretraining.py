import math
import re
import string
from decimal import Decimal
from itertools import accumulate

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.batching import TokenFile, epoch_order, write_tokens
from tlcourse.bpe import EOS, PAD, SPECIALS
from tlcourse.exercises.checking import check
from tlcourse.exercises.pretraining import generate as writing
from tlcourse.exercises.pretraining import sample as sampling
from tlcourse.exercises.pretraining.causal_loss import causal_loss, scored
from tlcourse.exercises.pretraining.find_the_bug import gradients, gradients_as_given, task
from tlcourse.exercises.pretraining.generate import generate
from tlcourse.exercises.pretraining.mask_tokens import mask_tokens
from tlcourse.exercises.pretraining.sample import sample
from tlcourse.exercises.pretraining.schedule import falls, schedule
from tlcourse.exercises.pretraining.train import handing, train
from tlcourse.exercises.pretraining.windows import windows
from tlcourse.exercises.pretraining.word_perplexity_and_bits import (
    bits_as,
    divided_by,
    perplexity_as,
    word_perplexity_and_bits,
)
from tlcourse.training import warmup_stable_decay


def nothing(*arguments): ...  # your code here


def after(right, change):
    """The right answer, with what it returns changed."""
    return lambda *given, **more: change(right(*given, **more))


# mask_tokens


def by_arithmetic(tokens, draw, kind, noise):
    chosen = draw.lt(0.15) & tokens.ge(6)
    masked, swapped = (chosen & kind.lt(0.8)).long(), (chosen & kind.ge(0.9)).long()
    return tokens * (1 - masked - swapped) + 4 * masked + noise * swapped, chosen


def by_nesting(tokens, draw, kind, noise):
    chosen = torch.logical_and(draw < 0.15, ~(tokens < 6))
    changed = torch.where(kind < 0.8, 4, torch.where(kind < 0.9, tokens, noise))
    return [torch.where(chosen, changed, tokens), chosen]


def by_loop(tokens, draw, kind, noise):
    corrupted, chosen = tokens.tolist(), torch.zeros(tokens.shape, dtype=torch.bool)
    for row, place in np.ndindex(*tokens.shape):
        if tokens[row, place] in range(6) or draw[row, place] >= 0.15:
            continue
        chosen[row, place] = True
        if kind[row, place] < 0.8:
            corrupted[row][place] = 4
        elif kind[row, place] >= 0.9:
            corrupted[row][place] = noise[row, place].item()
    return torch.tensor(corrupted), chosen


def masking(
    chosen=lambda tokens, draw: (draw < 0.15) & (tokens > 5),
    masked=lambda chosen, kind: chosen & (kind < 0.8),
    swapped=lambda chosen, kind: chosen & (kind >= 0.9),
):
    """An answer with one of its conditions done otherwise."""

    def answer(tokens, draw, kind, noise):
        found = chosen(tokens, draw)
        corrupted = torch.where(masked(found, kind), 4, tokens)
        return torch.where(swapped(found, kind), noise, corrupted), found

    return answer


def thresholds(number):
    """The exercise solved with `number` of 0.15, 0.8 and 0.9."""
    return masking(
        lambda tokens, draw: (draw < number(0.15)) & (tokens > 5),
        lambda chosen, kind: chosen & (kind < number(0.8)),
        lambda chosen, kind: chosen & (kind >= number(0.9)),
    )


def in_place(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    tokens[:] = corrupted
    return tokens, chosen


def one_random_token(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, kind, torch.full_like(noise, int(noise.flatten()[-1])))


test_mask_tokens_right = accepts(
    "pretraining.mask_tokens",
    by_arithmetic,
    by_nesting,
    by_loop,
    thresholds(torch.tensor),
    thresholds(lambda value: torch.tensor([value], dtype=torch.float64)),
    after(mask_tokens, lambda both: (both[0].int(), both[1])),
)
test_mask_tokens_wrong = rejects(
    "pretraining.mask_tokens",
    (nothing, 0, "Not solved yet"),
    (in_place, 1, "Argument 1, `tokens`, after the call.\nYours: changed"),
    (after(mask_tokens, lambda both: both[0]), 1, "2 values, `return corrupted, chosen`"),
    (after(mask_tokens, lambda both: (both[0].float(), both[1])), 1, "tensor of fractions"),
    (after(mask_tokens, lambda both: (both[0], both[1].long())), 1, "a boolean mask"),
    (after(mask_tokens, lambda both: both[::-1]), 1, "in this order"),
    (after(mask_tokens, lambda both: (both[0].numpy(), both[1])), 1, "Yours: ['ndarray', "),
    (masking(lambda t, draw: draw < 0.15 & t >= 6), 1, "put each of them in brackets"),
    (masking(lambda t, draw: draw < 0.15 and t >= 6), 1, "Join conditions by `&`, not `and`"),
    (masking(lambda t, draw: (torch.rand(t.shape) < 0.15) & (t > 5)), 1, "Draw nothing yourself"),
    (masking(lambda t, draw: draw < 0.15), 2, "Only ordinary tokens may be chosen"),
    (masking(swapped=lambda chosen, kind: kind >= 0.9), 2, "chosen positions only"),
    (masking(masked=lambda chosen, kind: kind < 0.8), 2, "combine the conditions with `&`"),
    (masking(lambda t, draw: (draw <= 0.15) & (t > 5)), 2, "below 0.15"),
    (masking(lambda t, draw: (draw <= torch.tensor(0.15)) & (t > 5)), 2, "below 0.15"),
    (masking(lambda t, draw: (draw < 0.15) & (t > 6)), 2, "6 is the first"),
    (masking(masked=lambda chosen, kind: chosen & (kind <= 0.8)), 3, "Below 0.8 is `kind < 0.8`"),
    (masking(swapped=lambda chosen, kind: chosen & (kind > 0.9)), 3, "is `kind >= 0.9`"),
    (lambda t, draw, kind, noise: mask_tokens(t, draw, draw, noise), 3, "not `draw` once more"),
    (one_random_token, 4, "Yours: 1743 at [0, 26, 23]"),
)


# schedule


def by_running_sum(step, steps, warmup, decay):
    start = max(warmup, round(steps - steps * decay))
    up, down = [1 / warmup] * warmup if warmup else [1.0], steps - start
    changes = up + [0.0] * (start - len(up) + (down > 0)) + [-1 / max(down, 1)] * down
    return list(accumulate(changes))[step]


def curve_by_tensors(step, steps, warmup, decay):
    start = max(warmup, round(steps * (1 - decay)))
    lines = [torch.tensor(1.0)]
    if warmup:
        lines.append(torch.tensor((step + 1) / warmup))
    if steps > start:
        lines.append(torch.tensor((steps - step) / (steps - start)))
    return torch.stack(lines).amin()


def only_what_fits(step, steps, warmup, decay):
    if warmup + decay * steps > steps:
        raise ValueError("the parts do not fit")
    return schedule(step, steps, warmup, decay)


test_schedule_right = accepts(
    "pretraining.schedule", by_running_sum, curve_by_tensors, after(schedule, Decimal)
)
test_schedule_wrong = rejects(
    "pretraining.schedule",
    (nothing, 0, "Not solved yet"),
    (lambda step, *setting: warmup_stable_decay(*setting), 1, "Expected: one number"),
    (after(schedule, lambda factor: 100 * factor), 1, "The highest learning rate itself is 1"),
    (lambda k, n, up, d: min(1.0, (k + 1) / max(1, n * up)), 2, "Yours: 0.125 at [3]"),
    (lambda k, n, up, d: schedule(k, n, max(up, 2), d), 2, "the first step has 1 already"),
    (falls(lambda k, n, at: (n - k) / (n - at + 1)), 3, "4, 3, 2 and 1 parts of four"),
    (lambda k, n, up, d: schedule(k, n, up, math.ceil(n * d) / n), 3, "at step 6.7, so 7"),
    (lambda k, n, up, d: schedule(k, n, up, math.floor(n * d) / n), 3, "at step 6.3, so 6"),
    (lambda k, n, up, d: schedule(k, n, max(up, 1), d), 4, "`warmup` is 0 here, not 1"),
    (only_what_fits, 4, "the parts do not fit"),
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


def row_by_row(model, tokens):
    nats, targets = 0.0, 0
    for row in tokens:
        logits = model(row[None, :-1])[0]
        for scores, target in zip(logits, row[1:].tolist(), strict=True):
            if target != PAD:
                nats, targets = nats + scores.logsumexp(0) - scores[target], targets + 1
    return nats, targets


def by_one_hot(model, tokens):
    shares = model(tokens[:, :-1]).softmax(-1).clamp_min(1e-30)
    asked = F.one_hot(tokens[:, 1:], shares.shape[-1]) * (tokens[:, 1:, None] != PAD)
    return -(shares.log() * asked).sum(), float(asked.sum())


def token_by_token(model, tokens):
    logits = torch.cat([model(column) for column in tokens[:, :-1].split(1, dim=1)], dim=1)
    nats = F.cross_entropy(logits.mT, tokens[:, 1:], ignore_index=PAD, reduction="sum")
    return nats, (tokens[:, 1:] != PAD).sum()


test_causal_loss_right = accepts("pretraining.causal_loss", row_by_row, by_one_hot)
test_causal_loss_wrong = rejects(
    "pretraining.causal_loss",
    (nothing, 0, "Not solved yet"),
    (after(causal_loss, lambda both: both[0]), 1, "2 values, `return nats, targets`"),
    (torch.no_grad()(causal_loss), 1, "carries no gradient"),
    (after(causal_loss, lambda both: (both[0], both[1] + 2)), 1, "Yours: 10 at [1]"),
    (lambda model, tokens: causal_loss(model, tokens.flip(1)), 2, "against token i + 1"),
    (scored(kept=lambda reads, asked: asked > -1), 3, "8 targets are left"),
    (scored(kept=lambda reads, asked: asked >= len(SPECIALS)), 4, "only pads do not count"),
    (after(causal_loss, lambda both: ((both[0] + both[0].detach()) / 2, both[1])), 5, "detached?"),
    (token_by_token, 6, "hand in whole windows"),
)


# windows


def by_folding(ids, step, batch_size, length, seed=0):
    count, found = len(ids) // length - 1, []
    for row in range(step * batch_size, step * batch_size + batch_size):
        offset, order = epoch_order(count, length, seed=seed, epoch=row // count)
        whole = np.asarray(ids[offset : offset + count * length]).reshape(count, length)
        found.append(whole[order[row % count]].tolist())
    return torch.tensor(found)


def by_indexing(ids, step, batch_size, length, seed=0):
    count = (len(ids) - length) // length
    numbers = step * batch_size + torch.arange(batch_size)
    starts = torch.zeros(batch_size, dtype=torch.long)
    for epoch in (numbers // count).unique().tolist():
        offset, order = epoch_order(count, length, seed=seed, epoch=epoch)
        mine = numbers // count == epoch
        starts[mine] = offset + length * torch.from_numpy(order.copy())[numbers[mine] % count]
    places = starts[:, None] + torch.arange(length)
    return torch.from_numpy(np.array(ids).astype("int64"))[places]


def counts_its_calls(ids, step, batch_size, length, seed=0, calls=[]):  # noqa: B006, the mistake
    calls.append(step)
    return windows(ids, step + len(calls) // 9, batch_size, length, seed)


test_windows_right = accepts("pretraining.windows", by_folding, by_indexing)
test_windows_wrong = rejects(
    "pretraining.windows",
    (nothing, 0, "Not solved yet"),
    (after(windows, lambda batch: batch.tolist()), 1, "tensor of torch.int64, shape (3, 7)"),
    (after(windows, lambda batch: batch.int()), 1, "Yours: 'tensor of torch.int32"),
    (after(windows, lambda batch: batch.flip(1)), 2, "Each row is `ids"),
    (after(windows, lambda batch: batch.flip(0)), 3, "Row r is at place r of the epoch's order"),
    (lambda ids, step, n, length, seed: windows(ids, 0, n, length, seed), 4, "the rows 6, 7 and 8"),
    (lambda ids, step, *more: windows(ids, step % 3, *more), 5, "row 9 is at place 0 of epoch 1"),
    (counts_its_calls, 6, "on the arguments alone"),
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


def by_autograd(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    parameters = [p for p in model.parameters() if p.requires_grad]

    def one(step):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        nats, targets = loss(model, batch_of(step))
        mean = nats / targets
        slopes = torch.autograd.grad(mean, parameters, allow_unused=True)
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter.grad = slope
        nn.utils.clip_grad_norm_(parameters, max_norm=clip)
        optimizer.step()
        return mean.detach()

    return torch.tensor([one(step) for step in steps])


def of_the_sum(given):
    def rate(step):
        return given.learning_rate(step) * given.loss(given.model, given.batch_of(step))[1]

    return {"learning_rate": rate}


def with_graphs(losses):
    return [torch.tensor(loss, requires_grad=True) for loss in losses]


test_train_right = accepts("pretraining.train", by_hand, by_autograd)
test_train_wrong = rejects(
    "pretraining.train",
    (nothing, 0, "Not solved yet"),
    (after(train, sum), 1, "a list with the loss of each step"),
    (after(train, with_graphs), 1, "still hold their graphs"),
    (handing(lambda given: {"steps": given.steps[:1]}), 1, "Expected: 3 numbers"),
    (handing(lambda g: {"batch_of": lambda k: g.batch_of(k + 1)}), 1, "nats / targets of its"),
    (handing(of_the_sum), 2, "weight - learning rate × gradient of nats / targets"),
    (handing(lambda given: {"steps": range(len(given.steps))}), 3, "`steps` tells which steps"),
    (handing(lambda given: {"clip": given.clip / 2}), 4, "The length of all gradients together"),
    (handing(lambda given: {"clip": min(given.clip, 0.2)}), 2, "Nothing is clipped here"),
    (
        handing(lambda given: {"optimizer": torch.optim.SGD(given.optimizer.param_groups)}),
        *(5, "your loop and the package's do the same"),
    ),
)


# sample


def by_masking(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    if temperature == 0:
        return logits.argmax().item()
    scores = logits / temperature
    order = scores.argsort(descending=True)
    kept = torch.full_like(scores, float("-inf"))
    kept[order[:top_k]] = scores[order[:top_k]]
    shares, total = kept.softmax(-1), 0.0
    for token in order.tolist():
        if total >= top_p:
            kept[token] = float("-inf")
        total += shares[token].item()
    return torch.multinomial(kept.softmax(-1), 1, generator=generator).item()


def by_the_inverse(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    cold = max(temperature, 1e-9)
    pairs = sorted(((score / cold, n) for n, score in enumerate(logits.tolist())), reverse=True)
    pairs = pairs[:top_k]
    weights = [2.718281828459045 ** (score - pairs[0][0]) for score, _ in pairs]
    total, kept = sum(weights), []
    for weight in weights:
        if sum(kept) >= top_p * total:
            break
        kept.append(weight)
    left = torch.rand(1, generator=generator).item() * sum(kept)
    for weight, (_, token) in zip(kept, pairs, strict=False):
        left -= weight
        if left < 0:
            return token
    return pairs[0][1]


def by_gumbel(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    if not temperature:
        return logits.max(0).indices
    logits = (logits / temperature).log_softmax(-1)
    floor = logits.topk(min(top_k, logits.numel())).values[-1]
    logits = torch.where(logits >= floor, logits, -torch.inf).log_softmax(-1)
    order = logits.argsort(descending=True)
    ahead = logits[order].exp().cumsum(0).roll(1)
    ahead[0] = 0.0
    logits[order[ahead >= top_p]] = -torch.inf
    noise = -(-torch.rand(logits.shape, generator=generator).clamp_min(1e-12).log()).log()
    return (logits + noise).argmax()


def scales_in_place(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    logits /= temperature
    return sample(logits, 1.0, top_k, top_p, generator)


def needs_k_entries(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    best, ids = (logits / max(temperature, 1e-6)).topk(top_k)
    return int(ids[torch.multinomial(best.softmax(-1), 1, generator=generator)])


def never_cold(logits, temperature=1.0, **more):
    return sample(logits, temperature or 1.0, **more)


def evenly(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    if temperature == 0:
        return int(logits.argmax())
    return int(torch.randint(min(top_k, len(logits)), (1,), generator=generator))


test_sample_right = accepts("pretraining.sample", by_masking, by_the_inverse, by_gumbel)
test_sample_wrong = rejects(
    "pretraining.sample",
    (nothing, 0, "Not solved yet"),
    (after(sample, lambda token: [token]), 1, "the id of a token, 0 to 3"),
    (lambda logits, **more: logits.softmax(-1).max(), 1, "the id of a token, 0 to 3"),
    (scales_in_place, 1, "`logits`, after the call.\nYours: changed"),
    (needs_k_entries, 1, "selected index k out of range"),
    (never_cold, 2, "With temperature 0 nothing is left to chance"),
    (evenly, 3, "as often as the softmax of the logits says"),
    (sampling.other(warmer=lambda x, t: x.softmax(-1) / t), 3, "as often as the softmax"),
    (sampling.other(warmer=lambda x, t: x), 4, "divided by the temperature"),
    (sampling.other(cut=lambda best, ids, k: (best, ids)), 5, "Only the 2 likeliest are left"),
    (sampling.other(cut=lambda best, ids, k: (best[-k:], ids[-k:])), 5, "Only the 2 likeliest"),
    (sampling.other(keep=lambda before, p, top_p: before > -1), 6, "at least 0.6 together"),
    (sampling.other(keep=lambda _, p, top_p: p >= 1 - top_p), 6, "reaches `top_p` is kept, too"),
)


# generate


@torch.no_grad()
def with_a_tensor(model, tokens, count, pick):
    text = torch.tensor([tokens], device=next(model.parameters()).device)
    new = []
    while len(new) < count and EOS not in new:
        scores = model(text[:, -model.config.max_length :])
        new.append(int(pick(scores[:, -1].squeeze(0))))
        text = torch.cat([text, text.new_tensor([[new[-1]]])], dim=1)
    return new


def by_recursion(model, tokens, count, pick):
    if count == 0:
        return []
    window = torch.as_tensor(tokens[-model.config.max_length :])[None]
    new = pick(model(window.to(next(model.parameters()).device)).detach()[0][-1])
    rest = [] if new == EOS else by_recursion(model, [*tokens, new], count - 1, pick)
    return [new, *rest]


def writes_into_a_tensor(model, tokens, count, pick):
    text, most = torch.zeros(1, len(tokens) + count, dtype=torch.long), model.config.max_length
    text[0, : len(tokens)] = torch.tensor(tokens)
    end = len(tokens)
    with torch.inference_mode():
        while end < text.shape[1]:
            text[0, end] = pick(model(text[:, max(0, end - most) : end])[0, -1])
            end += 1
            if text[0, end - 1] == EOS:
                break
    return text[0, len(tokens) : end]


def grows(model, tokens, count, pick):
    tokens += generate(model, tokens, count, pick)
    return tokens


def with_graphs(model, tokens, count, pick):
    tokens, start = list(tokens), len(tokens)
    for _ in range(count):
        tokens.append(pick(model(torch.tensor([tokens]))[0, -1]))
    return tokens[start:]


def without_a_batch(model, tokens, count, pick):
    with torch.no_grad():
        return [pick(model(torch.tensor(tokens))[-1]) for _ in range(count)]


def all_logits(model, tokens, count, pick):
    with torch.no_grad():
        return [pick(model(torch.tensor([tokens]))) for _ in range(count)]


def stops_at_any_eos(model, tokens, count, pick):
    return [] if EOS in tokens else generate(model, tokens, count, pick)


test_generate_right = accepts(
    "pretraining.generate", with_a_tensor, by_recursion, writes_into_a_tensor
)
test_generate_wrong = rejects(
    "pretraining.generate",
    (nothing, 0, "Not solved yet"),
    (after(generate, lambda new: " ".join(map(str, new))), 1, "Expected: a list of ids"),
    (writing.other(gives=lambda tokens, start: tokens[-1:]), 1, "Three new tokens come back"),
    (grows, 1, "`tokens`, after the call.\nYours: changed"),
    (with_graphs, 1, "with torch.no_grad()"),
    (all_logits, 1, "the logits of the last position, shape (30,)"),
    (without_a_batch, 1, "Yours: [21, 21, 21]"),
    (writing.other(lambda tokens, start, most: tokens[start:] or tokens), 2, "a batch of one text"),
    (stops_at_any_eos, 3, "Only an `<eos>` that was picked"),
    (writing.other(lambda tokens, start, most: tokens), 4, "the last `max_length` tokens"),
)


# find_the_bug


def all_at_once(weights, micro_batches, clip):
    weights = weights.detach().requires_grad_()
    inputs, targets = (torch.cat(parts) for parts in zip(*micro_batches, strict=True))
    (gradient,) = torch.autograd.grad(F.cross_entropy(inputs @ weights, targets), weights)
    return gradient if gradient.norm() <= clip else gradient / gradient.norm() * clip


def in_closed_form(weights, micro_batches, clip):
    total, count = torch.zeros_like(weights), 0
    for inputs, targets in micro_batches:
        errors = (inputs @ weights).softmax(dim=1) - F.one_hot(targets, weights.shape[1])
        total, count = total + inputs.T @ errors, count + len(targets)
    mean = total / count
    return mean * (clip / mean.norm()).clamp(max=1.0)


def weighted_means(weights, micro_batches, clip):
    total = sum(len(targets) for _, targets in micro_batches)
    weights = weights.detach().clone().requires_grad_()
    for inputs, targets in micro_batches:
        if len(targets) > 0:
            share = len(targets) / total
            (F.cross_entropy(inputs @ weights, targets) * share).backward()
    nn.utils.clip_grad_norm_(weights, clip)
    return weights.grad


def means_times_counts(weights, micro_batches, clip):
    count = sum(len(targets) for _, targets in micro_batches)
    weights = weights.detach().clone().requires_grad_()
    for inputs, targets in micro_batches:
        (F.cross_entropy(inputs @ weights, targets) * len(targets)).backward()
    weights.grad /= count
    nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


def by_a_linear_layer(weights, micro_batches, clip):
    layer = nn.Linear(*weights.shape, bias=False)
    layer.weight.data = weights.T.clone()
    losses = [F.cross_entropy(layer(x), y, reduction="none") for x, y in micro_batches]
    torch.cat(losses).mean().backward()
    nn.utils.clip_grad_norm_(layer.parameters(), clip)
    return layer.weight.grad.T


def by_a_jacobian(weights, micro_batches, clip):
    def loss(at):
        sums = [F.nll_loss((x @ at).log_softmax(-1), y, reduction="sum") for x, y in micro_batches]
        return sum(sums) / sum(y.numel() for _, y in micro_batches)

    gradient = torch.autograd.functional.jacobian(loss, weights)
    return gradient * min(1.0, clip / gradient.norm().item())


def by_numpy(weights, micro_batches, clip):
    total, count = 0.0, 0
    for inputs, targets in micro_batches:
        powers = np.exp(inputs.numpy() @ weights.numpy())
        errors = powers / powers.sum(1, keepdims=True) - np.eye(powers.shape[1])[targets.numpy()]
        total, count = total + inputs.numpy().T @ errors, count + len(targets)
    return total / count * min(1.0, clip / np.linalg.norm(total / count))


def adds_up_on_the_weights(weights, micro_batches, clip):
    weights.requires_grad_()
    count = sum(len(targets) for _, targets in micro_batches)
    for inputs, targets in micro_batches:
        (F.cross_entropy(inputs @ weights, targets, reduction="sum") / count).backward()
    nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


def takes_away_what_it_put_on(weights, micro_batches, clip):
    gradient = adds_up_on_the_weights(weights, micro_batches, clip)
    weights.grad = None
    weights.requires_grad_(False)
    return gradient


def mended(reduction="sum", divide=None, where="end", clipping=None):
    """The step with one thing or another left as it was, or mended in a wrong way."""
    clipping = clipping or (lambda weights, clip: nn.utils.clip_grad_norm_([weights], clip))

    def function(weights, micro_batches, clip):
        weights = weights.detach().clone().requires_grad_()
        count = sum(len(targets) for _, targets in micro_batches)
        for inputs, targets in micro_batches:
            loss = F.cross_entropy(inputs @ weights, targets, reduction=reduction)
            (loss / (divide(micro_batches, targets) if divide else count)).backward()
            if where == "inside":
                clipping(weights, clip)
        if where == "end":
            clipping(weights, clip)
        return weights.grad

    return function


def length_by(norm):
    return mended(clipping=lambda w, clip: nn.utils.clip_grad_norm_([w], clip, norm_type=norm))


def each_clipped_alone(weights, micro_batches, clip):
    count = sum(len(targets) for _, targets in micro_batches)
    parts = [gradients(weights, [part], clip) * len(part[1]) for part in micro_batches]
    return sum(part for part in parts if not part.isnan().any()) / count


def clipped_before_dividing(weights, micro_batches, clip):
    count = sum(len(targets) for _, targets in micro_batches)
    return mended("sum", lambda parts, targets: 1)(weights, micro_batches, clip) / count


def returns_the_norm(weights, micro_batches, clip):
    return gradients(weights, micro_batches, clip).norm()


def and_then(change):
    """The right gradient; `change(weights, micro_batches, gradient)` is done before."""

    def function(weights, micro_batches, clip):
        gradient = gradients(weights, micro_batches, clip)
        change(weights, micro_batches, gradient)
        return gradient

    return function


def keeps_the_sum(weights, micro_batches, clip, sums={}):  # noqa: B006, the mistake itself
    total = sums.get(weights.shape, 0) + gradients(weights, micro_batches, clip)
    sums[weights.shape] = total
    return total


def drops_the_small(weights, micro_batches, clip):
    largest = max(len(targets) for _, targets in micro_batches)
    return gradients(weights, [part for part in micro_batches if len(part[1]) == largest], clip)


def half_mended(weights, micro_batches, clip):
    """The means are as given, the clipping is not."""
    weights = weights.detach().clone().requires_grad_()
    for inputs, targets in micro_batches:
        loss = F.cross_entropy(inputs @ weights, targets)
        loss = loss / len(micro_batches)
        loss.backward()
    torch.nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


def shortened(shorten):
    """The gradient, shortened in another way: `shorten(gradient, clip)`."""
    return lambda w, parts, clip: shorten(gradients(w, parts, 1e9), clip)


def of_parts(parts_of, divided=lambda parts: 1):
    """The gradient of other micro-batches than those that are handed in."""
    return lambda w, parts, clip: gradients(w, parts_of(parts), clip) / divided(parts)


def per_column(gradient, clip):
    return gradient * (clip / gradient.norm(dim=0)).clamp(max=1.0)


transposed = after(gradients, lambda gradient: gradient.T)
LONG = "keep its direction and make it `clip` long"
test_find_the_bug_right = accepts(
    "pretraining.find_the_bug",
    all_at_once,
    in_closed_form,
    weighted_means,
    means_times_counts,
    by_a_linear_layer,
    by_a_jacobian,
    by_numpy,
    takes_away_what_it_put_on,
)
test_find_the_bug_wrong = rejects(
    "pretraining.find_the_bug",
    (nothing, 0, "Not solved yet, and that is fine"),
    (gradients_as_given, 0, "Not solved yet, this is the code as it was given"),
    (mended("mean", lambda parts, _: sum(len(p[1]) for p in parts)), 1, "the mean over the 5"),
    (mended("sum", lambda parts, targets: len(parts)), 1, "gradient of the sum of the losses"),
    (mended(clipping=lambda w, c: w.grad.mul_(c / w.grad.norm())), 1, "is left as it is"),
    (after(gradients, lambda gradient: -gradient), 1, "the inputs times what the probabilities"),
    (returns_the_norm, 1, "returns a norm, not a gradient"),
    (transposed, 1, "Expected: shape (4, 3)\nWhy: The gradient has the shape of `weights`. This"),
    (and_then(lambda w, parts, gradient: w.sub_(gradient)), 1, "and take no step"),
    (adds_up_on_the_weights, 1, "left with `requires_grad` or a `.grad`"),
    (and_then(lambda w, parts, gradient: w.requires_grad_()), 1, "left with `requires_grad`"),
    (and_then(lambda w, parts, gradient: parts.clear()), 1, "`micro_batches`, after the call"),
    (keeps_the_sum, 1, "is kept from call to call"),
    (of_parts(lambda parts: parts[-1:]), 2, "Only the last micro-batch"),
    (of_parts(lambda parts: parts[-1:], len), 2, "however the 12 examples are cut"),
    (of_parts(lambda parts: parts[:1]), 2, "however the 12 examples are cut"),
    (mended("sum", lambda parts, targets: max(1, len(targets))), 2, "their sum is not divided"),
    (mended("mean", lambda parts, _: sum(len(p[1]) > 0 for p in parts)), 3, "as much as the ten"),
    (half_mended, 3, "The two weigh as much as the ten"),
    (mended("sum", lambda parts, _: len(parts) * len(parts[0][1])), 3, "There are 12 targets"),
    (drops_the_small, 3, "each has the same say"),
    (lambda w, parts, clip: gradients(w, parts, 1.0), 3, "nothing is clipped where `clip` is huge"),
    (mended(where="inside"), 4, "not before"),
    (each_clipped_alone, 4, "not before"),
    (mended(where="nowhere"), 4, LONG),
    (mended(clipping=lambda w, c: nn.utils.clip_grad_value_([w], c)), 4, "about the length of all"),
    (clipped_before_dividing, 4, "clipped first and divided by the number of targets"),
    (length_by(1), 4, "the root of the sum of squares"),
    (length_by(math.inf), 4, LONG),
    (shortened(per_column), 4, LONG),
    (shortened(lambda gradient, clip: gradient * min(1.0, clip / gradient.norm() ** 2)), 4, LONG),
)


def test_the_code_as_given_is_right_where_the_first_hint_says_so():
    torch.manual_seed(0)
    inputs, targets = torch.randn(12, 4), torch.randint(3, (12,))

    def right(sizes, clip):
        parts = list(zip(inputs.split(sizes), targets.split(sizes), strict=True))
        both = (function(torch.zeros(4, 3), parts, clip) for function in (as_given, gradients))
        return torch.allclose(*both, atol=1e-6)

    as_given = gradients_as_given
    assert right([12], 0.1) and right([12], 1e6) and right([6, 6], 1e6)
    assert not right([11, 1], 1e6) and not right([6, 6], 0.1)


def test_a_shape_is_not_blamed_on_clip_grad_norm_unless_it_is_that_of_a_number():
    assert "clip_grad_norm_" not in check(task, transposed).message


# word_perplexity_and_bits


def by_bits(nats, text):
    bits = math.fsum(nats) / math.log(2)
    units = text.replace("\n", " \u23ce ").split()
    return 2 ** (bits / len(units)), bits / sum(len(char.encode()) for char in text)


def by_numpy_sum(nats, text):
    words = sum(len(line.split()) + 1 for line in text.split("\n")) - 1
    total = np.sum(nats)
    return np.exp(total / words), total / (np.log(2) * len(bytes(text, "utf-8")))


def by_tensors(nats, text):
    units = len(text.replace("\n", " <eos> ").split())
    total = torch.tensor(nats).sum()
    return (total / units).exp(), total / math.log(2) / len(bytes(text, "utf-8"))


def by_pattern(nats, text):
    units, total = len(re.findall(r"\S+|\n", text)), math.fsum(nats)
    return [math.e ** (total / units), math.log2(math.e) * total / len(text.encode())]


def units_of(text):
    return len(text.split()) + text.count("\n")


def without_punctuation(text):
    return text.translate(str.maketrans("", "", string.punctuation))


WORD = "whatever stands between white space"
LINE_END = "But none of them is the character `\\n`"
BYTES = "Divide all bits by all bytes"
test_word_perplexity_right = accepts(
    "pretraining.word_perplexity_and_bits",
    by_bits,
    by_numpy_sum,
    by_tensors,
    by_pattern,
    after(word_perplexity_and_bits, np.array),
    after(word_perplexity_and_bits, torch.tensor),
)
test_word_perplexity_wrong = rejects(
    "pretraining.word_perplexity_and_bits",
    (nothing, 0, "Not solved yet"),
    (after(word_perplexity_and_bits, lambda both: both[0]), 1, "2 values, `return word_perplexity"),
    (after(word_perplexity_and_bits, lambda both: (*map(str, both),)), 1, "Expected: one number"),
    (after(word_perplexity_and_bits, lambda both: np.array([*both, 0.0])), 1, "2 values"),
    (after(word_perplexity_and_bits, lambda both: (math.log(both[0]), both[1])), 1, "sure and"),
    (after(word_perplexity_and_bits, lambda both: both[::-1]), 1, "First comes the perplexity"),
    (
        perplexity_as(lambda nats, text: math.exp(sum(nats) / len(nats) / units_of(text))),
        2,
        "exp(2)",
    ),
    (perplexity_as(lambda nats, text: sum(map(math.exp, nats)) / units_of(text)), 2, "exp(2)"),
    (divided_by(lambda text: len(re.split(r"\s+", text)) + text.count("\n")), 2, "an empty piece"),
    (
        divided_by(lambda text: len(text.rstrip("\n").split(" ")) + text.count("\n")),
        2,
        "White space only separates words",
    ),
    (
        divided_by(lambda text: len(text.split()) + len(text.splitlines())),
        2,
        "count the characters",
    ),
    (divided_by(lambda text: len(re.findall(r"\w+|\n", text))), 2, WORD),
    (divided_by(lambda text: len(re.findall(r"\S+|\n", without_punctuation(text)))), 2, WORD),
    (divided_by(lambda text: len(re.findall(r"[^ \n]+|\n", text))), 2, "part two words"),
    (divided_by(lambda text: len(text.split()) + len(re.findall(r"[\n\t]", text))), 2, LINE_END),
    (divided_by(lambda text: len(text.split()) + len((text + "x").splitlines()) - 1), 2, LINE_END),
    *(
        (bits_as(change), 3, BYTES)
        for change in (
            lambda bits, text: bits * math.log(2),
            lambda bits, text: bits * len(text.encode()) / len(text.strip().encode()),
            lambda bits, text: bits / 8,
            lambda bits, text: bits * 8,
            lambda bits, text: bits * len(text.encode()),
        )
    ),
    (
        lambda nats, text: (
            word_perplexity_and_bits(nats, text)[0],
            sum(nats) / math.log(2) / len(nats),
        ),
        3,
        BYTES,
    ),
)
