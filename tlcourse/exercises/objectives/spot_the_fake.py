"""Lesson 10: the loss of ELECTRA's discriminator (Clark et al., 2020)."""

import math

import torch
from torch.nn import functional as F

from tlcourse.bpe import PAD, SPECIALS
from tlcourse.exercises.expect import expect_loss, expect_shape
from tlcourse.exercises.objectives._common import with_model
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

ENTRIES = 20  # of the vocabulary in the checks

task = Exercise(
    __name__,
    number="10.5",
    title="Spot the fake",
    difficulty=3,
    importance=5,
    minutes=15,
    hints=(
        "First build the text that the detector reads: a copy of `tokens` with the sampled tokens "
        "at the chosen positions, `replaced[chosen] = sampled`.",
        "What is the label of a token that the generator happened to guess right? Compare the two "
        "texts: `replaced != tokens`.",
        "`real = tokens != PAD` says which positions count. Take the logits and the labels there, "
        "`detector(replaced)[real]`, and use `F.binary_cross_entropy_with_logits`, which takes "
        "labels as floats and by default returns the mean.",
    ),
    imports="import torch\nfrom torch.nn import functional as F\nfrom tlcourse.bpe import PAD",
    tolerance=1e-4,
)


@task.reference
def detection_loss(detector, tokens, chosen, sampled):
    """The mean binary cross-entropy of the detector over all tokens that are not padding."""
    replaced = tokens.clone()
    replaced[chosen] = sampled
    real = tokens != PAD
    labels = (replaced != tokens).float()
    return F.binary_cross_entropy_with_logits(detector(replaced)[real], labels[real])


@task.truth
def token_by_token(scores, tokens, chosen, sampled):
    """-log σ(x) is softplus(-x), and -log(1 - σ(x)) is softplus(x)."""
    written, nats = iter(sampled.tolist()), []
    for row, place in (tokens > 0).nonzero().tolist():
        token = old = int(tokens[row, place])
        if chosen[row, place]:
            token = next(written)
        logit = scores[row, place, token].double()
        nats.append(F.softplus(logit if token == old else -logit))
    return torch.stack(nats).mean()


def detecting(scores, read):
    """A detector whose logits are `scores` (batch, length, vocabulary) of the ids it reads."""

    def detector(tokens):
        why = "The detector reads all texts at once, with their pads: pass it (batch, length) ids."
        expect_shape(tokens, tuple(scores.shape[:2]), "what the detector reads", why)
        read.append(tokens.tolist())
        return scores.gather(2, tokens[:, :, None]).squeeze(2)

    return detector


def loss(candidate, scores, *given):
    """The loss, without gradient; raises CheckFailed unless a gradient reaches the detector."""
    leaf = scores.clone().requires_grad_()
    got = with_model(candidate, detecting(leaf, []), *given)
    expect_loss(got, "the loss", leaf, "detector")
    return got.detach().reshape(())


def value(candidate, scores, *given):
    """The loss, whether or not it has a gradient."""
    found = with_model(candidate, detecting(scores, []), *given)
    return found if found is None else torch.as_tensor(found).reshape(())


def reads(candidate, *given):
    """What the detector reads, each time that it is called."""
    read = []
    with_model(candidate, detecting(torch.zeros(*given[0].shape, ENTRIES), read), *given)
    return read


def gradient(candidate, scores, *given):
    """The gradient for the detector's logits, (batch, length, vocabulary)."""
    leaf = scores.clone().requires_grad_()
    return torch.autograd.grad(candidate(detecting(leaf, []), *given), leaf)[0]


def by_rule(scores, tokens, chosen, sampled):
    """The gradient by hand: (probability - label) / tokens, at the ids that are read."""
    replaced = tokens.clone().masked_scatter(chosen, sampled)
    logits = scores.gather(2, replaced[:, :, None]).squeeze(2)
    off = (logits.sigmoid() - (replaced != tokens).float()) * (tokens != PAD)
    return (
        torch.zeros_like(scores).scatter(2, replaced[:, :, None], off[:, :, None])
        / (tokens != PAD).sum()
    )


