"""Lesson 05: L2-SP, a loss that pulls the body to where it started."""

import copy

import torch
from torch import nn

from tlcourse.exercises.adaptation._common import came, draw, failed
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

    def move(self, moves):
        """Adds to all numbers of the named parameters; returns the model."""
        for name, far in moves.items():
            self.get_parameter(name).data.add_(far)
        return self


def term_after(candidate, moves, *strength):
    """What the term gives after `moves`, {name: how far each number moved}; a number.

    As in training it is called at every step: before they move, and three times after.
    """
    model = Small()
    term = candidate(model, *strength)
    if not callable(term):
        due = "a function of the classifier and a batch"
        raise failed("what `l2sp` returns", came(term), due)
    got = [term(model, BATCH)]
    model.move(moves)
    got += [term(model, BATCH) for _ in range(3 * bool(moves))]
    if real_number(got[-1]) is None:
        raise failed("what the term gives", came(got[-1]), "one number, a tensor")
    return real_number(got[-1])


task = Exercise(
    __name__,
    number="5.4",
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
    """(strength / 2) times the squared distance of the body from where it stands now."""
    start = {name: p.detach().clone() for name, p in classifier.body.named_parameters()}

    def term(classifier, batch):
        moved = [p - start[name] for name, p in classifier.body.named_parameters()]
        return strength / 2 * sum((each**2).sum() for each in moved)

    return term


@task.truth
def by_counting(moves, strength=0.01):
    """Every number of a parameter moves equally far: count them."""
    of_body = {name: far for name, far in moves.items() if name.startswith("body")}
    count = {name: parameter.numel() for name, parameter in Small().named_parameters()}
    return strength / 2 * sum((count[name] * far**2 for name, far in of_body.items()), 0.0)


def of_a_copy(candidate, moves, strength):
    """What the term gives for a copy of the classifier that has moved."""
    model = Small()
    term = candidate(model, strength)
    return real_number(term(copy.deepcopy(model).move(moves), BATCH))


def pull(candidate, far):
    """The gradient of the body's first weight, whose numbers moved by `far`; strength 0.5."""
    model = Small()
    term = candidate(model, 0.5)
    got = term(model.move({"body.0.weight": far}), BATCH)
    if not getattr(got, "requires_grad", False):
        why = "Leave out `.item()`, and detach only what is remembered."
        raise failed("the term", f"{came(got)}, which carries no gradient", "a tensor", why)
    got.sum().backward()
    return model.get_parameter("body.0.weight").grad


task.stage(
    "at the start it is 0",
    case("the term of a body that has not moved", {}, 0.5),
    hint="The distance is measured from where the body stands when `l2sp` is called, not from 0 as "
    "in weight decay.",
)
task.stage(
    "one weight moves",
    case(
        "the term at strength 0.25, called before each of 12 numbers of the body moves by 3, and "
        "three times after",
        {"body.0.weight": 3.0},
        0.25,
        hint="The squared distance is 12 · 3². The term is half of it times the strength.",
    ),
    case(
        "the term without a strength, which is then 0.01, after each of 3 numbers has moved by 2",
        {"body.1.bias": 2.0},
        hint="The squared distance is 3 · 2². The term is half of it times the strength.",
    ),
)
task.stage(
    "the body alone",
    case("the term after only the head has moved", {"head.weight": 1.0, "head.bias": 1.0}, 0.5),
    hint="The head began at random, so there is nothing to stay close to: take the parameters of "
    "`classifier.body` alone.",
)
task.stage(
    "the pull",
    case(
        "the gradient of a weight that has moved by 2, at strength 0.5",
        2.0,
        expected=torch.ones(3, 4),
        measure=pull,
        hint="The gradient is the strength times the distance.",
    ),
    case(
        "the gradient of a weight that has not moved",
        0.0,
        expected=torch.zeros(3, 4),
        measure=pull,
        hint="A square root has no gradient at 0: sum the squares, without a root.",
    ),
    case(
        "the term at strength 0.25 of a copy of the classifier, 3 of whose numbers have moved by 2",
        {"body.1.bias": 2.0},
        0.25,
        measure=of_a_copy,
        hint="`term` measures the classifier that it is handed, not the one that `l2sp` was given.",
    ),
)


def squared(distances, strength):
    """The right cost."""
    return strength / 2 * sum((each**2).sum() for each in distances)


def over(cost=squared, of=lambda model: model.body, remember=lambda p: p.detach().clone()):
    """An answer: `cost(distances, strength)` of the parameters of what `of` takes."""

    def candidate(classifier, strength=0.01):
        before = [remember(p) for p in of(classifier).parameters()]

        def term(now, batch):
            there = of(now).parameters()
            return cost([p - old for p, old in zip(there, before, strict=True)], strength)

        return term

    return candidate


task.mistakes(
    (
        "The term stays 0, because what you remember changes along with the parameter. Copy it, "
        "once, before the first step: `p.detach().clone()`.",
        over(remember=lambda p: p),
    ),
    (
        "Biases and norms belong to the body, too: take all of its parameters.",
        over(lambda d, s: squared([each for each in d if each.ndim > 1], s)),
    ),
    (
        "This is the mean of the squares. Take their sum.",
        over(lambda d, s: s / 2 * sum((each**2).mean() for each in d)),
    ),
    (
        "This is the distance. Take its square.",
        over(lambda d, s: s / 2 * torch.cat([each.flatten() for each in d]).norm()),
    ),
)
