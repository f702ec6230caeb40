"""What do vectors of sentences know, by how they were learnt?

All encoders begin with the same word vectors, PPMI and SVD on WikiText-2, unless their name says
otherwise. Word vectors have length 1, and the learning rate of paragraph vectors is 0.1: both were
better on STS-B's dev split than one other choice. The encoders learn from little: the sentences of
WikiText-2, the development pairs of SNLI and MultiNLI, because their training pairs are not at
hand, and MRPC's paraphrases. So the rows compare ideas at one small scale. The published numbers
stand for the scale of the papers.

What is judged: Spearman's correlation of cosines with people's scores on STS-B's test split, as the
vectors are and without the common component of these sentences, which needs no scores; and the
accuracy of logistic regression on the frozen vectors, on the test questions of TREC and the test
sentences of SST-2. Its C is chosen on dev. Nothing else is chosen by a score of the tasks.

The decoder of autoencoders and of skip-thought writes only the most frequent words. A seed stands
for initial weights, batches, noise and negative samples. Finished runs lie in
`runs/sentence_vectors/`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks import clocks, markdown, runner
from benchmarks.markdown import source
from benchmarks.studies import word_vectors
from benchmarks.studies.word_vectors import COUNTS, RELEASED, STANDIN, WIKITEXT
from tlcourse import (
    batching,
    checkpoints,
    corpora,
    files,
    glove,
    huggingface,
    metrics,
    sizes,
    words,
)
from tlcourse.adaptation import BiEncoder
from tlcourse.recurrent import LSTM, LSTMConfig, PairClassifier, SentenceEncoder
from tlcourse.training import train, warmup_stable_decay

SEEDS = (0, 1, 2)
CAUSAL, MINILM = "causal-small", "all-MiniLM-L6-v2"
STRENGTHS = (0.001, 0.01, 0.1, 1.0)  # of C
LABELS = ("entailment", "neutral", "contradiction")
FRAME = 2  # ids of the decoder for the beginning and the end of a sentence, before those of words
SIDES = ("sentence1", "sentence2")
BOTH, CLASSIFIED = ("stsb", "stsb_bare"), ("trec", "sst-2")
Encode = Callable[[Sequence[str]], np.ndarray]  # sentences to (sentences, width)
Ids = list[list[int]]

# Spearman's correlation on STS-B, and accuracies in percent on TREC and SST-2.
PUBLISHED = (
    ("GloVe, mean", 0.5802, 83.0, 80.18, "Reimers & Gurevych, 2019"),
    ("skip-thought", None, 88.4, 82.9, "Conneau et al., 2017"),
    ("InferSent", 0.6803, 88.2, 84.18, "Reimers & Gurevych, 2019"),
    ("GenSen, regression on STS-B", 0.786, None, None, "Subramanian et al., 2018"),
    ("Sentence-BERT (base, NLI)", 0.7703, 89.6, 88.96, "Reimers & Gurevych, 2019"),
    (MINILM, 0.8203, None, None, "MTEB, Muennighoff et al., 2023"),
)


@dataclass(frozen=True)
class Plan:
    """How much is learnt from, and how, at a size."""

    standin: int = 20_000_000  # words
    sentences: int = 10_000  # of WikiText-2, for the encoders that learn from plain text
    longest: int = 30  # words that an encoder reads of a sentence
    written: int = 2_000  # words of a decoder
    epochs: int = 3  # over pairs with labels; over plain text one
    batch_size: int = 64
    labelled: int = 5_000  # training sentences of SST-2


PLANS = {
    "tiny": Plan(2_000, 40, 12, 20, 1, 8, 40),
    "small": Plan(),
    "full": Plan(),
}


@dataclass(frozen=True)
class Job(runner.Job):
    """One method with one seed: it learns, and its vectors are judged."""

    study = "sentence_vectors"
    recipe: Plan
    method: str
    seed: int = 0

    def weights(self) -> str:
        """Those of a model, or none."""
        return runner.digest(self.method) if self.method in (CAUSAL, MINILM) else "none"

    def work(self) -> dict:
        """Its scores, the width of its vectors, and the processor seconds of learning."""
        start, learn = static(self.recipe), METHODS[self.method]
        encode, seconds = clocks.timed(
            lambda: learn(self.recipe, start, self.seed), runner.processor_clock()
        )
        return {"seconds": seconds} | judged(encode, self.recipe)

    def told(self, result: dict) -> str:
        """Its three scores."""
        shares = (f"{name} {1 - runner.error_of(result[name]) / 100:.3f}" for name in CLASSIFIED)
        return f"STS-B {result['stsb']['spearman']:.3f}, {', '.join(shares)}"


# what all begin with


def static(plan: Plan) -> words.Vectors:
    """The word vectors that all begin with, from counts on WikiText-2; kept once they are made."""
    place = runner.FOLDER / Job.study / f"counts-{sizes.current().name}.npz"
    if not place.exists():
        learnt, _ = learnt_from(WIKITEXT, COUNTS, plan, 0)
        place.parent.mkdir(parents=True, exist_ok=True)
        with files.atomic(place) as temporary, Path(temporary).open("wb") as out:
            np.savez(out, words=np.array(learnt.words), matrix=learnt.matrix)
    with np.load(place) as kept:
        return words.Vectors(tuple(kept["words"].tolist()), kept["matrix"])


def learnt_from(
    name: str, method: str, plan: Plan, seed: int
) -> tuple[words.Vectors, words.Vocabulary]:
    """Word vectors as in lesson 11, and the counts of the words in their text."""
    recipe = replace(word_vectors.PLANS[sizes.current().name], standin=plan.standin)
    text = word_vectors.read(name, recipe)
    return of_length_one(
        word_vectors.ours(text, method, recipe, recipe.epochs, seed)
    ), text.vocabulary


def of_length_one(vectors: words.Vectors) -> words.Vectors:
    """The same directions: so a word's length, which depends on its frequency, has no effect."""
    return words.Vectors(vectors.words, vectors.directions)


