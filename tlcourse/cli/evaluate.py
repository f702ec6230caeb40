"""Measures a checkpoint; writes the card of one of your own anew."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from tlcourse import files, signals
from tlcourse.cli.options import Argument, OneOf, Option

if TYPE_CHECKING:
    from datasets import Dataset

    from tlcourse.bpe import Tokenizer
    from tlcourse.device import Compute
    from tlcourse.transformer import Transformer

TEXTS = (("wikitext-103", "validation"), ("wikitext-103", "test"), ("wikitext-2-raw", "test"))
READINGS = {"causal": ("causal",), "masked": ("masked",), "hybrid": ("causal", "masked")}
CHOICES = ("held-out", "wikitext", "blimp", "pronouns")
ENOUGH = 50_000  # words of a data set's validation split that are measured after a pretraining
LOCK = ".evaluate.lock"  # in the folder of a checkpoint, while it is measured
ABSENT = "not on this machine"
TELLING = {  # figures that are printed, by their names in the log
    "word_perplexity": "word perplexity",
    "bits_per_byte": "bits per byte",
    "masked_token_perplexity": "masked-token perplexity",
    "whole_word_perplexity": "whole-word perplexity",
}


OPTIONS = [
    Argument("checkpoint", help="a shipped name or the folder of a checkpoint"),
    Option(
        "--on",
        multiple=True,
        type=OneOf(CHOICES),
        help="measure it on that, too: text held out of its own training, WikiText, the minimal "
        "pairs of BLiMP, pronouns",
        shown="on what its log has figures of",
    ),
    Option("--write", is_flag=True, help="replace log and card of a shipped model, too"),
]


def run(arguments: SimpleNamespace) -> int:
    """Measures a checkpoint and writes its log and its card; a shipped one's only if asked to."""
    from tlcourse import checkpoints

    write = arguments.write or not checkpoints.is_shipped(arguments.checkpoint)
    folder = evaluate(arguments.checkpoint, on=arguments.on, write=write)
    if write:
        print(f"card written to {folder / 'README.md'}")
    else:
        print(f"{arguments.checkpoint} comes with the course: its log and card stay as they are")
    return 0


def left(arguments: SimpleNamespace) -> str:
    """What there is when it was stopped, and the command that goes on."""
    on = ["--on", *arguments.on] if arguments.on else []
    on += ["--write"] * arguments.write
    words = shlex.join(["tlcourse", "evaluate", arguments.checkpoint, *on])
    return f"log and card are as they were; go on with: {words}"


def evaluate(
    name: str | Path,
    *,
    on: Sequence[str] = (),
    write: bool = True,
    compute: Compute | None = None,
) -> Path:
    """Measures a checkpoint, shipped or in a folder, as it lies there: in half precision.

    The figures are printed. With `write` they replace those in `training.json`, from which
    `README.md` is written; a reader sees each file old or new, never half. `on`: what of CHOICES
    is measured besides that of which the log has figures. Returns the folder.
    """
    from tlcourse import checkpoints, device
    from tlcourse.cli import cards

    compute = device.choose() if compute is None else compute
    folder = checkpoints.folder_of(name)
    with _to_be_written(folder) if write else contextlib.nullcontext():
        model, tokenizer = checkpoints.load(name, compute)
        log, beside = log_of(name), folder.resolve().parent
        log = measured(model, tokenizer, log, on=on, beside=beside, compute=compute)
        if write:
            signals.too_late()
            checkpoints.rewrite(name, cards.card(checkpoints.name_of(name), log), log)
    return folder


@contextlib.contextmanager
def _to_be_written(folder: Path) -> Iterator[None]:
    """The block measures the checkpoint in `folder`; OSError where its figures cannot be kept."""
    do = "copy it to a place that can be, and measure the copy"
    files.refuse_unwritable(folder, "the folder of a checkpoint", do)
    busy = (
        f"expected one command at a time to measure {folder}, but another one is running; run "
        "this one again when it has finished"
    )
    with files.locked(folder / LOCK, busy):
        yield


