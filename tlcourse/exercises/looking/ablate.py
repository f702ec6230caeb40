"""Lesson 08: a model without one of its heads, and as it was before afterwards."""

import copy
from functools import partial

import torch

from tlcourse.exercises.looking._common import changes, shape_of, tensor, tokens, toy
from tlcourse.exercises.task import Exercise, case


def logits(candidate, model, ids, layer, head):
    """What comes, (batch, length, vocabulary)."""
    return tensor(partial(candidate, model), ids, layer, head)


def changed(candidate, model, *setting):
    """What is different about the model afterwards, and whether an error came out."""
    errors = []

    def work():
        try:
            with torch.no_grad():
                candidate(model, *setting)
        except ValueError:
            errors.append("an error came out")

    return changes(model, work) + errors


task = Exercise(
    __name__,
    number="8.5",
    title="Take a head away",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "Where do the heads meet? `model.blocks[layer].attention.output` reads what all heads "
        "found, side by side: (batch, length, width). Which columns are those of this head?",
        "A head has `width // heads` columns: head 0 the first ones, head 1 the next. They begin "
        "at `head * size`.",
        "A hook sees what a layer is given, and may replace it: "
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
    """(batch, length) ids to logits, with what this head found set to zero; the model stays."""
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
    """The logits of a copy whose values, as that head sees them, are zero."""
    other, size = copy.deepcopy(model), model.config.width // model.config.heads
    with torch.no_grad():
        for each in other.blocks[layer].attention.value.parameters():
            each[size * head : size * head + size] = 0
        return other(tokens)


def writers(seed, *heads):
    """A model of one layer in which only these heads write something."""
    model = toy(seed=seed, layers=1)
    columns = model.blocks[0].attention.output.weight.data.view(12, 3, 4)
    for head in {0, 1, 2}.difference(heads):
        columns[:, head] = 0
    return model


def hooked():
    """A model in training mode that has a hook of somebody else."""
    model = toy(seed=5).train()
    model.blocks[1].attention.output.register_forward_pre_hook(lambda *_: None)
    return model


def without(layer, head, model, seed, more="", hint=""):
    """A case of a model without this head."""
    count, heads = len(model.blocks), model.config.heads
    what = f"the logits of a model of {count} × {heads} heads without head {head} of layer {layer}"
    return case(what + more, model, tokens(seed), layer, head, hint=hint)


task.stage(
    "logits",
    case("the shape of your logits for ids (2, 6)", toy(), tokens(), 1, 2, expected=(2, 6, 11)),
    measure=shape_of(logits),
    hint="Return the logits of all positions, as `model(tokens)` does.",
)
task.stage(
    "a head that writes nothing",
    without(0, 1, writers(2, 0, 2), 1, ", which wrote nothing: they do not change"),
    hint="Only the columns of this head become zero, from `head * size` to `(head + 1) * size`, "
    "where `size` is `width // heads`. The other heads and the projection's bias have to go on as "
    "before.",
)
task.stage(
    "the only head that writes",
    without(0, 1, writers(3, 1), 2, ", the only one that wrote anything"),
    hint="What this head found has to be zero before the projection. It is not enough to set its "
    "queries or keys to zero: it would look at all tokens alike.",
)
task.stage(
    "heads of a model of 3 layers",
    without(1, 2, toy(seed=4, layers=3), 3),
    without(
        *(1, 0, toy(seed=4, layers=3, heads=2), 3),
        hint="A head has `model.config.width // model.config.heads` columns, here 6 and not 4.",
    ),
    hint="Layers and heads are counted from 0, and all heads but this one stay.",
)
task.stage(
    "the model afterwards",
    case("what is different about the model afterwards", hooked(), tokens(4), 1, 0, expected=[]),
    measure=changed,
    hint="Give the model back as it came: in its mode, with the hooks of others, and with its "
    "weights. If you change weights, put a copy of the old ones back.",
)
task.stage(
    "after an error",
    case(
        "what is different after an error of the model",
        *(toy(seed=6), torch.zeros(1, 9, dtype=torch.long), 0, 2),
        expected=["an error came out"],
    ),
    measure=changed,
    hint="This text is too long for the model. Put everything back in a `finally:`, which is run "
    "after an error, too. The error itself has to come out: use no `except`.",
)


def own(model, head):
    """The index of a head's columns."""
    size = model.config.width // model.config.heads
    return ..., slice(size * head, size * (head + 1))


def mutes(cells=own, after=False, removes=True):
    """Zeroes `cells(model, head)` by a hook, which stays where there is an error."""

    def run_without(model, tokens, layer, head):
        def mute(module, inputs, output=None):
            x = (output if after else inputs[0]).clone()
            x[cells(model, head)] = 0
            return x

        output = model.blocks[layer].attention.output
        hang = output.register_forward_hook if after else output.register_forward_pre_hook
        hook = hang(mute)
        logits = model(tokens)
        if removes:
            hook.remove()
        return logits

    return run_without


task.mistakes(
    (
        "These columns became zero *after* the projection, which has mixed all heads by then. Set "
        "them to zero in what `attention.output` is given.",
        mutes(after=True),
    ),
    (
        "These are positions. The columns are in the last dimension: `mixed[..., start:end]`.",
        mutes(lambda model, head: (slice(None), own(model, head)[1])),
    ),
    (
        "No head was taken away: does the hook return the new input, and do the columns exist?",
        lambda model, tokens, layer, head: model(tokens),
    ),
    (
        "Remove the hook afterwards, `hook.remove()`, or it mutes the head for good.",
        mutes(removes=False),
    ),
)
