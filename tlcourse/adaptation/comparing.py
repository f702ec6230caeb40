"""A classifier compared with simpler ones: always the commonest label, and counting words."""

from collections.abc import Collection, Iterator

from tlcourse import metrics
from tlcourse.adaptation import baselines, tables

COUNTING = ("linear SVM", 1.0)  # scikit-learn's default strength; nothing is chosen
CLEAR = 0.05  # a p-value below it: chance alone would seldom make such a difference


def with_simpler(
    train: tables.Examples, test: tables.Examples, wrong: Collection[int]
) -> Iterator[str]:
    """Yields lines: the test errors of simpler classifiers, and what to conclude from them.

    `wrong` are the lines of the test file that the model misclassified.
    """
    commonest = max(train.counts, key=lambda name: train.counts[name])
    total = len(test.texts)
    constant = _misclassified(test, [commonest] * total)
    yield f"for comparison: always predicting {commonest!r} gets {percent(constant, total)} wrong"
    model = [test.lines.index(line) for line in wrong]
    yield verdict(model, _misclassified(test, _predictions_by_counting(train, test)), total)


def verdict(model: Collection[int], counting: Collection[int], total: int) -> str:
    """Returns a line that says which of the two is better and what to do.

    `model` and `counting` are the indices of the texts that each of them misclassified.
    """
    errors = (
        f"counting words gets {percent(counting, total)} wrong, the model {percent(model, total)}: "
    )
    p_value = metrics.sign_flip_test([sorted(model)], [sorted(counting)], total).p_value
    unsure = "" if p_value < CLEAR else f" (with {total} test texts, this may be chance)"
    if len(model) < len(counting):
        return f"{errors}the model is better{unsure}"
    how = "as good" if len(counting) == len(model) else f"better{unsure}"
    return (
        f"{errors}counting is {how}; use it, because it is smaller and faster (lesson 00 shows "
        "how), or label more texts, from which the model may learn more than counting does"
    )


def percent(wrong: Collection[int], total: int) -> str:
    """Returns the share of the texts that are misclassified, in percent."""
    return f"{100 * len(wrong) / total:.1f} %"


def _misclassified(test: tables.Examples, predictions: list[str]) -> list[int]:
    """Returns the indices of the texts whose label was not predicted."""
    pairs = enumerate(zip(predictions, test.labels, strict=True))
    return [row for row, (predicted, label) in pairs if predicted != label]


def _predictions_by_counting(train: tables.Examples, test: tables.Examples) -> list[str]:
    """Returns the predictions of a linear model on the words of the texts."""
    train_texts, test_texts = (
        [text if isinstance(text, str) else " ".join(text) for text in examples.texts]
        for examples in (train, test)
    )
    return list(baselines.linear(*COUNTING).fit(train_texts, train.labels).predict(test_texts))
