import math
import re
import string
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.batching import TokenFile, epoch_order, write_tokens
from tlcourse.bpe import EOS, PAD
from tlcourse.exercises.checking import check
from tlcourse.exercises.pretraining.causal_loss import causal_loss
from tlcourse.exercises.pretraining.find_the_bug import gradients, gradients_as_given, task
from tlcourse.exercises.pretraining.generate import generate
from tlcourse.exercises.pretraining.mask_tokens import mask_tokens
from tlcourse.exercises.pretraining.sample import sample
from tlcourse.exercises.pretraining.schedule import falls, schedule
from tlcourse.exercises.pretraining.train import train
from tlcourse.exercises.pretraining.windows import windows
from tlcourse.exercises.pretraining.word_perplexity_and_bits import (
    divided_by,
    word_perplexity_and_bits,
)
from tlcourse.training import warmup_stable_decay


def nothing(*arguments): ...  # your code here


# mask_tokens


def by_arithmetic(tokens, draw, kind, noise):
    chosen = draw.lt(0.15) & tokens.ge(6)
    masked, swapped = (chosen & kind.lt(0.8)).long(), (chosen & kind.ge(0.9)).long()
    return tokens * (1 - masked - swapped) + 4 * masked + noise * swapped, chosen


def by_nesting(tokens, draw, kind, noise):
    chosen = torch.logical_and(draw < 0.15, ~(tokens < 6))
    changed = torch.where(kind < 0.8, 4, torch.where(kind < 0.9, tokens, noise))
    return [torch.where(chosen, changed, tokens), chosen]


def _with(tokens, chosen, masked, swapped, noise):
    return torch.where(swapped, noise, torch.where(masked, 4, tokens)), chosen


def _thresholds(number):
    """The exercise solved with `number` of 0.15, 0.8 and 0.9."""

    def function(tokens, draw, kind, noise):
        chosen = (draw < number(0.15)) & (tokens > 5)
        masked, swapped = chosen & (kind < number(0.8)), chosen & (kind >= number(0.9))
        return _with(tokens, chosen, masked, swapped, noise)

    return function


thresholds_as_float32 = _thresholds(torch.tensor)
thresholds_as_float32_row = _thresholds(lambda value: torch.tensor([value]))
thresholds_as_float64_row = _thresholds(lambda value: torch.tensor([value], dtype=torch.float64))


