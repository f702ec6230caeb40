"""One path for every way to adapt, with four knobs.

A `Scheme` says what is added, which parameters are trained, at which learning rate at each step,
and what is added to the loss. `adapt` does the rest, in the same way for all schemes, and reports.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import device
from tlcourse.adaptation.classifier import Classifier
from tlcourse.adaptation.edits import Unchanged
from tlcourse.adaptation.examples import Batches, length
from tlcourse.adaptation.extra_losses import Term
from tlcourse.adaptation.groups import Groups
from tlcourse.adaptation.knobs import short
from tlcourse.adaptation.pooled import Pooled
from tlcourse.adaptation.report import Report
from tlcourse.adaptation.schemes import FULL, Scheme
from tlcourse.adaptation.task_model import TaskModel
from tlcourse.device import Compute
from tlcourse.recipes import Recipe
from tlcourse.wording import nearest

if TYPE_CHECKING:
    from tlcourse.training import Trainer

Model = TypeVar("Model", bound=TaskModel)
PATIENCE = 20  # steps whose mean loss is compared with `Recipe.stop_below`


def adapt(
    start: Model,
    texts: Sequence[Any],
    labels: Sequence[Any] | Tensor,
    *,
    scheme: Scheme = FULL,
    recipe: Recipe = Recipe(),
    seed: int = 0,
    compute: Compute | None = None,
    on_step: Iterable[Callable[[dict], None]] = (),
    handlers: Iterable[Callable[["Trainer"], object]] = (),
) -> Model:
    """Returns a copy of the model `start`, adapted to texts and labels, with its `report`.

    `start` itself is left unchanged. The same call gives the same weights: it seeds PyTorch's
    global generator. What texts and labels are depends on the model, see its `examples`; those of a
    `Classifier` are texts or pairs, and label names or (texts, labels) probabilities, such as those
    of another model. The optimizer is AdamW, the batches hold texts of about equal lengths. A model
    that was adapted before is adapted further and keeps its edit. Parameters that the scheme
    freezes require a gradient again afterwards; those that were frozen before stay frozen. If no
    parameter of the body is trained and nothing is added to the loss, a model that reads one vector
    of a text computes these once.

    `on_step` and `handlers`: see `training.train`. A handler finds the model in `engine.model` and,
    after predicting with it, calls `engine.model.train()`.

    Raises ValueError if texts and labels are no lists, differ in number or do not fit the model, if
    the scheme has another edit than that of `start`, or if its groups overlap, are empty, name
    unknown parameters or leave out those that the edit adds.
    """
    from tlcourse.training import train

    _check(scheme, recipe)
    compute = compute or device.choose()
    model = start.copy()
    examples = Batches(model, texts, labels, batch_size=recipe.batch_size, seed=seed)
    steps = recipe.steps(len(examples.sequences))
    torch.manual_seed(seed)
    model.to(compute.device).body.set_attention(compute.attention)
    gradients = [(p, p.requires_grad) for p in model.parameters()]
    groups, optimizer, difference = prepare(
        model, examples.some(compute), scheme=scheme, recipe=recipe
    )
    factors = scheme.schedule(steps, list(groups))
    term = scheme.extra_loss(model) if scheme.extra_loss else None
    parameters = dict(model.named_parameters())
    before = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    declared = tuple(name for group in groups.values() for name in group.names)
    began = time.perf_counter()
    frozen = not any(name.startswith("body.") for name in declared)
    if term is None and frozen and isinstance(model, Pooled):
        examples.read_once(model, compute)
    loss = partial(_task_loss, term=term)
    history = train(
        model, loss, examples.batch, steps=steps, optimizers=[optimizer], schedule=factors,
        compute=compute, seed=seed, on_step=on_step,
        handlers=[partial(_stop_early, recipe), *handlers],
    )  # fmt: skip
    seconds = time.perf_counter() - began
    for parameter, required in gradients:
        parameter.requires_grad_(required)
    if isinstance(model, Classifier):
        model.pairs = any(not isinstance(text, str) for text in texts)
    model.report = Report(
        history,
        difference,
        declared,
        tuple(name for name, p in parameters.items() if not torch.equal(p, before[name])),
        sum(parameters[name].numel() for name in declared),
        sum(parameter.numel() for parameter in parameters.values()),
        seconds,
        sum(length(each) > model.body.config.max_length for each in examples.sequences),
    )
    return model


def _check(scheme: Scheme, recipe: Recipe) -> None:
    """Raises ValueError unless these are a scheme and a recipe."""
    if not isinstance(scheme, Scheme):
        raise ValueError(
            "scheme: expected one such as SCHEMES['LoRA'] or Scheme(edit=LoRA(8), "
            f"groups=AddedOnly(4)), got {short(scheme)}"
        )
    if not isinstance(recipe, Recipe):
        raise ValueError(f"recipe: expected one such as Recipe(epochs=4), got {short(recipe)}")


def _stop_early(recipe: Recipe, engine: "Trainer") -> None:
    """Ends the training once the mean loss is below the recipe's `stop_below`, if it has one."""
    from ignite.engine import Events

    @engine.on(Events.ITERATION_COMPLETED)
    def end_if_learnt() -> None:
        losses = [record["loss"] for record in engine.history[-PATIENCE:]]
        if recipe.stop_below is None or len(losses) < PATIENCE:
            return
        if sum(losses) / PATIENCE < recipe.stop_below:
            engine.terminate()


