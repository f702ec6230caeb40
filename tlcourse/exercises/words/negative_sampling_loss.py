"""Lesson 11: the loss of skip-gram with negative sampling (Mikolov et al., 2013)."""

import torch
from torch.nn import functional as F

from tlcourse.exercises import measures
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import NO_GRADIENT, draw, unreached

NAMES = ["centre", "context", "negatives"]

task = Exercise(
    __name__,
    number="11.2",
    title="The loss of skip-gram",
    difficulty=3,
    importance=5,
    minutes=15,
    hints=(
        "There are two kinds of scores: of each centre with its context, (batch,), and of each "
        "centre with its k negatives, (batch, k). Which should be large, and which small?",
        "`(centre * context).sum(dim=-1)` has the scores of the true pairs. For the negatives, "
        "`negatives @ centre[:, :, None]` is (batch, k, 1).",
        "`F.logsigmoid(score)` is ln σ(score). Use it on the scores of the true pairs and on the "
        "*negated* scores of the negatives. Add up the k of a row, then take the mean over the "
        "batch, with a minus.",
    ),
    imports="import numpy as np\nimport torch\nfrom torch.nn import functional as F",
    measure=measures.loss,
    tolerance=1e-4,
)


@task.reference
def negative_sampling_loss(centre, context, negatives):
    """(batch, width) twice and (batch, k, width) to the mean loss over the batch, in nats."""
    true = (centre * context).sum(dim=-1)
    false = (negatives @ centre[:, :, None]).squeeze(-1)
    return -(F.logsigmoid(true) + F.logsigmoid(-false).sum(dim=-1)).mean()


@task.truth
def answer_by_answer(centre, context, negatives):
    """Each score is one yes-or-no question, whose loss is softplus(-score) or softplus(score)."""
    nats = []
    for asks, true, others in zip(centre, context, negatives, strict=True):
        scores = [-(asks.double() @ true.double()), *(asks.double() @ n.double() for n in others)]
        nats.append(sum(F.softplus(score, threshold=700) for score in scores))
    return torch.stack(nats).mean()


def gradient(candidate, name, *given):
    """The gradient for one of the three tensors."""
    leaves = [each.clone().requires_grad_() for each in given]
    return torch.autograd.grad(candidate(*leaves), leaves[NAMES.index(name)])[0]


def gradient_of_truth(name, *given):
    return gradient(answer_by_answer, name, *(each.double() for each in given))


def of(batch, k, width=4, seed=0):
    """The arguments of a case: random centres, contexts and negatives."""
    sizes = ((batch, width), (batch, width), (batch, k, width))
    return tuple(draw(*size, seed=seed + 100 * place) for place, size in enumerate(sizes))


def scoring(true, *false):
    """Arguments of one row, whose scores are these numbers."""
    centre = torch.tensor([[1.0, 0.0]])
    context, negatives = torch.tensor([[true, 3.0]]), [[score, -2.0] for score in false]
    return centre, context, torch.tensor([negatives])


task.stage(
    "one number to learn from",
    case("the shape of the loss for 2 rows with 3 negatives of width 4", *of(2, 3), expected=()),
    measure=lambda *given: tuple(measures.loss(*given).shape),
    hint="Return one number for the whole batch, a tensor.",
)
task.stage(
    "a true pair and false ones",
    case(
        "one row, a true pair with the score 2 and negatives with the scores 1 and -2",
        *scoring(2.0, 1.0, -2.0),
    ),
    case("one row, all scores 0, with 3 negatives", *scoring(0.0, 0.0, 0.0, 0.0)),
    hint="For the scores 2, 1 and -2 the loss is -ln σ(2) - ln σ(-1) - ln σ(2) = 0.127 + 1.313 + "
    "0.127. A negative has a large loss if its score is large. If a score is 0, it costs ln 2.",
)
task.stage(
    "a batch",
    case("2 rows with 3 negatives of width 4", *of(2, 3)),
    case("4 rows with 1 negative of width 3", *of(4, 1, 3, seed=1)),
    case("3 rows with 3 negatives of width 3", *of(3, 3, 3, seed=2)),
    case("1 row with 5 negatives of width 2", *of(1, 5, 2, seed=3)),
    *(
        case(f"{n} rows with {k} negatives of width {width}", *of(n, k, width, seed=10 + n))
        for n, k, width in ((5, 2, 3), (6, 4, 5), (7, 6, 2), (8, 3, 8))
    ),
    hint="Each row has negatives of its own: row i of `centre` meets row i of `context`, and the k "
    "vectors of `negatives[i]`. Add up the losses of a row, and take the mean over the rows.",
)
task.stage(
    "large scores",
    case("a true pair with the score -200, and a negative with the score -1", *scoring(-200.0, -1)),
    case("a true pair with the score 1, and a negative with the score 200", *scoring(1.0, 200.0)),
    case("the scores -200, 200 and 300", *scoring(-200.0, 200.0, 300.0)),
    hint="The loss of a score of 200 that should be low is 200 nats. Do not limit scores or "
    "probabilities, and compute no `exp`, which overflows: use `F.logsigmoid`.",
)
task.stage(
    "the gradient",
    case(
        "the names that no gradient reaches",
        *(NAMES, *of(2, 3, seed=4)),
        measure=unreached,
        expected=[],
        hint=NO_GRADIENT,
    ),
    *(case(f"the gradient for `{name}`", name, *of(3, 2, seed=5)) for name in NAMES),
    case(
        "the gradient for `centre`, the scores -200, 200 and 1",
        *("centre", *scoring(-200.0, 200.0, 1.0)),
        hint="NaN comes from an `exp` that overflows, even if `where` leaves out its value. Use "
        "`F.logsigmoid`.",
    ),
    measure=gradient,
    expected=gradient_of_truth,
    hint="All three tensors learn: centres from all scores, contexts and negatives from their "
    "own. Is a part of the loss detached?",
)


