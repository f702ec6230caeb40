"""Fine-tuning on TREC: questions per second, ours against padding to the longest and transformers.

Ours is `adapt` as the lessons call it, a copy of the model and tokenizing the questions included;
the others get the tokens. All start from random weights of the shipped shape, see every question
once a round, 32 a step, with fused AdamW and no dropout: in float32, and in the machine's faster
precision, if it has one; a row compares two of the same (`precision`). transformers trains in a
plain loop with its own `LengthGroupedSampler` and `DataCollatorWithPadding`. Nothing is compiled:
that takes longer than the whole fine-tuning. A row's `ratio` is our questions per second divided by
the other's: above 1, ours is faster; `memory_ratio` compares the step on the longest questions. A
part of it is work left out: all heads read one position, and ours runs the last block at that
position alone, which transformers does not.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from transformers.trainer_pt_utils import LengthGroupedSampler

from benchmarks import runner
from benchmarks.speed import harness
from benchmarks.speed.baselines import BertClassifier, Form, GPT2Classifier, Trainee, plain_step
from benchmarks.speed.harness import Contest, Entry
from tlcourse import checkpoints, corpora, device, sizes
from tlcourse.adaptation import Classifier, Recipe, adapt, classification_loss, encode
from tlcourse.batching import generator_for, pad
from tlcourse.bpe import PAD, Tokenizer
from tlcourse.training import train
from tlcourse.transformer import Config, Transformer

VOCABULARY = "causal-small"  # the checkpoint whose tokenizer all use


@dataclass(frozen=True)
class Scale:
    """What is measured at a size."""

    width: int
    layers: int
    heads: int
    questions: int  # at most
    rounds: int

    def shape(self, body: str) -> Config:
        """The shape of one of BODIES."""
        return Config(
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            feed_forward=4 * self.width,
            causal=body == "causal",
        )


SCALES = {
    "tiny": Scale(32, 2, 2, 64, 2),
    "small": Scale(256, 6, 4, 2_000, 7),
    "full": Scale(256, 6, 4, 10_000, 7),
}


@dataclass(frozen=True)
class Task:
    """What all contestants learn: questions and their labels, with a body of this shape."""

    config: Config
    texts: list[str]
    labels: list[str]
    batch_size: int = 32  # questions a step

    def names(self) -> list[str]:
        """The labels there are."""
        return sorted(set(self.labels))


class Learner(Trainee):
    """What ours and the libraries share: the questions as tokens, and a count of epochs."""

    pooling = "classification token"  # one position, as the libraries read

    def __init__(self, task: Task, precision: torch.dtype):
        torch.manual_seed(0)
        self.task, self.done, self.units = task, 0, len(task.texts)
        self.compute = replace(device.choose(), precision=precision)
        self.tokenizer = Tokenizer.load(checkpoints.folder_of(VOCABULARY) / "tokenizer.json")
        self.sequences = encode(task.texts, self.tokenizer, task.config.max_length)
        self.labels = torch.tensor([task.names().index(label) for label in task.labels])
        self.lengths = [len(sequence) for sequence in self.sequences]
        super().__init__(self.build(), self.compute, 5e-4)

    def build(self) -> nn.Module:
        """The package's classifier; libraries have their own."""
        body = Transformer(self.task.config, self.compute.attention)
        names = self.task.names()
        return Classifier(body, self.tokenizer, names, pooling=self.pooling, dropout=0.0)

    def loss(self, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Mean nats a label of tokens, mask and labels."""
        return classification_loss(self.model, batch)[0]

    def longest(self) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens, mask and labels of the longest questions, as many as there are in a step."""
        order = sorted(range(self.units), key=lambda row: -self.lengths[row])
        rows = order[: self.task.batch_size]
        parts = *pad([self.sequences[row] for row in rows], PAD), self.labels[rows]
        return tuple(part.to(self.compute.device) for part in parts)

    def facts(self) -> dict:
        """The figures of the step on the longest questions."""
        return self.figures(lambda: self.loss(self.longest()))

    def epoch(self) -> None:
        """Trains on every question once."""
        raise NotImplementedError

    def run(self, steps: int) -> None:
        """A step is an epoch."""
        for _ in range(steps):
            self.epoch()
            self.done += 1


class Ours(Learner):
    """The package's `adapt`: batches of about equal lengths."""

    def epoch(self) -> None:
        """A copy of the model, adapted."""
        recipe = Recipe(epochs=1, batch_size=self.task.batch_size)
        self.model = adapt(
            self.model,
            self.task.texts,
            self.task.labels,
            recipe=recipe,
            seed=self.done,
            compute=self.compute,
        )


class Padded(Learner):
    """The same model and engine, each question padded to the longest of the data set."""

    def epoch(self) -> None:
        """In a random order."""
        longest, size = max(self.lengths), self.task.batch_size
        order = torch.randperm(self.units, generator=generator_for(self.done)).tolist()

        def batch_of(step: int) -> tuple[Tensor, ...]:
            rows = order[step * size : (step + 1) * size]
            tokens, mask = pad([self.sequences[row] for row in rows], PAD)
            rest = (0, longest - tokens.shape[1])
            tokens, mask = F.pad(tokens, rest, value=PAD), F.pad(mask, rest)
            return tokens, mask, self.labels[rows]

        train(
            self.model,
            classification_loss,
            batch_of,
            steps=-(-self.units // size),
            optimizers=[self.new_optimizer()],
            compute=self.compute,
            seed=self.done,
        )


class Library(Learner):
    """transformers: its model, its sampler by length, its collator."""

    def __init__(self, task: Task, model: Callable[..., nn.Module], form: Form):
        self.build = lambda: model(task.config, form.attention, len(task.names()))
        super().__init__(task, form.precision)
        fast = transformers.PreTrainedTokenizerFast(
            tokenizer_object=self.tokenizer.to_library(), pad_token="<pad>"
        )
        examples = [
            {"input_ids": ids, "labels": label}
            for ids, label in zip(self.sequences, self.labels.tolist(), strict=True)
        ]
        self.loader = DataLoader(
            examples,
            batch_size=task.batch_size,
            sampler=LengthGroupedSampler(task.batch_size, lengths=self.lengths),
            collate_fn=transformers.DataCollatorWithPadding(fast),
        )

    def loss(self, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """The library's own."""
        return self.model(*batch)

    def epoch(self) -> None:
        """In the plain loop."""
        for batch in self.loader:
            there = batch.to(self.compute.device)
            plain_step(self.model, there, self.optimizer, self.compute)


BODIES = {
    "causal": ("Hugging Face GPT-2, grouped by length", GPT2Classifier),
    "two-sided": ("Hugging Face BERT, grouped by length", BertClassifier),
}


def measure() -> dict:
    """A causal and a two-sided body, each with its baselines."""
    scale, data = SCALES[sizes.current().name], corpora.load("trec")
    questions = data["train"].select(range(min(scale.questions, len(data["train"]))))
    texts, labels = list(questions["text"]), list(questions["label"])
    note = f"{len(texts):,} questions of TREC train, {corpora.source_of(data)}"
    rows = [
        row
        for body in BODIES
        for row in compete(body, Task(scale.shape(body), texts, labels), scale.rounds)
    ]
    return {"job": "finetuning", **runner.provenance(note, transformers), "rows": rows}


def pairs(body: str, task: Task) -> Iterator[tuple[Entry, Entry, dict[str, str]]]:
    """Of each row: our contestant, another one in the same precision, the words of the row."""
    name, model = BODIES[body]
    quicker = "eager" if device.choose().attention == "explicit" else "sdpa"
    fast = device.choose().precision
    for precision in dict.fromkeys([fast, torch.float32]):
        title = str(precision).removeprefix("torch.")
        shared = {"task": task, "precision": precision}
        ours = Entry(f"ours, {title}", Ours, shared)
        if precision == fast:
            words = {"peer": "padding to the longest", "form": "our model and engine"}
            padded = Entry(f"ours, {title}, padded to the longest", Padded, shared)
            yield ours, padded, {"precision": title, **words}
        for form in dict.fromkeys([Form(precision, "sdpa"), Form(precision, quicker)]):
            words = {"peer": name, "form": f"{form.attention} attention"}
            theirs = {"task": task, "model": model, "form": form}
            library = Entry(f"{name}, {form}", Library, theirs)
            yield ours, library, {"precision": title, **words}


def compete(body: str, task: Task, rounds: int) -> list[dict]:
    """One contest: a row for each pair."""
    compared = list(pairs(body, task))
    print(f"fine-tuning, {body} body: warming up", flush=True)
    entries = {entry.name: entry for pair in compared for entry in pair[:2]}
    with Contest(entries.values()) as contest:
        contest.warm_up(1)
        rates, facts = contest.rates(rounds, 0.0), contest.ask("facts")
    return [
        {
            "job": "finetuning",
            "body": body,
            **words,
            **harness.against(ours.name, theirs.name, rates, facts),
            "questions_per_second": round(statistics.median(rates[theirs.name])),
            "questions_per_second_ours": round(statistics.median(rates[ours.name])),
            "parameters": facts[theirs.name]["parameters"],
            "parameters_ours": facts[ours.name]["parameters"],
        }
        for ours, theirs, words in compared
    ]


def section(study: Mapping[str, Any]) -> str:
    """The section of RESULTS.md from what `finetuning` stored: a line a body, precision, baseline.

    Of a baseline's forms, its fastest.
    """
    return (
        "Fine-tuning, our questions per second over theirs, nobody compiled; in brackets the "
        f"lowest and the highest of {study['rows'][0]['rounds']} rounds. "
        f"{study['data']}; {study['machine']} (`python -m benchmarks finetuning`):\n\n"
        + _lines(study)
    )


def again_section(study: Mapping[str, Any]) -> str:
    """The same lines from `finetuning_again`: a second run of that command on another machine."""
    return (
        "The same command on another machine of that kind, where the rounds lie farther apart:\n\n"
        + _lines(study)
    )


def _lines(study: Mapping[str, Any]) -> str:
    rows: dict[tuple[str, str, str], dict] = {}
    for row in study["rows"]:
        key = row["body"], row["precision"], row["peer"]
        rows[key] = min(rows.get(key, row), row, key=lambda row: row["ratio"])
    return "\n".join(
        f"- {body} body, {precision}, {peer} ({row['form']}): {row['ratio']:.2f} "
        f"({row['ratio_lowest']:.2f} to {row['ratio_highest']:.2f})"
        for (body, precision, peer), row in rows.items()
    )
