"""Lesson 02b: Hugging Face's GPT-2 weights under the names of the learner's model."""

import copy

import torch

from tlcourse.exercises.expect import expect_type, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import IMPORTS, draw, with_bias

task = Exercise(
    __name__,
    number="2b.2",
    title="GPT-2's weights in your model",
    difficulty=3,
    importance=4,
    minutes=25,
    hints=(
        "Write two columns on paper: your names of one block, and theirs. Most rows differ only "
        "in the name.",
        'A dict of names and a loop do most of the work: `for new, old in {"attention_norm": '
        '"ln_1", …}.items()`, and inside it a loop over "weight" and "bias".',
        "`.t()` transposes a matrix and leaves a vector as it is, so one line is enough for linear "
        "layers and for LayerNorm, whose weights are vectors.",
        "`c_attn` holds query, key and value side by side: `.chunk(3, dim=-1)` cuts the matrix "
        "(width, 3 · width), and the bias (3 · width), into three. Then transpose with `.t()`.",
    ),
    imports=IMPORTS,
)


@task.reference
def convert_gpt2(theirs, layers):
    """Returns GPT-2's state dict with the names of `Model`, and with transposed matrices."""
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
    """Returns our state dict by replacing parts of their names."""
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
    """A dict of tensors that `==` compares as a whole."""

    def __eq__(self, other):
        return list(self) == list(other) and all(self[n].equal(other[n]) for n in self)


def drawn():
    """Returns a state dict of GPT-2 with random numbers, for two layers of width 4."""
    shapes = {"wte.weight": (7, 4), "wpe.weight": (5, 4)}
    for norm in ("ln_f", "h.0.ln_1", "h.0.ln_2", "h.1.ln_1", "h.1.ln_2"):
        shapes |= with_bias(norm, 4)
    linear = {"attn.c_attn": (4, 12), "attn.c_proj": (4, 4), "mlp.c_fc": (4, 12)}
    for name, (inputs, outputs) in (linear | {"mlp.c_proj": (12, 4)}).items():
        for layer in ("h.0", "h.1"):
            shapes[f"{layer}.{name}.weight"] = inputs, outputs
            shapes[f"{layer}.{name}.bias"] = (outputs,)
    numbers = (draw(*shape, seed=seed) for seed, shape in enumerate(shapes.values()))
    theirs = {f"transformer.{n}": each for n, each in zip(shapes, numbers, strict=True)}
    return Weights(theirs | {"lm_head.weight": theirs["transformer.wte.weight"]})


THEIRS = drawn()
MINE = by_replacing(THEIRS)


def converted(candidate):
    """Returns the candidate's dict; raises CheckFailed if it is none, or if theirs changes."""
    found = expect_unchanged(lambda theirs: candidate(theirs, 2), copy.deepcopy(THEIRS))
    expect_type(found, dict, "what your function returns for two layers")
    return found


def values(candidate, *asked):
    """Returns the names whose tensors are missing or wrong, with a description."""
    found = converted(candidate)
    return {
        name: f"other numbers, of shape {tuple(found[name].shape)}" if name in found else "missing"
        for name, right in MINE.items()
        if any(part in name for part in asked) and not right.equal(found.get(name, torch.empty(0)))
    }


task.stage(
    "embeddings and norms",
    case("differences in embeddings and norms, for two layers", "embedding", "norm", expected={}),
    measure=values,
    hint="`wte` holds the tokens and `wpe` the positions, `ln_1` and `ln_2` are the norms of a "
    "block, before attention and before feed-forward, and `ln_f` is the last norm. Copy them "
    "unchanged.",
)
task.stage(
    "linear layers",
    case("differences in output, up and down", "output", "up", "down", expected={}),
    measure=values,
    hint="`attn.c_proj` is our output, `mlp.c_fc` our up, and `mlp.c_proj` our down. Their "
    "matrices are (in, out), those of `nn.Linear` are (out, in).",
)
task.stage(
    "query, key and value",
    case("differences in query, key and value", "query", "key", "value", expected={}),
    measure=values,
    hint="`c_attn` holds the three side by side, in this order: cut its last dimension into three "
    "blocks of neighbouring columns, then transpose each.",
)
task.stage(
    "all names",
    case(
        "the names that are missing or not ours",
        expected=[],
        measure=lambda candidate: sorted(set(converted(candidate)) ^ set(MINE)),
    ),
    hint="Return our names only. `lm_head.weight` is the embedding again, and our head is tied.",
)


def changing(change, *parts):
    """Returns the right answer but `change(tensor)` where a name has one of `parts`."""

    def convert(theirs, layers):
        mine = convert_gpt2(theirs, layers).items()
        return {n: change(e) if any(part in n for part in parts) else e for n, e in mine}

    return convert


task.mistakes(
    (
        "Only the first layer is converted: loop over `range(layers)`.",
        lambda theirs, layers: convert_gpt2(theirs, 1),
    ),
    (
        "This code transposes the embeddings, too, but `nn.Embedding` stores them as GPT-2 does: "
        "transpose the matrices of linear layers only.",
        changing(torch.t, "embedding"),
    ),
    (
        "These matrices are still (in, out), as GPT-2 stores them: transpose each with `.t()`.",
        changing(torch.t, "output", "up", "down"),
    ),
    (
        "The columns are cut rightly, but the three matrices are still (in, out): transpose each "
        "with `.t()`.",
        changing(torch.t, "query", "key", "value"),
    ),
)
