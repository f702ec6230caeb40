"""Lesson 11: which words of a text are kept, and how negatives are drawn (Mikolov et al., 2013).

What is kept follows the program word2vec, whose formula is not that of the paper.
"""

import math

import numpy as np

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.pretraining._common import several
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying
from tlcourse.exercises.words._common import kind

NAMES = KEPT, NOISE = "kept", "noise"
ANY_ORDER = "Words come in any order: number i of both arrays belongs to word i of `counts`."

task = Exercise(
    __name__,
    number="11.3",
    title="Fewer frequent words",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "Both results need more than the counts themselves. What share of the text is each word?",
        "`ratio = threshold / (counts / counts.sum())` is t / f for each word. A probability "
        "cannot be above 1: `np.minimum(1, …)`.",
        "`weights = counts**power` are the weights with which negatives are drawn. They become "
        "probabilities when you divide them by their sum.",
    ),
    imports="import numpy as np\nimport torch",
    tolerance=1e-6,
)


@task.reference
def sampling(counts, threshold=1e-3, power=0.75):
    """(words,) counts to the chance of keeping each occurrence, and of drawing a negative."""
    ratio = threshold / (counts / counts.sum())
    kept = np.minimum(1, np.sqrt(ratio) + ratio)
    weights = counts**power
    return kept, weights / weights.sum()


@task.truth
def word_by_word(which, counts, threshold=1e-3, power=0.75):
    """Word2vec computes (sqrt(f / t) + 1) · t / f."""
    if which == KEPT:
        shares = [int(count) / int(counts.sum()) / threshold for count in counts]
        return np.array([min(1.0, (math.sqrt(share) + 1) / share) for share in shares])
    logs = [power * math.log(count) for count in counts]
    return np.array([1 / sum(math.exp(other - log) for other in logs) for log in logs])


def one_of(candidate, which, *given):
    """One of the two arrays; raises CheckFailed unless there are two values."""
    return several(expect_unchanged(candidate, *given), *NAMES)[NAMES.index(which)]


def kinds(candidate, *given):
    """What each of the two arrays holds, and its shape."""
    return [kind(each) for each in several(expect_unchanged(candidate, *given), *NAMES)]


task.measure = one_of


def drawn(size, seed):
    """The counts of random words, the most frequent first: few are frequent, and many are rare."""
    generator = np.random.default_rng(varying(seed))
    noise = generator.uniform(0.7, 1.3, size)
    return np.sort(1 + (20_000 * noise / np.arange(1, size + 1) ** 1.5).astype(int))[::-1].copy()


def counted(*counts):
    return np.array(counts)


