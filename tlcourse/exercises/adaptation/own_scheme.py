"""Lesson 05b: a scheme of one's own. Its checks are `_scheme_knobs`, `_scheme_loss` and
`_scheme_training`: a scheme has no one right value, so they raise what is wrong with it."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.adaptation import (
    HEAD_FACTOR,
    L2SP,
    Adapters,
    AddedOnly,
    ByLayer,
    GradualUnfreezing,
    Group,
    HeadOnly,
    LoRA,
    OneCycle,
    Scheme,
    SequentialUnfreezing,
    Triangular,
    head_names,
)
from tlcourse.exercises.adaptation import _scheme_knobs, _scheme_loss, _scheme_training
from tlcourse.exercises.task import Exercise
from tlcourse.training import warmup_stable_decay

task = Exercise(
    __name__,
    number="5b.4",
    title="A scheme of your own",
    difficulty=4,
    minutes=40,
    hints=(
        "begin with a scheme of the course and make one choice anew: "
        '`Scheme("LoRA, thawed", edit=LoRA(), groups=AddedOnly(4.0), schedule=your_schedule)`. '
        "What a choice is called with, and what it returns, is said in the table of the "
        "exercise.",
        "a choice of groups is called like `choose(classifier, added)`. `added` are the names "
        "that the edit brought; all others are in `classifier.named_parameters()`. It returns "
        'a dictionary like `{"norms": Group(("body.norm.weight",), 2.0), "head": ...}`, from '
        "the input to the output. Begin with a function; as a frozen dataclass with "
        "`__call__`, its settings as fields, it can be saved, too.",
        "an example to turn into your own: LoRA in all of attention (`LoRA(layers="
        '"attention")`), one group for each block with its added parameters and its norms, the '
        "head last, and `GradualUnfreezing()`.",
    ),
    imports="""\
import copy
import itertools
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn import functional as F
from torch.nn.utils import parametrize

from tlcourse.adaptation import (
    EWC, FULL, HEAD_FACTOR, SCHEMES, Adapters, AddedOnly, ByLayer, ChainThaw, Everything,
    GradualUnfreezing, Group, HeadOnly, LayerMix, LoRA, LoRALinear, Named, OneCycle, Prefixes,
    Scheme, SequentialUnfreezing, SlantedTriangular, TopLayers, head_names,
)
from tlcourse.batching import pad
from tlcourse.bpe import PAD
""",
    trains=True,
)


@dataclass(frozen=True)
class SmallByBlock:
    """A group for each block, of its norms and of what was added to it; then the head."""

    factor: float = 4.0

    def __call__(self, classifier, added):
        names = [name for name, _ in classifier.named_parameters()]
        chosen = {}
        for number in range(len(classifier.body.blocks)):
            block = [name for name in names if name.startswith(f"body.blocks.{number}.")]
            small = tuple(name for name in block if name in added or "norm" in name)
            chosen[f"block {number}"] = Group(small, self.factor)
        return chosen | {"head": Group(head_names(classifier), HEAD_FACTOR)}


@task.reference
def own_scheme():
    """LoRA in attention's four layers and the norms of the blocks, thawed from the top."""
    return Scheme(
        "thawing LoRA and norms",
        edit=LoRA(layers="attention"),
        groups=SmallByBlock(factor=4.0),
        schedule=GradualUnfreezing(),
    )


@task.right
def by_parts():
    """Adapters whose biases alone move, with the norms, and a pull to the start."""

    def choose(classifier, added):
        names = [name for name, _ in classifier.named_parameters()]
        biases = tuple(name for name in added if name.endswith("bias"))
        ups = tuple(name for name in added if name.endswith("up.weight"))
        norms = tuple(name for name in names if "norm" in name)
        return {
            "biases": Group(biases, 10.0),
            "ups": Group(ups, 4.0),
            "norms": Group(norms),
            "head": Group(("head.weight", "head.bias"), 3.0),
        }

    return Scheme("ups", edit=Adapters(8), groups=choose, schedule=OneCycle(), extra_loss=L2SP(0.1))


