"""Lesson 05b: a scheme of one's own.

No single scheme is right, so each stage tries the knobs on a tiny classifier with random weights
and as many blocks as the released models have. What is odd but not wrong becomes a remark.
"""

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
from tlcourse.exercises.expect import expect_type, real_number, short
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
        "The groups are chosen by a function like `choose(classifier, added)`, where `added` are "
        "the names of the parameters that the edit added, and `classifier.named_parameters()` has "
        'all others. It returns a dictionary like `{"norms": Group(("body.norm.weight",), 2.0), '
        '"head": ...}`, from the input to the output. A scheme can be saved if you write this '
        "function as a frozen dataclass with `__call__` and its settings as fields.",
        'An example to vary: `LoRA(layers="attention")`, one group for each block with its added '
        "parameters and its norms, the head as the last group, and `GradualUnfreezing()`.",
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
    """A group for each block, with its norms and what was added to it; then the head."""

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
    """Unfreezes LoRA in the four layers of attention, and the norms of the blocks, from the top."""
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
ARGUMENTS = {"edit": 1, "groups": 2, "schedule": 2, "extra_loss": 1}  # of each knob


def classifier(seed: int = 0) -> Classifier:
    """A new classifier, whose weights depend on the seed alone."""
    torch.manual_seed(seed)
    body = Transformer(Config(TOKENIZER.vocabulary_size, 16, 6, 4, 32, 48), "explicit")
    for parameter in body.parameters():  # because new blocks start as the identity
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    return Classifier(body, TOKENIZER, LABELS, pooling="mean")


@torch.no_grad()
def logits(model: Classifier) -> Tensor:
    """The logits of TEXTS, (texts, labels), without dropout."""
    return model.eval()(*pad(model.encode(TEXTS), PAD))


def remark(text: str) -> str:
    """What the learner is told about an oddity once all stages have passed."""
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
            why = "Is a `return` missing, or a pair of brackets (`Triangular` for `Triangular()`)?"
        raise failed(what, f"raised {type(error).__name__}: {error}", "no error", why) from error


@task.stage("a scheme with a new name")
def is_new(candidate) -> str | None:
    """Returns a remark on a scheme that can be used but not saved."""
    scheme = candidate()
    build = 'Build it with `Scheme("a name", ...)`.'
    expect_type(scheme, Scheme, "what your function returns", build)
    if not scheme.name.strip() or scheme.name in SCHEMES:
        raise failed("the name of the scheme", repr(scheme.name), "a name of its own")
    for knob, count in ARGUMENTS.items():
        if (function := getattr(scheme, knob)) is None:
            continue
        signature = inspect.signature(function)
        try:
            signature.bind(*range(count))
        except TypeError:
            takes = f"a function that takes {signature}"
            raise failed(f"the knob `{knob}`", takes, f"one that takes {count}") from None
    if same := [name for name, of_the_course in SCHEMES.items() if scheme == of_the_course]:
        due = "at least one that differs from each scheme of the course"
        raise failed("the four knobs", f"all as in {same[0]!r}", due)
    try:
        scheme.to_plain()
    except ValueError as error:
        return remark(f"the scheme cannot be saved: {error}.")
    return None


def edited(scheme: Scheme, model: Classifier) -> list[str]:
    """Applies the first knob and returns the names of the parameters that it added."""
    known = set(map(id, model.parameters()))
    got = turn("the knob `edit`", scheme.edit, model)
    if callable(got) and all(got is not module for module in model.modules()):
        why = "Is a pair of brackets missing, as in `LoRA()` for `LoRA()(classifier)`?"
        yours = f"it returns {short(got)}, which is never used"
        raise failed("what the knob `edit` does", yours, "a change in the model that it gets", why)
    return [name for name, parameter in model.named_parameters() if id(parameter) not in known]


