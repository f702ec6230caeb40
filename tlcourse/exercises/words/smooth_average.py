"""Lesson 11b: vectors of sentences by smooth inverse frequency, SIF (Arora et al., 2017)."""

import numpy as np

from tlcourse.exercises.expect import CheckFailed, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying
from tlcourse.exercises.words._common import kind
from tlcourse.wording import article

task = Exercise(
    __name__,
    number="11b.1",
    title="An average that is smooth",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "Two steps: first a matrix (sentences, width) with the weighted mean of each sentence, "
        "then the same matrix without the direction that its rows have in common.",
        "`weights = a / (a + shares)` has a number for each word of the vocabulary. The mean of a "
        "sentence is `(weights[ids, None] * matrix[ids]).mean(axis=0)`; without ids, it is zero.",
        "`direction = np.linalg.svd(means, full_matrices=False)[2][0]` has the length 1. The "
        "projection of all rows on it is `np.outer(means @ direction, direction)`.",
    ),
    imports="import numpy as np\nimport torch\nfrom torch.nn import functional as F",
    tolerance=1e-4,
)


@task.reference
def smooth_average(sentences, matrix, shares, a=1e-3):
    """Lists of ids to (sentences, width): weighted means without their common direction."""
    weights, means = a / (a + shares), np.zeros((len(sentences), matrix.shape[1]))
    for row, ids in enumerate(sentences):
        if ids:
            means[row] = (weights[ids, None] * matrix[ids]).mean(axis=0)
    direction = np.linalg.svd(means, full_matrices=False)[2][0]
    return means - np.outer(means @ direction, direction)


@task.truth
def by_power_iteration(sentences, matrix, shares, a=1e-3):
    """One matrix product for all means; the direction by repeated multiplication."""
    table = matrix * (a / (a + shares))[:, None]
    counts = np.array([[each.count(id) for id in range(len(matrix))] for each in sentences], float)
    means = counts @ table / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    square, direction = means.T @ means, np.linspace(1.0, 2.0, means.shape[1])
    for _ in range(20_000):
        direction = square @ direction
        direction /= np.linalg.norm(direction)
    return means @ (np.eye(len(direction)) - np.outer(direction, direction))


def kinds(candidate, sentences, matrix, *rest):
    """True for an array of floats, (sentences, width); raises CheckFailed for all else."""
    got = expect_unchanged(candidate, sentences, matrix, *rest)
    what, *_ = kind(got)
    yours = what if got is None else article(what)
    if isinstance(got, np.ndarray):
        yours = f"an array of {what}, shape {got.shape}"
    expected = f"an array of floats, shape {(len(sentences), matrix.shape[1])}"
    if yours != expected:
        why = "Return a NumPy array with a row for each sentence."
        raise CheckFailed(
            check="what your function returns", yours=yours, expected=expected, why=why
        )
    return True


def from_array(candidate, *given):
    """The answer as an array of floats."""
    return np.asarray(expect_unchanged(candidate, *given), float)


task.measure = from_array

