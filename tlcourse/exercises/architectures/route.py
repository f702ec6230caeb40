"""Lesson 10b: a layer of experts, of which each token uses one (Switch; Fedus et al., 2022)."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.architectures._common import with_functions
from tlcourse.exercises.expect import CheckFailed, expect_shape
from tlcourse.exercises.objectives._common import kind
from tlcourse.exercises.pretraining._common import several
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import NO_GRADIENT, draw

NAMES = ("output", "counts")

task = Exercise(
    __name__,
    number="10b.3",
    title="Send each token to its expert",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "Go through the experts, not through the tokens: which tokens belong to expert e, and "
        "where do its outputs belong?",
        "`gate, chosen = router(x).softmax(dim=-1).max(dim=-1)` has the largest probability of "
        "each token, and the number of its expert. `torch.bincount(chosen, minlength=len(experts)"
        ")` counts the tokens of each expert.",
        "With `mine = chosen == e` and `output = torch.zeros_like(x)`, the outputs of expert e go "
        "back to their rows by `output[mine] = gate[mine, None] * experts[e](x[mine])`.",
    ),
    imports="import torch\nfrom torch.nn import functional as F",
    tolerance=1e-4,
)


@task.reference
def route(x, router, experts):
    """(tokens, width) to the same, and the number of tokens that each expert received."""
    gate, chosen = router(x).softmax(dim=-1).max(dim=-1)
    output = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        mine = chosen == number
        output[mine] = gate[mine, None] * expert(x[mine])
    return output, torch.bincount(chosen, minlength=len(experts))


@task.truth
def token_by_token(x, scores, weights):
    """One token after another, in double precision; Python's `max` chooses."""
    x, scores, weights = x.double(), scores.double(), weights.double()
    rows = []
    for token in x:
        own = [row @ token for row in scores]
        best = max(range(len(own)), key=own.__getitem__)
        gate = own[best].exp() / sum(score.exp() for score in own)
        rows.append(gate * torch.tanh(weights[best] @ token))
    return torch.stack(rows)


def expect_rows(rows, width, number):
    """Raises CheckFailed unless an expert reads a matrix of that width."""
    if tuple(rows.shape[1:]) != (width,):
        raise CheckFailed(
            check=f"what expert {number} reads",
            yours=f"a tensor of shape {tuple(rows.shape)}",
            expected=f"a tensor of shape (n, {width})",
            why="Pass an expert all of its tokens at once, a row for each.",
        )


def functions(x, scores, weights, read=None):
    """The router, and experts that append what they read to `read[expert]`, if there is one.

    `scores` (experts, width) are the weights of the router, and expert e returns
    tanh(`weights[e]` · token).
    """

    def expert(number, weight):
        def run(rows):
            if read is not None:
                expect_rows(rows, x.shape[1], number)
                read[number].append(rows.detach())
            return torch.tanh(F.linear(rows, weight))

        return run

    experts = [expert(number, weight) for number, weight in enumerate(weights)]
    return x, (lambda rows: F.linear(rows, scores)), experts


def both(candidate, *given):
    """The output and the counts; raises CheckFailed unless these are two values."""
    return several(with_functions(candidate, *functions(*given)), *NAMES)


def kinds(candidate, *given):
    """What each of the two holds, and its shape."""
    return [kind(each) for each in both(candidate, *given)]


def counts(candidate, *given):
    found = both(candidate, *given)[1]
    expect_shape(
        found, (len(given[2]),), "the shape of `counts`", "Experts without tokens are counted, too."
    )
    return found.tolist()


def total(candidate, *given):
    return sum(counts(candidate, *given))


def output(candidate, *given):
    found = both(candidate, *given)[0]
    expect_shape(found, tuple(given[0].shape), "the shape of `output`")
    return found.detach()


def reads(candidate, x, *weights):
    """The numbers of the tokens that each expert reads; raises CheckFailed for a second call."""
    read = [[] for _ in weights[1]]
    with_functions(candidate, *functions(x, *weights, read))
    for number, calls in enumerate(read):
        if len(calls) > 1:
            raise CheckFailed(
                check=f"how often expert {number} is called",
                yours=f"{len(calls)} times",
                expected="once at most",
                why="Call an expert once, with all of its tokens: one large matrix product is much "
                "faster than many small ones.",
            )
    return [[token(x, row) for rows in calls for row in rows] for calls in read]


def token(x, row):
    """The number of a row of x; "?" for a row that is not in x."""
    places = (x == row).all(1).nonzero().flatten().tolist()
    return places[0] if places else "?"


task.measure = output


