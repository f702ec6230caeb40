"""What is searched for each scheme: learning rates, and its own size where it has one.

Every scheme gets the same budget: six learning rates, each twice the one before, at its middle
size; then its other two sizes at the best of them and at its neighbours; more where the best is at
an edge (see `grid_search`). The head moves at HEAD_RATE whatever the rest does, where something of
the body moves or is added to its layers; for full fine-tuning, which has no size of its own, that
rate is what is searched instead.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.studies.initial_models import SCRATCH
from benchmarks.studies.multi_stage import Task
from tlcourse import corpora
from tlcourse.adaptation import (
    EWC,
    FULL,
    L2SP,
    Adapters,
    AddedOnly,
    ByLayer,
    Classifier,
    GradualUnfreezing,
    HeadOnly,
    LanguageModelling,
    LayerMix,
    LoRA,
    Named,
    Prefixes,
    Recipe,
    Scheme,
    SlantedTriangular,
    TopLayers,
    fisher,
)
from tlcourse.adaptation.presets import HEAD_RATE
from tlcourse.batching import pad
from tlcourse.bpe import PAD

RATES = 6
WINDOWS, LENGTH = 16, 64  # of the article by which EWC knows what mattered
DAMAGE = 0.15  # share of the tokens that consistency drops


@dataclass(frozen=True)
class Entry:
    """One scheme's grid: `build` makes it of a size; `lowest` is its first learning rate."""

    build: Callable[[Any, Task], Scheme]
    lowest: float
    sizes: tuple = (None,)  # the middle one is tried first
    what: str = ""  # the size is
    head: bool = True  # whether the head has the learning rate HEAD_RATE
    model: str = ""  # where it starts, if not where all do
    changed: Callable[[Recipe, Any], Recipe] = lambda recipe, size: recipe  # by a size of training

    @property
    def middle(self) -> Any:
        """The size that is tried first."""
        return self.sizes[len(self.sizes) // 2]

    def rates(self) -> list[float]:
        """The learning rates that it tries first, each twice the one before."""
        return [self.lowest * 2**step for step in range(RATES)]

    def recipe(self, size: Any, rate: float, epochs: int) -> Recipe:
        """How it is trained at one point of the grid."""
        head = HEAD_RATE if self.head else None
        recipe = Recipe(epochs=epochs, learning_rate=rate, head_learning_rate=head)
        return self.changed(recipe, size)


def _full(size: Any, task: Task) -> Scheme:
    return FULL


def _lora(layers: str | tuple[str, ...]) -> Callable[[int, Task], Scheme]:
    return lambda rank, task: Scheme(edit=LoRA(rank, 2.0 * rank, layers), groups=AddedOnly())


def _adapters(after_attention: bool) -> Callable[[int, Task], Scheme]:
    return lambda size, task: Scheme(edit=Adapters(size, after_attention), groups=AddedOnly())


def _ewc(strength: float, task: Task) -> Scheme:
    """What mattered is asked of an article on which forgetting is not measured: the last one."""
    article = list(corpora.articles(corpora.load("wikitext-103")["validation"]))[-1]
    start = task.start()

    def log_likelihoods(body: torch.nn.Module) -> Tensor:
        ids = start.tokenizer.encode(article)[: WINDOWS * LENGTH]
        place = next(body.parameters()).device
        rows = torch.tensor(ids[: len(ids) // LENGTH * LENGTH], device=place).view(-1, LENGTH)
        logits = body(rows[:, :-1]).float()
        return -F.cross_entropy(logits.transpose(1, 2), rows[:, 1:], reduction="none").sum(1)

    return Scheme(extra_loss=EWC(fisher(start.body.eval(), log_likelihoods), strength))


@dataclass(frozen=True)
class Consistency:
    """`weight` times the divergence between answers to unlabelled texts and to damaged ones.

    Consistency training (Xie et al., 2020, UDA): the answers to the whole texts are sharpened by
    `temperature`, and those whose likeliest label is less sure than `confidence` do not count. The
    damage is that a share of DAMAGE of the tokens is dropped. 16 texts a step.
    """

    texts: tuple[str, ...]
    weight: float
    temperature: float = 0.4
    confidence: float = 0.8

    def __call__(self, classifier: Classifier) -> Callable[[Classifier, tuple], Tensor]:
        """Draws its texts from a generator of its own."""
        pool, draw = classifier.encode(self.texts), np.random.default_rng(0)

        def term(model: Classifier, batch: tuple[Tensor, ...]) -> Tensor:
            some = [pool[row] for row in draw.integers(len(pool), size=16)]
            model.eval()
            with torch.no_grad():
                whole = _logits(model, some, batch[0].device)
            model.train()
            now = _logits(model, [_damaged(ids, draw) for ids in some], batch[0].device)
            sure = whole.softmax(-1).amax(-1) >= self.confidence
            sharp = (whole / self.temperature).log_softmax(-1)
            apart = F.kl_div(now.log_softmax(-1), sharp, reduction="none", log_target=True).sum(-1)
            return self.weight * (apart * sure).mean()

        return term


def _logits(model: Classifier, sequences: list, place: torch.device) -> Tensor:
    return model(*(part.to(place) for part in pad(sequences, PAD))).float()


def _damaged(ids: list[int], draw: np.random.Generator) -> list[int]:
    """Without some of its tokens; the last one, `<cls>`, and at least one other stay."""
    kept = draw.random(len(ids) - 1) >= DAMAGE
    kept[int(draw.integers(len(kept)))] = True
    return [*(token for token, keep in zip(ids, kept, strict=False) if keep), ids[-1]]


def _consistent(weight: float, task: Task) -> Scheme:
    return Scheme(extra_loss=Consistency(tuple(task.unlabelled()), weight))


SPACE: dict[str, Entry] = {
    FULL.name: Entry(
        _full, 1.25e-4, (1e-3, HEAD_RATE, 1e-2), "head's learning rate",
        changed=lambda recipe, rate: replace(recipe, head_learning_rate=rate),
    ),
    "frozen body": Entry(lambda _, task: Scheme(groups=HeadOnly()), 2e-3, head=False),
    "mix of layers": Entry(
        lambda factor, task: Scheme(edit=LayerMix(), groups=AddedOnly(factor)),
        2e-3, (1.0, 10.0, 30.0), "factor of the mix", head=False,
    ),
    "top layers": Entry(lambda n, task: Scheme(groups=TopLayers(n)), 1.25e-4, (1, 2, 4), "blocks"),
    "gradual unfreezing": Entry(
        lambda share, task: Scheme(groups=ByLayer(), schedule=GradualUnfreezing(share=share)),
        5e-4, (0.25, 0.5, 0.75), "share of the steps until all move",
    ),
    "discriminative rates": Entry(
        lambda decay, task: Scheme(groups=ByLayer(decay), schedule=SlantedTriangular()),
        1.25e-4, (1.2, 1.5, 2.6), "decay",
    ),
    "Houlsby adapters": Entry(_adapters(True), 1e-3, (8, 32, 128), "bottleneck"),
    "Pfeiffer adapters": Entry(_adapters(False), 1e-3, (8, 32, 128), "bottleneck"),
    "LoRA": Entry(_lora(("query", "value")), 2e-3, (2, 8, 32), "rank"),
    "LoRA, attention": Entry(_lora("attention"), 2e-3, (2, 8, 32), "rank"),
    "LoRA, all layers": Entry(_lora("all"), 1e-3, (2, 8, 32), "rank"),
    "BitFit": Entry(lambda _, task: Scheme(groups=Named("bias")), 4e-3),
    "prefix tuning": Entry(
        lambda length, task: Scheme(edit=Prefixes(length), groups=AddedOnly()),
        1e-2, (4, 10, 25), "length",
    ),
    "L2-SP": Entry(
        lambda strength, task: Scheme(extra_loss=L2SP(strength)),
        1.25e-4, (0.001, 0.01, 0.1), "strength",
    ),
    "EWC": Entry(_ewc, 1.25e-4, (0.003, 0.03, 0.3), "strength"),
    "with the LM loss": Entry(
        lambda weight, task: Scheme(extra_loss=LanguageModelling(weight)),
        1.25e-4, (0.1, 0.3, 1.0), "weight",
    ),
    "consistency": Entry(_consistent, 1.25e-4, (0.3, 1.0, 3.0), "weight"),
    SCRATCH: Entry(
        _full, 1.25e-4, (1, 2, 4), "times the epochs", model=SCRATCH,
        changed=lambda recipe, times: replace(recipe, epochs=recipe.epochs * times),
    ),
}  # fmt: skip
COMBINED: dict[str, Entry] = {  # not searched: of each part what its own search chose
    "gradual unfreezing with the LM loss": Entry(
        lambda weight, task: Scheme(
            groups=ByLayer(),
            schedule=GradualUnfreezing(share=0.75),
            extra_loss=LanguageModelling(weight),
        ),
        2e-3, (0.3,), "weight",
    ),
}  # fmt: skip
MAIN = (  # whose best points are confirmed
    FULL.name,
    "frozen body",
    "gradual unfreezing",
    "Houlsby adapters",
    "Pfeiffer adapters",
    "LoRA, attention",
    "LoRA, all layers",
    "with the LM loss",
)


def task_model(name: str, model: str) -> str:
    """Where the scheme of that name starts, if the others start at `model`."""
    return (SPACE[name].model if name in SPACE else "") or model


def task_at(name: str, task: Task, size: Any) -> Task:
    """The task with the scheme of that name and size, started where that scheme starts."""
    task = replace(task, model=task_model(name, task.model))
    built = (SPACE | COMBINED)[name].build(size, task)
    return replace(task, scheme=replace(built, name=name))
