"""Variants: right answers pass the hidden cases, and answers that only know the others do not."""

import functools
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import torch

from tests.exercises import standard
from tlcourse.exercises import task, variants
from tlcourse.exercises.checking import check
from tlcourse.grading.checking import hidden

SEEDS = range(2026, 2029)
# Nothing is passed to these, or nothing could be remembered: a change to a module, a free choice.
WITHOUT = {"bpe.byte_symbols", "finetuning.freeze", "adaptation.own_scheme"}


def key(value: Any) -> Any:
    """What tells inputs apart: equal for equal values, also inside of modules and functions."""
    if isinstance(value, torch.Tensor | np.ndarray):
        numbers = [] if getattr(value, "is_meta", False) else value.tolist()
        return str(value.dtype), tuple(value.shape), numbers
    if isinstance(value, torch.nn.Module):
        return type(value).__name__, key(value.state_dict())
    if isinstance(value, torch.Generator):
        return key(value.get_state())
    if isinstance(value, Mapping):
        return [(key(name), key(each)) for name, each in value.items()]
    if isinstance(value, list | tuple | set | range):
        return [*map(key, value)]
    if isinstance(value, FunctionType):
        held = [*(value.__defaults__ or ()), *(c.cell_contents for c in value.__closure__ or ())]
        return value.__qualname__, key(held)
    return value if isinstance(value, str | int | float | None) else type(value).__name__


class Memory:
    """Answers like the reference, but after `learning` only what it was asked before."""

    def __init__(self, reference: Any):
        self.seen: set[str] = set()
        self.learning = True
        self.answer = self.limited(reference)
        if isinstance(reference, type):
            methods = {n: f for n, f in vars(reference).items() if isinstance(f, FunctionType)}
            limited = {name: self.limited(method, skip=1) for name, method in methods.items()}
            self.answer = type(reference.__name__, (reference,), limited)

    def limited(self, function: Callable, skip: int = 0) -> Callable:
        @functools.wraps(function)
        def answer(*given, **named):
            asked = repr((function.__name__, key(given[skip:]), key(named)))
            if self.learning:
                self.seen.add(asked)
            elif asked not in self.seen:
                raise LookupError("never asked before")
            return function(*given, **named)

        return answer


@pytest.mark.parametrize("id", task.ids())
def test_an_answer_that_has_learnt_all_known_cases_by_heart_fails(id: str) -> None:
    memory = Memory(task.get(id).solution)
    assert check(task.get(id), memory.answer).passed
    memory.learning = False
    assert check(task.get(id), memory.answer).passed
    further = hidden(id, SEEDS[0])
    assert (further is None) == (id in WITHOUT)
    if further is not None:
        with variants.variant(SEEDS[0]):
            report = check(further, memory.answer)
        assert "never asked before" in report.message


@pytest.mark.parametrize("id", [id for id in task.ids() if id not in WITHOUT])
def test_right_answers_pass_in_every_variant(id: str) -> None:
    standard.load_tables()
    refused = {}
    for seed in SEEDS:
        with variants.variant(seed):
            for answer in standard.RIGHT[id]:
                report = check(hidden(id, seed), answer)
                if not report.passed:
                    refused[seed, repr(answer)] = report.message
    assert refused == {}
