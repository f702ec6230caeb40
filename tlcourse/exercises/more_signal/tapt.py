"""Lesson 06: task-adaptive pretraining, out of the pieces of lesson 03.

The truth is the package's engine on the package's windows of the same stream.
"""

import copy

import numpy as np
import torch

from tlcourse.bpe import EOS
from tlcourse.exercises.expect import defaults
from tlcourse.exercises.more_signal._tapt import (
    Pairs,
    adamw,
    by_engine,
    ran,
    small,
    stream_rows,
    truth_of_pairs,
)
from tlcourse.exercises.pretraining.causal_loss import causal_loss
from tlcourse.exercises.pretraining.train import train
from tlcourse.exercises.pretraining.windows import windows
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="6.1",
    title="Continue pretraining on the task's texts",
    difficulty=3,
    minutes=15,
    hints=(
        "three things: one long row of ids, a copy of the model, a call of your `train`.",
        "the row: `np.array([id for text in texts for id in [*text, EOS]])`. The batch of a step: "
        "`windows(ids, step, batch_size, length + 1)`, because the last token is a target only.",
        "`reader = copy.deepcopy(model)`, and from here on only `reader`: its optimizer is "
        "`optimizer_of(reader)`.",
        "`losses = train(reader, causal_loss, batch_of, optimizer_of(reader), learning_rate, "
        "range(steps))`, where `batch_of(step)` gives the windows of a step.",
    ),
    imports="import copy\nimport math\nimport numpy as np\nimport torch\n"
    "from tlcourse.bpe import EOS",
    builds_on=("pretraining.windows", "pretraining.causal_loss", "pretraining.train"),
    trains=True,
)


@task.reference
def tapt(model, texts, optimizer_of, learning_rate, steps, batch_size=32, length=64):
    """A copy of `model` that has gone on pretraining on the ids of texts, and its losses."""
    ids = np.array([id for text in texts for id in [*text, EOS]])
    reader = copy.deepcopy(model)
    where = next(reader.parameters()).device

    def batch_of(step):
        return windows(ids, step, batch_size, length + 1).to(where)

    optimizer = optimizer_of(reader)
    losses = train(reader, causal_loss, batch_of, optimizer, learning_rate, range(steps))
    return reader, losses


@task.right
def by_extending(model, texts, optimizer_of, learning_rate, steps, batch_size=32, length=64):
    stream = []
    for text in texts:
        stream.extend(text)
        stream.append(EOS)
    stream, model = np.asarray(stream, dtype=np.uint16), copy.deepcopy(model)
    place = next(model.parameters()).device
    losses = train(
        model, causal_loss, lambda step: windows(stream, step, batch_size, length + 1).to(place),
        optimizer_of(model), learning_rate, list(range(steps)),
    )  # fmt: skip
    return model, losses


@task.right
def step_by_step(model, texts, optimizer_of, learning_rate, steps, batch_size=32, length=64):
    ids = np.concatenate([np.array([*text, EOS]) for text in texts])
    other = copy.deepcopy(model)
    optimizer, losses = optimizer_of(other), []
    for step in range(steps):
        batch = windows(ids, step, batch_size, length + 1).to(next(other.parameters()).device)
        losses += train(
            other, causal_loss, lambda _, it=batch: it, optimizer, learning_rate, [step]
        )
    return [other, torch.tensor(losses)]


def left_alone(candidate):
    """Whether the model that is given has moved."""
    model = Pairs()
    before = model.table.detach().clone()
    reader, _ = ran(candidate, model)
    return reader is model, torch.equal(before, model.table)


@task.stage("a copy")
def a_copy(candidate):
    task.observe(
        candidate, left_alone, gives=(False, True),
        what="(is it the same object, are the weights that were given as before)",
        likely="`copy.deepcopy(model)` first; then train the copy.",
    )  # fmt: skip


def read(candidate):
    """What the model reads in the first two steps."""
    model = Pairs()
    ran(candidate, model, steps=2)
    return list(model.read)


@task.stage("one long row of ids")
def stream(candidate):
    likely = "Each text is followed by EOS, all in a row; step k takes the windows of step k."
    what = "40 short texts, 4 windows a step, length 9: what the model reads"
    task.observe(candidate, read, gives=stream_rows(), what=what, likely=likely)


