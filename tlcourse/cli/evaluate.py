"""Measures a checkpoint and writes its model card anew."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tlcourse.cli.parsing import Parser

if TYPE_CHECKING:
    from datasets import Dataset

    from tlcourse.bpe import Tokenizer
    from tlcourse.device import Compute
    from tlcourse.transformer import Transformer

TEXTS = (("wikitext-103", "validation"), ("wikitext-103", "test"), ("wikitext-2-raw", "test"))
READINGS = {"causal": ("causal",), "masked": ("masked",), "hybrid": ("causal", "masked")}


def add_options(parser: Parser) -> None:
    """The options of `tlcourse evaluate`."""
    parser.add_argument("checkpoint", help="a shipped name or the folder of a checkpoint")


def run(arguments: argparse.Namespace) -> int:
    """Measures a checkpoint and writes its log and its card."""
    folder = evaluate(arguments.checkpoint)
    print(f"card written to {folder / 'README.md'}")
    return 0


def evaluate(name: str | Path, *, compute: Compute | None = None) -> Path:
    """Measures a checkpoint, shipped or in a folder, as it lies there: in half precision.

    The figures replace those in `training.json`, from which `README.md` is written; a reader sees
    each file old or new, never half. Returns the folder.
    """
    from tlcourse import checkpoints, device
    from tlcourse.cli import cards

    compute = device.choose() if compute is None else compute
    model, tokenizer = checkpoints.load(name, compute)
    log = measured(model, tokenizer, checkpoints.log_of(name), compute=compute)
    return checkpoints.rewrite(name, cards.card(checkpoints.name_of(name), log), log)


def measured(model: Transformer, tokenizer: Tokenizer, log: dict, *, compute: Compute) -> dict:
    """`log` with new figures and samples; the objective of the last leg says how the model reads.

    Texts and pairs are the real ones that are on this machine; nothing is fetched. Of those that
    are not, the log keeps the figures it had.
    """
    from tlcourse import corpora, evaluation

    samples = {"causal": evaluation.continuations, "masked": evaluation.fillings}
    readings = READINGS[log["legs"][-1]["objective"]]
    perplexities = dict(log.get("evaluation", {}))
    for name, split in TEXTS:
        text = _real(name, split)
        if text is not None:
            articles = list(corpora.articles(text))
            with _timed(f"{name} {split}"):
                figures = _figures(model, tokenizer, articles, readings, compute=compute)
            perplexities[f"{name} {split}"] = figures
    new = {"evaluation": perplexities}
    pairs = _real("blimp", "test")
    if pairs is not None:
        with _timed("minimal pairs"):
            new["minimal_pairs"] = {
                reading: evaluation.minimal_pairs(
                    model, tokenizer, pairs, reading=reading, compute=compute
                )
                for reading in readings
            }
    with _timed("pronouns and samples"):
        new["pronouns"] = {
            reading: evaluation.share_of_she(model, tokenizer, reading=reading, compute=compute)
            for reading in readings
        }
        new["samples"] = {
            reading: samples[reading](model, tokenizer, compute=compute) for reading in readings
        }
    return log | new


def _figures(model, tokenizer, articles, readings, *, compute) -> dict[str, float]:
    """The perplexities of a text, by every reading."""
    from tlcourse import evaluation

    figures = {}
    if "causal" in readings:
        figures |= evaluation.evaluate(model, tokenizer, articles, compute=compute).figures()
    if "masked" in readings:
        figures |= evaluation.evaluate_masked(model, tokenizer, articles, compute=compute)
    return figures


def _real(name: str, split: str) -> Dataset | None:
    """A split of the real data from this machine, or None."""
    from tlcourse import corpora

    sources = {corpora.LOCAL: "local", corpora.HUB: "hub"}
    there = [sources[place] for place in corpora.available()[name] if place in sources]
    return corpora.load(name, source=there[0]).get(split) if there else None


@contextlib.contextmanager
def _timed(what: str) -> Iterator[None]:
    """Prints, at the end of the block, how long it took."""
    began = time.perf_counter()
    yield
    print(f"[evaluate] {what}: {time.perf_counter() - began:.0f} s", flush=True)
