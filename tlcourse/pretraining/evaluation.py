"""How good a pretrained model is: perplexities and bits per byte on held-out text."""

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import metrics, objectives
from tlcourse.batching import generator_for
from tlcourse.bpe import SPECIALS, Tokenizer
from tlcourse.device import Compute
from tlcourse.pretraining.corpus import EOS, encode_articles
from tlcourse.transformer import Transformer

UNK = SPECIALS.index("<unk>")
BATCH = 16  # windows at a time
MASK_SEED = 103  # the evaluation masks are the same for every model


@dataclass(frozen=True)
class Evaluation:
    """Sums over a text, from which every perplexity follows.

    `nats_without_unk` leaves out each `<unk>` and the bare space before it, which tells of it.
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
        """The same with the positions of `<unk>` left out of both sums."""
        return metrics.word_perplexity(self.nats_without_unk, self.words - self.unk)

    @property
    def token_perplexity(self) -> float:
        """exp(nats / tokens): depends on the vocabulary."""
        return metrics.token_perplexity(self.nats, self.targets)

    @property
    def bits_per_byte(self) -> float:
        """Bits a byte of UTF-8: does not depend on any vocabulary."""
        return metrics.bits_per_byte(self.nats, self.text_bytes)

    def figures(self) -> dict[str, float]:
        """The four figures with the counts and the window they rest on, for a log."""
        names = ("word_perplexity", "word_perplexity_without_unk", "token_perplexity")
        names += ("bits_per_byte", "words", "targets", "window", "stride")
        return {name: getattr(self, name) for name in names}


@torch.no_grad()
def evaluate(
    model: Transformer,
    tokenizer: Tokenizer,
    articles: list[str],
    compute: Compute,
    window: int = 128,
    stride: int = 64,
) -> Evaluation:
    """Causal evaluation in sliding windows: every token is predicted once, in float32.

    Articles follow each other, each after `<eos>`; the `<eos>` themselves are not counted, being
    no part of the text. A window moves by `stride`, so that all tokens but the first are predicted
    from at least `window - stride` tokens before them. A window longer than those of the training
    makes the figures worse: its distances were never trained.
    """
    stream = [EOS, *itertools.chain.from_iterable(encode_articles(articles, tokenizer))]
    losses = _losses(model.to(compute.device).eval(), torch.tensor(stream), window, stride)
    goals = torch.tensor(stream[1:])
    text, unk = goals != EOS, goals == UNK
    # In WikiText's spacing a token for the bare space stands before `<unk>` and foretells it.
    with_space = unk.clone()
    with_space[:-1] |= unk[1:] & (goals[:-1] == tokenizer.encode(" ")[0])
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


def _losses(model: Transformer, ids: Tensor, window: int, stride: int) -> Tensor:
    """(length - 1,) nats of each id but the first, float64, in windows that overlap."""
    count = len(ids) - 1
    losses = torch.zeros(count, dtype=torch.float64)
    # Window k predicts what lies beyond window k - 1: targets in [end - fresh, end).
    spans = [(0, min(window, count))]
    while spans[-1][1] < count:
        end = min(spans[-1][1] + stride, count)
        spans.append((max(0, end - window), end))
    device, done = next(model.parameters()).device, 0
    for length, group in itertools.groupby(spans, key=lambda span: span[1] - span[0]):
        group = list(group)
        for start in range(0, len(group), BATCH):
            part = group[start : start + BATCH]
            rows = torch.stack([ids[begin : end + 1] for begin, end in part]).to(device)
            logits = model(rows[:, :-1]).float()
            nats = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="none")
            for (_, end), row in zip(part, nats.view(-1, length).cpu(), strict=True):
                losses[done:end] = row[length - (end - done) :].double()
                done = end
    return losses


@torch.no_grad()
def evaluate_masked(
    model: Transformer,
    tokenizer: Tokenizer,
    articles: list[str],
    compute: Compute,
    window: int = 128,
    rate: float = 0.15,
) -> dict[str, float]:
    """Token perplexity of masked positions, 15 % of the tokens, the same masks for every model.

    Masked positions come as 80/10/10 (`objectives.mask_tokens`); no word perplexity follows from
    this, since what is masked is a sample of tokens, each predicted from both sides.
    """
    stream = torch.tensor([*itertools.chain.from_iterable(encode_articles(articles, tokenizer))])
    rows = stream[: len(stream) // window * window].view(-1, window)
    vocabulary = model.config.vocabulary_size
    generator = generator_for(MASK_SEED)
    corrupted, chosen = objectives.mask_tokens(rows, generator, vocabulary, rate)
    model.to(compute.device).eval()
    nats, targets = 0.0, 0
    for part in zip(*(t.split(BATCH) for t in (corrupted, rows, chosen)), strict=True):
        batch = (tensor.to(compute.device) for tensor in part)
        total, count = objectives.masked_loss(model, *batch)
        nats, targets = nats + total.item(), targets + count
    perplexity = metrics.token_perplexity(nats, targets)
    return {
        "masked_token_perplexity": perplexity,
        "targets": targets,
        "window": window,
        "rate": rate,
    }