def log_of(name: str | Path) -> dict:
    """The log of a checkpoint, from which a card can be written.

    Raises ValueError for a damaged one: before anything is trained or measured, not after it.
    """
    from tlcourse import checkpoints, ranges
    from tlcourse.cli import cards

    log = checkpoints.log_of(name)
    try:
        for leg in log["legs"]:
            length, corpus = leg["recipe"]["length"], leg["corpus"]
            READINGS[leg["objective"]]
            if not ranges.COUNT.holds(length) or not isinstance(corpus, list):
                raise ValueError(f"a leg of length {length!r} on the corpora {corpus!r}")
        if log["legs"]:
            cards.card(checkpoints.name_of(name), {"evaluation": {}} | log)
    except (LookupError, TypeError, AttributeError, ValueError, StopIteration) as error:
        raise ValueError(
            "expected legs and figures as `tlcourse pretrain` writes them in "
            f"{checkpoints.folder_of(name) / 'training.json'}, but {error!r}; restore the file"
        ) from None
    return log


def measured(
    model: Transformer,
    tokenizer: Tokenizer,
    log: dict,
    *,
    on: Sequence[str],
    beside: Path,
    compute: Compute,
) -> dict:
    """`log` with new figures and samples; the objective of the last leg says how the model reads.

    Texts and pairs are those that are on this machine; nothing is fetched. Of those that are not,
    the log keeps the figures it had. One's own text, held out, lies in the folder `beside`.
    """
    from tlcourse import evaluation

    if not log["legs"]:
        raise ValueError(
            "expected a checkpoint whose training.json says how it was trained, got one without a "
            "log, so how it reads is not known; `tlcourse pretrain` writes one"
        )
    readings, on = READINGS[log["legs"][-1]["objective"]], _on(log, on)
    given = {
        "compute": compute,
        "readings": readings,
        "window": log["legs"][-1]["recipe"]["length"],
    }
    new: dict = {"evaluation": dict(log.get("evaluation", {}))}
    if "held-out" in on:
        figures = {
            text: found
            for text, articles, absent in _held_out(log["legs"][-1], beside)
            if (found := _figures(model, tokenizer, text, articles, absent=absent, **given))
        }
        new["evaluation"] |= figures
        new["held_out"] = list(figures) or log.get("held_out", [])
    for name, split in TEXTS:
        text = f"{name} {split}"
        if "wikitext" in on or text in new["evaluation"].keys() - set(new.get("held_out", [])):
            articles = _articles(_real(name, split))
            if found := _figures(model, tokenizer, text, articles, **given):
                new["evaluation"][text] = found
    pairs = _real("blimp", "test") if "blimp" in on else None
    if pairs is None and "blimp" in on:
        print(f"[evaluate] blimp test: {ABSENT}")
    elif pairs is not None:
        with _timed("minimal pairs") as said:
            new["minimal_pairs"] = found = {}
            for reading in readings:
                kind = {"reading": reading, "compute": compute}
                score = partial(evaluation.sentence_scores, model, tokenizer, **kind)
                found[reading] = evaluation.minimal_pairs(score, pairs)
            said += [f"{way} {100 * found[way]['accuracy']:.1f} % right" for way in readings]
    return log | new | _of_ours(model, tokenizer, readings, "pronouns" in on, compute)


def _on(log: dict, on: Sequence[str]) -> set[str]:
    """What was asked for and what the log has figures of; if it has none, what was held out."""
    names = {"held_out": "held-out", "minimal_pairs": "blimp", "pronouns": "pronouns"}
    found = {*on, *(name for key, name in names.items() if log.get(key))}
    return found if found or log.get("evaluation") else {"held-out"}


