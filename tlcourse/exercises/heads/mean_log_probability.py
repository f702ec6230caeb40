"""Lesson 09: how likely a causal model finds the end of a text."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="9.6",
    title="The likelihood of a candidate",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "The logits at position t predict token t + 1. So the token at position `start` is "
        "predicted by the logits at position `start - 1`.",
        "`logits.log_softmax(-1)[start - 1 : -1]` are the log-probabilities at these positions. "
        "Pick the entries of `tokens[start:]`, for instance with `gather`, and take their mean.",
    ),
    imports="import torch\nfrom torch.nn import functional as F",
    tolerance=1e-4,
)


@task.reference
def mean_log_probability(logits, tokens, start):
    """(length, vocabulary) logits of (length,) tokens to the mean log p of tokens[start:]."""
    logs = logits.log_softmax(dim=-1)[start - 1 : -1]
    return logs.gather(1, tokens[start:, None]).mean().item()


@task.truth
def by_cross_entropy(logits, tokens, start):
    return -F.cross_entropy(logits.double()[start - 1 : -1], tokens[start:]).item()


def number(candidate, *arguments):
    """The result as a number of Python."""
    got = expect_unchanged(candidate, *arguments)
    return got.item() if isinstance(got, torch.Tensor) and got.numel() == 1 else got


def drawn(length, vocabulary, start, seed, scale=1.0):
    generator = torch.Generator().manual_seed(varying(seed))
    logits = scale * torch.randn(length, vocabulary, generator=generator)
    return logits, torch.randint(vocabulary, (length,), generator=generator), start


task.stage(
    "equal logits",
    case("equal logits of 4 tokens: -ln 4", torch.zeros(5, 4), torch.tensor([0, 1, 2, 3, 0]), 2),
    hint="All four tokens are equally likely here, so each ln p is ln(1/4) = -1.38629, and so is "
    "their mean.",
    measure=number,
)
task.stage(
    "the last token alone",
    case("the last of 4 tokens", *drawn(4, 6, 3, 1)),
    hint="The logits at position t predict the token at t + 1, so those at the last position are "
    "not used.",
    measure=number,
)
task.stage(
    "several tokens",
    case("3 of 6 tokens", *drawn(6, 5, 3, 2)),
    case("all but the first of 5 tokens", *drawn(5, 7, 1, 3)),
    hint="Compute ln p of each token from `start` on, one number a token, and then the mean of "
    "these numbers.",
    measure=number,
)
task.stage(
    "large logits",
    case("3 of 6 tokens, with logits in the hundreds", *drawn(6, 5, 3, 4, 300.0)),
    hint="Use `log_softmax`: the logarithm of a softmax that is 0 is lost.",
    measure=number,
)


def unshifted(logits, tokens, start):
    return logits.log_softmax(-1)[start:].gather(1, tokens[start:, None]).mean().item()


task.mistakes(
    (
        "This is the sum. Longer candidates would always lose: take the mean.",
        lambda logits, tokens, start: (
            (len(tokens) - start) * mean_log_probability(logits, tokens, start)
        ),
    ),
    (
        "The logits are not shifted: those at position t predict the token at t + 1, not at t.",
        unshifted,
    ),
    (
        "The mean runs over the whole text. The beginning is the same for all candidates.",
        lambda logits, tokens, start: mean_log_probability(logits, tokens, 1),
    ),
)
