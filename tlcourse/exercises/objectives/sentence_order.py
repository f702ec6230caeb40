"""Lesson 10: sentence-order prediction, ALBERT's second objective (Lan et al., 2020)."""

import torch

from tlcourse.bpe import CLS, SEP, SPECIALS
from tlcourse.exercises.expect import expect_equal, expect_unchanged
from tlcourse.exercises.objectives._common import kind
from tlcourse.exercises.pretraining._common import several
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying
from tlcourse.wording import number_of

PAIRS, TYPES = "pairs", "types"

task = Exercise(
    __name__,
    number="10.4",
    title="Sentence-order prediction",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "Cut the windows into two halves, exchange the halves where that is asked for, and put the "
        "special tokens around them only then.",
        "With `half = tokens.shape[1] // 2`, the halves are `tokens[:, :half]` and `tokens[:, half "
        ": 2 * half]`. An odd last token is in neither.",
        "`torch.where(swapped[:, None], two, one)` is the first segment of every row; the second "
        "segment is the other half.",
        "`torch.full((len(tokens), 1), CLS)` is a column of `<cls>`; join columns and segments by "
        "`torch.cat([...], dim=1)`. The types are 0 in the first `half + 2` columns.",
    ),
    imports="import torch\nfrom tlcourse.bpe import CLS, SEP",
)


@task.reference
def sentence_order(tokens, swapped):
    """(batch, length) ids to the pairs and their types, both (batch, 2 * (length // 2) + 3)."""
    half = tokens.shape[1] // 2
    one, two = tokens[:, :half], tokens[:, half : 2 * half]
    first = torch.where(swapped[:, None], two, one)
    second = torch.where(swapped[:, None], one, two)
    cls, sep = (torch.full((len(tokens), 1), special) for special in (CLS, SEP))
    pairs = torch.cat([cls, first, sep, second, sep], dim=1)
    types = torch.zeros_like(pairs)
    types[:, half + 2 :] = 1
    return pairs, types


@task.truth
def row_by_row(place, tokens, swapped):
    pairs, types = [], []
    for row, exchange in zip(tokens.tolist(), swapped.tolist(), strict=True):
        half = len(row) // 2
        segments = [row[:half], row[half : half + half]]
        first, second = reversed(segments) if exchange else segments
        pairs.append([CLS, *first, SEP, *second, SEP])
        types.append([0] * (half + 2) + [1] * (half + 1))
    return {PAIRS: pairs, TYPES: types}[place]


def kinds(candidate, tokens, swapped):
    """What each of the two holds, and its shape."""
    return [
        kind(each) for each in several(expect_unchanged(candidate, tokens, swapped), PAIRS, TYPES)
    ]


