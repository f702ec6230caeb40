"""The contestants of pretraining: ours as the package runs it, and libraries in a plain loop.

All have the same shape, data, optimizer and settings, and no dropout.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import torch
from torch import Tensor, nn

from benchmarks import clocks
from benchmarks.speed.baselines import IGNORED, Form, plain_step
from tlcourse import device, objectives, pretraining
from tlcourse.batching import TokenFile
from tlcourse.memory import training_memory
from tlcourse.training import train
from tlcourse.transformer import Config, Transformer, flops_per_token


@dataclass(frozen=True)
class Workload:
    """What everybody trains: "causal" or "masked", its shape, and where the tokens lie."""

    objective: str
    config: Config
    batch_size: int  # windows a step
    length: int  # tokens a window
    tokens: str  # path of the token file
    compiles: bool  # whether who can compile does

    def batches(self) -> Callable[[int], tuple[Tensor, ...]]:
        """The package's batches of the objective, the same for all contestants."""
        recipe = pretraining.PretrainingRecipe(
            self.objective, batch_size=self.batch_size, length=self.length
        )
        return pretraining.batches(TokenFile(self.tokens), self.config, recipe)

    def flops(self) -> float:
        """Operations of the matrix products that one training step needs.

        The vocabulary is counted only where there is a target: 15 % of the positions when masked.
        """
        everywhere = flops_per_token(self.config, self.length)
        head = everywhere - flops_per_token(replace(self.config, vocabulary_size=0), self.length)
        asked = 1.0 if self.objective == "causal" else 0.15
        return 3 * self.batch_size * self.length * (everywhere - (1 - asked) * head)


class Trainee:
    """What ours and the peers share: a model, its optimizer, and a count of steps."""

    def __init__(self, work: Workload, model: nn.Module, compute: device.Compute):
        torch.manual_seed(0)
        self.work, self.compute, self.done = work, compute, 0
        self.model = model.to(compute.device).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, fused=True)
        self.units, self.batch_of = work.batch_size * work.length, work.batches()

    def batch(self, step: int) -> tuple[Tensor, ...]:
        """The tensors of a step, on the device."""
        return tuple(part.to(self.compute.device) for part in self.batch_of(step))

    def loss(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        """Loss in the contestant's own way, and the number of targets behind it."""
        raise NotImplementedError

    def facts(self) -> dict:
        """Parameters, the work of a step and its memory: what must be equal, and what is not."""
        batch, found = self.batch(0), {}

        def forward() -> Tensor:
            with self.compute.autocast():
                value, found["targets"] = self.loss(batch)
            found["loss"] = value.item()
            return value

        memory = training_memory(self.model, [self.optimizer], forward)
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        found |= {"memory": memory.total, "memory_parts": asdict(memory)}
        return found | {"parameters": parameters}


class Ours(Trainee):
    """The package's model, losses and engine, prepared as `tlcourse pretrain` does."""

    def __init__(self, work: Workload):
        compute = device.choose()
        super().__init__(work, Transformer(work.config, compute.attention), compute)
        self.nats = pretraining.OBJECTIVES[work.objective].loss
        if work.compiles and compute.compiles:
            pretraining.compile_blocks(self.model, compute=compute)

    def loss(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        """Mean nats a target."""
        nats, targets = self.nats(self.model, batch)
        return nats / targets, targets

    def run(self, steps: int) -> None:
        """Steps of the one training loop."""
        first, self.done = self.done, self.done + steps
        train(
            self.model, self.nats, lambda step: self.batch_of(first + step), steps=steps,
            optimizers=[self.optimizer], compute=self.compute,
        )  # fmt: skip

    def breakdown(self, repeats: int) -> dict[str, float]:
        """Milliseconds of body, head and the rest (clipping, optimizer, batch) of a step.

        The head is timed on hidden states that stand alone, the body is forward and backward
        without it, the rest is what a whole step takes longer. Best of `repeats`.
        """
        self.model.train()
        batch, config = self.batch(0), self.work.config
        count = batch[-1].sum().item() if len(batch) > 1 else self.units  # chosen ones, or all
        hidden = torch.randn(count, config.width, device=self.compute.device, requires_grad=True)
        targets = torch.randint(config.vocabulary_size, (count,), device=self.compute.device)

        def head() -> None:
            with self.compute.autocast():
                loss = objectives.language_model_loss(self.model, hidden, targets)
            loss.backward()

        def both() -> None:
            with self.compute.autocast():
                loss = self.nats(self.model, batch)[0]
            loss.backward()

        head_ms, both_ms = (self._milliseconds(part, repeats) for part in (head, both))
        step_ms = _best(lambda: self.run(1), repeats)
        parts = {"body": both_ms - head_ms, "head": head_ms, "optimizer": step_ms - both_ms}
        return {name: round(value, 1) for name, value in parts.items()}

    def _milliseconds(self, part: Callable[[], None], repeats: int) -> float:
        def cleared() -> None:
            self.optimizer.zero_grad(set_to_none=True)
            part()

        return _best(cleared, repeats)

    def peak(self, side: int) -> float:
        """Operations per second of the best of ten large square products, in our precision."""
        a, b = (
            torch.randn(side, side, device=self.compute.device).to(self.compute.precision)
            for _ in range(2)
        )
        return 2 * side**3 / (_best(lambda: a @ b, 10) / 1e3)


class Peer(Trainee):
    """A library's model in one of its forms; `keeps_memory`: with our setting of the allocator."""

    def __init__(
        self,
        work: Workload,
        build: Callable[[Config, str], nn.Module],
        form: Form,
        keeps_memory: bool,
    ):
        compute = replace(device.choose(), precision=form.precision)
        super().__init__(work, build(work.config, form.attention), compute)
        if keeps_memory:
            device.keep_freed_memory()
        if form.compiled:
            self.model.compile()

    def loss(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        """The library's own loss: mean nats a target."""
        inputs, targets = _inputs_and_targets(batch)
        return self.model(inputs, targets), int((targets != IGNORED).sum())

    def run(self, steps: int) -> None:
        """Steps of the plain loop."""
        for _ in range(steps):
            inputs, targets = _inputs_and_targets(self.batch(self.done))
            batch = {"inputs": inputs, "targets": targets}
            plain_step(self.model, batch, self.optimizer, self.compute)
            self.done += 1


def _inputs_and_targets(batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """The package's batch as libraries want it: both (batch, length), IGNORED = no target."""
    if len(batch) == 1:
        return batch[0][:, :-1], batch[0][:, 1:].contiguous()
    corrupted, tokens, chosen = batch
    return corrupted, tokens.masked_fill(~chosen, IGNORED)


def _best(function: Callable[[], object], repeats: int) -> float:
    """Milliseconds of the quickest of `repeats` calls."""
    return 1e3 * min(clocks.timed(function)[1] for _ in range(repeats))
