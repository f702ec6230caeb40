"""Lesson 11b: an LSTM, step by step (Hochreiter & Schmidhuber, 1997; Gers et al., 2000)."""

import torch
from torch import nn
from torch.func import functional_call

from tlcourse.exercises.expect import expect_type, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import NO_GRADIENT, draw, unreached

NAMES = ["x", "weight_ih", "weight_hh", "bias"]

task = Exercise(
    __name__,
    number="11b.2",
    title="An LSTM, step by step",
    difficulty=3,
    importance=5,
    minutes=20,
    hints=(
        "Begin with `h` and `c` of zeros, (batch, units), and go through the positions of `x` in "
        "a loop. Which two things does a step read, and which two does it pass on?",
        "All four gates come from one sum, `x[:, t] @ weight_ih.T + h @ weight_hh.T + bias`, which "
        "is (batch, 4 · units). `chunk(4, dim=-1)` cuts it into i, f, g and o.",
        "The gates i, f and o go through `sigmoid`, g through `tanh`. Then `c = f * c + i * g` and "
        "`h = o * c.tanh()`. Collect the h of each step in a list, and return "
        "`torch.stack(states, dim=1)`.",
    ),
    imports="import torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    tolerance=1e-5,
)


@task.reference
def lstm_cell(x, weight_ih, weight_hh, bias):
    """(batch, length, inputs) to the hidden states of all steps, (batch, length, units)."""
    h = c = x.new_zeros(len(x), weight_hh.shape[1])
    states = []
    for t in range(x.shape[1]):
        i, f, g, o = (x[:, t] @ weight_ih.T + h @ weight_hh.T + bias).chunk(4, dim=-1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        states.append(h)
    return torch.stack(states, dim=1)


@task.truth
def by_torch(x, weight_ih, weight_hh, bias):
    """`nn.LSTM` with these weights, in double precision; its second bias is 0."""
    layer = nn.LSTM(weight_ih.shape[1], weight_hh.shape[1], batch_first=True).double()
    weights = {"weight_ih_l0": weight_ih, "weight_hh_l0": weight_hh, "bias_ih_l0": bias}
    weights |= {"bias_hh_l0": torch.zeros_like(bias)}
    double = {name: weight.double() for name, weight in weights.items()}
    return functional_call(layer, double, (x.double(),))[0]


def shape(candidate, *given):
    """The shape of the answer; raises CheckFailed if it is not a tensor."""
    states = expect_unchanged(candidate, *given)
    alone = "Return the hidden states alone, as one tensor."
    likely = "" if states is None else alone
    expect_type(states, torch.Tensor, "what your function returns", likely)
    return tuple(states.shape)


def gradient(candidate, name, *given):
    """The gradient of the sum of all states' squares for one of the four tensors."""
    leaves = [each.clone().requires_grad_() for each in given]
    total = candidate(*leaves).square().sum()
    return torch.autograd.grad(total, leaves[NAMES.index(name)])[0]


def gradient_of_truth(name, *given):
    return gradient(by_torch, name, *(each.double() for each in given))


def of(batch, length, inputs=3, units=2, seed=0):
    """The arguments of a case: random inputs and weights."""
    sizes = (batch, length, inputs), (4 * units, inputs), (4 * units, units), (4 * units,)
    return tuple(draw(*size, seed=seed + 100 * place) for place, size in enumerate(sizes))


def gated(*totals, batch=1, length=1, recurrent=0.0):
    """Arguments of a cell of one unit that reads ones; `totals` are those of i, f, g and o."""
    weights = torch.tensor([totals], dtype=torch.float32).T, torch.full((4, 1), float(recurrent))
    return torch.ones(batch, length, 1), *weights, torch.zeros(4)


task.stage(
    "a state for each position",
    case("the shape for 2 rows of 5 positions and 4 units", *of(2, 5, units=4), expected=(2, 5, 4)),
    measure=shape,
    hint="Return one tensor, (batch, length, units), with the hidden state of every position.",
)
task.stage(
    "one step",
    case(
        "one unit, whose i, f, g and o are 1, 2, 0.5 and 3 before σ and tanh",
        *gated(1, 2, 0.5, 3),
    ),
    case("one row, one position", *of(1, 1)),
    hint="For 1, 2, 0.5 and 3, i is σ(1) = 0.731, g is tanh(0.5) = 0.462, and o is σ(3) = 0.953. "
    "So the cell state is 0.731 · 0.462 = 0.338, and the hidden state is 0.953 · tanh(0.338) = "
    "0.310. f does not matter yet, because the old cell state is 0.",
)
task.stage(
    "what the cell remembers",
    case(
        "2 rows, each 3 steps of a unit that keeps half of its cell state",
        *gated(0, 0, 1, 0, batch=2, length=3),
    ),
    case("3 steps of a unit that forgets everything", *gated(0, -30, 1, 0, length=3)),
    case("4 steps of a unit that forgets nothing", *gated(0, 30, 1, 0, length=4)),
    hint="The new cell state is f times the old one, plus i times g. In the unit that keeps "
    "half, f and i are 0.5 and g is 0.762 in each step, so its cell states are 0.381, 0.571 and "
    "0.666.",
)
task.stage(
    "what a step reads",
    case("3 steps of a unit that reads its own state", *gated(0, 1, 1, 0, length=3, recurrent=2)),
    case("one row of 2 positions", *of(1, 2, seed=1)),
    case("one row of 6 positions", *of(1, 6, seed=2)),
    hint="Each step adds `x[:, t] @ weight_ih.T`, the *hidden* state of the step before times "
    "`weight_hh.T`, and the bias.",
)
task.stage(
    "batches of all sizes",
    *(
        case(
            f"{batch} rows of {length} positions, {inputs} inputs and {units} units",
            *of(batch, length, inputs, units, seed=10 + batch),
        )
        for batch, length, inputs, units in ((2, 3, 2, 2), (3, 4, 5, 1), (4, 4, 4, 4), (5, 9, 2, 6))
    ),
    hint="Every row of the batch has states of its own, which begin with zeros, and its positions "
    "stand in the order of `x`.",
)
task.stage(
    "the gradient",
    case(
        "the names that no gradient reaches",
        *(NAMES, *of(2, 3, seed=4)),
        measure=unreached,
        expected=[],
        hint=NO_GRADIENT,
    ),
    *(case(f"the gradient for `{name}`", name, *of(2, 4, seed=5)) for name in NAMES),
    measure=gradient,
    expected=gradient_of_truth,
    tolerance=1e-4,
    hint="The gradient runs back through all steps: `h` and `c` are passed on as they are.",
)


def stepping(step, reads=lambda h, c: h, dim=1):
    """An LSTM with another `step((i, f, g, o), c)` to (h, c), or one that `reads` other states."""

    def wrong(x, weight_ih, weight_hh, bias):
        h = c = x.new_zeros(len(x), weight_hh.shape[1])
        states = []
        for t in range(x.shape[1]):
            total = x[:, t] @ weight_ih.T + reads(h, c) @ weight_hh.T + bias
            h, c = step(total.chunk(4, dim=-1), c)
            states.append(h)
        return torch.stack(states, dim=dim)

    return wrong


def right(gates, c):
    i, f, g, o = gates
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def of_cell(new, out=lambda o, c, old: o.sigmoid() * c.tanh()):
    """A step with another new cell state `new(i, f, g, c)`, or another hidden state."""

    def step(gates, c):
        i, f, g, o = gates
        cell = new(i, f, g, c)
        return out(o, cell, c), cell

    return step


def kept(i, f, g, c):
    return f.sigmoid() * c + i.sigmoid() * g.tanh()


def interleaved(weight):
    """The same rows in another order: those of a unit's four gates follow each other."""
    return weight.unflatten(0, (-1, 4)).transpose(0, 1).flatten(0, 1)


task.mistakes(
    (
        "The positions stand first here. `torch.stack(states, dim=1)` puts them behind the batch.",
        stepping(right, dim=0),
    ),
    (
        "This is the state of the last position alone. Collect the states of all positions.",
        lambda *given: lstm_cell(*given)[:, -1],
    ),
    (
        "Keep the axes of size 1: the states are always (batch, length, units).",
        lambda *given: lstm_cell(*given).squeeze(),
    ),
    (
        "The last two gates have changed places. The third part is the candidate g, with `tanh`, "
        "and the fourth the output gate o, with `sigmoid`.",
        stepping(lambda gates, c: right([gates[k] for k in (0, 1, 3, 2)], c)),
    ),
    (
        "The first two gates have changed places. The first part is the input gate i, and the "
        "second the forget gate f.",
        stepping(lambda gates, c: right([gates[k] for k in (1, 0, 2, 3)], c)),
    ),
    (
        "The cell state goes out without `tanh` here: h is o times tanh(c).",
        stepping(of_cell(kept, lambda o, c, old: o.sigmoid() * c)),
    ),
    (
        "The candidate g goes through σ here, so the cell could only grow. Use `g.tanh()`.",
        stepping(of_cell(lambda i, f, g, c: f.sigmoid() * c + i.sigmoid() * g.sigmoid())),
    ),
    (
        "The candidate g is used without `tanh` here.",
        stepping(of_cell(lambda i, f, g, c: f.sigmoid() * c + i.sigmoid() * g)),
    ),
    (
        "These are the cell states. Return the hidden states, h = o · tanh(c).",
        stepping(of_cell(kept, lambda o, c, old: c)),
    ),
    (
        "The first state is 0 here, as it is before the first step. Compute c first and h from the "
        "*new* c, and return the states after each step.",
        stepping(of_cell(kept, lambda o, c, old: o.sigmoid() * old.tanh())),
    ),
    (
        "The old cell state is lost here, so nothing is remembered. It belongs into the sum, times "
        "f.",
        stepping(of_cell(lambda i, f, g, c: i.sigmoid() * g.tanh())),
    ),
    (
        "The old cell state is kept whole here. The forget gate says how much of it stays: f · c.",
        stepping(of_cell(lambda i, f, g, c: c + i.sigmoid() * g.tanh())),
    ),
    (
        "The *cell* state is multiplied by `weight_hh` here. The gates read the hidden state h.",
        stepping(right, reads=lambda h, c: c),
    ),
    (
        "The gates do not read the state of the step before here. Add `h @ weight_hh.T`.",
        stepping(right, reads=lambda h, c: torch.zeros_like(h)),
    ),
    (
        "The axes of `x` are swapped here: the loop goes through the rows of the batch. The "
        "positions are the second axis, `x[:, t]`.",
        lambda x, *weights: lstm_cell(x.transpose(0, 1), *weights).transpose(0, 1),
    ),
    (
        "The states of one row go on into the next here. Each row begins with zeros.",
        lambda x, *weights: lstm_cell(x.flatten(0, 1)[None], *weights).view(*x.shape[:2], -1),
    ),
    (
        "All positions hold the same state, the last one. Compute a new tensor in each step, "
        "instead of changing one in place.",
        lambda *given: lstm_cell(*given)[:, -1:].expand(-1, given[0].shape[1], -1),
    ),
    (
        "The bias is missing in the gates.",
        lambda x, weight_ih, weight_hh, bias: lstm_cell(x, weight_ih, weight_hh, 0 * bias),
    ),
    (
        "Add the bias once: here it counts twice.",
        lambda x, weight_ih, weight_hh, bias: lstm_cell(x, weight_ih, weight_hh, 2 * bias),
    ),
    (
        "The gates are interleaved here. Cut the sums into four blocks, one behind the other.",
        lambda x, *weights: lstm_cell(x, *map(interleaved, weights)),
    ),
)
