"""Lesson 02b: Hugging Face's GPT-2 weights, by the names that the learner's model has."""

import copy

import torch

from tlcourse.exercises.expect import expect_type, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import IMPORTS, draw

task = Exercise(
    __name__,
    number="2b.2",
    title="GPT-2's weights in your model",
    difficulty=3,
    importance=4,
    minutes=25,
    hints=(
        "Write two columns on paper: your names of one block, and theirs. Most rows differ in the "
        "name alone.",
        'A dict of names and a loop do most of it: `for new, old in {"attention_norm": "ln_1", '
        '…}.items()`, and inside it one over "weight" and "bias".',
        "`.t()` transposes a matrix and leaves a vector as it is, so one line does for both. "
        "The weights of a LayerNorm are vectors, so `.t()` does them no harm.",
        "`c_attn` holds query, key and value side by side: `.chunk(3, dim=-1)` cuts the matrix "
        "(width, 3 · width), and the bias (3 · width), into three. Then comes `.t()`.",
    ),
    imports=IMPORTS,
)


@task.reference
def convert_gpt2(theirs, layers):
    """Hugging Face's GPT-2 state dict to one for `Model`: other names, matrices transposed."""
    names = {
        "attention_norm": "ln_1",
        "attention.output": "attn.c_proj",
        "feed_forward_norm": "ln_2",
        "feed_forward.up": "mlp.c_fc",
        "feed_forward.down": "mlp.c_proj",
    }
    mine = {
        "embedding.weight": theirs["transformer.wte.weight"],
        "embedding.positions": theirs["transformer.wpe.weight"],
    }
    for part in ("weight", "bias"):
        mine[f"norm.{part}"] = theirs[f"transformer.ln_f.{part}"]
        for layer in range(layers):
            new, old = f"blocks.{layer}", f"transformer.h.{layer}"
            for name, place in names.items():
                mine[f"{new}.{name}.{part}"] = theirs[f"{old}.{place}.{part}"].t()
            joint = theirs[f"{old}.attn.c_attn.{part}"].chunk(3, dim=-1)
            for name, each in zip(("query", "key", "value"), joint, strict=True):
                mine[f"{new}.attention.{name}.{part}"] = each.t()
    return mine


RENAMED = [
    ("transformer.wte.weight", "embedding.weight"),
    ("transformer.wpe.weight", "embedding.positions"),
    ("transformer.ln_f.", "norm."),
    ("transformer.h.", "blocks."),
    ("ln_1", "attention_norm"),
    ("ln_2", "feed_forward_norm"),
    ("attn.c_proj", "attention.output"),
    ("mlp.c_fc", "feed_forward.up"),
    ("mlp.c_proj", "feed_forward.down"),
]


def by_replacing(theirs):
    """Our state dict, from the names that their dict has."""
    found = {}
    for name, value in theirs.items():
        for old, new in RENAMED:
            name = name.replace(old, new)
        value = value.T if value.dim() == 2 and "embedding" not in name else value
        if "c_attn" in name:
            for part, rows in zip(("query", "key", "value"), value.split(4), strict=True):
                found[name.replace("attn.c_attn", f"attention.{part}")] = rows
        elif name != "lm_head.weight":
            found[name] = value
    return found


class Weights(dict):
    """A dict of tensors that can be compared as a whole."""

    def __eq__(self, other):
        return list(self) == list(other) and all(self[n].equal(other[n]) for n in self)


def drawn(width=4, layers=2):
    """A state dict of GPT-2 with drawn numbers."""
    outputs = {"attn.c_attn": 3 * width, "attn.c_proj": width, "mlp.c_fc": 3 * width}
    shapes = {"wte.weight": (7, width), "wpe.weight": (5, width)}
    norms = ["ln_f", *(f"h.{layer}.ln_{n}" for layer in range(layers) for n in (1, 2))]
    shapes |= {f"{norm}.{part}": (width,) for norm in norms for part in ("weight", "bias")}
    for layer in range(layers):
        for name, out in (outputs | {"mlp.c_proj": width}).items():
            inputs = 3 * width if name == "mlp.c_proj" else width
            shapes |= {f"h.{layer}.{name}.weight": (inputs, out), f"h.{layer}.{name}.bias": (out,)}
    numbers = (draw(*shape, seed=seed) for seed, shape in enumerate(shapes.values()))
    theirs = {f"transformer.{n}": each for n, each in zip(shapes, numbers, strict=True)}
    return Weights(theirs | {"lm_head.weight": theirs["transformer.wte.weight"]})


