"""Lesson 11: the sense of a word in a sentence, from its states in sentences that are labelled."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_type, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import draw
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="11.5",
    title="Which sense is it?",
    difficulty=2,
    importance=4,
    minutes=10,
    hints=(
        "Work in two steps: the mean state of each sense, (number of senses, width), and then the "
        "cosine of each query with each mean, (m, number of senses).",
        "`names = sorted(set(senses))` has each sense once. The rows of one of them are "
        "`states[[sense == name for sense in senses]]`; stack their means in the order of `names`.",
        "`F.normalize(query, dim=-1) @ F.normalize(means, dim=-1).T` has all cosines. The "
        "`argmax` of each row is a place in `names`.",
    ),
    imports="import numpy as np\nimport torch\nfrom torch.nn import functional as F",
)


@task.reference
def nearest_sense(states, senses, query):
    """The sense of each query (m, width): the one whose mean state has the largest cosine."""
    names = sorted(set(senses))
    rows = [states[[sense == name for sense in senses]] for name in names]
    means = torch.stack([each.mean(dim=0) for each in rows])
    cosines = F.normalize(query, dim=-1) @ F.normalize(means, dim=-1).T
    return [names[place] for place in cosines.argmax(dim=-1).tolist()]


@task.truth
def query_by_query(states, senses, query):
    """The angle between each query and each mean, in double precision."""
    means = {}
    for name in senses:
        own = [state.double() for state, sense in zip(states, senses, strict=True) if sense == name]
        means[name] = sum(own) / len(own)
    found = []
    for each in query.double():
        cosines = {name: float(each @ mean / mean.norm()) for name, mean in means.items()}
        found.append(max(cosines, key=cosines.get))
    return found


def labels(candidate, *given):
    """The returned list of senses; raises CheckFailed for anything else."""
    got = expect_unchanged(candidate, *given)
    why = "Return a list with the name of a sense for each row of `query`."
    expect_type(got, list, "what your function returns", why)
    for each in got:
        expect_type(each, str, "an entry of your list", "Return names of senses, not their places.")
    return got


task.measure = labels


def clouds(names, each, queries, width=6, seed=0):
    """States around a random direction for each name, in a mixed order, and queries like them.

    All of them have lengths of their own.
    """
    generator = torch.Generator().manual_seed(varying(seed))
    places = torch.randperm(len(names) * each, generator=generator) % len(names)
    asked = torch.arange(queries) % len(names)
    directions = draw(len(names), width, seed=seed + 1)

    def around(places, seed):
        found = directions[places] + 0.8 * draw(len(places), width, seed=seed)
        return found * (0.2 + 2 * draw(len(places), 1, seed=seed + 1).abs())

    return around(places, seed + 2), [names[place] for place in places], around(asked, seed + 4)


def rows(*values):
    return torch.tensor(values, dtype=torch.float)


def told(states, senses, *query, hint=""):
    """A case of a few states and queries, described by their numbers."""

    def lists(rows):
        return [[int(x) if x == int(x) else x for x in row] for row in rows]

    what = f"`states={lists(states)}, senses={senses}, query={lists(query)}`"
    return case(what, rows(*states), senses, rows(*query), hint=hint)


BANK = ([4, 0], [2, 2], [0, 1]), ["money", "money", "river"]
LONG = ([8, 0], [0, 1], [1, 2]), ["money", "money", "river"]
THREE = ([1, 3], [6, 0], [5, 0], [1, 1]), ["money", "money", "money", "river"]
SWAPPED = ([0, 1], [1, 0], [0, -1], [-1, 0]), ["music", "fish", "tree", "tool"]
task.stage(
    "a list of senses",
    told(*BANK, [3, 0], [-1, 2]),
    told(*BANK, [-1, 3]),
    hint="The mean of the states of *money* is [3, 1], and that of *river* is [0, 1]. The query "
    "[3, 0] points nearly the same way as the first, and [-1, 2] as the second.",
)
task.stage(
    "the direction, not the length",
    told(
        *BANK,
        [1, 4],
        hint="The cosine of [1, 4] with the mean of *money*, [3, 1], is 7 / (4.12 · 3.16) = 0.54, "
        "and with that of *river*, [0, 1], it is 4 / 4.12 = 0.97.",
    ),
    told(
        *BANK,
        [1, 0.6],
        hint="[1, 0.6] is short, but points in nearly the same direction as [3, 1], the mean of "
        "*money*.",
    ),
    told(
        *BANK,
        [-3, -1],
        hint="Both cosines are negative here: -1 for *money* and -0.32 for *river*. The larger one "
        "wins, which is -0.32. Leave the sign as it is: no `abs`, and no limit at 0.",
    ),
)
task.stage(
    "the mean of each sense",
    told(
        *BANK,
        [1, 2],
        hint="The cosine of [1, 2] with the mean of *money*, [3, 1], is 5 / (2.24 · 3.16) = 0.71, "
        "and with that of *river*, [0, 1], it is 2 / 2.24 = 0.89.",
    ),
    told(
        *LONG,
        [1, 1],
        hint="The mean of *money* is [4, 0.5], whose cosine with [1, 1] is 0.79. That of *river* "
        "is [1, 2], whose cosine is 0.95.",
    ),
    told(
        *THREE,
        [2, 1],
        hint="The mean of *money* is [4, 1], whose cosine with [2, 1] is 0.98. That of *river* is "
        "[1, 1], whose cosine is 0.95.",
    ),
)
task.stage(
    "names in any order",
    told(*SWAPPED, *SWAPPED[0]),
    case(
        "8 queries for three senses that are mixed",
        *clouds(["tree", "factory", "flower"], 4, 8, seed=10),
    ),
    hint="Row i of the means and name i have to be the same sense: take the names from one list "
    "for both. With one state for each sense, every state has its own sense.",
)
task.stage(
    "random states",
    *(
        case(
            f"{queries} queries of width {width}, {count} senses with {each} states each",
            *clouds([*"qwertz"[:count]], each, queries, width, seed=20 * each),
        )
        for count, each, queries, width in (
            (1, 5, 3, 4),
            (2, 6, 20, 5),
            (4, 7, 30, 8),
            (5, 9, 40, 6),
        )
    ),
    hint="The states of each sense are averaged as they are. Each query is compared with every "
    "mean, and the largest cosine wins.",
)


def cosines(query, other):
    return F.normalize(query, dim=-1) @ F.normalize(other, dim=-1).T


def by(score=cosines, mean=lambda rows: rows.mean(0), called=sorted):
    """The reference with another `score(query, means)`, `mean(rows)`, or order of the names."""

    def wrong(states, senses, query):
        rows = [states[[sense == name for sense in senses]] for name in sorted({*senses})]
        names = called(dict.fromkeys(senses))
        best = score(query, torch.stack([*map(mean, rows)])).argmax(-1)
        return [names[place] for place in best.tolist()]

    return wrong


def nearest_neighbour(states, senses, query):
    return [senses[place] for place in cosines(query, states).argmax(-1).tolist()]


task.mistakes(
    (
        "Each query gets the sense of the one state that is nearest to it, which may be an odd "
        "one. Compare it with the mean of each sense.",
        nearest_neighbour,
    ),
    (
        "Scalar products favour a sense whose mean is long. Divide by the lengths, as a cosine "
        "does: `F.normalize(means, dim=-1)`.",
        by(lambda query, means: query @ means.T),
    ),
    (
        "This is the sense whose mean is nearest by distance. A cosine compares directions, "
        "however long the vectors are.",
        by(lambda query, means: -torch.cdist(query, means)),
    ),
    (
        "The means are in one order and the names in another: a sorted one, and that of the text. "
        "Use the same list of names for both.",
        by(called=list),
    ),
    (
        "The sense with the *smallest* cosine is chosen here. Vectors that point the same way have "
        "the cosine 1.",
        by(lambda query, means: -cosines(query, means)),
    ),
    (
        "Each state is divided by its length before the mean here, so that long and short states "
        "count alike. Take the mean of the states as they are.",
        by(mean=lambda rows: F.normalize(rows, dim=-1).mean(0)),
    ),
)
