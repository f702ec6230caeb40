"""A classifier beside what is simpler: always the commonest label, and counting words."""

from collections.abc import Collection, Iterator

from tlcourse import metrics
from tlcourse.adaptation import baselines, tables

COUNTING = ("linear SVM", 1.0)  # scikit-learn's default strength; nothing is chosen
CLEAR = 0.05  # a p-value below it: chance alone would seldom make such a difference


def with_simpler(
    train: tables.Examples, test: tables.Examples, wrong: Collection[int]
) -> Iterator[str]:
    """Lines that say what others get wrong of the test texts, and what that means.

    `wrong` are the lines of the test file that the model got wrong.
    """
    commonest = max(train.counts, key=lambda name: train.counts[name])
    total = len(test.texts)
    always = _missed(test, [commonest] * total)
    yield f"for comparison: always saying {commonest!r} gets {percent(always, total)} wrong"
    model = [test.lines.index(line) for line in wrong]
    yield verdict(model, _missed(test, _guesses_by_counting(train, test)), total)


def verdict(model: Collection[int], counting: Collection[int], total: int) -> str:
    """Which of the two is better and what to do; each is the numbers of the texts it got wrong."""
    said = (
        f"counting words gets {percent(counting, total)} wrong, the model {percent(model, total)}: "
    )
    p_value = metrics.sign_flip_test([sorted(model)], [sorted(counting)], total).p_value
    unsure = "" if p_value < CLEAR else f" (with {total} test texts that may be chance)"
    if len(model) < len(counting):
        return f"{said}the model does better{unsure}"
    how = "as well" if len(counting) == len(model) else f"better{unsure}"
    return (
        f"{said}counting does {how}; use it, it is smaller and quicker (lesson 00 shows how), or "
        "give more texts with labels, from which the model may learn more than counting does"
    )


def percent(wrong: Collection[int], total: int) -> str:
    """The share of the texts that are wrong."""
    return f"{100 * len(wrong) / total:.1f} %"


def _missed(test: tables.Examples, guesses: list[str]) -> list[int]:
    """The numbers of the texts whose label was not guessed."""
    pairs = enumerate(zip(guesses, test.labels, strict=True))
    return [number for number, (guess, label) in pairs if guess != label]


def _guesses_by_counting(train: tables.Examples, test: tables.Examples) -> list[str]:
    """What a linear model says that knows the words of the training texts, and nothing else."""
    given, asked = (
        [text if isinstance(text, str) else " ".join(text) for text in examples.texts]
        for examples in (train, test)
    )
    return list(baselines.linear(*COUNTING).fit(given, train.labels).predict(asked))
