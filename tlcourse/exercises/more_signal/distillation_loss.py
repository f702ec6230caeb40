"""Lesson 06: soft targets and a temperature.

The true loss is added up from its formula, number by number, in double precision.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_close, expect_loss, expect_unchanged
from tlcourse.exercises.task import Exercise

Rows = list[list[float]]

task = Exercise(
    __name__,
    number="6.4",
    title="Soft targets and a temperature",
    difficulty=2,
    minutes=15,
    hints=(
        "first without a temperature: the targets are `teacher.softmax(dim=-1)`, and the "
        "cross-entropy of a text is minus the sum over labels of target times "
        "`logits.log_softmax(dim=-1)`.",
        "the temperature divides both kinds of logits, before either softmax.",
        "the mean over the texts, times `temperature**2`.",
    ),
    imports="import math\nimport numpy as np\nimport torch\nfrom torch.nn import functional as F",
)


@task.reference
def distillation_loss(logits, teacher, temperature):
    """(batch, labels) logits of student and teacher to the mean soft cross-entropy, times T²."""
    targets = (teacher / temperature).softmax(dim=-1)
    nats = -(targets * (logits / temperature).log_softmax(dim=-1)).sum(dim=-1)
    return nats.mean() * temperature**2


@task.right
def by_library(logits, teacher, temperature):
    targets = F.softmax(teacher / temperature, dim=1)
    return F.cross_entropy(logits / temperature, targets) * temperature**2


@task.right
def by_divergence(logits, teacher, temperature):
    ours = F.log_softmax(logits / temperature, dim=-1)
    theirs = F.log_softmax(teacher / temperature, dim=-1)
    apart = F.kl_div(ours, theirs, reduction="batchmean", log_target=True)
    entropy = -(theirs.exp() * theirs).sum() / len(theirs)
    return temperature * temperature * (apart + entropy)


def logs(scores: list[float], t: float) -> list[float]:
    """The logarithms of the softmax of scores over the temperature."""
    highest = max(scores)
    total = math.log(sum(math.exp((score - highest) / t) for score in scores))
    return [(score - highest) / t - total for score in scores]


def shares(scores: list[float], t: float) -> list[float]:
    """The softmax of scores over the temperature."""
    return [math.exp(each) for each in logs(scores, t)]


def added_up(student: Rows, teacher: Rows, t: float) -> float:
    """The mean soft cross-entropy, not multiplied by anything."""
    nats = [
        -sum(p * log for p, log in zip(shares(right, t), logs(mine, t), strict=True))
        for mine, right in zip(student, teacher, strict=True)
    ]
    return sum(nats) / len(nats)


def drawn(texts: int, labels: int, seed: int, size: float = 2.0) -> tuple[Rows, Rows]:
    """Random logits of student and teacher."""
    draw = torch.Generator().manual_seed(seed)
    return tuple((size * torch.randn(texts, labels, generator=draw)).tolist() for _ in range(2))


def loss_and_logits(candidate, student: Rows, teacher: Rows, t: float) -> tuple[Tensor, Tensor]:
    """What the candidate gives, and for what; raises CheckFailed unless it is a number to learn from."""
    logits = torch.tensor(student, requires_grad=True)
    try:
        got = expect_unchanged(candidate, logits, torch.tensor(teacher), t)
    except (RuntimeError, TypeError) as error:
        if "xor" in str(error) or "for ^" in str(error):
            error.add_note("A power is `**` in Python; `^` is none.")
        raise
    expect_loss(got, f"{len(student)} texts of {len(student[0])} labels, T = {t:g},", logits)
    return got.reshape(()), logits


def loss_of(candidate, student: Rows, teacher: Rows, t: float) -> Tensor:
    """What the candidate gives, a number to learn from."""
    return loss_and_logits(candidate, student, teacher, t)[0]


def without_factor(candidate, student: Rows, teacher: Rows, t: float) -> Tensor:
    """The loss without what it is multiplied by: an even student's is that times ln(labels)."""
    even = [[0.0] * len(row) for row in student]
    factor = loss_of(candidate, even, teacher, t) / math.log(len(student[0]))
    return loss_of(candidate, student, teacher, t) / factor


