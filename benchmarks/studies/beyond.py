"""Tasks beyond one text and its label: tags, answers in paragraphs, and pairs, on one table.

`python -m benchmarks tasks_beyond`: on each task a simple rule or counts of words, a Transformer of
our shape from scratch, our two checkpoints, and all-MiniLM-L6-v2, each with the task's own head and
trained whole. Nothing but the learning rate is chosen, by `python -m benchmarks beyond_rates` on
WikiANN's and STS-B's validation splits with few examples and one seed, for masked-small and MiniLM.
The other models of our shape take masked-small's, and other tasks the rate of the one that they
resemble. XQuAD has one split, so a fifth of its paragraphs is held out, with all their questions.

Published figures of larger models stand beside it as a scale. What MiniLM has read is like some of
the tasks: its card lists SQuAD 2.0, SNLI, MultiNLI and pairs of paraphrases.

Finished runs are kept in `runs/tasks_beyond/`, and carried in `benchmarks/finished/`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets import Dataset
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score

from benchmarks import clocks, markdown, runner
from benchmarks.markdown import error_cell, source
from benchmarks.studies import released
from benchmarks.studies.grid_search import best, tried
from tlcourse import corpora, results, spans
from tlcourse.adaptation import (
    BiEncoder,
    Classifier,
    Recipe,
    Similarity,
    SpanReader,
    Tagger,
    TaskModel,
    adapt,
)
from tlcourse.metrics import Interval, bootstrap_interval
from tlcourse.transformer import Transformer

RULE, SCRATCH = "words alone", "from scratch"
CAUSAL, MASKED, MINILM = "causal-small", "masked-small", released.MODEL
WAYS = (RULE, SCRATCH, CAUSAL, MASKED, MINILM)
SEEDS = (0, 1, 2)
JUDGED = 2_000  # rows that are judged in a search of learning rates, at most
SEARCHED = 500  # examples that such a search trains on
LOWEST = {MASKED: 2.5e-4, MINILM: 5e-5}  # of three learning rates, each twice the one before
LIKE = {  # whose rate a task takes
    "wikiann": "wikiann",
    "wnut17": "wikiann",
    "xquad": "wikiann",
    "stsb": "stsb",
    "stsb_apart": "stsb",
    "mrpc": "stsb",
    "rte": "stsb",
}
HEAD_RATE = 3e-3  # of the head, as in the presets
MIN_STEPS = 100
PUBLISHED = {  # of larger models: a score × 100, and who reports it
    "wnut17": ("49.6", "pooled Flair embeddings (Akbik et al., 2019), as NLP-progress lists them"),
    "wikiann": ("85.2", "multilingual BERT, English, 20,000 sentences (Hu et al., 2020, XTREME)"),
    "xquad": ("83.5", "multilingual BERT, English, trained on all of SQuAD (Hu et al., 2020)"),
    "stsb": ("85.8", "BERT-base, Spearman's correlation on GLUE's test (Devlin et al., 2019)"),
    "stsb_apart": ("84.7", "SBERT-base, STS-B's test, no NLI (Reimers & Gurevych, 2019)"),
    "mrpc": ("88.9", "BERT-base, F1 on GLUE's test (Devlin et al., 2019)"),
    "rte": ("66.4", "BERT-base, accuracy on GLUE's test (Devlin et al., 2019)"),
}


class Given(NamedTuple):
    """What a run learns from and is judged on."""

    texts: list
    answers: list
    judged: list
    gold: list


@dataclass(frozen=True)
class Kind:
    """A task: its data, its model, its score, and how long it trains.

    `data` takes the number of examples, None for all, and whether a learning rate is searched;
    `start` a checkpoint and the answers; `score` what was predicted, and the gold answers, of which
    it returns the first score with its interval over the judged items, and all scores by name.
    """

    data: Callable[[int | None, bool], Given]
    start: Callable[..., TaskModel]
    rule: Callable[[Given], list]
    score: Callable[[list, list], tuple[Interval, dict[str, float]]]
    epochs: int
    judged: str  # what the first score is, and of which rows


# tags


def _tagged(name: str, examples: int | None, search: bool) -> Given:
    data = corpora.load(name)
    train = data["train"].shuffle(seed=0)
    train = train.select(range(min(examples or len(train), len(train))))
    judged = data["validation" if search else "test"]
    judged = judged.select(range(min(JUDGED, len(judged)))) if search else judged
    return Given(*(rows[column][:] for rows in (train, judged) for column in ("tokens", "tags")))


def _tagger(name: str, answers: list, seed: int) -> Tagger:
    return Tagger.from_checkpoint(name, sorted({tag for row in answers for tag in row}), seed=seed)


def _word_types(given: Given) -> list:
    """Each word's most frequent tag in training, O for words that were not seen."""
    counts: dict[str, Counter] = defaultdict(Counter)
    for words, tags in zip(given.texts, given.answers, strict=True):
        for word, tag in zip(words, tags, strict=True):
            counts[word][tag] += 1
    usual = {word: count.most_common(1)[0][0] for word, count in counts.items()}
    return [spans.to_bio([usual.get(word, "O") for word in words]) for words in given.judged]


