"""What probes find in models, layer by layer; three studies ask the same tasks.

`probing`: tasks about words, pairs of words and sentences, from UD English EWT, the course's own
treebank (constituents, roles and antecedents, which no free treebank marks), TREC and WNUT-17. A
linear probe reads each layer of causal-small, of masked-small and of random encoders of their
shape; beside it stand the most frequent label, the most frequent label of each word type, a control
task, shuffled labels and the length of the online code. Distance and depth probes recover trees,
beside linear order. Test sentences are resampled for the intervals. The random encoder is drawn
three times. A probe needs one seed: it starts at zero and minimises a convex loss.

`probing_pairs`: two probes judged on the same test items, with an interval of their difference over
sentences: a layer against the embeddings, and reading both sides against reading one. All tasks use
LAYER, so that nothing is chosen on the test sentences.

`probing_released`: all-MiniLM-L6-v2 beside random weights of its shape, in every layer; and in
pairs, against causal-small and against its own layer 0. Its states have 384 numbers, those of our
models 256; its layer 0 is the normalised sum of word and position, ours the word alone.

Hidden states are kept in `runs/vectors/`, finished probes in `runs/probing/` and
`runs/probing_pairs/`.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any

import numpy as np
from datasets import Dataset

from benchmarks import markdown, runner
from tlcourse import checkpoints, corpora, probing, sizes
from tlcourse.corpora import conllu, treebank
from tlcourse.probing import tasks

MODELS = CAUSAL, MASKED = "causal-small", "masked-small"
RELEASED = "all-MiniLM-L6-v2"
RANDOM = "random"  # weights that have read nothing, of the shape of CAUSAL; "random NAME": of NAME
DRAWS = (0, 1, 2)  # seeds of RANDOM's weights
MOST = {"tiny": 40, "small": 2_000, "full": 100_000}  # training sentences of a task, at most
EWT, OWN = "ud-english-ewt", "treebank"  # the latter: sentences of the course's own grammar
TREES = "trees"  # asked beside TASKS, of EWT
LAYER = 4  # of six: that of all pairs
PAIRS = {  # the gain of the first model and layer over the second
    "layers": ((CAUSAL, LAYER), (CAUSAL, 0)),
    "both sides": ((MASKED, LAYER), (CAUSAL, LAYER)),
}
RELEASED_TASKS = ("part of speech", "relation")
RELEASED_PAIRS = {
    "layers": ((RELEASED, LAYER), (RELEASED, 0)),
    "released": ((RELEASED, LAYER), (CAUSAL, LAYER)),
}

Rows = Sequence[Any]  # sentences, or mappings with their columns
Make = Callable[[Rows], probing.Task]


def _phrases(level: int) -> Make:
    """The phrase around a word (level 0), or the phrase around that one (level 1)."""
    name = ("constituent", "constituent above")[level]
    return lambda rows: probing.word_task(
        name, rows, lambda sentence: [pair[level] for pair in treebank.phrases(sentence)]
    )


def _content(rows: Rows) -> probing.Task:
    """Which of the most frequent longer words of the training sentences, up to 50, is in it."""
    most = MOST[sizes.current().name]
    known = tasks.content(sentences(EWT, most)[0], most=min(50, 2 + most // 40))
    return tasks.content(rows, words=set(known.labels))


def _roles(rows: Rows) -> probing.Task:
    """For a noun and a verb: whether the noun is the verb's agent, its patient, or neither."""

    def label(sentence: conllu.Sentence) -> Iterable[tuple[int, int, str]]:
        marked = {(role.word, role.verb): role.role for role in treebank.roles(sentence)}
        words = {word for word, _ in marked}
        for verb in sorted({verb for _, verb in marked}):
            for word in sorted(words):
                yield word - 1, verb - 1, marked.get((word, verb), "neither")

    return probing.pair_task("role", rows, label)


