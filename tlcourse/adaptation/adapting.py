"""One path for every way to adapt, with four knobs.

A `Scheme` names what is added, which parameters move, how fast each moves at each step, and what is
added to the loss. `adapt` does the rest, the same for all, and says what happened.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse.adaptation.classifier import PAD, Classifier, Text, by_length, encode
from tlcourse.adaptation.edits import Edit, unchanged
from tlcourse.adaptation.extra_losses import ExtraLoss, Term
from tlcourse.adaptation.groups import Choice, Groups, everything
from tlcourse.adaptation.schedules import Schedule, triangular
from tlcourse.batching import bucket_batches, pad
from tlcourse.bpe import Tokenizer
from tlcourse.device import Compute
from tlcourse.training import train


@dataclass(frozen=True)
class Recipe:
    """How long and how fast; the defaults were chosen on TREC's dev split."""

    epochs: int = 4
    rate: float = 5e-4  # AdamW; a group moves at this times its own factor
    batch: int = 32  # texts a step
    weight_decay: float = 0.01
    min_steps: int = 0  # small sets get more epochs, until they reach this many steps

    def steps(self, texts: int) -> int:
        """How many steps so many texts take."""
        return max(self.epochs * math.ceil(texts / self.batch), self.min_steps)


@dataclass(frozen=True)
class Scheme:
    """A way to adapt: a name and four choices. The defaults are full fine-tuning."""

    name: str
    edit: Edit = unchanged
    groups: Choice = everything
    schedule: Schedule = triangular()
    extra_loss: ExtraLoss | None = None


FULL = Scheme("full fine-tuning")


@dataclass(frozen=True)
class Adaptation:
    """What `adapt` did."""

    history: list[dict]
    start_difference: float  # the most that the edit changed a logit, before the first step
    declared: tuple[str, ...]  # the parameters that were to move
    moved: tuple[str, ...]  # those that did
    trained: int  # numbers in the declared parameters
    parameters: int  # numbers in all
    seconds: float


def adapt(
    classifier: Classifier,
    tokenizer: Tokenizer,
    texts: Sequence[Text],
    labels: Sequence[str] | Tensor,
    compute: Compute,
    recipe: Recipe,
    seed: int,
    scheme: Scheme = FULL,
    on_step: Iterable[Callable[[dict], None]] = (),
) -> Adaptation:
    """Adapts the classifier in place to texts and label names, by any scheme.

    A text may be a pair of texts. `labels` may also be probabilities, (texts, labels), such as
    another model's. AdamW, batches of about equal lengths. What a scheme freezes asks for a
    gradient again when the training is over; what was frozen before stays so. If nothing of the
    body moves and nothing is added to the loss, the features of the texts are computed once. Raises
    ValueError when texts and labels differ in number, a label is not one of the classifier's, or a
    scheme's groups overlap, are empty or name what is not there.
    """
    examples = _Examples(classifier, tokenizer, texts, labels, recipe.batch, seed)
    steps = recipe.steps(len(texts))
    torch.manual_seed(seed)
    asking = [(p, p.requires_grad) for p in classifier.to(compute.device).parameters()]
    groups, optimizer, difference = prepare(classifier, scheme, recipe, examples.some(compute))
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
    )  # fmt: skip
    seconds = time.perf_counter() - began
    for parameter, asked in asking:
        parameter.requires_grad_(asked)
    return Adaptation(
        history,
        difference,
        declared,
        tuple(name for name, p in parameters.items() if not torch.equal(p, before[name])),
        sum(parameters[name].numel() for name in declared),
        sum(parameter.numel() for parameter in parameters.values()),
        seconds,
    )


def fine_tune(*arguments, **more) -> list[dict]:
    """Full fine-tuning; takes what `adapt` takes and returns the history alone."""
    return adapt(*arguments, **more).history


class _Examples:
    """Texts and labels as batches of about equal lengths; batch k depends on the seed and k."""

    def __init__(self, classifier, tokenizer, texts, labels, batch: int, seed: int):
        if len(texts) != len(labels):
            raise ValueError(
                f"expected as many labels as texts, got {len(labels)} and {len(texts)}"
            )
        self.sequences = encode(texts, tokenizer, classifier.body.config.max_length)
        self.goals = _goals(labels, classifier.labels)
        self.size, self.seed, self.features = batch, seed, None
        self.per_epoch = -(-len(texts) // batch)
        self._epoch, self._order = -1, []

    def some(self, compute: Compute) -> tuple[Tensor, Tensor]:
        """Tokens and mask of the first few texts."""
        return tuple(part.to(compute.device) for part in pad(self.sequences[:32], PAD))

    def batch(self, step: int) -> tuple[Tensor, ...]:
        """(tokens, mask, labels), or (features, labels) once they are known."""
        epoch, place = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            lengths = [len(sequence) for sequence in self.sequences]
            self._epoch, self._order = epoch, bucket_batches(lengths, self.size, self.seed, epoch)
        rows = self._order[place]
        if self.features is not None:
            return self.features[rows], self.goals[rows]
        return *pad([self.sequences[row] for row in rows], PAD), self.goals[rows]

    @torch.no_grad()
    def read_once(self, classifier: Classifier, compute: Compute) -> None:
        """Computes the features of all texts, for a body that stays as it is."""
        self.features = by_length(self.sequences, classifier.eval().features, compute).cpu()


def _goals(labels: Sequence[str] | Tensor, names: Sequence[str]) -> Tensor:
    """What the loss compares with: numbers of labels, or probabilities as they are."""
    if isinstance(labels, Tensor):
        if labels.shape[1:] != (len(names),):
            raise ValueError(
                f"expected probabilities of {len(names)} labels for each text, "
                f"got a tensor of shape {tuple(labels.shape)}"
            )
        return labels
    unknown = sorted(set(labels) - set(names))
    if unknown:
        raise ValueError(f"expected labels out of {list(names)}, got also {unknown}")
    return torch.tensor([names.index(label) for label in labels])


def prepare(
    classifier: Classifier, scheme: Scheme, recipe: Recipe, some: tuple[Tensor, Tensor]
) -> tuple[Groups, torch.optim.Optimizer, float]:
    """Applies a scheme's edit and groups in place: what `adapt` does before the first step.

    Returns the groups, their optimizer, and the most that the edit changed a logit on `some`
    (tokens, mask). Raises ValueError, see `adapt`.
    """
    plain, known = _logits(classifier, some), set(map(id, classifier.parameters()))
    scheme.edit(classifier)
    classifier.to(some[0].device)
    added = [name for name, p in classifier.named_parameters() if id(p) not in known]
    difference = (_logits(classifier, some) - plain).abs().max().item()
    groups = scheme.groups(classifier, added)
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
    *inputs, goals = batch
    logits = model(*inputs) if len(inputs) == 2 else model.classify(*inputs)
    nats = F.cross_entropy(logits, goals, reduction="sum")
    return (nats if term is None else nats + len(goals) * term(model, batch)), len(goals)


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
                "lr": recipe.rate * group.factor,
            }
            for name, group in groups.items()
        ],
        betas=(0.9, 0.98),
        weight_decay=recipe.weight_decay,
        fused=True,
    )
