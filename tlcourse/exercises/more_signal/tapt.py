"""Lesson 06: task-adaptive pretraining, from the pieces of lesson 03."""

import copy

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tlcourse import device, training
from tlcourse.bpe import EOS
from tlcourse.exercises.expect import CheckFailed, expect_unchanged, short
from tlcourse.exercises.pretraining.causal_loss import causal_loss
from tlcourse.exercises.pretraining.train import train
from tlcourse.exercises.pretraining.windows import windows
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying
from tlcourse.transformer import Config, Transformer

TEXTS = [[7 + (3 * row + place) % 30 for place in range(3 + row % 5)] for row in range(40)]
STREAM = np.array([id for text in TEXTS for id in [*text, EOS]])


class Seen(list):
    """What a model has read. A copy of the model writes into the same list."""

    def __deepcopy__(self, memo):
        return self


class Pairs(nn.Module):
    """A causal model that predicts each token from the one before, and notes what it reads."""

    def __init__(self):
        super().__init__()
        drawn = torch.Generator().manual_seed(varying(3))
        self.table = nn.Parameter(torch.randn(40, 40, generator=drawn))
        self.seen = Seen()

    def forward(self, ids):
        self.seen.append(ids.tolist())
        return self.table[ids]


def small():
    """A small Transformer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(varying(1))
        return Transformer(Config(40, 12, 2, 2, 24, max_length=16), "explicit")


def ran(candidate, model, optimizer, lr, rates):
    """(the copy, losses) on TEXTS, 4 windows of 9 per step; raises CheckFailed for all else."""
    given = (lambda reader: optimizer(reader.parameters(), lr=lr), lambda step: lr * rates[step])
    got = expect_unchanged(
        lambda _, texts: candidate(model, texts, *given, len(rates), 4, 9),
        *("a model", copy.deepcopy(TEXTS)),
    )
    try:
        reader, losses = got
        numbers = [float(loss) for loss in losses]
    except (TypeError, ValueError):
        reader, numbers = None, []
    if not isinstance(reader, type(model)) or len(numbers) != len(rates):
        raise CheckFailed(
            check="what your function returns",
            yours="None (is a `return` missing?)" if got is None else short(got, 60),
            expected=f"the copy of the model, then a list of {len(rates)} losses",
        )
    return reader, numbers


def whose(candidate):
    """Which model is returned, and whether the given model is still as before."""
    model = Pairs()
    before = model.table.detach().clone()
    reader, _ = ran(candidate, model, torch.optim.SGD, 1.0, [0.5, 0.2, 0.1])
    kept = torch.equal(before, model.table)
    return "the model itself" if reader is model else "a copy", "as before" if kept else "changed"


def read(candidate):
    """The inputs of the model in the first two steps."""
    model = Pairs()
    ran(candidate, model, torch.optim.SGD, 1.0, [0.5, 0.2])
    return list(model.seen)


def moved(candidate, make, *how):
    """The losses of a run, then a row of the copy's first parameter."""
    reader, losses = ran(candidate, make(), *how)
    return [*losses, *next(reader.parameters()).detach()[7].tolist()]


def nats(model, batch):
    """(sum, count) over a batch, as the engine needs them."""
    scores, targets = model(batch[0][:, :-1]).flatten(0, 1), batch[0][:, 1:].flatten()
    return F.cross_entropy(scores, targets, reduction="sum"), len(targets)


def by_engine(make, optimizer, lr, rates):
    """The losses and weights by the package's engine, on the same windows."""
    model = make()
    history = training.train(
        model,
        nats,
        [(windows(STREAM, step, 4, 10),) for step in range(len(rates))],
        optimizers=[optimizer(model.parameters(), lr=lr)],
        schedule=rates.__getitem__,
        compute=device.Compute(torch.device("cpu"), torch.float32, "explicit", False),
    )
    losses = [record["loss"] for record in history]
    return [*losses, *next(model.parameters()).detach()[7].tolist()]


