"""The checks of lesson 06's soft targets, a function for each stage.

The true loss is added up from its formula, number by number, in double precision.
"""

import math

import torch
from torch import Tensor

from tlcourse.exercises.expect import expect_close, expect_loss, expect_number
from tlcourse.exercises.expect import expect_unchanged as call

Rows = list[list[float]]


def _shares(scores: list[float], temperature: float) -> list[float]:
    """The softmax of scores over the temperature."""
    highest = max(scores)
    parts = [math.exp((score - highest) / temperature) for score in scores]
    return [part / sum(parts) for part in parts]


def _logs(scores: list[float], temperature: float) -> list[float]:
    """The logarithms of `_shares`."""
    highest = max(scores)
    total = math.log(sum(math.exp((score - highest) / temperature) for score in scores))
    return [(score - highest) / temperature - total for score in scores]


def _mean(student: Rows, teacher: Rows, ours: float = 1.0, theirs: float = 1.0) -> float:
    """Mean soft cross-entropy at the temperatures of student and teacher, not multiplied."""
    texts = zip(student, teacher, strict=True)
    nats = [
        -sum(p * q for p, q in zip(_shares(right, theirs), _logs(mine, ours), strict=True))
        for mine, right in texts
    ]
    return sum(nats) / len(nats)


def _loss(candidate, student: Rows, teacher: Rows, temperature: float, what: str) -> Tensor:
    """What the candidate gives; raises Wrong unless it is a number to learn from."""
    return _loss_and_logits(candidate, student, teacher, temperature, what)[0]


def _loss_and_logits(candidate, student, teacher, temperature, what) -> tuple[Tensor, Tensor]:
    logits = torch.tensor(student, requires_grad=True)
    got = call(candidate, logits, torch.tensor(teacher), temperature)
    expect_loss(got, what, logits)
    return got.reshape(()), logits


def _drawn(texts: int, labels: int, seed: int, size: float = 2.0) -> tuple[Rows, Rows]:
    draw = torch.Generator().manual_seed(seed)
    return tuple((size * torch.randn(texts, labels, generator=draw)).tolist() for _ in range(2))


def number(candidate) -> None:
    _loss(candidate, *_drawn(4, 3, seed=0), 2.0, "4 texts of 3 labels")


SHARP_TEACHER = (
    "Only the student was softened. The teacher's logits are divided by T, too, before its softmax."
)
SWAPPED = "Student and teacher are swapped: the teacher's shares are the targets."


def soft(candidate) -> None:
    _even_student(candidate)
    (student, teacher), what = _drawn(4, 3, seed=1), "4 texts of 3 labels, T = 1,"
    best = [right.index(max(right)) for right in teacher]
    hard = [-_logs(mine, 1.0)[place] for mine, place in zip(student, best, strict=True)]
    right, twice = _mean(student, teacher), [_shares(mine, 1.0) for mine in student]
    known = [
        (_mean(teacher, student), SWAPPED),
        (sum(hard) / 4, "Only the teacher's best label was used; how it shares the rest counts."),
        (4 * right, "This is the sum over the texts; the mean is wanted."),
        (_mean(twice, teacher), "The softmax of the student was taken twice: cross-entropy has "
         "one in it, and it is the logits that T divides."),
    ]  # fmt: skip
    likely = (
        "For each text: minus the sum over labels of the teacher's share times the log of ours."
    )
    expect_number(_loss(candidate, student, teacher, 1.0, what), right, what, known, likely)


