import math
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
import torch
from tlcourse.exercises.machinery import check
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.training_run import gradients, gradients_as_given, rate_factor
from tlcourse.training import warmup_stable_decay


def nothing(*arguments): ...  # your code here


# rate_factor


def by_lists(step, steps, warmup, decay):
    falling = min(steps - round(steps * (1 - decay)), steps - warmup)
    up = [(k + 1) / warmup for k in range(warmup)]
    down = [1 - k / falling for k in range(falling)]
    return (up + [1.0] * (steps - warmup - falling) + down)[step]


def by_minimum(step, steps, warmup, decay):
    start = max(warmup, round(steps * (1 - decay)))
    return min(1, (step + 1) / max(1, warmup), (steps - step) / max(1, steps - start))


def begins_at_zero(step, steps, warmup, decay):
    return step / warmup if step < warmup else rate_factor(step, steps, warmup, decay)


def begins_at_zero_ends_at_one(step, steps, warmup, decay):
    return step / (warmup - 1) if step < warmup else rate_factor(step, steps, warmup, decay)


def never_quite_up(step, steps, warmup, decay):
    return (step + 1) / (warmup + 1) if step < warmup else rate_factor(step, steps, warmup, decay)


def one_step_too_far_up(step, steps, warmup, decay):
    return (step + 1) / warmup if step <= warmup else rate_factor(step, steps, warmup, decay)


def divides_by_no_warmup(step, steps, warmup, decay):
    return min(rate_factor(step, steps, warmup, decay), (step + 1) / warmup)


def _falls(fall):
    """A candidate that warms up rightly; `fall(step, steps, start)` is its decay."""

    def function(step, steps, warmup, decay):
        start = max(warmup, round(steps * (1 - decay)))
        if step < warmup or start == steps:
            return rate_factor(step, steps, warmup, decay)
        return 1.0 if step < start else fall(step, steps, start)

    return function


ends_at_zero = _falls(lambda step, steps, start: (steps - 1 - step) / max(1, steps - 1 - start))
falls_at_once = _falls(lambda step, steps, start: (steps - 1 - step) / (steps - start))
never_one = _falls(lambda step, steps, start: (steps - step) / (steps - start + 1))
jumps = _falls(lambda step, steps, start: (steps - step) / steps)
rises_at_the_end = _falls(lambda step, steps, start: (step - start) / (steps - start))
cosine = _falls(lambda k, steps, start: (1 + math.cos(math.pi * (k - start) / (steps - start))) / 2)


def counts_from_one(step, steps, warmup, decay):
    start = round(steps * (1 - decay))
    if step < max(warmup, start + 1):
        return rate_factor(step, steps, warmup, 0.0)
    return (steps - step + 1) / (steps - start)


def decays_from_the_beginning(step, steps, warmup, decay):
    if decay == 0 or step < warmup:
        return rate_factor(step, steps, warmup, decay)
    return (steps - step) / (steps - warmup)


def share_as_the_beginning(step, steps, warmup, decay):
    return rate_factor(step, steps, warmup, 1 - decay if decay else 0)


def share_of_the_rest(step, steps, warmup, decay):
    return rate_factor(step, steps, warmup, decay * (steps - warmup) / steps)


def jumps_after_the_warmup(step, steps, warmup, decay):
    start = round(steps * (1 - decay))
    if step < max(warmup, start):
        return rate_factor(step, steps, warmup, 0.0)
    return (steps - step) / (steps - start)


def falls_while_it_rises(step, steps, warmup, decay):
    fall = rate_factor(step, steps, 0, decay)
    return fall * rate_factor(step, steps, warmup, 0.0)


def decay_before_warmup(step, steps, warmup, decay):
    start = round(steps * (1 - decay))
    return rate_factor(step, steps, warmup if step < start else 0, decay)


def cut_off(step, steps, warmup, decay):
    start = int(steps * (1 - decay))
    return rate_factor(step, steps, warmup, (steps - max(warmup, start)) / steps)


