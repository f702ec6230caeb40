"""When does it come? Probes, agreement, loss and transfer against the tokens that a model has read.

One run for each objective, causal and masked, from the same random weights; a checkpoint is kept
after each doubling of the tokens, from 0 (a random encoder) on. Both read an eighth of the windows
of one text, the same ones and none twice. After the warm-up the learning rate is constant, so no
checkpoint is decayed: each would do better if it were, but they can be compared with each other.

Each checkpoint is scored on parts of speech (linear probe, beside its control task) and trees
(distance probe), both on UD English EWT, in the layer that is best on validation sentences, so that
the best of seven is not taken where it is reported; on agreement without an attractor and with one;
and by its loss, in its own objective, on held-out text. Then each is fine-tuned on 500 TREC
questions by one recipe. `correlations` are the rank correlations of each score with the accuracy on
TREC's dev split, beside that of the tokens read.

A run that was stopped goes on from its last saved state; checkpoints lie in `runs/studies/`, scores
in `runs/growth/`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks import markdown, runner
from benchmarks.studies import pretraining_runs
from benchmarks.studies.probing import EWT, drawn, gold
from tlcourse import checkpoints, corpora, evaluation, probing, sizes
from tlcourse.bpe import Tokenizer
from tlcourse.checkpoints import AnyTokenizer
from tlcourse.corpora import conllu, treebank
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.probing import tasks
from tlcourse.transformer import Config, Transformer
from tlcourse.wording import number_of

OBJECTIVES = ("causal", "masked")
ATTRACTORS = (0, 1)
# What is correlated with transfer, and the sign that makes more of it better.
SCORES = {"part of speech": 1, "selectivity": 1, "trees": 1, "agreement, 0 attractors": 1}
SCORES |= {"agreement, 1 attractor": 1, "loss": -1, "tokens": 1}

Read = tuple[probing.Features, Sequence[conllu.Sentence]]


@dataclass(frozen=True)
class Scale:
    """What is trained and measured at a size."""

    text: int = 25_000_000  # tokens in the file
    tokens: int = 3_125_000  # of them that a run reads
    doublings: int = 5  # so the first checkpoint after 0 is kept at 0.1M
    recipe: PretrainingRecipe = PretrainingRecipe(decay=0.0)
    shape: Config = Config()
    learnt: int = 2_000  # sentences to fit probes on
    judged: int = 1_000  # sentences to choose a layer by, and as many to report on
    pairs: int = 400  # of each number of attractors
    articles: int = 10
    labels: int = 500  # of fine-tuning
    seeds: tuple[int, ...] = (0,)


TINY = Scale(
    text=4_096,
    tokens=1_024,
    doublings=1,
    recipe=PretrainingRecipe(batch_size=4, length=32, decay=0.0),
    shape=Config(8192, 32, 1, 2, 64, 256),
    learnt=12,
    judged=8,
    pairs=4,
    articles=1,
    labels=24,
)
SCALES = {"tiny": TINY, "small": Scale(), "full": Scale()}


@dataclass(frozen=True)
class Job(runner.Job):
    """All scores of one checkpoint, except for transfer."""

    study = "growth"
    model: str
    objective: str
    tokens: int  # that it has read
    learnt: int  # sentences, as in Scale
    judged: int
    pairs: int
    articles: int

    def told(self, result: dict) -> str:
        """Its accuracy on parts of speech."""
        return f"parts of speech {100 * result['part of speech'][0]:.1f} % right"

    def work(self) -> dict:
        """Probes, pairs and loss: accuracies as [value, low, high], with their 95 % intervals."""
        model, tokenizer = checkpoints.load(self.model)
        states = read(model, tokenizer, learnt=self.learnt, judged=self.judged)
        scores = tags(*states) | trees(*states) | agreement(model, tokenizer, self.pairs)
        return scores | {"loss": loss(model, tokenizer, self.articles)}


@cache
def sentences(learnt: int, judged: int) -> list[list[conllu.Sentence]]:
    """EWT's training, validation and test sentences, drawn once."""
    data, most = corpora.load(EWT), {"train": learnt, "validation": judged, "test": judged}
    return [
        [conllu.Sentence.of(row) for row in drawn(data[split], count)]
        for split, count in most.items()
    ]


