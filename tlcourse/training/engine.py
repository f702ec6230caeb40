"""Ignite's engine around one optimizer step, and `train`, which runs it from beginning to end."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

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
LEARNING_RATE = 1e-3  # of the optimizer that is taken where none is given
# Ignite reports an exception that goes through it; whoever catches it says what there is to say.
LOGGER = logging.getLogger("tlcourse.training")
LOGGER.addFilter(lambda record: "terminating due to exception" not in record.getMessage())


class Trainer(Engine):
    """Ignite's engine around one optimizer step; any Ignite handler can be attached to it.

    `loss(model, batch)` gives the sum of nats and the number of targets. `batches` is a function of
    the step, counted from 0, or a sequence, which is gone through again and again; `steps` is its
    length unless given. A batch is a tuple of tensors, cut into `accumulate` parts along their
    first dimension. `optimizers`: one AdamW at 1e-3 for what asks for a gradient, unless given.

    Each parameter group moves at its own learning rate times `schedule(step)`, or times what that
    maps its "name" to: a group mapped to 0 is frozen in that step, its optimizer state too. Without
    a schedule the learning rates are left to whoever else sets them. The gradient is that of the
    mean over all targets of the step, clipped once to the norm `clip`. With `seed` None the dropout
    goes on from PyTorch's own generator.

    `state.output` is the record of the step: step, loss, norm, factor, seconds; `history` has all.
    Raises ValueError for a function without `steps`; see `run` for what that raises.
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
        """Trains from step `state.iteration` to the end, or anew after the end.

        Afterwards the model is in evaluation mode, and asks for gradients where it did before. When
        an exception goes through, the modes are as before, too, and no gradient is left.

        Raises FloatingPointError when the loss is no longer finite, ValueError when a batch has no
        target, or fewer rows than there are processes.
        """
        device.keep_freed_memory()
        state, self._internal_run_generator = self.state, None
        if state.iteration >= self.steps:
            state.iteration = 0
        del self.history[state.iteration :]  # what was tried and taken back, as a finder does
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
        # One sum over the processes; the first one's clock is everybody's.
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
        """Forward and backward in parts; gradients are sums over targets. (nats, targets)."""
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
            raise ValueError("no target in this batch: nothing to learn from")
        if not math.isfinite(nats):
            raise FloatingPointError(f"the loss is {nats} at step {step}; lower the learning rate")


def train(
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
    resume: Resume | None = None,
    stop_after: float = math.inf,
    on_step: Iterable[Callable[[dict], None]] = (),
    handlers: Iterable[Callable[[Trainer], object]] = (),
) -> list[dict]:
    """Trains `model` in place; returns one record a step: step, loss, norm, factor, seconds.

    See `Trainer` for the arguments up to `accumulate`. `on_step` callbacks get each record.
    `handlers` are functions that get the engine before it runs and attach to it what they like
    (`lambda engine: engine.add_event_handler(Events.ITERATION_COMPLETED, …)`).

    With `resume` the whole state is kept, and training goes on from what lies there; an interrupt
    (Ctrl-C, SIGTERM) waits for the end of the step and has its state written before it goes up. It
    ends early once `stop_after` seconds of running time are used, earlier runs counted in, or when
    a handler calls `engine.terminate()`. The state is then written, too, and the same call goes on
    from there: what handlers count is not in it, so they count anew.

    Under `ignite.distributed` every process trains on its slice of each batch and all end with the
    same weights; only the first one writes and calls back.

    Raises what `Trainer.run` raises; ValueError if the kept state is damaged or was made with other
    settings, OSError when it cannot be written.
    """
    engine = Trainer(
        model, loss, batches, steps=steps, optimizers=optimizers, schedule=schedule,
        compute=compute, seed=seed, clip=clip, accumulate=accumulate,
    )  # fmt: skip
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
    idist.barrier()  # what the first process wrote is there for all
    model.eval()
    return history


def _steps_of(batches: Callable[[int], Batch] | Sequence[Batch], steps: int | None) -> int:
    """How many steps there are; raises ValueError where that cannot be known."""
    if callable(batches):
        if steps is None:
            raise ValueError("expected steps=, since the batches are a function: it has no end")
        return steps
    if not len(batches):
        raise ValueError("expected at least one batch, got none")
    return len(batches) if steps is None else steps


def _adamw(model: nn.Module) -> torch.optim.Optimizer:
    """What moves a model where no optimizer was given; ValueError if nothing may be moved."""
    asking = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not asking:
        raise ValueError("expected parameters that ask for a gradient, but all are frozen")
    return torch.optim.AdamW(asking, lr=LEARNING_RATE, fused=True)
