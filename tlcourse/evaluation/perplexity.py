"""Evaluating causal models: perplexities and bits per byte on held-out text."""

import itertools
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tlcourse import device, metrics
from tlcourse.batching import encode_articles
from tlcourse.bpe import EOS, UNK, Tokenizer
from tlcourse.checkpoints import LanguageModel
from tlcourse.device import Compute
from tlcourse.evaluation.scoring import nats_of, reading_of

BATCH_SIZE = 32  # windows


@dataclass(frozen=True)
class Evaluation:
    """Sums over a text, from which every perplexity is computed.

    `nats_without_unk` leaves out each `<unk>` and the bare space before it, which announces it.
    """

    nats: float
    targets: int  # predicted tokens
    words: int  # words + line ends of the text
    text_bytes: int
    nats_without_unk: float
    unk: int  # `<unk>` targets
    window: int
    stride: int

    @property
    def word_perplexity(self) -> float:
        """exp(nats / (words + line ends))."""
        return metrics.word_perplexity(self.nats, self.words)

    @property
    def word_perplexity_without_unk(self) -> float:
        """The word perplexity with the positions of `<unk>` left out of both sums."""
        return metrics.word_perplexity(self.nats_without_unk, self.words - self.unk)

    @property
    def token_perplexity(self) -> float:
        """exp(nats / tokens), which depends on the vocabulary."""
        return metrics.token_perplexity(self.nats, self.targets)

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte of UTF-8, which do not depend on the vocabulary."""
        return metrics.bits_per_byte(self.nats, self.text_bytes)

    def figures(self) -> dict[str, float]:
        """The four measures with the counts and the window behind them, for a log."""
        perplexities = ("word_perplexity", "word_perplexity_without_unk", "token_perplexity")
        others = ("bits_per_byte", "words", "targets", "window", "stride")
        return {name: getattr(self, name) for name in (*perplexities, *others)}


@torch.no_grad()
def evaluate(
    model: LanguageModel,
    tokenizer: Tokenizer,
    articles: Sequence[str],
    *,
    compute: Compute | None = None,
    window: int = 128,
    stride: int = 64,
) -> Evaluation:
    """Causal evaluation in sliding windows: every token is predicted once, in float32.

    The articles are concatenated, each after an `<eos>`, which is not part of the text and not
    counted. The window moves by `stride`, so that after the first window every token is predicted
    from at least `window - stride` tokens before it. A longer window than in training makes the
    results worse, because the model was not trained on such distances.

    Raises ValueError for a bidirectional model, for no text, and for a stride beyond the window.
    """
    reading_of(model, "causal")
    if not 1 <= stride <= window:
        raise ValueError(f"expected a stride of 1 to {window} tokens (the window), got {stride}")
    model.to((device.choose() if compute is None else compute).device).eval()

    def nats(stream: list[int]) -> Tensor:
        return _losses(model, torch.tensor(stream), window, stride)

    return evaluate_stream(nats, tokenizer, articles, window=window, stride=stride)


def evaluate_stream(
    nats: Callable[[list[int]], Tensor],
    tokenizer: Tokenizer,
    articles: Sequence[str],
    *,
    window: int,
    stride: int,
) -> Evaluation:
    """`evaluate` for any model: `nats` maps a stream of ids to the nats of its targets.

    The targets are all ids but the first, (length - 1,). Raises ValueError for no text.
    """
    if isinstance(articles, str) or not any(articles):
        raise ValueError(f"expected texts in a list, got {reprlib.repr(articles)}")
    stream = [EOS, *itertools.chain.from_iterable(encode_articles(articles, tokenizer))]
    losses, targets = nats(stream), torch.tensor(stream[1:])
    text, unk = targets != EOS, targets == UNK
    # In WikiText's spacing a token for the bare space precedes `<unk>` and announces it.
    with_space = unk.clone()
    with_space[:-1] |= unk[1:] & (targets[:-1] == tokenizer.encode(" ")[0])
    return Evaluation(
        nats=losses[text].sum().item(),
        targets=int(text.sum()),
        words=sum(metrics.words_and_line_ends(article) for article in articles),
        text_bytes=sum(len(article.encode("utf-8")) for article in articles),
        nats_without_unk=losses[text & ~with_space].sum().item(),
        unk=int(unk.sum()),
        window=window,
        stride=stride,
    )


def _losses(model: LanguageModel, ids: Tensor, window: int, stride: int) -> Tensor:
    """The nats (length - 1,), float64, of each id but the first, in overlapping windows."""
    count = len(ids) - 1
    losses = torch.zeros(count, dtype=torch.float64)
    # Window k predicts the targets beyond window k - 1, in [end - fresh, end).
    spans = [(0, 0, min(window, count))]
    while (done := spans[-1][2]) < count:
        end = min(done + stride, count)
        spans.append((max(0, end - window), done, end))
    device = next(model.parameters()).device
    for _, group in itertools.groupby(spans, key=lambda span: (span[2] - span[1], span[1] > 0)):
        alike = list(group)
        for start in range(0, len(alike), BATCH_SIZE):
            part = alike[start : start + BATCH_SIZE]
            _, done, end = part[0]
            fresh = end - done  # logits are computed for these only
            rows = torch.stack([ids[begin : end + 1] for begin, _, end in part]).to(device)
            hidden = model.hidden(rows[:, :-1])[:, -fresh:].flatten(0, 1)
            nats = nats_of(model, hidden, rows[:, -fresh:].flatten())
            losses[done : part[-1][2]] = nats.double().cpu()
    return losses
