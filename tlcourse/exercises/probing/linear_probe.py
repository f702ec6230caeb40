"""Lesson 07: a linear probe, from the features to the class.

The right classes are known: those of clouds that do not touch, and those that a linear rule drew,
which no probe can beat by much.
"""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.probing import _probes
from tlcourse.exercises.probing._probes import FROZEN, by, clouds, right_of, standard
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="7.2",
    title="A linear probe",
    difficulty=3,
    minutes=20,
    hints=(
        "five parts: the mean and standard deviation of each column of `features`; a "
        "`nn.Linear(width, classes)`; a loop over `steps`; in it the cross-entropy of *all* "
        "examples; at the end a function that does the same to new features.",
        "`features.detach()` first: the probe is trained, and what it reads is not. A column that "
        "never varies has a standard deviation of 0: `.clamp(min=1e-6)` keeps it from dividing.",
        "a step is four lines: the loss, `optimizer.zero_grad()`, `loss.backward()`, "
        "`optimizer.step()`. `torch.optim.Adam(layer.parameters(), lr=0.05)` will do.",
        "define a function inside yours and return it: `def predict(new)`, with the mean and "
        "standard deviation of the *training* features, and `.argmax(dim=1)` of the scores.",
    ),
    imports="import numpy as np\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F",
    trains=True,
)


@task.reference
def linear_probe(features, labels, classes, steps=300):
    """Learns from (n, width) and (n,) labels; returns a function: (m, width) to (m,) classes."""
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


@task.right
@torch.no_grad()
def by_hand(features, labels, classes, steps=300):
    mean, deviation = features.mean(dim=0), features.std(dim=0, unbiased=False) + 1e-6

    def with_ones(x):
        return F.pad((x - mean) / deviation, (0, 1), value=1.0)

    inputs, targets = with_ones(features), F.one_hot(labels, classes)
    weights = torch.zeros(inputs.shape[1], classes)
    for _ in range(steps):
        errors = (inputs @ weights).softmax(dim=1) - targets
        weights -= 0.5 * inputs.T @ errors / len(labels)
    return lambda new: (with_ones(new.detach()) @ weights).max(dim=1).indices


@task.right
def by_normalisation(features, labels, classes, steps=300):
    norm = nn.BatchNorm1d(features.shape[1], momentum=None, affine=False)
    model = nn.Sequential(norm, nn.Linear(features.shape[1], classes)).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.5)
    for _ in range(steps):
        optimizer.zero_grad()
        (-model(features.detach()).log_softmax(dim=1)[range(len(labels)), labels].mean()).backward()
        optimizer.step()
    model.eval()
    return lambda new: model(new).argsort(dim=1)[:, -1]


def expect(candidate, look, *setting, gives=1.0, what, likely):
    """Raises CheckFailed unless this is seen."""
    task.observe(candidate, look, *setting, gives=gives, what=what, likely=likely)


FAR = "3 classes in clouds far apart: the share of new examples that is right"


@task.stage("a function that predicts")
def function(candidate):
    what = "asked for 7 new examples: the shape of what the returned function gives"
    likely = "One class number for each new example."
    setting = *clouds(5, 1), clouds(3, 2)[0][:7]
    expect(candidate, _probes.shape, *setting, gives=(7,), what=what, likely=likely)


@task.stage("clouds far apart")
def far_apart(candidate):
    expect(candidate, _probes.share, clouds(15, 1), 3, clouds(15, 2), what=FAR, likely=SLOW)
    what = "whether no step and 100 steps predict the same"
    setting = clouds(15, 1), clouds(15, 2), 0, 100
    expect(candidate, _probes.is_settled, *setting, gives=False, what=what, likely=IDLE)


@task.stage("a class in the middle")
def middle(candidate):
    what = "3 classes on a line, one around 0: whether 80 % of new examples are right"
    setting = _probes.line(15, 1), _probes.line(15, 2), 0.8
    expect(candidate, _probes.is_right, *setting, gives=True, what=what, likely=NO_BIAS)


@task.stage("labels with noise")
def noise(candidate):
    *train, _ = _probes.noisy(400, 1)
    *new, likeliest = _probes.noisy(2000, 2)
    what = "whether 250 and 300 steps predict nearly the same"
    expect(
        candidate, _probes.is_settled, train, new, 250, 300, gives=True, what=what, likely=NO_ZERO
    )
    best = right_of(likeliest, new[1])
    what = f"labels of which the best rule gets {best:.0%} right: whether yours gets nearly as many"
    setting = train, new, best - 0.03
    expect(candidate, _probes.is_right, *setting, gives=True, what=what, likely=ALL)


@task.stage("columns of every size")
def columns(candidate):
    train, new = clouds(15, 1), clouds(15, 2)
    what = f"columns whose sizes differ by a factor of ten million, {FAR}"
    setting = _probes.resized(*train), 3, _probes.resized(*new)
    expect(candidate, _probes.share, *setting, what=what, likely=COLUMNS)
    what = f"with a column of sevens, {FAR}"
    setting = _probes.with_constant(*train), 3, _probes.with_constant(*new)
    expect(candidate, _probes.share, *setting, what=what, likely=CONSTANT)


@task.stage("one example at a time")
def one(candidate):
    what = f"asked one by one, {FAR}"
    expect(
        candidate, _probes.share_alone, clouds(15, 1), clouds(5, 2), what=what, likely=OF_TRAINING
    )