@task.stage("what is added")
def adds(candidate) -> str | None:
    """Returns a remark on an edit that may not be what was meant."""
    scheme, one, other = candidate(), classifier(), classifier(1)
    plain = logits(one)
    added = edited(scheme, one)
    edited(scheme, other)
    if set(map(id, one.parameters())) & set(map(id, other.parameters())):
        yours = "they share parameters, so that training one changes the other"
        why = "Create what is added inside the edit, anew for each classifier."
        raise failed("two classifiers, both edited", yours, "parameters of their own", why)
    difference = float((turn("the knob `edit`", logits, one) - plain).abs().max())
    if not math.isfinite(difference):
        what = "the logits after the edit, before the first step of training"
        raise failed(what, "infinite or NaN", "finite numbers")
    if set(head_names(one)) <= set(added):
        return remark("the edit replaced the head. The old one was random, too.")
    if difference > 1e-6:
        return remark(
            "the edited model does not start as the base model: the edit alone changes a logit by "
            f"up to {difference:.2g}. If this is not your intention, let the last factor of what "
            "you add start at zero, and overwrite no pretrained weight."
        )
    if not added and not isinstance(scheme.edit, Unchanged):
        return remark(
            "the edit added no parameter. A new parameter has to be an `nn.Parameter`, as an "
            "attribute of a module."
        )
    return None


def choice(scheme: Scheme) -> tuple[Classifier, list[str], dict[str, Group]]:
    """An edited classifier, the names of its added parameters, and what the second knob returns."""
    model = classifier()
    added = edited(scheme, model)
    return model, added, turn("the knob `groups`", scheme.groups, model, added)


@task.stage("which parameters are trained")
def moves(candidate) -> str | None:
    """Returns a remark on a head that is not trained."""
    model, added, chosen = choice(candidate())
    if not isinstance(chosen, dict) or not chosen:
        due = "a dictionary with at least one `Group`, by the name of the group"
        raise failed("what the knob `groups` returns", came(chosen), due)
    owner = owners(chosen, {name for name, _ in model.named_parameters()})
    if added and not set(added) & set(owner):
        what = f"the {len(added)} parameters that the edit added"
        why = "Their names are the second argument of the knob `groups`."
        raise failed(what, "none of them is in a group", "at least one that is trained", why)
    if not set(head_names(model)) & set(owner):
        return remark("the head is in no group, so it keeps its random initial weights.")
    return None


def owners(chosen: dict[str, Group], there: set[str]) -> dict[str, str]:
    """The group of each parameter that is in one; `there` are the names of all parameters."""
    owner: dict[str, str] = {}
    for label, group in chosen.items():
        if not isinstance(group, Group):
            raise failed(f"group {label!r}", short(group), "`Group(names, factor)`")
        if not group.factor:
            why = "Leave parameters that are not to be trained out of all groups."
            raise failed(f"the factor of group {label!r}", "0", "a number above 0", why)
        what, due = f"the names of group {label!r}", "a tuple of names of the model's parameters"
        if isinstance(group.names, str) or not group.names:
            why = "Did your condition match no name? A tuple of one has a comma: `('head.bias',)`."
            raise failed(what, short(group.names), due, why)
        for name in group.names:
            if name not in there:
                layer, _, last = str(name).rpartition(".")
                is_wrapped = (wrapped := f"{layer}.base.{last}") in there
                why = f"Is it {wrapped!r}? An edit renames what it wraps." if is_wrapped else ""
                raise failed(what, f"{short(name)}, which is no name of a parameter", due, why)
            if name in owner:
                holders = f"{owner[name]!r} and {label!r}"
                due = "one, because a parameter has one learning rate"
                raise failed(f"the groups that hold {name!r}", holders, due)
            owner[name] = label
    return owner


def enough_steps(groups: Mapping) -> int:
    """Enough steps for a schedule that unfreezes one group at a time."""
    return max(12, 2 * len(groups))


@task.stage("the learning rate at each step")
def paces(candidate) -> str | None:
    """Returns a remark on a head that is not trained from the first step on."""
    scheme = candidate()
    model, _, chosen = choice(scheme)
    for steps in (4, enough_steps(chosen)):
        factors = turn("the knob `schedule`", scheme.schedule, steps, list(chosen))
        at_step = [factors_at(factors, step, steps, list(chosen)) for step in range(steps)]
    if still := [name for name in chosen if not any(now[name] for now in at_step)]:
        what = f"the factors of the group {still[0]!r} in {steps} steps"
        raise failed(what, "0 at every step", "a factor above 0 at some step")
    of_head = set(head_names(model))
    head = [name for name, group in chosen.items() if of_head & set(group.names)]
    first = next(now for now in at_step if any(now.values()))
    if head and not first[head[0]]:
        return remark(
            "the head stands still at first, while other groups adapt to its random weights. "
            "Groups go from the input to the output, and gradual unfreezing begins with the last."
        )
    return None


