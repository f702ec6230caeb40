"""Fine-tuning on TREC: questions per second, ours against padding to the longest and transformers.

Ours is `adapt` as the lessons call it, a copy of the model and cutting questions into tokens
included; the others get the tokens. All start from random weights of the shipped shape, see every
question once a round, 32 a step, with fused AdamW and no dropout: in float32, and in the machine's
faster precision, if it has one; a row compares two of the same (`precision`). transformers trains
in a plain loop with its own `LengthGroupedSampler` and `DataCollatorWithPadding`. Nobody compiles:
that takes longer than the whole fine-tuning. A row's `ratio` is our questions per second divided by
the peer's: above 1, ours is faster; `memory_ratio` compares the step on the longest questions. A
part of it is work left out: all heads read one position, and ours runs the last block at that
position alone, which transformers does not.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from transformers.trainer_pt_utils import LengthGroupedSampler

from benchmarks import runner
from benchmarks.speed.baselines import BertClassifier, Form, GPT2Classifier, plain_step
from benchmarks.speed.harness import Contest, Entry, ratio
from tlcourse import checkpoints, corpora, device, sizes
from tlcourse.adaptation import Classifier, Recipe, adapt, classification_loss, encode
from tlcourse.batching import generator_for, pad
from tlcourse.bpe import PAD, Tokenizer
from tlcourse.memory import training_memory
from tlcourse.training import train
from tlcourse.transformer import Config, Transformer

VOCABULARY = "causal-small"  # whose tokens everybody reads


@dataclass(frozen=True)
class Scale:
    """What is measured at a size."""

    width: int
    layers: int
    heads: int
    questions: int  # at most
    rounds: int


SCALES = {
    "tiny": Scale(32, 2, 2, 64, 2),
    "small": Scale(256, 6, 4, 2_000, 7),
    "full": Scale(256, 6, 4, 10_000, 7),
}


@dataclass(frozen=True)
class Task:
    """What everybody learns: questions and their labels, with a body of this shape."""

    config: Config
    texts: list[str]
    labels: list[str]
    batch_size: int = 32  # questions a step

    def names(self) -> list[str]:
        """The labels there are."""
        return sorted(set(self.labels))


class Learner:
    """What ours and the peers share: the questions as tokens, and how long they are."""

    def __init__(self, task: Task, compute: device.Compute):
        torch.manual_seed(0)
        self.task, self.compute, self.done, self.units = task, compute, 0, len(task.texts)
        self.tokenizer = Tokenizer.load(checkpoints.folder_of(VOCABULARY) / "tokenizer.json")
        self.sequences = encode(task.texts, self.tokenizer, task.config.max_length)
        self.labels = torch.tensor([task.names().index(label) for label in task.labels])
        self.lengths = [len(sequence) for sequence in self.sequences]

    def optimizer_for(self, model: nn.Module) -> torch.optim.Optimizer:
        """The same for all."""
        return torch.optim.AdamW(model.parameters(), lr=5e-4, fused=True)

    def longest(self) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens, mask and labels of the longest questions, as many as there are in a step."""
        order = sorted(range(self.units), key=lambda row: -self.lengths[row])
        rows = order[: self.task.batch_size]
        parts = *pad([self.sequences[row] for row in rows], PAD), self.labels[rows]
        return tuple(part.to(self.compute.device) for part in parts)

    def facts_of(self, model: nn.Module, loss: Callable[[tuple], Tensor]) -> dict:
        """Parameters, and the bytes of the step on the longest questions."""
        batch = self.longest()

        def forward() -> Tensor:
            with self.compute.autocast():
                return loss(batch)

        memory = training_memory(model.train(), [self.optimizer_for(model)], forward)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        return {"parameters": parameters, "memory": memory.total}


class Ours(Learner):
    """The package's `adapt`: batches of about equal lengths."""

    def __init__(self, task: Task, precision: torch.dtype):
        super().__init__(task, replace(device.choose(), precision=precision))
        body = Transformer(task.config, self.compute.attention)
        model = Classifier(
            body, self.tokenizer, task.names(), pooling="classification token", dropout=0.0
        )
        self.model = model.to(self.compute.device)

    def facts(self) -> dict:
        """See `facts_of`."""
        return self.facts_of(self.model, lambda batch: classification_loss(self.model, batch)[0])

    def run(self, steps: int) -> None:
        """A step is an epoch."""
        recipe, task = Recipe(epochs=1, batch_size=self.task.batch_size), self.task
        for _ in range(steps):
            self.model = adapt(
                self.model, task.texts, task.labels, recipe=recipe, seed=self.done,
                compute=self.compute,
            )  # fmt: skip
            self.done += 1