def _even_student(candidate) -> None:
    """One text: what came says which formula it was."""
    what = "a student who gives 1/2 to each of two labels, T = 1,"
    student, teacher = [[0.0, 0.0]], [[math.log(3), 0.0]]
    got = _loss(candidate, student, teacher, 1.0, what)
    half, entropy = math.log(2), -0.75 * math.log(0.75) - 0.25 * math.log(0.25)
    known = [
        (
            half - entropy,
            "This is the Kullback-Leibler divergence, the cross-entropy less the entropy of the "
            "teacher. It has the same gradient; here the cross-entropy itself is asked for.",
        ),
        (
            _mean(teacher, student) - half,
            "This is a Kullback-Leibler divergence, and the wrong way round: the targets are the "
            "teacher's shares, and their entropy stays in.",
        ),
        (_mean(teacher, student), SWAPPED),
        (0.0, "The softmax goes over the labels, `dim=-1`; over one text all shares are 1."),
        (half / 2, "The mean over the texts is wanted, not over texts and labels."),
        (2 * half, "This is twice as much: at T = 1, T squared is 1 (`temperature**2`)."),
        (3 * half, "This is three times as much: `temperature**2`; `^` is no power in Python."),
        (half / math.log(2), "These are bits: nats come from the natural logarithm."),
        (-half, "A loss is *minus* the sum of target times log probability."),
        (math.log(3) * half, "The teacher gives logits: its shares are their softmax."),
    ]
    likely = "Whatever the teacher says: shares that sum to 1, times -ln 1/2, are ln 2."
    expect_number(got, half, what, known, likely)


def temperature(candidate) -> None:
    student, teacher = _drawn(3, 4, seed=2)
    for t in (2.0, 2.5):
        right, what = _mean(student, teacher, t, t), f"3 texts of 4 labels, T = {t:g},"
        got = _loss(candidate, student, teacher, t, what)
        value = float(got.detach())
        if any(math.isclose(value, right * t**k, rel_tol=1e-4) for k in (-2, -1, 0, 1)):
            continue  # the next stage is about this factor
        wrong = [
            (_mean(student, teacher), "The temperature was not used in either softmax."),
            (_mean(student, teacher, 1, t), "Only the teacher was softened: the student, too."),
            (_mean(student, teacher, t, 1), SHARP_TEACHER),
            (_mean(student, teacher, 1 / t, 1 / t), "Logits are divided by T, not multiplied."),
        ]
        known = [(value * t**power, said) for value, said in wrong for power in (2, 0, 1)]
        if t > int(t):
            whole = _mean(student, teacher, int(t), int(t)) * int(t) ** 2
            known.append((whole, "T need not be a whole number: leave out `int`."))
        likely = "Both are softmaxes of logits over the temperature, and T divides logits only."
        expect_number(got, right * t**2, what, known, likely)


def squared(candidate) -> None:
    student, teacher = _drawn(3, 4, seed=3)
    for t in (2.0, 5.0):
        right, what = _mean(student, teacher, t, t), f"3 texts of 4 labels, T = {t:g},"
        shrinks = "The gradient of soft targets shrinks as 1 / T²: multiply the loss by T²."
        known = [
            (right, f"T² is missing. {shrinks}"),
            (right * t, f"This is times T. {shrinks}"),
            (right / t, f"This was divided by T. {shrinks}"),
            (right / t**2, f"This was divided by T². {shrinks}"),
        ]
        got, logits = _loss_and_logits(candidate, student, teacher, t, what)
        expect_number(got, right * t**2, what, known)
        slope = [
            [t * (q - p) / 3 for p, q in zip(_shares(theirs, t), _shares(ours, t), strict=True)]
            for ours, theirs in zip(student, teacher, strict=True)
        ]
        what = f"the gradient of the student's logits at T = {t:g}"
        likely = "By hand it is T (q - p) / texts, q and p being the softened shares."
        expect_close(torch.autograd.grad(got, logits)[0], slope, what, likely, 1e-4)


def whole(candidate) -> None:
    for seed in range(20):
        size, t = (2.0, 300.0)[seed % 2], (0.5, 1.0, 3.0, 20.0)[seed % 4]
        student, teacher = _drawn(1 + seed % 5, 2 + seed % 4, 100 + seed, size)
        what = f"logits as large as {max(max(map(abs, row)) for row in student):.0f}, T = {t:g}:"
        likely = (
            "Logits may be large: `log_softmax`, not the log of a softmax, which is 0 for a label "
            "far behind."
        )
        right = _mean(student, teacher, t, t) * t**2
        expect_number(_loss(candidate, student, teacher, t, what), right, what, (), likely)
