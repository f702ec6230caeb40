"""Measures a checkpoint on held-out text, minimal pairs and pronouns: the figures of its log."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tlcourse import corpora, signals
from tlcourse.corpora.catalogue import BUNDLED, CORPORA, own_name
from tlcourse.evaluation.masked import evaluate_masked
from tlcourse.evaluation.minimal_pairs import minimal_pairs
from tlcourse.evaluation.perplexity import evaluate
from tlcourse.evaluation.pronouns import share_of_she
from tlcourse.evaluation.samples import continuations, fillings
from tlcourse.evaluation.scoring import sentence_scores
from tlcourse.recipes import OBJECTIVES

if TYPE_CHECKING:
    from datasets import Dataset

    from tlcourse.bpe import Tokenizer
    from tlcourse.checkpoints import LanguageModel
    from tlcourse.device import Compute

TEXTS = (("wikitext-103", "validation"), ("wikitext-103", "test"), ("wikitext-2-raw", "test"))
ENOUGH = 50_000  # words of a data set's validation split that are measured after a pretraining
ABSENT = "not on this machine"
PRINTED = {  # figures that are printed, by their names in the log
    "word_perplexity": "word perplexity",
    "bits_per_byte": "bits per byte",
    "masked_token_perplexity": "masked-token perplexity",
    "whole_word_perplexity": "whole-word perplexity",
}


def measured(
    model: LanguageModel,
    tokenizer: Tokenizer,
    log: Mapping[str, Any],
    *,
    on: Sequence[str],
    own_text: Sequence[str],
    own_place: str,
    compute: Compute,
) -> dict[str, Any]:
    """Returns `log` with new figures and samples, which are printed.

    The objective of the last leg says how the model reads. Texts and pairs are those that are on
    this machine; nothing is fetched. Of those that are not, the log keeps the figures it had.
    `on`: "held-out", "wikitext", "blimp", "pronouns", besides what the log has figures of.
    `own_text` is what was held out of one's own text, as articles, and `own_place` where it was
    looked for. Raises ValueError for a log without legs.
    """
    if not log["legs"]:
        raise ValueError(
            "expected a checkpoint whose training.json says how it was trained, got one without a "
            "log, so how it reads is not known; `tlcourse pretrain` writes one"
        )
    leg, measures = log["legs"][-1], also_measured(log, on)
    readings = OBJECTIVES[leg["objective"]].readings
    kind: dict[str, Any] = {"readings": readings, "compute": compute}
    new: dict = {"evaluation": dict(log.get("evaluation", {}))}
    if "held-out" in measures:
        figures = {
            text: found
            for text, articles, absent in held_out(leg, own_text, own_place)
            if (found := _figures(model, tokenizer, text, articles, leg, absent=absent, **kind))
        }
        new["evaluation"] |= figures
        new["held_out"] = list(figures) or log.get("held_out", [])
    earlier = set(new["evaluation"]) - set(new.get("held_out", []))
    for name, split in TEXTS:
        text = f"{name} {split}"
        if "wikitext" in measures or text in earlier:
            articles = _articles(real(name, split))
            if found := _figures(model, tokenizer, text, articles, leg, **kind):
                new["evaluation"][text] = found
    if "blimp" in measures and (pairs := _minimal_pairs(model, tokenizer, **kind)):
        new["minimal_pairs"] = pairs
    if "pronouns" in measures:
        new["pronouns"] = _pronouns(model, tokenizer, **kind)
    ways: dict[str, Callable[..., Any]] = {"causal": continuations, "masked": fillings}
    with _timed("samples"):
        new["samples"] = {way: ways[way](model, tokenizer, compute=compute) for way in readings}
    return {**log, **new}


def also_measured(log: Mapping[str, Any], on: Sequence[str]) -> set[str]:
    """Returns `on` and what the log has figures of; if it has none, what was held out."""
    names = {"held_out": "held-out", "minimal_pairs": "blimp", "pronouns": "pronouns"}
    found = {*on, *(name for key, name in names.items() if log.get(key))}
    return found if found or log.get("evaluation") else {"held-out"}


def _minimal_pairs(model, tokenizer, *, readings: Sequence[str], compute: Compute) -> dict:
    """The accuracies on BLiMP by every reading; none where it is not on this machine."""
    found: dict[str, dict] = {}
    pairs = real("blimp", "test")
    if pairs is None:
        print(f"[evaluate] blimp test: {ABSENT}")
        return found
    with _timed("minimal pairs") as notes:
        for way in readings:
            score = partial(sentence_scores, model, tokenizer, reading=way, compute=compute)
            found[way] = minimal_pairs(score, pairs)
            notes.append(f"{way} {100 * found[way]['accuracy']:.1f} % right")
    return found


def _pronouns(model, tokenizer, *, readings: Sequence[str], compute: Compute) -> dict:
    found: dict[str, dict] = {}
    with _timed("pronouns") as notes:
        for way in readings:
            found[way] = share_of_she(model, tokenizer, reading=way, compute=compute)
            shares = ", ".join(f"{who} {100 * share:.1f} %" for who, share in found[way].items())
            notes.append(f"{way}, she after {shares}")
    return found


def _figures(
    model, tokenizer, text: str, articles: Sequence[str], leg: Mapping[str, Any], *,
    readings: Sequence[str], compute: Compute, absent: str = ABSENT,
) -> dict[str, float]:  # fmt: skip
    """The perplexities of a text, by every reading; none where there is no text, or too little.

    In windows as long as those of the last leg of training: longer ones it has never seen. `absent`
    is what is printed where there is no text.
    """
    found: dict[str, float] = {}
    if not articles:
        print(f"[evaluate] {text}: {absent}")
        return found
    given = {"window": leg["recipe"]["length"], "compute": compute}
    with _timed(text) as notes:
        if "causal" in readings:
            stride = max(1, given["window"] // 2)
            found |= evaluate(model, tokenizer, articles, stride=stride, **given).figures()
        if "masked" in readings:
            try:
                found |= evaluate_masked(model, tokenizer, articles, **given)
            except ValueError as error:  # of so few words none was drawn
                notes.append(str(error))
        notes += [f"{told} {found[key]:.4g}" for key, told in PRINTED.items() if key in found]
    return found


def held_out(
    leg: Mapping[str, Any], own_text: Sequence[str], own_place: str
) -> Iterator[tuple[str, Sequence[str], str]]:
    """Yields texts that a model did not learn from, of the corpora of a leg.

    Of each text: its name, its articles, and what is printed where there are none.
    """
    own = [name for label in leg["corpus"] if (name := own_name(label))]
    if own:
        nothing = leg.get("read", {}).get("held_out") == 0
        absent = "nothing was held out of so few words" if nothing else f"not in {own_place}"
        yield f"{', '.join(own)}, held out", own_text, absent
    for label in leg["corpus"]:
        if not own_name(label):
            name = label.removesuffix(BUNDLED)
            split = real(name, "validation") if name == label else _sample(name, "validation")
            whole = _articles(split)
            taken: list[str] = []
            while whole and sum(len(article.split()) for article in taken) < ENOUGH:
                taken.append(whole.pop(0))
            lacks = name in CORPORA and "validation" not in CORPORA[name].files
            absent = "it has no such split" if lacks else ABSENT
            yield f"{label} validation" + ", first articles" * bool(whole), taken, absent


def _articles(split: Dataset | None) -> list[str]:
    return [] if split is None else list(corpora.articles(split))


def real(name: str, split: str) -> Dataset | None:
    """Returns a split of the real data from this machine, or None."""
    sources = {corpora.LOCAL: "local", corpora.HUB: "hub"}
    there = [sources[place] for place in corpora.available().get(name, ()) if place in sources]
    return corpora.load(name, source=there[0]).get(split) if there else None


def _sample(name: str, split: str) -> Dataset:
    return corpora.load(name, source="sample")[split]


@contextlib.contextmanager
def _timed(what: str) -> Iterator[list[str]]:
    """Prints, at the end of the block, what it noted, and how long it took."""
    signals.check()
    began = time.perf_counter()
    notes: list[str] = []
    yield notes
    notes.append(f"{time.perf_counter() - began:.0f} s")
    print(f"[evaluate] {what}: {', '.join(notes)}", flush=True)