def sentences() -> list[list[str]]:
    """The sentences of each paragraph of WikiText-2, split at full stops; headings are left out."""
    found = []
    for line in word_vectors.lines(WIKITEXT):
        if not line.strip().startswith("="):
            parts = [part for part in line.split(" . ") if len(words.tokens(part)) >= 4]
            found.append(parts)
    return found


class Reader:
    """Sentences as ids for an encoder: a word's row of the vectors, counted from 1; 0 pads."""

    def __init__(self, vectors: words.Vectors, longest: int):
        self.vectors, self.longest = vectors, longest
        empty = torch.zeros(1, vectors.matrix.shape[1])
        self.matrix = torch.cat([empty, torch.from_numpy(vectors.matrix)])

    def __call__(self, texts: Sequence[str]) -> Ids:
        """The ids of the words that have a vector; of a sentence without any, the pad alone."""
        ids = self.vectors.ids
        known = ([1 + ids[w] for w in words.tokens(text) if w in ids] for text in texts)
        return [each[: self.longest] or [0] for each in known]

    def encode(self, encoder: SentenceEncoder, texts: Sequence[str]) -> np.ndarray:
        """(texts, width): the vectors of a trained encoder."""
        return encoder.embed(self(texts)).numpy()


def fit(
    model: nn.Module, loss: Any, batches: Callable[[int], tuple], steps: int, seed: int
) -> None:
    """Trains what is not frozen with AdamW at 1e-3, which falls to 0 in the second half."""
    moved = [each for each in model.parameters() if each.requires_grad]
    schedule = warmup_stable_decay(steps, min(20, steps), 0.5)
    settings: dict = {"optimizers": [torch.optim.AdamW(moved, 1e-3)], "schedule": schedule}
    train(model, loss, batches, steps=steps, seed=seed, **settings)


def batches_of(rows: Sequence[tuple[list[int], ...]], plan: Plan, epochs: int, seed: int) -> list:
    """For each step of the training, the rows of its batch: of about the same lengths."""
    lengths = [len(row[0]) for row in rows]
    return [
        [rows[number] for number in batch]
        for epoch in range(epochs)
        for batch in batching.bucket_batches(lengths, plan.batch_size, seed, epoch)
        if len(batch) > 1
    ]


