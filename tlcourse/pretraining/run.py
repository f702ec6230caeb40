"""From a token file to a decayed model: the recipe, the optimizers, the run."""

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch._functorch.config as functorch
from ignite import distributed as idist
from torch import Tensor

from tlcourse import files, objectives
from tlcourse.batching import TokenFile, generator_for
from tlcourse.device import Compute
from tlcourse.pretraining.muon import Muon
from tlcourse.training import train, warmup_stable_decay
from tlcourse.transformer import Config, Transformer

OBJECTIVES = ("causal", "masked", "hybrid")
DECAY = "decay.json"  # where a run of so many minutes keeps when its decay began
UNENDING = 2**62  # steps


@dataclass(frozen=True)
class Recipe:
    """How to train: what a run needs to know besides model, data and budget.

    The hybrid objective reads `causal_share` of the windows causally and the others from both
    sides, as one model. Raises ValueError for an objective that is not in OBJECTIVES.
    """

    objective: str = "causal"
    batch: int = 64  # windows a step
    length: int = 128  # tokens a window
    rate: float = 3e-3  # AdamW: embeddings, norms, biases
    muon_rate: float | None = 0.01  # Muon: matrices inside the blocks; None: AdamW for them, too
    warmup: int = 100  # steps
    decay: float = 0.4  # the last share of the steps, linearly to 0
    mask_rate: float = 0.15  # share of the tokens hidden, masked and hybrid
    causal_share: float = 0.5  # hybrid
    seed: int = 0

    def __post_init__(self):
        if self.objective not in OBJECTIVES:
            raise ValueError(
                f"expected an objective out of {', '.join(OBJECTIVES)}, got {self.objective!r}"
            )


def optimizers_for(
    model: Transformer, recipe: Recipe, precision: torch.dtype = torch.float32
) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the blocks, AdamW for all else (Jordan et al., 2024).

    Muon works in bfloat16 if that is the `precision` of the run, else in float32. Both decay the
    matrices by 0.1 times their rate a step, and nothing else.
    """
    matrices = [p for p in model.blocks.parameters() if p.ndim == 2]
    inside = {id(p) for p in matrices}
    others = {"params": [p for p in model.parameters() if id(p) not in inside], "weight_decay": 0.0}
    settings = {"lr": recipe.rate, "betas": (0.9, 0.95), "fused": True}
    if recipe.muon_rate is None:
        both = [{"params": matrices, "weight_decay": 0.1}, others]
        return [torch.optim.AdamW(both, **settings)]
    return [Muon(matrices, recipe.muon_rate, precision), torch.optim.AdamW([others], **settings)]


def compile_blocks(model: Transformer, compute: Compute) -> None:
    """Compiles the blocks, which share one graph; on the CPU the backward pass makes much again.

    There memory is slower than arithmetic: of what the backward pass needs, 30 % is kept, what is
    cheap is computed twice, and a step takes no longer.
    """
    if compute.device.type == "cpu":
        functorch.activation_memory_budget = 0.3
    for block in model.blocks:
        block.compile()


def batches(file: TokenFile, config: Config, recipe: Recipe) -> Callable[[int], tuple[Tensor, ...]]:
    """The function from a step to its batch: what the loss of the recipe's objective takes."""

    def causal(step: int) -> tuple[Tensor, ...]:
        return (file.windows(recipe.seed, step, recipe.batch, recipe.length + 1),)

    def masked(step: int) -> tuple[Tensor, ...]:
        tokens = file.windows(recipe.seed, step, recipe.batch, recipe.length)
        chance = generator_for(recipe.seed, step, 1)
        vocabulary, rate = config.vocabulary_size, recipe.mask_rate
        corrupted, chosen = objectives.mask_tokens(tokens, chance, vocabulary, rate)
        return corrupted, tokens, chosen

    def hybrid(step: int) -> tuple[Tensor, ...]:
        (tokens,) = causal(step)
        chance = generator_for(recipe.seed, step, 1)
        vocabulary, rate = config.vocabulary_size, recipe.mask_rate
        inputs, targets, chosen = objectives.hide_next_tokens(tokens, chance, vocabulary, rate)
        # Spread evenly, so that every slice of the batch has its share: 0.5 is every second row.
        quota = (torch.arange(recipe.batch + 1) * recipe.causal_share).floor()
        reads_causally = quota[1:] > quota[:-1]
        inputs[reads_causally], chosen[reads_causally] = tokens[reads_causally, :-1], True
        return inputs, targets, chosen, reads_causally

    return {"causal": causal, "masked": masked, "hybrid": hybrid}[recipe.objective]


