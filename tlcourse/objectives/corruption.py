"""Ways to corrupt a text, so that a model can learn to restore it.

Functions that end in `_tokens`, `_words` or `_masks` take windows (batch, length) and keep the
length. What changes the length of a text takes one row (length,), because the new lengths differ.
"""

import hashlib

import torch
from torch import Generator, Tensor

from tlcourse.bpe import MASK, SPECIALS, Tokenizer

SENTENCE_ENDS = {".", "!", "?"}


def word_starts(tokenizer: Tokenizer) -> tuple[bool, ...]:
    """For each id of the vocabulary, whether the token begins a word, so with white space.

    Punctuation that follows a word without a space belongs to that word, as in "rain,".
    """
    return tuple(text[:1].isspace() for text in tokenizer.tokens(range(tokenizer.vocabulary_size)))


def sentence_ends(tokenizer: Tokenizer) -> tuple[bool, ...]:
    """For each id of the vocabulary, whether the token is a full stop, "!" or "?"."""
    texts = tokenizer.tokens(range(tokenizer.vocabulary_size))
    return tuple(text.strip() in SENTENCE_ENDS for text in texts)


# Masks: (batch, length) to the same, and which positions to predict.


def mask_tokens(
    tokens: Tensor, generator: Generator, vocabulary_size: int, *, probability: float = 0.15
) -> tuple[Tensor, Tensor]:
    """BERT's corruption: (batch, length) tokens to corrupted tokens and a mask, True = to predict.

    Each ordinary token is chosen with the `probability`. Of these, 80 % become `<mask>`, 10 % a
    random ordinary token, and 10 % are unchanged (Devlin et al., 2019). Special tokens are never
    chosen.
    """
    draw = torch.rand(tokens.shape, generator=generator)
    chosen = (draw < probability) & (tokens >= len(SPECIALS))
    return _replaced(tokens, chosen, generator, vocabulary_size), chosen


def static_masks(
    tokens: Tensor, vocabulary_size: int, *, probability: float = 0.15, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """`mask_tokens` with the same draws whenever the same window comes back.

    The original BERT masked its data once, before training; RoBERTa draws new masks each time (Liu
    et al., 2019, section 4.1). The random numbers of a window are seeded by the first 8 bytes of
    the BLAKE2b digest of `seed` and the ids of the window, so nothing needs to be stored.
    """
    rows = []
    for row in tokens:
        content = f"{seed} {row.tolist()}".encode()
        number = int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())
        generator = Generator().manual_seed(number)
        rows.append(mask_tokens(row, generator, vocabulary_size, probability=probability))
    corrupted, chosen = zip(*rows, strict=True)
    return torch.stack(corrupted), torch.stack(chosen)


def mask_words(
    tokens: Tensor, generator: Generator, begins_word: Tensor, *, probability: float = 0.15
) -> tuple[Tensor, Tensor]:
    """Whole-word masking: like `mask_tokens`, but all tokens of a word are chosen, or none.

    `begins_word` (vocabulary,) is True for tokens that begin a word, see `word_starts`. A special
    token is never chosen, and no word reaches across it; the end of a word that the window cuts off
    counts as a word. Each word is chosen with the `probability`; the 80/10/10 are drawn for each
    token (the authors of BERT, README of 31 May 2019; Cui et al., 2021).
    """
    special = tokens < len(SPECIALS)
    begins = begins_word[tokens] | special
    begins[:, 1:] |= special[:, :-1]
    begins[:, 0] = True
    draw = torch.rand(tokens.shape, generator=generator).gather(1, _first_of_run(begins))
    chosen = (draw < probability) & ~special
    return _replaced(tokens, chosen, generator, len(begins_word)), chosen


def mask_spans(
    tokens: Tensor,
    generator: Generator,
    vocabulary_size: int,
    *,
    probability: float = 0.15,
    p: float = 0.2,
    longest: int = 10,
) -> tuple[Tensor, Tensor]:
    """SpanBERT's corruption: spans of tokens are chosen until they are a share `probability`.

    The length of a span is geometric with the parameter `p`, given that it is at most `longest`
    (3.8 tokens on average), and its first token is uniform among those not yet chosen. A span stops
    before a special token, another span and the end of the window. All tokens of a span are treated
    alike: `<mask>` (80 %), random tokens (10 %) or unchanged (10 %). Joshi et al. (2020) begin
    spans at words and measure them in words; here both are tokens.
    """
    lengths = torch.arange(1, longest + 1)
    weights = p * (1 - p) ** (lengths - 1)  # `multinomial` normalises them
    chosen = torch.zeros_like(tokens, dtype=torch.bool)
    for row, hidden in zip(tokens, chosen, strict=True):
        free = row >= len(SPECIALS)
        budget = round(probability * int(free.sum()))
        starts = torch.randperm(len(row), generator=generator).tolist()
        drawn = (1 + torch.multinomial(weights, len(row), True, generator=generator)).tolist()
        for start, length in zip(starts, drawn, strict=True):
            if budget <= 0:
                break
            stop = _end_of_run(free, start, min(length, budget))
            hidden[start:stop], free[start:stop] = True, False
            budget -= stop - start
    return _replaced(tokens, chosen, generator, vocabulary_size, alike=True), chosen