def read(model: Transformer, tokenizer: AnyTokenizer, *, learnt: int, judged: int) -> list[Read]:
    """The hidden states of `sentences`, with the sentences."""
    return [
        (probing.extract(model, tokenizer, [(row.text, row.spans) for row in rows]), rows)
        for rows in sentences(learnt, judged)
    ]


def tags(train: Read, dev: Read, test: Read) -> dict:
    """Parts of speech: accuracy by layer on dev; dev's best layer on test, with controls."""
    parts = [(features, tasks.column(rows, "upos")) for features, rows in (train, dev, test)]
    by_layer = []
    for layer in range(len(train[0].layers)):
        known, new = (probing.examples(*part, layer) for part in parts[:2])
        probe = probing.linear_probe(known.features, known.labels)
        by_layer.append(probe.judge(new.features, new.labels).accuracy)
    layer = int(np.argmax(by_layer))
    known, _, new = (probing.examples(*part, layer) for part in parts)
    report = probing.report(known, new, code=False)
    return {
        "part of speech": list(report.accuracy),
        "part of speech, layer": layer,
        "part of speech, dev by layer": by_layer,
        "word types": report.word_types,
        "above word types": list(report.above_word_types),
        "control": report.control,
        "selectivity": report.selectivity,
    }


def trees(train: Read, dev: Read, test: Read) -> dict:
    """UUAS by layer on dev; that of dev's best layer on test, and that of joining neighbours."""

    def judge(probe: probing.DistanceProbe, read: Read, layer: int) -> probing.TreeScore:
        heads, keep = gold(read[1])
        return probe.judge(read[0].sentences(layer), heads, keep=keep)

    known, _ = gold(train[1])
    probes = [
        probing.distance_probe(train[0].sentences(layer), known, epochs=5)
        for layer in range(len(train[0].layers))
    ]
    by_layer = [judge(probe, dev, layer).uuas for layer, probe in enumerate(probes)]
    layer = int(np.argmax(by_layer))
    heads, keep = gold(test[1])
    order = [probing.linear_distances(len(row)) for row in heads]
    return {
        "trees": list(judge(probes[layer], test, layer).interval()),
        "trees, layer": layer,
        "trees, dev by layer": by_layer,
        "linear order": probing.judge_distances(order, heads, keep=keep).uuas,
    }


def agreement(model: Transformer, tokenizer: Tokenizer, pairs: int) -> dict:
    """The share of pairs in which the right verb is likelier, by number of attractors."""
    sets = [
        (pair.good.text, pair.bad.text, f"agreement, {number_of(count, 'attractor')}")
        for count in ATTRACTORS
        for pair in treebank.agreement_pairs(pairs, attractors=count)
    ]

    def score(texts: Sequence[str]) -> list[float]:
        return evaluation.sentence_scores(model, tokenizer, texts)

    groups = evaluation.accuracies(score, sets)
    return {group: [right.share, *right.interval] for group, right in groups.items()}


def loss(model: Transformer, tokenizer: Tokenizer, articles: int) -> float:
    """Nats a token, or a masked token, of held-out articles: not comparable between the two."""
    texts = pretraining_runs.articles(articles)
    if model.config.causal:
        return math.log(evaluation.evaluate(model, tokenizer, texts).token_perplexity)
    return math.log(evaluation.evaluate_masked(model, tokenizer, texts)["masked_token_perplexity"])


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> dict:
    """Spearman's, with an approximate 95 % interval (Bonett & Wright, 2000) as of separate models.

    Where the ranks agree in full the interval would have no width: its end is then that of the
    nearest correlation that so many points can have, two neighbours changing places. None for fewer
    than five points, or where all are equal.
    """
    points = len(one)
    if points < 5 or len(set(one)) == 1 or len(set(other)) == 1:
        return {"rho": None, "interval": None, "points": points}
    rho = float(spearmanr(one, other).statistic)
    most = 1 - 12 / (points * (points**2 - 1))
    near = min(max(rho, -most), most)
    width = 1.96 * math.sqrt((1 + near**2 / 2) / (points - 3))
    low, high = (math.tanh(math.atanh(near) + sign * width) for sign in (-1, 1))
    return {"rho": rho, "interval": [min(low, rho), max(high, rho)], "points": points}


