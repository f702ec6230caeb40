"""Lesson 02b: Hugging Face's GPT-2 weights, by the names that the learner's model has."""

import torch

from tlcourse.exercises.expect import CheckFailed, expect_type, expect_unchanged
from tlcourse.exercises.task import Exercise
from tlcourse.exercises.transformer._gpt2 import RENAMED, in_both
from tlcourse.exercises.transformer._parts import IMPORTS

task = Exercise(
    __name__,
    number="2b.2",
    title="GPT-2's weights in your model",
    difficulty=3,
    minutes=25,
    hints=(
        "write two columns on paper: your names of one block, and theirs. Most rows differ in the "
        "name alone.",
        'a dict of names and a loop: `for new, old in {"attention_norm": "ln_1", …}.items()`, and '
        'inside it one over "weight" and "bias".',
        "`.t()` transposes a matrix and leaves a vector as it is, so one line does for both. "
        "LayerNorms are vectors: nothing to turn.",
        "`c_attn` holds query, key and value side by side: `.chunk(3, dim=-1)` cuts the matrix "
        "(width, 3 · width), and the bias (3 · width), into three; then `.t()`.",
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


@task.right
def by_replacing(theirs, layers):
    found = {}
    for name, value in theirs.items():
        if name == "lm_head.weight":
            continue
        for old, new in RENAMED:
            name = name.replace(old, new)
        value = value.T if value.dim() == 2 and "embedding" not in name else value
        if "qkv" in name:
            width = len(value) // 3
            for place, part in enumerate(("query", "key", "value")):
                rows = value[place * width : (place + 1) * width]
                found[name.replace("qkv", part)] = rows
        else:
            found[name] = value
    return found


@task.right
def with_copies(theirs, layers):
    return {name: each.clone().contiguous() for name, each in convert_gpt2(theirs, layers).items()}


THEIRS, MINE = in_both()


def converted(candidate):
    """What the candidate gives; raises CheckFailed if it is no dict or changed what it was given."""
    found = expect_unchanged(lambda theirs: candidate(theirs, 2), _Same(THEIRS))
    expect_type(found, dict, "two layers")
    return found


class _Same(dict):
    """A dict of tensors that can be compared as a whole."""

    def __eq__(self, other):
        return list(self) == list(other) and all(self[n].equal(other[n]) for n in self)


def names(candidate, part=""):
    """What is different about the names with `part` in them, in words; [] if nothing is."""
    found = [str(name) for name in converted(candidate) if part in str(name)]
    wanted = [name for name in MINE if part in name]
    lost = [f"{name} is missing" for name in wanted if name not in found]
    return lost + [f"{name} is not expected" for name in found if name not in wanted]


def values(candidate, *asked):
    """What is different about the numbers of these, in words; [] if nothing is."""
    found, said = converted(candidate), []
    for name in MINE:
        if not any(part in name for part in asked):
            continue
        got, right = found.get(name), MINE[name]
        if got is None:
            said.append(f"{name} is missing")
        elif got.shape != right.shape:
            said.append(f"{name} has the shape {tuple(got.shape)}, not {tuple(right.shape)}")
        elif not torch.equal(got, right):
            said.append(f"{name} has other numbers")
    return said


@task.stage("embeddings and norms")
def vectors(candidate):
    task.observe(
        candidate, values, "embedding", "norm", gives=[],
        what="two layers: what is different about embeddings and norms",
        likely="wte are the tokens and wpe the positions, ln_1 and ln_2 the norms of a block, ln_f "
        "the last one. They are taken as they are.",
    )  # fmt: skip


@task.stage("linear layers")
def matrices(candidate):
    task.observe(
        candidate, values, "attention.output", "feed_forward.up", "feed_forward.down", gives=[],
        what="output, up and down: what is different",
        likely="c_proj of `attn` is our output, c_fc our up, c_proj of `mlp` our down. Their "
        "matrices are (in, out), those of `nn.Linear` (out, in): `.t()`.",
    )  # fmt: skip


@task.stage("query, key and value")
def joint(candidate):
    task.observe(
        candidate, values, "query", "key", "value", gives=[],
        what="query, key and value: what is different",
        likely="c_attn holds the three side by side, in this order: cut its last dimension into "
        "three, then transpose each.",
    )  # fmt: skip


@task.stage("all names")
def every(candidate):
    task.observe(
        candidate, names, gives=[], what="what is different about the names",
        likely="The result holds our names only: `lm_head.weight` is the embedding again, and our "
        "head is tied.",
    )  # fmt: skip
    if not all(isinstance(each, torch.Tensor) for each in converted(candidate).values()):
        raise CheckFailed("expected tensors as the values of the dict.")


def mistake(stage, says):
    """A known mistake: the right result, changed by the decorated function."""

    def take(change):
        return task.mistake(stage, says)(
            lambda theirs, layers: change(convert_gpt2(theirs, layers), theirs)
        )

    return take


@mistake("linear layers", "are (in, out), those of `nn.Linear` (out, in): `.t()`")
def nothing_turned(mine, theirs):
    return {n: e.t() if "embedding" not in n and e.dim() == 2 else e for n, e in mine.items()}


@mistake("embeddings and norms", "Embeddings are not linear layers: leave them as they are.")
def everything_turned(mine, theirs):
    return {name: each.t() if "embedding" in name else each for name, each in mine.items()}


@mistake("linear layers", "The two c_proj are mixed up: one is in `attn`, one in `mlp`.")
def c_proj_twice(mine, theirs):
    return mine | {n: mine[n.replace("feed_forward.down", "attention.output")] for n in mine
                   if "feed_forward.down" in n}  # fmt: skip


@mistake("query, key and value", "Query and key are exchanged: the order is query, key, value.")
def exchanged(mine, theirs):
    other = {"query": "key", "key": "query"}
    swapped = {}
    for name in mine:
        part = next((p for p in other if f".{p}." in name), None)
        swapped[name] = mine[name.replace(part, other[part])] if part else mine[name]
    return swapped


@mistake(
    "query, key and value",
    "Each is transposed the wrong way: cut (width, 3 · width) into columns first, then `.t()`.",
)
def not_turned(mine, theirs):
    three = (".query.weight", ".key.weight", ".value.weight")
    return {name: each.t() if name.endswith(three) else each for name, each in mine.items()}


@mistake("embeddings and norms", "Only the first layer is there: go through all `layers`.")
def first_layer_only(mine, theirs):
    return {name: each for name, each in mine.items() if "blocks.1" not in name}


@mistake(
    "embeddings and norms", "ln_1 stands before attention, ln_2 before the feed-forward layer."
)
def norms_exchanged(mine, theirs):
    other = {"attention_norm": "feed_forward_norm", "feed_forward_norm": "attention_norm"}
    found = {}
    for name in mine:
        part = next((p for p in other if p in name), None)
        found[name] = mine[name.replace(part, other[part])] if part else mine[name]
    return found


@mistake("all names", "`lm_head.weight` is the embedding again, and our head is tied")
def with_the_head(mine, theirs):
    return mine | {"lm_head.weight": theirs["lm_head.weight"]}