def mask_half(tokens: Tensor, generator: Generator, vocabulary_size: int) -> tuple[Tensor, Tensor]:
    """MASS's corruption: one contiguous half of each row is chosen, with a random beginning.

    Of the chosen tokens, 80 % become `<mask>`, 10 % a random token, and 10 % are unchanged (Song et
    al., 2019). Special tokens in the chosen half are predicted, too.
    """
    batch, length = tokens.shape
    half = length // 2
    start = torch.randint(length - half + 1, (batch, 1), generator=generator)
    places = torch.arange(length)
    chosen = (places >= start) & (places < start + half)
    return _replaced(tokens, chosen, generator, vocabulary_size), chosen


def hide_next_tokens(
    tokens: Tensor, generator: Generator, vocabulary_size: int, *, probability: float = 0.15
) -> tuple[Tensor, Tensor, Tensor]:
    """Windows (batch, length + 1) to inputs, targets and `chosen`, each (batch, length).

    Masked *next-token* prediction: a hidden token is predicted at the position before it, as in a
    causal model (Lv et al., 2023; BehnamGhader et al., 2024). The first token has no position
    before it and the last is not an input, so neither is hidden.
    """
    corrupted, hidden = mask_tokens(tokens, generator, vocabulary_size, probability=probability)
    inputs, chosen = corrupted[:, :-1].clone(), hidden[:, 1:].clone()
    inputs[:, 0] = tokens[:, 0]
    chosen[:, -1] = False
    return inputs, tokens[:, 1:], chosen


# Sentinels: the hidden spans leave the text, and are written in the target.


def span_counts(
    length: int, *, probability: float = 0.15, mean_length: float = 3.0
) -> tuple[int, int]:
    """How many tokens `corrupt_spans` hides in a text of `length` tokens, and in how many spans.

    With n hidden tokens in k spans, the source has length - n + k tokens and the target n + k + 1.
    Raises ValueError for a text of fewer than two tokens, because something has to be left.
    """
    if length < 2:
        raise ValueError(f"expected at least 2 tokens to hide spans in, got {length}")
    hidden = min(max(round(length * probability), 1), length - 1)
    return hidden, min(max(round(hidden / mean_length), 1), length - hidden)


def corrupt_spans(
    tokens: Tensor,
    generator: Generator,
    vocabulary_size: int,
    *,
    probability: float = 0.15,
    mean_length: float = 3.0,
) -> tuple[Tensor, Tensor]:
    """T5's span corruption: windows (batch, length) to sources and targets, without padding.

    In the source a sentinel replaces each hidden span; the target is each sentinel followed by its
    span, and one last sentinel:

        Thank you for inviting me to your party last week
        Thank you <0> me to your party <1> week           the source
        <0> for inviting <1> last <2>                     the target

    The id of sentinel i is `vocabulary_size` + i, so no sentinel repeats within a text. All rows
    hide the same number of tokens in the same number of spans (`span_counts`); how long each span
    is, and how long the text before it, is a uniform random division. As in the authors' code, a
    text begins with a kept token and ends with a hidden one (Raffel et al., 2020, section 3.1.4).
    """
    batch, length = tokens.shape
    hidden, spans = span_counts(length, probability=probability, mean_length=mean_length)
    kept_parts = _divided(length - hidden, spans, batch, generator)
    hidden_parts = _divided(hidden, spans, batch, generator)
    parts = torch.stack([kept_parts, hidden_parts], dim=2).view(batch, 2 * spans)
    number = torch.arange(2 * spans).repeat(batch).repeat_interleave(parts.flatten())
    number = number.view(batch, length)  # of the part that a token is in: 0 kept, 1 hidden, 2 kept
    is_hidden = number % 2 == 1
    first = is_hidden & (number != number.roll(1, dims=1))
    sentinels = vocabulary_size + number // 2
    source = torch.where(first, sentinels, tokens)[~is_hidden | first].view(batch, -1)
    with_sentinels = torch.stack([sentinels, tokens], dim=2)
    target = with_sentinels[torch.stack([first, is_hidden], dim=2)].view(batch, -1)
    last = torch.full((batch, 1), vocabulary_size + spans)
    return source, torch.cat([target, last], dim=1)


# Noise on one text: (length,) to (any length,).


def hide_tokens(row: Tensor, generator: Generator, *, probability: float = 0.15) -> Tensor:
    """Token masking: each token becomes `<mask>` with the probability (Lewis et al., 2020)."""
    draw = torch.rand(row.shape, generator=generator)
    return row.masked_fill(draw < probability, MASK)


