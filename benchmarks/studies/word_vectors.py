"""How well do vectors of words agree with people, by method and by amount of text?

Each method of `tlcourse.words` learns vectors of one width from one text, WikiText-2 or ten times
as much of `wikipedia-standin`, and gensim's implementations of the same methods learn from the same
words with the same settings. Beside them stand vectors that have read more: GloVe's released ones,
and those of `causal-small`: layer by layer, the mean of a word's states in several passages
(Bommasani et al., 2020). Layer 0 is the embedding matrix.

What is judged is Spearman's rank correlation of cosines with people's scores, on the pairs of which
both words have a vector, and the share of Google's analogies answered rightly by 3CosAdd without
the words of the question.

A seed stands for initial vectors, windows, subsampling and negatives; counting and the model have
none. Finished runs lie in `runs/word_vectors/`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any

import numpy as np

from benchmarks import clocks, markdown, runner
from benchmarks.markdown import source
from tlcourse import (
    checkpoints,
    corpora,
    glove,
    metrics,
    probing,
    sizes,
    words,
)

WIKITEXT, STANDIN = "wikitext-2", "wikipedia-standin"
SEEDS = (0, 1, 2)
BUCKETS = 200_000  # of n-grams
GLOVE_EPOCHS = 25
COUNTS, SKIPGRAM, CBOW, GLOVE, FASTTEXT = "counts", "skip-gram", "CBOW", "GloVe", "fastText"
LEARNT = {  # by text and by whom; GloVe takes longest, and reads only the shorter text
    WIKITEXT: {
        "tlcourse": (SKIPGRAM, CBOW, GLOVE, FASTTEXT),
        "gensim": (SKIPGRAM, CBOW, FASTTEXT),
    },
    STANDIN: {"tlcourse": (SKIPGRAM, CBOW, FASTTEXT), "gensim": (SKIPGRAM, CBOW, FASTTEXT)},
}
RELEASED = "GloVe, released"
CAUSAL = "causal-small"
JUDGEMENTS = {  # names of the scores, and where the pairs are
    "WordSim-353": ("wordsim-353", "test"),
    "WordSim, similarity": ("wordsim-353", "similarity"),
    "WordSim, relatedness": ("wordsim-353", "relatedness"),
    "SimLex-999": ("simlex-999", "test"),
    "MEN": ("men", "test"),
    "rare words": ("rare-words", "test"),
}
ANALOGIES = "google-analogies"
MOST = 70_000  # words of the released vectors, the most frequent


@dataclass(frozen=True)
class Plan:
    """What is learnt from, and how, at a size."""

    standin: int = 20_000_000  # words
    min_count: int = 5
    width: int = 100
    epochs: int = 5  # on WikiText-2; on the stand-in one
    occurrences: int = 10  # sentences in which a model reads a word


PLANS = {
    "tiny": Plan(2_000, 1, 8, 1, 2),
    "small": Plan(),
    "full": Plan(),
}


@dataclass(frozen=True)
class Job(runner.Job):
    """Vectors from one text by one method with one seed, judged; or those of a released model."""

    study = "word_vectors"
    recipe: Plan
    method: str
    text: str = ""
    by: str = "tlcourse"  # or gensim
    seed: int = 0

    def weights(self) -> str:
        """Those of a model, or none."""
        return runner.digest(self.method) if self.method == CAUSAL else "none"

    def work(self) -> dict:
        """Scores by layer, for methods and released vectors a single one; processor seconds."""
        if self.method == CAUSAL:
            return {"layers": [judged(each) for each in in_context(self.recipe)]}
        if self.method == RELEASED:
            return {"layers": [judged(glove.load(MOST))]}
        text = read(self.text, self.recipe)
        learn = {"tlcourse": ours, "gensim": gensims}[self.by]
        vectors, seconds = clocks.timed(
            lambda: learn(text, self.method, self.recipe, epochs(self), self.seed),
            runner.processor_clock(),
        )
        facts = {"words": len(text), "vocabulary": len(text.vocabulary), "seconds": seconds}
        return facts | {"layers": [judged(vectors)]}

    def told(self, result: dict) -> str:
        """The correlations of the layer that is best on MEN."""
        best = max(result["layers"], key=lambda layer: layer["MEN"]["spearman"])
        return ", ".join(f"{name} {best[name]['spearman']:.3f}" for name in JUDGEMENTS)


def epochs(job: Job) -> int:
    """How often the text is read: the stand-in, which is ten times as long, once."""
    return job.recipe.epochs if job.text == WIKITEXT else 1


# texts


def lines(name: str) -> Iterator[str]:
    """The lines of the articles of a text."""
    return (line for article in corpora.articles(name) for line in article.split("\n"))


def read(name: str, plan: Plan) -> words.Text:
    """A text whole, or of the stand-in its beginning."""
    if name == WIKITEXT:
        return words.read(lines(name), min_count=plan.min_count)
    return words.read(beginning(name, plan.standin), min_count=plan.min_count)


def beginning(name: str, count: int) -> Iterator[str]:
    """The first lines, until they have so many words."""
    for line in lines(name):
        count -= len(words.split(line))
        if count < 0:
            return
        yield line


# methods


def ours(text: words.Text, method: str, plan: Plan, epochs: int, seed: int) -> words.Vectors:
    """Vectors by a method of `tlcourse.words`."""
    if method == COUNTS:
        weights = words.ppmi(words.cooccurrences(text))
        return words.Vectors(text.vocabulary.words, words.svd(weights, width=plan.width))
    if method == GLOVE:
        near = words.cooccurrences(text, weight=lambda distance: 1 / distance)
        learnt = words.glove(near, width=plan.width, epochs=GLOVE_EPOCHS, seed=seed)
        return words.Vectors(text.vocabulary.words, learnt)
    learn = {SKIPGRAM: words.skipgram, CBOW: words.cbow, FASTTEXT: words.fasttext}[method]
    return learn(text, width=plan.width, epochs=epochs, seed=seed)


def gensims(text: words.Text, method: str, plan: Plan, epochs: int, seed: int) -> Any:
    """Vectors by gensim, with one thread, so that they are the same each time."""
    from gensim.models import FastText, Word2Vec

    model = {SKIPGRAM: Word2Vec, CBOW: Word2Vec, FASTTEXT: FastText}[method]
    settings = {"bucket": BUCKETS} if method == FASTTEXT else {}
    trained = model(
        sentences(text),
        vector_size=plan.width,
        sg=int(method != CBOW),
        epochs=epochs,
        min_count=plan.min_count,
        seed=seed,
        workers=1,
        **settings,
    )
    return trained.wv


def sentences(text: words.Text) -> list[list[str]]:
    """The lines of a text as lists of words."""
    ends = np.flatnonzero(np.diff(text.lines)) + 1
    return [[text.vocabulary.words[id] for id in part] for part in np.split(text.ids, ends)]


def in_context(plan: Plan) -> list[words.Vectors]:
    """For each layer, beginning with the embeddings, the mean state of each judged word.

    Each word is read in its first sentences in WikiText-2, at most `plan.occurrences`.
    """
    model, tokenizer = checkpoints.load(CAUSAL)
    parts, places, owners = occurrences(wanted(), plan.occurrences)
    found = sorted(set(owners))
    ids = np.array([found.index(word) for word in owners])
    layers: list[np.ndarray] = []
    for start in range(0, len(parts), 2_000):
        part = slice(start, start + 2_000)
        features = probing.extract(model, tokenizer, parts[part])
        rows = features.rows(np.arange(len(parts[part])), np.array(places[part]))
        layers = layers or [np.zeros((len(found), each.shape[1])) for each in features.layers]
        for total, each in zip(layers, features.layers, strict=True):
            np.add.at(total, ids[part], each[rows].astype(float))
    return [words.Vectors(tuple(found), total.astype(np.float32)) for total in layers]


def wanted() -> set[str]:
    """The words of all pairs that people judged."""
    return {word for each in pairs().values() for side in ("word1", "word2") for word in each[side]}


def pairs() -> dict[str, Any]:
    """The pairs that people judged, by name."""
    return {name: corpora.load(file)[split] for name, (file, split) in JUDGEMENTS.items()}


def occurrences(wanted: set[str], most: int) -> tuple[list[list[str]], list[int], list[str]]:
    """Passages of at most 31 words around a wanted word, its place in each, and the word."""
    seen: dict[str, int] = defaultdict(int)
    parts, places, owners = [], [], []
    for line in lines(WIKITEXT):
        tokens = line.split()
        for place, token in enumerate(tokens):
            word = token.lower()
            if word in wanted and seen[word] < most:
                seen[word] += 1
                begin = max(0, place - 15)
                parts.append(tokens[begin : place + 16])
                places.append(place - begin)
                owners.append(word)
    return parts, places, owners


# scores


def judged(vectors: Any) -> dict:
    """By set, the correlation with people's scores; and the analogies, where all words have rows.

    gensim's vectors have no `directions`, so they are put into ours.
    """
    if not isinstance(vectors, words.Vectors):
        known = words.Vectors(tuple(vectors.index_to_key), vectors.vectors)
    else:
        known = vectors
    scores: dict[str, Any] = {
        name: words.correlation(vectors, each)._asdict() for name, each in pairs().items()
    }
    answers = words.analogies(known, corpora.load(ANALOGIES)["test"])
    scores[ANALOGIES] = {
        kind: getattr(answers, kind).accuracy for kind in ("all", "semantic", "syntactic")
    } | {"covered": answers.all.covered}
    return scores


def jobs(plan: Plan, names: Sequence[str]) -> dict[tuple, list[Job]]:
    """By row (text, method, by), the runs of its seeds."""
    rows: dict[tuple, list[Job]] = {}
    for text in names:
        rows[text, COUNTS, "tlcourse"] = [Job(plan, COUNTS, text)]
        for by, methods in LEARNT[text].items():
            for method in methods:
                rows[text, method, by] = [Job(plan, method, text, by, seed) for seed in SEEDS]
    if glove.load(1) is not None:
        rows["", RELEASED, ""] = [Job(plan, RELEASED)]
    rows["", CAUSAL, ""] = [Job(plan, CAUSAL)]
    return rows


def measure() -> dict:
    """A row for each method and text, over its seeds."""
    plan = PLANS[sizes.current().name]
    names = [name for name in (WIKITEXT, STANDIN) if corpora.available()[name]]
    asked = jobs(plan, names)
    every = [job for row in asked.values() for job in row]
    runs = runner.run_all(every)
    found = dict(zip(every, runs, strict=True))
    return {
        "job": "word_vectors",
        **runner.provenance(
            f"{', '.join(names)}; {', '.join(JUDGEMENTS)}; {ANALOGIES}",
            runs=runs,
            note=runner.pooled(),
        ),
        "plan": asdict(plan),
        "rows": [
            {"text": text, "method": method, "by": by} | _row([found[job] for job in mine])
            for (text, method, by), mine in asked.items()
        ],
    }


def _row(mine: Sequence[Mapping]) -> dict:
    """Means over seeds; intervals are over seeds, and of a single run over pairs."""
    first = mine[0]
    layers = []
    for number, one in enumerate(first["layers"]):
        every = [run["layers"][number] for run in mine]
        scores = {name: _score([each[name] for each in every]) for name in JUDGEMENTS}
        answers = {key: mean(each[ANALOGIES][key] for each in every) for key in one[ANALOGIES]}
        layers.append({"scores": scores, ANALOGIES: answers})
    facts = {name: first.get(name) for name in ("words", "vocabulary")}
    seconds = [run["seconds"] for run in mine if "seconds" in run]
    return facts | {
        "seeds": [run["seed"] for run in mine],
        "seconds": mean(seconds) if seconds else None,
        "layers": layers,
    }


def _score(runs: Sequence[Mapping]) -> dict:
    values = [run["spearman"] for run in runs]
    interval = [runs[0]["low"], runs[0]["high"]]
    if len(values) > 1:
        interval = list(metrics.mean_interval(values)[1:])
    return {
        "values": values,
        "mean": mean(values),
        "interval": interval,
        "covered": runs[0]["covered"],
        "pairs": runs[0]["pairs"],
    }


def section(study: Mapping[str, Any]) -> str:
    """For RESULTS.md: a table of all vectors; of models the embeddings, the middle, the last."""
    head = ["", "text", "by", "seconds", *JUDGEMENTS, "semantic", "syntactic"]
    plan = study["plan"]
    return markdown.section(
        "## How well vectors of words agree with people",
        f"Spearman's rank correlation of cosines (width {plan['width']}) with people's scores, "
        "over the pairs of which both words have a vector, and the share of Google's analogies "
        "answered rightly (3CosAdd, without the words of the question). Means over seeds and "
        "Student's intervals; of a single run, a bootstrap interval over the pairs. Seconds are "
        "processor time of one thread. Vectors in context are the mean state of a word in at most "
        f"{plan['occurrences']} passages of WikiText-2. {source(study, 'lesson 11')}",
        markdown.table(head, [cells for row in study["rows"] for cells in _cells(row)]),
        f"Pairs covered on {WIKITEXT}: {_covered(study['rows'][0])}.",
    )


def _cells(row: Mapping) -> Iterator[list[str]]:
    """A line of the table, or three for the layers of a model."""
    last = len(row["layers"]) - 1
    for layer in sorted({0, last // 2, last}):
        scores, answers = row["layers"][layer]["scores"], row["layers"][layer][ANALOGIES]
        name = row["method"]
        if last:
            name += f", layer {layer}" if layer else ", embeddings"
        yield [
            name,
            f"{row['text']}, {row['words'] / 1e6:.1f}M words" if row["text"] else "",
            row["by"],
            f"{row['seconds']:,.0f}" if row["seconds"] else "",
            *(_correlation(scores[judgement]) for judgement in JUDGEMENTS),
            *(f"{100 * answers[kind]:.1f} %" for kind in ("semantic", "syntactic")),
        ]


def _correlation(score: Mapping) -> str:
    low, high = score["interval"]
    return f"{score['mean']:.3f} ({low:.3f}-{high:.3f})"


def _covered(row: Mapping) -> str:
    scores = row["layers"][0]["scores"]
    return ", ".join(
        f"{name} {score['covered']:,} of {score['pairs']:,}" for name, score in scores.items()
    )
