"""Lesson 05: L2-SP, a loss that pulls the body towards its initial weights."""

import copy

import torch
from torch import nn

from tlcourse.exercises.adaptation._common import a_function, came, draw, failed
from tlcourse.exercises.expect import real_number
from tlcourse.exercises.task import Exercise, case

BATCH = (torch.ones(2, 5, dtype=torch.long), torch.ones(2, 5, dtype=torch.bool), torch.zeros(2))


class Small(nn.Module):
    """A body of two layers, and a head."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3))
        self.head = nn.Linear(3, 2)
        for seed, each in enumerate(self.parameters()):
            each.data = draw(*each.shape, seed=seed)

    def shift(self, shifts):
        """Adds `shifts[name]` to all numbers of each named parameter; returns the model."""
        for name, distance in shifts.items():
            self.get_parameter(name).data.add_(distance)
        return self


def term_after(candidate, shifts, strength):
    """The value of the term after `shifts`. As in training, it is called at every step."""
    model = Small()
    term = a_function(candidate(model, strength), "l2sp", "the classifier and a batch")
    steps = term(model, BATCH), term(model.shift(shifts), BATCH), term(model, BATCH)
    got = steps[-1]
    return got if real_number(got) is None else real_number(got)


task = Exercise(
    __name__,
    number="5.5",
    title="L2-SP: stay close",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "There are two moments. `l2sp` runs once, before the first step, and has to remember the "
        "value of every parameter of the body. `term` runs at every step.",
        "A parameter is changed in place, so a reference to it changes along with it. "
        "`p.detach().clone()` keeps the value that it had.",
        "The term is half the strength times the sum of `((p - start[name]) ** 2).sum()` over "
        "`for name, p in classifier.body.named_parameters()`.",
    ),
    imports="import copy\n\nimport torch",
    measure=term_after,
    tolerance=1e-5,
)


@task.reference
def l2sp(classifier, strength=0.01):
    """Returns (strength / 2) times the squared distance from the body as it is now, a function."""
    start = {name: p.detach().clone() for name, p in classifier.body.named_parameters()}

    def term(classifier, batch):
        moved = [p - start[name] for name, p in classifier.body.named_parameters()]
        return strength / 2 * sum((each**2).sum() for each in moved)

    return term


@task.truth
def by_counting(shifts, strength):
    """All numbers of a parameter change equally, so it is enough to count them."""
    of_body = {name: distance for name, distance in shifts.items() if name.startswith("body")}
    count = {name: parameter.numel() for name, parameter in Small().named_parameters()}
    return strength / 2 * sum((count[name] * each**2 for name, each in of_body.items()), 0.0)


def of_a_copy(candidate, shifts, strength):
    """The value of the term for a changed copy of the classifier."""
    model = Small()
    term = candidate(model, strength)
    return real_number(term(copy.deepcopy(model).shift(shifts), BATCH))


def gradients(candidate, shifts, strength):
    """The gradients of the body's first weight and last bias, one after the other."""
    model = Small()
    term = candidate(model, strength)
    got = term(model.shift(shifts), BATCH)
    if not getattr(got, "requires_grad", False):
        why = "Leave out `.item()`, and detach only what is remembered."
        raise failed("the term", f"{came(got)}, which carries no gradient", "a tensor", why)
    got.sum().backward()
    names = "body.0.weight", "body.1.bias"
    return torch.cat([model.get_parameter(name).grad.flatten() for name in names])


task.stage(
    "0 at the start",
    case("the term of a body that has not changed", {}, 0.5),
    hint="The distance is measured from the weights that the body has when `l2sp` is called, not "
    "from 0 as in weight decay.",
)
drawn = dict(zip(["body.0.bias", "body.1.weight"], draw(2).tolist(), strict=True))
task.stage(
    "one weight changes",
    case(
        "the term at strength 0.25, after each of the 12 numbers of a weight has grown by 3",
        *({"body.0.weight": 3.0}, 0.25),
        hint="The squared distance is 12 · 3². The term is half of it times the strength.",
    ),
    case(
        "the term at strength 0.01, after each of the 3 numbers of a bias has grown by 2",
        *({"body.1.bias": 2.0}, 0.01),
        hint="The squared distance is 3 · 2²: biases and norms belong to the body, too.",
    ),
    case(f"the term at strength 0.5, after the parameters have grown by {drawn}", drawn, 0.5),
)
task.stage(
    "the body alone",
    case("the term after only the head has changed", {"head.weight": 1.0, "head.bias": 1.0}, 0.5),
    hint="The head started from random numbers, which need not be kept: take the parameters of "
    "`classifier.body` alone.",
)
task.stage(
    "the pull",
    case(
        "the gradients of a weight that has grown by 2, and of a bias that has not changed",
        *({"body.0.weight": 2.0}, 0.5),
        expected=torch.tensor([1.0] * 12 + [0.0] * 3),
        measure=gradients,
        hint="The gradient is the strength times the distance. If it is NaN, sum the squares "
        "without a root, because a square root has no gradient at 0.",
    ),
    case(
        "the term at strength 0.25 of a copy of the classifier, 3 of whose numbers have grown by 2",
        *({"body.1.bias": 2.0}, 0.25),
        measure=of_a_copy,
        hint="`term` measures the classifier that it is called with, not the one that `l2sp` got.",
    ),
)


def costing(cost):
    """An answer: half the strength times `cost(distances)` of the parameters of the body."""

    def candidate(classifier, strength=0.01):
        start = [p.detach().clone() for p in classifier.body.parameters()]
        return lambda now, batch: (
            strength / 2 * cost([p - s for p, s in zip(now.body.parameters(), start, strict=True)])
        )

    return candidate


task.mistakes(
    (
        "The term is always 0, because what you remember changes along with the parameter. Copy "
        "it, once, before the first step: `p.detach().clone()`.",
        lambda *given: lambda *batch: torch.zeros(()),
    ),
    (
        "The term is twice as large as it should be: multiply by `strength / 2`.",
        lambda classifier, strength=0.01: l2sp(classifier, 2 * strength),
    ),
    (
        "This takes the mean of the squares of each parameter: take their sum.",
        costing(lambda distances: sum((each**2).mean() for each in distances)),
    ),
    (
        "This takes the distance itself, with a root: take its square, the sum of all squares.",
        costing(lambda distances: torch.cat([each.flatten() for each in distances]).norm()),
    ),
)
