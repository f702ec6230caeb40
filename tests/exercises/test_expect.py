import re

import numpy as np
import pytest
import torch

from tests.exercises.standard import fragments
from tlcourse.exercises.expect import (
    CheckFailed,
    expect_close,
    expect_equal,
    expect_loss,
    expect_shape,
    expect_type,
    expect_unchanged,
    inexact,
    short,
)


def test_equal():
    expect_equal([1, "a"], [1, "a"], "it")
    expect_equal(torch.tensor([True, False]), torch.tensor([True, False]), "the mask")
    with pytest.raises(CheckFailed) as error:
        expect_equal((1, 2), [1, 2], "it", "A list?")
    told = "Check: It.\nYours: (1, 2) (a tuple)\nExpected: [1, 2]\nWhy: A list?"
    assert str(error.value) == told and error.value.why == "A list?"
    with pytest.raises(CheckFailed, match="Yours: None \\(is a `return` missing\\?\\)\\n"):
        expect_equal(None, [1, 2], "it")
    for got in (torch.ones(2), torch.ones(1, 3), [1.0, 1.0, 1.0], None):
        with pytest.raises(CheckFailed):
            expect_equal(got, torch.ones(3), "it")


def test_long_lists_are_told_apart():
    long = [10000] * 40
    for got, said in (
        ([*long[1:], 5], r"Yours: 5 at \[39\]\nExpected: 10000$"),
        (long[1:], "Yours: 39 entries\nExpected: 40 entries$"),
    ):
        with pytest.raises(CheckFailed, match=said):
            expect_equal(got, long, "it")


def test_type_and_shape():
    expect_type({}, dict, "it")
    expect_shape(torch.zeros(2, 3), (2, 3), "it")
    with pytest.raises(CheckFailed, match="None .is a `return` missing"):
        expect_type(None, dict, "it")
    with pytest.raises(CheckFailed, match=r"Yours: 1.5, a float\nExpected: an int$"):
        expect_type(1.5, int, "it")
    with pytest.raises(CheckFailed, match=r"Yours: 1 \(an int\)\nExpected: 'one'"):
        expect_equal(1, "one", "it")
    with pytest.raises(CheckFailed, match=r"shape \(3, 2\)\nExpected: shape \(2, 3\)"):
        expect_shape(np.zeros((3, 2)), (2, 3), "it")
    with pytest.raises(CheckFailed, match=r"a list\nExpected: a tensor of shape \(1,\)$"):
        expect_shape([1], (1,), "it", "This is said of another shape.")
    with pytest.raises(CheckFailed, match="a NumPy array\nExpected: a tensor"):
        expect_shape(np.zeros((2, 3)), (2, 3), "it")


def test_close_names_the_worst_place():
    expect_close(torch.tensor([1.0, 2.0], requires_grad=True), [1, 2.000001], "it")
    expect_close(torch.ones(2, dtype=torch.bfloat16), np.ones(2), "it")
    expect_close(0.1 + 0.2, 0.3, "it")
    expect_close(torch.tensor([float("-inf"), 0]), torch.tensor([float("-inf"), 0]), "it")
    with pytest.raises(CheckFailed, match=r"Yours: 9 at \[1, 0\]\nExpected: 3"):
        expect_close(torch.tensor([[1.0, 2.1], [9.0, 4.0]]), [[1, 2], [3, 4]], "it")
    with pytest.raises(CheckFailed, match="Yours: 12.5000001\nExpected: 12.5$"):
        expect_close(12.5000001, 12.5, "it", tolerance=1e-10)
    with pytest.raises(CheckFailed, match="Yours: inf at"):
        expect_close(torch.tensor([float("inf"), 5]), [1, 2], "it")
    with pytest.raises(CheckFailed, match="NaN"):
        expect_close([float("nan")], [1], "it")
    with pytest.raises(CheckFailed, match=r"shape \(2,\)\nExpected: shape \(1,\)"):
        expect_close([1, 2], [1], "it")
    for got in (None, "one", "1.0", object(), [[1], [1, 2]]):
        with pytest.raises(CheckFailed):
            expect_close(got, 1.0, "it")


def test_loss():
    logits = torch.ones(2, requires_grad=True)
    one = logits.sum()
    expect_loss(one, "it", logits)
    expect_loss(one[None], "it", logits)
    logits.grad = None
    for got, said in (
        (one.detach(), "no gradient"),
        (one.item(), "a float\nExpected: a tensor"),
        (logits, "shape (2,)\nExpected: shape ()"),
        (one.detach().requires_grad_(), "does not reach `logits`"),
        (None, "is a `return` missing"),
    ):
        with pytest.raises(CheckFailed, match=re.escape(said)):
            expect_loss(got, "it", logits)


def test_unchanged():
    assert expect_unchanged(lambda a, b: a + b, [1], [2]) == [1, 2]
    with pytest.raises(
        CheckFailed, match=r"Argument 2, `b`, after the call.\nYours: changed from \[2\]"
    ):
        expect_unchanged(lambda a, b: b.append(1), [1], [2])
    with pytest.raises(
        CheckFailed, match="Argument 1, `tensor`, after the call.\nYours: changed\n"
    ):
        expect_unchanged(lambda tensor: tensor.add_(1), torch.zeros(2))
    with pytest.raises(CheckFailed, match="changed from {} to {1: 2}"):
        expect_unchanged(lambda a, b: b.update({1: 2}), torch.zeros(2), {})


def test_an_error_is_told_with_names_and_shapes():
    with pytest.raises(ZeroDivisionError) as caught:
        expect_unchanged(lambda ids, k: k / 0, torch.zeros(2, 3), 4)
    assert caught.value.__notes__ == ["Your code, called with ids of shape (2, 3), k = 4"]
    with pytest.raises(TypeError) as caught:
        expect_unchanged(lambda: None, [1])
    assert caught.value.__notes__ == ["Your code, called with number 1 = [1]"]
    with pytest.raises(TypeError) as caught:
        expect_unchanged(lambda ids: None, [1], 2)
    assert caught.value.__notes__ == ["Your code, called with ids = [1], number 2 = 2"]


def test_short_is_one_line_and_cut():
    assert short(torch.zeros(2, 2)) == "tensor([[0., 0.], [0., 0.]])"
    assert len(short("x" * 1000)) == 120


def test_what_was_checked_becomes_a_sentence_and_the_rest_stays():
    failed = CheckFailed(check="the sum,", yours="a list", why="`sum` adds.")
    assert str(failed) == "Check: The sum.\nYours: a list\nWhy: `sum` adds."
    assert str(CheckFailed("All in one sentence.")) == "All in one sentence."
    assert fragments(f"Stage 1 of 2: a sum.\n{failed}") == []
    for told in ("Why: but a gradient reaches x", "Why: `b` is zero", "root of 6, which is it."):
        assert fragments(f"Stage 1 of 2: a sum.\nYours: 3\n{told}") == [told]


@pytest.mark.parametrize(
    "value", [1.0, torch.ones(1), np.ones(1), [1, 2.0], [[0.5], [1]], (1, 0.1)]
)
def test_what_has_fractions_is_compared_within_a_tolerance(value):
    assert inexact(value)


@pytest.mark.parametrize("value", [1, True, "1.0", None, [1], torch.ones(1).long(), ["a", 1.0], {}])
def test_all_else_must_be_equal(value):
    assert not inexact(value)
