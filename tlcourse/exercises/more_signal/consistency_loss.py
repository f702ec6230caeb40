"""Lesson 06b: how far two predictions of one text are apart, and a gradient for both."""

import math

import torch
from torch.nn import functional as F

from tlcourse.exercises import measures
from tlcourse.exercises.more_signal._common import two_logits
from tlcourse.exercises.task import Exercise, case


def loss(candidate, one, other):
    """The candidate's loss; raises CheckFailed unless a gradient reaches one of the two."""
    return measures.loss(lambda pair: candidate(*pair), torch.stack([one, other]))


def gradients(candidate, one, other):
    """(2, texts, labels) the gradients for `one` and for `other`; 0 if none reaches it."""
    return measures.gradient(lambda pair: candidate(*pair), torch.stack([one, other]))


task = Exercise(
    __name__,
    number="6b.2",
    title="Two predictions that should agree",
    difficulty=3,
    importance=3,
    minutes=15,
    hints=(
        "You need both predictions as probabilities and as log-probabilities: "
        "`one.log_softmax(dim=-1)`, and `.exp()` of it; the same for `other`.",
        "The divergence of a text from p to q is the sum over labels of p times (log p - log q). "
        "Write it in both directions, add them, and take half.",
        "Sum over the labels first (`dim=-1`), because the mean is over the texts only. Detach "
        "nothing: R-Drop trains both predictions.",
    ),
    imports="import math\nimport numpy as np\nimport torch\nfrom torch.nn import functional as F",
    measure=loss,
    tolerance=1e-4,
)


@task.reference
def consistency_loss(one, other):
    """(texts, labels) logits, twice, to half the sum of both divergences, averaged over texts."""
    ours, theirs = one.log_softmax(dim=-1), other.log_softmax(dim=-1)
    there = (ours.exp() * (ours - theirs)).sum(dim=-1)
    back = (theirs.exp() * (theirs - ours)).sum(dim=-1)
    return ((there + back) / 2).mean()


def by_library(one, other):
    """The mean divergence from the prediction of `one` to that of `other`."""
    ours, theirs = one.log_softmax(dim=-1), other.log_softmax(dim=-1)
    return F.kl_div(theirs, ours, reduction="batchmean", log_target=True)


@task.truth
def both_ways(one, other):
    one, other = one.double(), other.double()
    return (by_library(one, other) + by_library(other, one)) / 2


def batch(number):
    """One of 20 pairs: small and large, with logits of ones and of hundreds."""
    return two_logits(1 + number % 5, 2 + number % 4, 100 + number, (2.0, 200.0)[number % 2])


four, three = two_logits(4, 3, 1)[0], two_logits(3, 4, 3)

task.stage(
    "one number to learn from",
    case("4 texts of 3 labels", *two_logits(4, 3, 0), expected=()),
    measure=lambda *given: tuple(loss(*given).shape),
)
task.stage(
    "agreement costs nothing",
    case("logits, and the same logits plus 3", four, four + 3, expected=0.0),
    hint="Adding 3 to all logits leaves their softmax as it is, so both predictions agree and the "
    "divergence is 0. Compare probabilities, not logits.",
)
task.stage(
    "half the sum of both divergences",
    case(
        "probabilities of 3/4 and 1/4 against 1/2 and 1/2",
        *(torch.tensor([[math.log(3), 0.0]]), torch.zeros(1, 2)),
    ),
    case("4 texts of 3 labels", *two_logits(4, 3, 2)),
    hint="For 3/4 and 1/4 against 1/2 and 1/2, one direction is 3/4 ln 3/2 + 1/4 ln 1/2, the other "
    "1/2 ln 2/3 + 1/2 ln 2. Take half of their sum, and average over the texts, not over the "
    'labels, as `F.kl_div` does unless you say "batchmean".',
)
task.stage(
    "a gradient for both",
    case("the gradients for `one` and `other`, 3 texts of 4 labels", *three),
    measure=gradients,
    expected=lambda *pair: gradients(both_ways, *(each.double() for each in pair)),
    hint="The loss is right, but not its gradient: is something detached? R-Drop trains both.",
)
task.stage(
    "20 random batches",
    *(
        case(f"{len(one)} texts, logits as large as {one.abs().max():.0f}", one, other)
        for one, other in map(batch, range(20))
    ),
    hint="If logits are large, a softmax is 0 and its logarithm is lost (`torch.distributions` "
    "gives infinity there, too). Take `log_softmax`.",
)
task.mistakes(
    (
        "This is the cross-entropy, which still contains the entropy. Subtract the other logarithm "
        "from log p, too.",
        lambda a, b: (F.cross_entropy(a, b.softmax(-1)) + F.cross_entropy(b, a.softmax(-1))) / 2,
    ),
    (
        "`F.kl_div` takes log-probabilities first: `log_softmax`, not `softmax`.",
        lambda a, b: F.kl_div(a.softmax(-1), b.softmax(-1), reduction="batchmean"),
    ),
    (
        "`F.kl_div` takes probabilities second, unless you say `log_target=True`.",
        lambda a, b: F.kl_div(a.log_softmax(-1), b.log_softmax(-1), reduction="batchmean"),
    ),
)
