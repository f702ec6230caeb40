"""Lesson 11: positive pointwise mutual information (Church & Hanks, 1990)."""

import math
import warnings

import numpy as np

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying
from tlcourse.exercises.words._common import kind

task = Exercise(
    __name__,
    number="11.1",
    title="More often than by chance",
    difficulty=2,
    importance=4,
    minutes=15,
    hints=(
        "Begin with the probability of each pair, `joint = counts / counts.sum()`. Which sums of "
        "`joint` are the probabilities of a word, and which are those of a context?",
        "`joint.sum(axis=1, keepdims=True)` is a column with p(w), and `joint.sum(axis=0, "
        "keepdims=True)` a row with p(c). Their product has the shape of `joint`.",
        "Take the logarithm only where `counts > 0`: begin with `pmi = np.zeros(counts.shape)`, "
        "and fill in `pmi[seen] = np.log(joint[seen] / chance[seen])`. `np.maximum(pmi, 0)` does "
        "the rest.",
    ),
    imports="import numpy as np\nimport torch",
    tolerance=1e-5,
)


@task.reference
def ppmi(counts):
    """(words, contexts) counts to max(0, ln(p(w, c) / (p(w) p(c)))), and 0 for a count of 0."""
    joint = counts / counts.sum()
    chance = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    pmi, seen = np.zeros(counts.shape), counts > 0
    pmi[seen] = np.log(joint[seen] / chance[seen])
    return np.maximum(pmi, 0)


@task.truth
def pair_by_pair(counts):
    """Each pair is compared with the count that is expected by chance."""
    rows = [[int(count) for count in row] for row in counts]
    of_words, of_contexts = [*map(sum, rows)], [sum(column) for column in zip(*rows, strict=True)]
    total, found = sum(of_words), np.zeros(counts.shape)
    for w, row in enumerate(rows):
        for c, count in enumerate(row):
            if count * total > of_words[w] * of_contexts[c]:
                found[w, c] = math.log(count * total) - math.log(of_words[w] * of_contexts[c])
    return found


def quiet(candidate, counts):
    """What the candidate returns; its warnings are not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return expect_unchanged(candidate, counts)


def warned(candidate, counts):
    """The warnings of the candidate, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        expect_unchanged(candidate, counts)
    return sorted({str(each.message) for each in caught})


task.measure = quiet


def drawn(size, seed, *, symmetric=True, most=9):
    """Random counts from 1 to `most`."""
    found = np.random.default_rng(varying(seed)).integers(1, most + 1, (size, size))
    return np.triu(found) + np.triu(found, 1).T if symmetric else found


def sparse(size, seed):
    """Random counts, half of them 0; the last word has no neighbour at all."""
    found = drawn(size, seed, most=20)
    found[found < 10] = 0
    found[0, 1] = found[1, 0] = 7
    found[-1] = found[:, -1] = 0
    return found


def of(*rows):
    """A case of these counts."""
    return case(f"`counts = {[*rows]}`", np.array(rows))