task = Exercise(
    __name__,
    number="6.1",
    title="Continue pretraining on the task's texts",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "You need three things: one long row of ids, a copy of the model, and a call of your "
        "`train`.",
        "The row is `np.array([id for text in texts for id in [*text, EOS]])`. The batch of a step "
        "is `windows(ids, step, batch_size, length + 1)`, because the last token is only a target.",
        "Begin with `reader = copy.deepcopy(model)`, and use only `reader` from here on: its "
        "optimizer is `optimizer_of(reader)`.",
        "`losses = train(reader, causal_loss, batch_of, optimizer_of(reader), learning_rate, "
        "range(steps))`, where `batch_of(step)` gives the windows of a step.",
    ),
    imports="import copy\nimport math\nimport numpy as np\nimport torch\n"
    "from tlcourse.bpe import EOS",
    builds_on=("pretraining.windows", "pretraining.causal_loss", "pretraining.train"),
    trains=True,
    measure=moved,
    tolerance=1e-4,
)


@task.reference
def tapt(model, texts, optimizer_of, learning_rate, steps, batch_size=32, length=64):
    """A copy of `model`, pretrained further on the ids of texts, and its losses."""
    ids = np.array([id for text in texts for id in [*text, EOS]])
    reader = copy.deepcopy(model)
    where = next(reader.parameters()).device

    def batch_of(step):
        return windows(ids, step, batch_size, length + 1).to(where)

    optimizer = optimizer_of(reader)
    losses = train(reader, causal_loss, batch_of, optimizer, learning_rate, range(steps))
    return reader, losses


task.stage(
    "a copy",
    case(
        "what you return, and the weights of the model that was given",
        measure=whose,
        expected=("a copy", "as before"),
    ),
    hint="Take `copy.deepcopy(model)` first, then train the copy.",
)
task.stage(
    "one long row of ids",
    case(
        "what the model reads in 2 steps of 4 windows, length 9, cut from 40 short texts",
        measure=read,
        expected=[windows(STREAM, step, 4, 10)[:, :-1].tolist() for step in range(2)],
    ),
    hint="Each text is followed by EOS, all in one row. Step k reads the windows of step k, "
    "`batch_size` of them, with inputs of `length` ids: a window has one token more.",
)
task.stage(
    "the loop",
    case(
        "5 steps of a model of pairs: the losses, then a row of weights",
        *(Pairs, torch.optim.SGD, 1.0, [0.5, 0.1, 0.3, 0.0, 0.2]),
    ),
    expected=by_engine,
    hint="Call your `train` with `causal_loss`, with the copy's own optimizer, "
    "`optimizer_of(reader)`, and with `learning_rate` as it is, a function of the step.",
)
task.stage(
    "the package's engine",
    case(
        "5 steps of a small Transformer with AdamW: the losses, then a row of the embedding",
        *(small, torch.optim.AdamW, 0.01, [0.5, 1.0, 1.0, 0.6, 0.2]),
    ),
    expected=by_engine,
    tolerance=1e-3,
    hint="Call `optimizer_of` once, before the loop: AdamW remembers earlier gradients.",
)


def varied(extra=1, keep=copy.deepcopy, mine=True):
    """An answer with another window, copy or optimizer."""

    def answer(model, texts, optimizer_of, learning_rate, steps, batch_size=32, length=64):
        ids = np.array([id for text in texts for id in [*text, EOS]])
        reader = keep(model)

        def batch_of(step):
            return windows(ids, step, batch_size, length + extra)

        optimizer = optimizer_of(reader if mine else model)
        return reader, train(reader, causal_loss, batch_of, optimizer, learning_rate, range(steps))

    return answer


task.mistakes(
    (
        "`copy.copy` shares the weights with the original, so both are trained: use "
        "`copy.deepcopy`.",
        varied(keep=copy.copy),
    ),
    (
        "The model reads one token too few, because the last token of a window is a target only: "
        "take windows of `length + 1`.",
        varied(extra=0),
    ),
    (
        "The optimizer holds the weights of the original, so the copy is never trained: use "
        "`optimizer_of(reader)`, with the copy.",
        varied(mine=False),
    ),
)