THEIRS = drawn()
MINE = by_replacing(THEIRS)


def converted(candidate):
    """What the candidate gives; raises CheckFailed if it is no dict or changed the one given."""
    found = expect_unchanged(lambda theirs: candidate(theirs, 2), copy.deepcopy(THEIRS))
    expect_type(found, dict, "what your function returns for two layers")
    return found


def names(candidate):
    """What is different about the names, in words; [] if nothing is."""
    found = [str(name) for name in converted(candidate)]
    lost = [f"{name} is missing" for name in MINE if name not in found]
    return lost + [f"{name} is not expected" for name in found if name not in MINE]


def values(candidate, *asked):
    """What is different about the numbers of these, in words; [] if nothing is."""
    found, said = converted(candidate), []
    for name in (each for each in MINE if any(part in each for part in asked)):
        got, right = found.get(name), MINE[name]
        if got is None:
            said.append(f"{name} is missing")
        elif got.shape != right.shape:
            said.append(f"{name} has the shape {tuple(got.shape)}, not {tuple(right.shape)}")
        elif not torch.equal(got, right):
            said.append(f"{name} has other numbers")
    return said


task.stage(
    "embeddings and norms",
    case("differences in embeddings and norms, for two layers", "embedding", "norm", expected=[]),
    measure=values,
    hint="`wte` holds the tokens and `wpe` the positions, `ln_1` and `ln_2` are the norms of a "
    "block, and `ln_f` is the last norm. Take them as they are.",
)
task.stage(
    "linear layers",
    case("differences in output, up and down", "output", "up", "down", expected=[]),
    measure=values,
    hint="`attn.c_proj` is our output, `mlp.c_fc` our up, and `mlp.c_proj` our down. Their "
    "matrices are (in, out), those of `nn.Linear` are (out, in), so they need a `.t()`.",
)
task.stage(
    "query, key and value",
    case("differences in query, key and value", "query", "key", "value", expected=[]),
    measure=values,
    hint="`c_attn` holds the three side by side, in this order: cut its last dimension into three, "
    "then transpose each.",
)
task.stage(
    "all names",
    case("differences in the names", expected=[]),
    measure=names,
    hint="The result holds our names only: `lm_head.weight` is the embedding again, and our head "
    "is tied.",
)


def changed(change):
    """A wrong answer: `change(mine)` of the right result."""
    return lambda theirs, layers: change(convert_gpt2(theirs, layers))


def exchanged(one, other):
    """A wrong answer that has the tensors of two names in each other's place."""
    others = {one: other, other: one}

    def change(mine):
        found = {}
        for name in mine:
            part = next((each for each in others if each in name), "")
            found[name] = mine[name.replace(part, others[part])] if part else mine[name]
        return found

    return changed(change)


def transposed(where):
    """A wrong answer with one more transposition of the tensors whose names `where` takes."""
    return changed(lambda mine: {n: each.t() if where(n) else each for n, each in mine.items()})


def c_proj_twice(mine):
    down = "feed_forward.down"
    return mine | {n: mine[n.replace(down, "attention.output")] for n in mine if down in n}


task.mistakes(
    (
        "Embeddings are not linear layers: leave them as they are.",
        transposed(lambda name: "embedding" in name),
    ),
    (
        "Only the first layer is there. Go through all `layers`.",
        changed(lambda mine: {n: each for n, each in mine.items() if "blocks.1" not in n}),
    ),
    (
        "`ln_1` stands before attention, `ln_2` before the feed-forward layer.",
        exchanged("attention_norm", "feed_forward_norm"),
    ),
    (
        "The two `c_proj` are mixed up: one is in `attn`, one in `mlp`.",
        changed(c_proj_twice),
    ),
    (
        "Query and key are exchanged. Their order is query, key, value.",
        exchanged(".query.", ".key."),
    ),
    (
        "The matrices are cut or turned the wrong way. First cut (width, 3 · width) into three "
        "blocks of neighbouring columns, then call `.t()`.",
        transposed(lambda name: name.endswith(("query.weight", "key.weight", "value.weight"))),
    ),
)