def padded(rows: Sequence[tuple[list[int], ...]], sides: int = 2) -> tuple[Tensor, ...]:
    """The first columns of rows, each as tokens and mask."""
    return tuple(part for side in range(sides) for part in batching.pad([r[side] for r in rows]))


# methods: each gets the plan, the word vectors and a seed, and returns a function of sentences


def average(
    plan: Plan,
    start: words.Vectors,
    seed: int,
    *,
    of: str = COUNTS,
    text: str = WIKITEXT,
    smooth: bool = False,
) -> Encode:
    """The mean of word vectors, in which frequent words count less if it is to be `smooth`."""
    if of == RELEASED:
        counts = word_vectors.read(text, word_vectors.PLANS[sizes.current().name]).vocabulary
        found = glove.load(word_vectors.MOST)
        assert found is not None  # or there is no such job
        vectors = of_length_one(found)
    else:
        vectors, counts = learnt_from(text, of, plan, seed)
    return lambda texts: words.averages(texts, vectors, counts if smooth else None)


def paragraphs(plan: Plan, start: words.Vectors, seed: int) -> Encode:
    """Paragraph vectors, learnt from sentences; those of others are inferred."""
    lines = [sentence for part in sentences() for sentence in part]
    recipe = word_vectors.PLANS[sizes.current().name]
    text = words.read(lines, min_count=recipe.min_count)
    return words.paragraph_vectors(text, width=recipe.width, seed=seed).infer


class Decoded(nn.Module):
    """An encoder, and a decoder that writes a sentence from its vector.

    The vector, or for `variational` one drawn around it, gives the decoder's first state.
    """

    def __init__(self, encoder: SentenceEncoder, width: int, written: int, *, variational: bool):
        super().__init__()
        self.encoder, self.variational = encoder, variational
        self.decoder = LSTM(LSTMConfig(written + FRAME, width=width, units=(width,)))
        self.state = nn.Linear(encoder.width, 2 * width)
        self.deviation = nn.Linear(encoder.width, encoder.width)

    def loss(self, batch: tuple[Tensor, ...], weight: float) -> tuple[Tensor, int]:
        """The nats of the target's words, plus the weighted KL divergence, and their number."""
        tokens, mask, target, target_mask = batch
        vector, divergence = self.encoder(tokens, mask), torch.zeros(())
        if self.variational:
            log = self.deviation(vector)  # of the variance
            divergence = 0.5 * (vector**2 + log.exp() - log - 1).sum()
            vector = vector + torch.randn_like(vector) * (log / 2).exp()
        hidden, cell = self.state(vector)[None].chunk(2, dim=-1)
        states, _ = self.decoder.read(target[:, :-1], state=[(hidden.contiguous(), cell)])
        asked = target_mask[:, 1:]
        logits = self.decoder.logits(states[asked])
        nats = F.cross_entropy(logits, target[:, 1:][asked], reduction="sum")
        return nats + weight * divergence, int(asked.sum())


def decoded(
    plan: Plan,
    start: words.Vectors,
    seed: int,
    *,
    following: bool = False,
    noise: float = 0.0,
    variational: bool = False,
) -> Encode:
    """Writes the sentence again, from a noisy copy or a drawn vector; or the one `following`."""
    torch.manual_seed(seed)
    read, generator = Reader(start, plan.longest), np.random.default_rng(seed)
    encoder = SentenceEncoder(read.matrix)
    model = Decoded(encoder, start.matrix.shape[1], plan.written, variational=variational)
    rows = [
        (source, [0, *(FRAME + id - 1 for id in goal if 0 < id <= plan.written), 1])
        for source, goal in neighbours(read, plan, int(following))
    ]
    steps = batches_of(rows, plan, 1, seed)

    def batch(step: int) -> tuple[Tensor, ...]:
        noisy = [(corrupted(row[0], noise, generator), row[1]) for row in steps[step]]
        return padded(noisy)

    fit(model, lambda model, batch: model.loss(batch, 0.1), batch, len(steps), seed)
    return partial(read.encode, encoder)