def _entity_scores(found: list, gold: list) -> tuple[Interval, dict[str, float]]:
    score = spans.entity_score(gold, found)
    each = {"F1": score.f1, "precision": score.precision, "recall": score.recall}
    return score.interval(), each


# answers in paragraphs


def paragraphs(search: bool = False) -> tuple[Dataset, Dataset]:
    """XQuAD's questions to learn from and to be judged on; in a search, both out of the first."""
    train, judged = corpora.split_by(corpora.load("xquad")["validation"], "paragraph")
    return corpora.split_by(train, "paragraph") if search else (train, judged)


def _asked(examples: int | None, search: bool) -> Given:
    def of(rows: Dataset) -> tuple[list, list]:
        columns = [rows[name][:] for name in ("question", "paragraph", "answer", "start")]
        return list(zip(*columns[:2], strict=True)), list(zip(*columns[2:], strict=True))

    train, judged = paragraphs(search)
    train = train.shuffle(seed=0).select(range(min(examples or len(train), len(train))))
    return Given(*of(train), *of(judged))


def _best_sentence(given: Given) -> list:
    """The sentence of the paragraph with most of the question's words, rare ones counting more."""
    texts = [text for pair in (*given.texts, *given.judged) for text in pair]
    counting = TfidfVectorizer(sublinear_tf=True).fit(texts)
    found = []
    for question, paragraph in given.judged:
        sentences = paragraph.split(". ")
        alike = counting.transform(sentences) @ counting.transform([question]).T
        found.append(sentences[int(alike.toarray().argmax())])
    return found


def _answer_scores(found: list, gold: list) -> tuple[Interval, dict[str, float]]:
    pairs = [(text, [answer]) for text, (answer, _) in zip(found, gold, strict=True)]
    scores = {"F1": spans.answer_f1, "exact match": spans.exact_match}
    each = {name: [score(*pair) for pair in pairs] for name, score in scores.items()}
    return bootstrap_interval(each["F1"]), {name: float(np.mean(v)) for name, v in each.items()}


# pairs of texts: similarity, labels


def _pairs(
    name: str, answer: str, split: str, columns: tuple[str, str], examples: int | None, search: bool
) -> Given:
    data = corpora.load(name)
    train, judged = data["train"], data[split]
    if search and split == "test" and "validation" in data:
        judged = data["validation"]
    elif search:
        train, judged = corpora.split_by(train, columns[0])
    train = train.shuffle(seed=0)
    train = train.select(range(min(examples or len(train), len(train))))
    found = []
    for rows in (train, judged):
        found += [list(zip(*(rows[name][:] for name in columns), strict=True)), rows[answer][:]]
    return Given(*found)


def _cosines(pairs: list, given: Given) -> list:
    """Cosines of the TF-IDF vectors of both sides of pairs, with the frequencies of all texts."""
    counting = TfidfVectorizer(sublinear_tf=True)
    counting.fit([text for pair in (*given.texts, *given.judged) for text in pair])
    both = [counting.transform(side) for side in zip(*pairs, strict=True)]
    return np.asarray(both[0].multiply(both[1]).sum(axis=1)).ravel().tolist()


def _likeness(given: Given) -> list:
    return _cosines(given.judged, given)


def _correlations(found: list, gold: list) -> tuple[Interval, dict[str, float]]:
    pairs = np.array([found, gold])
    generator = np.random.default_rng(0)
    draws = (generator.integers(len(gold), size=len(gold)) for _ in range(1000))
    drawn = [spearmanr(*pairs[:, picks]).statistic for picks in draws]
    low, high = np.quantile(drawn, [0.025, 0.975])
    spearman = float(spearmanr(*pairs).statistic)
    pearson = float(np.corrcoef(pairs)[0, 1])
    interval = Interval(spearman, float(low), float(high))
    return interval, {"Spearman": spearman, "Pearson": pearson}


def _classifier(name: str, answers: list, seed: int) -> Classifier:
    return Classifier.from_checkpoint(name, sorted(set(answers)), seed=seed)


def _above_threshold(given: Given) -> list:
    """A label by the cosine of a pair's TF-IDF vectors, with the threshold best in training."""
    cosines, labels = np.array(_cosines(given.texts, given)), np.array(given.answers)
    names = sorted(set(given.answers))
    _, threshold, low, high = max(
        (float(np.mean(np.where(cosines < cut, low, high) == labels)), cut, low, high)
        for cut in np.quantile(cosines, np.linspace(0, 1, 101))
        for low, high in (names, names[::-1])
    )
    return np.where(np.array(_likeness(given)) < threshold, low, high).tolist()


