"""The transfer benchmark's bookkeeping: intervals, comparisons, and what makes jobs differ."""

import pytest

from benchmarks.studies import transfer


def row(model, labels, found):
    return transfer.row_of(model, labels, list(range(len(found))), found, 500, 1.0)


def test_several_seeds_give_student_and_one_fit_gives_wilson():
    seeds = row("m", "all", [[*range(15)], [*range(18)], [*range(21)]])
    assert seeds["labels"] == 5452
    assert seeds["mean"] == pytest.approx(3.6)
    # t(0.975, 2) = 4.303, standard error 0.6 / sqrt(3) points
    assert seeds["interval"] == pytest.approx([3.6 - 4.303 * 0.34641, 3.6 + 4.303 * 0.34641], 1e-3)
    single = row("m", 100, [[*range(18)]])
    assert single["interval"] == pytest.approx([2.29, 5.62], abs=0.01)  # published: 2.3-5.6


def test_each_shipped_model_is_compared_with_both_others_at_every_number_of_labels():
    good, bad = [[*range(10)]] * 3, [[*range(100)]] * 3
    rows = [
        row(model, labels, found)
        for labels in (100, 500)
        for model, found in (("causal-small", good), (transfer.SCRATCH, bad), (transfer.TFIDF, bad))
    ]
    found = transfer.compare(rows, 500)
    assert [(c["labels"], c["against"]) for c in found] == [
        (100, transfer.SCRATCH),
        (100, transfer.TFIDF),
        (500, transfer.SCRATCH),
        (500, transfer.TFIDF),
    ]
    for comparison in found:
        assert comparison["points"] == pytest.approx(-18.0)  # 10 wrong against 100 of 500
        assert comparison["p"] == pytest.approx(2 * 0.5**90)  # 90 questions, all one way
        assert comparison["p_holm"] >= comparison["p"]


def test_the_shipped_models_are_compared_with_each_other_once():
    models = ("causal-small", "masked-small", transfer.SCRATCH, transfer.TFIDF)
    rows = [row(model, 100, [[*range(10 + 5 * n)]]) for n, model in enumerate(models)]
    pairs = [(c["model"], c["against"]) for c in transfer.compare(rows, 500)]
    assert len(pairs) == len(set(pairs)) == 5
    assert ("causal-small", "masked-small") in pairs