def delete_tokens(row: Tensor, generator: Generator, *, probability: float = 0.1) -> Tensor:
    """Token deletion: each token is removed with the probability; one is always left.

    Nothing shows where a token is missing, so the model has to find out (Lewis et al., 2020). It is
    also the word dropout of denoising autoencoders (Hill et al., 2016; Lample et al., 2018), here
    of tokens.
    """
    draw = torch.rand(row.shape, generator=generator)
    keep = draw >= probability
    keep[draw.argmax()] = True
    return row[keep]


def infill(
    row: Tensor, generator: Generator, *, probability: float = 0.3, mean_length: float = 3.0
) -> Tensor:
    """Text infilling: spans of tokens become one `<mask>` each, so their lengths are hidden.

    Lengths are drawn from a Poisson distribution until they sum to the share `probability` of the
    text; the last is cut to fit. A span of length 0 inserts a `<mask>` between two tokens (Lewis et
    al., 2020). Spans do not overlap, and the result is never longer than the text.
    """
    hidden = round(probability * len(row))
    if hidden == 0:
        return row
    lengths = torch.poisson(torch.full((hidden,), mean_length), generator=generator).long()
    before = lengths.cumsum(0) - lengths
    lengths = torch.minimum(lengths, hidden - before)[before < hidden]
    lengths[-1] = hidden - lengths[:-1].sum()  # also where all draws together are too few
    lengths = lengths[torch.randperm(len(lengths), generator=generator)]
    # An order of kept tokens (1 each) and spans, in which spans have random places.
    items = torch.ones(len(row) - hidden + len(lengths), dtype=torch.long)
    places = torch.randperm(len(items), generator=generator)[: len(lengths)].sort().values
    items[places] = lengths
    starts = (items.cumsum(0) - items).clamp(max=len(row) - 1)
    filled = row[starts]
    filled[places] = MASK
    return filled


def permute_sentences(row: Tensor, generator: Generator, ends_sentence: Tensor) -> Tensor:
    """Sentence permutation: the sentences of a text in random order (Lewis et al., 2020).

    A sentence ends with a token for which `ends_sentence` (vocabulary,) is True, see
    `sentence_ends`; what follows the last such token is a sentence, too.
    """
    stops = 1 + ends_sentence[row].nonzero().flatten()
    sentences = [part for part in torch.tensor_split(row, stops.tolist()) if len(part)]
    order = torch.randperm(len(sentences), generator=generator).tolist()
    return torch.cat([sentences[i] for i in order])


def rotate_text(row: Tensor, generator: Generator) -> Tensor:
    """Document rotation: the text begins at a random token, and its beginning follows its end.

    The model learns to recognise how a text begins (Lewis et al., 2020).
    """
    start = int(torch.randint(len(row), (), generator=generator))
    return row.roll(-start)


def shuffle_locally(row: Tensor, generator: Generator, *, distance: int = 3) -> Tensor:
    """A permutation that moves no token by more than `distance` places (Lample et al., 2018).

    Token i is sorted by i + a random number between 0 and `distance` + 1.
    """
    shift = (distance + 1) * torch.rand(row.shape, generator=generator)
    return row[(torch.arange(len(row)) + shift).argsort()]


def _replaced(
    tokens: Tensor,
    chosen: Tensor,
    generator: Generator,
    vocabulary_size: int,
    *,
    alike: bool = False,
) -> Tensor:
    """The tokens with 80 % of the chosen ones masked, 10 % random and 10 % unchanged.

    With `alike`, this is drawn once for each run of chosen tokens.
    """
    kind = torch.rand(tokens.shape, generator=generator)
    if alike:
        begins = chosen.clone()
        begins[:, 1:] &= ~chosen[:, :-1]
        kind = kind.gather(1, _first_of_run(begins))
    noise = torch.randint(len(SPECIALS), vocabulary_size, tokens.shape, generator=generator)
    corrupted = tokens.clone()
    corrupted[chosen & (kind < 0.8)] = MASK
    replaced = chosen & (kind >= 0.9)
    corrupted[replaced] = noise[replaced]
    return corrupted


def _first_of_run(begins: Tensor) -> Tensor:
    """For each position (batch, length), the last position up to it where `begins` is True."""
    places = torch.arange(begins.shape[1]).expand(begins.shape)
    return torch.where(begins, places, 0).cummax(dim=1).values


def _end_of_run(free: Tensor, start: int, length: int) -> int:
    """Where a run of True that begins at `start` ends, at most `length` after it."""
    taken = (~free[start : start + length]).nonzero()
    return start + (int(taken[0]) if len(taken) else len(free[start : start + length]))


def _divided(total: int, parts: int, batch: int, generator: Generator) -> Tensor:
    """Random divisions of `total` into `parts` numbers of at least 1, (batch, parts), uniform."""
    cuts = torch.rand(batch, total - 1, generator=generator).argsort(dim=1)[:, : parts - 1] + 1
    edges = torch.zeros(batch, 1, dtype=torch.long), cuts.sort(dim=1).values
    return torch.cat([*edges, torch.full((batch, 1), total)], dim=1).diff(dim=1)