def _antecedents(rows: Rows) -> probing.Task:
    """For a pronoun and an earlier noun: whether the pronoun refers to it."""

    def label(sentence: conllu.Sentence) -> Iterable[tuple[int, int, str]]:
        for pronoun, noun in treebank.antecedents(sentence).items():
            for word in range(1, pronoun):
                if sentence.upos[word - 1] in ("NOUN", "PROPN"):
                    yield pronoun - 1, word - 1, "yes" if word == noun else "no"

    return probing.pair_task("antecedent", rows, label)


def _entities(rows: Rows) -> probing.Task:
    return probing.word_task("entity", rows, lambda row: [tag[2:] or "no" for tag in row["tags"]])


TASKS: dict[str, tuple[str, str, Make]] = {  # corpus, kind of property, labels
    "length": (EWT, "surface", tasks.length),
    "content": (EWT, "surface", _content),
    "position": (EWT, "surface", tasks.position),
    "seen before": (EWT, "surface", tasks.seen_before),
    "part of speech": (EWT, "syntax", lambda rows: tasks.column(rows, "upos")),
    "fine part of speech": (EWT, "syntax", lambda rows: tasks.column(rows, "xpos")),
    "number": (EWT, "syntax", tasks.number),
    "tense": (EWT, "syntax", lambda rows: tasks.key(rows, "Tense")),
    "head": (EWT, "syntax", tasks.head),
    "relation": (EWT, "syntax", tasks.relation),
    "depth": (EWT, "syntax", tasks.depth),
    "distance": (EWT, "syntax", tasks.distance),
    "chunk": (OWN, "syntax", lambda rows: probing.word_task("chunk", rows, treebank.chunks)),
    "constituent": (OWN, "syntax", _phrases(0)),
    "constituent above": (OWN, "syntax", _phrases(1)),
    "role": (OWN, "meaning", _roles),
    "antecedent": (OWN, "meaning", _antecedents),
    "entity": ("wnut17", "meaning", _entities),
    "question type": (
        "trec",
        "meaning",
        lambda rows: probing.sentence_task("question type", rows, lambda row: row["label"]),
    ),
}


def drawn(rows: Dataset, most: int) -> Dataset:
    """At most `most` rows of a split, drawn at random and the same each time."""
    return rows.shuffle(seed=0).select(range(min(most, len(rows))))


def gold(rows: Rows) -> tuple[list, list[list[bool]]]:
    """The heads of each sentence, and which of its words count: all but punctuation."""
    keep = [[tag != "PUNCT" for tag in row.upos] for row in rows]
    return [row.heads for row in rows], keep


@functools.cache
def sentences(corpus: str, most: int) -> tuple[Rows, Rows]:
    """The training and the test sentences of the probes of a corpus, at most `most` of each."""
    data = treebank.splits(most, 0, most) if corpus == OWN else corpora.load(corpus)
    train, test = (
        [_sentence(corpus, row) for row in drawn(data[split], most)] for split in ("train", "test")
    )
    return train, test


def _sentence(corpus: str, row: dict) -> Any:
    if corpus == "wnut17":
        return {"forms": row["tokens"], "tags": row["tags"]}
    if corpus == "trec":
        return {"forms": row["text"].split(), "label": row["label"]}
    return conllu.Sentence.of(row)


def source(model: str) -> str:
    """The checkpoint of a model; of "random" and "random NAME", the one whose shape they have."""
    return model.removeprefix(RANDOM).strip() or MODELS[0]


@functools.lru_cache(maxsize=5)  # the models of a corpus; their layers stay on disk
def vectors(
    corpus: str, most: int, model: str, draw: int = 0
) -> tuple[probing.Features, probing.Features]:
    """The hidden states of all words of `sentences`, in every layer; `draw` seeds RANDOM's."""
    body, tokenizer = checkpoints.load(source(model))
    if model != source(model):
        body = probing.random_encoder(body, seed=draw)
    train, test = (
        probing.extract(
            body,
            tokenizer,
            [
                (row.text, row.spans) if isinstance(row, conllu.Sentence) else row["forms"]
                for row in rows
            ],
            folder=runner.FOLDER / "vectors",
        )
        for rows in sentences(corpus, most)
    )
    return train, test