SPACE = np.array([[3.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
RARE = np.zeros(4)  # so rare that all weights are 1


def drawn(sentences, width, seed):
    """Sentences of random ids, vectors that lean into one direction, and shares of the text."""
    generator = np.random.default_rng(varying(seed))
    matrix = generator.normal(size=(10, width)) + 1.5 * generator.normal(size=width)
    shares = generator.uniform(0.7, 1.3, 10) * 0.06 / np.arange(1, 11) ** 2
    lengths = generator.integers(2, 9, sentences)
    return [generator.integers(10, size=length).tolist() for length in lengths], matrix, shares


def with_empty(sentences, width, seed):
    """The same, and a sentence without words."""
    texts, *rest = drawn(sentences, width, seed)
    return [*texts[:2], [], *texts[2:]], *rest


task.stage(
    "an array of the right shape",
    case(
        "the type and shape for 6 sentences of width 4",
        *drawn(6, 4, 0),
        expected=True,
    ),
    measure=kinds,
)
task.stage(
    "the common direction is gone",
    case("the sentences [0], [0], [2] and [3]", [[0], [0], [2], [3]], SPACE, RARE),
    case("the sentences [0], [0, 2], [1] and [3]", [[0], [0, 2], [1], [3]], SPACE, RARE),
    case(
        "the same sentences with vectors of integers",
        *([[0], [0, 2], [1], [3]], SPACE.astype(int), RARE),
        hint="The means of integers have fractions: collect them in an array of floats.",
    ),
    hint="The words 0 to 3 are so rare that all weights are 1; their vectors are [3, 0, 0], "
    "[0, 1, 0], [0, 2, 0] and [0, 0, 1]. Take the first row of Vᵀ from `np.linalg.svd(means)`, and "
    "subtract each row's projection on it. What is left of [3, 0, 0] is nearly nothing.",
)
task.stage(
    "frequent words count less",
    case("6 sentences of width 4", *drawn(6, 4, 1)),
    case("20 sentences of width 5", *drawn(20, 5, 2)),
    case("20 sentences of width 5, a = 0.01", *drawn(20, 5, 3), 0.01),
    hint="A word with the share p counts a / (a + p): with a = 0.001, a word that makes up 0.1 % "
    "of the text counts half. Divide the weighted sum by the number of words.",
)
task.stage(
    "a sentence without words",
    case("9 sentences, of which one is an empty list", *with_empty(8, 4, 4)),
    case("two empty lists", [[], []], SPACE, RARE, expected=np.zeros((2, 3))),
    hint="The mean of no words is a row of zeros, without a NaN. If all rows are zero, they stay "
    "zero.",
)
task.stage(
    "many sentences",
    case("60 sentences of width 8", *drawn(60, 8, 5)),
    case("60 sentences of width 8, a = 0.0001", *drawn(60, 8, 6), 1e-4),
    hint="The rule is the same for many sentences.",
)


def weighted(weight, over=len):
    """The means with another weight of a word with the share p, and another divisor."""

    def means(sentences, matrix, shares, a):
        weights, found = weight(shares, a), np.zeros((len(sentences), matrix.shape[1]))
        for row, ids in enumerate(sentences):
            if ids:
                found[row] = (weights[ids, None] * matrix[ids]).sum(axis=0) / over(weights[ids])
        return found

    return means


def smooth(shares, a):
    return a / (a + shares)


means_of = weighted(smooth)


def with_means(rule):
    """The reference with other means."""

    def wrong(sentences, matrix, shares, a=1e-3):
        with np.errstate(invalid="ignore"):
            means = rule(sentences, matrix, shares, a)
        direction = np.linalg.svd(means, full_matrices=False)[2][0]
        return means - np.outer(means @ direction, direction)

    return wrong


def with_removal(rule):
    """The reference with another second step."""
    return lambda sentences, matrix, shares, a=1e-3: rule(means_of(sentences, matrix, shares, a))


def without_words(sentences, *rest):
    """The means, where that of no words is NaN."""
    empty = [not each for each in sentences]
    return np.where(np.array(empty)[:, None], np.nan, means_of(sentences, *rest))


def unbounded(shares, a):
    with np.errstate(divide="ignore"):
        return a / shares  # infinite for a share of 0


def of_words(sentences, matrix, shares, a=1e-3):
    """The direction is that of the word vectors."""
    means = means_of(sentences, matrix, shares, a)
    direction = np.linalg.svd(matrix, full_matrices=False)[2][0]
    return means - np.outer(means @ direction, direction)


def centred(means):
    """The direction is that of the centred rows."""
    direction = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)[2][0]
    return means - np.outer(means @ direction, direction)


def projected(means):
    direction = np.linalg.svd(means, full_matrices=False)[2][0]
    return np.outer(means @ direction, direction)


def left_singular(means):
    """The first column of V instead of its first row of Vᵀ."""
    direction = np.linalg.svd(means, full_matrices=False)[2][:, 0]
    return means - np.outer(means @ direction, direction)


task.mistakes(
    (
        "The common direction is still in these vectors. Subtract each row's projection on it.",
        with_removal(lambda means: means),
    ),
    (
        "This is the projection itself: subtract it from the means.",
        with_removal(projected),
    ),
    (
        "The direction is that of the word vectors here. Take the SVD of the means.",
        of_words,
    ),
    (
        "The mean of all rows is subtracted here. Arora et al. remove a *direction*: the first "
        "right singular vector of the means.",
        with_removal(lambda means: means - means.mean(axis=0)),
    ),
    (
        "The direction is that of the centred means here, as in principal component analysis. Take "
        "the singular vector of the means as they are.",
        with_removal(centred),
    ),
    (
        "This direction is a column of Vᵀ. NumPy returns Vᵀ as the third value, and its first "
        "*row* is the singular vector.",
        with_removal(left_singular),
    ),
    (
        "All words count the same here. A word with the share p counts a / (a + p).",
        with_means(weighted(lambda p, a: np.ones(len(p)))),
    ),
    (
        "The weight is upside down: p / (a + p) is large for frequent words. They should count "
        "less: a / (a + p).",
        with_means(weighted(lambda p, a: p / (a + p))),
    ),
    (
        "The weighted sums are divided by the sum of the weights. Divide by the number of words: "
        "here a sentence may hold frequent words alone, and its vector is as long as any other.",
        with_means(weighted(smooth, over=np.sum)),
    ),
    (
        "These are sums. Divide by the number of words, or long sentences dominate the common "
        "direction.",
        with_means(weighted(smooth, over=lambda weights: 1)),
    ),
    (
        "Your result does not depend on `a`. A word with the share p counts a / (a + p).",
        lambda sentences, matrix, shares, a=1e-3: smooth_average(sentences, matrix, shares),
    ),
    (
        "A word that occurs twice counts twice: do not make a set of the sentence.",
        lambda sentences, *rest: smooth_average([[*set(each)] for each in sentences], *rest),
    ),
    (
        "The means hold a NaN or an infinity: the weight a / p is infinite if the share p is 0. "
        "It is a / (a + p).",
        with_means(weighted(unbounded)),
    ),
    (
        "The means hold a NaN or an infinity: the mean of an empty list is NaN. Leave its row at "
        "zero.",
        with_means(without_words),
    ),
)
