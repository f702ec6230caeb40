"""Lesson 10b: attention to a segment and to the memory before it (Dai et al., 2019)."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.architectures._common import with_functions
from tlcourse.exercises.expect import CheckFailed, expect_shape, expect_type
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import NO_GRADIENT, draw

FUNCTIONS = ("query", "key", "value")

task = Exercise(
    __name__,
    number="10b.1",
    title="Attention with a memory",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "Which states need queries, and which need keys and values? Outputs are needed for the "
        "segment only, but it attends to the memory, too.",
        "`source = torch.cat([memory.detach(), x])` has the states that are attended to. The "
        "scores `query(x) @ key(source).T` are (length, past + length).",
        "Row i may attend to the columns 0 to past + i: `torch.ones(length, past + length, "
        "dtype=torch.bool).tril(diagonal=past)`. Set all other scores to -infinity.",
    ),
    imports="import torch\nfrom torch.nn import functional as F",
    tolerance=1e-4,
)


@task.reference
def attend_with_memory(x, memory, query, key, value):
    """(length, width) to the same; memory (past, width) has the states of earlier segments."""
    source = torch.cat([memory.detach(), x])
    scores = query(x) @ key(source).T / x.shape[1] ** 0.5
    seen = torch.ones_like(scores, dtype=torch.bool).tril(diagonal=len(memory))
    return scores.masked_fill(~seen, -torch.inf).softmax(dim=-1) @ value(source)


@task.truth
def position_by_position(x, memory, weights):
    """One query at a time, which reads what is there so far, in double precision."""
    (query, key, value), rows = map(linear, weights.double()), []
    states = [*memory.double().detach()]
    for state in x.double():
        states.append(state)
        scores = [query(state) @ key(each) / len(state) ** 0.5 for each in states]
        shares = [(score - max(scores)).exp() for score in scores]
        mixed = sum(share * value(each) for share, each in zip(shares, states, strict=True))
        rows.append(mixed / sum(shares))
    return torch.stack(rows)


def linear(weights):
    """A linear layer, whose bias is the last column of `weights` (width, width + 1)."""
    return lambda rows: F.linear(rows, weights[:, :-1], weights[:, -1])


def out(candidate, x, memory, weights):
    """What the candidate returns; raises CheckFailed if that has another shape than x."""
    found = with_functions(candidate, x, memory, *map(linear, weights))
    expect_shape(found, tuple(x.shape), "what your function returns")
    return found


def shape(candidate, x, memory, weights):
    found = with_functions(candidate, x, memory, *map(linear, weights))
    expect_type(found, torch.Tensor, "what your function returns")
    return tuple(found.shape)


def gradients(compute, x, memory, weights):
    """The gradient for x, the memory and the weights of each function; None where none arrives.

    `compute` takes (x, memory, weights). The memory is not a leaf, as in a model of several layers.
    """
    leaves = [each.clone().requires_grad_() for each in (x, memory, *weights)]
    past = 1 * leaves[1]
    found = compute(leaves[0], past, leaves[2:])
    if not past.requires_grad:
        raise CheckFailed(
            check="argument 2, `memory`, after the call",
            yours="a tensor without a gradient",
            expected="unchanged",
            why="`memory.detach_()` changes the tensor of the caller. Use `memory.detach()`.",
        )
    if found.requires_grad:
        found.square().sum().backward()
    return {name: leaf.grad for name, leaf in zip(("x", "memory", *FUNCTIONS), leaves, strict=True)}


def of_answer(candidate, *given):
    return gradients(lambda x, memory, parts: candidate(x, memory, *map(linear, parts)), *given)


def reached(candidate, *given):
    """The names of what a gradient reaches."""
    return [name for name, each in of_answer(candidate, *given).items() if each is not None]


def gradient(candidate, name, x, *given):
    """The gradient for x, or for the weights of a function without its bias."""
    return of_answer(candidate, x, *given)[name][:, : x.shape[1]]


def gradient_of_truth(name, *given):
    """The same from the truth."""

    def compute(x, memory, parts):
        return position_by_position(x, memory, torch.stack(parts))

    found = gradients(compute, *(each.double() for each in given))[name]
    return found[:, : given[0].shape[1]]


task.measure = out


def of(past, length, width=4, seed=0, size=1.0):
    """The arguments of a case: random states, and a function each for query, key and value."""
    states = draw(past + length, width, seed=seed)
    weights = size * draw(3, width, width + 1, seed=100 + seed)
    return states[past:], states[:past], weights


def column(*values):
    return torch.tensor(values)[:, None]


# A query of 0, so that all weights are equal; a key and a value that return the states.
MEAN = torch.tensor([[[0.0, 0.0]], [[1.0, 0.0]], [[1.0, 0.0]]])
# All scores are -80, a query of 1 times a key of -80; the value returns the states.
LOW = torch.tensor([[[0.0, 1.0]], [[0.0, -80.0]], [[1.0, 0.0]]])
RANDOM = [(seed % 7, 1 + seed * 3 % 5, 2 + seed % 4, 10 + seed) for seed in range(15)]
task.stage(
    "a row for each position",
    case(
        "the shape for a segment of 3 positions, a memory of 5 and width 4",
        *of(5, 3),
        expected=(3, 4),
    ),
    measure=shape,
    hint="The result has a row for each position of the segment, so the queries come from `x` "
    "only. The scores are (length, past + length), and the values (past + length, width).",
)
task.stage(
    "without a memory",
    case(
        "a segment of 1 position, an empty memory",
        *of(0, 1),
        hint="A single position attends to itself, with the weight 1: the result is `value(x)`.",
    ),
    case("a segment of 5 positions, an empty memory", *of(0, 5, seed=1)),
    case(
        "`x=[[1], [1e8]]`, an empty memory, scores of -80, and the states themselves as values",
        *(column(1.0, 1e8), column(), LOW),
        hint="Position 0 sees only itself, however low its score is. Set masked scores to "
        "-infinity: with a number such as -100 they keep some weight.",
    ),
    hint="Without a memory this is causal attention: position i attends to the positions 0 to i, "
    "and the scores are divided by `width ** 0.5`.",
)
task.stage(
    "with a memory",
    case(
        "`x=[[1], [2]]`, `memory=[[6], [9]]`, a query of 0, and the states themselves as values",
        *(column(1.0, 2.0), column(6.0, 9.0), MEAN),
        expected=[[16 / 3], [4.5]],
        hint="With a query of 0 all weights are equal, so the result is a mean: of 6, 9 and 1 for "
        "position 0, and of 6, 9, 1 and 2 for position 1.",
    ),
    case("a segment of 2 positions, a memory of 3", *of(3, 2, seed=2)),
    case("a segment of 1 position, a memory of 6", *of(6, 1, seed=3)),
    case("a segment of 5 positions, a memory of 2", *of(2, 5, seed=4)),
    hint="Keys and values come from the memory and the segment, by the same two functions. Each "
    "position attends to the whole memory, and to the segment up to itself.",
)
task.stage(
    "other sizes",
    *(
        case(
            f"{length} positions of width {width}, a memory of {past}",
            *of(past, length, width, seed),
        )
        for past, length, width, seed in RANDOM
    ),
    hint="The memory may be longer or shorter than the segment, and width is `x.shape[1]`.",
)
task.stage(
    "the gradient",
    case(
        "the names that a gradient reaches",
        *of(3, 4, seed=6),
        measure=reached,
        expected=["x", *FUNCTIONS],
        hint=f"{NO_GRADIENT} Only the memory is detached.",
    ),
    *(
        case(
            f"the gradient for the weights of `{name}`",
            name,
            *of(3, 4, seed=7, size=0.5),
        )
        for name in ("value", "key", "query")
    ),
    case(
        "the gradient for x",
        *("x", *of(3, 4, seed=8, size=0.5)),
        hint="x gets a gradient through its queries, its keys and its values. Detach only the "
        "memory, before it is joined with x.",
    ),
    measure=gradient,
    expected=gradient_of_truth,
    tolerance=1e-3,
    hint="The memory is a constant, but `key` and `value` learn from it as from x. Detach the "
    "memory before they are applied, and nothing after that.",
)


def attending(source, mask=lambda seen, past: seen.tril(past), ask=lambda x, memory: x, scale=0.5):
    """The reference with another source, mask (of ones), queries, or power of the width."""

    def wrong(x, memory, query, key, value):
        states, asks = source(x, memory), ask(x, memory)
        scores = query(asks) @ key(states).T / x.shape[1] ** scale
        seen = mask(torch.ones_like(scores, dtype=torch.bool), len(memory))
        return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ value(states)

    return wrong


def joined(x, memory):
    return torch.cat([memory.detach(), x])


task.mistakes(
    (
        "The positions of the memory get rows, too. They had their outputs in the segment before, "
        "so compute queries from `x` only.",
        attending(joined, lambda seen, past: seen.tril(), joined),
    ),
    (
        "The scores are not scaled: divide them by `x.shape[1] ** 0.5`.",
        attending(joined, scale=0),
    ),
    (
        "The mask begins at the top left corner, as it does with PyTorch's `is_causal=True`, so "
        "position i sees only the columns 0 to i. Its own column is past + i: use "
        "`tril(diagonal=past)`.",
        attending(joined, lambda seen, past: seen.tril()),
    ),
    (
        "The memory changes nothing here. Apply `key` and `value` to the memory and the segment, "
        "and let every position attend to the whole memory.",
        attending(lambda x, memory: x, lambda seen, past: seen.tril()),
    ),
    (
        "The memory stands behind the segment here, but the mask is for a memory before it, so "
        "positions see the future: `torch.cat([memory, x])`.",
        attending(lambda x, memory: torch.cat([x, memory.detach()])),
    ),
    (
        "The gradient flows into the memory, and through it into all earlier segments, whose "
        "computation would have to be kept. Use `memory.detach()`.",
        attending(lambda x, memory: torch.cat([memory, x])),
    ),
)
