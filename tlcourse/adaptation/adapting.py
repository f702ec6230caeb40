"""One path for every way to adapt, with four knobs.

A `Scheme` names what is added, which parameters move, how fast each moves at each step, and what is
added to the loss. `adapt` does the rest, the same for all, and says what happened.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from ignite.engine import Events
from torch import Tensor
from torch.nn import functional as F

from tlcourse import device
from tlcourse.adaptation.classifier import Classifier, Text, by_length
from tlcourse.adaptation.edits import Unchanged
from tlcourse.adaptation.extra_losses import Term
from tlcourse.adaptation.groups import Groups
from tlcourse.adaptation.schemes import FULL, Scheme
from tlcourse.batching import bucket_batches, pad
from tlcourse.bpe import PAD
from tlcourse.device import Compute
from tlcourse.training import Trainer, train

PATIENCE = 20  # steps whose mean loss `Recipe.stop_below` is about


@dataclass(frozen=True)
class Recipe:
    """How long and how fast; the defaults were chosen on TREC's dev split."""

    epochs: int = 4
    learning_rate: float = 5e-4  # AdamW; a group moves at this times its own factor
    batch_size: int = 32  # texts a step
    weight_decay: float = 0.01
    min_steps: int = 0  # small sets get more epochs, until they reach this many steps
    stop_below: float | None = None  # nats: ends once the mean loss of PATIENCE steps is below it

    def steps(self, texts: int) -> int:
        """How many steps so many texts take."""
        return max(self.epochs * math.ceil(texts / self.batch_size), self.min_steps)


@dataclass(frozen=True)
class Report:
    """What `adapt` did."""

    history: list[dict]  # a record a step
    start_difference: float  # the most that the edit changed a logit, before the first step
    declared: tuple[str, ...]  # the parameters that were to move
    moved: tuple[str, ...]  # those that did
    trained: int  # numbers in the declared parameters
    parameters: int  # numbers in all
    seconds: float


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
) -> Classifier:
    """A copy of the classifier, adapted to texts and label names by a scheme; `report` says how.

    The classifier itself stays as it is, and the same call gives the same weights. A text may be a
    pair of texts. `labels` may also be probabilities, (texts, labels), such as another model's.
    AdamW, batches of about equal lengths. A classifier that was adapted before goes on from there,
    its edit with it. What a scheme freezes asks for a gradient again when the training is over;
    what was frozen before stays so. If nothing of the body moves and nothing is added to the loss,
    the features of the texts are computed once. Raises ValueError when texts and labels differ in
    number, a label is not one of the classifier's, the scheme has another edit than the classifier
    was adapted by, or its groups overlap, are empty or name what is not there.
    """
    compute = compute or device.choose()
    classifier = classifier.copy()
    examples = _Examples(classifier, texts, labels, recipe.batch_size, seed)
    steps = recipe.steps(len(examples.sequences))
    torch.manual_seed(seed)
    classifier.to(compute.device).body.set_attention(compute.attention)
    asking = [(p, p.requires_grad) for p in classifier.parameters()]
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
        compute=compute, seed=seed, on_step=on_step, handlers=[partial(_stop_early, recipe)],
    )  # fmt: skip
    seconds = time.perf_counter() - began
    for parameter, asked in asking:
        parameter.requires_grad_(asked)
    classifier.report = Report(
        history,
        difference,
        declared,
        tuple(name for name, p in parameters.items() if not torch.equal(p, before[name])),
        sum(parameters[name].numel() for name in declared),
        sum(parameter.numel() for parameter in parameters.values()),
        seconds,
    )
    return classifier


def _stop_early(recipe: Recipe, engine: Trainer) -> None:
    """Ends the training once the texts are learnt, if the recipe asks for it."""

    @engine.on(Events.ITERATION_COMPLETED)
    def end_if_learnt() -> None:
        last = [record["loss"] for record in engine.history[-PATIENCE:]]
        if recipe.stop_below is None or len(last) < PATIENCE:
            return
        if sum(last) / PATIENCE < recipe.stop_below:
            engine.terminate()


