"""Schemes beyond the four choices: other features, more text, more labels, more models.

Each takes what a run has and returns the models whose mean probabilities are its answer. Every
training on the task is by the run's scheme, full fine-tuning if it names none, and by its recipe;
STILTs' other task is learnt for one epoch by full fine-tuning.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import torch
from torch import Tensor

from benchmarks import clocks, runner
from benchmarks.studies.initial_models import body_of
from tlcourse import corpora, files
from tlcourse.adaptation import (
    FULL,
    Classifier,
    Recipe,
    Scheme,
    adapt,
    pretrain_on_texts,
    self_train,
)
from tlcourse.pretraining import PretrainingRecipe

MEMBERS = 3  # of an ensemble
SURE = 0.8  # probability from which a guess counts as a label
TAPT_TOKENS = 400_000  # of the questions themselves, about five times through all of TREC
READINGS = 5  # of TAPT, with other seeds; draws of labels take them in turn
TAPT_RECIPE = PretrainingRecipe(
    batch_size=32, length=64, learning_rate=1e-3, muon_learning_rate=2e-3, warmup=20
)
INTERMEDIATE, INTERMEDIATE_TEXTS = "sst-2", 10_000  # the labelled task on the way

# Questions of 4 to 20 words that begin as TREC's do, and other sentences of that length.
QUESTION = re.compile(r"\b(?:Who|Whose|Whom|What|When|Where|Why|Which|How)(?: [^\s.!?<>]+){3,19}\?")
STATEMENT = re.compile(
    r"(?:(?<=[.!?>] )|(?<=>)|^)[A-Z][^\s.!?<>]*(?: [^\s.!?<>]+){3,19}\.(?= |<|$)"
)
ELSEWHERE = "imdb"  # where there are questions without a label once all of TREC's have one


@dataclass(frozen=True)
class Task:
    """What a run has: labelled texts, all texts without labels, where to start, how to train."""

    model: str
    pooling: str
    texts: Sequence[str]
    labels: Sequence[str] | Tensor  # or probabilities of them
    every_text: Sequence[str]  # with a label or without
    recipe: Recipe
    seed: int
    scheme: Scheme = FULL

    def start(self) -> Classifier:
        """The pretrained body under a new head, which goes on with torch's random numbers."""
        body, tokenizer = body_of(self.model)
        return Classifier(body, tokenizer, corpora.TREC_LABELS, pooling=self.pooling)

    def fit(self, classifier: Classifier, **more) -> Classifier:
        """A copy of the classifier, adapted by the task's scheme; `more` is for `adapt`."""
        return adapt(
            classifier,
            self.texts,
            self.labels,
            scheme=self.scheme,
            recipe=self.recipe,
            seed=self.seed,
            **more,
        )

    def unlabelled(self) -> list[str]:
        """The texts that have no label here; where all have one, questions in film reviews."""
        labelled = set(self.texts)
        rest = [text for text in self.every_text if text not in labelled]
        return rest or sentences_elsewhere(QUESTION)


def sentences_elsewhere(pattern: re.Pattern) -> list[str]:
    """QUESTIONs or STATEMENTs in ELSEWHERE's training reviews, each once, spaced as TREC's are."""
    reviews = corpora.load(ELSEWHERE)["train"]["text"]
    matches = (match.group() for review in reviews for match in pattern.finditer(review))
    return list(dict.fromkeys(f"{sentence[:-1]} {sentence[-1]}" for sentence in matches))


def concatenation(task: Task) -> list[Classifier]:
    """Last token, largest value and mean beside each other (Howard & Ruder, 2018)."""
    task = replace(task, pooling="concatenation")
    return [task.fit(task.start())]


def pretrained(task: Task, texts: Sequence[str]) -> Classifier:
    """Where the task starts after pretraining has gone on, on `texts`, for TAPT_TOKENS."""
    recipe = replace(TAPT_RECIPE, seed=task.seed)
    return pretrain_on_texts(task.start(), texts, tokens=TAPT_TOKENS, recipe=recipe)


