"""Lesson 01: the trainer, which counts and merges until it has enough."""

import json
from functools import cache

import tokenizers

from tlcourse import bpe
from tlcourse.bpe import merge_pair
from tlcourse.exercises.bpe.count_pairs import count_pairs
from tlcourse.exercises.expect import CheckFailed, expect_type, expect_unchanged, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="1.3",
    title="The trainer",
    difficulty=3,
    minutes=20,
    hints=(
        "one step is three lines: count, choose, merge. What has to be different when the second "
        "step begins?",
        "keep a dictionary `age` from each token to a number: first "
        "`sorted({token for word in words for token in word})` from 0 on, then each new token when "
        "it is made. `best_of(pairs, age)` needs it.",
        "`merge_pair` returns a list, and the keys of a dictionary must be tuples. So the words "
        "after a merge are a new dictionary: "
        "`{tuple(merge_pair(word, best, new)): count for word, count in words.items()}`, with "
        "`new = best[0] + best[1]`. Leave the loop when `count_pairs` gives nothing.",
    ),
    imports="from collections import Counter, defaultdict\nfrom itertools import pairwise",
    builds_on=("bpe.count_pairs", "bpe.merge_pair"),
)


def best_of(pairs, age):
    """The most frequent pair; of equals the one whose tokens are older, the first token first."""
    return min(pairs, key=lambda pair: (-pairs[pair], age[pair[0]], age[pair[1]]))


@task.reference
def train(words, steps):
    """The first `steps` merges of `words`, a dict from token tuples to counts: a list of pairs."""
    age = {token: n for n, token in enumerate(sorted({t for word in words for t in word}))}
    merges = []
    while len(merges) < steps:
        pairs = count_pairs(words)
        if not pairs:
            break
        best = best_of(pairs, age)
        merges.append(best)
        new = best[0] + best[1]
        age.setdefault(new, len(age))
        words = {tuple(merge_pair(word, best, new)): count for word, count in words.items()}
    return merges


@task.right
def by_a_list_of_tokens(words, steps):
    tokens = sorted({token for word in words for token in word})
    words, merges = [(list(word), count) for word, count in words.items()], []
    for _ in range(steps):
        pairs = {}
        for word, count in words:
            for pair in zip(word, word[1:], strict=False):
                pairs[pair] = pairs.get(pair, 0) + count
        order = sorted(pairs, key=lambda p: (-pairs[p], tokens.index(p[0]), tokens.index(p[1])))
        for best in order[:1]:
            merges.append(best)
            tokens.append("".join(best))
            words = [(merge_pair(word, best, "".join(best)), count) for word, count in words]
    return merges


@task.right
def by_recursion(words, steps, known=()):
    known = list(known) or sorted({token for word in words for token in word})
    pairs = count_pairs(words)
    if not steps or not pairs:
        return []
    most = max(pairs.values())
    best = min((p for p in pairs if pairs[p] == most), key=lambda p: [known.index(t) for t in p])
    after = {tuple(merge_pair(word, best, "".join(best))): n for word, n in words.items()}
    return [best, *by_recursion(after, steps - 1, [*known, "".join(best)])]


TOY = {tuple("rain"): 6, tuple("train"): 3, tuple("drain"): 2, tuple("trail"): 2}


def learnt(candidate, words, steps):
    """The candidate's merges, of the right kind."""
    got = expect_unchanged(candidate, words, steps)
    expect_type(got, list, f"{short(words)}, {steps} steps", "Return the pairs, in a list.")
    odd = [each for each in got if not (isinstance(each, tuple) and len(each) == 2)]
    if odd:
        raise CheckFailed(
            f"your list holds {short(odd[0])}; expected pairs such as ('a', 'i'): the two tokens "
            "that were merged, not what became of them."
        )
    return got


@task.stage("the first merge")
def first(candidate):
    for words, steps, right, what, likely in (
        (
            {tuple("abc"): 2, tuple("bc"): 3}, 1, [("b", "c")],
            "`a b c` twice and `b c` 3 times, 1 step", "`b c` occurs 5 times.",
        ),
        (TOY, 0, [], "no step", "With 0 steps nothing is learnt."),
        (
            {("a",): 4}, 3, [], "a word of one token, 3 steps",
            "No pair is there to be merged: stop early.",
        ),
        (
            {tuple("ab"): 4}, 3, [("a", "b")], "the word `a b`, 3 steps",
            "After the first merge no pair is left: stop early.",
        ),
    ):  # fmt: skip
        task.observe(candidate, learnt, words, steps, gives=right, what=what, likely=likely)


@task.stage("merges build on merges")
def on_merges(candidate):
    words = {tuple("abcd"): 5, tuple("abc"): 3, tuple("bcd"): 1}
    right = [("b", "c"), ("a", "bc"), ("abc", "d")]
    for steps in (2, 3):
        task.observe(
            candidate, learnt, words, steps, gives=right[:steps],
            what=f"`a b c d` 5 times, `a b c` 3 times, `b c d` once, {steps} steps",
            likely="The second step counts the words that the first one left behind.",
        )  # fmt: skip