def _label_scores(found: list, gold: list) -> tuple[Interval, dict[str, float]]:
    right = [float(label == true) for label, true in zip(found, gold, strict=True)]
    positive = min(gold)  # "entailment", "equivalent"
    f1 = float(f1_score(gold, found, pos_label=positive))
    return bootstrap_interval(right), {"accuracy": float(np.mean(right)), "F1": f1}


SENTENCES = ("sentence1", "sentence2")
RATED = partial(_pairs, "stsb", "score", "test", SENTENCES)
KINDS = {
    "wikiann": Kind(
        partial(_tagged, "wikiann"), _tagger, _word_types, _entity_scores, 2, "entity F1, test"
    ),
    "wnut17": Kind(
        partial(_tagged, "wnut17"), _tagger, _word_types, _entity_scores, 4, "entity F1, test"
    ),
    "xquad": Kind(
        _asked,
        lambda name, answers, seed: SpanReader.from_checkpoint(name, seed=seed),
        _best_sentence,
        _answer_scores,
        3,
        "answer F1, questions on a fifth of the paragraphs",
    ),
    "stsb": Kind(
        RATED,
        lambda name, answers, seed: Similarity.from_checkpoint(name, high=5.0, seed=seed),
        _likeness,
        _correlations,
        2,
        "Spearman's correlation × 100, test",
    ),
    "stsb_apart": Kind(
        RATED,
        lambda name, answers, seed: BiEncoder.from_checkpoint(name, high=5.0, seed=seed),
        _likeness,
        _correlations,
        2,
        "the same, each sentence read alone",
    ),
    "mrpc": Kind(
        partial(_pairs, "mrpc", "label", "test", SENTENCES),
        _classifier,
        _above_threshold,
        _label_scores,
        2,
        "accuracy, test",
    ),
    "rte": Kind(
        partial(_pairs, "rte", "label", "validation", ("premise", "hypothesis")),
        _classifier,
        _above_threshold,
        _label_scores,
        2,
        "accuracy, validation",
    ),
}
BUDGETS: dict[tuple[str, int | None], tuple[int, ...]] = {  # (task, examples, None for all): seeds
    ("wikiann", 500): SEEDS,
    **{(task, None): SEEDS for task in KINDS},
}


def ways_of(task: str) -> tuple[str, ...]:
    """Who learns a task; sentences that are read alone are compared with pairs for two models."""
    return (MASKED, MINILM) if task == "stsb_apart" else WAYS


@dataclass(frozen=True)
class Job(runner.Job):
    """One way to learn one task from so many examples."""

    study = "tasks_beyond"
    task: str
    examples: int | None
    way: str
    seed: int
    recipe: Recipe
    search: bool = False
    model: str = MASKED

    def work(self) -> dict:
        """Learns and is judged."""
        kind = KINDS[self.task]
        given = kind.data(self.examples, self.search)
        clock = runner.processor_clock()
        found, seconds = clocks.timed(lambda: self.predicted(kind, given), clock)
        interval, scores = kind.score(found, given.gold)
        return {
            "scores": {name: 100 * score for name, score in scores.items()},
            "interval": [100 * interval.low, 100 * interval.high],
            "learnt_from": len(given.texts),
            "of": len(given.gold),
            "seconds": seconds,
        }

    def predicted(self, kind: Kind, given: Given) -> list:
        """The answers to what is judged."""
        if self.way == RULE:
            return kind.rule(given)
        start = kind.start(self.model, given.answers, seed=self.seed)
        if self.way == SCRATCH:
            with torch.random.fork_rng():
                torch.manual_seed(self.seed)
                start.body.load_state_dict(Transformer(start.body.config).state_dict())
        options: dict[str, Any] = {"recipe": self.recipe, "seed": self.seed}
        return adapt(start, given.texts, given.answers, **options).predict(given.judged)

    def told(self, result: dict) -> str:
        """Its first score."""
        name, score = next(iter(result["scores"].items()))
        return f"{name} {score:.1f} in {result['seconds']:.0f} s"


def recipe(task: str, rate: float) -> Recipe:
    """How a task trains."""
    return Recipe(
        KINDS[task].epochs, rate, min_steps=MIN_STEPS, head_learning_rate=max(HEAD_RATE, rate)
    )


def points(searched: tuple[str, str]) -> list[dict]:
    """What was tried of a model on a task."""
    task, model = searched

    def point(rate: float) -> dict:
        job = Job(task, SEARCHED, model, 0, recipe(task, rate), search=True, model=model)
        result = job.run()
        score = next(iter(result["scores"].values()))
        entry = {"task": task, "model": model, "rate": rate, "error": 100 - score}
        return entry | {"made_on": result["made_on"]}

    return tried(point, [LOWEST[model] * 2**step for step in range(3)])


