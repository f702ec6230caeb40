"""The one training loop, on an Ignite engine: pretraining, fine-tuning and probes all use it.

Batch k is a function of the seed and k alone, and so is the dropout inside it, given a process's
rank. So a run that was interrupted goes on from its last checkpoint and ends with the same weights,
bit for bit; and several processes, each with its slice of the batch, do the work of one.
"""

import math
import pickle
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from ignite import distributed as idist
from ignite.engine import Engine, Events
from torch import Tensor, nn

from tlcourse import files
from tlcourse.batching import generator_for
from tlcourse.device import Compute, keep_freed_memory

Batch = tuple[Tensor, ...]
Loss = Callable[[nn.Module, Batch], tuple[Tensor, int]]
STATE = "training_state.pt"


def warmup_stable_decay(steps: int, warmup: int, decay: float) -> Callable[[int], float]:
    """Factor of the rate at a step: linear up, flat, then linear to 0 over the share `decay`.

    With `decay` = 1 it is linear warm-up, linear decay. (Hu et al., 2024, MiniCPM.)
    """
    start = max(warmup, round(steps * (1 - decay)))

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        if step < start:
            return 1.0
        return (steps - step) / max(1, steps - start)

    return factor


def train(
    model: nn.Module,
    loss: Loss,
    batch_of: Callable[[int], Batch],
    steps: int,
    optimizers: Iterable[torch.optim.Optimizer],
    schedule: Callable[[int], float | Mapping[str, float]],
    compute: Compute,
    seed: int,
    clip: float = 1.0,
    accumulate: int = 1,
    folder: Path | None = None,
    save_every: float = 180.0,
    stop_after: float = math.inf,
    settings: Mapping[str, Any] | None = None,
    on_step: Iterable[Callable[[dict], None]] = (),
) -> list[dict]:
    """Runs `steps` optimizer steps; returns one record a step: step, loss, norm, rate, seconds.

    `loss(model, batch)` gives the sum of nats and the number of targets; `batch_of(step)` the
    tensors of the whole step, cut into `accumulate` parts along their first dimension. Each
    parameter group moves at its own rate times `schedule(step)`, or times what that maps its "name"
    to: a group mapped to 0 is frozen in that step, its optimizer state too. The gradient is that of
    the mean over all targets of the step, clipped once to the norm `clip`. `on_step` callbacks get
    each record. With a `folder`, the whole state is written there every `save_every` seconds and
    training goes on from what lies there; ValueError if that state is damaged or was made with
    other `settings`. Training ends early, its state written, once `stop_after` seconds of running
    time are used, earlier runs of the folder counted in.

    Under `ignite.distributed` every process trains on its slice of each batch and all end with the
    same weights; only the first one writes and calls back.

    Raises FloatingPointError when the loss is no longer finite, ValueError when a batch has fewer
    rows than there are processes, OSError when the state cannot be written.
    """
    keep_freed_memory()
    optimizers = list(optimizers)
    scaler = torch.amp.GradScaler(enabled=compute.precision == torch.float16)
    history: list[dict] = []
    if folder is not None and (Path(folder) / STATE).exists():
        history = _restore(Path(folder) / STATE, model, optimizers, scaler, settings)
    for group in _groups(optimizers):
        group.setdefault("initial_lr", group["lr"])
    began = time.perf_counter() - (history[-1]["seconds"] if history else 0.0)
    saved, first = time.perf_counter(), idist.get_rank() == 0

    def one_step(engine: Engine, step: int) -> dict:
        torch.manual_seed(generator_for(seed, step, idist.get_rank()).initial_seed())
        factor = schedule(step)
        _set_rates(_groups(optimizers), factor)
        batch = tuple(part.to(compute.device) for part in _slice(batch_of(step)))
        nats, targets = _accumulate(model, loss, batch, compute, scaler, accumulate)
        # One sum over the processes; the first one's clock is everybody's.
        clock = time.perf_counter() - began if first else 0.0
        nats, targets, seconds = _summed([nats, targets, clock])
        norm = _update(optimizers, scaler, step, nats, targets, clip)
        record = {"step": step, "loss": nats / targets, "norm": norm, "factor": factor}
        return record | {"seconds": seconds}

    engine = Engine(one_step)

    @engine.on(Events.ITERATION_COMPLETED)
    def after_step(engine: Engine) -> None:
        nonlocal saved
        record = engine.state.output
        history.append(record)
        last = record["step"] == steps - 1 or record["seconds"] >= stop_after
        if first:
            for callback in on_step:
                callback(record)
            if folder is not None and (last or time.perf_counter() - saved > save_every):
                _save(Path(folder) / STATE, model, optimizers, scaler, history, settings)
                saved = time.perf_counter()
        if last:
            engine.terminate()

    model.train()
    if len(history) < steps and not (history and history[-1]["seconds"] >= stop_after):
        engine.run(range(len(history), steps), max_epochs=1)
    idist.barrier()  # what the first process wrote is there for all
    model.eval()
    return history