def loss_of(model: Transformer, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
    """The causal, masked or hybrid loss, by what the batch holds: 1, 3 or 4 tensors."""
    losses = {1: objectives.causal_loss, 3: objectives.masked_loss, 4: objectives.hybrid_loss}
    return losses[len(batch)](model, *batch)


def pretrain(
    model: Transformer,
    file: TokenFile,
    tokens: int,
    compute: Compute,
    recipe: Recipe,
    folder: Path | None = None,
    on_step: Iterable[Callable[[dict], None]] = (),
    save_every: float = 180.0,
) -> list[dict]:
    """Trains `model` in place on `tokens` tokens, ending decayed; returns the engine's history.

    With a `folder` the run is resumable; its state is written there every `save_every` seconds.
    Raises ValueError if the budget is less than one step.
    """
    per_step = recipe.batch * recipe.length
    steps = tokens // per_step
    if steps < 1:
        raise ValueError(
            f"expected a budget of at least one step ({per_step} tokens), got {tokens}"
        )
    pays = steps > 500  # compilation takes about half a minute
    run = _prepared(model, file, compute, recipe, {"tokens": tokens}, pays, folder, on_step)
    schedule = warmup_stable_decay(steps, min(recipe.warmup, steps // 4 + 1), recipe.decay)
    return run(steps, schedule, save_every)


def pretrain_for(
    model: Transformer,
    file: TokenFile,
    minutes: float,
    compute: Compute,
    recipe: Recipe,
    folder: Path,
    on_step: Iterable[Callable[[dict], None]] = (),
    save_every: float = 180.0,
) -> tuple[list[dict], int]:
    """Trains `model` in place for `minutes` of running time, ending decayed.

    Running time counts across resumes. When the share 1 - `decay` of it is used the decay begins,
    with as many steps as the speed so far promises. From then on the run is one of so many steps
    and ends decayed, whatever the clock says. Returns the history and the step at which the decay
    began, which `folder` keeps, too.
    """
    budget, seconds = {"minutes": minutes}, 60 * minutes
    run = _prepared(model, file, compute, recipe, budget, minutes > 5, folder, on_step)
    if not (folder / DECAY).exists():
        stable = warmup_stable_decay(UNENDING, recipe.warmup, 0.0)
        history = run(UNENDING, stable, save_every, stop_after=seconds * (1 - recipe.decay))
        used, begin = history[-1]["seconds"], len(history)
        rest = max(1, int((seconds - used) / (used / begin)))
        if idist.get_rank() == 0:
            files.write_json(folder / DECAY, {"begin": begin, "steps": rest})
        idist.barrier()
    plan = files.read_json(folder / DECAY)
    begin, rest = plan["begin"], plan["steps"]

    def schedule(step: int) -> float:
        return min((step + 1) / recipe.warmup, (begin + rest - step) / rest, 1.0)

    return run(begin + rest, schedule, save_every), begin


def _prepared(model, file, compute, recipe, budget, compiled, folder, on_step) -> Callable:
    """What both kinds of budget share: a function (steps, schedule, save_every) -> history.

    It may be called twice, for the stable part and then for the decay: the optimizers are made
    once, and what lies in `folder` is where each call goes on.
    """
    model.to(compute.device).set_attention(compute.attention)
    if compiled and compute.compiles:
        compile_blocks(model, compute)
    optimizers = optimizers_for(model, recipe, compute.precision)
    settings = asdict(model.config) | asdict(recipe) | budget | {"corpus": file.digest()}

    def run(steps: int, schedule, save_every: float, stop_after: float = math.inf) -> list[dict]:
        return train(
            model, loss_of, batches(file, model.config, recipe), steps, optimizers, schedule,
            compute, recipe.seed, folder=folder, save_every=save_every, stop_after=stop_after,
            settings=settings, on_step=on_step,
        )  # fmt: skip

    return run