def examples(
    task: str, most: int, model: str, layer: int, draw: int = 0
) -> tuple[probing.Examples, probing.Examples]:
    """The training and the test examples of a task: a model's states in one layer, and labels."""
    corpus, _, make = TASKS[task]
    states = vectors(corpus, most, model, draw)
    train, test = (
        probing.examples(features, make(rows), layer=layer)
        for features, rows in zip(states, sentences(corpus, most), strict=True)
    )
    return train, test


@dataclass(frozen=True)
class Job(runner.Job):
    """One task of TASKS, or TREES, asked of one layer of a model."""

    study = "probing"
    task: str
    model: str
    layer: int
    most: int  # training and test sentences, at most
    draw: int = 0  # the seed of RANDOM's weights

    def weights(self) -> str:
        """The digest of the model, or of the one whose shape a random encoder has."""
        return runner.digest(source(self.model))

    def told(self, result: dict) -> str:
        """Its accuracy, or UUAS."""
        return f"{_score(result):.3f}"

    def work(self) -> dict:
        """Fits the probe on training sentences; returns its scores on test sentences."""
        if self.task == TREES:
            return self._trees()
        train, test = examples(self.task, self.most, self.model, self.layer, self.draw)
        report = asdict(probing.report(train, test))
        items = {"items": [len(train.labels), len(test.labels)], "labels": len(set(train.labels))}
        return items | {
            key: list(value) if isinstance(value, tuple) else value for key, value in report.items()
        }

    def _trees(self) -> dict:
        states = vectors(EWT, self.most, self.model, self.draw)
        train, test = (features.sentences(layer=self.layer) for features in states)
        (known, _), (heads, keep) = (gold(rows) for rows in sentences(EWT, self.most))
        distances = probing.distance_probe(train, known).judge(test, heads, keep=keep)
        depths = probing.depth_probe(train, known).judge(test, heads, keep=keep)
        order = [probing.linear_distances(len(row)) for row in heads]
        return {
            "uuas": list(distances.interval()),
            "distance_spearman": distances.spearman,
            "root": depths.root_accuracy,
            "depth_spearman": depths.spearman,
            "linear_order": probing.judge_distances(order, heads, keep=keep).uuas,
        }


@dataclass(frozen=True)
class Pair(runner.Job):
    """One task, asked of two models, each in one layer."""

    study = "probing_pairs"
    task: str
    pair: str
    one: tuple[str, int]
    other: tuple[str, int]
    most: int

    def weights(self) -> str:
        """The digests of both models."""
        return runner.digest(self.one[0]) + runner.digest(self.other[0])

    def told(self, result: dict) -> str:
        """The gain in points."""
        return markdown.points(result["gain"])

    def work(self) -> dict:
        """Accuracies of both probes, and their difference, on sentences that both models read.

        Raises ValueError if the models have other items of these sentences.
        """
        judged = [self._judged(*probed) for probed in (self.one, self.other)]
        both = np.intersect1d(*(places for _, places in judged))
        (one, places), (other, same) = (
            (scores.among(np.isin(where, both)), where[np.isin(where, both)])
            for scores, where in judged
        )
        if not np.array_equal(places, same):
            raise ValueError(f"expected the same items from both models of {self.task}")
        return {"right": [one.accuracy, other.accuracy], "gain": list(one.above(other, places))}

    def _judged(self, model: str, layer: int) -> tuple[probing.Judgement, np.ndarray]:
        """Whether the probe is right about each test item, and the sentence of each."""
        train, test = examples(self.task, self.most, model, layer)
        probe = probing.linear_probe(train.features, train.labels)
        return probe.judge(test.features, test.labels), test.sentences


