"""Lesson 07: a linear probe, from the features to the class.

The right classes are known: those of clouds that do not touch, or of a linear rule with noise,
which no probe can beat by much.
"""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_shape, expect_unchanged, short
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

FROZEN = "The features are frozen: begin with `features.detach()`."


def right_of(guesses, labels):
    """The share of guesses that are right, rounded to two digits."""
    return round((torch.as_tensor(guesses) == labels).double().mean().item(), 2)


def fitted(candidate, train, classes=3, steps=100):
    """The function that the candidate returns; raises CheckFailed for anything else."""
    torch.manual_seed(0)
    predict = expect_unchanged(candidate, *train, classes, steps)
    if not callable(predict):
        raise CheckFailed(
            check="what `linear_probe` returns",
            yours=short(predict),
            expected="a function that predicts",
            why="Is a `return` missing?" if predict is None else "",
        )
    return predict


def share(candidate, train, new, classes=3, steps=100, enough=1.0):
    """The share of new examples whose class is predicted, or `enough` if it is larger."""
    return min(right_of(fitted(candidate, train, classes, steps)(new[0]), new[1]), enough)


task = Exercise(
    __name__,
    number="7.2",
    title="A linear probe",
    difficulty=3,
    importance=5,
    minutes=20,
    hints=(
        "There are five parts: the mean and standard deviation of each column of `features`; an "
        "`nn.Linear(width, classes)`; a loop over `steps`; in it the cross-entropy of *all* "
        "examples; at the end a function that treats new features in the same way.",
        "Begin with `features.detach()`, because the probe is trained, but not the model that "
        "computed the features. A column that never varies has a standard deviation of 0: "
        "`.clamp(min=1e-6)` avoids the division by 0.",
        "A step is four lines: the loss, `optimizer.zero_grad()`, `loss.backward()`, "
        "`optimizer.step()`. `torch.optim.Adam(layer.parameters(), lr=0.05)` will do.",
        "Define a function inside yours and return it: `def predict(new)`, with the mean and "
        "standard deviation of the *training* features, and `.argmax(dim=1)` of the scores.",
    ),
    imports="import numpy as np\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F",
    trains=True,
    measure=share,
)


