"""What probes find in our models, layer by layer, and what they find without them.

Tasks about words, pairs of words and sentences, from UD English EWT, a treebank of the course's own
(what no free treebank marks: constituents, roles, antecedents), TREC and WNUT-17. Each layer of the
causal model, of the masked one and of a model of the same shape that has read nothing is asked by a
linear probe, beside the most frequent label, the most frequent label of each word type, a control
task, shuffled labels and the length of the online code. Trees are asked for, too: distances and
depths, beside linear order. Test sentences are drawn for the intervals.

The model that has read nothing is drawn three times, a row each. The probe has one seed: it starts
at zero and what it minimises is convex, so a seed would only change the order of its batches.

Vectors are kept in `runs/vectors/`, finished probes in `runs/probing/`.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import runner
from tlcourse import checkpoints, corpora, probing, sizes
from tlcourse.corpora import conllu, treebank
from tlcourse.probing import tasks

MODELS = ("causal-small", "masked-small")
RANDOM = "random"  # the shape of the first of MODELS, with weights that have read nothing
DRAWS = (0, 1, 2)  # seeds of RANDOM's weights
MOST = {"tiny": 40, "small": 2_000, "full": 100_000}  # training sentences of a task, at most
OWN = "treebank"  # sentences of the course's own grammar

Rows = Sequence[Any]  # sentences, or mappings with their columns
Made = Callable[[Rows], probing.Task]


def _phrases(level: int) -> Made:
    """The phrase a word is in, or the one around that."""
    name = ("constituent", "constituent above")[level]
    return lambda rows: probing.word_task(
        name, rows, lambda each: [pair[level] for pair in treebank.phrases(each)]
    )


def _chunks(rows: Rows) -> probing.Task:
    """Where a chunk begins and which it is, by the grammar."""
    return probing.word_task("chunk", rows, treebank.chunks)


def _content(rows: Rows) -> probing.Task:
    """Which of the most frequent longer words of the training sentences, up to 50, is in it."""
    most = MOST[sizes.current().name]
    known = tasks.content(sentences("ud-english-ewt", most)[0], most=min(50, 2 + most // 40))
    return tasks.content(rows, words=set(known.labels))


def _roles(rows: Rows) -> probing.Task:
    """For a noun and a verb: whether the noun is the verb's agent, its patient, or neither."""

    def label(sentence: conllu.Sentence) -> Iterable[tuple[int, int, str]]:
        marked = {(each.word, each.verb): each.role for each in treebank.roles(sentence)}
        words = {word for word, _ in marked}
        for verb in sorted({verb for _, verb in marked}):
            for word in sorted(words):
                yield word - 1, verb - 1, marked.get((word, verb), "neither")

    return probing.pair_task("role", rows, label)


def _antecedents(rows: Rows) -> probing.Task:
    """For a pronoun and an earlier noun: whether the pronoun means it."""

    def label(sentence: conllu.Sentence) -> Iterable[tuple[int, int, str]]:
        for pronoun, noun in treebank.antecedents(sentence).items():
            for word in range(1, pronoun):
                if sentence.upos[word - 1] in ("NOUN", "PROPN"):
                    yield pronoun - 1, word - 1, "yes" if word == noun else "no"

    return probing.pair_task("antecedent", rows, label)


def _entities(rows: Rows) -> probing.Task:
    return probing.word_task("entity", rows, lambda each: [tag[2:] or "no" for tag in each["tags"]])


def _questions(rows: Rows) -> probing.Task:
    return probing.sentence_task("question type", rows, lambda each: each["label"])


TASKS: dict[str, tuple[str, str, Made]] = {  # the corpus, what kind of thing is asked, and how
    "length": ("ud-english-ewt", "surface", tasks.length),
    "content": ("ud-english-ewt", "surface", _content),
    "position": ("ud-english-ewt", "surface", tasks.position),
    "seen before": ("ud-english-ewt", "surface", tasks.seen_before),
    "part of speech": ("ud-english-ewt", "syntax", lambda rows: tasks.column(rows, "upos")),
    "fine part of speech": ("ud-english-ewt", "syntax", lambda rows: tasks.column(rows, "xpos")),
    "number": ("ud-english-ewt", "syntax", tasks.number),
    "tense": ("ud-english-ewt", "syntax", lambda rows: tasks.key(rows, "Tense")),
    "head": ("ud-english-ewt", "syntax", tasks.head),
    "relation": ("ud-english-ewt", "syntax", tasks.relation),
    "depth": ("ud-english-ewt", "syntax", tasks.depth),
    "distance": ("ud-english-ewt", "syntax", tasks.distance),
    "chunk": (OWN, "syntax", _chunks),
    "constituent": (OWN, "syntax", _phrases(0)),
    "constituent above": (OWN, "syntax", _phrases(1)),
    "role": (OWN, "meaning", _roles),
    "antecedent": (OWN, "meaning", _antecedents),
    "entity": ("wnut17", "meaning", _entities),
    "question type": ("trec", "meaning", _questions),
}
TREES = "trees"


