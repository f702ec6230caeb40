"""Lesson 05: the training loop with four knobs, checked on a line whose steps NumPy computes."""

from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from tlcourse.adaptation.groups import Group
from tlcourse.exercises.adaptation._common import came, draw, failed
from tlcourse.exercises.task import Exercise, case

RATE = 0.1
NAMES = ["body.weight", "head.weight", "head.bias"]


class Line(nn.Module):
    """The sum of two linear layers, a body and a head, and of a third one if an edit adds it."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 1, bias=False), nn.Linear(3, 1)
        for seed, each in enumerate(self.parameters()):
            each.data = draw(*each.shape, seed=seed)

    def forward(self, x):
        return sum(layer(x) for layer in self.children())[:, 0]


def points(count):
    """Batches of different sizes: (x, y)."""
    return [
        (draw(4 + step % 3, 3, seed=step), draw(4 + step % 3, seed=99 - step) * 3)
        for step in range(count)
    ]


def squares(classifier, batch):
    """The mean loss of a batch."""
    x, y = batch
    return 0.5 * (classifier(x) - y).square().mean()


def add_layer(classifier):
    """An edit: a third linear layer, which starts at zero."""
    classifier.new = nn.Linear(3, 1, bias=False)
    nn.init.zeros_(classifier.new.weight)


def nothing(classifier):
    """The edit that adds nothing."""


def everything(classifier, added):
    """All parameters, the head three times as fast."""
    names = [name for name, _ in classifier.named_parameters() if not name.startswith("head.")]
    return {"body": Group(tuple(names)), "head": Group(("head.weight", "head.bias"), 3.0)}


def added_only(classifier, added):
    """What was added, at twice the rate, and the head."""
    return {"added": Group(tuple(added), 2.0), "head": Group(("head.weight", "head.bias"))}


def flat(steps, names):
    """One factor for all groups: 1 at every step."""
    return lambda step: 1.0


def falling(steps, names):
    """One factor for all groups, which falls to 0."""
    return lambda step: 1 - step / steps


def head_first(steps, names):
    """A factor for each group; the first one is frozen in the first half."""
    first, *others = names
    return lambda step: {first: float(step >= steps / 2)} | dict.fromkeys(others, 0.5)


def small_weights(classifier):
    """An extra loss: it pulls the body's weights towards 0."""
    return lambda model, batch: 0.2 * model.body.weight.square().sum()


def scheme(edit=nothing, groups=everything, schedule=flat, extra_loss=None):
    """A scheme's four choices; those that are not given are the plainest ones."""
    return SimpleNamespace(edit=edit, groups=groups, schedule=schedule, extra_loss=extra_loss)


def adapted(candidate, steps, **choices):
    """The line after so many steps, and the losses that the candidate returned."""
    line = Line()
    got = candidate(line, scheme(**choices), points(steps), squares, RATE)
    if not isinstance(got, list) or len(got) != steps:
        raise failed("what `four_knobs` returns", came(got), f"a list of {steps} losses")
    return line, got


def names_after(candidate, choices):
    """The names of the parameters after two steps."""
    return sorted(name for name, _ in adapted(candidate, 2, **choices)[0].named_parameters())


def changed(candidate, choices):
    """The names of the parameters that two steps changed."""
    after = adapted(candidate, 2, **choices)[0].state_dict()
    before = Line().state_dict() | {"new.weight": torch.zeros(1, 3)}
    return sorted(name for name, value in after.items() if not torch.equal(value, before[name]))


def numbers(candidate, steps, choices):
    """The losses, then the body's weights, the head's, its bias, and those of an added layer."""
    line, losses = adapted(candidate, steps, **choices)
    values = [p.detach().flatten() for p in line.parameters()]
    return [*map(float, losses), *torch.cat(values).tolist()]


task = Exercise(
    __name__,
    number="5.1",
    title="One loop, four knobs",
    difficulty=2,
    importance=5,
    minutes=15,
    hints=(
        "A scheme carries four functions, and the text says what each of them takes. Two of your "
        "lines call one, `scheme.edit` and `scheme.groups`; the other two use numbers and a "
        "function that the given lines have prepared.",
        "Line 1 is a bare call, `scheme.edit(classifier)`. Line 2 passes on the names of the new "
        "parameters: `scheme.groups(classifier, added)`.",
        "Line 3 is a product of three numbers: `learning_rate`, `group.factor` and `factor`. "
        "Line 4 adds `extra(classifier, batch)` to the loss.",
    ),
    imports="import torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    trains=True,
    measure=numbers,
    tolerance=1e-4,
)