LONELY = np.array([[0, 4, 0], [4, 2, 0], [0, 0, 0]])
task.stage(
    "an array of numbers",
    case("the type and shape for 3 words", drawn(3, 0), expected=("floats", 3, 3)),
    measure=lambda candidate, counts: kind(quiet(candidate, counts)),
    hint="Return a NumPy array with a row for each word and a column for each context.",
)
task.stage(
    "more often than by chance",
    of([1, 3], [3, 1]),
    of([2, 2], [2, 6]),
    case("random counts of 4 words", drawn(4, 1)),
    case("random counts of 7 words", drawn(7, 2, most=30)),
    hint="For [[1, 3], [3, 1]] the sum is 8, so words 0 and 1 have p(w, c) = 3/8, p(w) = 1/2 and "
    "p(c) = 1/2. The result for the pair is ln(3/8 / (1/2 · 1/2)) = ln 1.5 = 0.405. The pair 0, 0 "
    "has p(w, c) = 1/8 and a negative logarithm, which becomes 0.",
)
task.stage(
    "rows are words, columns are contexts",
    of([1, 6], [3, 2]),
    *(
        case(f"random counts of {size} words, not symmetric", drawn(size, seed, symmetric=False))
        for seed, size in enumerate((3, 5, 8), start=3)
    ),
    hint="The counts differ on the two sides of the diagonal here, as they do if only the words to "
    "the right are counted. p(w) comes from the sum of a row, and p(c) from the sum of a column.",
)
task.stage(
    "pairs that never occur",
    of([0, 2], [2, 4]),
    case("`counts = [[0, 4, 0], [4, 2, 0], [0, 0, 0]]`, where word 2 has no neighbours", LONELY),
    case(
        "`counts = [[1, 0], [0, 100_000]]`",
        np.array([[1, 0], [0, 100_000]]),
        hint="The pair 0, 0 occurs only once, but by chance it would hardly ever occur: it has "
        "ln 100,001 = 11.5. A count of 1 counts, too. Do not add a small number such as 1e-8 to a "
        "probability: it is larger than p(w) p(c) of this pair.",
    ),
    *(
        case(f"random counts of {size} words, half of them 0", sparse(size, size))
        for size in (5, 8, 12)
    ),
    hint="A count of 0 gives 0, and so does a word without any neighbours, whose row and column "
    "are 0: for it, the ratio is 0/0, which is NaN. Compute the ratio only where `counts > 0`.",
)
task.stage(
    "without a warning",
    case("the warnings for 3 words, of which one has no neighbours", LONELY, expected=[]),
    measure=warned,
    hint="The result is right, but NumPy warns of a division 0/0, or of the logarithm of 0. "
    "Compute both only where `counts > 0`, or put them under `with np.errstate(divide='ignore', "
    "invalid='ignore'):` to say that you mean it.",
)


def of_ratio(value=np.log, ratio=lambda joint, w, c, total: joint / (w * c), lowest=0.0):
    """The reference with another `value(ratio)`, ratio of probabilities, or lowest value."""

    def wrong(counts):
        joint = counts / counts.sum()
        w, c = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = value(ratio(joint, w, c, counts.sum()))
        return np.maximum(np.where(counts > 0, found, 0), lowest)

    return wrong


task.mistakes(
    (
        "This array holds integers, which cut off what stands behind the decimal point. "
        "`np.zeros_like(counts)` has the type of `counts`: begin with `np.zeros(counts.shape)`.",
        lambda counts: ppmi(counts).astype(int),
    ),
    (
        "Pairs that occur less often than by chance have negative values here. They become 0 in "
        "*positive* PMI: `np.maximum(pmi, 0)`.",
        of_ratio(lowest=-np.inf),
    ),
    (
        "This is the logarithm to base 2, so all values are 1.44 times as large. Use the natural "
        "logarithm, `np.log`.",
        of_ratio(np.log2),
    ),
    (
        "The logarithm of 1 + the ratio is never negative, so it cannot tell the pairs that occur "
        "less often than by chance. Take the logarithm of the ratio itself.",
        of_ratio(np.log1p),
    ),
    (
        "Everything is 0 here, because no ratio is above 1. Divide p(w, c) by *both* p(w) and "
        "p(c), and divide the sums by the total, too: the ratio is count · total / (row sum · "
        "column sum).",
        lambda counts: np.zeros(counts.shape),
    ),
    (
        "The count itself stands above p(w) p(c) here, so each logarithm is too large by the same "
        "amount. Divide the counts by their sum first.",
        of_ratio(ratio=lambda joint, w, c, total: total * joint / (w * c)),
    ),
    (
        "Both probabilities come from the sums of the rows here. p(c) comes from the sum of a "
        "column, `axis=0`.",
        of_ratio(ratio=lambda joint, w, c, total: joint / (w * w.T)),
    ),
    (
        "The sums of the *same* word are multiplied here, because both have one dimension. Every "
        "word meets every context if p(w) is a column and p(c) is a row: use `keepdims=True`.",
        of_ratio(ratio=lambda joint, w, c, total: joint / (w.T * c)),
    ),
    (
        "Rows and columns have changed places in p(w) and p(c). p(w) is the sum of a row, "
        "`axis=1`, and stands as a column, with `keepdims=True`.",
        of_ratio(ratio=lambda joint, w, c, total: joint / (w.T * c.T)),
    ),
    (
        "With 1 added to each count, pairs that never occurred get a value. Leave the counts as "
        "they are, and set these pairs to 0.",
        lambda counts: of_ratio()(counts + 1),
    ),
)
