"""Lesson 06: soft targets and a temperature."""

import math

import torch
from torch.nn import functional as F

from tlcourse.exercises.measures import gradient, gradient_of, loss
from tlcourse.exercises.more_signal._common import form, two_logits
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="6.4",
    title="Soft targets and a temperature",
    difficulty=2,
    importance=4,
    minutes=15,
    hints=(
        "Write it without a temperature first: the targets are `teacher.softmax(dim=-1)`, and the "
        "loss of a text is minus the sum over labels of target times `logits.log_softmax(dim=-1)`.",
        "The temperature divides both kinds of logits, before either softmax. At the end, take the "
        "mean over the texts and multiply it by `temperature**2`.",
    ),
    imports="import math\nimport numpy as np\nimport torch\nfrom torch.nn import functional as F",
    measure=loss,
    tolerance=1e-4,
)


@task.reference
def distillation_loss(logits, teacher, temperature):
    """(batch, labels) logits of student and teacher to the mean soft cross-entropy, times T²."""
    targets = (teacher / temperature).softmax(dim=-1)
    nats = -(targets * (logits / temperature).log_softmax(dim=-1)).sum(dim=-1)
    return nats.mean() * temperature**2


def unscaled(logits, teacher, t):
    """The library's loss before it is multiplied by T², in double precision."""
    return F.cross_entropy(logits.double() / t, (teacher.double() / t).softmax(dim=-1))


@task.truth
def by_library(logits, teacher, t):
    return unscaled(logits, teacher, t) * t**2


def without_factor(candidate, logits, teacher, t):
    """The loss without its factor: the loss of an even student is the factor times ln(labels)."""
    factor = loss(candidate, torch.zeros_like(logits), teacher, t) / math.log(logits.shape[1])
    return loss(candidate, logits, teacher, t) / factor


def batch(number):
    """One of 20 batches at some temperature, with logits of ones and of hundreds."""
    logits = two_logits(1 + number % 5, 2 + number % 4, 100 + number, (2.0, 300.0)[number % 2])
    return *logits, (0.5, 1.0, 3.0, 20.0)[number % 4]


task.stage(
    "one number to learn from",
    case("4 texts of 3 labels, T = 2", *two_logits(4, 3, 0), 2.0, measure=form, expected=()),
)
task.stage(
    "soft targets",
    case("4 texts of 3 labels, T = 1", *two_logits(4, 3, 1), 1.0),
    hint="The loss of a text is the cross-entropy, minus the sum over labels of the teacher's "
    "share times the log of the student's share. Sum over labels, and average over texts.",
)
task.stage(
    "a temperature on both sides",
    case("3 texts of 4 labels, T = 2.5, without the factor T²", *two_logits(3, 4, 2), 2.5),
    measure=without_factor,
    expected=unscaled,
    hint="Student and teacher both take the softmax of logits / T. T divides the logits only.",
)
task.stage(
    "times T squared",
    case(
        "3 texts of 4 labels, T = 2.5",
        *(*two_logits(3, 4, 3), 2.5),
        hint="The gradient of soft targets shrinks as 1 / T²: multiply the loss by T², `T**2`.",
    ),
    case(
        "the gradient for the student's logits, 3 texts of 4 labels, T = 2.5",
        *(*two_logits(3, 4, 3), 2.5),
        measure=gradient,
        expected=gradient_of(by_library)(*two_logits(3, 4, 3), 2.5),
        hint="By hand it is T (q - p) / texts, where p and q are the softened shares of teacher "
        "and student.",
    ),
)
task.stage(
    "20 random batches",
    *(
        case(f"logits as large as {logits.abs().max():.0f}, T = {t:g}", logits, teacher, t)
        for logits, teacher, t in map(batch, range(20))
    ),
    hint="Logits may be large: use `log_softmax`. The softmax of a label far behind is 0, and its "
    "logarithm is lost.",
)


def divergence(x, y, t):
    """The mean Kullback-Leibler divergence of the softened shares, times T²."""
    return F.kl_div((x / t).log_softmax(-1), (y / t).softmax(-1), reduction="batchmean") * t**2


task.mistakes(
    (
        "This is the Kullback-Leibler divergence, the cross-entropy minus the entropy of the "
        "teacher. It has the same gradient, but this exercise asks for the cross-entropy itself.",
        divergence,
    ),
    (
        "The softmax of the student was taken twice: cross-entropy takes one itself.",
        lambda x, y, t: distillation_loss(x.softmax(-1), y, t),
    ),
    (
        "Student and teacher are swapped: the teacher's shares are the targets, and the logarithm "
        "is taken of the student's.",
        lambda x, y, t: distillation_loss(y, x, t),
    ),
    (
        "`^` is not a power in Python: write `temperature**2`.",
        lambda x, y, t: F.cross_entropy(x, y.softmax(-1)) * (t ^ 2),
    ),
)
