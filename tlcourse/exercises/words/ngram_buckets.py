"""Lesson 11: the n-grams of a word, each in a bucket (fastText; Bojanowski et al., 2017)."""

import re

import numpy as np

from tlcourse.exercises.measures import integers
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

WIDE = 2**32  # as many buckets as there are hashes, so that hardly any two n-grams share one

task = Exercise(
    __name__,
    number="11.4",
    title="The n-grams of a word",
    difficulty=2,
    importance=4,
    minutes=10,
    hints=(
        "Work in two steps: first list the n-grams as texts, then replace each by the number of "
        "its bucket. Print the first list and compare it with the example.",
        '`marked = f"<{word}>"` is the word with its marks. An n-gram is a slice of n '
        "characters, `marked[start : start + n]`; how many starts are there?",
        "There are two loops: `for n in range(shortest, longest + 1)`, and in it `for start in "
        "range(len(marked) - n + 1)`. Append `fnv1a(marked[start : start + n]) % buckets`.",
    ),
    imports="import numpy as np\nimport torch",
)


def fnv1a(text):
    """The 32-bit FNV-1a hash of a text, as fastText computes it."""
    number = 2166136261
    for byte in text.encode():
        signed = byte if byte < 128 else byte | 0xFFFFFF00  # fastText reads bytes as signed
        number = (number ^ signed) * 16777619 % 2**32
    return number


@task.reference
def ngram_buckets(word, shortest=3, longest=6, buckets=200_000):
    """The numbers of the buckets of all character n-grams of `<word>`, in any order."""
    marked = f"<{word}>"
    ngrams = [
        marked[start : start + n]
        for n in range(shortest, longest + 1)
        for start in range(len(marked) - n + 1)
    ]
    return [fnv1a(ngram) % buckets for ngram in ngrams]


def in_order(word, ngrams):
    """N-grams in the order in which they first begin in `<word>`, the shortest first."""
    return sorted(ngrams, key=lambda ngram: (f"<{word}>".find(ngram), len(ngram)))


@task.truth
def by_pattern(word, shortest=3, longest=6):
    """The n-grams as texts."""
    lengths = range(shortest, longest + 1)
    found = [re.findall(f"(?=(.{{{n}}}))", f"<{word}>") for n in lengths]
    return in_order(word, [ngram for of_length in found for ngram in of_length])


def hashed(ngram):
    """The hash in the numbers of NumPy, whose bytes are signed and whose products overflow."""
    number, prime = np.array([2166136261], np.uint32), np.array([16777619], np.uint32)
    for byte in np.frombuffer(ngram.encode(), np.int8).astype(np.uint32):
        number = (number ^ byte) * prime
    return int(number[0])


def sorted_buckets(word, shortest=3, longest=6, buckets=200_000):
    return sorted(hashed(ngram) % buckets for ngram in by_pattern(word, shortest, longest))


def as_texts(candidate, word, *lengths):
    """The n-grams whose buckets the candidate returns, after the numbers of none."""
    marked, places = f"<{word}>", range(len(word) + 3)
    names = {hashed(part): part for i in places for j in places if (part := marked[i:j])}
    got = integers(candidate, word, *(lengths or (3, 6)), WIDE)
    unknown = sorted(number for number in got if number not in names)
    known = in_order(word, [names[number] for number in got if number in names])
    return [f"{number}, the hash of something else" for number in unknown] + known


def ordered(candidate, *given):
    """The returned numbers, sorted."""
    return sorted(integers(candidate, *given))


def types(candidate, *given):
    """What the returned list holds."""
    got = integers(candidate, *given)
    whole = int | np.integer
    return sorted({"integers" if isinstance(x, whole) else type(x).__name__ for x in got})


task.measure = as_texts


def words(count, seed):
    """Random words of 1 to 9 letters out of four, in which n-grams are often repeated."""
    generator = np.random.default_rng(varying(seed))
    for _ in range(count):
        yield "".join(generator.choice([*"aeno"], generator.integers(1, 10)))


def texts(word, *lengths, hint=""):
    """A case: the n-grams of a word as texts."""
    what = f"`{word}`" + (f", shortest={lengths[0]}, longest={lengths[1]}" if lengths else "")
    return case(f"the n-grams of {what}", word, *lengths, hint=hint)


def numbers(*given):
    """A case: the numbers for a word."""
    return case(f"`ngram_buckets({', '.join(map(repr, given))})`, sorted", *given)