@task.stage("ties go to the older tokens")
def ties(candidate):
    for words, steps, right, what, likely in (
        (
            TOY, 1, [("a", "i")], "the four words of the lesson, 1 step",
            "`r a` and `a i` occur 13 times each: `a` comes first in the alphabet.",
        ),
        (
            {tuple("ax"): 1, tuple("ab"): 1}, 1, [("a", "b")], "`a x` and `a b`, once each, 1 step",
            "Both begin with `a`: then the older second token wins.",
        ),
        (
            {tuple("bc"): 9, tuple("bca"): 2, tuple("da"): 2}, 2, [("b", "c"), ("d", "a")],
            "`b c` 9 times, `b c a` and `d a` twice, 2 steps",
            "`bc a` and `d a` occur twice each. `bc` was made by a merge, so it is younger "
            "than every letter.",
        ),
    ):  # fmt: skip
        task.observe(candidate, learnt, words, steps, gives=right, what=what, likely=likely)


@cache
def of_the_library():
    """Words of a text in byte symbols, and the merges that the `tokenizers` library learns."""
    text = "rain on the trains, training in the rain; a terrain drained again, and the banana band "
    text += "banned bananas: an ananas, the naïve ½ m² of it. " * 2 + "They then thought that."
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    library = tokenizers.Tokenizer(tokenizers.models.BPE())
    library.pre_tokenizer = byte_level(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=256 + 60, initial_alphabet=byte_level.alphabet(), show_progress=False
    )
    library.train_from_iterator([text], trainer)
    merges = [tuple(pair) for pair in json.loads(library.to_str())["model"]["merges"]]
    symbols = bpe.byte_symbols()
    words = {
        tuple(symbols[byte] for byte in word.encode("utf-8")): count
        for word, count in bpe.count_words([text]).items()
    }
    return words, merges


@task.stage("a text, against the library")
def against_the_library(candidate):
    words, merges = of_the_library()
    got = learnt(candidate, dict(words), len(merges))
    for step, (mine, right) in enumerate(zip(got, merges, strict=False), start=1):
        if mine != right:
            raise CheckFailed(
                f"merge {step} of a text is {mine}; the library learns {right}. Do both occur "
                "equally often? Then look at the rule for ties: is a new token younger than all?"
            )
    if len(got) != len(merges):
        raise CheckFailed(f"{len(got)} merges came; expected {len(merges)}.")


@task.mistake("the first merge", "Stop early when no pair is left: there is nothing to choose")
def never_stops_early(words, steps):
    age = {token: n for n, token in enumerate(sorted({t for word in words for t in word}))}
    merges = []
    for _ in range(steps):
        best = best_of(count_pairs(words), age)
        merges.append(best)
        age["".join(best)] = len(age)
        words = {tuple(merge_pair(word, best, "".join(best))): n for word, n in words.items()}
    return merges


@task.mistake("the first merge", "the two tokens that were merged, not what became of them")
def gives_tokens(words, steps):
    return ["".join(pair) for pair in train(words, steps)]


@task.mistake("the first merge", "Return the pairs, in a list.")
def gives_the_words_too(words, steps):
    return train(words, steps), words


@task.mistake("the first merge", "Is the pair merged in the words before you count again?")
def never_merges(words, steps):
    age = {token: n for n, token in enumerate(sorted({t for word in words for t in word}))}
    pairs = count_pairs(words)
    return [best_of(pairs, age) for _ in range(steps) if pairs]


@task.mistake("merges build on merges", "Count again after every merge: the counts have changed.")
def counts_once(words, steps):
    age = {token: n for n, token in enumerate(sorted({t for word in words for t in word}))}
    pairs = count_pairs(words)
    return sorted(pairs, key=lambda p: (-pairs[p], age[p[0]], age[p[1]]))[:steps]


@task.mistake(
    "ties go to the older tokens", "This tie went to the younger token: `best_of` decides by `age`."
)
def first_seen(words, steps):
    merges = []
    while len(merges) < steps and (pairs := count_pairs(words)):
        best = max(pairs, key=pairs.get)
        merges.append(best)
        words = {tuple(merge_pair(word, best, "".join(best))): n for word, n in words.items()}
    return merges


@task.mistake(
    "ties go to the older tokens",
    "This tie was decided by the alphabet; a token that a merge has made is younger than every "
    "letter.",
)
def by_the_alphabet(words, steps):
    merges = []
    while len(merges) < steps and (pairs := count_pairs(words)):
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        words = {tuple(merge_pair(word, best, "".join(best))): n for word, n in words.items()}
    return merges


@task.mistake("the first merge", "Take the most frequent pair: this is the rarest.")
def rarest_first(words, steps):
    merges = []
    while len(merges) < steps and (pairs := count_pairs(words)):
        best = min(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        words = {tuple(merge_pair(word, best, "".join(best))): n for word, n in words.items()}
    return merges