def of_scores(combine, asks=lambda centre, context: centre):
    """A loss `combine(true, false)` of scores (batch,) and (batch, k), with another `asks`."""

    def wrong(centre, context, negatives):
        true = (centre * context).sum(-1)
        return combine(true, (negatives * asks(centre, context)[:, None]).sum(-1))

    return wrong


def softmax(true, false):
    scores = torch.cat([true[:, None], false], dim=1)
    return F.cross_entropy(scores, torch.zeros(len(true), dtype=torch.long))


def right(true, false):
    return -(F.logsigmoid(true) + F.logsigmoid(-false).sum(-1)).mean()


task.mistakes(
    (
        "The sign is the wrong one. A logarithm of a probability is never above 0, and a loss is "
        "its *negative*, so put a minus before the whole sum.",
        of_scores(lambda true, false: -right(true, false)),
    ),
    (
        "This is the loss of the true pairs alone. Add -ln σ(-score) of each negative.",
        of_scores(lambda true, false: -F.logsigmoid(true).mean()),
    ),
    (
        "The mean is taken over all scores here. The k + 1 losses of a row are added up, and the "
        "mean is that of the rows.",
        of_scores(lambda true, false: right(true, false) / (1 + false.shape[1])),
    ),
    (
        "The probabilities themselves are added up here. The loss is made of their logarithms, "
        "ln σ(score): `F.logsigmoid(score)`.",
        of_scores(lambda true, false: -(true.sigmoid() + (-false).sigmoid().sum(-1)).mean()),
    ),
    (
        "The negatives are treated like true pairs here, so the model learns to give every word a "
        "large score. Use σ of the *negated* score, `F.logsigmoid(-score)`.",
        of_scores(lambda true, false: -(F.logsigmoid(true) + F.logsigmoid(false).sum(-1)).mean()),
    ),
    (
        "The mean is taken over the k negatives here. The losses of a row are added up, so that "
        "more negatives count more.",
        of_scores(lambda true, false: -(F.logsigmoid(true) + F.logsigmoid(-false).mean(-1)).mean()),
    ),
    (
        "There is no σ here. This loss has no lower end: the model would only make its vectors "
        "longer and longer.",
        of_scores(lambda true, false: (false.sum(-1) - true).mean()),
    ),
    (
        "This is a softmax over the true word and the negatives. In negative sampling each score "
        "is a yes-or-no question of its own, with σ.",
        of_scores(softmax),
    ),
    (
        "The losses of the rows are added up. Return their mean over the batch.",
        of_scores(lambda true, false: -(F.logsigmoid(true) + F.logsigmoid(-false).sum(-1)).sum()),
    ),
    (
        "The negatives meet `context` here. They are wrong answers for the same question, so they "
        "meet `centre`.",
        of_scores(
            right,
            asks=lambda centre, context: context,
        ),
    ),
    (
        "The loss is infinite here: either the σ of a score far below 0 is rounded to 0 before the "
        "logarithm, or `exp` overflows. `F.logsigmoid(score)` computes ln σ in one step and stays "
        "exact.",
        of_scores(
            lambda true, false: -(true.sigmoid().log() + (-false).sigmoid().log().sum(-1)).mean()
        ),
    ),
    (
        "1 - σ of a large score is rounded to 0 here, and its logarithm is minus infinity. But "
        "1 - σ(x) is σ(-x), so use `F.logsigmoid(-score)`.",
        of_scores(
            lambda true, false: -(F.logsigmoid(true) + (1 - false.sigmoid()).log().sum(-1)).mean()
        ),
    ),
)