def statements(task: Task) -> list[str]:
    """For each of the task's texts a STATEMENT out of reviews of as many words.

    Or of as near as the bounds of STATEMENT allow. Raises IndexError where one length runs out.
    """
    by_words = defaultdict(list)
    for statement in sentences_elsewhere(STATEMENT):
        by_words[len(statement.split())].append(statement)
    lengths = [len(text.split()) for text in task.every_text]
    bounds = min(by_words), max(by_words)
    return [by_words[min(max(length, bounds[0]), bounds[1])].pop(0) for length in lengths]


TAPT: dict[str, Callable[[Task], Sequence[str]]] = {  # what pretraining goes on with
    "TAPT": lambda task: task.every_text,
    "TAPT on statements of reviews": statements,
    "TAPT on questions of reviews": lambda task: sentences_elsewhere(QUESTION),
}


def reading(name: str, task: Task) -> tuple[dict[str, Tensor], float]:
    """The body that has read the texts of a form of TAPT, and the seconds of that.

    No label is read, so a reading serves many draws of labels: READINGS are kept, in
    `runs/readings/`.
    """
    task = replace(task, seed=task.seed % READINGS)
    texts = list(TAPT[name](task))
    known = [runner.digest(task.model), task.seed, TAPT_TOKENS, asdict(TAPT_RECIPE)]
    key = hashlib.sha256(json.dumps([*known, texts]).encode()).hexdigest()[:16]
    place = runner.FOLDER / "readings" / f"{key}.pt"
    if not place.exists():
        read, seconds = clocks.timed(lambda: pretrained(task, texts), runner.processor_clock())
        with files.atomic(place) as temporary:
            torch.save((read.body.cpu().state_dict(), seconds), temporary)
    return torch.load(place)


def tapt(name: str, task: Task) -> list[Classifier]:
    """Pretraining goes on, on the task's own texts or on others (Gururangan et al., 2020)."""
    body, _ = reading(name, task)
    torch.manual_seed(task.seed)  # the same head, whether there was a reading or not
    start = task.start()
    start.body.load_state_dict(body)
    return [task.fit(start)]


def stilts(task: Task) -> list[Classifier]:
    """Another labelled task first (Phang et al., 2018)."""
    other = corpora.load(INTERMEDIATE)["train"]
    other = other.shuffle(seed=task.seed).select(range(min(INTERMEDIATE_TEXTS, len(other))))
    start, names = task.start(), sorted(set(other["label"]))
    first = Classifier(start.body, start.tokenizer, names, pooling=task.pooling)
    recipe = Recipe(epochs=1)
    first = adapt(first, other["text"][:], other["label"][:], recipe=recipe, seed=task.seed)
    head = corpora.TREC_LABELS
    return [task.fit(Classifier(first.body, first.tokenizer, head, pooling=task.pooling))]


def self_training(task: Task) -> list[Classifier]:
    """A student of the labels and of its teacher's sure guesses (Du et al., 2021).

    Both begin with the same head.
    """
    return [
        self_train(
            task.start(),
            task.texts,
            task.labels,
            unlabelled=task.unlabelled(),
            threshold=SURE,
            scheme=task.scheme,
            recipe=task.recipe,
            seed=task.seed,
        )
    ]


def ensemble(task: Task) -> list[Classifier]:
    """Several fine-tunings that differ in their seed alone."""
    members = []
    for member in range(MEMBERS):
        seed = MEMBERS * task.seed + member
        torch.manual_seed(seed)
        members.append(replace(task, seed=seed).fit(task.start()))
    return members


def student(task: Task, texts: Sequence[str], teachers: Sequence[Tensor]) -> Classifier:
    """A model that learns the mean probabilities of teachers on `texts` (Hinton et al., 2015).

    `teachers` are (texts, labels) tensors.
    """
    torch.manual_seed(task.seed)
    return replace(task, texts=texts, labels=torch.stack(list(teachers)).mean(0)).fit(task.start())


def distilled_ensemble(task: Task) -> list[Classifier]:
    """One student of an ensemble's probabilities on all texts."""
    teachers = [member.probabilities(task.every_text) for member in ensemble(task)]
    return [student(task, task.every_text, teachers)]


MULTI_STAGE: dict[str, Callable[[Task], list[Classifier]]] = {
    "pooled concatenation": concatenation,
    **{name: partial(tapt, name) for name in TAPT},
    "STILTs": stilts,
    "self-training": self_training,
    "ensemble": ensemble,
    "distilled ensemble": distilled_ensemble,
}
