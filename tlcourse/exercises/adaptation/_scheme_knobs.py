"""The checks of own_scheme that run no training: the name, what is added, which weights move.

All on a tiny classifier with random weights, of as many blocks as the shipped models have.
"""

import difflib
import inspect
import math
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tlcourse.adaptation import SCHEMES, Classifier, Group, Scheme, Unchanged, head_names
from tlcourse.batching import pad
from tlcourse.bpe import PAD, Tokenizer
from tlcourse.exercises.expect import CheckFailed, expect_type, short
from tlcourse.exercises.running import line_of_error
from tlcourse.transformer import Config, Transformer

LABELS = ("HUM", "LOC", "NUM")
TARGETS = ("HUM", "LOC", "NUM", "HUM") * 4  # of TEXTS
TEXTS = ("Who ran ?", "Where is the very old town ?", "When ?", "Who sang that song ?") * 4
TOKENIZER = Tokenizer.train(TEXTS, 280)
KNOBS = {  # what each is called with
    "edit": ("the classifier",),
    "groups": ("the classifier", "the names that the edit added"),
    "schedule": ("the number of steps", "the names of the groups"),
    "extra_loss": ("the classifier",),
}
RETURNS = {
    "schedule": ", and returns a function of the step",
    "extra_loss": ", and returns a function of the classifier and a batch",
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


def turn(what: str, function: Callable, *arguments: Any) -> Any:
    """Calls a knob, named by `what`; an error without a line of the learner's becomes `CheckFailed`."""
    try:
        return function(*arguments)
    except Exception as error:
        error.add_note(f"This was {what}.")
        if line_of_error(error.__traceback__):
            raise
        likely = "A scheme works on any classifier: does this knob fit only one?"
        if isinstance(error, TypeError):
            likely = (
                "Is a class handed over in place of a value of it, `Triangular` for `Triangular()`?"
            )
        raise CheckFailed(f"{what} raised {type(error).__name__}: {error}. {likely}") from error


def is_new(candidate) -> str | None:
    scheme = candidate()
    expect_type(scheme, Scheme, "your function", 'Build it with `Scheme("a name", ...)`.')
    if not isinstance(scheme.name, str) or not scheme.name.strip():
        raise CheckFailed(f"the name is {short(scheme.name)}; expected a text that tables can show.")
    for knob in KNOBS:
        value = getattr(scheme, knob)
        if _is_class(knob, value):
            raise CheckFailed(
                f"the knob `{knob}` is the class `{value.__name__}`, whose *values* are such "
                f"knobs: call it, `{value.__name__}(...)`."
            )
        if (knob, value) != ("extra_loss", None):
            _expect_knob(knob, value)
    if scheme.name in SCHEMES:
        raise CheckFailed(f"{scheme.name!r} is a scheme of the course; give yours a name of its own.")
    for each in SCHEMES.values():
        if scheme == each:
            raise CheckFailed(f"all four knobs are those of {each.name!r}: turn one of them.")
    return _not_a_value(scheme)


def _not_a_value(scheme: Scheme) -> str | None:
    """A remark if the scheme can be used but not saved."""
    for knob in KNOBS:
        try:
            Scheme(**{knob: getattr(scheme, knob)}).to_plain()
        except ValueError as error:
            return (
                "(A remark: a scheme can be saved only as a value, and its knob "
                f"`{knob}` is none: {error}.)"
            )
    return None


def _is_class(knob: str, value: Any) -> bool:
    """Whether this is a class whose values could be such a knob."""
    if not (isinstance(value, type) and is_dataclass(value) and "__call__" in dir(value)):
        return False
    try:
        inspect.signature(value.__call__).bind(value, *KNOBS[knob])
    except TypeError:
        return False
    return True


def _expect_knob(knob: str, value: Any) -> None:
    """Raises CheckFailed unless this is a function that takes what the knob is called with."""
    if not callable(value):
        raise CheckFailed(f"the knob `{knob}` is {short(value)}; expected a function.")
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*KNOBS[knob])
    except TypeError:
        raise CheckFailed(
            f"the knob `{knob}` takes {signature}; it is called with {' and '.join(KNOBS[knob])}"
            f"{RETURNS.get(knob, '')}."
        ) from None


def edited(scheme: Scheme, model: Classifier) -> list[str]:
    """Applies the first knob and returns the names of what it added."""
    known = set(map(id, model.parameters()))
    got = turn("the knob `edit`", scheme.edit, model)
    if isinstance(got, nn.Module) and all(got is not each for each in model.modules()):
        raise CheckFailed("the edit returned another model; it has to change the one it is given.")
    if callable(got) and not isinstance(got, nn.Module):
        raise CheckFailed(
            "the edit returned a function and changed nothing: is a pair of brackets missing, as "
            "in `LoRA()` for `LoRA()(classifier)`?"
        )
    return [name for name, each in model.named_parameters() if id(each) not in known]