def probed(names: Iterable[str], models: Sequence[tuple[str, int]]) -> tuple[list[dict], str]:
    """A row a task, model (with its draw) and layer; and what data they rest on.

    Hidden states are extracted first, so that the processes of the pool find them on disk.
    """
    most, data = MOST[sizes.current().name], []
    layers = len(checkpoints.load(source(models[0][0]))[0].blocks) + 1
    for corpus in dict.fromkeys(TASKS[name][0] if name in TASKS else EWT for name in names):
        for model in models:
            vectors(corpus, most, *model)
        train, test = sentences(corpus, most)
        data.append(f"{corpus}, {len(train)} and {len(test)} sentences")
    jobs = [
        Job(name, model, layer, most, draw)
        for name in names
        for model, draw in models
        for layer in range(layers)
    ]
    return runner.run_all(jobs), "; ".join(data)


def compared(names: Iterable[str], pairs: Mapping[str, tuple]) -> list[dict]:
    """A row a task and pair: both accuracies, and the gain with its interval."""
    most = MOST[sizes.current().name]
    rows = runner.run_all(
        Pair(name, pair, *both, most) for name in names for pair, both in pairs.items()
    )
    return [{key: row[key] for key in ("task", "pair", "right", "gain")} for row in rows]


def measure() -> dict:
    """`probing`: a row a task, model, draw of its weights and layer."""
    models = [(model, 0) for model in MODELS] + [(RANDOM, draw) for draw in DRAWS]
    rows, data = probed((*TASKS, TREES), models)
    return {
        "job": "probing",
        **runner.provenance(data, runs=rows, note=runner.pooled()),
        "kinds": {name: [corpus, kind] for name, (corpus, kind, _) in TASKS.items()},
        "rows": rows,
    }


def measure_pairs() -> dict:
    """`probing_pairs`: a row a task and pair."""
    return {
        "job": "probing_pairs",
        **runner.provenance("as in probing.json", note=runner.pooled()),
        "kinds": {name: kind for name, (_, kind, _) in TASKS.items()},
        "layer": LAYER,
        "rows": compared(TASKS, PAIRS),
    }


def measure_released() -> dict:
    """`probing_released`: a row a task, model and layer; "pairs": one a task and pair."""
    rows, data = probed((TREES, *RELEASED_TASKS), [(RELEASED, 0), (f"{RANDOM} {RELEASED}", 0)])
    return {
        "job": "probing_released",
        **runner.provenance(data, runs=rows, note=runner.pooled()),
        "kinds": {name: list(TASKS[name][:2]) for name in RELEASED_TASKS},
        "layer": LAYER,
        "rows": rows,
        "pairs": compared(RELEASED_TASKS, RELEASED_PAIRS),
    }


def _score(row: Mapping) -> float:
    """The accuracy of a row, or its UUAS."""
    return (row["uuas"] if "uuas" in row else row["accuracy"])[0]


def section(study: dict[str, Any]) -> str:
    """The section of RESULTS.md from what `probing` stored: a row a task, the best layer of each.

    Random encoders, drawn several times, count with the mean of their best layers.
    """
    kinds, best = study["kinds"], {}  # the latter: by task and model, the row of the best layer
    for row in study["rows"]:
        models = best.setdefault(row["task"], {})
        name = row["model"] + (f" {row['draw']}" if row["model"] == RANDOM else "")
        models[name] = max(models.get(name, row), row, key=_score)
    trained = sorted({row["model"] for row in study["rows"]} - {RANDOM})
    rows, trees = [], []
    for task, models in best.items():
        row = models[trained[0]]
        random = mean(_score(row) for name, row in models.items() if name.startswith(RANDOM))
        if task in kinds:
            selectivity = "" if row["selectivity"] is None else f"{100 * row['selectivity']:+.1f}"
            shares = [
                f"{100 * share:.1f}" for share in (row["majority"], row["word_types"], random)
            ]
            scores = [f"{100 * _score(models[m]):.1f} ({models[m]['layer']})" for m in trained]
            last = [markdown.points(row["above_word_types"]), selectivity]
            last.append(f"{row['compression']:.2f}")
            rows.append([task, kinds[task][0], *shares, *scores, *last])
            continue
        uuas = [
            f"{name} {markdown.percent(models[name]['uuas'])[:-1]}, layer {models[name]['layer']})"
            for name in trained
        ]
        trees.append(
            "Trees, by a distance probe, in undirected attachments that are right (UUAS, percent): "
            f"{', '.join(uuas)}; random {100 * random:.1f}; neighbours in the sentence "
            f"{100 * row['linear_order']:.1f}."
        )
    head = ["task", "data", "most frequent", "word types", "random", *trained]
    return markdown.section(
        "## What is in a representation?",
        "Linear probes on frozen hidden states, accuracy in percent, of each model the layer that "
        "does best on the judged sentences (the number in brackets; 0 is the embedding). *Word "
        "types* answers the most frequent label of each word; *random* has the same shape and has "
        "read nothing. The last columns are of the first model: points above word types with a "
        "95 % interval over sentences; selectivity, which is accuracy minus that of a control "
        "task; and how many times shorter the online code is than a uniform one "
        f"(`python -m benchmarks probing`; lesson 07). {study['data']}. {study['machine']}.",
        markdown.table([*head, "above word types", "selectivity", "code"], rows, left=(0, 1)),
        *trees,
    )


