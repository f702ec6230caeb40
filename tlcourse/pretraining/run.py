"""From a token file to a decayed model: the optimizers and the run."""

import contextlib
import hashlib
import math
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tlcourse import device, files
from tlcourse.batching import Mixture, TokenFile
from tlcourse.device import Compute
from tlcourse.objectives import Objective
from tlcourse.objectives.objective import Model
from tlcourse.pretraining.muon import Muon
from tlcourse.pretraining.objectives import batches, chosen
from tlcourse.recipes import PretrainingRecipe
from tlcourse.training import Resume, warmup_stable_decay

if TYPE_CHECKING:
    from tlcourse.training import Trainer

RECIPE = PretrainingRecipe()
DECAY = "decay.json"  # the step at which the decay of a run with a budget in minutes began
UNENDING = 2**62  # steps
SAVE_EVERY = 180.0  # seconds


def optimizers_for(
    model: Model,
    recipe: PretrainingRecipe = RECIPE,
    *,
    precision: torch.dtype = torch.float32,
) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the blocks, AdamW for the rest (Jordan et al., 2024).

    Muon works in bfloat16 if that is the `precision` of the run, else in float32. Only the
    matrices get weight decay. A parameter that several layers share, as in ALBERT, is updated once.
    """
    inside = {id(p): p for block in model.blocks for p in block.parameters() if p.ndim == 2}
    matrices = list(inside.values())
    others = {"params": [p for p in model.parameters() if id(p) not in inside], "weight_decay": 0.0}
    settings: dict[str, Any] = {"lr": recipe.learning_rate, "betas": (0.9, 0.95), "fused": True}
    if recipe.muon_learning_rate is None:
        groups = [{"params": matrices, "weight_decay": recipe.weight_decay}, others]
        return [torch.optim.AdamW(groups, **settings)]
    return [
        Muon(matrices, recipe.muon_learning_rate, precision, recipe.weight_decay),
        torch.optim.AdamW([others], **settings),
    ]


def compile_blocks(model: Model, *, compute: Compute | None = None) -> None:
    """Compiles the blocks, which share one graph; on the CPU the backward pass recomputes much.

    There memory is slower than arithmetic: 30 % of the activations are kept, cheap ones are
    computed twice, and a step takes no longer.
    """
    if (device.choose() if compute is None else compute).device.type == "cpu":
        # A private name of PyTorch: without it, the backward pass keeps all activations.
        with contextlib.suppress(ImportError, AttributeError):
            from torch._functorch import config

            config.activation_memory_budget = 0.3
    for block in model.blocks:
        block.compile()


def pretrain(
    model: Model,
    file: TokenFile | Mixture,
    tokens: int,
    *,
    recipe: PretrainingRecipe = RECIPE,
    objective: Objective | None = None,
    compute: Compute | None = None,
    folder: str | Path | None = None,
    save_every: float = SAVE_EVERY,
    on_step: Iterable[Callable[[dict], None]] = (),
    handlers: Iterable[Callable[["Trainer"], object]] = (),
) -> list[dict]:
    """Trains `model` in place on `tokens` tokens, with the decay at the end; returns the history.

    `file` may be a `Mixture` of several. `objective` is any `Objective`, in place of the recipe's,
    and `model` one that it makes. The budget counts the tokens of the windows, whatever the
    objective does with them. With a `folder` the run is resumable; its state is written there every
    `save_every` seconds. `on_step` and `handlers`: see `training.train`. Raises ValueError if the
    budget is less than one step, or if the run in `folder` had another objective, text, model or
    recipe; objectives that have the same `repr` count as the same.
    """
    per_step = recipe.batch_size * recipe.length
    steps = tokens // per_step
    if steps < 1:
        raise ValueError(
            f"expected a budget of at least one step ({per_step} tokens), got {tokens}"
        )
    worthwhile = steps > 500  # compilation takes about half a minute
    run = _runner(
        model, file, recipe, objective=objective, compute=compute, budget={"tokens": tokens},
        compiled=worthwhile, folder=folder, save_every=save_every, on_step=on_step,
        handlers=handlers,
    )  # fmt: skip
    return run(steps, warmup_stable_decay(steps, _warmup(steps, recipe), recipe.decay))


def _warmup(steps: int, recipe: PretrainingRecipe) -> int:
    return min(recipe.warmup, steps // 4 + 1)


def decay_began(history: Sequence[dict], recipe: PretrainingRecipe) -> int:
    """The step from which the learning rate of a finished `pretrain` fell; 0 if it never did."""
    warmup = _warmup(len(history), recipe)
    return min((r["step"] for r in history if r["step"] > warmup and r["factor"] < 1), default=0)


def pretrain_for(
    model: Model,
    file: TokenFile | Mixture,
    minutes: float,
    *,
    recipe: PretrainingRecipe = RECIPE,
    folder: str | Path | None = None,
    **more: Any,
) -> tuple[list[dict], int]:
    """Trains `model` in place for `minutes` of running time, with the decay at the end.

    Running time counts across resumes. When the share 1 - `decay` of it is used, the decay begins,
    with as many steps as the speed so far allows in the rest. From then on the number of steps is
    fixed, so the run ends decayed, whatever the clock says. Returns the history and the step at
    which the decay began (also kept in `folder`); without a folder the run cannot be resumed.
    `more` are further arguments of `pretrain`.

    Raises ValueError for several processes without a folder.
    """
    from ignite import distributed as idist

    if folder is None and idist.get_world_size() > 1:
        raise ValueError("expected folder=, which all processes read; got none")
    temporary = tempfile.TemporaryDirectory() if folder is None else contextlib.nullcontext(folder)
    with temporary as path:
        place, seconds = Path(path), 60 * minutes
        settings = {"budget": {"minutes": minutes}, "compiled": minutes > 5, "folder": place}
        run = _runner(model, file, recipe, **settings, **more)
        if not (place / DECAY).exists():
            stable = warmup_stable_decay(UNENDING, recipe.warmup, 0.0)
            history = run(UNENDING, stable, stop_after=seconds * (1 - recipe.decay))
            used, begin = history[-1]["seconds"], len(history)
            rest = max(1, int((seconds - used) / (used / begin)))
            if idist.get_rank() == 0:
                files.write_json(place / DECAY, {"begin": begin, "steps": rest})
            idist.barrier()
        plan = files.read_json(place / DECAY)
        begin, rest = plan["begin"], plan["steps"]

        def schedule(step: int) -> float:
            return min((step + 1) / max(1, recipe.warmup), (begin + rest - step) / rest, 1.0)

        return run(begin + rest, schedule), begin


def _runner(
    model, file, recipe, *, budget, compiled, folder, objective=None, compute=None,
    save_every=SAVE_EVERY, **more,
) -> Callable:  # fmt: skip
    """A function (steps, schedule, stop_after) -> history, for both kinds of budget.

    It may be called twice, for the stable part and then for the decay: the optimizers are built
    once, and each call resumes from the state in `folder`.
    """
    from tlcourse.training import train

    compute = device.choose() if compute is None else compute
    model.to(compute.device).set_attention(compute.attention)
    if compiled and compute.compiles:
        compile_blocks(model, compute=compute)
    optimizers = optimizers_for(model, recipe, precision=compute.precision)
    resume = None
    if folder is not None:
        settings = asdict(model.config) | asdict(recipe) | budget
        settings |= {"corpus": file.digest(), "start": _digest(model)}
        if objective is not None:
            settings["objective"] = repr(objective)
        resume = Resume(folder, save_every, settings)
    loss = chosen(recipe, objective).loss

    def run(steps: int, schedule, stop_after: float = math.inf) -> list[dict]:
        return train(
            model, loss, batches(file, model.config, recipe, objective=objective),
            steps=steps, optimizers=optimizers, schedule=schedule, compute=compute,
            seed=recipe.seed, resume=resume, stop_after=stop_after, **more,
        )  # fmt: skip

    return run


def _digest(model: Model) -> str:
    """A digest of the weights of a model, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for tensor in model.state_dict().values():
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy())
    return digest.hexdigest()[:16]
