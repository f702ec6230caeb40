"""Lesson 07: random labels for word types, the control task of Hewitt & Liang (2019).

What is drawn at random is checked by counting it, over thousands of types.
"""

import random
from collections import Counter

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, short
from tlcourse.exercises.probing._words import in_two_sessions, some_of
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="7.3",
    title="A control task",
    difficulty=2,
    minutes=10,
    hints=(
        "two steps: draw a label for each word *type*, then look up the label of each word.",
        "one generator for all draws, `random.Random(seed)`, made once. A dictionary keeps what "
        "was drawn for a type.",
        "`generator.choice(labels)` draws one of the labels; one that fills half of the list comes "
        "up half of the time.",
        "`dict.fromkeys(words)` has each type once, in the order of the text. A `set` has another "
        "order in each session.",
    ),
    imports="import random\nfrom collections import Counter\nimport numpy as np\nimport torch",
)


@task.reference
def control_labels(words, labels, seed):
    """For each word a random label, the same one for the same word, as frequent as in `labels`."""
    generator = random.Random(seed)
    drawn = {word: generator.choice(labels) for word in dict.fromkeys(words)}
    return [drawn[word] for word in words]


@task.right
def by_shares(words, labels, seed):
    counts = Counter(labels)
    types, draw = sorted(set(words)), random.Random(f"control {seed}")
    drawn = dict(zip(types, draw.choices([*counts], counts.values(), k=len(types)), strict=True))
    return [drawn[word] for word in words]


@task.right
def by_first_meeting(words, labels, seed):
    random.seed(seed)
    met, given = {}, []
    for word in words:
        if word not in met:
            met[word] = labels[random.randrange(len(labels))]
        given.append(met[word])
    return tuple(given)


def given(candidate, words, labels, seed):
    """What the candidate gives, a list of labels that occur, one a word; else raises CheckFailed."""
    got = expect_unchanged(candidate, words, labels, seed)
    got = got.tolist() if hasattr(got, "tolist") else got
    if not isinstance(got, list | tuple):
        missing = " Is a `return` missing?" if got is None else ""
        raise CheckFailed(f"it gave {short(got)}; expected a list with a label for each word.{missing}")
    if len(got) != len(words):
        each = " Each word of the text has one, also when it comes again."
        raise CheckFailed(f"{len(words)} words gave {len(got)} labels.{each}")
    if strange := {*map(str, got)} - {*map(str, labels)}:
        raise CheckFailed(f"it gave {short(strange.pop())}, which is none of the labels {short(labels)}.")
    return list(got)


def by_type(candidate, words, labels, seed):
    """The label of each type."""
    return dict(zip(words, given(candidate, words, labels, seed), strict=True))


def unlike(candidate, *setting):
    """The types that got more than one label, in words."""
    pairs = set(zip(setting[0], given(candidate, *setting), strict=True))
    counts = Counter(word for word, _ in pairs)
    return some_of(sorted(word for word in counts if counts[word] > 1), len(counts))


def how_many(candidate, *setting):
    """How many different labels were given."""
    return len(set(given(candidate, *setting)))


def is_own(candidate, words, labels, seed):
    """Whether all words got the labels that they have already."""
    return given(candidate, words, labels, seed) == labels


def is_same(candidate, words, labels, *seeds):
    """Whether these two seeds gave the same."""
    one, other = (given(candidate, words, labels, seed) for seed in seeds)
    return one == other


def shares(candidate, words, labels, seed):
    """The share of types that got each label, the labels sorted."""
    counts = Counter(by_type(candidate, words, labels, seed).values())
    return [counts[label] / counts.total() for label in sorted(set(labels))]


def shares_by_own(candidate, words, labels, seed):
    """Of the types of each label, the share that got the first label, the labels sorted."""
    drawn, found = by_type(candidate, words, labels, seed), []
    for own in sorted(set(labels)):
        of_it = [drawn[word] for word, label in zip(words, labels, strict=True) if label == own]
        found.append(of_it.count(min(labels)) / len(of_it))
    return found


def is_lasting(candidate, words, labels, seed):
    """Whether another session gives the same."""
    one, other = in_two_sessions(lambda *setting: given(candidate, *setting), words, labels, seed)
    return one == other


def types(count, each=1):
    return [f"word{n}" for n in range(count)] * each


@task.stage("a label for each word")
def for_each(candidate):
    given(candidate, ["a", "dog", "sees", "a", "cat"], ["D", "N", "V", "D", "N"], 0)
    given(candidate, types(50), [5, 7] * 25, 1)


@task.stage("the same word, the same label")
def same(candidate):
    task.observe(
        candidate, unlike, types(40, each=6), ["A", "B", "C"] * 80, 0,
        gives="0 of 40 types", what="those with more than one label", likely=AGAIN,
    )  # fmt: skip


