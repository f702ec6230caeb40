"""Lesson 07: a probe that is right for the wrong reason, and the split that shows it."""

import random

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, short
from tlcourse.exercises.probing._words import in_two_sessions, some_of
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="7.6",
    title="A probe that is right for the wrong reason",
    difficulty=2,
    minutes=10,
    hints=(
        "it is the word *types* that are drawn, not the places in the text.",
        "list the types, shuffle them with `random.Random(seed)`, and take the first "
        "`round(share * len(types))` of them for the test.",
        "then one walk through `enumerate(words)`: to which of the two lists does each place go?",
        "`sorted(set(words))` or `list(dict.fromkeys(words))` has the types in the same order in "
        "each session; a `set` has not.",
    ),
    imports="import random\nimport numpy as np\nimport torch",
)


@task.reference
def split_by_word(words, share, seed):
    """(train, test): the places of the words, no type on both sides, `share` of types in test."""
    types = sorted(set(words))
    random.Random(seed).shuffle(types)
    held_out = set(types[: round(share * len(types))])
    train = [place for place, word in enumerate(words) if word not in held_out]
    test = [place for place, word in enumerate(words) if word in held_out]
    return train, test


@task.right
def one_coin_a_type(words, share, seed):
    draw, is_test, sides = random.Random(seed), {}, ([], [])
    for place, word in enumerate(words):
        if word not in is_test:
            is_test[word] = draw.random() < share
        sides[is_test[word]].append(place)
    return sides


@task.right
def by_text_of_seed_and_word(words, share, seed):
    coins = {word: random.Random(f"{seed} {word}").random() for word in words}
    places = sorted(range(len(words)), key=lambda place: coins[words[place]])
    after = sum(coins[word] < share for word in words)
    return [places[after:], places[:after]]


def sides(candidate, words, share, seed):
    """(train, test) of the candidate as lists of places; raises CheckFailed if they are none."""
    got = expect_unchanged(candidate, words, share, seed)
    if not isinstance(got, list | tuple) or len(got) != 2:
        missing = " Is a `return` missing?" if got is None else ""
        raise CheckFailed(f"it gave {short(got)}; expected two lists, (train, test).{missing}")
    lists = [each.tolist() if hasattr(each, "tolist") else each for each in got]
    for each in lists:
        kinds = {type(place).__name__ for place in each} if isinstance(each, list | tuple) else {0}
        if kinds - {"int", "int64", "int32"}:  # NumPy's are as good
            raise CheckFailed(f"one of the two is {short(each)}; expected a list of places, from 0 on.")
    return [*map(int, lists[0])], [*map(int, lists[1])]


def everywhere(candidate, *setting):
    """All places of both lists, sorted."""
    train, test = sides(candidate, *setting)
    return sorted(train + test)


def on_both(candidate, words, share, seed):
    """The words that are on both sides, in words."""
    train, test = sides(candidate, words, share, seed)
    shared = {words[place] for place in train} & {words[place] for place in test}
    return some_of(sorted(shared), len(set(words)))


def share_of_types(candidate, words, share, seed):
    """How many of the types are in the test."""
    _, test = sides(candidate, words, share, seed)
    return len({words[place] for place in test}) / len(set(words))


def chance_of_the(candidate, words, share, seeds):
    """The share of the seeds that have the word "the" in the test."""
    each = [sides(candidate, words, share, seed)[1] for seed in range(seeds)]
    return sum("the" in {words[place] for place in test} for test in each) / seeds


def is_same(candidate, words, share, *seeds):
    """Whether these two seeds gave the same."""
    one, other = (sides(candidate, words, share, seed) for seed in seeds)
    return one == other


def is_lasting(candidate, words, share, seed):
    """Whether another session gives the same."""
    one, other = in_two_sessions(lambda *setting: sides(candidate, *setting), words, share, seed)
    return one == other


def text(types, each=1):
    return [f"word{n}" for n in range(types)] * each


@task.stage("every place once")
def once(candidate):
    words = ["the", "dog", "sees", "the", "cat", "and", "the", "dog"]
    for seed in range(4):
        task.observe(
            candidate, everywhere, words, 0.5, seed, gives=list(range(8)),
            what=f"`{' '.join(words)}` with share 0.5: the places in train and test together",
            likely="Each of the 8 places is in train or in test, and in one of them only.",
        )  # fmt: skip


@task.stage("no word on both sides")
def apart(candidate):
    for share, seed in ((0.5, 0), (0.2, 1), (0.8, 2)):
        task.observe(
            candidate, on_both, text(50, each=6), share, seed, gives="0 of 50 types",
            what=f"50 types, 6 times each, with share {share}: the words on both sides",
            likely=PLACES,
        )  # fmt: skip