task.measure = loss


def texts(lengths, seed=0, share=0.4, right=0.3, size=2.0, pads=0):
    """Random texts with pads at their ends; a `share` is chosen, of which some are sampled right.

    The longest text has this number of `pads`.

    At least one token of each text is chosen, and at least one is not.
    """
    draw, shape = torch.Generator().manual_seed(varying(seed)), (len(lengths), max(lengths) + pads)
    tokens = torch.randint(len(SPECIALS), ENTRIES, shape, generator=draw)
    real = torch.arange(shape[1]) < torch.tensor(lengths)[:, None]
    chosen = torch.rand(shape, generator=draw) < share
    chosen[:, 0], chosen[:, 1] = True, False
    tokens, chosen = tokens.masked_fill(~real, PAD), chosen & real
    old = tokens[chosen]
    ordinary = ENTRIES - len(SPECIALS)
    shift = torch.randint(1, ordinary, old.shape, generator=draw)
    shift[torch.rand(old.shape, generator=draw) < right] = 0
    sampled = (old - len(SPECIALS) + shift) % ordinary + len(SPECIALS)
    scores = size * torch.randn(*shape, ENTRIES, generator=draw)
    return scores, tokens, chosen, sampled


def known(tokens, chosen, sampled, logit=1.0):
    """Arguments with the same logit everywhere."""
    tokens = torch.tensor([tokens])
    scores = torch.full((*tokens.shape, ENTRIES), logit)
    return scores, tokens, torch.tensor([chosen]) > 0, torch.tensor(sampled)


all_wrong = texts([6, 6], 2, right=0.0)
task.stage(
    "one number to learn from",
    case(
        "2 texts of 5 tokens, and a detector whose logits are all 0: ln 2",
        *(torch.zeros(2, 5, ENTRIES), *texts([5, 5], 1, right=0.0)[1:]),
        expected=torch.tensor(math.log(2)),
    ),
    hint="If all logits are 0, each token costs ln 2 nats, and so does their mean.",
)
task.stage(
    "what the detector reads",
    case(
        "what the detector reads for [7, 8, 9, 10], the first and third chosen, sampled=[17, 19]",
        *known([7, 8, 9, 10], [1, 0, 1, 0], [17, 19])[1:],
        expected=[[[17, 8, 19, 10]]],
    ),
    case(
        "what the detector reads for 2 texts of 6 tokens",
        *all_wrong[1:],
        expected=[all_wrong[1].masked_scatter(*all_wrong[2:]).tolist()],
    ),
    measure=reads,
    hint="The detector is called once, and reads the text with the sampled tokens at the chosen "
    "positions. They come in reading order: row by row, from left to right, as `replaced[chosen] = "
    "sampled` takes them.",
)
task.stage(
    "all tokens count",
    case(
        "[7, 8, 9, 10], the first replaced by 17, all logits 1",
        *known([7, 8, 9, 10], [1, 0, 0, 0], [17]),
        hint="With the logit 1, a replaced token costs ln(1 + 1/e) = 0.313 nats and an original "
        "one ln(1 + e) = 1.313. There are one and three of them.",
    ),
    case("2 texts of 6 tokens, all sampled tokens wrong", *all_wrong),
    hint="The label is 1 for a replaced token and 0 for an original one. The loss is the mean over "
    "all tokens, because the detector learns from all of them.",
)
task.stage(
    "good guesses",
    case(
        "[7, 8, 9, 10], the first and third chosen, sampled=[17, 9], all logits 1",
        *known([7, 8, 9, 10], [1, 0, 1, 0], [17, 9]),
    ),
    case("2 texts of 8 tokens, some tokens sampled right", *texts([8, 8], 3, right=0.6)),
    case(
        "[7, 8, 9, 10], all chosen and sampled as they were",
        *known([7, 8, 9, 10], [1] * 4, [7, 8, 9, 10]),
    ),
    case(
        "[7, 8, 9, 10], nothing chosen",
        *known([7, 8, 9, 10], [0] * 4, [])[:3],
        torch.zeros(0, dtype=torch.long),
        measure=value,
        hint="With nothing chosen, all tokens are original ones, from which the detector learns, "
        "too. With the logit 1, each of them costs ln(1 + e) = 1.313 nats.",
    ),
    hint="A sampled token that equals the original is an original token, with the label 0: nobody "
    "could tell it from the text.",
)
task.stage(
    "padding",
    case("texts of 7, 3 and 5 tokens in 7 positions", *texts([7, 3, 5], 4)),
    case("texts of 2 and 9 tokens in 9 positions", *texts([2, 9], 5)),
    case("texts of 4 and 3 tokens in 6 positions", *texts([4, 3], 9, pads=2)),
    case(
        "[7, 8, 9], the first replaced by 0, the id of `<pad>`, all logits 1",
        *known([7, 8, 9], [1, 0, 0], [PAD]),
        hint="A position is padding if `tokens` is `PAD` there, whatever the generator wrote: the "
        "pad that it sampled is a replaced token.",
    ),
    case(
        f"{[*range(1, len(SPECIALS) + 2)]}, the last replaced by 17, all logits 1",
        *known([*range(1, len(SPECIALS) + 2)], [0] * len(SPECIALS) + [1], [17]),
        hint="Only `PAD` is padding. All other tokens count, special ones too.",
    ),
    *(case(f"random texts of 4, {n} and 9 tokens", *texts([4, n, 9], 10 + n)) for n in range(2, 8)),
    hint=f"Where `tokens` is {PAD}, there is no token: leave these positions out of the sum and "
    "out of the count. Average over all tokens of the batch at once, not text by text.",
)
task.stage(
    "the gradient",
    case("the gradient for the detector's logits, texts of 5 and 3 tokens", *texts([5, 3], 6)),
    measure=gradient,
    expected=by_rule,
    hint="The gradient of a logit is its probability minus the label, divided by the number of "
    "tokens. Is a part of the loss detached?",
)
task.stage(
    "large logits",
    case(
        "texts of 6 and 4 tokens, with logits of several hundred",
        *texts([6, 4], 7, size=300.0),
    ),
    hint="Do not limit the logits, or take their sigmoid, which is exactly 0 or 1 here, or `exp`, "
    "which overflows: `F.binary_cross_entropy_with_logits` takes the logits themselves.",
)