@task.reference
def linear_probe(features, labels, classes, steps=300):
    """Learns from (n, width) and (n,) labels; returns a function (m, width) → (m,) classes."""
    features = features.detach()
    mean, deviation = features.mean(dim=0), features.std(dim=0).clamp(min=1e-6)
    inputs = (features - mean) / deviation
    layer = nn.Linear(features.shape[1], classes)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(steps):
        loss = F.cross_entropy(layer(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def predict(new):
        return layer((new - mean) / deviation).argmax(dim=1)

    return predict


@task.truth
def as_many_as_can_be(train, new, classes=3, steps=100, enough=1.0):
    return enough


def clouds(each, seed, numbers=(0, 1, 2)):
    """Features (n, 4) and labels (n,): `each` examples of each class, which has its own cloud."""
    draw = torch.Generator().manual_seed(varying(seed))
    places = torch.arange(len(numbers)).repeat(each)
    features = torch.rand(len(places), 4, generator=draw) - 0.5
    features[torch.arange(len(places)), places] += 3
    return features, torch.tensor(numbers)[places]


def resized(features, labels):
    """The same clouds with columns of other sizes; the largest column is of no use."""
    sizes, shifts = torch.tensor([0.001, 1000, 0.01, 10000]), torch.tensor([0, 5000, 0, 0])
    return features * sizes + shifts, labels


def line(seed):
    """Features (45, 1) and labels (45,): three classes on a line, the middle one around 0."""
    labels = torch.arange(3).repeat(15)
    jitter = torch.rand(45, generator=torch.Generator().manual_seed(varying(seed))) - 0.5
    return (3 * (labels - 1) + jitter)[:, None], labels


def noisy(count, seed):
    """Features (n, 6), labels (n,) drawn by a linear rule, and the likeliest class of that rule."""
    rule = 1.5 * torch.randn(6, 3, generator=torch.Generator().manual_seed(varying(9)))
    draw = torch.Generator().manual_seed(varying(seed))
    features = torch.randn(count, 6, generator=draw)
    scores = features @ rule + torch.tensor([0.0, 2.5, -1.0])
    labels = torch.multinomial(scores.softmax(dim=1), 1, generator=draw)[:, 0]
    return features, labels, scores.argmax(dim=1)


def shape(candidate, train, new):
    """The shape of the predictions; raises CheckFailed unless they are a tensor."""
    got = expect_unchanged(fitted(candidate, train, steps=3), new)
    if not hasattr(got, "detach"):
        expect_shape(got, (len(new),), f"the classes of {len(new)} new examples")
    return tuple(got.shape)


def learns(candidate, train, new):
    """Whether 0 steps and 100 steps predict different classes."""
    one, other = (fitted(candidate, train, steps=count)(new[0]) for count in (0, 100))
    return not torch.equal(one, other)


def share_alone(candidate, train, new):
    """The share of new examples whose class is predicted if each is a batch of its own."""
    predict = fitted(candidate, train)
    return right_of([int(predict(row[None])[0]) for row in new[0]], new[1])


def gradient_in_model(candidate, train, new):
    """The gradient that reaches the model which computes the features."""
    weight = torch.ones(train[0].shape[1], requires_grad=True)
    try:
        candidate(train[0] * weight, train[1], 3, 100)(new[0])
    except RuntimeError as error:
        if "backward through the graph a second time" in str(error):
            error.add_note(f"{FROZEN} The second `backward()` reached the model, and failed.")
        raise
    return weight.grad


train, new, few = clouds(15, 1), clouds(15, 2), clouds(5, 2)
*uncertain, _ = noisy(400, 1)
*asked, likeliest = noisy(2000, 2)
best = right_of(likeliest, asked[1])
# To the cross-entropy a mistake costs more the further off it is, so six examples far off pull the
# border from 0 to -0.78. With a loss that has an upper limit the border remains at 0.
which = torch.arange(3).repeat_interleave(torch.tensor([40, 40, 6]))
jitter = 0.3 * torch.randn(86, generator=torch.Generator().manual_seed(varying(1)))
pulled = (torch.tensor([-1.0, 1.0, -6.0])[which] + jitter)[:, None], torch.tensor([0, 1, 1])[which]
RIGHT = "the share of new examples whose class is predicted"

task.stage(
    "a function that predicts",
    case("the shape of the classes of 9 new examples", train, clouds(3, 2)[0], expected=(9,)),
    hint="Return one class number for each new example, the `argmax(dim=1)` of its scores.",
    measure=shape,
)
task.stage(
    "clouds far apart",
    case(f"3 classes in clouds far apart: {RIGHT}", train, new),
    case(
        "whether 0 steps and 100 steps predict different classes",
        *(train, new),
        measure=learns,
        expected=True,
        hint="`steps` was not used: it says how often the loop runs.",
    ),
    hint="A straight line separates the classes, so every prediction can be right. Does the loop "
    "update the weights, and is the learning rate large enough? Adam with 0.01 to 0.1 will do.",
)
task.stage(
    "a class in the middle",
    case(
        f"3 classes on a line, one around 0: {RIGHT} (80 % is enough)",
        *(line(1), line(2), 3, 300, 0.8),
    ),
    hint="Standardise columns, `dim=0`, not rows, and use the cross-entropy, because a squared "
    "loss never predicts the class in the middle. The layer also needs its bias.",
)
task.stage(
    "labels with noise",
    case(
        f"labels with noise: {RIGHT} (the best rule gets {best:.0%}; 3 points less are enough)",
        *(uncertain, asked, 3, 300, round(best - 0.03, 2)),
    ),
    hint="Train one linear layer with the mean cross-entropy of all examples in each step, and "
    "nothing else. Gradients add up from step to step until `optimizer.zero_grad()` clears them.",
)
task.stage(
    "columns of every size",
    case(
        f"columns whose sizes differ by a factor of ten million: {RIGHT}",
        *(resized(*train), resized(*new)),
        hint="Give *each column* mean 0 and standard deviation 1 (`mean(dim=0)`, `std(dim=0)`), "
        "and treat new features in the same way.",
    ),
    case(
        f"a further column, which holds only sevens: {RIGHT}",
        *((F.pad(x, (0, 1), value=7.0), labels) for x, labels in (train, new)),
        hint="The standard deviation of such a column is 0, and 0 / 0 is NaN: `.clamp(min=1e-6)` "
        "before you divide.",
    ),
)
task.stage(
    "one example at a time",
    case(f"new examples given one by one: {RIGHT}", train, few),
    hint="Standardise new features with the mean and deviation of the *training* features, because "
    "their own change with the other examples in the batch.",
    measure=share_alone,
)
task.stage(
    "classes that do not occur",
    case(
        f"7 classes, of which only 1, 2 and 4 occur: {RIGHT}",
        *(clouds(15, 1, (1, 4, 2)), clouds(15, 2, (1, 4, 2)), 7),
    ),
    hint="Labels are class numbers as they are, and some classes may never occur.",
)
task.stage(
    "examples far on the wrong side",
    case(
        "class 0 around -1, class 1 around 1 with a few examples at -6, which pull the border to "
        "-0.8: the share of places from -0.6 to -0.2 that you give to class 1 (90 % is enough)",
        *(pulled, (torch.linspace(-0.6, -0.2, 41)[:, None], torch.ones(41)), 3, 300, 0.9),
    ),
    hint="Is there a softmax before the cross-entropy, which takes the scores as they are? With "
    "two of them, a mistake far off costs hardly more than a near one.",
)
task.stage(
    "frozen features",
    case("the gradient that reaches the model whose features these are", train, few, expected=None),
    hint=f"{FROZEN} Otherwise a gradient goes through the features into the model.",
    measure=gradient_in_model,
)


def variant(choose=lambda scores: scores.argmax(dim=1), bias=True):
    """The reference with another choice, or without a bias."""

    def candidate(features, labels, classes, steps):
        mean, deviation = features.mean(dim=0), features.std(dim=0).clamp(min=1e-6)
        layer = nn.Linear(features.shape[1], classes, bias=bias)
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy(layer((features - mean) / deviation), labels).backward()
            optimizer.step()
        return lambda new: choose(layer((new - mean) / deviation))

    return candidate


task.mistakes(
    (
        "The layer has one output for each of `classes`, including those that never occur.",
        lambda x, labels, _, steps: linear_probe(x, labels, len(labels.unique()), steps),
    ),
    (
        "These are the scores of all classes: return the class with the largest, `argmax(dim=1)`.",
        variant(lambda scores: scores),
    ),
    (
        "The argmax goes over the examples, but it has to go over the classes: `argmax(dim=1)`.",
        variant(lambda scores: scores.argmax(dim=0)),
    ),
    (
        "The layer has no bias, so the class in the middle never wins: leave out `bias=False`.",
        variant(bias=False),
    ),
)
