"""Lesson 08: a model without one of its heads, and as it was before afterwards.

The true answer is that of a copy whose values, as that head sees them, are zero.
"""

import copy

import torch

from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.looking._common import changes, tokens, toy
from tlcourse.exercises.looking._heads import (
    all_others,
    as_many_as_heads,
    by_copy,
    by_hook,
    clears_all_hooks,
    columns_of,
    edits_and_leaves,
    edits_and_mends,
    swallows_the_error,
    without,
    writers,
)
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="8.5",
    title="Take a head away",
    difficulty=3,
    minutes=15,
    hints=(
        "where do the heads meet? `model.blocks[layer].attention.output` is given what all heads "
        "found, side by side: (batch, length, width). Which columns are those of this head?",
        "a head has `width // heads` columns: head 0 the first ones, head 1 the next. They begin "
        "at `head * size`.",
        "a hook sees what a layer is given, and may hand on something else: "
        "`hook = output.register_forward_pre_hook(mute)` with `def mute(module, inputs)`, which "
        "gets `inputs` as a tuple and returns the new input.",
        "`mute` copies the input, `mixed = inputs[0].clone()`, sets `mixed[..., start:end] = 0` "
        "and returns it. Then `try: return model(tokens)` and `finally: hook.remove()`.",
    ),
    imports="import contextlib\nimport copy\nimport numpy as np\nimport torch\nfrom torch import nn"
    "\nfrom torch.nn import functional as F\nfrom tlcourse.transformer import record",
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


@task.right
def in_a_copy(model, tokens, layer, head):
    other = copy.deepcopy(model)
    columns = other.blocks[layer].attention.output.weight.data
    columns.view(len(columns), model.config.heads, -1)[:, head] = 0
    return other(tokens)


@task.right
@torch.no_grad()
def with_its_weights_put_back(model, tokens, layer, head):
    values = model.blocks[layer].attention.value
    size = model.config.width // model.config.heads
    rows = slice(head * size, head * size + size)
    kept = [each[rows].clone() for each in values.parameters()]
    try:
        for each in values.parameters():
            each[rows] = 0
        return model(tokens)
    finally:
        for each, old in zip(values.parameters(), kept, strict=True):
            each[rows] = old


def logits(candidate, model, ids, layer, head):
    """What comes out, (batch, length, vocabulary); raises CheckFailed for another shape."""
    with torch.no_grad():
        got = expect_unchanged(lambda tokens: candidate(model, tokens, layer, head), ids)
    expect_shape(got, (*ids.shape, model.config.vocabulary_size), f"ids {tuple(ids.shape)}", SHAPE)
    return got


def shape_of(candidate, model, *setting):
    """The shape of what comes out."""
    with torch.no_grad():
        got = candidate(model, *setting)
    return tuple(got.shape) if hasattr(got, "detach") else logits(candidate, model, *setting).shape


def effect(candidate, model, ids, layer, head):
    """How much the logits move at most, against those with all heads."""
    with torch.no_grad():
        before = model(ids)
    return (logits(candidate, model, ids, layer, head) - before).abs().max().item()


def changed(candidate, model, ids, layer, head):
    """What is different about the model afterwards."""
    return changes(model, lambda: logits(candidate, model, ids, layer, head))


def changed_by_an_error(candidate, model, ids, layer, head):
    """The same where the model raises an error, and whether that is lost."""
    raised = []

    def work():
        try:
            candidate(model, ids, layer, head)
        except ValueError as error:
            raised.append(error)

    return changes(model, work) + ([] if raised else ["the error is lost"])


@task.stage("logits")
def shape(candidate):
    task.observe(
        candidate, shape_of, toy(seed=1), tokens(), 1, 2, gives=(2, 6, 11),
        what="ids (2, 6), a vocabulary of 11: the shape", likely=SHAPE,
    )  # fmt: skip


@task.stage("a head that writes nothing")
def nothing_to_take(candidate):
    task.observe(
        candidate, effect, writers(2, 0, 2), tokens(1), 0, 1, gives=0.0, tolerance=1e-4,
        what="one layer; head 1 writes nothing, heads 0 and 2 do. Taking head 1 away: the largest "
        "change of a logit", likely=OTHERS,
    )  # fmt: skip


@task.stage("the only head that writes")
def only(candidate):
    model, ids = writers(3, 1), tokens(2)
    task.observe(
        candidate, logits, model, ids, 0, 1, gives=without(model, ids, 0, 1), tolerance=1e-4,
        what="one layer; head 1 alone writes. Taking it away: the logits", likely=ZERO,
    )  # fmt: skip


@task.stage("heads of a model of 3 layers")
def every(candidate):
    three, two, ids = toy(seed=4, layers=3), toy(seed=4, layers=3, heads=2), tokens(3)
    for model, layer, head in ((three, 0, 1), (three, 1, 2), (three, 2, 0), (two, 1, 0)):
        task.observe(
            candidate, logits, model, ids, layer, head, gives=without(model, ids, layer, head),
            what=f"3 layers; head {head} of layer {layer} taken away, both counted from 0: the "
            "logits", tolerance=1e-4,
            likely=WIDTHS if model is two else COUNTED,
        )  # fmt: skip


@task.stage("the model afterwards")
def afterwards(candidate):
    model = toy(seed=5).train()
    model.blocks[1].attention.output.register_forward_pre_hook(lambda *_: None)  # somebody's own
    task.observe(
        candidate, changed, model, tokens(4), 1, 0, gives=[],
        what="what is different about the model afterwards", likely=STAYS,
    )  # fmt: skip


