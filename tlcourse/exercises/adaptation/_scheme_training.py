"""The checks of own_scheme that run a learner's scheme: its schedule, a short training."""

import functools
import math
from collections.abc import Callable, Mapping
from numbers import Real

import torch

from tlcourse.adaptation import (
    SCHEMES,
    Classifier,
    Group,
    Recipe,
    Report,
    Scheme,
    adapt,
    head_names,
)
from tlcourse.device import Compute
from tlcourse.exercises.adaptation._scheme_knobs import (
    LABELS,
    TARGETS,
    TEXTS,
    choice,
    classifier,
    logits,
    turn,
)
from tlcourse.exercises.expect import CheckFailed, short

CPU = Compute(torch.device("cpu"), torch.float32, "explicit", False)


def _steps(groups: Mapping) -> int:
    """So many that a schedule which moves one group at a time gets through."""
    return max(12, 2 * len(groups))


def paces(candidate) -> str | None:
    scheme = candidate()
    model, _, chosen = choice(scheme)
    long = _steps(chosen)
    for steps in (4, long):
        factors = turn("the knob `schedule`", scheme.schedule, steps, list(chosen))
        if not callable(factors):
            raise CheckFailed(
                f"the knob `schedule` gave {short(factors)} for {steps} steps; expected a function "
                "of the step."
            )
        at_step = [_factors(factors, step, steps, list(chosen)) for step in range(steps)]
    still = [name for name in chosen if not any(now[name] for now in at_step)]
    if still:
        raise CheckFailed(
            f"in {long} steps the group {still[0]!r} never gets a factor above 0, and yet it is "
            "declared to move."
        )
    first = next(now for now in at_step if any(now.values()))
    of_head = set(head_names(model))
    head = [name for name, group in chosen.items() if of_head & set(group.names)]
    if head and not first[head[0]]:
        return (
            "(A remark: the head stands still at first, while others move to please a random head. "
            "Groups go from the input to the output, and gradual unfreezing begins with the last.)"
        )
    return _twin(scheme)


def _twin(scheme: Scheme) -> str | None:
    """A remark if every parameter moves as in a scheme of the course."""
    if scheme.extra_loss is not None:
        return None
    mine = _rates(scheme)
    same = next((name for name, rates in _of_the_course().items() if rates == mine), None)
    return same and (
        f"(A remark: everything moves as in {same!r}. Is this that scheme by another name?)"
    )


@functools.cache
def _of_the_course() -> dict[str, dict]:
    return {name: _rates(each) for name, each in SCHEMES.items() if each.extra_loss is None}


def _rates(scheme: Scheme, steps: int = 50) -> dict[str, tuple]:
    """Shape and factors, step by step, of each parameter that moves."""
    model, _, chosen = choice(scheme)
    factors, shapes = scheme.schedule(steps, list(chosen)), dict(model.named_parameters())
    at_step = [_factors(factors, step, steps, list(chosen)) for step in range(steps)]
    return {
        name: (shapes[name].shape, *(round(group.factor * now[label], 6) for now in at_step))
        for label, group in chosen.items()
        for name in group.names
    }


def _factors(factors: Callable, step: int, steps: int, names: list[str]) -> dict[str, float]:
    """The factor of each group at a step; raises CheckFailed for one that no optimizer can use."""
    what = f"the schedule at step {step} of {steps}"
    now = turn(what, factors, step)
    missing = [name for name in names if isinstance(now, Mapping) and name not in now]
    if missing:
        raise CheckFailed(
            f"{what} has no factor for the group {missing[0]!r}; expected one for each of "
            f"{short(names)}, 0 for one that stands still."
        )
    each = {name: now[name] if isinstance(now, Mapping) else now for name in names}
    for value in each.values():
        if isinstance(value, torch.Tensor):
            raise CheckFailed(f"{what} gave a tensor, {short(value)}; expected a number: `float(...)`.")
        if not isinstance(value, Real) or not 0 <= value < math.inf:
            raise CheckFailed(
                f"{what} gave {short(value)}; expected a finite number, 0 or more (below 0, a step "
                "would climb)."
            )
    if isinstance(now, Mapping) and not any(each.values()):
        raise CheckFailed(f"{what} has 0 for every group: nothing is left to train in it.")
    return each


def _loss(model: Classifier) -> float:
    """Mean nats a text of the true labels, without dropout and without anything added."""
    scores = logits(model).double()
    right = scores[torch.arange(len(TARGETS)), [LABELS.index(label) for label in TARGETS]]
    return float((scores.exp().sum(dim=1).log() - right).mean())


def _expect_all_moved(found: Report, chosen: dict[str, Group]) -> None:
    """Raises CheckFailed, with the likely reason, if something that was to move did not."""
    still = sorted(set(found.declared) - set(found.moved))
    if not still:
        return
    likely = (
        "Do the logits depend on it? And of two factors one after the other only one may begin at "
        "zero: both at zero give each other no gradient."
    )
    factor = next(group.factor for group in chosen.values() if still[0] in group.names)
    if factor < 1e-3:
        likely = f"Its group has the factor {factor:g}: steps as small as that vanish in rounding."
    raise CheckFailed(
        f"{len(still)} of {len(found.declared)} parameters were declared to move and did not, "
        f"{still[0]!r} first. {likely}"
    )


def trains(candidate) -> None:
    scheme, model = candidate(), classifier()
    chosen, before = choice(scheme)[2], _loss(model)
    recipe = Recipe(epochs=6, learning_rate=3e-3, batch_size=8, min_steps=_steps(chosen))
    try:
        adapted = adapt(model, TEXTS, TARGETS, scheme=scheme, recipe=recipe, compute=CPU)
    except FloatingPointError as error:
        raise CheckFailed(
            f"{error}. A group moves at its factor times the recipe's learning rate: are yours too "
            "large? Or does the extra loss divide by 0?"
        ) from error
    found = adapted.report
    _expect_all_moved(found, chosen)
    stray = sorted(set(found.moved) - set(found.declared))
    if stray:
        raise CheckFailed(f"{stray[0]!r} moved, and is in no group: what but the optimizer changes it?")
    after = _loss(adapted)
    if not after < before:
        raise CheckFailed(
            f"after {len(found.history)} steps the loss on the training texts is {after:.3f} nats; "
            f"it was {before:.3f}. Is a group too fast, is the extra loss too strong or of the "
            "wrong sign, or is the head in no group?"
        )
