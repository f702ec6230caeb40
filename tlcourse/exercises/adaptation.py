"""The exercises of lesson 05: a low-rank update, rates that keep their ratios, a scheme."""

import inspect
from dataclasses import dataclass

from torch.nn import functional as F

from tlcourse.adaptation import (
    HEAD_FACTOR,
    GradualUnfreezing,
    Group,
    LoRA,
    Scheme,
    head_names,
)
from tlcourse.exercises import adaptation_checks as checks
from tlcourse.exercises import scheme_checks, scheme_loss_checks, scheme_training_checks
from tlcourse.exercises.machinery import Exercise, Stage


def low_rank(x, weight, bias, a, b, alpha):
    """(..., in) to (..., out): W x + b + (alpha / rank) B A x; `a` (rank, in), `b` (out, rank)."""
    update = F.linear(F.linear(x, a), b)
    return F.linear(x, weight, bias) + alpha / len(a) * update


def set_rates(groups, decay, factor):
    """Sets the `lr` of each group for one step; the groups go from the input to the output."""
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["initial_lr"] / decay**depth * factor


def rates_as_given(groups, decay, factor):
    """What the lesson hands out: two bugs, in what a step starts from and in the schedule."""
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["lr"] / decay**depth
    for group in groups:
        group["lr"] = groups[-1]["initial_lr"] * factor


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


def own_scheme():
    """LoRA in attention's four layers and the norms of the blocks, thawed from the top."""
    return Scheme(
        "thawing LoRA and norms",
        edit=LoRA(layers="attention"),
        groups=SmallByBlock(factor=4.0),
        schedule=GradualUnfreezing(),
    )


EXERCISES = (
    Exercise(
        id="adaptation.low_rank",
        title="LoRA, forwards",
        difficulty=2,
        minutes=10,
        hints=(
            "the old layer is `F.linear(x, weight, bias)`, untouched. What is added to it?",
            "`F.linear(x, a)` takes (..., in) to (..., rank); a second one, without a bias, takes "
            "that to (..., out).",
            "the sum of both, the second times alpha / rank; the rank is `len(a)`.",
        ),
        reference=low_rank,
        stages=(
            Stage("shape", checks.lora_shape),
            Stage("it starts as the old layer", checks.lora_start),
            Stage("alpha and rank", checks.lora_scale),
            Stage("random layers", checks.lora_whole),
            Stage("gradients", checks.lora_gradients),
        ),
    ),
    Exercise(
        id="adaptation.set_rates",
        title="Find the bugs: rates that lose their ratios",
        difficulty=2,
        minutes=10,
        hints=(
            "two loops. Which of the numbers that the first one writes are still there after the "
            "second?",
            "let the second loop multiply what the first one wrote, then call the function twice "
            "with the same factor. Where does the second step start from? `initial_lr` is there "
            "for a reason.",
            "one loop, one line: each rate is the group's own `initial_lr`, over `decay**depth`, "
            "times `factor`.",
        ),
        reference=set_rates,
        stages=(
            Stage("one step", checks.rates_once),
            Stage("three steps", checks.rates_again),
            Stage("a schedule", checks.rates_schedule),
            Stage("groups with rates of their own", checks.rates_own),
            Stage("20 runs", checks.rates_whole),
        ),
        given=rates_as_given,
    ),
    Exercise(
        id="adaptation.own_scheme",
        title="A scheme of your own",
        difficulty=4,
        minutes=40,
        hints=(
            "begin with a scheme of the course and turn one knob: "
            '`Scheme("LoRA, thawed", edit=LoRA(), groups=AddedOnly(4.0), schedule=your_schedule)`. '
            "What a knob is called with, and what it returns, is said in the table above the "
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
        reference=own_scheme,
        source="\n\n".join(map(inspect.getsource, (SmallByBlock, own_scheme))),
        stages=(
            Stage("a scheme with a new name", scheme_checks.is_new),
            Stage("what is added", scheme_checks.adds),
            Stage("which parameters move", scheme_checks.moves),
            Stage("how fast at each step", scheme_training_checks.paces),
            Stage("what is added to the loss", scheme_loss_checks.adds_to_loss),
            Stage("a short training", scheme_training_checks.trains),
        ),
    ),
)