class Padded(Ours):
    """The same model and engine, each question padded to the longest of the data set."""

    def run(self, steps: int) -> None:
        """A step is an epoch."""
        longest, size = max(self.lengths), self.task.batch_size
        for _ in range(steps):
            order = torch.randperm(self.units, generator=generator_for(self.done)).tolist()

            def batch_of(step: int, order: list[int] = order) -> tuple[Tensor, ...]:
                rows = order[step * size : (step + 1) * size]
                tokens, mask = pad([self.sequences[row] for row in rows], PAD)
                rest = (0, longest - tokens.shape[1])
                tokens, mask = F.pad(tokens, rest, value=PAD), F.pad(mask, rest)
                return tokens, mask, self.labels[rows]

            train(
                self.model, classification_loss, batch_of, steps=-(-self.units // size),
                optimizers=[self.optimizer_for(self.model)], compute=self.compute, seed=self.done,
            )  # fmt: skip
            self.done += 1


class Library(Learner):
    """transformers: its model, its sampler by length, its collator."""

    def __init__(self, task: Task, build: Callable[..., nn.Module], form: Form):
        super().__init__(task, replace(device.choose(), precision=form.precision))
        model = build(task.config, form.attention, len(task.names()))
        self.model = model.to(self.compute.device).train()
        self.optimizer = self.optimizer_for(self.model)
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

    def facts(self) -> dict:
        """See `facts_of`."""
        return self.facts_of(self.model, lambda batch: self.model(*batch))

    def run(self, steps: int) -> None:
        """A step is an epoch."""
        for _ in range(steps):
            for batch in self.loader:
                there = batch.to(self.compute.device)
                plain_step(self.model, there, self.optimizer, self.compute)


BODIES = {
    "causal": ("Hugging Face GPT-2, grouped by length", GPT2Classifier),
    "two-sided": ("Hugging Face BERT, grouped by length", BertClassifier),
}


def measure() -> dict:
    """A causal and a two-sided body, each with its peers."""
    scale, data = SCALES[sizes.current().name], corpora.load("trec")
    questions = data["train"].select(range(min(scale.questions, len(data["train"]))))
    texts, labels, rows = list(questions["text"]), list(questions["label"]), []
    for body in BODIES:
        shape = Config(
            width=scale.width, layers=scale.layers, heads=scale.heads,
            feed_forward=4 * scale.width, causal=body == "causal",
        )  # fmt: skip
        rows += compete(body, Task(shape, texts, labels), scale.rounds)
    return {
        "job": "finetuning",
        **runner.provenance(
            f"{len(texts):,} questions of TREC train, {corpora.source_of(data)}", transformers
        ),
        "rows": rows,
    }


def pairs(body: str, task: Task) -> Iterator[tuple[Entry, Entry, dict[str, str]]]:
    """What a row compares: ours, who is beside it in the same precision, and what is said of it."""
    name, build = BODIES[body]
    quicker = "eager" if device.choose().attention == "explicit" else "sdpa"
    fast = device.choose().precision
    for precision in dict.fromkeys([fast, torch.float32]):
        said, mine = str(precision).removeprefix("torch."), {"task": task, "precision": precision}
        ours = Entry(f"ours, {said}", Ours, mine)
        if precision == fast:
            words = {"peer": "padding to the longest", "form": "our model and engine"}
            padded = Entry(f"ours, {said}, padded to the longest", Padded, mine)
            yield ours, padded, {"precision": said, **words}
        for form in dict.fromkeys([Form(precision, "sdpa"), Form(precision, quicker)]):
            theirs = {"task": task, "build": build, "form": form}
            words = {"peer": name, "form": f"{form.attention} attention"}
            library = Entry(f"{name}, {form}", Library, theirs)
            yield ours, library, {"precision": said, **words}


def compete(body: str, task: Task, rounds: int) -> list[dict]:
    """One contest: a row for each pair."""
    rows = list(pairs(body, task))
    print(f"fine-tuning, {body} body: warming up", flush=True)
    entries = {entry.name: entry for pair in rows for entry in pair[:2]}
    with Contest(entries.values()) as contest:
        contest.warm_up(1)
        rates, facts = contest.rates(rounds, 0.0), contest.ask("facts")
    return [
        {"job": "finetuning", "body": body, **words}
        | _compared(ours.name, theirs.name, rates, facts)
        for ours, theirs, words in rows
    ]


def _compared(ours: str, theirs: str, rates: dict[str, list[float]], facts: dict) -> dict:
    return {
        **ratio(rates[ours], rates[theirs]),
        "memory_ratio": round(facts[ours]["memory"] / facts[theirs]["memory"], 3),
        "questions_per_second": round(statistics.median(rates[theirs])),
        "questions_per_second_ours": round(statistics.median(rates[ours])),
        "parameters": facts[theirs]["parameters"],
        "parameters_ours": facts[ours]["parameters"],
    }