def neighbours(read: Reader, plan: Plan, distance: int) -> list[tuple[list[int], list[int]]]:
    """Sentences of WikiText-2 and those that stand `distance` further on in the paragraph."""
    pairs = [pair for part in sentences() for pair in zip(part, part[distance:], strict=False)]
    chosen = np.random.default_rng(0).permutation(len(pairs))[: plan.sentences]
    first, second = (read([pairs[number][side] for number in chosen]) for side in (0, 1))
    return list(zip(first, second, strict=True))


def corrupted(ids: list[int], noise: float, generator: np.random.Generator) -> list[int]:
    """Without each word with that probability, and then some neighbours swapped (Hill et al.)."""
    kept = [id for id in ids if generator.random() >= noise] or ids[:1]
    for place in range(0, len(kept) - 1, 2):
        if generator.random() < noise:
            kept[place : place + 2] = kept[place + 1], kept[place]
    return kept


def pairs(
    plan: Plan,
    start: words.Vectors,
    seed: int,
    *,
    nli: bool = False,
    paraphrases: bool = False,
    following: bool = False,
) -> Encode:
    """One encoder for the tasks that are asked for, in batches of one task each.

    `following` is quick thoughts' task: which sentence of the batch comes next?
    """
    torch.manual_seed(seed)
    read = Reader(start, plan.longest)
    model = PairClassifier(SentenceEncoder(read.matrix), 2 * start.matrix.shape[1], (3, 2))
    tasks = []
    if nli:
        tasks += [(0, rows) for rows in batches_of(inferences(read), plan, plan.epochs, seed)]
    if paraphrases:
        tasks += [(1, rows) for rows in batches_of(mrpc(read), plan, plan.epochs, seed)]
    if following:
        tasks += [(2, rows) for rows in batches_of(neighbours(read, plan, 1), plan, 1, seed)]
    order = np.random.default_rng(seed).permutation(len(tasks))

    def batch(step: int) -> tuple[Tensor, ...]:
        number, rows = tasks[order[step]]
        labels = [row[2][0] for row in rows] if number < 2 else range(len(rows))
        return *padded(rows), torch.tensor(labels), torch.full((len(rows),), number)

    fit(model, pair_loss, batch, len(tasks), seed)
    return partial(read.encode, model.encoder)


