"""Behaviour without training: which of two sentences do models find likelier?

BLiMP (the first 100 pairs of each paradigm), Marvin & Linzen (2018), and agreement with 0 to 4
nouns of the other number between subject and verb, in sentences with sense and without: by the
log-probability of a sentence, or its pseudo-log-likelihood (Salazar et al., 2020). The shipped
models stand beside three that read the same 4M tokens (20M at `full`): counts of 5-grams, an LSTM
as large as the shipped Transformer, at the best of three learning rates, and the Transformer.
The published results on BLiMP score all 1,000 pairs of a paradigm, by models with other
vocabularies that had read other text.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import torch

from benchmarks import markdown, runner
from benchmarks.studies import pretraining_runs
from tlcourse import checkpoints, corpora, evaluation, pretraining, sizes
from tlcourse.batching import TokenFile
from tlcourse.bpe import Tokenizer
from tlcourse.evaluation import Evaluation
from tlcourse.evaluation.minimal_pairs import PAIRS
from tlcourse.evaluation.scoring import Score
from tlcourse.recurrent import LSTM, LSTMConfig
from tlcourse.transformer import Config

TOKENS = {"tiny": 4_096, "small": 4_000_000, "full": 20_000_000}  # of the models trained here
GROUP = {"tiny": 4, "small": 400, "full": 1_000}  # pairs a paradigm, and a number of attractors
ATTRACTORS = range(5)
NGRAM, RECURRENT, SNAPSHOT = "5-gram model", "LSTM", "Transformer"
SHIPPED = ("causal-small", "masked-small")
MODELS = (*SHIPPED, SNAPSHOT, RECURRENT, NGRAM)
PERPLEXITY = f"{pretraining_runs.HELD_OUT} validation"  # of models that read left to right
LEARNING_RATES = (2e-3, 4e-3, 8e-3)  # of the LSTM
TRIED = 20  # each is tried on this fraction of its tokens
SMALLER = 4  # its batches are this many times smaller: it needs more steps than a Transformer
SHAPES = {"tiny": (Config(8192, 16, 1, 2, 32, 128), LSTMConfig(8192, 16, (16,)))}
COLUMNS = {
    "model": "model",
    "set": "pairs",
    "group": "of which",
    "accuracy": "accuracy",
    "ties": "ties",
    "pairs": "all",
}
Pairs = list[tuple[str, str, str]]  # good, bad, group


class Subject(NamedTuple):
    """A model ready to be scored: its scores of sentences, its perplexity, its facts."""

    score: Score
    evaluate: Callable[[Sequence[str]], Evaluation] | None  # None: it reads both sides
    facts: dict


@dataclass(frozen=True)
class Job(runner.Job):
    """One of MODELS, trained if it is not shipped, scored on all pairs."""

    study = "behaviour"
    model: str
    tokens: int  # that it reads, if it is not shipped
    asked: str  # the digest of the pairs

    def weights(self) -> str:
        """The digest of a shipped model; of another, all that its weights follow from."""
        if self.model in SHIPPED:
            return runner.digest(self.model)
        file, _ = pretraining_runs.corpus(self.tokens)
        recipe = pretraining_runs.recipe()
        return f"{file.digest()}, {recipe}, {_shapes()}, {LEARNING_RATES}"

    def work(self) -> dict:
        """Accuracies by set and group, and perplexity where it reads from left to right."""
        began, pairs = time.perf_counter(), all_pairs()
        subject = _subject(self.model, self.tokens)
        texts = sorted({text for rows in pairs.values() for row in rows for text in row[:2]})
        known = dict(zip(texts, subject.score(texts), strict=True))

        def score(sentences: Sequence[str]) -> list[float]:
            return [known[sentence] for sentence in sentences]

        result = {
            "facts": subject.facts,
            "groups": {
                name: [
                    [group, *counts] for group, counts in evaluation.accuracies(score, rows).items()
                ]
                for name, rows in pairs.items()
            },
            "blimp": evaluation.minimal_pairs(score, corpora.load("blimp")["test"]),
        }
        if subject.evaluate is not None:
            result[PERPLEXITY] = subject.evaluate(pretraining_runs.articles()).figures()
        return result | {"seconds": time.perf_counter() - began}

    def told(self, result: dict) -> str:
        """Its accuracy on BLiMP."""
        return f"BLiMP {100 * result['blimp']['accuracy']:.1f} % right"


def measure() -> dict:
    """A row a model, set of pairs and group of them; models and published results beside them."""
    size = sizes.current().name
    pretraining_runs.corpus(TOKENS[size])  # written once, before several processes want it
    asked = hashlib.sha256(json.dumps(all_pairs()).encode()).hexdigest()[:16]
    jobs = [Job(model, TOKENS[size], asked) for model in MODELS]
    results = runner.run_all(jobs[::-1])[::-1]  # those first that are still to be trained
    names = ("model", "digest", "facts", "blimp", PERPLEXITY, "seconds")
    return {
        "job": "behaviour",
        **runner.provenance(
            f"{', '.join(pretraining_runs.names())}; BLiMP, first {PAIRS} pairs of a paradigm; "
            f"Marvin & Linzen and our attractor sentences, at most {GROUP[size]} pairs a group",
            note=runner.pooled(),
        ),
        "published": {
            "source": "Warstadt et al. (2020), table 3: percent of all 67,000 pairs",
            "blimp": evaluation.BLIMP_PUBLISHED,
        },
        "models": [{name: result[name] for name in names if name in result} for result in results],
        "rows": [row for result in results for row in rows_of(result)],
    }


def rows_of(result: dict) -> list[dict]:
    """A row a group, and one for all groups of a set; accuracies are fractions."""
    rows = []
    for name, groups in result["groups"].items():
        every = ["all", *(sum(column) for column in list(zip(*groups, strict=True))[1:])]
        for group, *counts in (*groups, every):
            right = evaluation.Accuracy(*counts)
            row = {"model": result["model"], "set": name, "group": group, "accuracy": right.share}
            rows.append(row | {"interval": list(right.interval)} | right._asdict())
    return rows


def all_pairs() -> dict[str, Pairs]:
    """The sets of pairs at the size that is set, the same ones each time."""
    most = GROUP[sizes.current().name]
    pairs = {
        "BLiMP": _first("blimp", PAIRS, "phenomenon"),
        "Marvin & Linzen": _first("marvin-linzen", most, "paradigm"),
    }
    for name, nonsense in (("attractors", False), ("attractors, nonsense", True)):
        pairs[name] = [
            (pair.good.text, pair.bad.text, str(count))
            for count in ATTRACTORS
            for pair in corpora.treebank.agreement_pairs(most, attractors=count, nonsense=nonsense)
        ]
    return pairs


def _first(name: str, pairs: int, group: str) -> Pairs:
    """The first `pairs` pairs of each paradigm of a data set, grouped by the column `group`."""
    rows = corpora.load(name)["test"]
    columns = (rows[column] for column in ("good", "bad", group, "pair"))
    return [(*row,) for *row, number in zip(*columns, strict=True) if number < pairs]


def _shapes() -> tuple[Config, LSTMConfig]:
    return SHAPES.get(sizes.current().name, (Config(), LSTMConfig()))


def _subject(name: str, tokens: int) -> Subject:
    """One of MODELS, trained on `tokens` tokens if it is not shipped."""
    if name in SHIPPED:
        read = sum(leg["tokens"] for leg in checkpoints.log_of(name)["legs"])
        return _neural(*checkpoints.load(name), read)
    file, tokenizer = pretraining_runs.corpus(tokens)
    if name == NGRAM:
        counts = evaluation.NgramModel(file.ids[:tokens], tokenizer.vocabulary_size)
        return Subject(
            partial(evaluation.ngram_scores, counts, tokenizer),
            partial(evaluation.evaluate_ngrams, counts, tokenizer),
            {"tokens": tokens, "n-grams": sum(len(order.keys) for order in counts.orders)},
        )
    if name == RECURRENT:
        return _lstm(file, tokenizer, tokens)
    run = pretraining_runs.Run(
        SNAPSHOT, pretraining_runs.recipe(), (tokens,), config=_shapes()[0], text_of=tokens
    )
    run.run()
    return _neural(*checkpoints.load(run.checkpoint()), tokens)


def _neural(model: torch.nn.Module, tokenizer: Tokenizer, read: int, **facts) -> Subject:
    evaluate = partial(evaluation.evaluate, model, tokenizer) if model.config.causal else None
    parameters = sum(parameter.numel() for parameter in model.parameters())
    facts = {"tokens": read, "parameters": parameters, **facts}
    return Subject(partial(evaluation.sentence_scores, model, tokenizer), evaluate, facts)


def _lstm(file: TokenFile, tokenizer: Tokenizer, tokens: int) -> Subject:
    """Trained at the learning rate that has the lowest loss at the end of its trial."""
    tried = {
        rate: pretraining_runs.tail_loss(_trained(file, tokens // TRIED, rate)[1])
        for rate in LEARNING_RATES
    }
    rate = min(tried, key=tried.get)
    model, _ = _trained(file, tokens, rate)
    return _neural(model, tokenizer, tokens, learning_rate=rate, losses_tried=[*tried.items()])


def _trained(file: TokenFile, tokens: int, learning_rate: float) -> tuple[LSTM, list[dict]]:
    """An LSTM and its history, from its start or from where it was stopped.

    It has no dropout, since it reads every window once; AdamW trains all its weights.
    """
    shared = pretraining_runs.recipe()
    recipe = replace(
        shared,
        learning_rate=learning_rate,
        muon_learning_rate=None,
        weight_decay=0.0,
        batch_size=shared.batch_size // SMALLER,
    )
    torch.manual_seed(recipe.seed)
    model = LSTM(_shapes()[1])
    fields = f"{tokens}, {file.digest()}, {recipe}, {model.config}"
    key = hashlib.sha256(fields.encode()).hexdigest()[:16]
    folder = runner.FOLDER / Job.study / f"{RECURRENT}, {key}"
    return model, pretraining.pretrain(model, file, tokens, recipe=recipe, folder=folder)


def section(study: dict[str, Any]) -> str:
    """The section of RESULTS.md from what `behaviour` stored: models, then constructions."""
    rows = {(row["set"], row["group"], row["model"]): row for row in study["rows"]}
    models = []
    for model in study["models"]:
        reads = model.get(PERPLEXITY)
        cells = [model["model"], f"{model['facts']['tokens']:,}"]
        cells.append(f"{reads['word_perplexity']:.0f}" if reads else "")
        for pairs in ("BLiMP", "Marvin & Linzen"):
            row = rows[pairs, "all", model["model"]]
            cells.append(markdown.percent([row["accuracy"], *row["interval"]]))
        models.append(cells)
    source, shares = study["published"]["source"], study["published"]["blimp"].items()
    published = ", ".join(f"{share} ({name})" for name, share in shares)
    head = ["model", "tokens read", "perplexity", "BLiMP", "Marvin & Linzen"]
    return markdown.section(
        "## What models find likelier",
        "Pairs of a grammatical sentence and one that is not, and how often the first is the "
        "likelier one (percent; guessing 50), with 95 % intervals over pairs. Perplexity is "
        f"per word, on {PERPLEXITY}. The last three models have read the same text (`python -m "
        f"benchmarks behaviour`; lesson 07b). {study['data']}. {study['machine']}.",
        markdown.table(head, models),
        f"Published on BLiMP ({source}): {published}.",
        "One row per construction, in percent. *Agreement* is of the course's grammar: with so "
        "many nouns of the other number between subject and verb, and the same in sentences that "
        "are grammatical and mean nothing.",
        _constructions(rows, [model["model"] for model in study["models"]]),
    )


def _constructions(rows: dict[tuple[str, str, str], dict], models: list[str]) -> str:
    """The table of percent right by construction: our agreement sentences, Marvin & Linzen's."""
    titles = {"attractors": "agreement, ", "attractors, nonsense": "agreement, nonsense, "}
    table = []
    for (pairs, group, model), row in rows.items():
        if pairs != "BLiMP" and group != "all" and model == models[0]:
            title = f"{titles[pairs]}{group}" if pairs in titles else group.replace("_", " ")
            shares = [f"{100 * rows[pairs, group, name]['accuracy']:.1f}" for name in models]
            table.append([title, str(row["pairs"]), *shares])
    return markdown.table(["construction", "pairs", *models], table)
