"""Evaluating masked models: three perplexities of masked positions, with fixed masks."""

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from tlcourse import device, metrics, objectives
from tlcourse.batching import encode_articles, generator_for
from tlcourse.bpe import MASK, SPECIALS, UNK, Tokenizer, byte_symbols
from tlcourse.device import Compute
from tlcourse.evaluation.scoring import nats_of, predicting_states
from tlcourse.transformer import Transformer

WINDOWS = 32  # per batch
MASK_SEED = 103  # the evaluation masks are the same for every model


@torch.no_grad()
def evaluate_masked(
    model: Transformer,
    tokenizer: Tokenizer,
    articles: Sequence[str],
    *,
    compute: Compute | None = None,
    window: int = 128,
    probability: float = 0.15,
) -> dict[str, float]:
    """Perplexities of masked positions in float32, with the same masks for every model.

    Windows do not overlap; a text shorter than a window is one window. The measures are:

    - `masked_token_perplexity`, exp(nats / tokens): each token is chosen with the `probability`, as
      in training (80/10/10, `objectives.mask_tokens`).
    - `masked_word_perplexity`, exp(nats per token * tokens per word), the measure of the 2019
      tutorial: the same nats, with words and line ends counted and `<unk>` left out. The other
      tokens of a word stay visible.
    - `whole_word_perplexity`, exp(nats / masked words): white-space words are drawn with the
      `probability`, and all their tokens are replaced by `<mask>` and their nats summed.

    The first position of a window is never masked, and neither is a word that begins a window or is
    cut by its border. None of these is a perplexity of the text, because masked tokens are
    predicted from both sides.
    """
    compute = device.choose() if compute is None else compute
    stream = torch.tensor([*itertools.chain.from_iterable(encode_articles(articles, tokenizer))])
    window = min(window, len(stream))
    rows = stream[: len(stream) // window * window].view(-1, window)
    model.to(compute.device).eval()
    corrupted, chosen = objectives.mask_tokens(
        rows, generator_for(MASK_SEED), model.config.vocabulary_size, probability=probability
    )
    corrupted[:, 0], chosen[:, 0] = rows[:, 0], False
    by_token, tokens = _nats(model, corrupted, rows, chosen), int(chosen.sum())
    words = sum(map(metrics.words_and_line_ends, articles)) - int((stream == UNK).sum())
    ordinary = int((stream >= len(SPECIALS)).sum())
    generator = generator_for(MASK_SEED, 1)
    chosen, masked_words = choose_words(rows, tokenizer, generator, probability=probability)
    by_word = _nats(model, rows.masked_fill(chosen, MASK), rows, chosen)
    return {
        "masked_token_perplexity": metrics.token_perplexity(by_token, tokens),
        "masked_word_perplexity": metrics.token_perplexity(by_token * ordinary / words, tokens),
        "whole_word_perplexity": metrics.word_perplexity(by_word, masked_words),
        "masked_tokens": tokens,
        "masked_words": masked_words,
        "window": window,
        "mask_probability": probability,
    }


def _nats(model: Transformer, corrupted: Tensor, rows: Tensor, chosen: Tensor) -> float:
    """The sum of nats of all chosen tokens of the windows (count, length)."""
    device, total = next(model.parameters()).device, 0.0
    for start in range(0, len(rows), WINDOWS):
        batch = slice(start, start + WINDOWS)
        inputs, original, mask = (part[batch].to(device) for part in (corrupted, rows, chosen))
        if mask.any():
            nats = nats_of(model, predicting_states(model, inputs, mask), original[mask])
            total += nats.double().sum().item()
    return total


def choose_words(
    rows: Tensor, tokenizer: Tokenizer, generator: torch.Generator, *, probability: float
) -> tuple[Tensor, int]:
    """Draws white-space words of the windows (count, length), each with the `probability`.

    Returns the mask of their tokens (True = to predict) and the number of words. Line ends, bare
    spaces and special tokens are not words. Words that are cut or begin a window are never drawn.
    """
    tokens = rows.flatten()
    spaces = {byte_symbols()[byte] for byte in b" \t\n\r"}
    begins = torch.tensor([string[0] in spaces for string in tokenizer.strings])[tokens]
    blank = torch.tensor([set(string) <= spaces for string in tokenizer.strings])[tokens]
    blank |= tokens < len(SPECIALS)
    begins |= blank | torch.cat([torch.tensor([True]), blank[:-1]])
    word = begins.cumsum(0) - 1  # the number of each token's word, or of the blank between words
    draw = torch.rand(int(word[-1]) + 1, generator=generator)
    draw[word.view(rows.shape)[:, 0]] = 1.0
    draw[word[-1]] = 1.0
    chosen = (draw[word] < probability) & ~blank
    return chosen.view(rows.shape), len(word[chosen].unique())