@task.stage("after an error")
def error(candidate):
    task.observe(
        candidate, changed_by_an_error, toy(seed=6), torch.zeros(1, 9).long(), 0, 2, gives=[],
        what="a text that is too long, so that the model raises an error: what is different about "
        "it afterwards", likely=FINALLY,
    )  # fmt: skip


SHAPE = "The logits of all positions are wanted, as `model(tokens)` gives them."
OTHERS = "The other heads have to go on as before, and so does everything else."
ALL = "What other heads found went, too, or instead: only the columns of this head become zero."
AFTER = (
    "These columns were set to zero *after* the projection, which has mixed all heads by then. Set "
    "them to zero in what `attention.output` is given."
)
STRIDED = "A head's columns lie side by side, from `head * size` to `(head + 1) * size`."
FROM_ONE = "Layers and heads are counted from 0: `model.blocks[0]` is layer 0."
WIDTH = "Only one column was taken; a head has `width // heads` of them, from `head * size`."
ROWS = "The rows of `output.weight` are what it writes, its *columns* what it is given by heads."
ZERO = "What this head found has to be zero before the projection; the projection's bias stays."
BIAS = "The bias of `attention.output` went, too. It belongs to no head: leave it."
NOTHING = "Nothing was taken away: does the hook return the new input, and do the columns exist?"
UNIFORM = (
    "With queries or keys of zero a head does not fall silent: it looks at all tokens alike. Set "
    "to zero what it *found*."
)
VALUE_BIAS = "The values have a bias, too: what this head found is not zero yet."
COUNTED = "Layers and heads are counted from 0, and all but this head stays."
STAYS = "Put it back: a hook has `.remove()`; weights that were changed need a copy to go back to."
LEFT = "Remove the hook afterwards, `hook.remove()`, or it mutes the head for good."
FINALLY = "Put it back in a `finally:`, which is run after an error, too."
SWALLOWED = "The model's error has to come out: `try` and `finally`, without `except`."
POSITIONS = "These are positions. The columns are the last dimension: `mixed[..., start:end]`."
INPUT = "All heads read what the attention layer is given. Hook its last part, `attention.output`."
WIDTHS = "A head has `model.config.width // model.config.heads` columns, here 6 and not 4."
SIZE = "A head has `width // heads` columns; these are as many as there are heads."
NOT_YOURS = "Another hook is gone, too: remove your own alone, by its handle."


for stage, says, wrong in (
    ("logits", SHAPE, lambda *given: run_without(*given)[:, -1]),
    ("logits", SHAPE, lambda model, *rest: run_without(model, *rest).softmax(-1).argmax(-1)),
    ("a head that writes nothing", ALL, by_hook(lambda model, head: slice(None))),
    ("a head that writes nothing", ALL, by_hook(lambda model, head: slice(None), after=True)),
    ("a head that writes nothing", AFTER, by_hook(after=True)),
    ("a head that writes nothing", STRIDED,
     by_hook(lambda model, head: slice(head, None, model.config.heads))),
    ("a head that writes nothing", WIDTH, by_hook(lambda model, head: head)),
    ("a head that writes nothing", ALL, by_hook(all_others)),
    ("a head that writes nothing", POSITIONS, by_hook(cells=lambda own: (slice(None), own))),
    ("a head that writes nothing", INPUT, by_hook(on=lambda attention: attention)),
    ("a head that writes nothing", SIZE, by_hook(as_many_as_heads)),
    ("a head that writes nothing", ROWS,
     by_copy(lambda attention, columns: attention.output.weight[columns].zero_())),
    ("a head that writes nothing", FROM_ONE,
     by_hook(lambda model, head: columns_of(model, (head - 1) % model.config.heads))),
    ("the only head that writes", NOTHING, lambda model, tokens, *rest: model(tokens)),
    ("the only head that writes", UNIFORM,
     by_copy(lambda attention, columns: [each[columns].zero_() for each in
                                         attention.query.parameters()])),
    ("the only head that writes", UNIFORM,
     by_copy(lambda attention, columns: [each[columns].zero_() for each in
                                         attention.key.parameters()])),
    ("the only head that writes", VALUE_BIAS,
     by_copy(lambda attention, columns: attention.value.weight[columns].zero_())),
    ("a head that writes nothing", BIAS,
     by_copy(lambda attention, columns: (attention.output.weight[:, columns].zero_(),
                                         attention.output.bias.zero_()))),
    ("heads of a model of 3 layers", "The head was taken away in every layer.",
     by_hook(layers=lambda model, layer: range(len(model.blocks)))),
    ("heads of a model of 3 layers", FROM_ONE, by_hook(layers=lambda model, layer: [layer - 1])),
    ("heads of a model of 3 layers", WIDTHS, by_hook(lambda _, i: slice(4 * i, 4 * i + 4))),
    ("the model afterwards", LEFT, by_hook(removes=False)),
    ("the model afterwards", NOT_YOURS, clears_all_hooks),
    ("the model afterwards", STAYS, edits_and_leaves),
    ("the model afterwards", "Give the model back in the mode it came in.",
     lambda model, *rest: run_without(model.eval(), *rest)),
    ("after an error", FINALLY, by_hook()),
    ("after an error", SWALLOWED, swallows_the_error),
    ("after an error", FINALLY, edits_and_mends),
):  # fmt: skip
    task.mistake(stage, says)(wrong)
