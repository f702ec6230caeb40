import itertools

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.looking.made import PLAIN, TEXTS, classifier_of, each_kind, ids_of, model_of
from tlcourse.adaptation import LoRA
from tlcourse.looking import Pruning, ablating, greedy_pruning, head_importance, prune

TOKENS = torch.tensor(ids_of(9, 9, 9, 9))
HEADS = list(itertools.product(range(2), range(3)))


@each_kind
def test_the_importance_is_the_slope_at_each_head(kind):
    """Against central differences: the columns of a head in the output layer, times 1 ± e."""
    model = model_of(kind).double()

    def loss(rows: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(rows)[:, :-1].flatten(0, 1), rows[:, 1:].flatten())

    examples = TOKENS.split(1)
    found = head_importance(model, loss, examples)
    assert all(parameter.grad is None for parameter in model.parameters())
    step, expected = 1e-4, np.zeros((2, 3))
    for layer, head in HEADS:
        columns = model.blocks[layer].attention.output.weight.data[:, 8 * head : 8 * head + 8]
        whole = columns.clone()
        for example in examples:
            values = []
            for factor in (1 + step, 1 - step):
                columns.copy_(whole * factor)
                values.append(loss(example).item())
            expected[layer, head] += abs(values[0] - values[1]) / (2 * step) / len(examples)
        columns.copy_(whole)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("pooling", ["classification token", "mean"])
def test_the_importance_in_a_frozen_classifier(pooling):
    classifier = classifier_of(pooling).requires_grad_(False)
    sequences = classifier.encode(TEXTS)

    def loss(ids: list[int]) -> torch.Tensor:
        tokens = torch.tensor([ids])
        return F.cross_entropy(
            classifier(tokens, torch.ones_like(tokens).bool()), torch.tensor([1])
        )

    found = head_importance(classifier.body, loss, sequences)
    assert found.shape == (2, 3) and (found > 0).all()
    with ablating(classifier.body, [(1, 2)]):
        assert head_importance(classifier.body, loss, sequences)[1, 2] == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="at least one example, got none"):
        head_importance(classifier.body, loss, [])


def test_the_least_harmful_goes_first_and_is_judged_together_with_those_that_went():
    harm = {"a": 3.0, "b": 1.0, "c": 2.0, "d": 2.0}
    asked = []

    def judge(removed: frozenset) -> float:
        asked.append(removed)
        return sum(harm[head] for head in removed) + 10.0 * ({"b", "c"} <= removed)

    found = greedy_pruning(judge, "abcd")
    assert found == Pruning(("b", "d", "a", "c"), (0.0, 1.0, 3.0, 6.0, 18.0))
    assert len(asked) == len(set(asked)) == 1 + 4 + 3 + 2 + 1
    assert greedy_pruning(judge, "abcd", limit=3.0).order == ("b", "d")
    assert greedy_pruning(judge, "abcd", steps=1).curve == (0.0, 1.0)
    assert greedy_pruning(judge, "abcd", steps=9) == found
    assert greedy_pruning(lambda removed: 1.0, "abc").order == ("a", "b", "c")
    assert greedy_pruning(judge, "") == Pruning((), (0.0,))


def test_how_many_can_go():
    found = Pruning(tuple(HEADS[:4]), (0.5, 0.4, 0.7, 0.6, 0.9))
    assert [found.can_go(limit) for limit in (0.3, 0.5, 0.6, 0.7, 0.9)] == [0, 1, 3, 3, 4]


@torch.no_grad()
@each_kind
def test_pruned_is_ablated_for_good(kind):
    model, gone = model_of(kind), [(0, 2), (1, 0), (1, 1)]
    before = model(TOKENS)
    pruned = prune(model, gone)
    with ablating(model, gone):
        assert torch.allclose(pruned(TOKENS), model(TOKENS), atol=1e-5)
    assert torch.equal(model(TOKENS), before)
    assert not torch.allclose(pruned(TOKENS), before, atol=1e-3)
    assert torch.equal(prune(model, [])(TOKENS), before)


def test_a_classifier_with_a_pruned_body():
    classifier = classifier_of("classification token")
    with ablating(classifier.body, [(1, 0)]):
        expected = classifier.probabilities(TEXTS, compute=PLAIN)
    pruned = classifier.copy()
    pruned.body = prune(pruned.body, [(1, 0)])
    assert torch.allclose(pruned.probabilities(TEXTS, compute=PLAIN), expected, atol=1e-6)


def test_misuse_says_what_was_expected():
    with pytest.raises(ValueError, match=r"heads as \(layer, head\), .* got \(0, 3\)"):
        prune(model_of(), [(0, 3)])
    classifier = classifier_of("mean")
    classifier.add(LoRA(2, layers="attention"))
    with pytest.raises(ValueError, match="a linear output layer in layer 1, got LoRALinear"):
        prune(classifier.body, [(1, 0)])
