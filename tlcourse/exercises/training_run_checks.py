"""The checks of lesson 03's training step, a function for each stage.

The true gradient is measured: the loss at weights a little to either side, in double precision.
"""

import math
import random

import torch
from torch import Tensor

from tlcourse.exercises.expect import Wrong, expect_close, expect_shape

HUGE = 1e6  # a `clip` that no gradient here reaches
Parts = list[tuple[Tensor, Tensor]]


def _drawn(sizes: list[int], seed: int, features: int = 4, classes: int = 3) -> tuple:
    """Weights (features, classes) and micro-batches of these sizes."""
    draw = torch.Generator().manual_seed(seed)
    weights = torch.randn(features, classes, generator=draw)
    parts = [
        (torch.randn(n, features, generator=draw), torch.randint(classes, (n,), generator=draw))
        for n in sizes
    ]
    return weights, parts


def _gradient(candidate, weights: Tensor, parts: Parts, clip: float) -> Tensor:
    """The candidate's answer, of the right shape; raises Wrong if it changed what it was given."""
    handed = weights.clone(), [(inputs.clone(), targets.clone()) for inputs, targets in parts]
    sizes = _sizes(parts)
    try:
        got = candidate(*handed, clip)
    except Exception as error:
        error.add_note(f"It was called with {sizes}.")
        raise
    if not handed[0].equal(weights):
        raise Wrong("your function changed `weights`: only the gradient is wanted, no step.")
    if handed[0].requires_grad or handed[0].grad is not None:
        raise Wrong(
            "your function left `requires_grad` or a `.grad` on the `weights` that it was given: "
            "what is handed in stays as it is. Work on `weights.detach().clone()`."
        )
    if not _same(handed[1], parts):
        raise Wrong("your function changed the micro-batches that it was given.")
    likely, shape = "It has the shape of `weights`.", getattr(got, "shape", None)
    if shape == ():
        likely += " (`clip_grad_norm_` returns a norm, not a gradient.)"
    elif shape == weights.T.shape:
        likely += " This one is transposed: is there a `.T` too many or too few?"
    expect_shape(got, tuple(weights.shape), sizes, likely)
    return torch.as_tensor(got).detach().double()


def _same(some: Parts, others: Parts) -> bool:
    pairs = zip(some, others, strict=False)
    same = (a[0].equal(b[0]) and a[1].equal(b[1]) for a, b in pairs)
    return len(some) == len(others) and all(same)


def _sizes(parts: Parts) -> str:
    sizes = [len(targets) for _, targets in parts]
    return f"micro-batches of {sizes} examples" if len(sizes) > 1 else f"{sizes[0]} examples"


def _measured(weights: Tensor, parts: Parts) -> Tensor:
    """(features, classes) slope of the mean loss over all targets, by finite differences."""
    inputs = torch.cat([part[0] for part in parts]).double()
    targets = torch.cat([part[1] for part in parts])

    def loss(at: Tensor) -> Tensor:
        scores = inputs @ at
        right = scores[torch.arange(len(targets)), targets]
        return (scores.exp().sum(dim=1).log() - right).mean()

    slope = torch.zeros(weights.shape, dtype=torch.float64)
    for place in range(weights.numel()):
        step = torch.zeros_like(slope)
        step.view(-1)[place] = 1e-5
        slope.view(-1)[place] = (loss(weights + step) - loss(weights - step)) / 2e-5
    return slope


def _near(got: Tensor, other: Tensor) -> bool:
    return torch.allclose(got, other, rtol=1e-4, atol=1e-5)


def _times(got: Tensor, right: Tensor) -> float:
    """By which factor `got` is `right`; NaN if it points elsewhere."""
    factor = float((got * right).sum() / (right * right).sum())
    return factor if _near(got, factor * right) else math.nan


def _expect_gradient(got: Tensor, right: Tensor, what: str, known=(), likely: str = "") -> None:
    """Raises Wrong unless both are alike; `known` are wrong gradients and what is said of them."""
    if _near(got, right):
        return
    likely = next((text for wrong, text in known if _near(got, wrong)), likely)
    factor = _times(got, right)
    if not math.isnan(factor):
        raise Wrong(f"{what} gave {round(factor, 3):g} times the right gradient. {likely}")
    expect_close(got, right, what, likely, tolerance=1e-4)


def _other_lengths(right: Tensor, clip: float) -> list[tuple[Tensor, str]]:
    """What becomes of the whole gradient if its length is taken otherwise, and what is said."""
    euclid = "The length is the root of the sum of squares (`norm_type=2`)"
    known = [
        (float(right.abs().sum()), f"{euclid}; here the sizes of the numbers were added up."),
        (float(right.abs().max()), f"{euclid}; here the largest number was taken for it."),
    ]
    return [(right * (clip / length), said) for length, said in known if length > clip]