@functools.cache
def sentences(corpus: str, most: int) -> tuple[Rows, Rows]:
    """What probes of a corpus learn from, and what they are judged on: at most so many of each."""
    data = treebank.splits(most, 0, most) if corpus == OWN else corpora.load(corpus)
    parts = []
    for split in ("train", "test"):
        rows = data[split].shuffle(seed=0)
        rows = rows.select(range(min(most, len(rows))))
        parts.append([_sentence(corpus, row) for row in rows])
    return parts[0], parts[1]


def _sentence(corpus: str, row: dict) -> Any:
    if corpus == "wnut17":
        return {"forms": row["tokens"], "tags": row["tags"]}
    if corpus == "trec":
        return {"forms": row["text"].split(), "label": row["label"]}
    return conllu.Sentence.of(row)


def source(model: str) -> str:
    """The checkpoint behind a reader: "random" and "random NAME" have only its shape."""
    return model.removeprefix(RANDOM).strip() or MODELS[0]


def readers() -> list[tuple[str, int]]:
    """The models, each with the seed of its weights, which is 0 for those that have read."""
    return [*((model, 0) for model in MODELS), *((RANDOM, draw) for draw in DRAWS)]


@functools.lru_cache(maxsize=5)  # the readers of a corpus; their layers stay on disk
def vectors(
    corpus: str, most: int, reader: tuple[str, int]
) -> tuple[probing.Features, probing.Features]:
    """The hidden states of all words of `sentences`, in every layer."""
    model, draw = reader
    body, tokenizer = checkpoints.load(source(model))
    if model != source(model):
        body = probing.random_encoder(body, seed=draw)
    found = [
        probing.extract(
            body,
            tokenizer,
            [
                (each.text, each.spans) if isinstance(each, conllu.Sentence) else each["forms"]
                for each in part
            ],
            folder=runner.FOLDER / "vectors",
        )
        for part in sentences(corpus, most)
    ]
    return found[0], found[1]


@dataclass(frozen=True)
class Job(runner.Job):
    """One task (or TREES) asked of one layer of a model."""

    study = "probing"
    task: str
    model: str
    layer: int
    most: int  # sentences to learn from, and to judge on, at most
    draw: int = 0  # the seed of the weights of RANDOM

    def weights(self) -> str:
        """Those of the model whose shape it has, where it has read nothing."""
        return runner.digest(source(self.model))

    def told(self, result: dict) -> str:
        """What is printed of it."""
        found = result.get("accuracy", result.get("uuas"))
        return f"{found[0]:.3f}"

    def work(self) -> dict:
        """Fits and judges."""
        if self.task == TREES:
            return _trees(self)
        corpus, _, made = TASKS[self.task]
        read = vectors(corpus, self.most, (self.model, self.draw))
        train, test = (
            probing.examples(features, made(rows), layer=self.layer)
            for features, rows in zip(read, sentences(corpus, self.most), strict=True)
        )
        found = probing.report(train, test)
        return {
            "items": [len(train.labels), len(test.labels)],
            "labels": len(set(train.labels)),
        } | {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(found).items()
        }


def _trees(job: Job) -> dict:
    """Distances and depths of words in EWT's trees; punctuation does not count."""
    parts = []
    read = vectors("ud-english-ewt", job.most, (job.model, job.draw))
    for features, rows in zip(read, sentences("ud-english-ewt", job.most), strict=True):
        heads = [row.heads for row in rows]
        keep = [[tag != "PUNCT" for tag in row.upos] for row in rows]
        parts.append((features.sentences(layer=job.layer), heads, keep))
    (train, gold, _), (test, wanted, keep) = parts
    distance, depth = probing.distance_probe(train, gold), probing.depth_probe(train, gold)
    tree, root = distance.judge(test, wanted, keep=keep), depth.judge(test, wanted, keep=keep)
    order = probing.judge_distances(
        [probing.linear_distances(len(heads)) for heads in wanted], wanted, keep=keep
    )
    return {
        "uuas": list(tree.interval()),
        "distance_spearman": tree.spearman,
        "root": root.root_accuracy,
        "depth_spearman": root.spearman,
        "linear_order": order.uuas,
    }


def measure() -> dict:
    """A row a task, model, draw of its weights and layer."""
    most = MOST[sizes.current().name]
    layers = len(checkpoints.load(MODELS[0])[0].blocks) + 1
    asked = [
        Job(task, model, layer, most, draw)
        for task in (*TASKS, TREES)
        for model, draw in readers()
        for layer in range(layers)
    ]
    told = []
    for corpus in dict.fromkeys(each[0] for each in TASKS.values()):
        for reader in readers():
            vectors(corpus, most, reader)  # once, before all of them want it
        train, test = sentences(corpus, most)
        told.append(f"{corpus}, {len(train)} and {len(test)} sentences")
    return {
        "job": "probing",
        **runner.provenance("; ".join(told), note=runner.pooled()),
        "kinds": {name: [corpus, kind] for name, (corpus, kind, _) in TASKS.items()},
        "rows": runner.run_all(asked),
    }