@task.reference
def four_knobs(classifier, scheme, batches, task_loss, learning_rate):
    """Adapts `classifier` in place by `scheme`; returns the loss of each step."""
    old = set(classifier.parameters())
    scheme.edit(classifier)  # knob 1, edit
    named = dict(classifier.named_parameters())
    added = [name for name, p in named.items() if p not in old]
    groups = scheme.groups(classifier, added)  # knob 2, groups
    rows = [{"params": [named[name] for name in group.names]} for group in groups.values()]
    optimizer = torch.optim.AdamW(rows, betas=(0.9, 0.98), weight_decay=0.01)
    factors = scheme.schedule(len(batches), list(groups))
    extra = scheme.extra_loss(classifier) if scheme.extra_loss else None
    classifier.train().requires_grad_(False)  # frozen, except for what a step trains
    losses = []
    for step, batch in enumerate(batches):
        now = factors(step)
        for row, (name, group) in zip(optimizer.param_groups, groups.items(), strict=True):
            factor = now[name] if isinstance(now, dict) else now
            row["lr"] = learning_rate * group.factor * factor  # knob 3, schedule
            for p in row["params"]:
                p.requires_grad = row["lr"] > 0
        loss = task_loss(classifier, batch)
        if extra:
            loss = loss + extra(classifier, batch)  # knob 4, extra_loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(classifier.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@task.truth
def in_numpy(steps, choices):
    """The same line in NumPy, with gradients and AdamW written out."""
    chosen, line = scheme(**choices), Line()
    names = list(NAMES)
    if chosen.edit is add_layer:
        names.append("new.weight")
    values = {name: p.detach().double().numpy().ravel() for name, p in line.named_parameters()}
    values |= {name: np.zeros(3) for name in names if name not in values}
    rates = {"body.weight": 1.0, "new.weight": 1.0, "head.weight": 3.0, "head.bias": 3.0}
    group_of = dict.fromkeys(names, "body") | dict.fromkeys(names[1:3], "head")
    if chosen.groups is added_only:
        rates = {"new.weight": 2.0, "head.weight": 1.0, "head.bias": 1.0}
        group_of |= {"new.weight": "added"}
    order = list(dict.fromkeys(group_of[name] for name in names if name in rates))
    factors = chosen.schedule(steps, sorted(order, key=lambda group: group == "head"))
    state, losses = dict.fromkeys(names, (0, 0.0, 0.0)), []
    for step, (x, y) in enumerate(points(steps)):
        x, y, now = x.double().numpy(), y.double().numpy(), factors(step)
        off = x @ sum(values[name] for name in names if "weight" in name) + values["head.bias"] - y
        pull = 0.2 if chosen.extra_loss else 0.0
        losses.append(0.5 * (off**2).mean() + pull * (values["body.weight"] ** 2).sum())
        slopes = {}
        for name in rates.keys() & set(names):
            if (now[group_of[name]] if isinstance(now, dict) else now) > 0:
                slopes[name] = np.array([off.mean()]) if "bias" in name else x.T @ off / len(off)
        if "body.weight" in slopes:
            slopes["body.weight"] = slopes["body.weight"] + 2 * pull * values["body.weight"]
        norm = np.sqrt(sum((slope**2).sum() for slope in slopes.values()))
        for name, slope in slopes.items():
            factor = now[group_of[name]] if isinstance(now, dict) else now
            rate, slope = RATE * rates[name] * factor, slope * min(1.0, 1 / (norm + 1e-6))
            count, mean, square = state[name]
            count, mean = count + 1, 0.9 * mean + 0.1 * slope
            square = 0.98 * square + 0.02 * slope**2
            state[name] = count, mean, square
            mean, square = mean / (1 - 0.9**count), square / (1 - 0.98**count)
            decayed = values[name] * (1 - 0.01 * rate)
            values[name] = decayed - rate * mean / (np.sqrt(square) + 1e-8)
    return [*losses, *np.concatenate([values[name] for name in names]).tolist()]