def gradients(candidate, *given):
    """The gradient for x, the router and each expert, by name; None where none arrives."""
    leaves = [each.clone().requires_grad_() for each in given[:2]]
    weights = [weight.clone().requires_grad_() for weight in given[2]]
    found = several(candidate(*functions(1 * leaves[0], leaves[1], weights)), *NAMES)[0]
    if found.requires_grad:
        found.square().sum().backward()
    names = ("x", "router", *(f"expert {number}" for number in range(len(weights))))
    return {name: leaf.grad for name, leaf in zip(names, leaves + weights, strict=True)}


def reached(candidate, *given):
    """The names of what a gradient reaches."""
    return [name for name, each in gradients(candidate, *given).items() if each is not None]


def gradient(candidate, place, *given):
    return gradients(candidate, *given)[("x", "router")[place]]


def gradient_of_truth(place, *given):
    leaves = [each.double().requires_grad_() for each in given]
    loss = token_by_token(*leaves).square().sum()
    return torch.autograd.grad(loss, leaves[place])[0]


def of(tokens, experts, width=4, seed=0):
    """The arguments of a case: random tokens, router and experts."""
    parts = ((tokens, width), (experts, width), (experts, width, width))
    return tuple(draw(*size, seed=seed + 100 * n) for n, size in enumerate(parts))


def choosing(*numbers, experts=3, seed=0):
    """Arguments in which token t chooses expert `numbers[t]`, with nearly all of the probability.

    The scores are ten times the features of a token, of which there is one for each expert.
    """
    noise = 0.3 * draw(len(numbers), experts, seed=seed)
    x = 5.0 * F.one_hot(torch.tensor(numbers), experts) + noise
    return x, 10 * torch.eye(experts), 0.2 * draw(experts, experts, experts, seed=seed + 1)


def negative(*numbers):
    """As `choosing` among two experts, but the score of expert `numbers[t]` is about -50."""
    x, scores, weights = choosing(*numbers, experts=2)
    return x, -scores, weights


def undecided(tokens, experts, width=4):
    """Arguments in which all scores are 0."""
    x, scores, weights = of(tokens, experts, width)
    return x, 0 * scores, weights


def preferring(*numbers, experts=3):
    """How a message describes the arguments of `choosing`."""
    return (
        f"if {len(numbers)} tokens choose the experts {', '.join(map(str, numbers))} of {experts}"
    )


