"""What a probe must beat: guessing, word types, a random encoder."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from tlcourse.probing.fitting import Judgement
from tlcourse.transformer import Transformer


@dataclass(frozen=True)
class Guess:
    """A label for each group, and one for all other groups; it sees no vector."""

    otherwise: str
    by_group: dict[str, str] = field(default_factory=dict)

    def predict(self, groups: Iterable[str]) -> np.ndarray:
        """(items,) labels."""
        return np.asarray([self.by_group.get(group, self.otherwise) for group in groups])

    def judge(self, groups: Iterable[str], labels: Iterable[str]) -> Judgement:
        """What it says of each item against what is right."""
        return Judgement.of(self.predict(groups), np.asarray(list(labels)))


def majority(labels: Iterable[str]) -> Guess:
    """The most frequent label, whatever the item; the first in the alphabet among equals."""
    return Guess(_commonest(Counter(labels)))


def word_types(groups: Iterable[str], labels: Iterable[str]) -> Guess:
    """The most frequent label of each word type; a type not among `groups` gets the majority's."""
    groups, labels = list(groups), list(labels)
    counts: dict[str, Counter] = {}
    for group, label in zip(groups, labels, strict=True):
        counts.setdefault(group, Counter())[label] += 1
    by_group = {group: _commonest(each) for group, each in counts.items()}
    return Guess(majority(labels).otherwise, by_group)


def _commonest(counts: Counter) -> str:
    if not counts:
        raise ValueError("expected at least one label, got none")
    return min(counts, key=lambda label: (-counts[label], label))


@torch.no_grad()
def random_encoder(model: Transformer, *, seed: int = 0) -> Transformer:
    """A model of the same shape that has read nothing, on the same device.

    Its weights are drawn so that words stay visible and see their context: embeddings with standard
    deviation 1, matrices with that of 1 / sqrt(inputs), those that write into the residual stream
    less by sqrt(2 * layers) (Radford et al., 2019). Our own start would not do: there each block is
    the identity, and no word sees another.
    """
    with torch.random.fork_rng(devices=[]):  # the caller's draws stay
        torch.manual_seed(seed)
        drawn = Transformer(model.config, model.blocks[0].attention.kernel)
        for module in drawn.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=module.in_features**-0.5)
    for block in drawn.blocks:
        for writes in (block.attention.output, block.down):
            writes.weight.div_((2 * model.config.layers) ** 0.5)
    return drawn.to(model.embedding.weight.device).eval()
