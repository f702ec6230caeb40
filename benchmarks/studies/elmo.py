"""What do frozen states of language models add to a tagger of rare names (WNUT-17)?

One small tagger (`FeatureTagger`: a mix of layers, a linear layer) reads different vectors of
words, which stay as they are. Static ones and the states of two language
models are learnt from the same slice of text: a bidirectional LSTM over words that are read by
their characters (Peters et al., 2018, ELMo), and one over characters (Akbik et al., 2018). Of the
first, the top layer alone (Peters et al., 2017, TagLM), the learnt mix (ELMo), the encoded
characters alone, and the contexts without the word, as context2vec reads them (Melamud et al.,
2016), are compared, and the mix of the same model before training. A third network learns to
translate (`cove`; McCann et al., 2017). The states of our checkpoints
and of MiniLM, mixed, have read far more text.

The tagger, above all the weight of entities in its loss and the standardised features, was chosen
on validation sentences with the mix of the biLM: without that weight it tags every word O. Earlier
forms of the tagger had been evaluated on the test split, too; nothing was chosen by that. A seed
stands for the weights, the dropout and the batches of the tagger; each language model was trained
once. Runs, and the weights of the language models, lie in `runs/elmo/`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from statistics import mean
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from benchmarks import clocks, markdown, runner
from benchmarks.markdown import error_cell, source
from benchmarks.studies import cove, pretexts, released
from tlcourse import checkpoints, corpora, metrics, probing, recurrent, sizes, spans, words
from tlcourse.adaptation import FeatureTagger
from tlcourse.batching import TokenFile, write_tokens
from tlcourse.objectives import BidirectionalLM
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.recurrent import BORDER, BiLSTM, BiLSTMConfig

TEXTS = ("wikipedia-standin", "wikitext-2")  # the first that this machine has is read
TASK = "wnut17"
SEEDS = (0, 1, 2)
WORDS, CHARACTERS = "words", "characters"  # what a language model predicts
STATIC, ENCODED = "skip-gram", "biLM, characters alone"
TOP, MIX, UNTRAINED = "biLM, top layer", "biLM, mix", "biLM before training, mix"
CONTEXTS, STRINGS = "biLM, contexts without the word", "character LM"
COVE = "translation model"
CAUSAL, MASKED, MINILM = "causal-small", "masked-small", released.MODEL
MODELS = (CAUSAL, MASKED, MINILM)
LIKE = {STATIC: "static vectors", TOP: "TagLM", MIX: "ELMo", CONTEXTS: "context2vec",
        STRINGS: "contextual string embeddings", COVE: "CoVe"}  # fmt: skip
PUBLISHED = {  # entity F1 of larger models, and who reports it
    "WNUT-17, best of the shared task": (41.86, "UH-RiTUAL, as Derczynski et al. (2017) report"),
    "WNUT-17, pooled contextual string embeddings": (49.59, "Akbik et al. (2019)"),
    "CoNLL-2003, TagLM": (91.93, "Peters et al. (2017)"),
    "CoNLL-2003, ELMo": (92.22, "Peters et al. (2018); 90.15 without ELMo"),
    "CoNLL-2003, contextual string embeddings": (93.09, "Akbik et al. (2018)"),
}


@dataclass(frozen=True)
class LanguageModels:
    """What the two language models are, and what they read."""

    words: int = 512_000  # of the slice, which the model of words reads once
    characters: int = 1_600_000  # bytes of the same slice that the model of characters reads
    held_out: int = 20_000  # words or bytes after the slice, to measure the losses on
    vocabulary: int = 5_000  # words that are predicted
    width: int = 384  # of the states of the model of words
    string_width: int = 512  # of those of the model of characters
    word_recipe: PretrainingRecipe = PretrainingRecipe(
        batch_size=32, length=32, learning_rate=3e-3, muon_learning_rate=None, warmup=50
    )
    string_recipe: PretrainingRecipe = PretrainingRecipe(
        batch_size=32, length=128, learning_rate=3e-3, muon_learning_rate=None, warmup=50
    )


@dataclass(frozen=True)
class Plan:
    """What is trained, and how, at a size."""

    models: LanguageModels = LanguageModels()
    static_width: int = 100
    learnt: int = 3_394  # sentences that a tagger learns from, all
    judged: int | None = None  # sentences of the test split; None: all
    epochs: int = 10  # of the tagger


TINY = PretrainingRecipe(batch_size=2, length=8, muon_learning_rate=None)
PLANS = {
    "tiny": Plan(
        LanguageModels(600, 600, 200, 60, 16, 16, TINY, TINY),
        static_width=8,
        learnt=20,
        judged=20,
        epochs=1,
    ),
    "small": Plan(),
    "full": Plan(),
}


def beginning(count: int) -> tuple[str, Iterator[str]]:
    """The name of the text that is read, and its words with BORDER behind each line, `count`."""
    name = next(each for each in TEXTS if corpora.available()[each] or each == TEXTS[-1])
    lines = (line.split() for article in corpora.articles(name) for line in article.split("\n"))
    return name, islice((word for line in lines if line for word in (*line, BORDER)), count)


@dataclass(frozen=True)
class Pretraining(runner.Job):
    """A language model of `kind`, WORDS or CHARACTERS, and its losses on what comes behind."""

    study = "elmo"
    kind: str
    recipe: LanguageModels

    def weights(self) -> str:
        """It begins with random weights."""
        return "none"

    def read(self) -> tuple[list[str], list[str]]:
        """The words of the slice, and those behind it."""
        _, text = beginning(self.recipe.words + self.recipe.held_out)
        found = list(text)
        return found[: self.recipe.words], found[self.recipe.words :]

    def fresh(self) -> BiLSTM:
        """The model before training; one of words knows the slice's words already."""
        torch.manual_seed(0)
        if self.kind == CHARACTERS:
            width = self.recipe.string_width
            return BiLSTM(BiLSTMConfig(recurrent.VOCABULARY, width, units=(width // 2,)))
        slice_, _ = self.read()
        counts = Counter(slice_)
        vocabulary = recurrent.word_vocabulary(counts, self.recipe.vocabulary)
        model = recurrent.elmo(vocabulary, width=self.recipe.width)
        model.embedding.add(sorted(counts))  # type: ignore[operator]
        return model

    def ids(self, text: Sequence[str], model: BiLSTM) -> list[int]:
        """The ids of words, or of the bytes of a text; unknown words get ids, too."""
        if self.kind == CHARACTERS:
            return recurrent.byte_ids(as_text(text))
        embedding: Any = model.embedding
        embedding.add(text)
        return [embedding.ids[word] for word in text]

    def trained(self) -> tuple[BiLSTM, dict]:
        """The trained model, its last training loss and seconds: once trained, they are read."""
        model, path = self.fresh(), self.folder() / "model.safetensors"
        if path.exists():
            model.load_state_dict(load_file(path), strict=False)  # a shared tensor is there once
            return model, {}
        recipe, most = self.recipe.word_recipe, None
        if self.kind == CHARACTERS:
            recipe, most = self.recipe.string_recipe, self.recipe.characters
        ids = self.ids(self.read()[0], model)[:most]
        self.folder().mkdir(parents=True, exist_ok=True)
        write_tokens(self.folder() / "tokens.bin", [ids])
        file = TokenFile(self.folder() / "tokens.bin")
        steps = file.per_epoch(recipe.length + 1) // recipe.batch_size
        facts = pretexts.pretrained(
            model,
            file,
            steps * recipe.batch_size * recipe.length,  # no window is read twice
            recipe=recipe,
            objective=BidirectionalLM(),
            folder=self.folder() / "state",
        )
        checkpoints.write_weights(path, model)
        return model, facts

    def work(self) -> dict:
        """Trains; "nats" a target in both directions, and "unigram", of its frequencies alone."""
        model, facts = self.trained()
        text, behind = self.read()
        seen, due = (torch.tensor(self.ids(each, model)) for each in (text, behind))
        size = model.config.vocabulary_size
        seen, known = (each.where(each < size, 0) for each in (seen, due))
        counts = torch.bincount(seen, minlength=size) + 1.0  # so that none is 0
        with torch.no_grad():
            nats, targets = BidirectionalLM().loss(model.eval(), (folded(due, 64),))
        unigram = -(counts / counts.sum()).log()[known].mean()
        parameters = sum({id(p): p.numel() for p in model.parameters()}.values())
        found = {"nats": float(nats) / targets, "unigram": float(unigram)}
        return facts | found | {"parameters": parameters, "text": beginning(1)[0]}

    def told(self, result: dict) -> str:
        """The losses."""
        return f"{result['nats']:.2f} nats, {result['unigram']:.2f} from frequencies"


def as_text(text: Sequence[str]) -> str:
    """Words as lines with spaces between the words."""
    return " ".join("\n" if word == BORDER else word for word in text).replace(" \n ", "\n")


def folded(ids: Tensor, length: int) -> Tensor:
    """A sequence as rows (rows, length); what fills no row is left out."""
    count = len(ids) // length
    return ids[: count * length].view(count, length)


# vectors of words: (layers, words, width) for each sentence


def static(plan: Plan, sentences: Sequence[list[str]]) -> list[Tensor]:
    """Skip-gram vectors from the slice, in lower case; unknown words are zeros."""
    text = as_text([*beginning(plan.models.words)[1]])
    read = words.read(text.split("\n"), min_count=1 if plan == PLANS["tiny"] else 5)
    vectors = words.skipgram(read, width=plan.static_width)
    found = []
    for sentence in sentences:
        rows = torch.zeros(1, len(sentence), plan.static_width)
        for place, word in enumerate(map(str.lower, sentence)):
            if word in vectors:
                rows[0, place] = torch.from_numpy(vectors[word])
        found.append(rows)
    return found


def of_words(
    plan: Plan, sentences: Sequence[list[str]], *, take: Callable[[Tensor], Tensor], fresh=False
) -> list[Tensor]:
    """What `take` makes of the states (layers, words, width) of the model of words."""
    job = Pretraining(WORDS, plan.models)
    model = job.fresh() if fresh else job.trained()[0]
    return [take(states) for states in recurrent.word_states(model, sentences)]


def contexts(states: Tensor) -> Tensor:
    """The top layer's forward state of the word before, and backward state of the word behind."""
    forward, backward = torch.nn.functional.pad(states[-1:], (0, 0, 1, 1)).chunk(2, dim=-1)
    return torch.cat([forward[:, :-2], backward[:, 2:]], dim=-1)


def of_strings(plan: Plan, sentences: Sequence[list[str]]) -> list[Tensor]:
    """Contextual string embeddings."""
    model, _ = Pretraining(CHARACTERS, plan.models).trained()
    return recurrent.border_states(model, sentences)


def of_translation(plan: Plan, sentences: Sequence[list[str]]) -> list[Tensor]:
    """The encoded characters and the last layer of a translation model's encoder."""
    model, _ = cove.Translation(plan.models.width).trained()
    return [states[[0, -1]] for states in recurrent.word_states(model.encoder, sentences)]


def of_model(name: str, plan: Plan, sentences: Sequence[list[str]]) -> list[Tensor]:
    """All layers of a checkpoint, in each the mean state of a word's tokens.

    As for a `Tagger`, a word of invisible characters is "?".
    """
    model, tokenizer = checkpoints.load(name)
    visible = [[word if tokenizer.read(word) else "?" for word in each] for each in sentences]
    found = probing.extract(model, tokenizer, visible)
    layers = torch.from_numpy(np.stack(found.layers))
    return list(layers.split(np.diff(found.starts).tolist(), dim=1))


VECTORS: dict[str, Callable[[Plan, Sequence[list[str]]], list[Tensor]]] = {
    STATIC: static,
    MIX: partial(of_words, take=lambda states: states),
    TOP: partial(of_words, take=lambda states: states[-1:]),
    STRINGS: of_strings,
    **{name: partial(of_model, name) for name in MODELS},
    UNTRAINED: partial(of_words, take=lambda states: states, fresh=True),
    ENCODED: partial(of_words, take=lambda states: states[:1]),
    CONTEXTS: partial(of_words, take=contexts),
    COVE: of_translation,
}


@dataclass(frozen=True)
class Job(runner.Job):
    """The tagger on one kind of vectors, once for each seed, since the vectors are the same."""

    study = "elmo"
    vectors: str
    recipe: Plan
    seeds: tuple[int, ...] = SEEDS

    def weights(self) -> str:
        """Those of a checkpoint, or the key of the language model's training."""
        if self.vectors in MODELS:
            return runner.digest(self.vectors)
        if self.vectors == COVE:
            return cove.Translation(self.recipe.models.width).key()
        kind = CHARACTERS if self.vectors == STRINGS else WORDS
        return Pretraining(kind, self.recipe.models).key()

    def work(self) -> dict:
        """For each seed the scores in percent, the shares of the layers, the seconds."""
        train, test = (
            corpora.load(TASK)[name].shuffle(seed=0)[:count]
            for name, count in (("train", self.recipe.learnt), ("test", self.recipe.judged))
        )
        both = [*train["tokens"], *test["tokens"]]
        clock = runner.processor_clock()
        states, seconds = clocks.timed(lambda: VECTORS[self.vectors](self.recipe, both), clock)
        count = len(train["tokens"])
        tags = sorted({tag for each in train["tags"] for tag in each})
        runs = []
        for seed in self.seeds:
            torch.manual_seed(seed)
            tagger = FeatureTagger(len(states[0]), states[0].shape[-1], tags)
            history, spent = clocks.timed(
                lambda tagger=tagger, seed=seed: tagger.fit(
                    states[:count], train["tags"], epochs=self.recipe.epochs, seed=seed
                ),
                clock,
            )
            score = spans.entity_score(test["tags"], tagger.predict(states[count:]))
            runs.append(
                {"F1": 100 * score.f1, "precision": 100 * score.precision}
                | {"recall": 100 * score.recall, "loss": history[-1]["loss"], "seconds": spent}
                | {"shares": tagger.mix.weights.softmax(0).tolist()}
            )
        shape = {"layers": len(states[0]), "width": states[0].shape[-1]}
        return shape | {"runs": runs, "seconds": seconds, "of": len(both) - count}

    def told(self, result: dict) -> str:
        """F1 of each seed."""
        return "F1 " + ", ".join(f"{run['F1']:.1f}" for run in result["runs"])


def measure() -> dict:
    """The losses of the models that are trained, and a row for each kind of vectors."""
    plan = PLANS[sizes.current().name]
    jobs = [Pretraining(kind, plan.models) for kind in (WORDS, CHARACTERS)]
    trained = runner.run_all([*jobs, cove.Translation(plan.models.width)])
    found = runner.run_all([Job(vectors, plan) for vectors in VECTORS])
    return {
        "job": "elmo",
        **runner.provenance(
            f"{trained[0]['text']}; WNUT-17, {plan.learnt:,} training sentences, "
            f"{found[0]['of']:,} test sentences",
            runs=found,
            note=runner.pooled(),
        ),
        "plan": asdict(plan),
        "language_models": [
            {
                name: run.get(name)
                for name in ("kind", "nats", "unigram", "loss", "seconds", "parameters")
            }
            for run in trained
        ],
        "published": PUBLISHED,
        "rows": [row(run) for run in found],
    }


def row(run: Mapping[str, Any]) -> dict:
    """Means over the seeds of the tagger, and Student's interval of F1."""
    scores = [each["F1"] for each in run["runs"]]
    middle, low, high = metrics.mean_interval(scores)
    names = ("precision", "recall", "seconds")
    return {
        "vectors": run["vectors"],
        "like": LIKE.get(run["vectors"], ""),
        "seeds": run["seeds"],
        "F1": scores,
        "mean": middle,
        "interval": [max(0.0, low), min(100.0, high)],
        **{name: mean(each[name] for each in run["runs"]) for name in names},
        "vector_seconds": run["seconds"],
        "layers": run["layers"],
        "width": run["width"],
        "shares": [mean(each) for each in zip(*(r["shares"] for r in run["runs"]), strict=True)],
    }


def section(study: Mapping[str, Any]) -> str:
    """For RESULTS.md: a row for each kind of vectors, the best first."""
    best_first = sorted(study["rows"], key=lambda each: -each["mean"])
    lines = [
        [
            each["vectors"],
            each["like"],
            f"{each['layers']} × {each['width']}",
            error_cell(each),
            f"{each['precision']:.1f}",
            f"{each['recall']:.1f}",
            ", ".join(f"{share:.2f}" for share in each["shares"]) if each["layers"] > 1 else "",
        ]
        for each in best_first
    ]
    read = study["plan"]["models"]["words"]
    models = ", ".join(
        f"{each['kind']} {each['nats']:.2f} nats a target ({each['unigram']:.2f} from frequencies)"
        for each in study["language_models"]
    )
    published = ". ".join(
        f"{name}: {score} ({who})" for name, (score, who) in study["published"].items()
    )
    head = ["", "as in", "layers × width", "F1", "precision", "recall", "shares of the layers"]
    return markdown.section(
        "## A tagger on frozen states: from static vectors to ELMo",
        "Entity F1 on WNUT-17's test split in percent, mean over three seeds of one small tagger "
        f"with Student's interval. Language models on {read:,} words: {models}. "
        f"{source(study, 'lesson 11b')}",
        markdown.table(head, lines, left=(0, 1)),
        f"Published, with larger models: {published}.",
    )