task.stage(
    "a list of integers",
    case(
        "what the list for `cat` holds",
        *("cat", 3, 4, WIDE),
        expected=["integers"],
    ),
    measure=types,
    hint="Return a list with the number of a bucket for each n-gram, not the n-grams themselves.",
)
task.stage(
    "all n-grams of the marked word",
    texts("where", 3, 3),
    texts("where", 3, 4),
    texts("tables", 2, 5),
    texts(
        "windows",
        *(5, 8),
        hint="An n-gram may be longer than 6 characters: use `longest` as it is given.",
    ),
    texts(
        "Don't",
        *(3, 4),
        hint="Use the word as it is: capital letters stay capital, and an apostrophe is a "
        "character like any other.",
    ),
    texts(
        "<unk>",
        *(3, 4),
        hint="Every word gets its marks, even if it has such characters of its own: `<<unk>>`.",
    ),
    hint="The word stands between `<` and `>`. Its n-grams are all slices of 3 characters, then "
    "all of 4, and so on up to `longest`. For `where` and n = 3 there are five, from `<wh` "
    "to `re>`.",
)
task.stage(
    "short words, and repeats",
    texts(
        "a",
        hint="`<a>` has three characters, so it is the only n-gram: a word that is shorter than n "
        "has no n-grams of this length.",
    ),
    texts("the"),
    texts(
        "banana",
        *(3, 4),
        hint="`ana` and `nan` can occur more than once: `banana` has `ana` twice, so it is in the "
        "list twice.",
    ),
    *(texts(word) for word in words(12, 0)),
    hint="A word of 3 letters has 5 characters with its marks: n-grams of 3, 4 and 5 characters.",
)
task.stage(
    "letters of several bytes",
    texts("über", 3, 3),
    texts("naïveté"),
    hint="n counts characters, not bytes: cut the text first. `fnv1a` takes a text and encodes it. "
    "It is the hash of fastText: use it as it is.",
)
task.stage(
    "buckets",
    numbers("where", 3, 3, 1000),
    numbers("where", 3, 6, 7),
    numbers("cat"),
    *(numbers(word, 2, 4, 50 + place) for place, word in enumerate(words(6, 1))),
    measure=ordered,
    expected=sorted_buckets,
    hint="The number of a bucket is the remainder of the hash, `fnv1a(ngram) % buckets`, so it is "
    "from 0 to `buckets - 1`. Two n-grams in the same bucket give its number twice. The defaults "
    "are `shortest=3`, `longest=6` and `buckets=200_000`.",
)


def of_texts(cut, number=lambda ngram, buckets: hashed(ngram) % buckets):
    """An answer that numbers the texts `cut(word, shortest, longest)` in another way."""

    def wrong(word, shortest=3, longest=6, buckets=200_000):
        return [number(ngram, buckets) for ngram in cut(word, shortest, longest)]

    return wrong


def unmarked(word, shortest, longest):
    return [ngram for ngram in by_pattern(word, shortest, longest) if not {*"<>"} & {*ngram}]


def without_last(word, shortest, longest):
    return [
        f"<{word}>"[start : start + n]
        for n in range(shortest, longest + 1)
        for start in range(len(word) + 2 - n)
    ]


def too_short(word, shortest, longest):
    return [
        f"<{word}>"[start : start + n]
        for n in range(shortest, longest + 1)
        for start in range(len(word) + 2)
    ]


task.mistakes(
    (
        "The marks `<` and `>` are missing. They tell a prefix and a suffix from the middle of a "
        "word: `her` in `where` is not the word `<her>`.",
        of_texts(unmarked),
    ),
    (
        "The longest n-grams are missing here, because `range` leaves out its end: "
        "`range(shortest, longest + 1)`.",
        of_texts(lambda word, shortest, longest: by_pattern(word, shortest, longest - 1)),
    ),
    (
        "The last n-gram of each length is missing, the one that ends in `>`. Either the word has "
        "no mark at its end, or the starts end too early: there are `len(marked) - n + 1` of them.",
        of_texts(without_last),
    ),
    (
        "Near the end of the word, slices are shorter than n. Stop at the last start that has n "
        "characters: there are `len(marked) - n + 1` of them.",
        of_texts(too_short),
    ),
    (
        "The whole word is in the list, too. In fastText it has a row of its own, and no bucket, "
        "unless it is short enough to be an n-gram.",
        of_texts(lambda *given: [*by_pattern(*given), f"<{given[0]}>"]),
    ),
    (
        "An n-gram that occurs twice is listed once here. Use no `set`: each occurrence adds its "
        "vector.",
        of_texts(lambda *given: [*dict.fromkeys(by_pattern(*given))]),
    ),
    (
        "These are the hashes themselves. Their remainders, `% buckets`, are the rows of a table "
        "that fits into memory.",
        of_texts(by_pattern, lambda ngram, buckets: hashed(ngram)),
    ),
    (
        "These are the remainders for 200,000 buckets, which is only the default. Use `% buckets`.",
        of_texts(by_pattern, lambda ngram, buckets: hashed(ngram) % 200_000),
    ),
    (
        "This is Python's `hash`, which differs in each session, so that vectors that were saved "
        "would fit no more. Use `fnv1a`.",
        of_texts(by_pattern, lambda ngram, buckets: hash(ngram) % buckets),
    ),
)
