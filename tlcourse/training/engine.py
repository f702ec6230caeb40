"""Ignite's engine around one optimizer step, and `train`, which runs it to the end."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from ignite import distributed as idist
from ignite.engine import Engine, Events, State
from torch import Tensor, nn

from tlcourse import device
from tlcourse.batching import generator_for
from tlcourse.device import Compute
from tlcourse.training import step as parts
from tlcourse.training.resuming import Keeper, Resume
from tlcourse.training.step import Batch

Loss = Callable[[nn.Module, Batch], tuple[Tensor, int]]
Schedule = Callable[[int], float | Mapping[str, float]]
LEARNING_RATE = 1e-3  # of the default optimizer
# Ignite logs every exception that passes through it, although our callers report it, too.
LOGGER = logging.getLogger("tlcourse.training")
LOGGER.addFilter(lambda record: "terminating due to exception" not in record.getMessage())


class Trainer(Engine):
    """Ignite's engine around one optimizer step; any Ignite handler can be attached to it.

    `loss(model, batch)` returns the sum of nats and the number of targets. `batches` is a function
    of the step, counted from 0, or a sequence, which is repeated; `steps` is its length unless
    given. A batch is a tuple of tensors, split into `accumulate` parts along their first dimension.
    `optimizers` are by default one AdamW at 1e-3 for all parameters that require a gradient.

    The learning rate of each parameter group is its own times `schedule(step)`, or, if that is a
    mapping, times the value for the group's "name". A group whose value is 0 is frozen in that
    step, and so is its optimizer state. Without a schedule the trainer does not set learning rates.
    The gradient is that of the mean over all targets of the step, clipped once to the norm `clip`.
    With `seed` None the dropout is drawn from PyTorch's global generator.

    `state.output` is the record of the step: step, loss, norm, factor, seconds; `history` holds all
    records. Raises ValueError for a function without `steps`; see `run` for further errors.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        batches: Callable[[int], Batch] | Sequence[Batch],
        *,
        steps: int | None = None,
        optimizers: Iterable[torch.optim.Optimizer] | None = None,
        schedule: Schedule | None = None,
        compute: Compute | None = None,
        seed: int | None = 0,
        clip: float = 1.0,
        accumulate: int = 1,
    ):
        super().__init__(self._one_step)
        self.compute = device.choose() if compute is None else compute
        self.model, self.loss = model.to(self.compute.device), loss
        self.steps = _steps_of(batches, steps)
        self.batch_of = batches if callable(batches) else lambda k: batches[k % len(batches)]
        self.optimizers = [_adamw(model)] if optimizers is None else list(optimizers)
        self.schedule, self.seed = schedule, seed
        self.clip, self.accumulate = clip, accumulate
        self.scaler = torch.amp.GradScaler(enabled=self.compute.precision == torch.float16)
        self.history: list[dict] = []
        self.between_steps = True  # False while weights and optimizers are being changed
        self.logger = LOGGER

    def run(self) -> State:  # type: ignore[override]  # data and length are known already
        """Trains from step `state.iteration` to the end, or from the start if it has ended.

        Returns Ignite's state. Afterwards the model is in evaluation mode, and the same parameters
        as before require a gradient. After an exception the modes are as before, too, and no
        gradient is left.

        Raises FloatingPointError if the loss is not finite, ValueError if a batch has no target, or
        fewer rows than there are processes.
        """
        device.keep_freed_memory()
        state, self._internal_run_generator = self.state, None
        if state.iteration >= self.steps:
            state.iteration = 0
        del self.history[state.iteration :]  # steps that were undone, as by a learning-rate finder
        state.epoch, state.epoch_length = 0, self.steps
        state.max_epochs, state.max_iters, self.should_terminate = 1, None, False
        for group in parts.groups_of(self.optimizers):
            if self.schedule is not None:
                group.setdefault("initial_lr", group["lr"])
        used = self.history[-1]["seconds"] if self.history else 0.0
        self._began = time.perf_counter() - used
        with parts.left_as_it_was(self.model, self.optimizers):
            self.model.train()
            super().run()
        self.model.eval()
        return state

    def _one_step(self, engine: Engine, _: None) -> dict:
        step, rank = self.state.iteration - 1, idist.get_rank()
        factor: float | Mapping[str, float] = 1.0
        if self.seed is not None:
            torch.manual_seed(generator_for(self.seed, step, rank).initial_seed())
        if self.schedule is not None:
            factor = self.schedule(step)
            parts.set_learning_rates(parts.groups_of(self.optimizers), factor)
        batch = tuple(part.to(self.compute.device) for part in parts.own_rows(self.batch_of(step)))
        sums = self._accumulate(batch)
        # One sum over the processes; all of them record the time of the first one.
        clock = time.perf_counter() - self._began if rank == 0 else 0.0
        nats, targets, seconds = parts.summed([*sums, clock])
        self._check(step, nats, targets)
        self.between_steps = False
        norm = parts.update(self.optimizers, self.scaler, targets, self.clip)
        record = {"step": step, "loss": nats / targets, "norm": norm, "factor": factor}
        self.history.append(record | {"seconds": seconds})
        self.between_steps = True
        return self.history[-1]

    def _accumulate(self, batch: Batch) -> tuple[float, int]:
        """Returns (nats, targets) after forward and backward; gradients are sums over targets."""
        nats, targets = 0.0, 0
        for part in zip(*(tensor.chunk(self.accumulate) for tensor in batch), strict=True):
            with self.compute.autocast():
                total, count = self.loss(self.model, part)
            self.scaler.scale(total).backward()
            nats, targets = nats + total.item(), targets + count
        return nats, targets

    @staticmethod
    def _check(step: int, nats: float, targets: float) -> None:
        if targets == 0:
            raise ValueError(f"expected at least one target in the batch of step {step}, got none")
        if not math.isfinite(nats):
            raise FloatingPointError(f"the loss is {nats} at step {step}; lower the learning rate")