def pairs_section(study: dict[str, Any]) -> str:
    """The section of RESULTS.md from what `probing_pairs` stored: a row a task."""
    gains: dict[str, dict[str, str]] = {}
    for row in study["rows"]:
        gains.setdefault(row["task"], {})[row["pair"]] = markdown.points(row["gain"])
    head = ["task", "layer against embeddings, causal", "masked against causal, same layer"]
    rows = [[task, pairs["layers"], pairs["both sides"]] for task, pairs in gains.items()]
    return markdown.section(
        "### In pairs",
        "Two probes on the same test items: by how many points the first is right more often, with "
        f"a 95 % interval over sentences. Layer {study['layer']} for every task (`python -m "
        "benchmarks probing_pairs`; lesson 07b).",
        markdown.table(head, rows),
    )


def released_section(study: dict[str, Any]) -> str:
    """The section of RESULTS.md from what `probing_released` stored: a row a score and model."""
    scores: dict[tuple[str, str], list[str]] = {}  # by score and model, those of the layers
    for row in study["rows"]:
        shares = {row["task"]: _score(row)}
        if "uuas" in row:
            trees = {"UUAS": "uuas", "distances": "distance_spearman", "roots": "root"}
            shares = {f"{row['task']}, {name}": row[key] for name, key in trees.items()}
            shares[f"{row['task']}, UUAS"] = _score(row)
        for name, share in shares.items():
            scores.setdefault((name, row["model"]), []).append(f"{100 * share:.1f}")
    names = dict.fromkeys(name for name, _ in scores)
    rows = [[*key, *scores[key]] for name in names for key in scores if key[0] == name]
    layers = sorted({row["layer"] for row in study["rows"]})
    other = {"layers": "its layer 0", "released": CAUSAL}
    gains = [
        f"- {row['task']}, released model minus {other[row['pair']]}: "
        + markdown.points(row["gain"])
        for row in study["pairs"]
    ]
    return markdown.section(
        "### A released model",
        "The same probes on the same sentences, asked of a released model and of random weights of "
        "its shape: accuracy in percent, of trees UUAS, Spearman's correlation of distances (times "
        "100) and the share of roots found. Its states have 384 numbers, those of our models 256, "
        "and its layer 0 knows the position of a word (`python -m benchmarks probing_released`; "
        f"lesson 07b). {study['data']}. {study['machine']}.",
        markdown.table(["task", "model", *map(str, layers)], rows, left=(0, 1)),
        f"Differences in points on the same items, layer {study['layer']}:",
        "\n".join(gains),
    )


STUDIES = {  # beside `probing`, which is this module
    "probing_pairs": runner.Measurement(measure_pairs, pairs_section),
    "probing_released": runner.Measurement(measure_released, released_section),
}