@task.stage("drawn by the seed")
def drawn(candidate):
    setting = types(200), ["A", "B", "C", "D"] * 50
    for look, seeds, right, what, likely in (
        (how_many, (0,), 4, "the number of different labels that 200 types got", FEW),
        (is_own, (0,), False, "whether all words got their own labels", OWN),
        (is_same, (3, 3), True, "whether the same seed gave the same labels twice", UNSEEDED),
        (is_same, (3, 4), False, "whether the seeds 3 and 4 gave the same labels", NO_SEED),
        (is_same, (0, 1), False, "whether the seeds 0 and 1 gave the same labels", NO_SEED),
    ):
        task.observe(candidate, look, *setting, *seeds, gives=right, what=what, likely=likely)


@task.stage("whatever its own label is")
def whatever(candidate):
    task.observe(
        candidate, shares_by_own, types(1000), ["A", "B"] * 500, 0, gives=[0.5, 0.5],
        what="the share of A among types that are A themselves, and among those that are B,",
        likely="Half of all labels are A. A type's own label must not change its chances.",
        tolerance=0.1,
    )  # fmt: skip


@task.stage("as often as in the labels")
def distribution(candidate):
    words = ["the"] * 3000 + types(1500)
    labels = ["D"] * 3000 + ["N", "N", "V"] * 500
    task.observe(
        candidate, shares, words, labels, 0, gives=[6 / 9, 2 / 9, 1 / 9],
        what="with D 3,000 times in `labels`, N 1,000 times and V 500 times, the share of types "
        "that got each",
        likely="Draw from the list of all labels: two thirds of it are D.", tolerance=0.05,
    )  # fmt: skip


@task.stage("in another session")
def lasting(candidate):
    task.observe(
        candidate, is_lasting, types(300), types(12, each=25), 0, gives=True,
        what="whether a new session gives the same labels", likely=SESSION,
    )  # fmt: skip


AGAIN = (
    "Was a label drawn for each place in the text? Draw once for a type, and look it up when the "
    "word comes again."
)
OF_BOTH = "A word with two labels of its own got two here: look it up by the word alone."
FEW = "With 200 draws each of four equally frequent labels comes up. Draw from all of `labels`."
ALL_ONE = (
    "They all got the same one. Is the generator made anew for each word? Then each draw is its "
    "first."
)
OWN = "These are the words' own labels. A control task has random ones."
UNSEEDED = "Draw with `random.Random(seed)`, not with a generator that nobody has seeded."
NO_SEED = "`seed` was not used: another seed has to give another draw."
NOT_OWN = "A type never got its own label. The draw must not depend on it."
UNIFORM = (
    "Each label is as likely as the others here. Draw from the list of labels, not from the set "
    "of them."
)
BY_TYPES = (
    "Each type counted once here. The label of a frequent word is a frequent label: draw from "
    "all labels of the text."
)
SESSION = (
    "Each session of Python hashes words differently: `hash` gives another number, and a `set` of "
    "words has another order. Go through the types in the order of `sorted(set(words))` or "
    "`dict.fromkeys(words)`, and draw without `hash`."
)


def by(draw):
    """A solution with `draw(generator, labels, own labels of all types)`, a label for each type."""

    def candidate(words, labels, seed):
        own = dict(zip(words, labels, strict=True))
        drawn = dict(zip(own, draw(random.Random(seed), labels, own), strict=True))
        return [drawn[word] for word in words]

    return candidate


for stage, says, wrong in (
    ("the same word, the same label", AGAIN,
     lambda words, labels, seed: random.Random(seed).choices(labels, k=len(words))),
    ("the same word, the same label", OF_BOTH,
     lambda *given: control_labels([*zip(*given[:2], strict=True)], *given[1:])),
    ("drawn by the seed", ALL_ONE,
     lambda words, labels, seed: [random.Random(seed).choice(labels) for word in words]),
    ("drawn by the seed", OWN, by(lambda generator, labels, own: own.values())),
    ("drawn by the seed", UNSEEDED,
     by(lambda generator, labels, own: random.choices(labels, k=len(own)))),
    ("drawn by the seed", NO_SEED, lambda words, labels, seed: control_labels(words, labels, 0)),
    ("whatever its own label is", NOT_OWN, by(lambda generator, labels, own: [
        generator.choice(sorted({*labels} - {label})) for label in own.values()])),
    ("as often as in the labels", UNIFORM,
     by(lambda generator, labels, own: generator.choices(sorted({*labels}), k=len(own)))),
    ("as often as in the labels", BY_TYPES,
     by(lambda generator, labels, own: generator.choices([*own.values()], k=len(own)))),
):  # fmt: skip
    task.mistake(stage, says)(wrong)


@task.mistake("a label for each word", "words gave 4 labels. Each word of the text has one")
def one_a_type(words, labels, seed):
    return control_labels(list(dict.fromkeys(words)), labels, seed)


@task.mistake("in another session", SESSION)
def by_set(words, labels, seed):
    generator = random.Random(seed)
    drawn = {word: generator.choice(labels) for word in set(words)}
    return [drawn[word] for word in words]


@task.mistake("in another session", SESSION)
def by_hash(words, labels, seed):
    return [random.Random(hash((seed, word))).choice(labels) for word in words]
