"""Lesson 09: the loss of an answer's first and last token (Devlin et al., 2019)."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.measures import gradient, gradient_of, loss
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="9.3",
    title="The loss of a span",
    difficulty=2,
    importance=5,
    minutes=10,
    hints=(
        "`scores[:, :, 0]` has one score for every place, as the logits of a classifier have one "
        "for every label. The right label is the place `targets[:, 0]`.",
        "`F.cross_entropy(scores[:, :, 0], targets[:, 0])` is the mean over the batch for the "
        "first token. Do the same for the last token, and average the two.",
    ),
    imports="import torch\nfrom torch.nn import functional as F",
    measure=loss,
    tolerance=1e-4,
)


@task.reference
def span_loss(scores, targets):
    """(batch, length, 2) scores and (batch, 2) places to the mean nats of both ends."""
    first = F.cross_entropy(scores[:, :, 0], targets[:, 0])
    last = F.cross_entropy(scores[:, :, 1], targets[:, 1])
    return (first + last) / 2


@task.truth
def by_logarithms(scores, targets):
    scores = scores.double()
    logs = scores - scores.logsumexp(dim=1, keepdim=True)
    return -logs.gather(1, targets[:, None, :]).mean()


def drawn(batch, length, seed):
    generator = torch.Generator().manual_seed(varying(seed))
    scores = torch.randn(batch, length, 2, generator=generator)
    return scores, torch.randint(length, (batch, 2), generator=generator)


task.stage(
    "equal scores",
    case(
        "equal scores of 8 places: ln 8",
        torch.zeros(3, 8, 2),
        torch.tensor([[0, 1], [2, 2], [5, 7]]),
    ),
    hint="With equal scores each place has the probability 1/8, and each end costs ln 8 nats.",
)
task.stage(
    "one question",
    case("one question and five places", *drawn(1, 5, 1)),
    hint="Take the softmax over the places, dimension 1. The last dimension tells the first from "
    "the last token.",
)
task.stage(
    "several questions",
    case("four questions and six places", *drawn(4, 6, 2)),
    case("two questions and two places", *drawn(2, 2, 3)),
    hint="Return the mean over the questions of the mean of both ends.",
)
task.stage(
    "a gradient",
    case(
        "the gradient of the scores of three questions",
        *drawn(3, 4, 4),
        measure=gradient,
        expected=gradient_of(by_logarithms)(*drawn(3, 4, 4)),
    ),
    hint="The gradient has to reach both ends.",
)
task.stage(
    "large scores",
    case(
        "two questions and five places, with scores in the hundreds",
        300 * drawn(2, 5, 5)[0],
        drawn(2, 5, 5)[1],
    ),
    hint="With scores as far apart as these, `exp` overflows, and a probability may round to 0. "
    "`F.cross_entropy` and `log_softmax` avoid both.",
)

task.mistakes(
    (
        "The two ends are added. The loss is their mean.",
        lambda scores, targets: 2 * span_loss(scores, targets),
    ),
    (
        "Only the first token has a loss here: add that of the last one.",
        lambda scores, targets: F.cross_entropy(scores[:, :, 0], targets[:, 0]),
    ),
    (
        "The softmax runs over the last dimension, which has the two ends. It has to run over the "
        "places.",
        lambda scores, targets: -scores.log_softmax(-1).gather(1, targets[:, None, :]).mean(),
    ),
)