class _Examples:
    """Texts and labels as batches of about equal lengths; batch k depends on the seed and k."""

    def __init__(self, classifier, texts, labels, batch_size: int, seed: int):
        if len(texts) != len(labels):
            raise ValueError(
                f"expected as many labels as texts, got {len(labels)} and {len(texts)}"
            )
        self.sequences = classifier.encode(texts)
        self.targets = _targets(labels, classifier.labels)
        self.batch_size, self.seed, self.features = batch_size, seed, None
        self.per_epoch = -(-len(texts) // batch_size)
        self._epoch, self._order = -1, []

    def some(self, compute: Compute) -> tuple[Tensor, Tensor]:
        """Tokens and mask of the first few texts."""
        return tuple(part.to(compute.device) for part in pad(self.sequences[:32], PAD))

    def batch(self, step: int) -> tuple[Tensor, ...]:
        """(tokens, mask, labels), or (features, labels) once they are known."""
        epoch, place = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            lengths = [len(sequence) for sequence in self.sequences]
            self._epoch = epoch
            self._order = bucket_batches(lengths, self.batch_size, self.seed, epoch)
        rows = self._order[place]
        if self.features is not None:
            return self.features[rows], self.targets[rows]
        return *pad([self.sequences[row] for row in rows], PAD), self.targets[rows]

    @torch.no_grad()
    def read_once(self, classifier: Classifier, compute: Compute) -> None:
        """Computes the features of all texts, for a body that stays as it is."""
        self.features = by_length(self.sequences, classifier.eval().features, compute=compute).cpu()


def _targets(labels: Sequence[str] | Tensor, names: Sequence[str]) -> Tensor:
    """What the loss compares with: numbers of labels, or probabilities as they are."""
    if isinstance(labels, Tensor):
        if labels.shape[1:] != (len(names),):
            raise ValueError(
                f"expected probabilities of {len(names)} labels for each text, "
                f"got a tensor of shape {tuple(labels.shape)}"
            )
        return labels
    labels = list(labels)
    unknown = sorted(set(labels) - set(names))
    if unknown:
        raise ValueError(f"expected labels out of {list(names)}, got also {unknown}")
    return torch.tensor([names.index(label) for label in labels])


def prepare(
    classifier: Classifier,
    some: tuple[Tensor, Tensor],
    *,
    scheme: Scheme = FULL,
    recipe: Recipe = Recipe(),
) -> tuple[Groups, torch.optim.Optimizer, float]:
    """Applies a scheme's edit and groups in place: what `adapt` does before the first step.

    Returns the groups, their optimizer, and the most that the edit changed a logit on `some`
    (tokens, mask). Raises ValueError, see `adapt`.
    """
    plain = _logits(classifier, some)
    if isinstance(classifier.edit, Unchanged):
        classifier.add(scheme.edit)
    elif scheme.edit not in (classifier.edit, Unchanged()):
        raise ValueError(
            f"expected a classifier to which nothing was added, or to go on by {classifier.edit}, "
            f"got {scheme.edit} on top; start from the one before"
        )
    else:
        scheme = replace(scheme, edit=classifier.edit)
    classifier.scheme = scheme
    difference = (_logits(classifier, some) - plain).abs().max().item()
    groups = scheme.groups(classifier, classifier.added)
    return groups, _optimizer(classifier, groups, recipe), difference


@torch.no_grad()
def _logits(classifier: Classifier, some: tuple) -> Tensor:
    return classifier.eval()(*some)


def classification_loss(
    model: Classifier, batch: tuple[Tensor, ...], term: Term | None = None
) -> tuple[Tensor, int]:
    """Sum of nats over a batch, with `term` for each text, and how many texts.

    A batch is (tokens, mask, labels) or (features, labels).
    """
    *inputs, labels = batch
    logits = model(*inputs) if len(inputs) == 2 else model.classify(*inputs)
    nats = F.cross_entropy(logits, labels, reduction="sum")
    return (nats if term is None else nats + len(labels) * term(model, batch)), len(labels)


def _optimizer(classifier: Classifier, groups: Groups, recipe: Recipe) -> torch.optim.Optimizer:
    """AdamW over the groups; what is in none gets no gradient. Raises ValueError, see `adapt`."""
    parameters = dict(classifier.named_parameters())
    names = [name for group in groups.values() for name in group.names]
    wrong = sorted(set(names) - set(parameters)) or sorted({n for n in names if names.count(n) > 1})
    empty = [name for name, group in groups.items() if not group.names]
    if wrong or empty or not groups:
        raise ValueError(
            "expected groups of parameters of the classifier, each in one group; "
            f"unknown or twice: {wrong}, empty: {empty or list(groups) == []}"
        )
    for name, parameter in parameters.items():
        parameter.requires_grad_(name in names)
    return torch.optim.AdamW(
        [
            {
                "name": name,
                "params": [parameters[each] for each in group.names],
                "lr": recipe.learning_rate * group.factor,
            }
            for name, group in groups.items()
        ],
        betas=(0.9, 0.98),
        weight_decay=recipe.weight_decay,
        fused=True,
    )
