"""The checks of lesson 06's language-model loss, a function for each stage.

The true loss is counted out: one softmax a target, in double precision, position by position.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from tlcourse.exercises.expect import expect_loss, expect_number
from tlcourse.exercises.expect import expect_unchanged as call

Batch = tuple[Tensor, Tensor, Tensor]
Place = tuple[int, int]
BOTH = "A target behind a gap counts, too: its own mask decides, `mask[:, 1:]`, and no other."


def _nats(scores: Iterable[float], target: int) -> float:
    scores = [float(score) for score in scores]
    highest = max(scores)
    total = sum(math.exp(score - highest) for score in scores)
    return math.log(total) + highest - scores[target]


def _mean(batch: Batch, pairs: Iterable[tuple[Place, Place]]) -> float:
    """Mean nats over pairs of (place that predicts, place of the target)."""
    logits, tokens, _ = batch
    nats = [_nats(logits[at].tolist(), int(tokens[target])) for at, target in pairs]
    return sum(nats) / len(nats)


def _pairs(batch: Batch, shift: int = 1, pads: bool = False) -> list[tuple[Place, Place]]:
    """(place, target) for each target of the mask; `pads`: for each token, pads included."""
    rows, length = batch[1].shape
    return [
        ((row, place), (row, place + shift))
        for row in range(rows)
        for place in range(length)
        if 0 <= place + shift < length and (pads or bool(batch[2][row, place + shift]))
    ]


def _loss(candidate, batch: Batch, what: str) -> Tensor:
    """What the candidate gives; raises Wrong unless it is a number to learn from."""
    logits, tokens, mask = batch
    logits = logits.clone().requires_grad_()
    got = call(candidate, logits, tokens, mask)
    expect_loss(got, what, logits)
    return got.reshape(())


def _expect(candidate, batch: Batch, what: str, known: Iterable, likely: str) -> None:
    """Raises Wrong unless the candidate gives the loss of a batch, see `expect_number`."""
    got = _loss(candidate, batch, what)
    if got.isnan():
        likely = "Was no target left? Token 0 is one like others: go by `mask`, not by an id."
    expect_number(got, _mean(batch, _pairs(batch)), what, known, likely)


def _batch(lengths: list[int], vocabulary: int, seed: int) -> Batch:
    """Random scores and ids, in the pads too."""
    draw, longest = torch.Generator().manual_seed(seed), max(lengths)
    logits = 2 * torch.randn(len(lengths), longest, vocabulary, generator=draw)
    tokens = torch.randint(vocabulary, (len(lengths), longest), generator=draw)
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return logits, tokens, mask


def number(candidate) -> None:
    _loss(candidate, _batch([4, 4], 5, seed=0), "2 texts of 4 tokens")


def _mixed(logits: Tensor, tokens: Tensor) -> float:
    """What becomes of scores that are flattened after a transpose."""
    batch = logits.transpose(1, 2).reshape(logits.shape), tokens, tokens
    return _mean(batch, _pairs(batch, 0, pads=True))


def classes(candidate) -> None:
    # The same scores and the same token everywhere: which place predicts which does not matter.
    logits = torch.tensor([3.0, 0.0, -1.0]).expand(1, 4, 3).clone()
    batch = logits, torch.zeros(1, 4, dtype=torch.long), torch.ones(1, 4, dtype=torch.bool)
    what = "one text of four times token 0, whose scores are 3, 0, -1 at every position,"
    right = _mean(batch, _pairs(batch))
    twice = logits.softmax(dim=-1), *batch[1:]
    mixed = (
        "The classes were mixed up with the positions. After `transpose(1, 2)` the last dimension "
        "is the length, and a row of `reshape(-1, vocabulary)` no longer holds one position's "
        "scores. Flatten batch and length only: `flatten(0, 1)`."
    )
    known = [
        (_mixed(*batch[:2]), mixed),
        (_mixed(logits[:, :-1], batch[1][:, 1:]), mixed),
        (3 * right, "Is this a sum? The mean over the targets is wanted."),
        (4 * right, "Is this a sum? The mean over the targets is wanted."),
        (0.75 * right, "Four tokens have three targets, the first is none: divide by three."),
        (0.0, "No target is left. Token 0 is one like others: go by `mask`, not by an id."),
        (_mean(twice, _pairs(batch)), "The softmax was taken twice: cross-entropy has one in it."),
        (right / math.log(2), "These are bits: nats come from the natural logarithm."),
        (-right, "A loss is *minus* the log probability."),
    ]
    likely = "Each target costs ln(e^3 + 1 + 1/e) - 3. Is the softmax over the vocabulary?"
    _expect(candidate, batch, what, known, likely)


def shift(candidate) -> None:
    batch = _batch([6], 7, seed=1)
    what = "one text of 6 tokens without pads"
    own = "Each position was asked for its own token, which a model can simply copy. "
    known = [
        (_mean(batch, _pairs(batch, 0, True)), own + "Position t predicts token t + 1."),
        (
            _mean(batch, [((0, place), (0, place)) for place in range(1, 6)]),
            own + "Both were cut at the same end: `logits[:, :-1]` goes with `tokens[:, 1:]`.",
        ),
        (
            _mean(batch, [((0, place), (0, place)) for place in range(5)]),
            own + "Both were cut at the same end: `logits[:, :-1]` goes with `tokens[:, 1:]`.",
        ),
        (
            _mean(batch, _pairs(batch, -1, True)),
            "That is the wrong way: position t was asked for token t - 1. `logits[:, :-1]` goes "
            "with `tokens[:, 1:]`.",
        ),
        (
            _mean(batch, [((0, place), (0, (place + 1) % 6)) for place in range(6)]),
            "The last position was asked for the first token: `roll` goes round in a circle.",
        ),
    ]
    likely = "The first five positions predict the last five tokens."
    _expect(candidate, batch, what, known, likely)


def pads(candidate) -> None:
    batch = _batch([6, 2, 3], 7, seed=2)
    what = "texts of 6, 2 and 3 tokens in 6 positions"
    each = [_mean(batch, [p for p in _pairs(batch) if p[0][0] == row]) for row in range(3)]
    early = [p for p in _pairs(batch, pads=True) if bool(batch[2][p[0]])]
    places = [(row, place) for row in range(3) for place in range(6)]
    joined = [p for p in zip(places, places[1:], strict=False) if bool(batch[2][p[1]])]
    real = [place for place in places if bool(batch[2][place])]
    dropped = list(zip(real, real[1:], strict=False))
    right = _mean(batch, _pairs(batch))
    known = [
        (
            _mean(batch, dropped),
            "The pads were dropped before the shift, so that the end of one text was asked for the "
            "first token of the next. Shift, then drop.",
        ),
        (
            _mean(batch, _pairs(batch, pads=True)),
            "Pads were targets, too: there are 8 targets, and 15 were counted.",
        ),
        (
            sum(each) / 3,
            "This is the mean of three means: a short text's token would weigh more. Sum over all "
            "targets first.",
        ),
        (
            _mean(batch, early),
            "`mask[:, :-1]` was used. What matters is whether the *target* is a token: "
            "`mask[:, 1:]`.",
        ),
        (
            _mean(batch, joined),
            "The texts were joined before the shift, so that the end of one was asked for the "
            "first token of the next. Shift, then flatten.",
        ),
        (right * 8 / 15, "Pads cost nothing, but they are still counted: divide by 8, not by 15."),
        (right * 8 / 18, "Pads cost nothing, but they are still counted: divide by 8, not by 18."),
        (right * 8 / 11, "The first token of a text is no target: divide by 8, not by 11."),
    ]
    likely = "8 targets: 5, 1 and 2. `mask` says which they are, whatever id a pad has."
    _expect(candidate, batch, what, known, likely)


def whole(candidate) -> None:
    draw = torch.Generator().manual_seed(3)
    for seed in range(20):
        lengths = torch.randint(1, 9, (4,), generator=draw).tolist() + [2]
        batch = _batch(lengths, 4 + seed % 3, seed=100 + seed)
        logits, tokens, mask = batch
        batch = logits, tokens, mask & (tokens != 3)  # a special that is no target either
        if not batch[2][:, 1:].any():
            continue
        likely = "A text may have no target at all, and the mask may have gaps: go by the mask."
        what = f"texts of {lengths} tokens, some of them masked in the middle"
        both = [p for p in _pairs(batch) if bool(batch[2][p[0]])]
        known = [(_mean(batch, both), BOTH)] if both else []
        _expect(candidate, batch, what, known, likely)
    logits, tokens, mask = _batch([5, 3], 6, seed=9)
    likely = "A softmax of such scores has zeros in it, whose logarithm is lost: F.cross_entropy, "
    likely += "or log_softmax in one step."
    _expect(candidate, (200 * logits, tokens, mask), "scores of several hundred", [], likely)
