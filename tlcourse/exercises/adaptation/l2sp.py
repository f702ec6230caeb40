"""Lesson 05: L2-SP, a loss that pulls the body to where it started."""

import copy

import torch
from torch import nn

from tlcourse.exercises.adaptation._l2sp_mistakes import mistakes
from tlcourse.exercises.expect import CheckFailed, real_number, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="5.4",
    title="L2-SP: stay close",
    difficulty=2,
    minutes=10,
    hints=(
        "two moments: `l2sp` runs once, before the first step, and has to remember where every "
        "parameter of the body stands. `term` runs at every step.",
        "a parameter changes in place, so a reference to it follows it. "
        "`p.detach().clone()` keeps what it was.",
        "the term is half the strength times the sum of `((p - start[name]) ** 2).sum()` over "
        "`for name, p in classifier.body.named_parameters()`.",
    ),
    imports="import copy\n\nimport torch",
)


@task.reference
def l2sp(classifier, strength=0.01):
    """(strength / 2) times the squared distance of the body from where it stands now."""
    start = {name: p.detach().clone() for name, p in classifier.body.named_parameters()}

    def term(classifier, batch):
        moved = [p - start[name] for name, p in classifier.body.named_parameters()]
        return strength / 2 * sum((each**2).sum() for each in moved)

    return term


@task.right
def by_a_copy(classifier, strength=0.01):
    before = copy.deepcopy(classifier.body)

    def term(now, batch):
        total = torch.zeros(())
        for old, new in zip(before.parameters(), now.body.parameters(), strict=True):
            total = total + (new - old.detach()).square().sum()
        return 0.5 * strength * total

    return term


def flat(model):
    """All numbers of the body in one vector."""
    return torch.cat([p.flatten() for p in model.body.parameters()])


@task.right
def by_one_vector(classifier, strength=0.01):
    start = flat(classifier).detach()

    def term(model, batch):
        way = flat(model) - start
        return strength * torch.dot(way, way) / 2

    return term


class Small(nn.Module):
    """A body of two layers, and a head."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3))
        self.head = nn.Linear(3, 2)
        draw = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for each in self.parameters():
                each.copy_(torch.randn(each.shape, generator=draw))


BATCH = (torch.ones(2, 5, dtype=torch.long), torch.ones(2, 5, dtype=torch.bool), torch.zeros(2))


def cost(candidate, moves, strength=None):
    """What the term costs after `moves`, {name: how far each number moved}; a number.

    As in training it is asked at every step: before they move, and three times after.
    """
    model = Small()
    term = candidate(model) if strength is None else candidate(model, strength)
    if not callable(term):
        came = "None (is a `return` missing?)" if term is None else short(term)
        raise CheckFailed(f"l2sp(classifier) gave {came}; expected a function of classifier and batch.")
    got = term(model, BATCH)
    with torch.no_grad():
        for name, far in moves.items():
            model.get_parameter(name).add_(far)
    for _ in range(3 * bool(moves)):
        got = term(model, BATCH)
    if real_number(got) is None:
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise CheckFailed(f"the term gave {came}; expected one number, a tensor of one.")
    return got


def number(candidate, moves, strength=None):
    """The same as a float."""
    return real_number(cost(candidate, moves, strength))


def follow(candidate, moves, strength, gives, what, likely):
    """Raises CheckFailed unless the term costs `gives` after `moves`."""
    task.observe(
        candidate, number, moves, strength, gives=gives, what=what, likely=likely, tolerance=1e-5
    )


@task.stage("at the start it is 0")
def start(candidate):
    follow(
        candidate, {}, 0.5, 0.0, "a body that has not moved",
        "The distance is that from where the body stands when `l2sp` is called, not from 0.",
    )  # fmt: skip


@task.stage("one weight moves")
def one(candidate):
    follow(
        candidate, {"body.0.weight": 3.0}, 0.25, 13.5,
        "strength 0.25, and each of 12 numbers of the body moved by 3, where the term is asked "
        "before and three times after: the term",
        "The squared distance is 12 · 3², and half of it times the strength counts.",
    )  # fmt: skip
    follow(
        candidate, {"body.1.bias": 2.0}, 0.25, 1.5,
        "strength 0.25, and each of 3 numbers of the body moved by 2: the term",
        "The squared distance is 3 · 2², and half of it times the strength counts.",
    )  # fmt: skip
    follow(
        candidate, {"body.1.bias": 2.0}, None, 0.06,
        "the same without a strength (0.01 is the default): the term",
        "`strength=0.01` stands in the first line of the function.",
    )  # fmt: skip


@task.stage("the body alone")
def body_alone(candidate):
    follow(
        candidate, {"head.weight": 1.0, "head.bias": 1.0}, 0.5, 0.0,
        "only the head moved: the term",
        "The head began at random: there is nothing to stay close to. Take `classifier.body`.",
    )  # fmt: skip
    follow(
        candidate, {"body.0.weight": 1.0, "body.0.bias": -1.0, "head.bias": 5.0}, 2.0, 15.0,
        "strength 2, and 15 numbers of the body moved by 1 or -1: the term",
        "All parameters of the body count, and only those.",
    )  # fmt: skip


def of_another(candidate):
    """What the term costs for a copy of the classifier, 3 of whose numbers moved by 2."""
    model = Small()
    term, other = candidate(model, 0.25), copy.deepcopy(model)
    with torch.no_grad():
        other.get_parameter("body.1.bias").add_(2.0)
    return real_number(term(other, BATCH))


def pull(candidate, far=2.0):
    """The gradient of the body's first weight, whose numbers moved by `far`; strength 0.5."""
    model = Small()
    term = candidate(model, 0.5)
    weight = model.get_parameter("body.0.weight")
    with torch.no_grad():
        weight.add_(far)
    got = term(model, BATCH)
    if not getattr(got, "requires_grad", False):
        raise CheckFailed(
            "the term carries no gradient, so that nothing would be pulled: leave out `.item()`, "
            "and detach only what is remembered."
        )
    got.sum().backward()
    return weight.grad


@task.stage("the pull")
def gradient(candidate):
    task.observe(
        candidate, pull, gives=torch.ones(3, 4), tolerance=1e-5,
        what="the gradient of a weight that has moved by 2, strength 0.5,",
        likely="It is the strength times the distance.",
    )  # fmt: skip
    task.observe(
        candidate, pull, 0.0, gives=torch.zeros(3, 4), tolerance=1e-5,
        what="the gradient of a weight that has not moved",
        likely="At 0 a square root has no slope: sum the squares, without a root.",
    )  # fmt: skip
    task.observe(
        candidate, of_another, gives=1.5, tolerance=1e-5,
        what="strength 0.25, and `term` handed a copy, 3 of whose numbers moved by 2: the term",
        likely="`term` takes the classifier that it is handed, not the one that `l2sp` was given.",
    )  # fmt: skip


for stage, says, wrong in mistakes(l2sp):
    task.mistake(stage, says)(wrong)