@task.stage("classes that do not occur")
def absent(candidate):
    what = "7 classes, of which the labels hold 1, 2 and 4: the share that is right"
    setting = clouds(15, 1, (1, 4, 2)), 7, clouds(15, 2, (1, 4, 2))
    expect(candidate, _probes.share, *setting, what=what, likely=OUTPUTS)


@task.stage("mistakes far off")
def far_off(candidate):
    what = "class 0 around -1, class 1 around 1 and a few times at -6, which pull the border to "
    what += "-0.8: whether your probe takes -0.6 to -0.2 for class 1"
    between = torch.linspace(-0.6, -0.2, 41)[:, None], torch.ones(41)
    setting = _probes.pulled(1), between, 0.9
    expect(candidate, _probes.is_right, *setting, gives=True, what=what, likely=SOFTMAX)


@task.stage("frozen features")
def frozen(candidate):
    what = f"features that a model has just computed, {FAR}"
    setting = clouds(15, 1), clouds(5, 2)
    expect(candidate, _probes.share_of_a_model, *setting, what=what, likely=FROZEN)


SCORES = "These are the scores of all classes; the largest one says which class: `argmax(dim=1)`."
OVER_EXAMPLES = "The argmax was taken over the examples. Take it over the classes: `argmax(dim=1)`."
SLOW = (
    "A straight line separates them, so all can be right. Does the loop take its steps, and is the "
    "learning rate large enough? Adam with 0.01 to 0.1 will do."
)
NOTHING = (
    "Nothing was learnt: are `loss.backward()` and `optimizer.step()` in the loop, and is the "
    "learning rate large enough?"
)
WRONG_WAY = "None is right: does each step increase the loss, or is the *smallest* score taken?"
ALL = "One linear layer; each step the mean cross-entropy of all examples, and nothing else."
IDLE = "`steps` was not used: it says how often the loop runs."
NO_BIAS = (
    "Without a bias the class in the middle can never win: `nn.Linear` has one by default. (Or "
    "were rows standardised, not columns, `dim=0`? Or is it a squared loss, not cross-entropy?)"
)
COLUMNS = (
    "Give *each column* mean 0 and standard deviation 1 (`mean(dim=0)`, `std(dim=0)`), and treat "
    "new features in the same way."
)
CONSTANT = (
    "The standard deviation of such a column is 0, and 0 / 0 is NaN: `.clamp(min=1e-6)` before you "
    "divide."
)
OF_TRAINING = (
    "New features have to be standardised with the mean and deviation of the *training* features: "
    "their own change with the other examples in the batch."
)
OUTPUTS = "The layer has an output for each of `classes`, also where no label says so."
NUMBERED = "The labels were numbered anew: translate what is predicted back."
SOFTMAX = (
    "Is there a softmax before the cross-entropy? It has one of its own and takes the scores as "
    "they are. After another one a mistake far off costs hardly more than a near one."
)
NO_ZERO = (
    "Training does not settle. Gradients add up from step to step until `optimizer.zero_grad()` "
    "clears them. Or does a step see only some of the examples?"
)


for stage, says, wrong in (
    ("a function that predicts", SCORES, by(choose=lambda scores: scores)),
    ("a function that predicts", OVER_EXAMPLES, by(choose=lambda scores: scores.argmax(dim=0))),
    ("a function that predicts", "expected a function that predicts",
     lambda features, *rest: by()(features, *rest)(features)),
    ("clouds far apart", NOTHING, by(count=lambda steps: 0)),
    ("clouds far apart", WRONG_WAY, by(rate=-1.0)),
    ("clouds far apart", WRONG_WAY, by(choose=lambda scores: scores.argmin(dim=1))),
    ("clouds far apart", IDLE, by(count=lambda steps: 100)),
    ("a class in the middle", NO_BIAS, by(bias=False)),
    ("labels with noise", NO_ZERO, by(kept=1)),
    ("columns of every size", COLUMNS, by(lambda features: lambda new: new)),
    ("columns of every size", COLUMNS,
     by(lambda features: lambda new: (new - features.mean()) / features.std())),
    ("columns of every size", CONSTANT, by(lambda features: standard(features, least=0))),
    ("mistakes far off", SOFTMAX, by(slope_of_scores=_probes.slope_after_softmax)),
    ("one example at a time", OF_TRAINING, by(lambda features: lambda new: standard(new)(new))),
):  # fmt: skip
    task.mistake(stage, says)(wrong)


@task.mistake("a function that predicts", "your function changed argument 1 that it was given")
def in_place(features, labels, classes, steps):
    features -= features.mean(dim=0)
    return by()(features, labels, classes, steps)


@task.mistake("classes that do not occur", OUTPUTS)
def outputs_for_what_occurs(features, labels, classes, steps):
    return by()(features, labels, len(labels.unique()), steps)


@task.mistake("classes that do not occur", NUMBERED)
def numbers_classes_anew(features, labels, classes, steps):
    occur, places = labels.unique(return_inverse=True)
    return by()(features, places, len(occur), steps)


@task.mistake("frozen features", FROZEN)
def trains_through(features, labels, classes, steps):
    inputs = standard(features)(features)
    if inputs.requires_grad:
        layer = nn.Linear(features.shape[1], classes)
        for _ in range(steps):
            F.cross_entropy(layer(inputs), labels).backward()
    return by()(features, labels, classes, steps)