def expect(candidate, look: Callable, asked: tuple, gives, what: str, likely: str) -> None:
    """Raises CheckFailed unless that is seen, up to rounding."""
    told = {"what": what, "likely": likely, "tolerance": 1e-4}
    task.observe(candidate, look, *asked, gives=gives, **told)


@task.stage("one number to learn from")
def number(candidate):
    loss_of(candidate, *drawn(4, 3, seed=0), 2.0)


@task.stage("soft targets")
def soft(candidate):
    what = "a student who gives 1/2 to each of two labels, T = 1,"
    likely = "Whatever the teacher says: shares that sum to 1, times -ln 1/2, are ln 2."
    even = [[0.0, 0.0]], [[math.log(3), 0.0]], 1.0
    expect(candidate, loss_of, even, math.log(2), what, likely)
    likely = "A text's: minus the sum over labels of the teacher's share times the log of ours."
    asked = *drawn(4, 3, seed=1), 1.0
    expect(candidate, loss_of, asked, added_up(*asked), "4 texts of 3 labels, T = 1,", likely)


@task.stage("a temperature on both sides")
def temperature(candidate):
    for t in (2.0, 2.5):
        asked = *drawn(3, 4, seed=2), t
        what = f"3 texts of 4 labels, T = {t:g}, whatever the loss is multiplied by,"
        likely = "Both are softmaxes of logits over the temperature, and T divides logits only."
        expect(candidate, without_factor, asked, added_up(*asked), what, likely)


@task.stage("times T squared")
def squared(candidate):
    for t in (2.0, 2.5, 5.0):
        student, teacher = drawn(3, 4, seed=3)
        asked, what = (student, teacher, t), f"3 texts of 4 labels, T = {t:g},"
        expect(candidate, loss_of, asked, added_up(*asked) * t**2, what, SHRINKS)
        right = [
            [t * (q - p) / 3 for p, q in zip(shares(theirs, t), shares(ours, t), strict=True)]
            for ours, theirs in zip(student, teacher, strict=True)
        ]
        likely = "By hand it is T (q - p) / texts, q and p being the softened shares."
        what = f"the gradient of the student's logits at T = {t:g}"
        got, logits = loss_and_logits(candidate, *asked)
        expect_close(torch.autograd.grad(got, logits)[0], right, what, likely, 1e-4)


@task.stage("20 random batches")
def whole(candidate):
    for seed in range(20):
        size, t = (2.0, 300.0)[seed % 2], (0.5, 1.0, 3.0, 20.0)[seed % 4]
        asked = *drawn(1 + seed % 5, 2 + seed % 4, 100 + seed, size), t
        largest = max(max(map(abs, row)) for row in asked[0])
        what = f"logits as large as {largest:.0f}, T = {t:g}:"
        expect(candidate, loss_of, asked, added_up(*asked) * t**2, what, LARGE)


def softened(student=1.0, teacher=1.0, power=2.0, reduce=torch.mean) -> Callable:
    """A loss at the temperature to these powers on each side, times it to another."""

    def candidate(logits, targets, temperature):
        ours = (logits / temperature**student).log_softmax(dim=-1)
        theirs = (targets / temperature**teacher).softmax(dim=-1)
        return reduce(-(theirs * ours).sum(dim=-1)) * temperature**power

    return candidate


def times(factor: Callable[[Tensor, float], float]) -> Callable:
    """The right loss times a factor that goes by the logits and the temperature."""
    return lambda logits, teacher, t: distillation_loss(logits, teacher, t) * factor(logits, t)