test_schedule_right = accepts("pretraining.schedule", by_lists, by_minimum)
test_schedule_wrong = rejects(
    "pretraining.schedule",
    (nothing, 0, "Not solved yet"),
    (begins_at_zero, 2, "step 0 is the first of four and has 1/4"),
    (begins_at_zero_ends_at_one, 2, "not a start before them"),
    (never_quite_up, 2, "Step 3 is the fourth of four"),
    (one_step_too_far_up, 2, "Step 4 is past the warm-up"),
    (divides_by_no_warmup, 2, "It was called with step = 0, steps = 3, warmup = 0, decay = 0.0."),
    (ends_at_zero, 3, "the step *after* it that would have 0, so each part is 1/4"),
    (falls_at_once, 3, "step 6, the first of the four, has 1"),
    (never_one, 3, "The first step of the decay still has 1"),
    (jumps, 3, "The rate jumps where the decay begins"),
    (rises_at_the_end, 3, "Count the steps that are left"),
    (cosine, 3, "with 4, 3, 2 and 1 parts of four"),
    (counts_from_one, 3, "All is one step late: steps count from 0"),
    (decays_from_the_beginning, 3, "It falls from the beginning"),
    (share_as_the_beginning, 3, "It begins at 0.4 of the run"),
    (cut_off, 3, "Round to the nearest whole step"),
    (jumps_after_the_warmup, 4, "the decay has only the steps that the warm-up leaves"),
    (falls_while_it_rises, 4, "During the warm-up nothing falls yet"),
    (decay_before_warmup, 4, "The warm-up is gone"),
    (share_of_the_rest, 4, "a share of all steps, here 10 of 20"),
)


