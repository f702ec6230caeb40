"""Lesson 04b: cross-entropy with a weight for each class."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.measures import gradient, gradient_of, loss
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="4b.4",
    title="Weights for rare classes",
    difficulty=2,
    importance=2,
    minutes=10,
    hints=(
        "`logits.log_softmax(dim=1)` gives the log probabilities. Select that of the right class "
        "of each text; its negative is the text's loss in nats.",
        "`weights[targets]` is the weight of each text, which is that of its right class.",
        "Divide the sum of weight times nats by the sum of the weights of the texts in the batch "
        "(not by the number of texts).",
    ),
    imports="import torch\nfrom torch.nn import functional as F",
    measure=loss,
    tolerance=1e-5,
)


@task.reference
def reweight(logits, targets, weights):
    """(texts, classes) logits, (texts,) classes and (classes,) weights to one number, a tensor."""
    nats = -logits.log_softmax(dim=1)[torch.arange(len(targets)), targets]
    each = weights[targets]
    return (each * nats).sum() / each.sum()


@task.truth
def by_library(logits, targets, weights):
    return F.cross_entropy(logits.double(), targets, weight=weights.double())


def batch(texts, classes, seed):
    """Logits, targets that include each class, and weights from 0.2 to 5."""
    draw = torch.Generator().manual_seed(varying(seed))
    targets = torch.cat([torch.arange(classes), torch.zeros(texts - classes, dtype=torch.long)])
    weights = 0.2 * 25 ** torch.rand(classes, generator=draw)
    return 2 * torch.randn(texts, classes, generator=draw), targets, weights


two = torch.tensor([[2.0, 0], [2, 0], [2, 0], [0, 1]]), torch.tensor([0, 0, 1, 1])
large = torch.tensor([[300.0, 0, -300], [0, 400, 0], [-200, 0, 200]]), torch.tensor([1, 1, 0])

task.stage(
    "all weights 1",
    case("8 texts, 3 classes, all weights 1", *batch(8, 3, 0)[:2], torch.ones(3)),
    hint="This is the usual cross-entropy: the mean over the texts of -log p(right class).",
)
task.stage(
    "two classes, two weights",
    case("4 texts, weights of 1 and 3", *two, torch.tensor([1.0, 3.0])),
    hint="Multiply the nats of each text, not its logits, by the weight of its right class, and "
    "divide by the sum of these weights, 1 + 1 + 3 + 3.",
)
task.stage(
    "all weights times 10",
    case("9 texts, 3 classes, all weights times 10", *batch(9, 3, 1)[:2], 10 * batch(9, 3, 1)[2]),
    hint="Only the ratios of weights matter: divide by the sum of the weights of the texts.",
)
task.stage(
    "random batches, large logits, gradients",
    *(case("12 texts, 5 classes", *batch(12, 5, seed)) for seed in range(8)),
    case("logits in the hundreds", *large, torch.tensor([1.0, 2.0, 0.5])),
    case(
        "12 texts, 5 classes: the gradient",
        *batch(12, 5, 9),
        measure=gradient,
        expected=gradient_of(by_library)(*batch(12, 5, 9)),
    ),
    hint="`log_softmax` stays finite where log(softmax) does not.",
)


task.mistakes(
    (
        "You divide by the sum of the weights of the *classes*: divide by those of the texts, "
        "`weights[targets].sum()`.",
        lambda x, t, w: F.cross_entropy(x, t, w, reduction="sum") / w.sum(),
    ),
    (
        "You divide by the number of texts, as `.mean()` does: divide by the sum of their weights, "
        "`weights[targets].sum()`.",
        lambda x, t, w: F.cross_entropy(x, t, w, reduction="sum") / len(t),
    ),
    (
        "The weights are not used: multiply the nats of each text by `weights[targets]`.",
        lambda x, t, w: F.cross_entropy(x, t),
    ),
    (
        "The weights multiply the logits, which changes the probabilities: multiply the nats of "
        "each text instead.",
        lambda x, t, w: F.cross_entropy(x * w, t),
    ),
)
