"""What a model learns from plain text: each pretraining objective is a value.

    import torch
    from tlcourse.objectives import Masked, NextToken
    from tlcourse.transformer import Config

    config = Config(vocabulary_size=300, width=32, layers=2, heads=4, feed_forward=128)
    for objective in (NextToken(), Masked(probability=0.3)):
        model = objective.model(config)
        windows = torch.randint(6, 300, (8, 16 + objective.extra))
        batch = objective.batch(windows, torch.Generator().manual_seed(0), 300)
        nats, targets = objective.loss(model, batch)
        (nats / targets).backward()
        objective.body(model)                           # what is adapted to tasks afterwards

`Objective` says what each of them offers. They consist of corruptions, which are pure functions of
tokens and a generator, and of losses. Every loss returns `(nats, targets)`, the sum of negative
log-likelihoods and their number, so that sums over micro-batches and machines can be divided by one
global count.
"""

from tlcourse.objectives.both_directions import BidirectionalLM
from tlcourse.objectives.corruption import (
    corrupt_spans,
    delete_tokens,
    hide_next_tokens,
    hide_tokens,
    infill,
    mask_half,
    mask_spans,
    mask_tokens,
    mask_words,
    permute_sentences,
    rotate_text,
    sentence_ends,
    shuffle_locally,
    span_counts,
    static_masks,
    word_starts,
)
from tlcourse.objectives.losses import (
    causal_loss,
    cross_entropy,
    hybrid_loss,
    language_model_loss,
    masked_loss,
    sequence_to_sequence_loss,
    with_second_loss,
)
from tlcourse.objectives.masked import Masked, SpanMasked, StaticMasked, WholeWordMasked
from tlcourse.objectives.next_token import NextToken
from tlcourse.objectives.objective import Objective
from tlcourse.objectives.permutation import PermutationLM, permutation_loss
from tlcourse.objectives.prefix import Hybrid, PrefixLM, UniLM
from tlcourse.objectives.replaced import Electra, ReplacedTokens, detection_loss, sample
from tlcourse.objectives.sentences import (
    NextSentence,
    PairModel,
    QuickThoughts,
    SegmentModel,
    SentenceOrder,
)
from tlcourse.objectives.sequence_to_sequence import (
    MASS,
    NOISES,
    Denoising,
    SpanCorruption,
    bart,
    denoising_autoencoder,
)

__all__ = [
    "MASS",
    "NOISES",
    "BidirectionalLM",
    "Denoising",
    "Electra",
    "Hybrid",
    "Masked",
    "NextSentence",
    "NextToken",
    "Objective",
    "PairModel",
    "PermutationLM",
    "PrefixLM",
    "QuickThoughts",
    "ReplacedTokens",
    "SegmentModel",
    "SentenceOrder",
    "SpanCorruption",
    "SpanMasked",
    "StaticMasked",
    "UniLM",
    "WholeWordMasked",
    "bart",
    "causal_loss",
    "corrupt_spans",
    "cross_entropy",
    "delete_tokens",
    "denoising_autoencoder",
    "detection_loss",
    "hide_next_tokens",
    "hide_tokens",
    "hybrid_loss",
    "infill",
    "language_model_loss",
    "mask_half",
    "mask_spans",
    "mask_tokens",
    "mask_words",
    "masked_loss",
    "permutation_loss",
    "permute_sentences",
    "rotate_text",
    "sample",
    "sentence_ends",
    "sequence_to_sequence_loss",
    "shuffle_locally",
    "span_counts",
    "static_masks",
    "with_second_loss",
    "word_starts",
]
