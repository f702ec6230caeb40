"""Help for the exercise on GPT-2's weights: one model by their names and by ours."""

import torch

from tlcourse.exercises.transformer._parts import draw

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
    ("attn.c_attn", "attention.qkv"),
]


def in_both(width=4, layers=2):
    """The same numbers by their names and by ours: ours are drawn, theirs are made from them."""
    shapes = {"embedding.weight": (7, width), "embedding.positions": (5, width)}
    shapes |= {"norm.weight": (width,), "norm.bias": (width,)}
    sizes = {"attention_norm": (width,), "feed_forward_norm": (width,)}
    sizes |= dict.fromkeys([f"attention.{n}" for n in ("query", "key", "value", "output")],
                           (width, width))  # fmt: skip
    sizes |= {"feed_forward.up": (3 * width, width), "feed_forward.down": (width, 3 * width)}
    for layer in range(layers):
        for name, size in sizes.items():
            shapes[f"blocks.{layer}.{name}.weight"] = size
            shapes[f"blocks.{layer}.{name}.bias"] = size[:1]
    mine = {name: draw(*size, seed=seed) for seed, (name, size) in enumerate(shapes.items())}
    theirs = {
        "transformer.wte.weight": mine["embedding.weight"],
        "transformer.wpe.weight": mine["embedding.positions"],
        "transformer.ln_f.weight": mine["norm.weight"],
        "transformer.ln_f.bias": mine["norm.bias"],
        "lm_head.weight": mine["embedding.weight"],
    }
    for name, each in mine.items():
        _, layer, *place, part = name.split(".") if name.startswith("blocks.") else [""] * 4
        turned = each.mT.contiguous() if each.dim() == 2 else each
        for old, new in RENAMED[4:9]:
            if ".".join(place) == new:
                theirs[f"transformer.h.{layer}.{old}.{part}"] = turned
    for layer in range(layers):
        for part in ("weight", "bias"):
            three = [
                mine[f"blocks.{layer}.attention.{n}.{part}"] for n in ("query", "key", "value")
            ]
            joint = torch.cat([each.mT if part == "weight" else each for each in three], dim=-1)
            theirs[f"transformer.h.{layer}.attn.c_attn.{part}"] = joint
    return theirs, mine