def factors_at(factors: Callable, step: int, steps: int, names: list[str]) -> dict[str, float]:
    """The factor of each group at a step; raises CheckFailed for one that no optimizer can use."""
    what = f"the schedule at step {step} of {steps}"
    now = turn(what, factors, step)
    one_for_all = not isinstance(now, Mapping)
    of_group = dict.fromkeys(names, now) if one_for_all else now
    for name in names:
        if name not in of_group:
            why = "A group that is not trained at a step has the factor 0."
            raise failed(what, f"no factor for the group {name!r}", "one for each group", why)
        factor = of_group[name]
        if not isinstance(factor, Real) or not 0 <= factor < math.inf:
            raise failed(what, came(factor), "a finite number, 0 or more, and no tensor")
    if not one_for_all and not any(of_group[name] for name in names):
        raise failed(what, "0 for every group", "a factor above 0 for at least one group")
    return of_group


@task.stage("what is added to the loss")
def adds_to_loss(candidate) -> str | None:
    """Returns a remark on a term from which nothing is learnt."""
    scheme = candidate()
    if scheme.extra_loss is None:
        return None
    model, _, chosen = choice(scheme)
    declared = {name for group in chosen.values() for name in group.names}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in declared)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    term = turn("the knob `extra_loss`", scheme.extra_loss, model)
    for parameter in trained:  # a distance from the initial weights has no gradient there
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    value = turn("the extra loss", term, model, (*pad(model.encode(TEXTS), PAD), CLASSES))
    if real_number(value) is None:
        raise failed("the extra loss", came(value), "one number, the mean over the texts")
    gradients = [None]
    if getattr(value, "requires_grad", False):
        gradients = torch.autograd.grad(value, trained, allow_unused=True)
    if all(gradient is None or gradient.abs().max() <= 1e-7 for gradient in gradients):
        return remark(
            "the extra loss has no gradient, even when the weights have changed, so nothing is "
            "learnt from it. Leave out `.item()` and `.detach()` in the term, and remember copies "
            "of the initial weights, `p.detach().clone()`."
        )
    return None


def loss_of(model: Classifier) -> float:
    """The mean loss of the true labels in nats, without dropout and without any extra loss."""
    return float(nn.functional.cross_entropy(logits(model).double(), CLASSES))


@task.stage("a short training")
def trains(candidate) -> None:
    """Trains the classifier, and compares which parameters and which loss have changed."""
    scheme, model = candidate(), classifier()
    chosen, before = choice(scheme)[2], loss_of(model)
    recipe = Recipe(epochs=6, learning_rate=3e-3, batch_size=8, min_steps=enough_steps(chosen))
    try:
        adapted = adapt(model, TEXTS, TARGETS, scheme=scheme, recipe=recipe, compute=CPU)
    except FloatingPointError as error:
        why = "Is a factor too large, or does the extra loss divide by 0?"
        stopped = str(error).split(";")[0]
        raise failed("a short training", stopped, "a finite loss", why) from error
    declared, moved = set(adapted.report.declared), set(adapted.report.moved)
    if still := sorted(declared - moved):
        raise failed(
            "the parameters in the groups, after a short training",
            f"{len(still)} of {len(declared)} have not changed, {still[0]!r} first",
            "a change in all of them",
            "Do the logits depend on it, and is its factor at least 1e-3? If two factors of a "
            "product both start at zero, neither gets a gradient.",
        )
    if stray := sorted(moved - declared):
        raise failed(f"{stray[0]!r}, which is in no group, after it", "changed", "unchanged")
    if not (after := loss_of(adapted)) < before:
        raise failed(
            f"the loss on the training texts after {len(adapted.report.history)} steps",
            f"{after:.3f} nats",
            f"less than {before:.3f}, the loss before the training",
            "Does a group learn too fast, is the extra loss too strong or of the wrong sign, or "
            "is the head in no group?",
        )