def _of_ours(model, tokenizer, readings, pronouns: bool, compute) -> dict:
    """What the model makes of sentences of ours."""
    from tlcourse import evaluation

    samples, new = {"causal": evaluation.continuations, "masked": evaluation.fillings}, {}
    with _timed("pronouns and samples" if pronouns else "samples") as said:
        if pronouns:
            new["pronouns"] = {
                reading: evaluation.share_of_she(model, tokenizer, reading=reading, compute=compute)
                for reading in readings
            }
            for way, shares in new["pronouns"].items():
                told = ", ".join(f"{who} {100 * share:.1f} %" for who, share in shares.items())
                said.append(f"{way}, she after {told}")
        new["samples"] = {
            reading: samples[reading](model, tokenizer, compute=compute) for reading in readings
        }
    return new


def _figures(
    model, tokenizer, text: str, articles: list[str], *, readings, compute, window: int,
    absent: str = ABSENT,
) -> dict[str, float]:  # fmt: skip
    """The perplexities of a text, by every reading; none where there is no text, or too little.

    In windows as long as those of the last leg of training: longer ones it has never seen. `absent`
    is what is said where there is no text.
    """
    from tlcourse import evaluation

    found: dict[str, float] = {}
    if not articles:
        print(f"[evaluate] {text}: {absent}")
        return found
    with _timed(text) as said:
        if "causal" in readings:
            whole = {"window": window, "stride": max(1, window // 2), "compute": compute}
            found |= evaluation.evaluate(model, tokenizer, articles, **whole).figures()
        if "masked" in readings:
            try:
                found |= evaluation.evaluate_masked(
                    model, tokenizer, articles, compute=compute, window=window
                )
            except ValueError as error:  # of so few words none was drawn
                said.append(str(error))
        said += [f"{told} {found[key]:.4g}" for key, told in TELLING.items() if key in found]
    return found


def _held_out(leg: dict, beside: Path) -> Iterator[tuple[str, list[str], str]]:
    """Texts that a model did not learn, of the corpora of a leg: what each is called, its articles,
    and what is said where there are none.
    """
    from tlcourse import pretraining
    from tlcourse.cli import limits
    from tlcourse.corpora.catalogue import CORPORA

    own = [name for label in leg["corpus"] if (name := limits.own_name(label))]
    if own:
        nothing = leg.get("read", {}).get("held_out") == 0
        absent = "nothing was held out of so few words" if nothing else f"not in {beside}"
        yield f"{', '.join(own)}, held out", pretraining.held_out(beside), absent
    for label in leg["corpus"]:
        if not limits.own_name(label):
            name = label.removesuffix(limits.SAMPLE)
            split = _real(name, "validation") if name == label else _sample(name, "validation")
            whole, taken = _articles(split), []
            while whole and sum(len(article.split()) for article in taken) < ENOUGH:
                taken.append(whole.pop(0))
            lacks = name in CORPORA and "validation" not in CORPORA[name].files
            absent = "it has no such split" if lacks else ABSENT
            yield f"{label} validation" + ", first articles" * bool(whole), taken, absent


def _articles(split: Dataset | None) -> list[str]:
    from tlcourse import corpora

    return [] if split is None else list(corpora.articles(split))


def _real(name: str, split: str) -> Dataset | None:
    """A split of the real data from this machine, or None."""
    from tlcourse import corpora

    sources = {corpora.LOCAL: "local", corpora.HUB: "hub"}
    there = [sources[place] for place in corpora.available().get(name, ()) if place in sources]
    return corpora.load(name, source=there[0]).get(split) if there else None


def _sample(name: str, split: str) -> Dataset:
    """A split of the bundled sample."""
    from tlcourse import corpora

    return corpora.load(name, source="sample")[split]


@contextlib.contextmanager
def _timed(what: str) -> Iterator[list[str]]:
    """Prints, at the end of the block, what it noted, and how long it took."""
    began, said = time.perf_counter(), []
    yield said
    said.append(f"{time.perf_counter() - began:.0f} s")
    print(f"[evaluate] {what}: {', '.join(said)}", flush=True)