ADD = {"edit": add_layer, "groups": added_only}
ADDED = ["head.bias", "head.weight", "new.weight"]
WHAT = "the losses, then the weights:"
task.stage(
    "knob 1, edit",
    case(
        "the names of the parameters, after a scheme whose edit adds the layer `new`",
        ADD | {"groups": everything},
        expected=sorted([*NAMES, "new.weight"]),
        measure=names_after,
    ),
    hint="The edit changes the classifier in place when it is called: `scheme.edit(classifier)`. "
    "It returns nothing, so there is nothing to assign.",
)
task.stage(
    "knob 2, groups",
    case(
        "the names of the parameters that two steps change, if all are trained",
        {},
        expected=sorted(NAMES),
        measure=changed,
    ),
    case(
        "the names of the parameters that two steps change, if only the new layer and the head are "
        "trained",
        ADD,
        expected=ADDED,
        measure=changed,
    ),
    hint="The groups depend on the classifier and on the names in `added`, and on nothing else.",
)
task.stage(
    "knob 3, schedule",
    case(f"{WHAT} 2 steps at a constant rate, the head three times as fast", 2, {}),
    case(f"{WHAT} 4 steps, the rate falls from step to step", 4, {"schedule": falling}),
    case(f"{WHAT} 4 steps, the body frozen in the first two", 4, {"schedule": head_first}),
    hint="The rate of a group is `learning_rate`, times the group's factor, times the schedule's "
    "factor for this step.",
)
task.stage(
    "knob 4, extra_loss",
    case(f"{WHAT} 3 steps with an extra loss", 3, {"extra_loss": small_weights}),
    hint="The loss of the step is the task's loss plus `extra(classifier, batch)`.",
)
task.stage(
    "four knobs at once",
    case(f"{WHAT} 6 steps of a layer added, falling rates, an extra loss", 6,
         {**ADD, "groups": everything, "schedule": falling, "extra_loss": small_weights}),
    case(f"{WHAT} 6 steps of a layer added and trained late, with the head", 6,
         {**ADD, "schedule": head_first, "extra_loss": small_weights}),
    hint="Each line alone is right. Leave the given lines as they are, in their order.",
)  # fmt: skip


def instead(**choices):
    """The reference for a scheme in which `choices` replace some of the four."""

    def candidate(classifier, scheme, batches, task_loss, learning_rate):
        put = {name: make(scheme) for name, make in choices.items()}
        other = SimpleNamespace(**{**vars(scheme), **put})
        return four_knobs(classifier, other, batches, task_loss, learning_rate)

    return candidate


def equal_groups(scheme):
    """The scheme's groups, all with the factor 1."""

    def groups(classifier, added):
        found = scheme.groups(classifier, added)
        return {name: Group(group.names) for name, group in found.items()}

    return groups


def extra_alone(classifier, scheme, batches, task_loss, learning_rate):
    """The extra loss, where there is one, in the place of the task's."""
    loss = (lambda *given: torch.zeros(())) if scheme.extra_loss else task_loss
    return four_knobs(classifier, scheme, batches, loss, learning_rate)


task.mistakes(
    (
        "The edit was never called, so nothing was added. Line 1 is `scheme.edit(classifier)`, "
        "with the parentheses.",
        instead(edit=lambda scheme: nothing),
    ),
    (
        "Line 2 passes on the names of all parameters, but only those that the edit added are "
        "needed: `scheme.groups(classifier, added)`.",
        instead(groups=lambda own: lambda model, _: own.groups(model, model.state_dict())),
    ),
    (
        "All groups are trained at the same rate. Multiply by `group.factor`, too: here the head "
        "is trained three times as fast as the body.",
        instead(groups=equal_groups),
    ),
    (
        "The rate is the same at every step. Multiply by `factor`, too, which is what the schedule "
        "returned for this step.",
        instead(schedule=lambda scheme: flat),
    ),
    (
        "The extra loss replaces the task's loss. Add it: `loss + extra(classifier, batch)`.",
        extra_alone,
    ),
    (
        "The extra loss has no effect. Line 4 assigns the sum to `loss`, from which the gradient "
        "is computed.",
        instead(extra_loss=lambda scheme: None),
    ),
)