def search() -> dict:
    """One row a task, model and learning rate; the best of each."""
    searched = [(task, model) for task in sorted(set(LIKE.values())) for model in LOWEST]
    grids = runner.in_parallel(points, searched)
    rows = [row for grid in grids for row in grid]
    choices: dict[str, dict[str, float]] = defaultdict(dict)
    for (task, model), grid in zip(searched, grids, strict=True):
        choices[task][model] = best(grid)["rate"]
    return {
        "job": "beyond_rates",
        **runner.provenance(
            "WikiANN and STS-B, validation",
            runs=rows,
            note=runner.pooled(),
        ),
        "rows": [{key: row[key] for key in row if key != "made_on"} for row in rows],
        "choices": choices,
    }


def jobs(choices: dict[str, dict[str, float]]) -> list[Job]:
    """The runs, those of one seed after those of the seed before."""
    found = []
    for seed in SEEDS:
        for way in reversed(WAYS):
            model = way if way in (CAUSAL, MINILM) else MASKED
            found += [
                Job(
                    task,
                    examples,
                    way,
                    seed,
                    recipe(task, choices[LIKE[task]][MINILM if model == MINILM else MASKED]),
                    model=model,
                )
                for (task, examples), seeds in BUDGETS.items()
                if seed in seeds and way in ways_of(task) and (way != RULE or seed == SEEDS[0])
            ]
    return found


def measure() -> dict:
    """One row a task, number of examples and way, over its seeds.

    Raises FileNotFoundError where the results of `beyond_rates` are not stored.
    """
    runs = runner.run_all(jobs(results.stored("beyond_rates")["choices"]))
    rows = []
    for task, examples in BUDGETS:
        for way in ways_of(task):
            mine = [
                run
                for run in runs
                if (run["task"], run["examples"], run["way"]) == (task, examples, way)
            ]
            rows.append(_row(task, examples, way, mine))
    return {
        "job": "tasks_beyond",
        **runner.provenance(
            "WikiANN (English), WNUT-17 and STS-B, test; XQuAD (English), a fifth of its "
            "paragraphs",
            runs=runs,
            note=runner.pooled(),
        ),
        "judged": {task: kind.judged for task, kind in KINDS.items()},
        "published": PUBLISHED,
        "rows": rows,
    }


def _row(task: str, examples: int | None, way: str, mine: list[dict]) -> dict:
    """One way to learn a task; the interval is over seeds, of a single run over judged items."""
    scores = [next(iter(run["scores"].values())) for run in mine]
    row = {"task": task, "examples": examples, "way": way, "seeds": [run["seed"] for run in mine]}
    row |= {"learnt_from": mine[0]["learnt_from"], "of": mine[0]["of"]}
    if len(scores) > 1:
        row |= runner.over_seeds(scores)
        row["scores"] = row.pop("errors")
    else:
        row |= {"scores": scores, "mean": scores[0], "interval": mine[0]["interval"]}
    row["each"] = {
        name: sum(run["scores"][name] for run in mine) / len(mine) for name in mine[0]["scores"]
    }
    return row | {"seconds": sum(run["seconds"] for run in mine) / len(mine)}


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row a way, a column a task, and published figures below."""
    cells = {(row["task"], row["examples"], row["way"]): row for row in study["rows"]}
    columns = list(dict.fromkeys((task, examples) for task, examples, _ in cells))
    of = {(task, examples): row["learnt_from"] for (task, examples, _), row in cells.items()}

    def told(tell: Callable[[dict], str]) -> list[list[str]]:
        return [
            [way, *(tell(row) if (row := cells.get((*each, way))) else "–" for each in columns)]
            for way in dict.fromkeys(way for *_, way in cells)
        ]

    rows, seconds = told(error_cell), told(lambda row: f"{row['seconds']:.0f}")
    judged = "; ".join(f"{task}: {what}" for task, what in study["judged"].items())
    published = [[task, figure, who] for task, (figure, who) in study["published"].items()]
    head = ["", *(f"{task}, {of[task, examples]:,} examples" for task, examples in columns)]
    return markdown.section(
        "## Tasks beyond classification",
        f"Scores × 100, the higher the better ({judged}). Mean with 95 % interval, over seeds, or "
        f"over the judged items where there is a single run. {source(study, 'lesson 09')}",
        markdown.table(head, rows),
        "Seconds of processor time to train and to answer:",
        markdown.table(head, seconds),
        "Published figures of larger models, as a scale:",
        markdown.table(["task", "score", "who"], published, left=(0, 2)),
    )


STUDIES = {
    "beyond_rates": runner.Measurement(search),
    "tasks_beyond": runner.Measurement(measure, section),
}