def adds(candidate) -> str | None:
    scheme = candidate()
    one, other = classifier(), classifier(1)
    plain = logits(one)
    for each in (one, other):
        added = edited(scheme, each)
    if set(map(id, one.parameters())) & set(map(id, other.parameters())):
        raise CheckFailed(
            "two classifiers were edited and now share parameters: training one would move the "
            "other. Make what is added inside the edit, anew for each classifier."
        )
    difference = float((turn("the knob `edit`", logits, one) - plain).abs().max())
    if not math.isfinite(difference):
        raise CheckFailed("after the edit the logits are not finite, before the first step of training.")
    new_head = set(head_names(one)) <= set(added)
    return _remark(difference, added, isinstance(scheme.edit, Unchanged), new_head)


def _remark(difference: float, added: list[str], unedited: bool, new_head: bool) -> str | None:
    """What is said of an edit that is no error and may be none that was meant."""
    if not added and difference > 1e-6:
        return (
            "(A remark: the edit added no parameter and yet moves a logit by up to "
            f"{difference:.2g} before the first step. Does it write over pretrained weights?)"
        )
    if not added and not unedited:
        return (
            "(A remark: the edit added no parameter. If something new is to be learnt, make it an "
            "`nn.Parameter`, as an attribute of a module.)"
        )
    if new_head:
        return "(A remark: the edit replaced the head. The old one began at random, too.)"
    if difference <= 1e-6:
        return None
    return (
        f"(A remark: it does not start as the base model, the edit alone moves a logit by up to "
        f"{difference:.2g}. If that is not what you want, let the last factor of what you add "
        "begin at zero.)"
    )


def choice(scheme: Scheme) -> tuple[Classifier, list[str], dict[str, Group]]:
    """An edited classifier, the names of what was added, and what the second knob says of it."""
    model = classifier()
    added = edited(scheme, model)
    return model, added, turn("the knob `groups`", scheme.groups, model, added)


def moves(candidate) -> str | None:
    model, added, chosen = choice(candidate())
    expect_type(chosen, dict, "the knob `groups`", "It maps names of groups to `Group`.")
    if not chosen:
        raise CheckFailed("the knob `groups` gave no group: nothing would move.")
    there, owner = {name for name, _ in model.named_parameters()}, {}
    for label, group in chosen.items():
        _expect_group(label, group)
        for name in group.names:
            _expect_name(label, name, there)
            if name in owner:
                both = " and ".join(map(repr, dict.fromkeys((owner[name], label))))
                raise CheckFailed(f"{name!r} stands twice, in {both}. At which rate should it move?")
            owner[name] = label
    if added and not set(added) & set(owner):
        raise CheckFailed(
            f"the edit added {len(added)} parameters, and none of them is in a group: they stay "
            "as they began. Their names are the second argument of the knob `groups`."
        )
    if not set(head_names(model)) & set(owner):
        return "(A remark: the head is in no group, it stays at its random start.)"
    return None


def _expect_group(label: str, group: Any) -> None:
    """Raises CheckFailed unless this is a group with names and with a factor that moves them."""
    if not isinstance(group, Group):
        raise CheckFailed(f"group {label!r} is {short(group)}; expected `Group(names, factor)`.")
    if isinstance(group.names, str):
        raise CheckFailed(
            f"the names of group {label!r} are one text, {group.names!r}; expected a tuple. A "
            f"tuple of one has a comma: `({group.names!r},)`."
        )
    if not group.names:
        raise CheckFailed(f"group {label!r} is empty: did your condition find no name?")
    if not 0 < group.factor < math.inf:
        raise CheckFailed(
            f"group {label!r} has the factor {short(group.factor)}; expected a number above 0. "
            "What is not to move is left out of all groups."
        )


def _expect_name(label: str, name: Any, there: set[str]) -> None:
    if isinstance(name, Tensor):
        raise CheckFailed(f"group {label!r} holds parameters; expected their *names*.")
    if name not in there:
        owner, _, last = str(name).rpartition(".")
        inside = [each for each in there if each.startswith(f"{owner}.") and each.endswith(last)]
        near = sorted(inside) or difflib.get_close_matches(str(name), sorted(there), 1)
        meant = f" Is it {near[0]!r}? An edit renames what it wraps." if near else ""
        raise CheckFailed(f"group {label!r} names {name!r}, which is no parameter here.{meant}")
