"""Help for the exercise on TAPT: texts, models that are fast, and what they should do."""

import copy

import numpy as np
import torch
from torch import nn

from tlcourse import device, objectives, training
from tlcourse.batching import epoch_order
from tlcourse.bpe import EOS
from tlcourse.exercises.expect import CheckFailed, real_number, short
from tlcourse.exercises.pretraining.windows import windows
from tlcourse.transformer import Config, Transformer


class Read(list):
    """What a model has read; a copy of the model writes into the same list."""

    def __deepcopy__(self, memo):
        return self


class Pairs(nn.Module):
    """A causal model that looks at one token to guess the next; it notes what it reads."""

    def __init__(self, vocabulary=40):
        super().__init__()
        drawn = torch.Generator().manual_seed(3)
        self.table = nn.Parameter(torch.randn(vocabulary, vocabulary, generator=drawn))
        self.read = Read()

    def forward(self, ids):
        self.read.append(ids.tolist())
        return self.table[ids]


TEXTS = [[7 + (3 * row + place) % 30 for place in range(3 + row % 5)] for row in range(40)]


def slow(model):
    """Plain gradient descent, so that a wrong optimizer shows at once."""
    return torch.optim.SGD(model.parameters(), lr=1.0)


def ran(candidate, model, steps=3, rate=lambda step: 0.5 / (step + 1), optimizer_of=slow):
    """(the copy, losses) of the candidate on TEXTS; raises CheckFailed where these are none."""
    texts = copy.deepcopy(TEXTS)
    got = candidate(model, texts, optimizer_of, rate, steps, 4, 9)
    if texts != TEXTS:
        raise CheckFailed("your function changed the lists of ids it was given. Build a new list.")
    if not isinstance(got, tuple | list) or len(got) != 2:
        came = "None (is a `return` missing?)" if got is None else short(got, 60)
        raise CheckFailed(f"it gave {came}; expected two things: the copy and the list of losses.")
    reader, losses = got
    if not isinstance(reader, type(model)):
        raise CheckFailed(f"the first thing is {short(reader, 60)}; expected the copy of the model.")
    numbers = [real_number(each) for each in losses] if hasattr(losses, "__len__") else []
    if len(numbers) != steps or None in numbers:
        raise CheckFailed(f"the losses of {steps} steps are {short(losses)}; expected {steps} numbers.")
    return reader, numbers


def stream_rows():
    """What it should read, cut from the stream by hand: two batches of four rows of nine ids."""
    stream = sum(([*text, EOS] for text in TEXTS), [])
    offset, order = epoch_order((len(stream) - 10) // 10, 10)
    starts = [offset + 10 * int(place) for place in order[:8]]
    rows = [stream[start : start + 9] for start in starts]
    return [rows[:4], rows[4:]]


def truth_of_pairs():
    """`moved` in NumPy: softmax minus one-hot at each place, a mean over them, clipped at 1."""
    table = Pairs().table.detach().double().numpy().copy()
    ids, losses = np.array(sum(([*text, EOS] for text in TEXTS), [])), []
    for step, rate in enumerate([0.5, 0.1, 0.3, 0.0, 0.2]):
        batch = windows(ids, step, 4, 10).numpy()
        before, after = batch[:, :-1].ravel(), batch[:, 1:].ravel()
        scores = np.exp(table[before] - table[before].max(1, keepdims=True))
        shares = scores / scores.sum(1, keepdims=True)
        each = np.arange(len(after))
        losses.append(float(-np.log(shares[each, after]).mean()))
        shares[each, after] -= 1
        slope = np.zeros_like(table)
        np.add.at(slope, before, shares / len(after))
        slope *= min(1.0, 1.0 / np.sqrt((slope**2).sum()))
        table -= rate * slope
    return [*losses, *table[7].tolist()]


def by_engine(model, optimizer, rates):
    """What the engine does on the same windows: the model moves, the losses come back."""
    ids = np.array(sum(([*text, EOS] for text in TEXTS), []))
    history = training.train(
        model, lambda model, batch: objectives.causal_loss(model, *batch),
        [(windows(ids, step, 4, 10),) for step in range(len(rates))],
        optimizers=[optimizer], schedule=rates.__getitem__,
        compute=device.Compute(torch.device("cpu"), torch.float32, "explicit", False),
    )  # fmt: skip
    return [record["loss"] for record in history]


def small():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return Transformer(Config(40, 12, 2, 2, 24, max_length=16), "explicit")


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=0.01)