def _slice(batch: Batch) -> Batch:
    """This process's rows of the batch."""
    rank, world = idist.get_rank(), idist.get_world_size()
    if len(batch[0]) < world:
        raise ValueError(
            f"expected a batch of at least one row for each of the {world} processes, "
            f"got {len(batch[0])} rows; use fewer processes or a larger batch"
        )
    return tuple(part.tensor_split(world)[rank] for part in batch)


def _summed(numbers: list[float]) -> list[float]:
    """Each number summed over the processes."""
    if idist.get_world_size() == 1:
        return numbers
    total = idist.all_reduce(torch.tensor(numbers, dtype=torch.float64, device=idist.device()))
    return total.tolist()


def _groups(optimizers: list[torch.optim.Optimizer]) -> list[dict]:
    return [group for optimizer in optimizers for group in optimizer.param_groups]


def _set_rates(groups: list[dict], factor: float | Mapping[str, float]) -> None:
    """The rates of one step; without a gradient an optimizer leaves a parameter alone."""
    for group in groups:
        each = factor[group["name"]] if isinstance(factor, Mapping) else factor
        group["lr"] = group["initial_lr"] * each
        if isinstance(factor, Mapping):
            for parameter in group["params"]:
                parameter.requires_grad_(bool(each > 0))  # a schedule may count in numpy


def _accumulate(model, loss, batch, compute, scaler, parts) -> tuple[float, int]:
    """Forward and backward in parts; gradients are sums over targets. Returns (nats, targets)."""
    nats, targets = 0.0, 0
    for part in zip(*(tensor.chunk(parts) for tensor in batch), strict=True):
        with compute.autocast():
            total, count = loss(model, part)
        scaler.scale(total).backward()
        nats, targets = nats + total.item(), targets + count
    return nats, targets


def _update(optimizers, scaler, step: int, nats: float, targets: float, clip: float) -> float:
    """Sums gradients over processes, divides by the number of targets, clips, steps, clears.

    Returns the norm before clipping. Raises ValueError when there was no target, and
    FloatingPointError when the loss is not finite.
    """
    if targets == 0:
        raise ValueError("no target in this batch: nothing to learn from")
    if not math.isfinite(nats):
        raise FloatingPointError(f"the loss is {nats} at step {step}; lower the learning rate")
    moving = [p for g in _groups(optimizers) for p in g["params"] if p.grad is not None]
    if idist.get_world_size() > 1:  # one message for all gradients
        flat = idist.all_reduce(torch.cat([p.grad.flatten() for p in moving]))
        for parameter, part in zip(moving, flat.split([p.numel() for p in moving]), strict=True):
            parameter.grad.copy_(part.view_as(parameter))
    for optimizer in optimizers:
        scaler.unscale_(optimizer)
    torch._foreach_div_([p.grad for p in moving], targets)
    norm = torch.nn.utils.clip_grad_norm_(moving, clip)
    for optimizer in optimizers:
        scaler.step(optimizer)
        optimizer.zero_grad(set_to_none=True)
    scaler.update()
    return norm.item()


def _save(path: Path, model, optimizers, scaler, history, settings) -> None:
    state = {
        "model": model.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in optimizers],
        "scaler": scaler.state_dict(),
        "history": history,
        "settings": dict(settings or {}),
    }
    try:
        with files.atomic(path) as temporary, open(temporary, "wb") as out:
            torch.save(state, out)
    except (OSError, RuntimeError) as error:  # RuntimeError: PyTorch's writer on a full disk
        raise OSError(
            f"the state of the run could not be written to {path}: {error}; "
            f"{'the one saved before is there' if path.exists() else 'none was saved before'}: "
            "free some space and run the same command again"
        ) from error


def _restore(path: Path, model, optimizers, scaler, settings) -> list[dict]:
    """Loads the state (without unpickling code) and returns the history so far."""
    try:
        state = torch.load(path, weights_only=True, map_location="cpu")
    except (RuntimeError, EOFError, OSError, pickle.UnpicklingError) as error:
        raise ValueError(
            f"expected the state of a run in {path}, but it is damaged ({type(error).__name__}); "
            "remove it to start again"
        ) from error
    asked, found = dict(settings or {}), state["settings"]
    differing = sorted(k for k in asked.keys() | found.keys() if asked.get(k) != found.get(k))
    if differing:
        raise ValueError(
            f"{path} was made with other settings: "
            + "; ".join(f"{k} was {found.get(k)!r}, now {asked.get(k)!r}" for k in differing)
            + ". Use another folder, or remove this one to start again."
        )
    model.load_state_dict(state["model"])
    for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    scaler.load_state_dict(state["scaler"])
    return state["history"]