def moved(candidate):
    """The losses of five steps, and the last weights of the copy."""
    rates = [0.5, 0.1, 0.3, 0.0, 0.2]
    reader, losses = ran(candidate, Pairs(), 5, rates.__getitem__)
    return [*losses, *reader.table.detach()[7].tolist()]


@task.stage("the loop")
def loop(candidate):
    likely = "Your `train` with `causal_loss`, the copy's own optimizer, and `learning_rate`."
    what = "5 steps of a model of pairs: the losses, then a row of weights"
    gives = truth_of_pairs()
    task.observe(candidate, moved, gives=gives, what=what, likely=likely, tolerance=1e-4)


def of_transformer(candidate):
    rates = [0.5, 1.0, 1.0, 0.6, 0.2]
    reader, losses = ran(candidate, small(), 5, lambda step: 0.01 * rates[step], adamw)
    return [*losses, *reader.embedding.weight.detach()[7].tolist()]


@task.stage("the package's engine")
def engine(candidate):
    model = small()
    losses = by_engine(model, adamw(model), [0.5, 1.0, 1.0, 0.6, 0.2])
    gives = [*losses, *model.embedding.weight.detach()[7].tolist()]
    task.observe(
        candidate, of_transformer, gives=gives, tolerance=1e-3,
        what="5 steps of a small Transformer with AdamW: losses, then a row of the embedding",
    )  # fmt: skip
    due = {"batch_size": 32, "length": 64}
    task.observe(
        candidate, defaults, due, gives=due, what="the defaults",
        likely="`batch_size=32, length=64` end the first line.",
    )  # fmt: skip


def varied(stream=None, extra=1, keep=copy.deepcopy, optimizer=None, rate=None, first=0):
    """A solution with another stream, window, copy, optimizer, learning rate or first step."""

    def candidate(model, texts, optimizer_of, learning_rate, steps, batch_size=32, length=64):
        ids = np.array((stream or joined)(texts))
        reader = keep(model)
        moves = optimizer_of(model if optimizer else reader)

        def batch_of(step):
            return windows(ids, step + first, batch_size, length + extra)

        losses = train(reader, causal_loss, batch_of, moves, rate or learning_rate, range(steps))
        return reader, losses

    return candidate


def joined(texts, before=(), after=(EOS,)):
    return [id for text in texts for id in [*before, *text, *after]]


for stage, says, wrong in (
    ("a copy", "The model itself was trained: `copy.deepcopy(model)`, so that it can start again.",
     varied(keep=lambda model: model)),
    ("a copy", "`copy.copy` shares the weights with the original: take `copy.deepcopy`.",
     varied(keep=copy.copy)),
    ("the loop", "The optimizer holds the weights of the original: `optimizer_of(reader)` of the "
     "copy, or the copy never moves.", varied(optimizer=True)),
    ("one long row of ids", "There is no EOS between the texts: each is followed by its own.",
     varied(lambda texts: joined(texts, after=()))),
    ("one long row of ids", "EOS stands before each text; it ends one.",
     varied(lambda texts: joined(texts, (EOS,), ()))),
    ("one long row of ids", "There is no EOS between the texts: each is followed by its own.",
     varied(lambda texts: [*joined(texts, after=()), EOS])),
    ("one long row of ids", "The model reads a token too few: windows of `length + 1`, the last "
     "token is a target only.", varied(extra=0)),
    ("one long row of ids", "Steps count from 0: `range(steps)`.", varied(first=1)),
    ("one long row of ids", "Every step reads the windows of step 0.",
     lambda model, texts, *more: same_batch(model, texts, *more)),
    ("one long row of ids", "`batch_size` and `length` were left out: they say how much a step "
     "reads.", lambda *five_and_more: tapt(*five_and_more[:5])),
    ("the loop", "`learning_rate` was left out: it gives the learning rate of every step.",
     varied(rate=lambda step: 0.4)),
):  # fmt: skip
    task.mistake(stage, says)(wrong)


def same_batch(model, texts, optimizer_of, learning_rate, steps, batch_size=32, length=64):
    reader, batch = (
        copy.deepcopy(model),
        windows(np.array(joined(texts)), 0, batch_size, length + 1),
    )
    losses = train(
        reader, causal_loss, lambda step: batch, optimizer_of(reader), learning_rate, range(steps)
    )
    return reader, losses
