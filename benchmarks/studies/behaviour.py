"""Behaviour without training: which of two sentences do models find likelier?

BLiMP (the first 100 pairs of each paradigm), Marvin & Linzen (2018), and agreement with 0 to 4
nouns of the other number between subject and verb, in sentences with sense and without: by the
log-probability of a sentence, or its pseudo-log-likelihood (Salazar et al., 2020). The shipped
models stand beside three that read the same 4M tokens (20M at `full`): counts of 5-grams, an LSTM
as large as the shipped Transformer, at the best of three learning rates, and the Transformer.
What was published on BLiMP stands beside; there all 1,000 pairs of a paradigm were scored, by
models with other vocabularies that had read other text.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import NamedTuple

import torch

from benchmarks import runner
from benchmarks.studies import pretraining_runs
from benchmarks.studies.lstm import LSTM, Shape, train_lstm
from tlcourse import checkpoints, corpora, device, evaluation, sizes
from tlcourse.batching import TokenFile
from tlcourse.bpe import Tokenizer
from tlcourse.evaluation import Evaluation
from tlcourse.evaluation.minimal_pairs import PAIRS
from tlcourse.evaluation.scoring import Score
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.transformer import Config

TOKENS = {"tiny": 4_096, "small": 4_000_000, "full": 20_000_000}  # that the peers read
EACH = {"tiny": 4, "small": 400, "full": 1_000}  # of a paradigm, and of a number of attractors
ATTRACTORS = range(5)
NGRAM, LSTM_, SNAPSHOT = "5-gram model", "LSTM", "Transformer"
SHIPPED = ("causal-small", "masked-small")
MODELS = (*SHIPPED, SNAPSHOT, LSTM_, NGRAM)
TEXT = "wikitext-103"  # whose validation articles perplexity is measured on
LEARNING_RATES = (2e-3, 4e-3, 8e-3)  # of the LSTM
TRIED = 20  # they are tried on so small a part of its tokens
SMALLER = 4  # so many times smaller are its batches: it needs more steps than a Transformer
RECIPES = {"tiny": PretrainingRecipe(batch_size=4, length=32)}
SHAPES = {"tiny": (Config(8192, 16, 1, 2, 32, 128), Shape(8192, 16, 16, 1))}
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
    """A model as it is asked: its scores of sentences, its perplexity, and what it is."""

    score: Score
    evaluate: Callable[[Sequence[str]], Evaluation] | None  # None: it sees both sides
    facts: dict


@dataclass(frozen=True)
class Run(pretraining_runs.Run):
    """The Transformer on the text that its peers read."""

    study = "behaviour"

    def text(self) -> tuple[TokenFile, Tokenizer]:
        """As many tokens as it reads."""
        return pretraining_runs.corpus(self.kept[-1])


@dataclass(frozen=True)
class Job(runner.Job):
    """One of MODELS, trained if it is not shipped, and all that is asked of it."""

    study = "behaviour"
    model: str
    tokens: int  # that it reads, if it is not shipped
    asked: str  # the digest of the pairs

    def weights(self) -> str:
        """Those of a shipped model, or what the weights of another follow from."""
        if self.model in SHIPPED:
            return runner.digest(self.model)
        file, _ = pretraining_runs.corpus(self.tokens)
        return f"{file.digest()}, {_recipe()}, {_shapes()}, {LEARNING_RATES}"

    def work(self) -> dict:
        """Accuracies by set and group, and perplexity where it reads from left to right."""
        began, pairs = time.perf_counter(), all_pairs()
        subject = _subject(self.model, self.tokens)
        texts = sorted({text for rows in pairs.values() for row in rows for text in row[:2]})
        known = dict(zip(texts, subject.score(texts), strict=True))

        def score(sentences: Sequence[str]) -> list[float]:
            return [known[sentence] for sentence in sentences]

        found = {name: evaluation.accuracies(score, rows) for name, rows in pairs.items()}
        result = {
            "facts": subject.facts,
            "groups": {
                name: [[group, *counts] for group, counts in by_group.items()]
                for name, by_group in found.items()
            },
            "blimp": evaluation.minimal_pairs(score, corpora.load("blimp")["test"]),
        }
        if subject.evaluate is not None:
            result[f"{TEXT} validation"] = subject.evaluate(_articles()).figures()
        return result | {"seconds": time.perf_counter() - began}

    def told(self, result: dict) -> str:
        """How it does on BLiMP."""
        return f"BLiMP {100 * result['blimp']['accuracy']:.1f} % right"


def measure() -> dict:
    """A row a model, set of pairs and group of them; the models, and what was published, beside."""
    size = sizes.current().name
    pretraining_runs.corpus(TOKENS[size])  # once, before all of them want it
    asked = hashlib.sha256(json.dumps(all_pairs()).encode()).hexdigest()[:16]
    asked_of = [Job(model, TOKENS[size], asked) for model in MODELS]
    results = runner.run_all(asked_of[::-1])[::-1]  # those first that are still to be trained
    names = ("model", "digest", "facts", "blimp", f"{TEXT} validation", "seconds")
    return {
        "job": "behaviour",
        **runner.provenance(
            f"{', '.join(pretraining_runs.names())}; BLiMP, first {PAIRS} pairs of a paradigm; "
            f"Marvin & Linzen and our attractor sentences, at most {EACH[size]} pairs a group",
            note=runner.pooled(),
        ),
        "published": {
            "source": "Warstadt et al. (2020), table 3: percent of all 67,000 pairs",
            "blimp": evaluation.BLIMP_PUBLISHED,
        },
        "models": [{name: each[name] for name in names if name in each} for each in results],
        "rows": [row for each in results for row in rows_of(each)],
    }


def rows_of(result: dict) -> list[dict]:
    """A row a group, and one for all groups of a set; accuracies are fractions."""
    rows = []
    for name, groups in result["groups"].items():
        every = ["all", *(sum(column) for column in list(zip(*groups, strict=True))[1:])]
        for group, *counts in (*groups, every):
            found = evaluation.Accuracy(*counts)
            row = {"model": result["model"], "set": name, "group": group, "accuracy": found.share}
            rows.append(row | {"interval": list(found.interval)} | found._asdict())
    return rows


def all_pairs() -> dict[str, Pairs]:
    """The sets of pairs at the size that is set, the same ones each time."""
    each = EACH[sizes.current().name]
    found = {
        "BLiMP": _first("blimp", PAIRS, "phenomenon"),
        "Marvin & Linzen": _first("marvin-linzen", each, "paradigm"),
    }
    for name, nonsense in (("attractors", False), ("attractors, nonsense", True)):
        found[name] = [
            (pair.good.text, pair.bad.text, str(count))
            for count in ATTRACTORS
            for pair in corpora.treebank.agreement_pairs(each, attractors=count, nonsense=nonsense)
        ]
    return found


def _first(name: str, pairs: int, group: str) -> Pairs:
    """The first so many pairs of each paradigm of a data set, grouped by the column `group`."""
    rows = corpora.load(name)["test"]
    columns = (rows[column] for column in ("good", "bad", group, "pair"))
    return [(*row,) for *row, number in zip(*columns, strict=True) if number < pairs]


def _articles() -> list[str]:
    """The validation articles; one of them at `tiny`."""
    articles = list(corpora.articles(corpora.load(TEXT)["validation"]))
    return articles[: 1 if sizes.current().name == "tiny" else None]


def _recipe() -> PretrainingRecipe:
    return RECIPES.get(sizes.current().name, PretrainingRecipe())


def _shapes() -> tuple[Config, Shape]:
    return SHAPES.get(sizes.current().name, (Config(), Shape()))


def _subject(name: str, tokens: int) -> Subject:
    """One of MODELS, trained on `tokens` tokens if it is not shipped."""
    if name in SHIPPED:
        read = sum(leg["tokens"] for leg in checkpoints.log_of(name)["legs"])
        return _neural(*checkpoints.load(name), read)
    file, tokenizer = pretraining_runs.corpus(tokens)
    if name == NGRAM:
        counts = evaluation.NgramModel(file.ids[:tokens], tokenizer.vocabulary_size)
        numbers = sum(len(order.keys) for order in counts.orders)
        return Subject(
            partial(evaluation.ngram_scores, counts, tokenizer),
            partial(evaluation.evaluate_ngrams, counts, tokenizer),
            {"tokens": tokens, "n-grams": numbers},
        )
    if name == LSTM_:
        return _lstm(file, tokenizer, tokens)
    run = Run(SNAPSHOT, _recipe(), (tokens,), "", _shapes()[0])
    run.run()
    return _neural(*checkpoints.load(run.checkpoint()), tokens)


def _neural(model: torch.nn.Module, tokenizer: Tokenizer, read: int, **facts) -> Subject:
    evaluate = partial(evaluation.evaluate, model, tokenizer) if model.config.causal else None
    parameters = sum(each.numel() for each in model.parameters())
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
    """An LSTM and its history, from its start or from where it was stopped."""
    batch = _recipe().batch_size // SMALLER
    recipe = replace(
        _recipe(), learning_rate=learning_rate, muon_learning_rate=None, batch_size=batch
    )
    torch.manual_seed(recipe.seed)
    model = LSTM(_shapes()[1])
    fields = {"tokens": tokens, "corpus": file.digest(), **asdict(recipe), **asdict(model.config)}
    key = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]
    history = train_lstm(
        model, file, tokens, recipe=recipe, compute=device.choose(),
        folder=runner.FOLDER / Job.study / f"{LSTM_}, {key}",
    )  # fmt: skip
    return model, history
