"""The exercises of lesson 03: BERT's corruption, a training run, and perplexities from nats."""

import math

from torch import Tensor

from tlcourse.bpe import SPECIALS
from tlcourse.exercises import conversion_checks, training_run
from tlcourse.exercises import pretraining_checks as checks
from tlcourse.exercises.machinery import Exercise, Stage


def mask_tokens(tokens: Tensor, draw: Tensor, kind: Tensor, noise: Tensor):
    """(batch, length) ids and three drawings to corrupted ids and a mask, True = to predict."""
    chosen = (draw < 0.15) & (tokens >= len(SPECIALS))
    corrupted = tokens.clone()
    corrupted[chosen & (kind < 0.8)] = SPECIALS.index("<mask>")
    swapped = chosen & (kind >= 0.9)
    corrupted[swapped] = noise[swapped]
    return corrupted, chosen


def word_perplexity_and_bits(nats, text):
    """The nats of each token of `text` to (word perplexity, bits per byte)."""
    total = sum(nats)
    words = len(text.split()) + text.count("\n")
    return math.exp(total / words), total / math.log(2) / len(text.encode("utf-8"))


EXERCISES = (
    Exercise(
        id="pretraining.mask_tokens",
        title="Hide 15 %: 80, 10, 10",
        difficulty=2,
        minutes=15,
        hints=(
            "three questions, one after the other: which positions are chosen, what becomes of "
            "each, and what must the loss know?",
            "first make `chosen`, a boolean tensor: where `draw < 0.15` and the token is ordinary "
            "(its id is at least 6).",
            "start from `corrupted = tokens.clone()`, so that the input stays as it is; then "
            "`corrupted[chosen & (kind < 0.8)] = MASK`.",
            "the swapped ones: `swapped = chosen & (kind >= 0.9)`, then "
            "`corrupted[swapped] = noise[swapped]`. What is left of the chosen stays, and is "
            "still chosen.",
        ),
        reference=mask_tokens,
        stages=(
            Stage("two tensors", checks.mask_shape),
            Stage("which are chosen", checks.mask_choice),
            Stage("what becomes of them", checks.mask_kinds),
            Stage("a batch of 2,000", checks.mask_whole),
        ),
    ),
    training_run.SCHEDULE,
    training_run.FIND_THE_BUG,
    Exercise(
        id="pretraining.word_perplexity_and_bits",
        title="From nats to numbers that can be compared",
        difficulty=2,
        minutes=10,
        hints=(
            "both begin with the sum of all nats; they differ in what it is divided by.",
            "perplexity is e to the power of the nats for each word or line end; for bits, ask how "
            "many nats one bit is, and how many bytes an é has.",
            "words are `len(text.split())` and line ends `text.count('\\n')`; a bit is "
            "`math.log(2)` nats, and bytes are `len(text.encode('utf-8'))`.",
        ),
        reference=word_perplexity_and_bits,
        stages=(
            Stage("two numbers", conversion_checks.kinds),
            Stage("words and line ends", conversion_checks.words),
            Stage("bits and bytes", conversion_checks.bits),
            Stage("twenty texts", conversion_checks.whole),
        ),
    ),
)