DEFAULTS = "with the defaults, `threshold=1e-3` and `power=0.75`"
task.stage(
    "two arrays",
    case(
        "the type and shape of `kept` and `noise` for 5 words",
        drawn(5, 0),
        expected=[("floats", 5), ("floats", 5)],
    ),
    measure=kinds,
    hint="End with `return kept, noise`, two NumPy arrays with a number for each word.",
)
task.stage(
    "frequent words are thinned out",
    case("`kept` for the counts 300 and 200, threshold=0.1", KEPT, counted(300, 200), 0.1),
    case("`kept` for the counts 900 and 100, threshold=0.01", KEPT, counted(900, 100), 0.01),
    hint="`kept` is the probability of *keeping* one occurrence of the word, min(1, sqrt(t/f) + "
    "t/f). With the threshold t = 0.1, a word with the share f = 0.4 has t/f = 0.25 and is kept "
    "with 0.5 + 0.25 = 0.75.",
)
task.stage(
    "rare words are all kept",
    case("`kept` for the counts 90, 9 and 1, threshold=0.01", KEPT, counted(90, 9, 1), 0.01),
    case("`kept` for the counts of 40 words, threshold=0.01", KEPT, drawn(40, 1), 0.01),
    case(
        "`kept` for the counts 1, 90 and 9, threshold=0.01",
        *(KEPT, counted(1, 90, 9), 0.01),
        hint=ANY_ORDER,
    ),
    hint="The word with the count 1 has the share 0.01, so t/f = 1, and the sum is 2. A "
    "probability is at most 1.",
)
task.stage(
    "how negatives are drawn",
    case(
        "`noise` for the counts 16, 1 and 1",
        *(NOISE, counted(16, 1, 1)),
        hint="16 to the power of 0.75 is 8, so the weights are 8, 1 and 1, and the probabilities "
        "0.8, 0.1 and 0.1.",
    ),
    case("`noise` for the counts 90, 9 and 1", NOISE, counted(90, 9, 1)),
    case("`noise` for the counts of 40 words", NOISE, drawn(40, 2)),
    case("`noise` for the counts 1, 90 and 9", NOISE, counted(1, 90, 9), hint=ANY_ORDER),
    hint="Raise the counts to `power`, then divide by the sum of what you got, so that the "
    "probabilities add up to 1.",
)
task.stage(
    "other settings",
    case(f"`kept` for the counts 900 and 100 {DEFAULTS}", KEPT, counted(900, 100)),
    case("`noise` for the counts 9, 4 and 1, power=0.5", NOISE, counted(9, 4, 1), 1e-3, 0.5),
    case("`noise` for the counts 9, 4 and 1, power=0", NOISE, counted(9, 4, 1), 1e-3, 0.0),
    *(
        case(f"`{which}` for the counts of 60 words, threshold=1e-4, power={power}", which, *given)
        for which in NAMES
        for power, given in ((1.0, (drawn(60, 3), 1e-4, 1.0)), (0.6, (drawn(60, 4), 1e-4, 0.6)))
    ),
    hint="Use `threshold` and `power` as they are given. Their defaults are 1e-3 and 0.75.",
)


def with_kept(rule):
    """The reference with another `kept`: `rule(ratio, counts, threshold)`."""

    def wrong(counts, threshold=1e-3, power=0.75):
        ratio = threshold / (counts / counts.sum())
        return rule(ratio, counts, threshold), sampling(counts, threshold, power)[1]

    return wrong


def with_noise(rule):
    """The reference with another `noise`: `rule(counts, power)`."""

    def wrong(counts, threshold=1e-3, power=0.75):
        return sampling(counts, threshold)[0], rule(counts, power)

    return wrong


def root(ratio):
    return np.sqrt(ratio) + ratio


task.mistakes(
    (
        "The two arrays have changed places: `return kept, noise`.",
        lambda *given: sampling(*given)[::-1],
    ),
    (
        "1 - sqrt(t/f) is the paper's probability of *dropping* a word. Return the probability of "
        "keeping it, by the formula of the program.",
        with_kept(lambda ratio, *_: 1 - np.sqrt(ratio)),
    ),
    (
        "This is the formula of the paper, sqrt(t/f). The program word2vec, whose vectors everyone "
        "used, keeps a little more: sqrt(t/f) + t/f.",
        with_kept(lambda ratio, *_: np.minimum(1, np.sqrt(ratio))),
    ),
    (
        "The threshold is divided by the count here. f is the share of the word, its count divided "
        "by the sum of all counts.",
        with_kept(lambda ratio, counts, threshold: np.minimum(1, root(threshold / counts))),
    ),
    (
        "Frequent words are all kept here. The ratio is t/f, `threshold / share`, not f/t, and the "
        "probability is the *smaller* one of 1 and the sum.",
        with_kept(lambda ratio, *_: np.minimum(1, root(1 / ratio))),
    ),
    (
        "Probabilities above 1 are left as they are here. Words below the threshold are always "
        "kept: `np.minimum(1, …)`.",
        with_kept(lambda ratio, *_: root(ratio)),
    ),
    (
        "These are the shares of the words, without the power. It makes rare words more likely as "
        "negatives than they are in the text.",
        with_noise(lambda counts, power: counts / counts.sum()),
    ),
    (
        "These numbers do not add up to 1, because they are divided by the sum of the counts. "
        "Divide `weights = counts**power` by their own sum, `weights.sum()`.",
        with_noise(lambda counts, power: counts**power / counts.sum()),
    ),
    (
        "These numbers do not add up to 1. Divide by the sum *after* the power: the sum of shares "
        "changes when each is raised to it.",
        with_noise(lambda counts, power: (counts / counts.sum()) ** power),
    ),
)
