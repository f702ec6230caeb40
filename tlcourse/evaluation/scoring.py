"""Scoring tokens and sentences with causal and masked models, in float32.

A causal model's score of a sentence is its log-probability. A masked model's score is the
pseudo-log-likelihood (Salazar et al., 2020): each token in turn is masked and predicted from all
others.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import device
from tlcourse.bpe import Frame
from tlcourse.checkpoints import AnyTokenizer, Body, LanguageModel
from tlcourse.device import Compute
from tlcourse.recurrent import LSTM, BiLSTM
from tlcourse.transformer import Config, Transformer

Score = Callable[[Sequence[str]], Sequence[float]]  # sentences to scores, higher for likelier
READINGS = ("causal", "masked")
TOKENS_AT_A_TIME = 2048


def nats_of(model: LanguageModel, hidden_states: Tensor, targets: Tensor) -> Tensor:
    """The nats of `targets`, (count,), given hidden states (count, width) before the head."""
    return F.cross_entropy(model.logits(hidden_states).float(), targets, reduction="none")


def predicting_states(model: Transformer, corrupted: Tensor, chosen: Tensor) -> Tensor:
    """The hidden states (count, width) that predict the `chosen` tokens, reading both sides.

    `corrupted` and `chosen` are (batch, length). A bidirectional model predicts a token at its own
    position; a hybrid model, whose configuration is causal, at the position before it
    (`objectives.hide_next_tokens`). So the first token of a row must not be chosen. Raises
    ValueError for a model without the masked reading, see `reading_of`.
    """
    reading_of(model, "masked")
    if not model.config.causal:
        return model.hidden(corrupted)[chosen]
    causal = torch.zeros(len(corrupted), dtype=torch.bool, device=corrupted.device)
    return model.hidden(corrupted, causal=causal)[:, :-1][chosen[:, 1:]]


def reading_of(model: Body, reading: str | None) -> str:
    """`reading`, or the model's own if it is None: "causal" or "masked".

    Raises ValueError for another reading, for the causal reading of a bidirectional model, for the
    masked reading of an LSTM, for a `BiLSTM`, and for the body of BERT without the output layer
    that it was trained with.
    """
    if isinstance(model, BiLSTM):
        raise ValueError(
            "expected a model of one direction, got a BiLSTM; take its forward_lm or backward_lm"
        )
    shape = model.config
    if isinstance(shape, Config) and not (shape.norm_first or shape.head_transform):
        raise ValueError(
            "expected a language model, got the body of one, without an output layer: it predicts "
            "no probabilities; load a model with its output layer"
        )
    if reading is None:
        return "causal" if model.config.causal else "masked"
    if reading not in READINGS:
        raise ValueError(f"expected a reading out of {', '.join(READINGS)}, got {reading!r}")
    if reading == "causal" and not model.config.causal:
        raise ValueError("a bidirectional model sees its own targets; read it as masked")
    if reading == "masked" and isinstance(model, LSTM):
        raise ValueError("an LSTM sees one side of a word alone; read it as causal")
    return reading


def rows_of(tokenizer: AnyTokenizer, sentences: Sequence[str]) -> dict[str, list[int]]:
    """The ids of each distinct sentence, framed by `tokenizer.reading`.

    Raises ValueError for a sentence without words.
    """
    frame = tokenizer.reading
    rows = {text: frame.around(tokenizer.read(text)) for text in sentences}
    empty = next((text for text, row in rows.items() if len(row) == frame.size), None)
    if empty is not None:
        raise ValueError(f"expected words in every sentence, got {empty!r}")
    return rows


@torch.no_grad()
def sentence_scores(
    model: LanguageModel,
    tokenizer: AnyTokenizer,
    sentences: Sequence[str],
    *,
    reading: str | None = None,
    compute: Compute | None = None,
) -> list[float]:
    """The score of each sentence in nats, higher for likelier sentences: a sum over its tokens.

    `reading` is "causal" or "masked"; None is causal for a causal model, else masked. With our
    vocabulary, sentences are normalised and follow `<eos>`, as articles do in the training text,
    and the token after them is not scored. A released model reads them as its own tokenizer encodes
    them, and special tokens are not scored. Equal sentences are scored once, so their scores are
    equal. Raises ValueError for a sentence without words and for a reading that does not suit the
    model.
    """
    compute, reading = device.choose() if compute is None else compute, reading_of(model, reading)
    score: Callable[[Any, Tensor], Tensor] = _log_likelihood
    if reading == "masked":
        if tokenizer.mask is None:
            raise ValueError(
                "expected a vocabulary with a mask for the masked reading, got one without"
            )
        score = partial(_pseudo_log_likelihood, frame=tokenizer.reading, mask=tokenizer.mask)
    model.to(compute.device).eval()
    rows = rows_of(tokenizer, sentences)
    scores: dict[str, float] = {}
    in_order = sorted(rows, key=lambda text: (len(rows[text]), text))
    for length, group in itertools.groupby(in_order, key=lambda text: len(rows[text])):
        texts = list(group)  # of one length: without padding, equal scores stay equal
        at_once = TOKENS_AT_A_TIME // (length if reading == "causal" else length**2) + 1
        for start in range(0, len(texts), at_once):
            part = texts[start : start + at_once]
            tokens = torch.tensor([rows[text] for text in part], device=compute.device)
            scores |= zip(part, score(model, tokens).tolist(), strict=True)
    return [scores[text] for text in sentences]


def _log_likelihood(model: LanguageModel, tokens: Tensor) -> Tensor:
    """The log-probabilities (batch,) of rows (batch, 1 + length), given their first tokens."""
    hidden = model.hidden(tokens[:, :-1]).flatten(0, 1)
    return -nats_of(model, hidden, tokens[:, 1:].flatten()).view(len(tokens), -1).sum(dim=1)


def _pseudo_log_likelihood(
    model: Transformer, tokens: Tensor, *, frame: Frame, mask: int
) -> Tensor:
    """The pseudo-log-likelihoods (batch,) of rows (batch, length), without the frame's tokens."""
    count = tokens.shape[1] - frame.size
    copies = tokens.repeat_interleave(count, dim=0)
    diagonal = torch.eye(count, dtype=torch.bool, device=tokens.device)
    diagonal = F.pad(diagonal, (len(frame.before), len(frame.behind)))
    chosen = diagonal.repeat(len(tokens), 1)
    hidden = predicting_states(model, copies.masked_fill(chosen, mask), chosen)
    return -nats_of(model, hidden, copies[chosen]).view(len(tokens), count).sum(dim=1)