@task.right
def by_a_class():
    class Scaled(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base, self.scale = base, nn.Parameter(torch.ones(base.out_features))

        def forward(self, x):
            return self.scale * self.base(x)

    def edit(classifier):
        for block in classifier.body.blocks:
            block.up = Scaled(block.up)
            block.attention.value = Scaled(block.attention.value)

    def hold(steps, names):
        factor = warmup_stable_decay(steps, 1, 0.5)
        return lambda step: dict.fromkeys(names, factor(step))

    return Scheme("IA3", edit=edit, groups=AddedOnly(10.0), schedule=hold)


@task.right
def one_layer_a_time():
    return Scheme("thaw", groups=ByLayer(2.6), schedule=SequentialUnfreezing(Triangular()))


for name, check in (
    ("a scheme with a new name", _scheme_knobs.is_new),
    ("what is added", _scheme_knobs.adds),
    ("which parameters move", _scheme_knobs.moves),
    ("how fast at each step", _scheme_training.paces),
    ("what is added to the loss", _scheme_loss.adds_to_loss),
    ("a short training", _scheme_training.trains),
):
    task.stage(name)(check)


@task.mistake("a scheme with a new name", "is a `return` missing?")
def forgets_to_return():
    Scheme("mine", edit=LoRA(), groups=AddedOnly())


@task.mistake("a scheme with a new name", "expected a Scheme")
def a_dictionary():
    return {"name": "mine", "edit": LoRA()}


@task.mistake("a scheme with a new name", "'LoRA' is a scheme of the course")
def an_old_name():
    return Scheme("LoRA", edit=LoRA())


@task.mistake(
    "a scheme with a new name", "all four knobs are those of 'frozen body': turn one of them."
)
def only_the_name_is_new():
    return Scheme("mine", groups=HeadOnly())


@task.mistake("a scheme with a new name", "whose *values* are such knobs: call it, `LoRA(...)`.")
def the_class_for_a_value():
    return Scheme("mine", edit=LoRA)


@task.mistake("what is added", "is a pair of brackets missing")
def edits_nothing():
    return Scheme("mine", edit=lambda classifier: Adapters())


@task.mistake("which parameters move", "none of them is in a group: they stay as they began.")
def what_is_added_stays():
    return Scheme("mine", edit=LoRA(), groups=HeadOnly())


@task.mistake("which parameters move", "A tuple of one has a comma: `('head.weight',)`.")
def a_text_for_names():
    return Scheme("mine", groups=lambda classifier, added: {"head": Group("head.weight")})


@task.mistake("how fast at each step", "expected a function of the step.")
def one_rate_for_a_schedule():
    return Scheme("mine", schedule=lambda steps, names: 1.0)


@task.mistake("how fast at each step", "finite number, 0 or more (below 0, a step would climb).")
def falls_below_zero():
    return Scheme("mine", schedule=lambda steps, names: lambda step: 1 - 2 * step / steps)


@task.mistake("what is added to the loss", "expected one number, the mean over the texts.")
def one_loss_a_text():
    def each(model, batch):
        return F.cross_entropy(model(*batch[:2]), batch[2], reduction="none")

    return Scheme("mine", extra_loss=lambda classifier: each)


@task.mistake("a short training", "both at zero give each other no gradient.")
def two_factors_at_zero():
    def edit(classifier):
        LoRA()(classifier)
        for name, parameter in classifier.named_parameters():
            if name.endswith(".a"):
                parameter.data.zero_()

    return Scheme("mine", edit=edit, groups=AddedOnly())


@task.mistake("a short training", "is the extra loss too strong or of the wrong sign")
def unlearns():
    def against(model, batch):
        return -3 * F.cross_entropy(model(*batch[:2]), batch[2])

    return Scheme("mine", extra_loss=lambda classifier: against)