@pytest.mark.parametrize("steps", [1, 2, 7, 40])
@pytest.mark.parametrize("decay", [0.0, 0.1, 0.33, 0.5, 0.9, 1.0])
def test_the_reference_is_the_engines_schedule(steps, decay):
    for warmup in {0, 1, steps // 3, steps}:
        package = warmup_stable_decay(steps, warmup, decay)
        mine = [rate_factor(step, steps, warmup, decay) for step in range(steps)]
        assert mine == [package(step) for step in range(steps)]


# gradients


def weighted_means(weights, micro_batches, clip):
    total = sum(len(targets) for _, targets in micro_batches)
    weights = weights.detach().clone().requires_grad_()
    for inputs, targets in micro_batches:
        if len(targets) > 0:
            share = len(targets) / total
            (F.cross_entropy(inputs @ weights, targets) * share).backward()
    nn.utils.clip_grad_norm_(weights, clip)
    return weights.grad


def in_closed_form(weights, micro_batches, clip):
    total, count = torch.zeros_like(weights), 0
    for inputs, targets in micro_batches:
        errors = (inputs @ weights).softmax(dim=1) - F.one_hot(targets, weights.shape[1])
        total, count = total + inputs.T @ errors, count + len(targets)
    mean = total / count
    return mean * (clip / mean.norm()).clamp(max=1.0)


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


def only_the_first(weights, micro_batches, clip):
    return gradients(weights, micro_batches[:1], clip)


def returns_the_norm(weights, micro_batches, clip):
    weights = weights.detach().clone().requires_grad_()
    for inputs, targets in micro_batches:
        F.cross_entropy(inputs @ weights, targets, reduction="sum").backward()
    return nn.utils.clip_grad_norm_([weights], clip)


def takes_the_step(weights, micro_batches, clip):
    gradient = gradients(weights, micro_batches, clip)
    weights -= gradient
    return gradient


def adds_up_on_the_weights(weights, micro_batches, clip):
    weights.requires_grad_()
    count = sum(len(targets) for _, targets in micro_batches)
    for inputs, targets in micro_batches:
        (F.cross_entropy(inputs @ weights, targets, reduction="sum") / count).backward()
    nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


def uses_them_up(weights, micro_batches, clip):
    gradient = gradients(weights, micro_batches, clip)
    while micro_batches:
        micro_batches.pop()
    return gradient


test_gradients_right = accepts("pretraining.find_the_bug", weighted_means, in_closed_form)
test_gradients_wrong = rejects(
    "pretraining.find_the_bug",
    (nothing, 0, "Not solved yet, and that is fine"),
    (gradients_as_given, 0, "Not solved yet, this is the code as it was given"),
    (sum_without_division, 1, "gave 5 times the right gradient"),
    (mean_divided_again, 1, "divided by the number of targets once more"),
    (sum_over_parts, 1, "sum of the losses"),
    (always_as_long_as_clip, 1, "shorter than `clip` is left as it is"),
    (returns_the_norm, 1, "returns a norm, not a gradient"),
    (takes_the_step, 1, "only the gradient is wanted, no step"),
    (adds_up_on_the_weights, 1, "left `requires_grad` or a `.grad` on the `weights`"),
    (uses_them_up, 1, "changed the micro-batches"),
    (sum_of_means, 2, "their sum is not divided"),
    (only_the_last, 2, "Only the last micro-batch"),
    (only_the_first, 2, "Is the `return` inside the loop?"),
    (mean_of_means, 3, "The two weigh as much as the ten"),
    (as_if_of_equal_size, 3, "gave 0.6 times the right gradient. There are 12 targets in all"),
    (still_clipped_inside, 4, "not before"),
    (each_clipped_alone, 4, "not before"),
    (never_clipped, 4, "Nothing was clipped"),
    (each_number_clipped, 4, "the length of all together"),
    (clipped_before_dividing, 4, "clipped first and divided by the number of targets afterwards"),
)


def half_mended(weights, micro_batches, clip):
    """The means are as given, the clipping is not."""
    weights = weights.detach().clone().requires_grad_()
    for inputs, targets in micro_batches:
        loss = F.cross_entropy(inputs @ weights, targets)
        loss = loss / len(micro_batches)
        loss.backward()
    torch.nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


def test_one_bug_mended_is_no_longer_the_code_as_given():
    report = check("pretraining.find_the_bug", half_mended)
    assert report.stage == 3 and "The two weigh as much as the ten" in report.message


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


# Written by someone who saw only the text of the exercises.


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


def by_tensors(step, steps, warmup, decay):
    start = max(warmup, round(steps * (1 - decay)))
    lines = [torch.tensor(1.0)]
    if warmup:
        lines.append(torch.tensor((step + 1) / warmup))
    if steps > start:
        lines.append(torch.tensor((steps - step) / (steps - start)))
    return torch.stack(lines).amin()


def a_function(step, steps, warmup, decay):
    return warmup_stable_decay(steps, warmup, decay)


def per_cent(step, steps, warmup, decay):
    return 100 * rate_factor(step, steps, warmup, decay)


def warmup_as_a_share(step, steps, warmup, decay):
    return min(1.0, (step + 1) / max(1, steps * warmup))


def not_rounded(step, steps, warmup, decay):
    start = max(warmup, steps * (1 - decay))
    if step < start:
        return rate_factor(step, steps, warmup, 0.0)
    return (steps - step) / (steps - start)


def rounded_up(step, steps, warmup, decay):
    start = max(warmup, math.ceil(steps * (1 - decay)))
    return rate_factor(step, steps, warmup, (steps - start) / steps)


def cuts_the_warmup_short(step, steps, warmup, decay):
    return rate_factor(step, steps, min(warmup, round(steps * (1 - decay))), decay)


def only_three_cases(step, steps, warmup, decay):
    if warmup + decay * steps > steps:
        raise ValueError("the parts do not fit")
    return rate_factor(step, steps, warmup, decay)


def at_least_one_step_of_warmup(step, steps, warmup, decay):
    return rate_factor(step, steps, max(warmup, 1), decay)


def divides_by_the_share(step, steps, warmup, decay):
    start = max(warmup, round(steps * (1 - decay)))
    if step < start:
        return rate_factor(step, steps, warmup, 0.0)
    return (steps - step) / min(steps * decay, steps - warmup)


def at_most_one(step, steps, warmup, decay):
    return min(1.0, divides_by_the_share(step, steps, warmup, decay))


def rises_in_whole_numbers(step, steps, warmup, decay):
    return (step + 1) // warmup if step < warmup else rate_factor(step, steps, warmup, decay)


def dips_in_between(step, steps, warmup, decay):
    start = max(warmup, round(steps * (1 - decay)))
    return 0.9 if step == warmup < start else rate_factor(step, steps, warmup, decay)


def as_text(step, steps, warmup, decay):
    return str(rate_factor(step, steps, warmup, decay))


def as_array_of_text(step, steps, warmup, decay):
    return np.array(as_text(step, steps, warmup, decay))


def as_complex(step, steps, warmup, decay):
    return np.complex128(rate_factor(step, steps, warmup, decay))


def by_decimals(step, steps, warmup, decay):
    return Decimal(rate_factor(step, steps, warmup, decay))


test_outside_schedule_right = accepts(
    "pretraining.schedule", by_fractions, by_running_sum, by_tensors, by_decimals
)
test_outside_schedule_wrong = rejects(
    "pretraining.schedule",
    (a_function, 1, "expected one number"),
    (per_cent, 1, "The highest rate itself is 1"),
    (warmup_as_a_share, 2, "expected 0.25"),
    (not_rounded, 3, "has steps - start = 3 of them, not steps * decay = 3.3"),
    (divides_by_the_share, 3, "has steps - start = 3 of them, not steps * decay = 3.3"),
    (at_most_one, 3, "has steps - start = 3 of them, not steps * decay = 3.3"),
    (at_least_one_step_of_warmup, 4, "`warmup` is 0 here, not 1"),
    (
        rises_in_whole_numbers,
        2,
        "expected 0.25, 0.5, 0.75, 1, 1, 1, 1, 1. Step 0 is in the warm-up",
    ),
    (dips_in_between, 2, "after the warm-up every step has 1"),
    (as_text, 1, "expected one number"),
    (as_array_of_text, 1, "expected one number"),
    (as_complex, 1, "expected one number"),
    (rounded_up, 3, "Round to the nearest whole step"),
    (cuts_the_warmup_short, 4, "The warm-up is gone"),
    (only_three_cases, 4, "the parts do not fit"),
)


def all_at_once(weights, micro_batches, clip):
    weights = weights.detach().requires_grad_()
    inputs, targets = (torch.cat(parts) for parts in zip(*micro_batches, strict=True))
    (gradient,) = torch.autograd.grad(F.cross_entropy(inputs @ weights, targets), weights)
    return gradient if gradient.norm() <= clip else gradient / gradient.norm() * clip


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


def per_column(weights, micro_batches, clip):
    gradient = never_clipped(weights, micro_batches, clip)
    return gradient * (clip / gradient.norm(dim=0)).clamp(max=1.0)


def clips_the_weights(weights, micro_batches, clip):
    gradient = never_clipped(weights, micro_batches, clip)
    nn.utils.clip_grad_norm_([weights], clip)
    return gradient


def drops_the_small(weights, micro_batches, clip):
    largest = max(len(targets) for _, targets in micro_batches)
    return gradients(weights, [part for part in micro_batches if len(part[1]) == largest], clip)


def means_times_counts(weights, micro_batches, clip):
    count = sum(len(targets) for _, targets in micro_batches)
    weights = weights.detach().clone().requires_grad_()
    for inputs, targets in micro_batches:
        (F.cross_entropy(inputs @ weights, targets) * len(targets)).backward()
    weights.grad /= count
    nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


def squared_length(weights, micro_batches, clip):
    gradient = never_clipped(weights, micro_batches, clip)
    return gradient * min(1.0, clip / gradient.square().sum().item())


def against_the_gradient(weights, micro_batches, clip):
    return -gradients(weights, micro_batches, clip)


test_outside_gradients_right = accepts(
    "pretraining.find_the_bug",
    all_at_once,
    by_a_linear_layer,
    by_a_jacobian,
    by_numpy,
    means_times_counts,
)
test_outside_gradients_wrong = rejects(
    "pretraining.find_the_bug",
    (per_column, 4, "expected the same direction"),
    (clips_the_weights, 4, "Nothing was clipped"),
    (drops_the_small, 3, "each has the same say"),
    (means_of_those_with_targets, 3, "The two weigh as much as the ten"),
    (squared_length, 4, "expected the same direction"),
    (against_the_gradient, 1, "not the step against it"),
)


# What the checks once let through, or answered with the wrong cause.


def leaves_requires_grad(weights, micro_batches, clip):
    gradient = gradients(weights, micro_batches, clip)
    weights.requires_grad_()
    return gradient


def takes_away_what_it_put_on(weights, micro_batches, clip):
    gradient = adds_up_on_the_weights(weights, micro_batches, clip)
    weights.grad = None
    weights.requires_grad_(False)
    return gradient


def keeps_the_sum(weights, micro_batches, clip, sums={}):  # noqa: B006, the mistake itself
    total = sums.get(weights.shape, 0) + gradients(weights, micro_batches, clip)
    sums[weights.shape] = total
    return total


def clip_of_one(weights, micro_batches, clip):
    return gradients(weights, micro_batches, 1.0)


def _length_by(norm):
    return _mended(clipping=lambda w, clip: nn.utils.clip_grad_norm_([w], clip, norm_type=norm))


sum_of_sizes, largest_number = _length_by(1), _length_by(math.inf)


def transposed(weights, micro_batches, clip):
    return gradients(weights, micro_batches, clip).T


test_gradients_put_back = accepts(
    "pretraining.find_the_bug", takes_away_what_it_put_on, means_times_counts
)
test_gradients_causes = rejects(
    "pretraining.find_the_bug",
    (leaves_requires_grad, 1, "what is handed in stays as it is"),
    (keeps_the_sum, 1, "is kept from call to call"),
    (clip_of_one, 3, "It was clipped to 1, with a `clip` that is huge"),
    (sum_of_sizes, 4, "here the sizes of the numbers were added up"),
    (largest_number, 4, "here the largest number was taken for it"),
    (transposed, 1, "expected (4, 3). It has the shape of `weights`. This one is transposed"),
)


def test_a_shape_is_not_blamed_on_clip_grad_norm_unless_it_is_that_of_a_number():
    assert "clip_grad_norm_" not in check("pretraining.find_the_bug", transposed).message