def pair_loss(model: PairClassifier, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
    """The nats of the labels of a batch; of task 2, of the right next sentences."""
    first, second, labels, task = batch[:2], batch[2:4], batch[4], int(batch[5][0])
    if task < 2:
        logits = model(first, second, task)
    else:
        logits = model.encoder(*first) @ model.encoder(*second).T
    return F.cross_entropy(logits, labels, reduction="sum"), len(labels)


def inferences(read: Reader) -> list[tuple[list[int], ...]]:
    """The pairs of SNLI's and MultiNLI's development sets, with their labels."""
    names = [name for name in ("snli", "mnli") if corpora.available()[name]]
    rows = [row for name in names for row in corpora.load(name)["validation"]]
    first, second = (read([row[side] for row in rows]) for side in ("premise", "hypothesis"))
    labels = [[LABELS.index(row["label"])] for row in rows]
    return list(zip(first, second, labels, strict=True))


def mrpc(read: Reader) -> list[tuple[list[int], ...]]:
    """MRPC's training pairs, with their labels."""
    rows = corpora.load("mrpc")["train"]
    first, second = (read(rows[side][:]) for side in SIDES)
    labels = [[int(label == "equivalent")] for label in rows["label"]]
    return list(zip(first, second, labels, strict=True))


def paragram(plan: Plan, start: words.Vectors, seed: int) -> Encode:
    """The mean of word vectors that were tuned on MRPC's paraphrases."""
    read = Reader(start, plan.longest)
    rows = [row for row in mrpc(read) if row[2] == [1]]
    steps = batches_of(rows, plan, plan.epochs, seed)
    model = words.WordAverage(words.Vectors(("", *start.words), read.matrix.numpy()))

    def loss(model: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        return words.margin_loss(model(*batch[:2]), model(*batch[2:]))

    fit(model, loss, lambda step: padded(steps[step]), len(steps), seed)
    tuned = words.Vectors(start.words, model.embedding.weight.detach().numpy()[1:])
    return lambda texts: words.averages(texts, tuned)


def untrained(plan: Plan, start: words.Vectors, seed: int) -> Encode:
    """The encoder with random weights, over the same word vectors (Wieting & Kiela, 2019)."""
    torch.manual_seed(seed)
    read = Reader(start, plan.longest)
    return partial(read.encode, SentenceEncoder(read.matrix))


def model_states(plan: Plan, start: words.Vectors, seed: int, *, name: str) -> Encode:
    """The mean of a Transformer's last states."""
    found = huggingface.load(name) if name == MINILM else None
    model, tokenizer = (found.model, found.tokenizer) if found else checkpoints.load(name)
    return lambda texts: BiEncoder(model, tokenizer).embed(texts).numpy()


METHODS: dict[str, Callable[[Plan, words.Vectors, int], Encode]] = {
    "counts, mean": average,
    "counts, SIF": partial(average, smooth=True),
    "counts on 20M words, SIF": partial(average, text=STANDIN, smooth=True),
    "GloVe, mean": partial(average, of=RELEASED),
    "GloVe, SIF": partial(average, of=RELEASED, smooth=True),
    "Paragram": paragram,
    "paragraph vectors": paragraphs,
    "autoencoder": decoded,
    "denoising autoencoder": partial(decoded, noise=0.1),
    "variational autoencoder": partial(decoded, variational=True),
    "skip-thought": partial(decoded, following=True),
    "quick thoughts": partial(pairs, following=True),
    "InferSent": partial(pairs, nli=True),
    "multi-task": partial(pairs, nli=True, paraphrases=True, following=True),
    "random encoder": untrained,
    CAUSAL: partial(model_states, name=CAUSAL),
    MINILM: partial(model_states, name=MINILM),
}
FIXED = ("counts", "GloVe", CAUSAL, MINILM)  # how the names of those without a seed begin


# scores


def judged(encode: Encode, plan: Plan) -> dict:
    """The correlations on STS-B, the questions missed of TREC and SST-2, and the width."""
    rows = corpora.load("stsb")["test"]
    texts = sorted({text for side in SIDES for text in rows[side]})
    matrix = encode(texts)
    bare = words.without_component(matrix, words.common_component(matrix))
    scores = {
        name: words.correlation(dict(zip(texts, each, strict=True)), rows, columns=SIDES)._asdict()
        for name, each in (("stsb", matrix), ("stsb_bare", bare))
    }
    return (
        scores
        | {name: classified(encode, name, plan) for name in CLASSIFIED}
        | {"width": matrix.shape[1]}
    )


def classified(encode: Encode, name: str, plan: Plan) -> dict:
    """The test rows that logistic regression on frozen vectors gets wrong; C is chosen on dev."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    train, dev, test = splits(name, plan)
    scaler = StandardScaler()
    seen = scaler.fit_transform(encode(train["text"]))
    asked = scaler.transform(encode(dev["text"]))
    fitted = [
        LogisticRegression(C=strength, max_iter=300).fit(seen, train["label"])
        for strength in STRENGTHS
    ]
    shares = [model.score(asked, dev["label"]) for model in fitted]
    best = int(np.argmax(shares))
    answers = fitted[best].predict(scaler.transform(encode(test["text"])))
    wrong = np.flatnonzero(answers != np.array(test["label"]))
    return {"wrong": wrong.tolist(), "of": len(answers), "C": STRENGTHS[best], "dev": shares[best]}


def splits(name: str, plan: Plan) -> tuple[dict, dict, dict]:
    """The texts and labels of train, dev and test; the sample of SST-2 has no test split."""
    data = corpora.load(name)
    if name == "trec":
        data = corpora.trec_with_dev(data)
        return data["train"][:], data["dev"][:], data["test"][:]
    count = min(plan.labelled, len(data["train"]))
    drawn = data["train"].shuffle(seed=0).select(range(count))
    return drawn[:], data["validation"][:], data["test" if "test" in data else "validation"][:]


def jobs(plan: Plan) -> dict[str, list[Job]]:
    """By method, the runs of its seeds; those whose text or vectors are not here are left out."""
    here = {
        "GloVe": glove.load(1) is not None,
        "20M": bool(corpora.available()[STANDIN]),
        MINILM: runner.released.in_mirror(MINILM) is not None,
    }
    return {
        name: [Job(plan, name, seed) for seed in (SEEDS[:1] if name.startswith(FIXED) else SEEDS)]
        for name in METHODS
        if all(there for needed, there in here.items() if needed in name)
    }


def measure() -> dict:
    """A row for each method, over its seeds."""
    plan = PLANS[sizes.current().name]
    static(plan)  # before several processes ask for it
    asked = jobs(plan)
    every = sorted((job for row in asked.values() for job in row), key=lambda job: job.seed)
    runs = runner.run_all(every)  # the first seed of all rows first
    found = dict(zip(every, runs, strict=True))
    return {
        "job": "sentence_vectors",
        **runner.provenance(
            "STS-B, TREC, SST-2; learnt from WikiText-2, SNLI dev, MultiNLI dev, MRPC",
            runs=runs,
            note=runner.pooled(),
        ),
        "plan": asdict(plan),
        "rows": [{"method": name} | _row([found[job] for job in asked[name]]) for name in asked],
        "published": [
            dict(zip(("method", "stsb", "trec", "sst-2", "paper"), row, strict=True))
            for row in PUBLISHED
        ],
    }


def _row(mine: Sequence[Mapping]) -> dict:
    """Means over seeds; intervals are over seeds, and of a single run over pairs or questions."""
    scores = {}
    for name in ("stsb", "stsb_bare"):
        values = [run[name]["spearman"] for run in mine]
        interval = [mine[0][name]["low"], mine[0][name]["high"]]
        if len(values) > 1:
            interval = list(metrics.mean_interval(values)[1:])
        scores[name] = {"values": values, "mean": mean(values), "interval": interval}
    for name in CLASSIFIED:
        errors = runner.spread([run[name]["wrong"] for run in mine], mine[0][name]["of"])
        scores[name] = {
            "values": [100 - each for each in errors["errors"]],
            "mean": 100 - errors["mean"],
            "interval": [100 - each for each in reversed(errors["interval"])],
        }
    return {
        "seeds": [run["seed"] for run in mine],
        "seconds": mean(run["seconds"] for run in mine),
        "width": mine[0]["width"],
        "scores": scores,
    }


def section(study: Mapping[str, Any]) -> str:
    """For RESULTS.md: our rows, and below them published ones."""
    plan = study["plan"]
    cells = [
        [
            row["method"],
            row["width"],
            f"{row['seconds']:,.0f}",
            *(
                _share(row["scores"][name], 2 if name in BOTH else 1)
                for name in (*BOTH, *CLASSIFIED)
            ),
        ]
        for row in study["rows"]
    ]
    theirs = [
        [f"{row['method']} ({row['paper']})", "", "", _or_nothing(row["stsb"], 2), ""]
        + [_or_nothing(row[name], 1) for name in CLASSIFIED]
        for row in study["published"]
    ]
    head = ["", "width", "seconds", "STS-B", "without the common component", "TREC", "SST-2"]
    return markdown.section(
        "## What vectors of sentences know",
        "STS-B: Spearman's rank correlation of cosines with people's scores on test. TREC and "
        "SST-2: accuracy in percent on test of logistic regression on the frozen vectors, for "
        f"SST-2 after {plan['labelled']:,} training phrases. Means over seeds and Student's "
        "intervals; of a single run, a bootstrap interval over pairs, Wilson's over questions. "
        f"Seconds are processor time of learning. {source(study, 'lesson 11b')}",
        markdown.table(head, [*cells, *theirs]),
        "The last rows are published ones, from much more text and wider vectors.",
    )


def _share(score: Mapping, digits: int) -> str:
    values = (score["mean"], *score["interval"])
    return "{} ({}-{})".format(*(f"{value:.{digits}f}" for value in values))


def _or_nothing(number: float | None, digits: int) -> str:
    return "" if number is None else f"{number:.{digits}f}"