@task.stage("a share of the types")
def share(candidate):
    words = ["the"] * 4000 + text(2000)
    for share, seed in ((0.3, 0), (0.3, 1), (0.8, 2), (0.1, 3), (0.3, 4)):
        task.observe(
            candidate, share_of_types, words, share, seed, gives=share,
            what=f"2,001 types, of which one is 4,000 times in the text, with share {share}: the "
            "share of the types in test",
            likely="Count types, each once: a frequent one is one, too.", tolerance=0.05,
        )  # fmt: skip


@task.stage("drawn by the seed")
def drawn(candidate):
    for one, other in ((3, 3), (3, 4), (0, 1)):
        task.observe(
            candidate, is_same, text(200), 0.3, one, other, gives=one == other,
            what=f"whether the seeds {one} and {other} gave the same split",
            likely=UNSEEDED if one == other else NO_SEED,
        )  # fmt: skip

    task.observe(
        candidate, chance_of_the, ["the"] * 100 + text(39), 0.5, 40, gives=0.5, tolerance=0.25,
        what="`the` is 100 times in the text, 39 other types once, share 0.5: among 40 seeds the "
        "share of those that have `the` in the test", likely=EVEN,
    )  # fmt: skip


@task.stage("in another session")
def lasting(candidate):
    task.observe(
        candidate, is_lasting, text(200), 0.3, 0, gives=True,
        what="whether a new session gives the same split", likely=SESSION,
    )  # fmt: skip


PLACES = (
    "Were places drawn? Then most words are on both sides, and a probe that only remembers words "
    "looks good. Draw types, and let each take all of its places along."
)
EVEN = "Every type has the same chance, however frequent it is: draw from types, each once."
DROPPED = (
    "Places of words that are on both sides were left out. Draw the types first; then nothing has "
    "to be thrown away."
)
FIRST_ONLY = "Each word is there once only: a type takes *all* of its places to its side."
SWAPPED = "Train and test are swapped: `share` is that of the test, which comes second."
OF_PLACES = "`share` counts word types, each of them once, not places in the text."
UNSEEDED = "Draw with `random.Random(seed)`, not with a generator that nobody has seeded."
NO_SEED = (
    "`seed` was not used: another seed has to give another split, and not always the words that "
    "come first."
)
SESSION = (
    "Each session of Python hashes words differently: `hash` gives another number, and a `set` of "
    "words has another order. Begin with `sorted(set(words))` or `list(dict.fromkeys(words))`, and "
    "draw without `hash`."
)


def by(order, held_out=lambda types, share, words: types[: round(share * len(types))]):
    """A split with `order(words, seed)`, the types, and `held_out` of them in the test."""

    def candidate(words, share, seed):
        kept = set(held_out(order(words, seed), share, words))
        places = range(len(words))
        train = [place for place in places if words[place] not in kept]
        return train, [place for place in places if words[place] in kept]

    return candidate


def shuffled(words, seed):
    types = list(dict.fromkeys(words))
    return random.Random(seed).sample(types, len(types))


def until_full(types, share, words):
    """The first types that have this share of the places."""
    kept, count = [], 0
    for word in types:
        if count >= share * len(words):
            break
        kept.append(word)
        count += words.count(word)
    return kept


def by_places(words, share, seed):
    places = list(range(len(words)))
    random.Random(seed).shuffle(places)
    after = round(share * len(words))
    return places[after:], places[:after]


def by_frequency(words, seed):
    return list(dict.fromkeys(random.Random(seed).sample(words, len(words))))


def set_in_order_of_hash(words, seed):
    types = list(set(words))
    random.Random(seed).shuffle(types)
    return types


task.mistake("no word on both sides", PLACES)(by_places)
task.mistake("a share of the types", OF_PLACES)(by(shuffled, until_full))
task.mistake("a share of the types", SWAPPED)(lambda *given: split_by_word(*given)[::-1])
task.mistake("drawn by the seed", NO_SEED)(by(lambda words, seed: sorted(set(words))))
task.mistake("drawn by the seed", NO_SEED)(by(lambda words, seed: shuffled(words, 0)))
task.mistake("drawn by the seed", EVEN)(by(by_frequency))
task.mistake("drawn by the seed", UNSEEDED)(by(lambda words, seed: shuffled(words, None)))
task.mistake("in another session", SESSION)(by(set_in_order_of_hash))


@task.mistake("every place once", DROPPED)
def drops_what_is_on_both(words, share, seed):
    train, test = by_places(words, share, seed)
    known = {words[place] for place in train}
    return train, [place for place in test if words[place] not in known]


@task.mistake("every place once", FIRST_ONLY)
def first_places_only(words, share, seed):
    train, test = split_by_word(list(dict.fromkeys(words)), share, seed)
    types = list(dict.fromkeys(words))
    return [words.index(types[n]) for n in train], [words.index(types[n]) for n in test]