def prepare(
    classifier: TaskModel,
    some: tuple[Tensor, Tensor],
    *,
    scheme: Scheme = FULL,
    recipe: Recipe = Recipe(),
) -> tuple[Groups, torch.optim.Optimizer, float]:
    """Applies a scheme's edit and groups in place, as `adapt` does before the first step.

    Returns the groups, their optimizer, and the largest change of a logit by the edit on `some`
    (tokens, mask). Raises ValueError, see `adapt`.
    """
    before = _logits(classifier, some)
    new: tuple[str, ...] = ()
    if scheme.edit in (classifier.edit, Unchanged()):
        scheme = replace(scheme, edit=classifier.edit)
    else:
        new = classifier.add(scheme.edit)
    classifier.scheme = scheme
    difference = (_logits(classifier, some) - before).abs().max().item()
    groups = scheme.groups(classifier, classifier.added)
    named = {name for group in groups.values() for name in group.names}
    if new and not named & set(new):
        raise ValueError(
            f"expected groups that train what {scheme.edit} added, but none of its {len(new)} "
            f"tensors, first {new[0]}, is in a group; take groups=AddedOnly() or Everything()"
        )
    return groups, _optimizer(classifier, groups, recipe), difference


@torch.no_grad()
def _logits(classifier: TaskModel, some: tuple) -> Tensor:
    return classifier.eval()(*some)


def classification_loss(
    model: Any, batch: tuple[Tensor, ...], term: Term | None = None
) -> tuple[Tensor, int]:
    """Returns the sum of nats over a batch, plus `term` per text, and the number of texts.

    A batch is (tokens, mask, labels) or (features, labels). The model may be any classifier.
    """
    *inputs, labels = batch
    logits = model(*inputs) if len(inputs) == 2 else model.classify(*inputs)
    nats = F.cross_entropy(logits, labels, reduction="sum")
    return (nats if term is None else nats + len(labels) * term(model, batch)), len(labels)


def _task_loss(
    model: TaskModel, batch: tuple[Tensor, ...], term: Term | None = None
) -> tuple[Tensor, int]:
    """The sum of the model's loss over a batch, plus `term` per target, and their number."""
    nats, count = model.batch_loss(batch)
    return (nats if term is None else nats + count * term(model, batch)), count


def _optimizer(classifier: TaskModel, groups: Groups, recipe: Recipe) -> torch.optim.Optimizer:
    """Returns AdamW over the groups, and freezes the other parameters; raises, see `adapt`."""
    parameters = dict(classifier.named_parameters())
    names = [name for group in groups.values() for name in group.names]
    unknown = sorted(set(names) - set(parameters))
    twice = sorted({name for name in names if names.count(name) > 1})
    empty = [name for name, group in groups.items() if not group.names]
    if unknown or twice or empty or not groups:
        raise ValueError(
            "expected groups of parameters of the classifier, each in one group; unknown: "
            f"{unknown}, twice: {twice}, empty: {empty or list(groups) == []}"
            + (nearest(unknown[0], parameters) if unknown else "")
        )
    if recipe.head_learning_rate is not None and "head" not in groups:
        raise ValueError(
            f"head_learning_rate: expected a group named head, got {list(groups)}; name it so, or "
            "give that group a factor"
        )
    for name, parameter in parameters.items():
        parameter.requires_grad_(name in names)
    rated = []
    for name, group in groups.items():
        members = [parameters[parameter] for parameter in group.names]
        rated.append({"name": name, "params": members, "lr": recipe.rate_of(name, group)})
    decay = recipe.weight_decay
    return torch.optim.AdamW(rated, betas=(0.9, 0.98), weight_decay=decay, fused=True)
