"""Lesson 06b: how far two predictions of one text are apart, and a gradient for both.

The true loss and its gradient are added up from their formulas, number by number.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_loss, expect_unchanged
from tlcourse.exercises.task import Exercise

Rows = list[list[float]]

task = Exercise(
    __name__,
    number="6b.2",
    title="Two predictions that should agree",
    difficulty=3,
    minutes=15,
    hints=(
        "you need both as probabilities and as log-probabilities: `one.log_softmax(dim=-1)`, and "
        "`.exp()` of it; the same for `other`.",
        "the divergence of a text from p to q is the sum over labels of p times (log p - log q). "
        "Write it in both directions, add them, and take half.",
        "the mean goes over the texts only: sum over labels (`dim=-1`) first. Detach nothing: in "
        "R-Drop both predictions move.",
    ),
    imports="import math\nimport numpy as np\nimport torch\nfrom torch.nn import functional as F",
)


@task.reference
def consistency_loss(one, other):
    """(texts, labels) logits, twice, to half the sum of both divergences, averaged over texts."""
    ours, theirs = one.log_softmax(dim=-1), other.log_softmax(dim=-1)
    there = (ours.exp() * (ours - theirs)).sum(dim=-1)
    back = (theirs.exp() * (theirs - ours)).sum(dim=-1)
    return ((there + back) / 2).mean()


@task.right
def by_library(one, other):
    ours, theirs = F.log_softmax(one, dim=1), F.log_softmax(other, dim=1)
    there = F.kl_div(theirs, ours, reduction="batchmean", log_target=True)
    back = F.kl_div(ours, theirs, reduction="batchmean", log_target=True)
    return 0.5 * there + 0.5 * back


@task.right
def by_one_product(one, other):
    apart = one.softmax(-1) - other.softmax(-1)
    logs = torch.log_softmax(one, -1) - torch.log_softmax(other, -1)
    return (apart * logs).sum() / (2 * len(one))


def logs(scores: list[float]) -> list[float]:
    """The logarithms of the softmax of scores."""
    highest = max(scores)
    total = math.log(sum(math.exp(score - highest) for score in scores))
    return [score - highest - total for score in scores]


def divergence(first: list[float], second: list[float]) -> float:
    """The Kullback-Leibler divergence of two lists of log-probabilities, in nats."""
    return sum(math.exp(p) * (p - q) for p, q in zip(first, second, strict=True))


def added_up(one: Rows, other: Rows) -> float:
    """The true loss."""
    pairs = [(logs(a), logs(b)) for a, b in zip(one, other, strict=True)]
    return sum(divergence(p, q) + divergence(q, p) for p, q in pairs) / 2 / len(pairs)


def by_hand(one: Rows, other: Rows) -> list[Rows]:
    """The gradient of the true loss for `one`, then that for `other`."""
    found = [[], []]
    for a, b in zip(one, other, strict=True):
        for rows, p, q in ((found[0], logs(a), logs(b)), (found[1], logs(b), logs(a))):
            apart = divergence(p, q)
            rows.append([
                (math.exp(x) * (x - y - apart) + math.exp(x) - math.exp(y)) / 2 / len(one)
                for x, y in zip(p, q, strict=True)
            ])  # fmt: skip
    return found


def drawn(texts: int, labels: int, seed: int, size: float = 2.0) -> tuple[Rows, Rows]:
    """Random logits, twice."""
    draw = torch.Generator().manual_seed(seed)
    return tuple((size * torch.randn(texts, labels, generator=draw)).tolist() for _ in range(2))


def asked(candidate, one: Rows, other: Rows) -> tuple[Tensor, list[Tensor]]:
    """What the candidate gives, and for what; raises CheckFailed unless it is a number to learn from."""
    logits = [torch.tensor(each, requires_grad=True) for each in (one, other)]
    got = expect_unchanged(candidate, *logits)
    what = f"{len(one)} texts of {len(one[0])} labels"
    try:
        expect_loss(got, what, logits[0])
    except CheckFailed:
        expect_loss(got, what, logits[1])  # to have one gradient is enough for a number
    return got.reshape(()), logits


def loss_of(candidate, one: Rows, other: Rows) -> Tensor:
    """What the candidate gives, a number to learn from."""
    return asked(candidate, one, other)[0]


def gradients_of(candidate, one: Rows, other: Rows) -> Tensor:
    """(2, texts, labels) what `one` and `other` are told; 0 where nothing arrives."""
    got, logits = asked(candidate, one, other)
    found = torch.autograd.grad(got, logits, allow_unused=True)
    pairs = zip(found, logits, strict=True)
    return torch.stack([torch.zeros_like(x) if each is None else each for each, x in pairs])


def expect(candidate, look: Callable, given: tuple[Rows, Rows], gives, what, likely) -> None:
    """Raises CheckFailed unless that is seen, up to rounding."""
    told = {"what": what, "likely": likely, "tolerance": 1e-4}
    task.observe(candidate, look, *given, gives=gives, **told)


@task.stage("one number to learn from")
def number(candidate):
    loss_of(candidate, *drawn(4, 3, seed=0))


@task.stage("agreement costs nothing")
def agreement(candidate):
    one, _ = drawn(4, 3, seed=1)
    likely = "Where both say the same, a divergence is 0."
    expect(candidate, loss_of, (one, one), 0.0, "twice the same logits", likely)
    shifted = [[score + 3.0 for score in row] for row in one]
    what = "logits that are all higher by 3"
    likely = "Their softmax is the same: compare probabilities, not logits."
    expect(candidate, loss_of, (one, shifted), 0.0, what, likely)


@task.stage("half the sum of both divergences")
def both_ways(candidate):
    given = [[math.log(3), 0.0]], [[0.0, 0.0]]
    likely = "By hand: (3/4 ln 3/2 + 1/4 ln 1/2 + 1/2 ln 2/3 + 1/2 ln 2) / 2."
    what = "probabilities of 3/4 and 1/4 against 1/2 and 1/2"
    expect(candidate, loss_of, given, added_up(*given), what, likely)
    given = drawn(4, 3, seed=2)
    likely = "Sum over the labels, mean over the texts."
    expect(candidate, loss_of, given, added_up(*given), "4 texts of 3 labels", likely)


@task.stage("a gradient for both")
def gradients(candidate):
    given = drawn(3, 4, seed=3)
    likely = "The number is right, its gradient is not: is something detached?"
    what = "the gradient of 3 texts of 4 labels, for `one` and for `other`,"
    expect(candidate, gradients_of, given, by_hand(*given), what, likely)


@task.stage("20 random batches")
def whole(candidate):
    for seed in range(20):
        size = (2.0, 200.0)[seed % 2]
        given = drawn(1 + seed % 5, 2 + seed % 4, 100 + seed, size)
        largest = max(max(map(abs, row)) for row in given[0])
        what = f"{len(given[0])} texts, logits as large as {largest:.0f}:"
        expect(candidate, loss_of, given, added_up(*given), what, LARGE)


def one_way(one: Tensor, other: Tensor) -> Tensor:
    """(texts,) the divergence from what `one` says to what `other` says."""
    ours, theirs = one.log_softmax(dim=-1), other.log_softmax(dim=-1)
    return (ours.exp() * (ours - theirs)).sum(dim=-1)


def middle(one: Tensor, other: Tensor) -> Tensor:
    """The Jensen-Shannon divergence."""
    between = ((one.softmax(-1) + other.softmax(-1)) / 2).log()
    return ((one_way(one, between) + one_way(other, between)) / 2).mean()


def cross(one: Tensor, other: Tensor) -> Tensor:
    """Half the sum of both cross-entropies."""
    return (F.cross_entropy(one, other.softmax(-1)) + F.cross_entropy(other, one.softmax(-1))) / 2


def fixed(one: Tensor, other: Tensor) -> Tensor:
    """Each prediction is moved towards the other, which stands still."""
    return ((one_way(one.detach(), other) + one_way(other.detach(), one)) / 2).mean()


def times(factor: Callable[[Tensor], float]) -> Callable:
    """The right loss times a factor that goes by the logits."""
    return lambda one, other: consistency_loss(one, other) * factor(one)


ENTROPY = "This is the cross-entropy: the entropy is still in it. Subtract the log of p, too."
LOGITS = "The logits were compared. The same softmax has many logits: compare what it gives."
NO_LOGS = "`F.kl_div` takes log-probabilities first: `log_softmax`, no `softmax`."
NO_LOG_TARGET = "`F.kl_div` takes probabilities second, unless you say `log_target=True`."
THERE = "This is the divergence from `one` to `other` alone; add the way back, and take half."
BACK = "This is the divergence from `other` to `one` alone; add the other way, and take half."
WHOLE = "This is the sum of both directions: take half of it."
JENSEN = "This is the Jensen-Shannon divergence, against the mean of both; R-Drop has no mean."
SQUARES = "These are squared differences of probabilities, as in the Pi-model; R-Drop takes logs."
OVER_LABELS = 'The mean went over labels, too; `F.kl_div` does that unless told "batchmean".'
TEXTS = "The softmax goes over the labels, `dim=-1`; over one text all shares are 1."
NO_ONE = "`one` is detached: it should move, too. (In UDA one of the two stands still.)"
NO_OTHER = "`other` is detached: it should move, too; R-Drop has a gradient for both."
FIXED = (
    "In each direction the target is detached. The number is the same, but in R-Drop the target "
    "moves, too."
)
LARGE = (
    "Logits may be large: then some softmax is 0, and its log is lost (`torch.distributions` gives "
    "infinity there, too). Take `log_softmax`."
)

for stage, says, wrong in (
    ("agreement costs nothing", ENTROPY, cross),
    ("agreement costs nothing", ENTROPY, lambda a, b: F.cross_entropy(a, b.softmax(-1))),
    ("agreement costs nothing", NO_LOGS,
     lambda a, b: F.kl_div(a.softmax(-1), b.softmax(-1), reduction="batchmean")),
    ("agreement costs nothing", NO_LOG_TARGET,
     lambda a, b: F.kl_div(a.log_softmax(-1), b.log_softmax(-1), reduction="batchmean")),
    ("agreement costs nothing", LOGITS, F.mse_loss),
    ("half the sum of both divergences", THERE, lambda a, b: one_way(a, b).mean()),
    ("half the sum of both divergences", BACK, lambda a, b: one_way(b, a).mean()),
    ("half the sum of both divergences", WHOLE, times(lambda x: 2)),
    ("half the sum of both divergences", JENSEN, middle),
    ("half the sum of both divergences", SQUARES,
     lambda a, b: F.mse_loss(a.softmax(-1), b.softmax(-1))),
    ("half the sum of both divergences", OVER_LABELS, times(lambda x: 1 / x.shape[1])),
    ("half the sum of both divergences", "A divergence is positive: p times (log p - log q).",
     times(lambda x: -1)),
    ("half the sum of both divergences", TEXTS, lambda a, b: consistency_loss(a.T, b.T)),
    ("half the sum of both divergences", "This is the sum over the texts; the mean is wanted.",
     times(len)),
    ("a gradient for both", NO_ONE, lambda a, b: consistency_loss(a.detach(), b)),
    ("a gradient for both", NO_OTHER, lambda a, b: consistency_loss(a, b.detach())),
    ("a gradient for both", FIXED, fixed),
):  # fmt: skip
    task.mistake(stage, says)(wrong)


@task.mistake("20 random batches", LARGE)
def log_of_softmax(one, other):
    ours, theirs = one.softmax(dim=-1), other.softmax(dim=-1)
    return ((ours - theirs) * (ours.log() - theirs.log())).sum(dim=-1).mean() / 2