def correlations(rows: Sequence[dict]) -> list[dict]:
    """Of each objective and score, the rank correlation with the accuracy on TREC's dev split."""
    table = []
    for objective in OBJECTIVES:
        own = [row for row in rows if row["objective"] == objective]
        right = [-row["dev error"] for row in own]
        for score, sign in SCORES.items():
            values = [row[score][0] if isinstance(row[score], list) else row[score] for row in own]
            correlation = rank_correlation([sign * value for value in values], right)
            table.append({"objective": objective, "score": score} | correlation)
    return table


def runs(scale: Scale) -> dict[str, pretraining_runs.Run]:
    """A run by objective; its budgets are doubled, in whole steps, and begin with 0."""
    step = scale.recipe.batch_size * scale.recipe.length
    halved = [scale.tokens >> times for times in reversed(range(scale.doublings + 1))]
    kept = (0, *(tokens // step * step for tokens in halved))
    return {
        objective: pretraining_runs.Run(
            objective,
            replace(scale.recipe, objective=objective),
            kept,
            config=scale.shape,
            text_of=scale.text,
        )
        for objective in OBJECTIVES
    }


def measure() -> dict:
    """A row an objective and number of tokens; loss curves and correlations beside them."""
    scale = SCALES[sizes.current().name]
    both = runs(scale)
    histories = pretraining_runs.train_all(both)
    kept = [(run, tokens) for run in both.values() for tokens in run.kept]
    shared = (scale.learnt, scale.judged, scale.pairs, scale.articles)
    scores = runner.run_all(
        Job(str(run.checkpoint(tokens)), run.recipe.objective, tokens, *shared)
        for run, tokens in kept
    )
    judged = pretraining_runs.judge(
        {run.checkpoint(tokens): {} for run, tokens in kept}, [scale.labels], scale.seeds
    )
    rows = [
        {name: value for name, value in row.items() if name != "model"}
        | {"dev error": transfer["mean"], "dev errors": transfer["dev_errors"]}
        for row, transfer in zip(scores, judged, strict=True)
    ]
    return pretraining_runs.result(
        "growth",
        both,
        rows,
        f"{', '.join(pretraining_runs.names())}; UD English EWT, {scale.learnt:,} sentences, "
        f"{scale.judged:,} of dev and of test; wikitext-103 validation, {scale.articles} "
        f"articles; TREC-6, dev, {scale.labels} labels",
        curves={
            name: pretraining_runs.curve(histories[name], run.recipe) for name, run in both.items()
        },
        correlations=correlations(rows),
    )


def section(study: dict[str, Any]) -> str:
    """The section of RESULTS.md from what `growth` stored: a row a checkpoint."""
    first = study["rows"][0]
    scores = ("part of speech", "trees", "agreement, 0 attractors", "agreement, 1 attractor")
    rows = [
        [row["objective"], f"{row['tokens']:,}"]
        + [markdown.percent(row[name]) for name in scores]
        + [f"{row['loss']:.2f}", f"{row['dev error']:.1f}"]
        for row in study["rows"]
    ]
    head = ["objective", "tokens read", "parts of speech", "trees", "agreement"]
    return markdown.section(
        "## When does it come?",
        "Two models, saved on their way, before any decay of the learning rate. Parts of speech by "
        "a linear probe and trees by a distance probe, each in the layer that does best on "
        "validation sentences (accuracy and UUAS, percent, with 95 % intervals); agreement of verb "
        "and subject with nothing in between and with one noun of the other number (percent; "
        "guessing 50); loss in nats per target, which only compares models of one objective; and "
        "errors on TREC's dev split after fine-tuning (percent, a single run each). Word types "
        f"reach {100 * first['word types']:.1f} % of the parts of speech, neighbours in the "
        f"sentence {100 * first['linear order']:.1f} % of the trees (`python -m benchmarks "
        f"growth`; lesson 07b). {study['data']}. {study['machine']}.",
        markdown.table([*head, "with an attractor", "loss", "TREC"], rows),
    )