def with_changes(
    labels=lambda replaced, tokens, chosen: replaced != tokens,
    read=lambda replaced, tokens: replaced,
    counts=lambda tokens, chosen: tokens != PAD,
    reduction="mean",
):
    """The reference, with a step of its own."""

    def changed(detector, tokens, chosen, sampled):
        replaced = tokens.masked_scatter(chosen, sampled)
        kept = counts(tokens, chosen)
        logits = detector(read(replaced, tokens))
        targets = labels(replaced, tokens, chosen).float()
        return F.binary_cross_entropy_with_logits(logits[kept], targets[kept], reduction=reduction)

    return changed


task.mistakes(
    (
        "The losses are added up. Return their mean over all tokens.",
        with_changes(reduction="sum"),
    ),
    (
        "The detector reads the original text here, in which nothing is replaced. Put the sampled "
        "tokens into a copy first.",
        with_changes(read=lambda replaced, tokens: tokens),
    ),
    (
        "Only the chosen tokens count here. The detector learns from every token, and that is why "
        "it learns faster than a masked language model.",
        with_changes(counts=lambda tokens, chosen: chosen),
    ),
    (
        "The labels are inverted: 1 means replaced, because a logit above 0 says so.",
        with_changes(labels=lambda replaced, tokens, chosen: replaced == tokens),
    ),
    (
        "Every chosen token has the label 1 here. Where the generator has guessed the original, "
        "nothing was replaced, and the label is 0.",
        with_changes(labels=lambda replaced, tokens, chosen: chosen),
    ),
    (
        "The pads count here, too. Leave them out with `tokens != PAD`.",
        with_changes(counts=lambda tokens, chosen: torch.ones_like(chosen)),
    ),
)