def in_32_bits(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    return corrupted.int(), chosen


def in_floats(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    return corrupted.float(), chosen


def without_brackets(tokens, draw, kind, noise):
    chosen = draw < 0.15 & tokens >= 6
    return tokens, chosen


def joined_by_and(tokens, draw, kind, noise):
    chosen = draw < 0.15 and tokens >= 6
    return tokens, chosen


def only_the_tokens(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, kind, noise)[0]


def chosen_as_numbers(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    return corrupted, chosen.long()


def other_order(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, kind, noise)[::-1]


def draws_again(tokens, draw, kind, noise):
    return mask_tokens(tokens, torch.rand(tokens.shape), torch.rand(tokens.shape), noise)


def through_numpy(tokens, draw, kind, noise):
    return tuple(result.numpy() for result in mask_tokens(tokens, draw, kind, noise))


def corrupted_through_numpy(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    return corrupted.numpy(), chosen


def takes_specials(tokens, draw, kind, noise):
    corrupted, chosen = tokens.clone(), draw < 0.15
    corrupted[chosen & (kind < 0.8)] = 4
    corrupted[chosen & (kind >= 0.9)] = noise[chosen & (kind >= 0.9)]
    return corrupted, chosen


def swaps_everywhere(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    ordinary = tokens > 5
    return torch.where((kind >= 0.9) & ordinary, noise, corrupted), chosen


def kinds_everywhere(tokens, draw, kind, noise):
    chosen = (draw < 0.15) & (tokens >= 6)
    return _with(tokens, chosen, kind < 0.8, kind >= 0.9, noise)


def chosen_up_to_the_border(tokens, draw, kind, noise):
    chosen = (draw <= 0.15) & (tokens >= 6)
    return _with(tokens, chosen, chosen & (kind < 0.8), chosen & (kind >= 0.9), noise)


def up_to_the_border_of_float32(tokens, draw, kind, noise):
    chosen = (draw <= torch.tensor(0.15)) & (tokens > 5)
    return _with(tokens, chosen, chosen & (kind < 0.8), chosen & (kind >= 0.9), noise)


def first_ordinary_id_missed(tokens, draw, kind, noise):
    chosen = (draw < 0.15) & (tokens > 6)
    return _with(tokens, chosen, chosen & (kind < 0.8), chosen & (kind >= 0.9), noise)


def kinds_on_the_other_side(tokens, draw, kind, noise):
    chosen = (draw < 0.15) & (tokens >= 6)
    return _with(tokens, chosen, chosen & (kind <= 0.8), chosen & (kind > 0.9), noise)


def swapped_above_the_border(tokens, draw, kind, noise):
    chosen = (draw < 0.15) & (tokens > 5)
    return _with(tokens, chosen, chosen & (kind < 0.8), chosen & (kind > 0.9), noise)


def draw_once_more(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, draw, noise)


def draw_in_shares(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, draw / 0.15, noise)


def one_random_token(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, kind, torch.full_like(noise, int(noise.flatten()[-1])))


test_mask_tokens_right = accepts(
    "pretraining.mask_tokens",
    by_arithmetic,
    by_nesting,
    thresholds_as_float32,
    thresholds_as_float32_row,
    thresholds_as_float64_row,
    in_32_bits,
)
test_mask_tokens_wrong = rejects(
    "pretraining.mask_tokens",
    (nothing, 0, "Not solved yet"),
    (only_the_tokens, 1, "expected two tensors"),
    (in_floats, 1, "the corrupted tokens are torch.float32; expected ids"),
    (without_brackets, 1, "Join conditions by `&`, not `and`, and put each of them in brackets"),
    (joined_by_and, 1, "Join conditions by `&`, not `and`, and put each of them in brackets"),
    (chosen_as_numbers, 1, "expected a boolean mask"),
    (other_order, 1, "`return corrupted, chosen`, in this order"),
    (draws_again, 1, "the same arguments gave two answers"),
    (through_numpy, 1, "`corrupted` is a NumPy array; expected a tensor"),
    (corrupted_through_numpy, 1, "`corrupted` is a NumPy array; expected a tensor"),
    (takes_specials, 2, "'<mask>', '<eos>']; expected []. Only ordinary tokens may be"),
    (swaps_everywhere, 2, "chosen positions only"),
    (kinds_everywhere, 2, "combine the conditions with `&`"),
    (chosen_up_to_the_border, 2, "Below is `<`"),
    (up_to_the_border_of_float32, 2, "Below is `<`"),
    (first_ordinary_id_missed, 2, "6 is the first that is"),
    (kinds_on_the_other_side, 3, "0.9 or higher is `kind >= 0.9`"),
    (swapped_above_the_border, 3, "0.9 or higher is `kind >= 0.9`"),
    (draw_once_more, 3, "`kind`, not `draw` once more"),
    (draw_in_shares, 3, "`kind`, not `draw` once more"),
    (one_random_token, 4, "of a batch: (corrupted, chosen)"),
)


# schedule


def by_fractions(step, steps, warmup, decay):
    start = max(Fraction(round(steps * (1 - decay))), Fraction(warmup))
    if step < warmup:
        return Fraction(step + 1, warmup)
    return min(Fraction(1), (steps - step) / max(Fraction(1), steps - start))


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


def by_decimals(step, steps, warmup, decay):
    return Decimal(schedule(step, steps, warmup, decay))


def a_function(step, steps, warmup, decay):
    return warmup_stable_decay(steps, warmup, decay)


def per_cent(step, steps, warmup, decay):
    return 100 * schedule(step, steps, warmup, decay)


def factor_as_text(step, steps, warmup, decay):
    return str(schedule(step, steps, warmup, decay))


def as_array_of_text(step, steps, warmup, decay):
    return np.array(factor_as_text(step, steps, warmup, decay))


def as_complex(step, steps, warmup, decay):
    return np.complex128(schedule(step, steps, warmup, decay))


def divides_by_no_warmup(step, steps, warmup, decay):
    return min(schedule(step, steps, warmup, decay), (step + 1) / warmup)


def warmup_as_a_share(step, steps, warmup, decay):
    return min(1.0, (step + 1) / max(1, steps * warmup))


def rises_in_whole_numbers(step, steps, warmup, decay):
    return (step + 1) // warmup if step < warmup else schedule(step, steps, warmup, decay)


def dips_in_between(step, steps, warmup, decay):
    start = max(warmup, round(steps * (1 - decay)))
    return 0.9 if step == warmup < start else schedule(step, steps, warmup, decay)


cosine = falls(lambda k, steps, start: (1 + math.cos(math.pi * (k - start) / (steps - start))) / 2)


def divides_by_the_share(step, steps, warmup, decay):
    start = max(warmup, round(steps * (1 - decay)))
    if step < start:
        return schedule(step, steps, warmup, 0.0)
    return (steps - step) / min(steps * decay, steps - warmup)


def at_most_one(step, steps, warmup, decay):
    return min(1.0, divides_by_the_share(step, steps, warmup, decay))


def at_least_one_step_of_warmup(step, steps, warmup, decay):
    return schedule(step, steps, max(warmup, 1), decay)


def falls_while_it_rises(step, steps, warmup, decay):
    fall = schedule(step, steps, 0, decay)
    return fall * schedule(step, steps, warmup, 0.0)


def cuts_the_warmup_short(step, steps, warmup, decay):
    return schedule(step, steps, min(warmup, round(steps * (1 - decay))), decay)


def only_three_cases(step, steps, warmup, decay):
    if warmup + decay * steps > steps:
        raise ValueError("the parts do not fit")
    return schedule(step, steps, warmup, decay)


test_schedule_right = accepts(
    "pretraining.schedule", by_fractions, by_running_sum, curve_by_tensors, by_decimals
)
test_schedule_wrong = rejects(
    "pretraining.schedule",
    (nothing, 0, "Not solved yet"),
    (a_function, 1, "expected one number"),
    (per_cent, 1, "The highest learning rate itself is 1"),
    (factor_as_text, 1, "expected one number"),
    (as_array_of_text, 1, "expected one number"),
    (as_complex, 1, "expected one number"),
    (divides_by_no_warmup, 2, "It was called with step = 0, steps = 3, warmup = 0, decay = 0.0."),
    (warmup_as_a_share, 2, "expected 0.25"),
    (
        rises_in_whole_numbers,
        2,
        "expected 0.25, 0.5, 0.75, 1, 1, 1, 1, 1. Step 0 is in the warm-up",
    ),
    (dips_in_between, 2, "after the warm-up every step has 1"),
    (cosine, 3, "with 4, 3, 2 and 1 parts of four"),
    (divides_by_the_share, 3, "has steps - start = 3 of them, not steps * decay = 3.3"),
    (at_most_one, 3, "has steps - start = 3 of them, not steps * decay = 3.3"),
    (at_least_one_step_of_warmup, 4, "`warmup` is 0 here, not 1"),
    (falls_while_it_rises, 4, "During the warm-up nothing falls yet"),
    (cuts_the_warmup_short, 4, "The warm-up is gone"),
    (only_three_cases, 4, "the parts do not fit"),
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


def mean_times_count(model, tokens):
    logits, asked = model(tokens[:, :-1]), tokens[:, 1:]
    mean = F.cross_entropy(logits.transpose(1, 2), asked, ignore_index=PAD)
    return [mean * (asked != PAD).sum(), (asked != PAD).sum()]


def only_the_nats(model, tokens):
    return causal_loss(model, tokens)[0]


def as_a_number(model, tokens):
    nats, targets = causal_loss(model, tokens)
    return nats.item(), targets


def without_a_graph(model, tokens):
    with torch.no_grad():
        return causal_loss(model, tokens)


def one_for_each(model, tokens):
    logits, asked = model(tokens[:, :-1]), tokens[:, 1:]
    nats = F.cross_entropy(logits.transpose(1, 2), asked, ignore_index=PAD, reduction="none")
    return nats, (asked != PAD).sum()


def over_the_positions(model, tokens):
    logits, asked = model(tokens[:, :-1]).softmax(1).log(), tokens[:, 1:]
    nats = -logits.gather(-1, asked[..., None])[..., 0]
    return nats[asked != PAD].sum(), (asked != PAD).sum()


def fills_the_pads(model, tokens):
    tokens[tokens == PAD] = 6
    return causal_loss(model, tokens)


test_causal_loss_right = accepts("pretraining.causal_loss", by_one_hot, mean_times_count)
test_causal_loss_wrong = rejects(
    "pretraining.causal_loss",
    (nothing, 0, "Not solved yet"),
    (only_the_nats, 1, "expected two values, `return nats, targets`"),
    (as_a_number, 1, "expected a tensor: the gradient has to come out of it"),
    (without_a_graph, 1, "carries no gradient"),
    (one_for_each, 1, "expected one number, the sum"),
    (over_the_positions, 1, "expected 19.8793"),
    (fills_the_pads, 3, "changed `tokens`"),
)


# windows


def one_row_at_a_time(ids, step, batch_size, length, seed=0):
    count, batch = (len(ids) - length) // length, torch.empty(batch_size, length, dtype=torch.long)
    for i in range(batch_size):
        epoch, place = divmod(step * batch_size + i, count)
        offset, order = epoch_order(count, length, seed=seed, epoch=epoch)
        start = int(offset + length * order[place])
        batch[i] = torch.tensor(ids[start : start + length].tolist())
    return batch


def as_a_list(ids, step, batch_size, length, seed=0):
    return windows(ids, step, batch_size, length, seed).tolist()


def in_32_bits_windows(ids, step, batch_size, length, seed=0):
    return windows(ids, step, batch_size, length, seed).int()


def one_too_long(ids, step, batch_size, length, seed=0):
    return windows(ids, step, batch_size, length + 1, seed)


def scattered(ids, step, batch_size, length, seed=0):
    return windows(ids, step, batch_size, length, seed)[:, torch.randperm(length)]


def drawn_anywhere(ids, step, batch_size, length, seed=0):
    draw = torch.Generator().manual_seed(1000 * seed + step)
    starts = torch.randint(len(ids) - length, (batch_size,), generator=draw)
    rows = [ids[start : start + length].astype(np.int64) for start in starts]
    return torch.from_numpy(np.stack(rows))


def counts_its_calls(ids, step, batch_size, length, seed=0, calls=[]):  # noqa: B006, the mistake
    calls.append(step)
    return windows(ids, step + len(calls) // 12, batch_size, length, seed)


test_windows_right = accepts("pretraining.windows", one_row_at_a_time)
test_windows_wrong = rejects(
    "pretraining.windows",
    (nothing, 0, "Not solved yet"),
    (as_a_list, 1, "expected a tensor of shape (3, 7)"),
    (in_32_bits_windows, 1, "expected torch.int64"),
    (one_too_long, 1, "expected (3, 7)"),
    (scattered, 2, "expected a slice of `ids`"),
    (drawn_anywhere, 3, "Row r is at place r of the epoch's order"),
)


def test_windows_are_those_of_the_package(tmp_path):
    write_tokens(tmp_path / "tokens.bin", [range(1000)])
    file = TokenFile(tmp_path / "tokens.bin")
    for step in (0, 9, 31):
        package = file.windows(step, batch_size=4, length=16, seed=3)
        assert torch.equal(windows(file.ids, step, 4, 16, 3), package)


# train


def by_micro_batches(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    def one(step):
        optimizer.param_groups[:] = [
            g | {"lr": learning_rate(step)} for g in optimizer.param_groups
        ]
        nats, targets = loss(model, batch_of(step))
        nats.mul(1 / targets).backward(retain_graph=True)
        norm = nn.utils.clip_grad_norm_((p for p in model.parameters() if p.requires_grad), clip)
        assert norm.isfinite()
        optimizer.step()
        model.zero_grad(set_to_none=False)
        return nats.detach() / targets

    return tuple(map(one, steps))


def with_a_mean_over_all(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    return sum(train(model, loss, batch_of, optimizer, learning_rate, steps, clip)) / len(steps)


def gives_nothing_back(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    train(model, loss, batch_of, optimizer, learning_rate, steps, clip)


def takes_a_number_of_steps(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    return train(model, loss, batch_of, optimizer, learning_rate, range(steps), clip)


def returns_in_the_loop(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    for step in steps:
        return train(model, loss, batch_of, optimizer, learning_rate, [step], clip)


def never_moves(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    losses = []
    for step in steps:
        nats, targets = loss(model, batch_of(step))
        (nats / targets).backward()
        losses.append(nats.item() / targets)
        optimizer.zero_grad()
    return losses


def clears_before_it_moves(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    losses = []
    for step in steps:
        nats, targets = loss(model, batch_of(step))
        (nats / targets).backward()
        optimizer.zero_grad()
        optimizer.step()
        losses.append(nats.item() / targets)
    return losses


def climbs(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    return train(model, loss, batch_of, optimizer, lambda k: -learning_rate(k), steps, clip)


def one_batch_late(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    return train(model, loss, lambda k: batch_of(k + 1), optimizer, learning_rate, steps, clip)


def clips_the_loss(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    def clipped(model, batch):
        nats, targets = loss(model, batch)
        return nats.clamp(max=clip * targets), targets

    return train(model, clipped, batch_of, optimizer, learning_rate, steps, 1e9)


def clips_half(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    return train(model, loss, batch_of, optimizer, learning_rate, steps, clip / 2)


test_train_right = accepts("pretraining.train", by_micro_batches)
test_train_wrong = rejects(
    "pretraining.train",
    (nothing, 0, "Not solved yet"),
    (gives_nothing_back, 1, "is a `return` missing?"),
    (with_a_mean_over_all, 1, "expected a list with the loss of every step"),
    (takes_a_number_of_steps, 1, "'range' object cannot be interpreted as an integer"),
    (returns_in_the_loop, 1, "expected 3 numbers, one for each"),
    (one_batch_late, 1, "each is nats / targets of its batch"),
    (never_moves, 2, "weight - learning rate"),
    (clears_before_it_moves, 2, "weight - learning rate"),
    (climbs, 2, "weight - learning rate"),
    (clips_the_loss, 4, "The length of all gradients together"),
    (clips_half, 4, "The length of all gradients together"),
)


# sample


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


def a_list_of_one(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    return [sample(logits, temperature, top_k, top_p, generator)]


def gives_the_probability(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    return logits.softmax(-1).max()


def scales_in_place(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    logits /= temperature
    return sample(logits, 1.0, top_k, top_p, generator)


def needs_k_entries(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    best, ids = (logits / max(temperature, 1e-6)).topk(top_k)
    return int(ids[torch.multinomial(best.softmax(-1), 1, generator=generator)])


def evenly(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    if temperature == 0:
        return int(logits.argmax())
    return int(torch.randint(min(top_k, len(logits)), (1,), generator=generator))


def all_above_p(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    if temperature == 0:
        return int(logits.argmax())
    best, ids = (logits / temperature).topk(min(top_k, len(logits)))
    shares = best.softmax(-1)
    kept = shares * (shares >= 1 - top_p)
    return int(ids[torch.multinomial(kept, 1, generator=generator)])


def temperature_after_the_softmax(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    if temperature == 0:
        return int(logits.argmax())
    return sample(logits.softmax(-1) / temperature, 1.0, top_k, top_p, generator)


test_sample_right = accepts("pretraining.sample", by_gumbel)
test_sample_wrong = rejects(
    "pretraining.sample",
    (nothing, 0, "Not solved yet"),
    (a_list_of_one, 1, "expected the id of a token"),
    (gives_the_probability, 1, "expected the id of a token"),
    (scales_in_place, 1, "changed `logits`"),
    (needs_k_entries, 1, "selected index k out of range"),
    (evenly, 3, "as often as the softmax of the logits says"),
    (temperature_after_the_softmax, 3, "as often as the softmax of the logits says"),
    (all_above_p, 6, "The token that reaches `top_p` is kept, too"),
)


# generate


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


def as_a_text(model, tokens, count, pick):
    return " ".join(map(str, generate(model, tokens, count, pick)))


def with_graphs(model, tokens, count, pick):
    tokens, start = list(tokens), len(tokens)
    for _ in range(count):
        tokens.append(pick(model(torch.tensor([tokens]))[0, -1]))
    return tokens[start:]


def without_a_batch(model, tokens, count, pick):
    tokens = list(tokens)
    with torch.no_grad():
        return [pick(model(torch.tensor(tokens))[-1]) for _ in range(count)]


def all_logits(model, tokens, count, pick):
    with torch.no_grad():
        return [pick(model(torch.tensor([tokens]))) for _ in range(count)]


def stops_at_any_eos(model, tokens, count, pick):
    return [] if EOS in tokens else generate(model, tokens, count, pick)


test_generate_right = accepts("pretraining.generate", writes_into_a_tensor)
test_generate_wrong = rejects(
    "pretraining.generate",
    (nothing, 0, "Not solved yet"),
    (as_a_text, 1, "expected a list of ids"),
    (with_graphs, 1, "with torch.no_grad()"),
    (all_logits, 1, "expected the logits of the last position"),
    (without_a_batch, 1, "gave [21, 21, 21]"),
    (stops_at_any_eos, 3, "Only an `<eos>` that was picked"),
)


# find_the_bug


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


def _mended(reduction="sum", divide=None, where="end", clipping=None):
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


mean_of_means = _mended("mean", lambda parts, targets: len(parts))
sum_without_division = _mended("sum", lambda parts, targets: 1)
sum_over_parts = _mended("sum", lambda parts, targets: len(parts))
mean_divided_again = _mended("mean", lambda parts, targets: sum(len(part[1]) for part in parts))
sum_of_means = _mended("sum", lambda parts, targets: max(1, len(targets)))
as_if_of_equal_size = _mended("sum", lambda parts, targets: len(parts) * len(parts[0][1]))
means_of_those_with_targets = _mended("mean", lambda p, _: sum(len(part[1]) > 0 for part in p))
still_clipped_inside = _mended(where="inside")
never_clipped = _mended(where="nowhere")
each_number_clipped = _mended(clipping=lambda w, clip: nn.utils.clip_grad_value_([w], clip))
always_as_long_as_clip = _mended(clipping=lambda w, clip: w.grad.mul_(clip / w.grad.norm()))


def _length_by(norm):
    return _mended(clipping=lambda w, clip: nn.utils.clip_grad_norm_([w], clip, norm_type=norm))


sum_of_sizes, largest_number = _length_by(1), _length_by(math.inf)


def clipped_before_dividing(weights, micro_batches, clip):
    count = sum(len(targets) for _, targets in micro_batches)
    return sum_without_division(weights, micro_batches, clip) / count


def each_clipped_alone(weights, micro_batches, clip):
    count = sum(len(targets) for _, targets in micro_batches)
    parts = [gradients(weights, [part], clip) * len(part[1]) for part in micro_batches]
    return sum(part for part in parts if not part.isnan().any()) / count


def only_the_last(weights, micro_batches, clip):
    for inputs, targets in micro_batches:
        weights = weights.detach().clone().requires_grad_()
        F.cross_entropy(inputs @ weights, targets).backward()
    nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


def returns_the_norm(weights, micro_batches, clip):
    weights = weights.detach().clone().requires_grad_()
    for inputs, targets in micro_batches:
        F.cross_entropy(inputs @ weights, targets, reduction="sum").backward()
    return nn.utils.clip_grad_norm_([weights], clip)


def takes_the_step(weights, micro_batches, clip):
    gradient = gradients(weights, micro_batches, clip)
    weights -= gradient
    return gradient


def leaves_requires_grad(weights, micro_batches, clip):
    gradient = gradients(weights, micro_batches, clip)
    weights.requires_grad_()
    return gradient


def uses_them_up(weights, micro_batches, clip):
    gradient = gradients(weights, micro_batches, clip)
    while micro_batches:
        micro_batches.pop()
    return gradient


def keeps_the_sum(weights, micro_batches, clip, sums={}):  # noqa: B006, the mistake itself
    total = sums.get(weights.shape, 0) + gradients(weights, micro_batches, clip)
    sums[weights.shape] = total
    return total


def transposed(weights, micro_batches, clip):
    return gradients(weights, micro_batches, clip).T


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


def per_column(weights, micro_batches, clip):
    gradient = never_clipped(weights, micro_batches, clip)
    return gradient * (clip / gradient.norm(dim=0)).clamp(max=1.0)


def clips_the_weights(weights, micro_batches, clip):
    gradient = never_clipped(weights, micro_batches, clip)
    nn.utils.clip_grad_norm_([weights], clip)
    return gradient


def squared_length(weights, micro_batches, clip):
    gradient = never_clipped(weights, micro_batches, clip)
    return gradient * min(1.0, clip / gradient.square().sum().item())


test_find_the_bug_right = accepts(
    "pretraining.find_the_bug",
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
    (sum_without_division, 1, "gave 5 times the right gradient. This is the gradient of the sum"),
    (mean_divided_again, 1, "divided by the number of targets once more"),
    (sum_over_parts, 1, "sum of the losses"),
    (always_as_long_as_clip, 1, "shorter than `clip` is left as it is"),
    (returns_the_norm, 1, "returns a norm, not a gradient"),
    (transposed, 1, "expected (4, 3). It has the shape of `weights`. This one is transposed"),
    (takes_the_step, 1, "only the gradient is wanted, no step"),
    (adds_up_on_the_weights, 1, "left `requires_grad` or a `.grad` on the `weights`"),
    (leaves_requires_grad, 1, "what is handed in stays as it is"),
    (uses_them_up, 1, "changed the micro-batches"),
    (keeps_the_sum, 1, "is kept from call to call"),
    (sum_of_means, 2, "their sum is not divided"),
    (only_the_last, 2, "Only the last micro-batch"),
    (mean_of_means, 3, "The two weigh as much as the ten"),
    (means_of_those_with_targets, 3, "The two weigh as much as the ten"),
    (half_mended, 3, "The two weigh as much as the ten"),
    (as_if_of_equal_size, 3, "gave 0.6 times the right gradient. There are 12 targets in all"),
    (drops_the_small, 3, "each has the same say"),
    (still_clipped_inside, 4, "not before"),
    (each_clipped_alone, 4, "not before"),
    (never_clipped, 4, "Nothing was clipped"),
    (clips_the_weights, 4, "Nothing was clipped"),
    (each_number_clipped, 4, "the length of all together"),
    (clipped_before_dividing, 4, "clipped first and divided by the number of targets afterwards"),
    (sum_of_sizes, 4, "here the sizes of the numbers were added up"),
    (largest_number, 4, "here the largest number was taken for it"),
    (per_column, 4, "expected the same direction"),
    (squared_length, 4, "expected the same direction"),
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


def by_tensors(nats, text):
    units = len(text.replace("\n", " <eos> ").split())
    total = torch.tensor(nats).sum()
    return (total / units).exp(), total / math.log(2) / len(bytes(text, "utf-8"))


def by_pattern(nats, text):
    units, total = len(re.findall(r"\S+|\n", text)), math.fsum(nats)
    return [math.e ** (total / units), math.log2(math.e) * total / len(text.encode())]


def as_array(nats, text):
    return np.array(word_perplexity_and_bits(nats, text))


def as_tensor(nats, text):
    return torch.tensor(word_perplexity_and_bits(nats, text))


def only_one(nats, text):
    return word_perplexity_and_bits(nats, text)[0]


def nats_a_word(nats, text):
    perplexity, bits = word_perplexity_and_bits(nats, text)
    return math.log(perplexity), bits


def bits_first(nats, text):
    return word_perplexity_and_bits(nats, text)[::-1]


def as_text(nats, text):
    return tuple(str(value) for value in word_perplexity_and_bits(nats, text))


def three_in_an_array(nats, text):
    return np.array([*word_perplexity_and_bits(nats, text), 0.0])


def _without_punctuation(text):
    return text.translate(str.maketrans("", "", string.punctuation))


splits_at_spaces = divided_by(lambda text: len(text.rstrip("\n").split(" ")) + text.count("\n"))
lines_not_line_ends = divided_by(lambda text: len(text.split()) + len(text.splitlines()))
words_of_letters = divided_by(lambda text: len(re.findall(r"\w+|\n", text)))
drops_punctuation = divided_by(lambda text: len(re.findall(r"\S+|\n", _without_punctuation(text))))
blanks_only = divided_by(lambda text: len(re.findall(r"[^ \n]+|\n", text)))
tabs_as_line_ends = divided_by(lambda text: len(text.split()) + len(re.findall(r"[\n\t]", text)))
returns_as_line_ends = divided_by(lambda text: len(text.split()) + len(re.findall("[\n\r]", text)))
lines_by_splitlines = divided_by(
    lambda text: len(text.split()) + len((text + "x").splitlines()) - 1
)
pieces_of_words = divided_by(lambda text: len(re.split(r"\s+", text)) + text.count("\n"))


test_word_perplexity_right = accepts(
    "pretraining.word_perplexity_and_bits", by_tensors, by_pattern, as_array, as_tensor
)
test_word_perplexity_wrong = rejects(
    "pretraining.word_perplexity_and_bits",
    (nothing, 0, "Not solved yet"),
    (only_one, 1, "expected two numbers"),
    (as_text, 1, "expected two numbers"),
    (three_in_an_array, 1, "expected two numbers"),
    (nats_a_word, 1, "sure and right"),
    (bits_first, 1, "First the perplexity"),
    (pieces_of_words, 2, "an empty piece"),
    (splits_at_spaces, 2, "White space only separates words"),
    (lines_not_line_ends, 2, "count the characters"),
    (words_of_letters, 2, "whatever stands between white space"),
    (drops_punctuation, 2, "whatever stands between white space"),
    (blanks_only, 2, "are white space and part two words"),
    (tabs_as_line_ends, 2, "But none of them is the character `\\n`"),
    (returns_as_line_ends, 2, "But none of them is the character `\\n`"),
    (lines_by_splitlines, 2, "But none of them is the character `\\n`"),
)
