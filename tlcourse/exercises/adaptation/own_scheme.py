"""Lesson 05b: a scheme of one's own.

A scheme has no one right value, so each stage tries its knobs, on a tiny classifier with random
weights and as many blocks as the shipped models have, and says what is wrong with them. What is odd
but no error becomes a remark.
"""

import difflib
import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from tlcourse.adaptation import (
    HEAD_FACTOR,
    SCHEMES,
    Classifier,
    GradualUnfreezing,
    Group,
    LoRA,
    Recipe,
    Scheme,
    Unchanged,
    adapt,
    head_names,
)
from tlcourse.batching import pad
from tlcourse.bpe import PAD, Tokenizer
from tlcourse.device import Compute
from tlcourse.exercises.adaptation._common import came, failed
from tlcourse.exercises.expect import expect_type, short
from tlcourse.exercises.running import line_of_error
from tlcourse.exercises.task import Exercise
from tlcourse.transformer import Config, Transformer

task = Exercise(
    __name__,
    number="5b.4",
    title="A scheme of your own",
    difficulty=4,
    importance=3,
    minutes=40,
    hints=(
        "Begin with a scheme of the course and change one of its choices: "
        '`Scheme("LoRA, thawed", edit=LoRA(), groups=AddedOnly(4.0), schedule=your_schedule)`. '
        "The table of the exercise says what each choice is called with and what it returns.",
        "A choice of groups is called like `choose(classifier, added)`, where `added` are the "
        "names of the parameters that the edit added; all others are in "
        "`classifier.named_parameters()`. It returns a dictionary like "
        '`{"norms": Group(("body.norm.weight",), 2.0), "head": ...}`, from the input to the '
        "output. Begin with a function. If you write it as a frozen dataclass with `__call__` and "
        "its settings as fields, the scheme can be saved, too.",
        "An example to vary: LoRA in all layers of attention (`LoRA(layers="
        '"attention")`), one group for each block with its added parameters and its norms, the '
        "head as the last group, and `GradualUnfreezing()`.",
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


LABELS = ("HUM", "LOC", "NUM")
TARGETS = ("HUM", "LOC", "NUM", "HUM") * 4  # of TEXTS
TEXTS = ("Who ran ?", "Where is the very old town ?", "When ?", "Who sang that song ?") * 4
TOKENIZER = Tokenizer.train(TEXTS, 280)
CLASSES = torch.tensor([LABELS.index(label) for label in TARGETS])
CPU = Compute(torch.device("cpu"), torch.float32, "explicit", False)
KNOBS = {  # with how many arguments each is called, and how
    "edit": (1, "called with the classifier"),
    "groups": (2, "called with the classifier and the names that the edit added"),
    "schedule": (
        2,
        "called with the number of steps and the names of the groups, and that returns a function "
        "of the step",
    ),
    "extra_loss": (
        1,
        "called with the classifier, and that returns a function of the classifier and a batch",
    ),
}


def classifier(seed: int = 0) -> Classifier:
    """A fresh one; its weights depend on the seed alone."""
    torch.manual_seed(seed)
    body = Transformer(Config(TOKENIZER.vocabulary_size, 16, 6, 4, 32, 48), "explicit")
    for parameter in body.parameters():  # new blocks start as the identity: make them speak
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    return Classifier(body, TOKENIZER, LABELS, pooling="mean")


@torch.no_grad()
def logits(model: Classifier) -> Tensor:
    """(texts, labels), without dropout."""
    return model.eval()(*pad(model.encode(TEXTS), PAD))


def remark(text: str) -> str:
    """What is told of an oddity once all stages have passed."""
    return f"(A remark: {text})"


def turn(what: str, function: Callable, *arguments: Any) -> Any:
    """What a knob, named by `what`, returns; an error outside a learner's lines is CheckFailed."""
    try:
        return function(*arguments)
    except Exception as error:
        error.add_note(f"This was {what}.")
        if line_of_error(error.__traceback__):
            raise
        why = "A scheme works on any classifier: does this knob fit only one?"
        if isinstance(error, TypeError):
            why = "Was a class given instead of a value of it, `Triangular` for `Triangular()`?"
        said = f"raised {type(error).__name__}: {error}"
        raise failed(what, said, "no error", why) from error


@task.stage("a scheme with a new name")
def is_new(candidate) -> str | None:
    """The remark is for a scheme that can be used but not saved."""
    scheme, what = candidate(), "the name of the scheme"
    build = 'Build it with `Scheme("a name", ...)`.'
    expect_type(scheme, Scheme, "what your function returns", build)
    if not scheme.name.strip():
        raise failed(what, short(scheme.name), "a text for the tables")
    for knob, (count, called) in KNOBS.items():
        expect_takes(getattr(scheme, knob), count, f"the knob `{knob}`", f"one that is {called}")
    if scheme.name in SCHEMES:
        raise failed(what, f"{scheme.name!r}, a scheme of the course", "a name of its own")
    for each in SCHEMES.values():
        if scheme == each:
            raise failed(
                "the four knobs",
                f"all as in {each.name!r}",
                "at least one that differs from each scheme of the course",
            )
    for knob in KNOBS:
        try:
            Scheme(**{knob: getattr(scheme, knob)}).to_plain()
        except ValueError as error:
            return remark(f"the scheme cannot be saved, because of its knob `{knob}`: {error}.")
    return None


def expect_takes(function: Any, count: int, what: str, due: str) -> None:
    """Raises CheckFailed if the function is known not to take so many arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # None, or a function that tells nothing
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        raise failed(what, f"a function that takes {signature}", due) from None


def edited(scheme: Scheme, model: Classifier) -> list[str]:
    """Applies the first knob and returns the names of what it added."""
    known = set(map(id, model.parameters()))
    what, due = "what the knob `edit` does", "a change of the model that it is given"
    got = turn("the knob `edit`", scheme.edit, model)
    if isinstance(got, nn.Module) and all(got is not each for each in model.modules()):
        raise failed(what, "it returns another model", due)
    if callable(got) and not isinstance(got, nn.Module):
        raise failed(
            what,
            "it returns a function and changes nothing",
            due,
            "Is a pair of brackets missing, as in `LoRA()` for `LoRA()(classifier)`?",
        )
    return [name for name, each in model.named_parameters() if id(each) not in known]


@task.stage("what is added")
def adds(candidate) -> str | None:
    """The remark is for an edit that may not be what was meant."""
    scheme, one, other = candidate(), classifier(), classifier(1)
    plain = logits(one)
    added = [edited(scheme, each) for each in (one, other)][1]
    if set(map(id, one.parameters())) & set(map(id, other.parameters())):
        raise failed(
            "two classifiers, both edited",
            "they share parameters, so that training one changes the other",
            "parameters of their own",
            "Create what is added inside the edit, anew for each classifier.",
        )
    difference = float((turn("the knob `edit`", logits, one) - plain).abs().max())
    if not math.isfinite(difference):
        what = "the logits after the edit, before the first step of training"
        raise failed(what, "infinite or NaN", "finite numbers")
    if not added and difference > 1e-6:
        return remark(
            "the edit added no parameter, and yet it changes a logit by up to "
            f"{difference:.2g} before the first step. Does it write over pretrained weights?"
        )
    if not added and not isinstance(scheme.edit, Unchanged):
        return remark(
            "the edit added no parameter. If something new is to be learnt, make it an "
            "`nn.Parameter`, as an attribute of a module."
        )
    if set(head_names(one)) <= set(added):
        return remark("the edit replaced the head. The old one was random, too.")
    if difference <= 1e-6:
        return None
    return remark(
        "the edited model does not start as the base model: the edit alone changes a logit by up "
        f"to {difference:.2g}. If that is not what you want, let the last factor of what you add "
        "begin at zero."
    )


def choice(scheme: Scheme) -> tuple[Classifier, list[str], dict[str, Group]]:
    """An edited classifier, the names of what was added, and what the second knob says of it."""
    model = classifier()
    added = edited(scheme, model)
    return model, added, turn("the knob `groups`", scheme.groups, model, added)


@task.stage("which parameters move")
def moves(candidate) -> str | None:
    model, added, chosen = choice(candidate())
    what = "what the knob `groups` returns"
    expect_type(chosen, dict, what, "It maps names of groups to `Group`.")
    if not chosen:
        raise failed(what, "no group", "at least one group, so that something is trained")
    there, owner = {name for name, _ in model.named_parameters()}, {}
    for label, group in chosen.items():
        expect_group(label, group)
        for name in group.names:
            expect_name(label, name, there)
            if name in owner:
                raise failed(
                    f"the groups that hold {name!r}",
                    " and ".join(map(repr, (owner[name], label))),
                    "one, because a parameter has one learning rate",
                )
            owner[name] = label
    if added and not set(added) & set(owner):
        raise failed(
            f"the {len(added)} parameters that the edit added",
            "none of them is in a group, so they stay as they began",
            "at least one that is trained",
            "Their names are the second argument of the knob `groups`.",
        )
    if not set(head_names(model)) & set(owner):
        return remark("the head is in no group, so it stays at its random start.")
    return None


def expect_group(label: str, group: Any) -> None:
    """Raises CheckFailed unless this is a group with names and with a factor that moves them."""
    if not isinstance(group, Group):
        raise failed(f"group {label!r}", short(group), "`Group(names, factor)`")
    what = f"the names of group {label!r}"
    if isinstance(group.names, str):
        raise failed(
            what,
            f"one text, {group.names!r}",
            "a tuple",
            f"A tuple of one has a comma: `({group.names!r},)`.",
        )
    if not group.names:
        raise failed(what, "none", "at least one", "Did your condition find no name?")
    if not 0 < group.factor < math.inf:
        raise failed(
            f"the factor of group {label!r}",
            short(group.factor),
            "a number above 0",
            "Leave parameters that are not to be trained out of all groups.",
        )


def expect_name(label: str, name: Any, there: set[str]) -> None:
    """Raises CheckFailed unless this is the name of a parameter; suggests one that is like it."""
    what = f"the names of group {label!r}"
    if isinstance(name, Tensor):
        raise failed(what, "parameters", "their *names*")
    if name not in there:
        owner, _, last = str(name).rpartition(".")
        inside = [each for each in there if each.startswith(f"{owner}.") and each.endswith(last)]
        near = sorted(inside) or difflib.get_close_matches(str(name), sorted(there), 1)
        raise failed(
            what,
            f"{name!r}, which is no parameter here",
            "names of parameters of the edited classifier",
            f"Is it {near[0]!r}? An edit renames what it wraps." if near else "",
        )


def enough_steps(groups: Mapping) -> int:
    """So many that a schedule which moves one group at a time gets through."""
    return max(12, 2 * len(groups))


@task.stage("how fast at each step")
def paces(candidate) -> str | None:
    """The remark is for a head that waits, or for a scheme that moves all as one of the course."""
    scheme = candidate()
    model, _, chosen = choice(scheme)
    long = enough_steps(chosen)
    for steps in (4, long):
        factors = turn("the knob `schedule`", scheme.schedule, steps, list(chosen))
        if not callable(factors):
            what = f"what the knob `schedule` returns for {steps} steps"
            raise failed(what, came(factors), "a function of the step")
        at_step = [factors_at(factors, step, steps, list(chosen)) for step in range(steps)]
    if still := [name for name in chosen if not any(now[name] for now in at_step)]:
        raise failed(
            f"the factors of the group {still[0]!r} in {long} steps",
            "0 at every step",
            "a factor above 0 at some step, because the group is declared to be trained",
        )
    first = next(now for now in at_step if any(now.values()))
    of_head = set(head_names(model))
    head = [name for name, group in chosen.items() if of_head & set(group.names)]
    if head and not first[head[0]]:
        return remark(
            "the head stands still at first, while other groups adapt to its random weights. "
            "Groups go from the input to the output, and gradual unfreezing begins with the last."
        )
    mine = rates(scheme) if scheme.extra_loss is None else None
    for name, of_the_course in rates_of_the_course().items():
        if of_the_course == mine:
            return remark(f"everything moves as in {name!r}. Is this that scheme by another name?")
    return None


@functools.cache
def rates_of_the_course() -> dict[str, dict]:
    return {name: rates(each) for name, each in SCHEMES.items() if each.extra_loss is None}


def rates(scheme: Scheme, steps: int = 50) -> dict[str, tuple]:
    """Shape and factors, step by step, of each parameter that moves."""
    model, _, chosen = choice(scheme)
    factors, shapes = scheme.schedule(steps, list(chosen)), dict(model.named_parameters())
    at_step = [factors_at(factors, step, steps, list(chosen)) for step in range(steps)]
    return {
        name: (shapes[name].shape, *(round(group.factor * now[label], 6) for now in at_step))
        for label, group in chosen.items()
        for name in group.names
    }


def factors_at(factors: Callable, step: int, steps: int, names: list[str]) -> dict[str, float]:
    """The factor of each group at a step; raises CheckFailed for one that no optimizer can use."""
    what = f"the schedule at step {step} of {steps}"
    now = turn(what, factors, step)
    if isinstance(now, Mapping) and (missing := [name for name in names if name not in now]):
        raise failed(
            what,
            f"no factor for the group {missing[0]!r}",
            f"one for each of {short(names)}",
            "A group that stands still has the factor 0.",
        )
    each = {name: now[name] if isinstance(now, Mapping) else now for name in names}
    for value in each.values():
        if isinstance(value, Tensor):
            raise failed(what, f"a tensor, {short(value)}", "a number, `float(...)`")
        if not isinstance(value, Real) or not 0 <= value < math.inf:
            why = "Below 0, a step would increase the loss." if isinstance(value, Real) else ""
            raise failed(what, came(value), "a finite number, 0 or more", why)
    if isinstance(now, Mapping) and not any(each.values()):
        due = "a factor above 0 for at least one group, so that something is trained"
        raise failed(what, "0 for every group", due)
    return each


@task.stage("what is added to the loss")
def adds_to_loss(candidate) -> str | None:
    """The remark is for a term that teaches nothing."""
    scheme = candidate()
    if scheme.extra_loss is None:
        return None
    model, _, chosen = choice(scheme)
    moving = {name for group in chosen.values() for name in group.names}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in moving)
    term = turn("the knob `extra_loss`", scheme.extra_loss, model)
    what, due = "what the knob `extra_loss` returns", "a function of the classifier and a batch"
    if not callable(term) or isinstance(term, nn.Module):
        raise failed(what, came(term), due)
    expect_takes(term, 2, what, due)
    push(model)  # what pulls to the start is 0 there
    value = turn("the extra loss", term, model, (*pad(model.encode(TEXTS), PAD), CLASSES))
    if isinstance(value, Tensor) and value.numel() != 1:
        shape = f"a tensor of shape {tuple(value.shape)}"
        raise failed("the extra loss", shape, "one number, the mean over the texts")
    if not isinstance(value, Real):
        expect_type(value, Tensor, "the extra loss", "It holds one number.")
    if not getattr(value, "requires_grad", False):
        return remark(
            "the extra loss carries no gradient, so nothing is learnt from it. Leave out `.item()` "
            "and `.detach()`. Does it depend on a parameter that is trained?"
        )
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients = torch.autograd.grad(value, trained, allow_unused=True)
    if not all(each is None or each.abs().max() <= 1e-7 for each in gradients):
        return None
    return remark(
        "the extra loss has no gradient, even when the weights have moved, so nothing is learnt "
        "from it. Is its start the live parameter? Keep a copy, `p.detach().clone()`."
    )


@torch.no_grad()
def push(model: Classifier) -> None:
    """Moves what moves, as steps of training would."""
    draw = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=draw))


def loss_of(model: Classifier) -> float:
    """Mean nats a text of the true labels, without dropout and without anything added."""
    return float(nn.functional.cross_entropy(logits(model).double(), CLASSES))


def why_still(name: str, chosen: dict[str, Group]) -> str:
    """The likely reason that a parameter which was to be trained did not change."""
    factor = next(group.factor for group in chosen.values() if name in group.names)
    if factor < 1e-3:
        return f"Its group has the factor {factor:g}: steps as small as that vanish in rounding."
    return (
        "Do the logits depend on it? Of two factors one after the other, only one may begin at "
        "zero: if both are zero, neither gets a gradient."
    )


@task.stage("a short training")
def trains(candidate) -> None:
    scheme, model = candidate(), classifier()
    chosen, before = choice(scheme)[2], loss_of(model)
    recipe = Recipe(epochs=6, learning_rate=3e-3, batch_size=8, min_steps=enough_steps(chosen))
    try:
        adapted = adapt(model, TEXTS, TARGETS, scheme=scheme, recipe=recipe, compute=CPU)
    except FloatingPointError as error:
        why = "A group's learning rate is its factor times the recipe's: are yours too large? Or "
        why += "does the extra loss divide by 0?"
        said = str(error).split(";")[0]
        raise failed("a short training", said, "a finite loss", why) from error
    declared, moved = set(adapted.report.declared), set(adapted.report.moved)
    if still := sorted(declared - moved):
        raise failed(
            "the parameters in the groups, after the training",
            f"{len(still)} of {len(declared)} have not changed, {still[0]!r} first",
            "a change in all of them",
            why_still(still[0], chosen),
        )
    if stray := sorted(moved - declared):
        raise failed(
            "the parameters in no group, after the training",
            f"{stray[0]!r} has changed",
            "no change",
            "What changes it, other than the optimizer?",
        )
    if not (after := loss_of(adapted)) < before:
        raise failed(
            f"the loss on the training texts after {len(adapted.report.history)} steps",
            f"{after:.3f} nats",
            f"less than {before:.3f}, the loss before the training",
            "Is a group too fast, is the extra loss too strong or of the wrong sign, or is the "
            "head in no group?",
        )