def one(candidate) -> None:
    weights, parts = _drawn([5], seed=1)
    right, what = _measured(weights, parts), "5 examples, a huge clip"
    got = _gradient(candidate, weights, parts, HUGE)
    known = [
        (5 * right, "This is the gradient of the sum of the losses; the mean over 5 is wanted."),
        (right / 5, "The mean is divided by the number of targets once more."),
        (HUGE * right / right.norm(), "A gradient shorter than `clip` is left as it is."),
        (-right, "The gradient is wanted, not the step against it."),
    ]
    _expect_gradient(got, right, what, known, "By hand: inputs.T @ (softmax - one_hot) / 5.")
    again = weights.clone()
    twice = [torch.as_tensor(candidate(again, parts, HUGE)).clone() for _ in range(2)]
    if not _near(*twice):
        raise Wrong(
            "the same arguments gave two answers: what was added up is kept from call to call."
        )


def equal(candidate) -> None:
    weights, parts = _drawn([4, 4, 4], seed=2)
    right, what = _measured(weights, parts), f"{_sizes(parts)}, a huge clip"
    got = _gradient(candidate, weights, parts, HUGE)
    first, _, last = (_measured(weights, [part]) for part in parts)
    only = "Only the {} micro-batch is in it. {}"
    cleared = only.format("last", "Is what was added up cleared between them?")
    left = only.format("first", "Is the `return` inside the loop?")
    known = [
        (last, cleared),
        (last / 3, cleared),
        (first, left),
        (first / 3, left),
        (3 * right, "Means of three micro-batches are added, and their sum is not divided."),
    ]
    likely = "Equal micro-batches, cut or whole: the gradient must be the same."
    _expect_gradient(got, right, what, known, likely)


def different(candidate) -> None:
    weights, parts = _drawn([10, 2], seed=3)
    right, what = _measured(weights, parts), f"{_sizes(parts)}, a huge clip"
    got = _gradient(candidate, weights, parts, HUGE)
    ten, two = (_measured(weights, [part]) for part in parts)
    known = [((ten + two) / 2, "The two weigh as much as the ten: this is a mean of two means.")]
    likely = "There are 12 targets in all, and each has the same say."
    _expect_gradient(got, right, what, known, likely)
    likely = "A micro-batch without targets adds nothing, and does not count."
    for sizes in ([3, 0, 4], [0, 5], [5, 0]):
        weights, parts = _drawn(sizes, seed=4)
        right, what = _measured(weights, parts), f"{_sizes(parts)}, a huge clip"
        to_one = "It was clipped to 1, with a `clip` that is huge: `clip` is handed in, use it."
        known = [(right / right.norm(), to_one)]
        _expect_gradient(_gradient(candidate, weights, parts, HUGE), right, what, known, likely)


def clipped(candidate) -> None:
    # Two micro-batches that pull in opposite directions: each is long, together they are short.
    (inputs, targets), weights = _drawn([4], seed=5)[1][0], torch.zeros(4, 3)
    unit = _measured(weights, [(inputs, targets)]).norm()
    inputs = (inputs / unit).float()
    parts = [(inputs, targets), (-0.8 * inputs, targets)]
    right = _measured(weights, parts)
    too_early = "It was clipped first and divided by the number of targets afterwards."
    likely = (
        "Their gradients, 1 and 0.8 long, are opposite, and the mean over all 8 targets is only "
        "0.1 long: nothing to clip. How long it is shows when all is added up, not before."
    )
    for order, place in ((parts, "the longer first"), (parts[::-1], "the shorter first")):
        got = _gradient(candidate, weights, order, 0.2)
        what = f"two opposite micro-batches ({place}), clip=0.2"
        known = [(right * 0.2 / 0.8, too_early), *_other_lengths(right, 0.2)]
        _expect_gradient(got, right, what, known, likely)
    _expect_shortened(candidate, too_early)


def _expect_shortened(candidate, too_early: str) -> None:
    """Micro-batches whose gradient is four times as long as `clip`."""
    weights, parts = _drawn([4, 4], seed=6)
    whole = _measured(weights, parts)
    length = float(whole.norm())
    clip = round(length / 4, 2)
    got, right = _gradient(candidate, weights, parts, clip), whole * clip / length
    known = [
        *_other_lengths(whole, clip),
        (whole, "Nothing was clipped."),
        (whole.clamp(-clip, clip), "Each number was clipped; it is the length of all together."),
        (right / 8, too_early),
    ]
    said = f"It is {float(got.norm()):.3g} long; expected the same direction, {clip:g} long."
    what = f"{_sizes(parts)}, a gradient {length:.3g} long, clip={clip:g}"
    _expect_gradient(got, right, what, known, said)


def whole(candidate) -> None:
    draw = random.Random(7)
    for seed in range(20):
        sizes = [draw.randrange(7) for _ in range(draw.randrange(1, 6))] + [draw.randrange(1, 4)]
        weights, parts = _drawn(sizes, 100 + seed, draw.randrange(1, 6), draw.randrange(2, 6))
        right = _measured(weights, parts)
        length = float(right.norm())
        clip = length * draw.choice([0.1, 0.5, 0.9, 1.1, 3.0])
        what = f"{_sizes(parts)}, a gradient {length:.3g} long, clip={clip:.3g}"
        got = _gradient(candidate, weights, parts, clip)
        _expect_gradient(got, right * min(1.0, clip / length), what)
