"""What the page's weights in 8 bits change: `python -m benchmarks eight_bits`.

The shipped models compute in float32 with the half-precision weights of their files, and with what
the page makes of these (`tlcourse.page.packing`). The text is the first articles of WikiText-2's
validation split; all tokens after the first of a window of 128 are predicted. "top token changed"
counts predictions whose most probable token is another one. trec-lora, on causal-small, labels
TREC's test questions.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import runner
from tlcourse import checkpoints, corpora, evaluation, files
from tlcourse.batching import encode_articles
from tlcourse.bpe import MASK
from tlcourse.page import packing, trec
from tlcourse.page.models import CLASSIFIERS
from tlcourse.page.packing import PLAIN

ARTICLES, WINDOW, EVERY = 10, 128, 7  # every seventh token is hidden from the masked model
COLUMNS = {
    "model": "model",
    "measure": "measure",
    "count": "of",
    "half": "half precision",
    "eight": "8 bits",
    "changed": "changed",
}


def measure() -> dict:
    """A row for each measure, with the half-precision weights and with those in 8 bits."""
    data = corpora.load("wikitext-2")
    articles = list(itertools.islice(corpora.articles(data["validation"]), ARTICLES))
    rows = [*_causal(articles), *_masked(articles), _classifier()]
    source = f"{corpora.source_of(data)} WikiText-2 validation ({ARTICLES} articles), TREC test"
    return {"job": "eight_bits", **runner.provenance(source), "rows": rows}


def _causal(articles: Sequence[str]) -> list[dict[str, Any]]:
    (half, tokenizer), (eight, _) = _pair("causal-small")
    windows = _windows(articles, tokenizer)
    tops = [_tops(model, windows)[:, :-1] for model in (half, eight)]
    targets = windows[:, 1:]
    right = [100 * float((each == targets).float().mean()) for each in tops]
    found = [
        evaluation.evaluate(model, tokenizer, articles, compute=PLAIN) for model in (half, eight)
    ]
    perplexities = [each.word_perplexity for each in found]
    return [
        _row("causal-small", "word perplexity", found[0].targets, *perplexities),
        _row("causal-small", "top token right, %", targets.numel(), *right, _changed(*tops)),
    ]


def _masked(articles: Sequence[str]) -> list[dict[str, Any]]:
    (half, tokenizer), (eight, _) = _pair("masked-small")
    windows = _windows(articles, tokenizer)
    hidden = torch.zeros_like(windows, dtype=torch.bool)
    hidden[:, EVERY::EVERY] = True
    inputs = windows.masked_fill(hidden, MASK)
    tops = [_tops(model, inputs)[hidden] for model in (half, eight)]
    right = [100 * float((each == windows[hidden]).float().mean()) for each in tops]
    found = [
        evaluation.evaluate_masked(model, tokenizer, articles, compute=PLAIN)
        for model in (half, eight)
    ]
    perplexities = [each["masked_token_perplexity"] for each in found]
    return [
        _row("masked-small", "masked-token perplexity", found[0]["masked_tokens"], *perplexities),
        _row("masked-small", "top token right, %", int(hidden.sum()), *right, _changed(*tops)),
    ]


def _classifier() -> dict[str, Any]:
    """TREC's test questions: the share that is wrong, and the number of labels that change."""
    test = corpora.load("trec")["test"]
    texts, labels = list(test["text"]), list(test["label"])
    half, eight = (trec.load(_shipped()) for _ in range(2))
    packing.round_matrices(eight)
    predicted = [each.predict(texts, compute=PLAIN) for each in (half, eight)]
    wrong = [100 * sum(map(str.__ne__, each, labels)) / len(labels) for each in predicted]
    changed = sum(map(str.__ne__, *predicted))
    return _row("trec-lora", "label wrong, %", len(labels), *wrong, changed)


def _shipped() -> Path:
    return files.root() / CLASSIFIERS / "trec-lora"


def _pair(name: str) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    return checkpoints.load(name, PLAIN), packing.load_rounded(name)


def _windows(articles: Sequence[str], tokenizer: Any) -> Tensor:
    """The tokens of the articles as windows of shape (count, WINDOW), without what is left."""
    stream = torch.tensor([*itertools.chain.from_iterable(encode_articles(articles, tokenizer))])
    return stream[: len(stream) // WINDOW * WINDOW].view(-1, WINDOW)


@torch.no_grad()
def _tops(model: nn.Module, windows: Tensor) -> Tensor:
    """The most probable token at each place of windows (count, WINDOW), of the same shape."""
    return torch.cat([model(each).argmax(-1) for each in windows.split(8)])


def _changed(half: Tensor, eight: Tensor) -> int:
    return int((half != eight).sum())


def _row(
    model: str, measure: str, count: int, half: float, eight: float, changed: int | None = None
) -> dict[str, Any]:
    row = {"model": model, "measure": measure, "count": count, "half": half, "eight": eight}
    return row if changed is None else row | {"changed": changed}