MIXED, UNUSED, ONE = (2, 0, 1, 0, 2), (1, 1, 1, 0), (3,)
UNSURE = torch.tensor([[2.0, 0.0], [3.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
RANDOM = [(1 + seed * 5 % 9, 1 + seed % 5, 3 + seed % 3, 20 + seed) for seed in range(15)]
task.stage(
    "two results",
    case(
        "the type and shape of `output` and `counts` for 5 tokens of width 4 and 3 experts",
        *of(5, 3),
        expected=[("floats", 5, 4), ("integers", 3)],
    ),
    measure=kinds,
    hint="End with `return output, counts`, two tensors: a row for each token, and a whole number "
    "for each expert, with or without tokens.",
)
task.stage(
    "how many tokens",
    case(f"`counts` {preferring(*MIXED)}", *choosing(*MIXED), expected=[2, 1, 2]),
    case(f"`counts` {preferring(*UNUSED)}", *choosing(*UNUSED), expected=[1, 3, 0]),
    case(
        f"`counts` {preferring(*ONE, experts=4)}", *choosing(*ONE, experts=4), expected=[0, 0, 0, 1]
    ),
    case(
        "`counts` for 3 tokens and 2 experts, if the scores of tokens 0 and 1 are near 0 and -50, "
        "and those of token 2 near -50 and 0",
        *negative(1, 1, 0),
        expected=[2, 1],
        hint="The largest score is not the one that is furthest from 0.",
    ),
    case(
        "the sum of `counts` for 4 tokens and 3 experts, if all scores are equal",
        *undecided(4, 3),
        measure=total,
        expected=4,
        hint="A token has one expert, even if several have the largest score: `argmax` and `max` "
        "return one of them.",
    ),
    measure=counts,
    hint="Each token counts once, for the expert with its largest score. There is a number for "
    "every expert, 0 for one that no token chose.",
)
task.stage(
    "what the experts read",
    case(
        f"the numbers of the tokens that each expert reads, {preferring(*MIXED)}",
        *choosing(*MIXED),
        expected=[[1, 3], [2], [0, 4]],
    ),
    case(
        f"the numbers of the tokens that each expert reads, {preferring(*UNUSED)}",
        *choosing(*UNUSED),
        expected=[[3], [0, 1, 2], []],
    ),
    case(
        "the numbers of the tokens that each expert reads, if tokens 0, 1 and 2 choose expert 0 "
        "with the probabilities 0.88, 0.95 and 0.73, and token 3 chooses expert 1",
        *(UNSURE, torch.eye(2), draw(2, 2, 2)),
        expected=[[0, 1, 2], [3]],
    ),
    measure=reads,
    hint="An expert reads the rows of x that chose it, as they are and in their order: `x[chosen "
    '== e]`. (A "?" is a row that is not in x.) Reading fewer tokens is what makes a layer of '
    "experts cheap.",
)
task.stage(
    "in the order of the tokens",
    case(f"`output` {preferring(*MIXED)}", *choosing(*MIXED)),
    case(f"`output` {preferring(2, 2, 0, 1, 0, 1)}", *choosing(2, 2, 0, 1, 0, 1, seed=2)),
    hint="Row t of the output is what the expert of token t returns. The factor is nearly 1 here: "
    "the largest probability of a single softmax over the experts. If your rows are right but in "
    "another order, note that `order.argsort()` undoes a sorting by `order`.",
)
task.stage(
    "times the probability",
    case("`output` for 3 tokens and one expert, whose probability is 1", *of(3, 1, seed=3)),
    case("`output` for 4 tokens and 2 experts", *of(4, 2, seed=4)),
    case("`output` for 6 tokens and 3 experts", *of(6, 3, seed=5)),
    *(
        case(
            f"`output` for {n} tokens of width {width} and {experts} experts",
            *of(n, experts, width, seed),
        )
        for n, experts, width, seed in RANDOM
    ),
    hint="Multiply what the expert returns by its probability, which is the largest of "
    "`router(x).softmax(dim=-1)` in the row of the token.",
)
task.stage(
    "the gradient",
    case(
        "the names that a gradient reaches, if all 3 experts are used",
        *choosing(*MIXED, seed=6),
        measure=reached,
        expected=["x", "router", "expert 0", "expert 1", "expert 2"],
        hint=NO_GRADIENT,
    ),
    case(
        "the gradient for the weights of the router, 6 tokens and 3 experts", 1, *of(6, 3, seed=7)
    ),
    case("the gradient for x, 6 tokens and 3 experts", 0, *of(6, 3, seed=8)),
    measure=gradient,
    expected=gradient_of_truth,
    hint="Choosing an expert has no gradient, so the router learns only from the probability by "
    "which the output is multiplied. Is a part of it detached?",
)


def gated(gate):
    """The reference with another factor for the output of the chosen expert: `gate(scores)`."""

    def wrong(x, router, experts):
        scores = router(x)
        chosen, output = scores.argmax(-1), torch.zeros_like(x)
        for number, expert in enumerate(experts):
            mine = chosen == number
            output[mine] = gate(scores)[mine, None] * expert(x[mine])
        return output, chosen.bincount(minlength=len(experts))

    return wrong


def dense(x, router, experts):
    gate, chosen = router(x).softmax(-1).max(-1)
    outputs = torch.stack([expert(x) for expert in experts])
    mixed = gate[:, None] * outputs[chosen, torch.arange(len(x))]
    return mixed, chosen.bincount(minlength=len(experts))


def by_expert(x, router, experts):
    """The outputs of expert 0, then those of expert 1, and so on."""
    output, counts = route(x, router, experts)
    return output[router(x).argmax(-1).sort(stable=True).indices], counts


task.mistakes(
    (
        "Every expert reads every token here. That can give the same output, but the layer is "
        "cheap only if each token is computed once: pass `x[chosen == e]`.",
        dense,
    ),
    (
        "The outputs are joined expert by expert, so they no longer belong to their tokens. "
        "Assign them to their rows: `output[chosen == e] = ...`.",
        by_expert,
    ),
    (
        "The output is not multiplied by the probability, so the router gets no gradient and "
        "never learns. (A softmax over one score is always 1: take it over the scores of all "
        "experts.) Multiply by the largest probability.",
        gated(lambda scores: torch.ones(len(scores))),
    ),
    (
        "The output is multiplied by the score itself, which can be negative or large. Take the "
        "softmax over the experts first.",
        gated(lambda scores: scores.amax(-1)),
    ),
    (
        "The softmax is over the tokens here, so a token's factor depends on the other tokens. "
        "Take it over the experts, `dim=-1`.",
        gated(lambda scores: scores.softmax(0).gather(1, scores.argmax(-1)[:, None])[:, 0]),
    ),
    (
        "The probability is detached, so the router gets no gradient, and its choices stay as "
        "random as they were at first. Multiply by the probability as the softmax returns it.",
        gated(lambda scores: scores.detach().softmax(-1).amax(-1)),
    ),
)