DIVERGENCE = (
    "This is the Kullback-Leibler divergence, the cross-entropy less the entropy of the teacher. "
    "It has the same gradient; here the cross-entropy itself is asked for."
)
OTHER_WAY = (
    "This is a Kullback-Leibler divergence, and the wrong way round: the targets are the teacher's "
    "shares, and their entropy stays in."
)
SWAPPED = "Student and teacher are swapped: the teacher's shares are the targets."
TEXTS = "The softmax goes over the labels, `dim=-1`; over one text all shares are 1."
BOTH = "The mean over the texts is wanted, not over texts and labels."
TWICE_T = "This is twice as much: at T = 1, T squared is 1 (`temperature**2`)."
XOR = "This is three times as much: `temperature**2`; `^` is no power in Python."
SHARES = "The teacher gives logits: its shares are their softmax."
HARD = "Only the teacher's best label was used; how it shares the rest counts."
TWO_SOFTMAXES = (
    "The softmax of the student was taken twice: cross-entropy has one in it, and it is the logits "
    "that T divides."
)
SHARP_TEACHER = (
    "Only the student was softened. The teacher's logits are divided by T, too, before its softmax."
)
WHOLE = "T need not be a whole number: leave out `int`."
SHRINKS = "The gradient of soft targets shrinks as 1 / T²: multiply the loss by T²."
LARGE = (
    "Logits may be large: `log_softmax`, not the log of a softmax, which is 0 for a label far "
    "behind."
)


@task.mistake("soft targets", DIVERGENCE)
def divergence(logits, teacher, temperature):
    ours = F.log_softmax(logits / temperature, dim=-1)
    theirs = F.softmax(teacher / temperature, dim=-1)
    return F.kl_div(ours, theirs, reduction="batchmean") * temperature**2


@task.mistake("soft targets", SHARES)
def unsoftened_teacher(logits, teacher, temperature):
    ours = (logits / temperature).log_softmax(dim=-1)
    return -(teacher / temperature * ours).sum(dim=-1).mean() * temperature**2


@task.mistake("20 random batches", LARGE)
def log_of_softmax(logits, teacher, temperature):
    targets = (teacher / temperature).softmax(dim=-1)
    nats = -(targets * (logits / temperature).softmax(dim=-1).log()).sum(dim=-1)
    return nats.mean() * temperature**2


for says, wrong in (
    (OTHER_WAY, lambda x, teacher, t: divergence(teacher, x, t)),
    (SWAPPED, lambda x, teacher, t: distillation_loss(teacher, x, t)),
    (TEXTS, lambda x, teacher, t: distillation_loss(x.T, teacher.T, t)),
    (BOTH, times(lambda x, t: 1 / x.shape[1])),
    (TWICE_T, times(lambda x, t: 2 / t)),
    (XOR, times(lambda x, t: (int(t) ^ 2) / t**2)),
    ("These are bits: nats come from the natural logarithm.", times(lambda x, t: 1 / math.log(2))),
    ("A loss is *minus* the sum of target times log probability.", times(lambda x, t: -1)),
    ("This is the sum over the texts; the mean is wanted.", softened(reduce=torch.sum)),
    (HARD, lambda x, teacher, t: F.cross_entropy(x / t, teacher.argmax(-1)) * t**2),
    (TWO_SOFTMAXES, lambda x, *asked: distillation_loss(x.softmax(-1), *asked)),
):
    task.mistake("soft targets", says)(wrong)
for says, wrong in (
    ("The temperature was not used in either softmax.", softened(0, 0)),
    ("Only the teacher was softened: the student, too.", softened(0, 1)),
    (SHARP_TEACHER, softened(1, 0)),
    ("Logits are divided by T, not multiplied.", softened(-1, -1)),
    (WHOLE, lambda x, teacher, t: distillation_loss(x, teacher, int(t))),
):
    task.mistake("a temperature on both sides", says)(wrong)
for power, says in (
    (0, "T² is missing."), (1, "This is times T."),
    (-1, "This was divided by T."), (-2, "This was divided by T²."),
):  # fmt: skip
    task.mistake("times T squared", f"{says} {SHRINKS}")(softened(power=power))