def part(candidate, place, tokens, swapped):
    """The rows of the pairs or of the types; raises CheckFailed for another shape."""
    length = 2 * (tokens.shape[1] // 2) + 3
    got = several(expect_unchanged(candidate, tokens, swapped), PAIRS, TYPES)
    found = got[(PAIRS, TYPES).index(place)]
    shape = kind(found)[1:]
    if shape != (len(tokens), length):
        what = f"the shape of `{place}` for {counted(tokens)}"
        expect_equal(shape, (len(tokens), length), what)
    return found.tolist()


def counted(tokens):
    """Such as "2 windows of 7 tokens"."""
    return f"{number_of(len(tokens), 'window')} of {number_of(tokens.shape[1], 'token')}"


def windows(rows, length, seed=0):
    """Random ordinary ids, all of them different."""
    generator = torch.Generator().manual_seed(varying(seed))
    ids = torch.randperm(90, generator=generator)[: rows * length] + len(SPECIALS)
    return ids.view(rows, length)


def bools(*values):
    return torch.tensor(values, dtype=torch.bool)


def drawn(seed):
    """Random windows, some of them swapped."""
    generator = torch.Generator().manual_seed(varying(100 + seed))
    rows = 1 + seed % 4
    return windows(rows, 2 + seed, seed), torch.rand(rows, generator=generator) < 0.5


def of(place, what, *given, **options):
    return case(f"the {place} of {what}", place, *given, **options)


SHORT, WITH_SEP = torch.tensor([[11, 12, 13, 14]]), torch.tensor([[SEP, 12, SEP, 14]])
IDS = f"`<cls>` is {CLS}, `<sep>` is {SEP}"
task.measure = part
task.stage(
    "two tensors",
    case(
        "the type and shape of `pairs` and `types` for 2 windows of 6 tokens",
        *(windows(2, 6), bools(False, True)),
        expected=[("integers", 2, 9), ("integers", 2, 9)],
    ),
    measure=kinds,
    hint="End with `return pairs, types`, two tensors of integers. Each row has the tokens of its "
    "window and three special ones.",
)
task.stage(
    "as in the text",
    of(PAIRS, f"[11, 12, 13, 14], not swapped; {IDS}", SHORT, bools(False)),
    of(PAIRS, "2 windows of 6 tokens, none swapped", windows(2, 6, 1), bools(False, False)),
    hint="A row is `<cls>`, the first half, `<sep>`, the second half, `<sep>`.",
)
task.stage(
    "swapped",
    of(PAIRS, f"[11, 12, 13, 14], swapped; {IDS}", SHORT, bools(True)),
    of(PAIRS, "3 windows of 4 tokens, the second swapped", windows(3, 4, 2), bools(0, 1, 0)),
    *(
        of(
            PAIRS,
            f"[{SEP}, 12, {SEP}, 14], {how}; `<sep>` is {SEP}",
            *(WITH_SEP, bools(how == "swapped")),
            hint="The window itself contains `<sep>` here. It is a token like any other: do not "
            "search for it, and do not change it.",
        )
        for how in ("not swapped", "swapped")
    ),
    of(PAIRS, "3 windows of 8 tokens, the first and third swapped", windows(3, 8), bools(1, 0, 1)),
    hint="Where `swapped` is True, the two halves change places, and nothing else: each keeps the "
    "order of its tokens, and the special tokens stay where they are.",
)
task.stage(
    "types",
    of(TYPES, "[11, 12, 13, 14], not swapped", SHORT, bools(False)),
    of(TYPES, "2 windows of 6 tokens, the second swapped", windows(2, 6, 3), bools(False, True)),
    of(
        TYPES,
        f"[{SEP}, 12, {SEP}, 14], not swapped; `<sep>` is {SEP}",
        *(WITH_SEP, bools(False)),
        hint="The window itself contains `<sep>` here, so do not search for it: the types follow "
        "from the length alone.",
    ),
    hint="A type says in which segment of the *pair* a token is: 0 up to and including the `<sep>` "
    "in the middle, and 1 after it, in every row.",
)
ODD = (
    "Both segments have `length // 2` tokens. With an odd length the last token is left out, "
    "whether the halves are swapped or not."
)
task.stage(
    "odd lengths",
    *(
        of(
            place,
            f"[11, 12, 13, 14, 15], {how}",
            torch.arange(11, 16)[None],
            bools(how == "swapped"),
        )
        for how in ("not swapped", "swapped")
        for place in (PAIRS, TYPES)
    ),
    of(PAIRS, "2 windows of 7 tokens, the first swapped", windows(2, 7, 4), bools(True, False)),
    *(
        of(place, "2 windows of one token, whose halves are empty", windows(2, 1, 5), bools(1, 0))
        for place in (PAIRS, TYPES)
    ),
    hint=ODD,
)
task.stage(
    "20 random batches",
    *(
        of(place, counted(tokens), tokens, swapped)
        for tokens, swapped in map(drawn, range(20))
        for place in (PAIRS, TYPES)
    ),
    hint="The numbers of windows and of their tokens may differ from call to call.",
)


def framed(first, second):
    """The pairs of two segments, and types whose border is the `<sep>` in the middle."""
    cls, sep = (torch.full((len(first), 1), special) for special in (CLS, SEP))
    pairs = torch.cat([cls, first, sep, second, sep], dim=1)
    types = (torch.arange(pairs.shape[1]) > first.shape[1] + 1).long()
    return pairs, types.expand(len(pairs), -1)


def by_rows(build):
    """An answer that builds each row by itself: `build(row, exchange)`, (1, length) ids."""

    def wrong(tokens, swapped):
        rows = [build(row[None], bool(each)) for row, each in zip(tokens, swapped, strict=True)]
        pairs, types = zip(*rows, strict=True)
        return torch.cat(pairs), torch.cat(types)

    return wrong


def unequal(row, exchange):
    """The halves of an odd window differ by one token."""
    half = row.shape[1] // 2
    one, two = row[:, :half], row[:, half:]
    return framed(two, one) if exchange else framed(one, two)


def with_separators(row, exchange):
    half = row.shape[1] // 2
    pairs, types = sentence_order(row, bools(False))
    shift = -(half + 2) if exchange else 0
    return pairs.roll(shift, 1), types


def exchanged_types(tokens, swapped):
    pairs, types = sentence_order(tokens, swapped)
    return pairs, torch.where(swapped[:, None], 1 - types, types)


def early_border(tokens, swapped):
    pairs, types = sentence_order(tokens, swapped)
    return pairs, types.roll(-1, 1).index_fill(1, torch.tensor([types.shape[1] - 1]), 1)


task.mistakes(
    (
        "Rows with `swapped` False are exchanged here: only True means exchanged.",
        lambda tokens, swapped: sentence_order(tokens, ~swapped),
    ),
    (
        "All rows are exchanged as soon as one is. Decide for each row: `torch.where(swapped[:, "
        "None], two, one)`.",
        lambda tokens, swapped: sentence_order(tokens, swapped.any().expand(len(swapped))),
    ),
    (
        "The special tokens have moved along with the halves. Exchange the halves first, and put "
        "`<cls>` and `<sep>` around them afterwards.",
        by_rows(with_separators),
    ),
    (
        "The types are exchanged, too, so they give the answer away. They are the same in every "
        "row: 0 for the segment that comes first in the pair.",
        exchanged_types,
    ),
    (
        "The `<sep>` in the middle belongs to the first segment, so its type is 0.",
        early_border,
    ),
    (
        "The halves of an odd window differ in length here, so the position of `<sep>` tells the "
        "model whether they are swapped. Leave the last token out.",
        by_rows(unequal),
    ),
)
