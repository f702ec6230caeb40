"""Lesson 08: a model without one of its heads, which is unchanged afterwards."""

import copy
from functools import partial

import torch

from tlcourse.exercises.looking._common import changes, shape_of, tensor, tokens, toy
from tlcourse.exercises.task import Exercise, case


def logits(candidate, model, ids, layer, head):
    """The candidate's logits, (batch, length, vocabulary)."""
    return tensor(partial(candidate, model), ids, layer, head)


def changed(candidate, model, *setting):
    """The differences in the model after the call, and whether an error was raised."""
    errors = []

    def work():
        try:
            with torch.no_grad():
                candidate(model, *setting)
        except ValueError:
            errors.append("an error is raised")

    return changes(model, work) + errors


task = Exercise(
    __name__,
    number="8.5",
    title="Take a head away",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "Where do the heads meet? `model.blocks[layer].attention.output` reads the results of all "
        "heads, side by side: (batch, length, width). A head has `width // heads` columns, which "
        "begin at `head * size`.",
        "A hook sees the input of a layer, and may replace it: "
        "`hook = output.register_forward_pre_hook(mute)` with `def mute(module, inputs)`, which "
        "gets `inputs` as a tuple and returns the new input.",
        "`mute` copies the input, `mixed = inputs[0].clone()`, sets `mixed[..., start:end] = 0` "
        "and returns it. Then `try: return model(tokens)` and `finally: hook.remove()`.",
    ),
    imports="import contextlib\nimport copy\nimport numpy as np\nimport torch\nfrom torch import nn"
    "\nfrom torch.nn import functional as F\nfrom tlcourse.transformer import record",
    measure=logits,
    tolerance=1e-4,
)


@task.reference
def run_without(model, tokens, layer, head):
    """(batch, length) ids to the logits without this head; the model itself is unchanged."""
    output, size = model.blocks[layer].attention.output, model.config.width // model.config.heads

    def mute(module, inputs):
        mixed = inputs[0].clone()
        mixed[..., head * size : (head + 1) * size] = 0
        return mixed

    hook = output.register_forward_pre_hook(mute)
    try:
        return model(tokens)
    finally:
        hook.remove()


@task.truth
def by_values_of_zero(model, tokens, layer, head):
    """The logits of a copy in which this head has values of zero."""
    other, size = copy.deepcopy(model), model.config.width // model.config.heads
    with torch.no_grad():
        for each in other.blocks[layer].attention.value.parameters():
            each[size * head : size * head + size] = 0
        return other(tokens)


def writers(seed, *heads):
    """A model of one layer in which only these heads write anything."""
    model = toy(seed=seed, layers=1)
    columns = model.blocks[0].attention.output.weight.data.view(12, 3, 4)
    for head in {0, 1, 2}.difference(heads):
        columns[:, head] = 0
    return model


def hooked():
    """A model in training mode that has another hook already."""
    model = toy(seed=5).train()
    model.blocks[1].attention.output.register_forward_pre_hook(lambda *_: None)
    return model


def without(layer, head, model, seed, more=""):
    """A case of a model without this head."""
    count, heads = len(model.blocks), model.config.heads
    what = f"the logits of a model of {count} × {heads} heads without head {head} of layer {layer}"
    return case(what + more, model, tokens(seed), layer, head)


task.stage(
    "logits",
    case("the shape of your logits for ids (2, 6)", toy(), tokens(), 1, 2, expected=(2, 6, 11)),
    measure=shape_of(logits),
    hint="Return the logits of all positions, as `model(tokens)` does.",
)
task.stage(
    "a head that writes nothing",
    without(0, 1, writers(2, 0, 2), 1, ", which wrote nothing: they do not change"),
    hint="In the last dimension of the input of `attention.output`, set only the columns of this "
    "head to zero, `head * size` to `(head + 1) * size`, where `size` is `width // heads`. Its "
    "output mixes all heads, and the projection's bias has to remain.",
)
task.stage(
    "the only head that writes",
    without(0, 1, writers(3, 1), 2, ", the only one that wrote anything"),
    hint="The result of this head has to be zero before the projection. Does the hook return the "
    "new input? With queries or keys of zero, the head would attend to all tokens equally.",
)
task.stage(
    "heads of a model of 3 layers",
    without(1, 0, toy(seed=4, layers=3, heads=2), 3),
    hint="Layers and heads are counted from 0, and a head has `model.config.width // "
    "model.config.heads` columns, here 6 and not 4.",
)
task.stage(
    "the model afterwards",
    case("what is different about the model afterwards", hooked(), tokens(4), 1, 0, expected=[]),
    measure=changed,
    hint="Leave the model as it was: in its mode, with its other hooks but without yours "
    "(`hook.remove()`), and with its weights. If you change weights, restore a copy of them.",
)
task.stage(
    "after an error",
    case(
        "what is different after an error of the model",
        *(toy(seed=6), torch.zeros(1, 9, dtype=torch.long), 0, 2),
        expected=["an error is raised"],
    ),
    measure=changed,
    hint="This text is too long for the model. Restore everything in a `finally:`, which is run "
    "after an error, too. The error itself has to reach the caller: use no `except`.",
)


def own(model, head):
    """The index of a head's columns."""
    size = model.config.width // model.config.heads
    return ..., slice(size * head, size * (head + 1))


def mutes(cells=own, after=False, removes=True):
    """Zeroes `cells(model, head)` by a hook, which remains if there is an error."""

    def run_without(model, tokens, layer, head):
        def mute(module, inputs, output=None):
            x = (output if after else inputs[0]).clone()
            x[cells(model, head)] = 0
            return x

        output = model.blocks[layer].attention.output
        register = output.register_forward_hook if after else output.register_forward_pre_hook
        hook = register(mute)
        logits = model(tokens)
        if removes:
            hook.remove()
        return logits

    return run_without


task.mistakes(
    (
        "The columns are zero *after* the projection, which has mixed all heads by then: set them "
        "to zero in the input of `attention.output`.",
        mutes(after=True),
    ),
    (
        "These are positions of the text, but a head has columns in the last dimension: use "
        "`mixed[..., start:end]`.",
        mutes(lambda model, head: (slice(None), own(model, head)[1])),
    ),
    (
        "The logits are those of the whole model: return the new input from the hook, and check "
        "that the columns exist.",
        lambda model, tokens, layer, head: model(tokens),
    ),
    (
        "The layer has other hooks than before. Remove your own hook afterwards, and no other: "
        "`hook.remove()`.",
        mutes(removes=False),
    ),
)