def train(
    model: nn.Module,
    loss: Loss,
    batches: Callable[[int], Batch] | Sequence[Batch],
    *,
    resume: Resume | None = None,
    stop_after: float = math.inf,
    on_step: Iterable[Callable[[dict], None]] = (),
    handlers: Iterable[Callable[[Trainer], object]] = (),
    **settings: Any,
) -> list[dict]:
    """Trains `model` in place; returns one record per step: step, loss, norm, factor, seconds.

    `settings` are the other arguments of `Trainer`: steps, optimizers, schedule, compute, seed,
    clip, accumulate. `on_step` callbacks get each record.
    `handlers` are functions that get the engine before it runs, to attach their handlers to it
    (`lambda engine: engine.add_event_handler(Events.ITERATION_COMPLETED, …)`).

    With `resume` the whole state is saved, and training continues from a state that was saved
    before; an interrupt (Ctrl-C, SIGTERM) waits for the end of the step, and is raised once the
    state is written. Training ends early after `stop_after` seconds of running time, those of
    earlier runs included, or when a handler calls `engine.terminate()`. Then the state is written,
    too, and the same call continues from there; it does not include the state of handlers.

    Under `ignite.distributed` every process trains on its slice of each batch, and all end with the
    same weights; only the first one writes and calls back.

    Raises what `Trainer.run` raises; ValueError if the saved state is damaged or was made with
    other settings, OSError if it cannot be written.
    """
    engine = Trainer(model, loss, batches, **settings)
    keeper = Keeper(engine, resume)
    on_step = list(on_step) if idist.get_rank() == 0 else []

    @engine.on(Events.ITERATION_COMPLETED)
    def after_step() -> None:
        record = engine.history[-1]
        for callback in on_step:
            callback(record)
        keeper.after_step()
        if record["seconds"] >= stop_after:
            engine.terminate()

    for attach in handlers:
        attach(engine)
    history = engine.history
    if len(history) < engine.steps and not (history and history[-1]["seconds"] >= stop_after):
        with keeper:
            engine.run()
    idist.barrier()  # until the first process has written its files
    model.eval()
    return history


def _steps_of(batches: Callable[[int], Batch] | Sequence[Batch], steps: int | None) -> int:
    """Returns the number of steps; raises ValueError if it is neither given nor implied."""
    if callable(batches):
        if steps is None:
            raise ValueError("expected steps=, since batches are a function, which has no end")
        return steps
    if not len(batches):
        raise ValueError("expected at least one batch, got none")
    return len(batches) if steps is None else steps


def _adamw(model: nn.Module) -> torch.optim.Optimizer:
    """Returns the default optimizer; raises ValueError if all parameters are frozen."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not trained:
        raise ValueError("expected parameters that require a gradient, but all are frozen")
    return torch.optim.AdamW(trained, lr=LEARNING_RATE, fused=True)
