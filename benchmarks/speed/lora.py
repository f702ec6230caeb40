"""LoRA: steps per second of ours against `peft` in the same model, and against full fine-tuning.

All train the classifier of the course on the same 32 questions of TREC, from the same random
weights of the shipped shape, with fused AdamW over what moves, in the machine's precision; the
adapters are of the same rank, in the same projections. A row's `ratio` is our LoRA's speed divided
by the other's: above 1, it is faster; `memory_ratio` compares the memory of a step.
"""

from dataclasses import dataclass

import peft
import torch
from torch import nn

from benchmarks import runner
from benchmarks.speed.harness import Contest, Entry, ratio
from tlcourse import checkpoints, corpora, device, sizes
from tlcourse.adaptation import Classifier, LoRA, classification_loss
from tlcourse.batching import pad
from tlcourse.bpe import PAD, Tokenizer
from tlcourse.memory import training_memory
from tlcourse.transformer import Config, Transformer

RANK, ALPHA, LAYERS = 8, 16.0, ("query", "value")
BATCH = 32  # questions a step
OURS, PEFT, FULL = "our LoRA", "peft", "full fine-tuning"


@dataclass(frozen=True)
class Scale:
    """What is measured at a size."""

    width: int
    layers: int
    heads: int
    rounds: int
    seconds: float  # of each contestant in a round


SCALES = {
    "tiny": Scale(32, 2, 2, 2, 0.05),
    "small": Scale(256, 6, 4, 7, 3.0),
    "full": Scale(256, 6, 4, 7, 10.0),
}


def with_ours(model: nn.Module) -> None:
    """The package's edit."""
    LoRA(RANK, ALPHA, LAYERS)(model)


def with_peft(model: nn.Module) -> None:
    """The library's layers in the same places."""
    settings = peft.LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=list(LAYERS))
    peft.inject_adapter_in_model(settings, model.body)


def with_all(model: nn.Module) -> None:
    """Nothing is added, everything moves."""


EDITS = {OURS: with_ours, PEFT: with_peft, FULL: with_all}


class Learner:
    """A classifier and its one batch; what moves is what the edit added, and the head."""

    units = BATCH

    def __init__(self, name: str, config: Config, texts: list[str], labels: list[str]):
        torch.manual_seed(0)
        self.compute = device.choose()
        body = Transformer(config, self.compute.attention)
        tokenizer = Tokenizer.load(checkpoints.folder_of("causal-small") / "tokenizer.json")
        model = Classifier(body, tokenizer, sorted(set(labels)), dropout=0.0)
        known = {name for name, _ in model.named_parameters() if name.startswith("body.")}
        EDITS[name](model)
        for each, parameter in model.named_parameters():
            old = each.replace(".base_layer", "").replace(".base", "") in known
            parameter.requires_grad_(name == FULL or not old)
        self.model = model.to(self.compute.device).train()
        moving = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(moving, lr=5e-4, fused=True)
        numbers = torch.tensor([model.labels.index(label) for label in labels])
        parts = *pad(model.encode(texts), PAD), numbers
        self.batch = tuple(part.to(self.compute.device) for part in parts)

    def loss(self) -> torch.Tensor:
        """Nats of the batch."""
        with self.compute.autocast():
            return classification_loss(self.model, self.batch)[0]

    def run(self, steps: int) -> None:
        """So many steps on the same batch."""
        for _ in range(steps):
            self.optimizer.zero_grad(set_to_none=True)
            self.loss().backward()
            self.optimizer.step()

    def facts(self) -> dict:
        """Numbers that move, and the bytes of a step."""
        moving = sum(p.numel() for p in self.model.parameters() if p.requires_grad)
        memory = training_memory(self.model, [self.optimizer], self.loss).total
        return {"trained": moving, "memory": memory}


def measure() -> dict:
    """One contest, a row for each other."""
    scale, data = SCALES[sizes.current().name], corpora.load("trec")
    questions = data["train"].select(range(BATCH))
    config = Config(
        width=scale.width, layers=scale.layers, heads=scale.heads, feed_forward=4 * scale.width
    )
    given = {"config": config, "texts": questions["text"][:], "labels": questions["label"][:]}
    entries = [Entry(name, Learner, {"name": name} | given) for name in EDITS]
    with Contest(entries) as contest:
        contest.warm_up(2, 5)
        rates, facts = contest.rates(scale.rounds, scale.seconds), contest.ask("facts")
    if facts[OURS]["trained"] != facts[PEFT]["trained"]:
        raise RuntimeError(f"expected the same numbers to move in both, got {facts}")
    return {
        "job": "lora",
        **runner.provenance(f"{BATCH} questions of TREC train, {corpora.source_of(data)}", peft),
        "rows": [
            {"job": "lora", "peer": name}
            | ratio(rates[OURS], rates[name])
            | {
                "memory_ratio": round(facts[OURS]["memory"] / facts[name]["memory"], 3),
                "trained": facts[name]["trained"],
                "trained_ours": facts[OURS]["trained"],
            }
            for name in (PEFT, FULL)
        ],
    }
