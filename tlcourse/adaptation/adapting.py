"""One path for every way to adapt, with four knobs.

A `Scheme` says what is added, which parameters are trained, at which learning rate at each step,
and what is added to the loss. `adapt` does the rest, in the same way for all schemes, and reports.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import device
from tlcourse.adaptation.classifier import Classifier
from tlcourse.adaptation.edits import Unchanged
from tlcourse.adaptation.examples import Batches, Text
from tlcourse.adaptation.extra_losses import Term
from tlcourse.adaptation.groups import Groups
from tlcourse.adaptation.knobs import short
from tlcourse.adaptation.report import Report
from tlcourse.adaptation.schemes import FULL, Scheme
from tlcourse.device import Compute
from tlcourse.recipes import Recipe
from tlcourse.wording import nearest

if TYPE_CHECKING:
    from tlcourse.training import Trainer

PATIENCE = 20  # steps whose mean loss is compared with `Recipe.stop_below`


def adapt(
    classifier: Classifier,
    texts: Sequence[Text],
    labels: Sequence[str] | Tensor,
    *,
    scheme: Scheme = FULL,
    recipe: Recipe = Recipe(),
    seed: int = 0,
    compute: Compute | None = None,
    on_step: Iterable[Callable[[dict], None]] = (),
    handlers: Iterable[Callable[["Trainer"], object]] = (),
) -> Classifier:
    """Returns a copy of the classifier, adapted to texts and label names, with its `report`.

    The classifier itself is left unchanged. The same call gives the same weights: it seeds
    PyTorch's global generator. A text may be a pair of texts. `labels` may also be (texts, labels)
    probabilities, such as those of another model. The optimizer is AdamW, the batches hold texts of
    about equal lengths. A classifier that was adapted before is adapted further and keeps its edit.
    Parameters that the scheme freezes require a gradient again afterwards; those that were frozen
    before stay frozen. If no parameter of the body is trained and nothing is added to the loss, the
    features of the texts are computed once.

    `on_step` and `handlers`: see `training.train`. A handler finds the classifier in `engine.model`
    and, after predicting with it, calls `engine.model.train()`.

    Raises ValueError if texts and labels are no lists or differ in number, if a label is not one of
    the classifier's, if the scheme has another edit than that of the classifier, or if its groups
    overlap, are empty, name unknown parameters or leave out those that the edit adds.
    """
    from tlcourse.training import train

    _check(scheme, recipe)
    compute = compute or device.choose()
    classifier = classifier.copy()
    examples = Batches(classifier, texts, labels, batch_size=recipe.batch_size, seed=seed)
    steps = recipe.steps(len(examples.sequences))
    torch.manual_seed(seed)
    classifier.to(compute.device).body.set_attention(compute.attention)
    gradients = [(p, p.requires_grad) for p in classifier.parameters()]
    groups, optimizer, difference = prepare(
        classifier, examples.some(compute), scheme=scheme, recipe=recipe
    )
    factors = scheme.schedule(steps, list(groups))
    term = scheme.extra_loss(classifier) if scheme.extra_loss else None
    parameters = dict(classifier.named_parameters())
    before = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    declared = tuple(name for group in groups.values() for name in group.names)
    began = time.perf_counter()
    if term is None and not any(name.startswith("body.") for name in declared):
        examples.read_once(classifier, compute)
    loss = partial(classification_loss, term=term)
    history = train(
        classifier, loss, examples.batch, steps=steps, optimizers=[optimizer], schedule=factors,
        compute=compute, seed=seed, on_step=on_step,
        handlers=[partial(_stop_early, recipe), *handlers],
    )  # fmt: skip
    seconds = time.perf_counter() - began
    for parameter, required in gradients:
        parameter.requires_grad_(required)
    classifier.pairs = any(not isinstance(text, str) for text in texts)
    classifier.report = Report(
        history,
        difference,
        declared,
        tuple(name for name, p in parameters.items() if not torch.equal(p, before[name])),
        sum(parameters[name].numel() for name in declared),
        sum(parameter.numel() for parameter in parameters.values()),
        seconds,
        sum(len(ids) > classifier.body.config.max_length for ids in examples.sequences),
    )
    return classifier


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
    classifier: Classifier,
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
def _logits(classifier: Classifier, some: tuple) -> Tensor:
    return classifier.eval()(*some)


def classification_loss(
    model: Classifier, batch: tuple[Tensor, ...], term: Term | None = None
) -> tuple[Tensor, int]:
    """Returns the sum of nats over a batch, plus `term` per text, and the number of texts.

    A batch is (tokens, mask, labels) or (features, labels).
    """
    *inputs, labels = batch
    logits = model(*inputs) if len(inputs) == 2 else model.classify(*inputs)
    nats = F.cross_entropy(logits, labels, reduction="sum")
    return (nats if term is None else nats + len(labels) * term(model, batch)), len(labels)


def _optimizer(classifier: Classifier, groups: Groups, recipe: Recipe) -> torch.optim.Optimizer:
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
