"""LoRA: steps per second of ours against `peft` in the same model, and against full fine-tuning.

All train the classifier of the course on the same 32 questions of TREC, from the same random
weights of the shipped shape, with fused AdamW over the trained parameters, in the machine's
precision; the adapters are of the same rank, in the same projections. A row's `ratio` is our LoRA's
speed divided by the other's: above 1, it is faster; `memory_ratio` compares the memory of a step.
"""

import peft
from torch import nn

from benchmarks import runner
from benchmarks.speed import finetuning, harness
from benchmarks.speed.harness import Contest, Entry
from tlcourse import corpora, device, sizes
from tlcourse.adaptation import LoRA

RANK, ALPHA, LAYERS = 8, 16.0, ("query", "value")
OURS, PEFT, FULL = "our LoRA", "peft", "full fine-tuning"
SECONDS = {"tiny": 0.05, "small": 3.0, "full": 10.0}  # of each contestant in a round


class Learner(finetuning.Learner):
    """A classifier and its one batch; what is trained is what the edit added, and the head."""

    pooling = "mean"

    def __init__(self, name: str, task: finetuning.Task):
        self.name = name
        super().__init__(task, device.choose().precision)
        self.batch = self.longest()

    def build(self) -> nn.Module:
        """The package's classifier with the layers of this contestant; none in full fine-tuning."""
        model = super().build()
        known = {path for path, _ in model.named_parameters() if path.startswith("body.")}
        if self.name == OURS:
            LoRA(RANK, ALPHA, LAYERS)(model)
        elif self.name == PEFT:
            settings = peft.LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=list(LAYERS))
            peft.inject_adapter_in_model(settings, model.body)
        for path, parameter in model.named_parameters():
            old = path.replace(".base_layer", "").replace(".base", "") in known
            parameter.requires_grad_(self.name == FULL or not old)
        return model

    def run(self, steps: int) -> None:
        """Steps on the same batch."""
        for _ in range(steps):
            self.optimizer.zero_grad(set_to_none=True)
            with self.compute.autocast():
                loss = self.loss(self.batch)
            loss.backward()
            self.optimizer.step()


def measure() -> dict:
    """One contest, a row for each contestant but ours."""
    size, data = sizes.current().name, corpora.load("trec")
    scale, count = finetuning.SCALES[size], finetuning.Task.batch_size
    questions = data["train"].select(range(count))
    task = finetuning.Task(scale.shape("causal"), questions["text"][:], questions["label"][:])
    entries = [Entry(name, Learner, {"name": name, "task": task}) for name in (OURS, PEFT, FULL)]
    with Contest(entries) as contest:
        contest.warm_up(2, 5)
        rates, facts = contest.rates(scale.rounds, SECONDS[size]), contest.ask("facts")
    if facts[OURS]["trained"] != facts[PEFT]["trained"]:
        raise RuntimeError(f"expected the same numbers to be trained in both, got {facts}")
    return {
        "job": "lora",
        **runner.provenance(f"{count} questions of TREC train, {corpora.source_of(data)}", peft),
        "rows": [
            {"job": "lora", "peer": name}
            | harness.against(OURS, name, rates, facts)
            | {"trained": facts[name]["trained"], "trained_ours": facts[OURS]["trained"]}
            for name in (PEFT, FULL)
        ],
    }
