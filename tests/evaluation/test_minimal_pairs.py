from functools import partial

import datasets
import pytest
import torch

from tests.evaluation.test_scoring import PLAIN, TOKENIZER, by_hand, model_of
from tlcourse import corpora
from tlcourse.corpora import blimp
from tlcourse.evaluation import Accuracy, accuracies, minimal_pairs, sentence_scores
from tlcourse.metrics import wilson_interval

SHORT, LONG = "Rain fell.", "The rain fell on all of the trains."


def pairs(*rows: tuple) -> datasets.Dataset:
    return datasets.Dataset.from_list([dict(zip(blimp.COLUMNS, row, strict=True)) for row in rows])


def scorer(model, reading: str):
    return partial(sentence_scores, model, TOKENIZER, reading=reading, compute=PLAIN)


def even(causal: bool):
    """A model to which every token is alike: the shorter sentence is the likelier one."""
    model = model_of(causal)
    torch.nn.init.zeros_(model.embedding.weight)
    return model


@pytest.mark.parametrize(("causal", "reading"), [(True, "causal"), (False, "masked")])
def test_with_an_even_guess_length_decides_and_a_tie_is_wrong(causal, reading):
    found = minimal_pairs(
        scorer(even(causal), reading),
        pairs(
            (SHORT, LONG, "inchoative", "argument_structure", 0),
            (LONG, SHORT, "inchoative", "argument_structure", 1),
            (SHORT, SHORT, "causative", "argument_structure", 0),
            ("Rain fell!", SHORT, "causative", "argument_structure", 1),
            (SHORT, LONG, "wh_island", "island_effects", 0),
        ),
    )
    assert found == {
        "accuracy": pytest.approx((0.5 + 0.0 + 1.0) / 3),  # of paradigms, not of pairs
        "pairs": 5,
        "ties": 2,
        "phenomena": {"argument_structure": 0.25, "island_effects": 1.0},
        "paradigms": {"causative": 0.0, "inchoative": 0.5, "wh_island": 1.0},
    }


def test_the_first_hundred_pairs_count_wherever_they_stand():
    rows = [(LONG, SHORT, "passive_1", "argument_structure", 100 + row) for row in range(3)]
    rows += [(SHORT, LONG, "passive_1", "argument_structure", row) for row in range(100)]
    found = minimal_pairs(scorer(even(True), "causal"), pairs(*rows))
    assert (found["pairs"], found["accuracy"]) == (100, 1.0)


@pytest.mark.parametrize(("causal", "reading"), [(True, "causal"), (False, "masked")])
def test_on_the_sample_it_is_a_count_of_scores_by_hand(causal, reading):
    rows = corpora.load("blimp", source="sample")["test"].select(range(4, 8))
    model = model_of(causal)
    right = [
        by_hand(model, row["good"], reading) > by_hand(model, row["bad"], reading) for row in rows
    ]
    found = minimal_pairs(scorer(model, reading), rows)
    assert found["accuracy"] == pytest.approx(sum(right) / 4) and len(set(right)) == 2


def test_any_scorer_is_judged_by_groups():
    asked = []

    def score(sentences):
        asked.append(len(sentences))
        return [len(sentence) for sentence in sentences]

    rows = [("aaa", "aa", 1), ("aa", "aaa", 0), ("aa", "bb", 1), ("aaa", "b", 1), ("aa", "b", 0)]
    found = accuracies(score, iter(rows))
    assert found == {1: Accuracy(2, 1, 3), 0: Accuracy(1, 0, 2)} and list(found) == [1, 0]
    assert asked == [10]  # all at once
    assert found[1].share == pytest.approx(2 / 3)
    assert found[1].interval == wilson_interval(2, 3)
    unknown = accuracies(lambda sentences: [float("nan")] * len(sentences), [("a", "b", "c")])
    assert unknown["c"].right == 0
    with pytest.raises(ValueError, match="at least one pair"):
        accuracies(score, [])
