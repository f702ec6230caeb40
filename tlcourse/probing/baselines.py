"""What a probe must beat: guessing, word types, a random encoder."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import permutations

import numpy as np
import torch
from torch import nn

from tlcourse.probing.fitting import Judgement
from tlcourse.probing.items import BETWEEN
from tlcourse.transformer import Transformer


@dataclass(frozen=True)
class Guess:
    """A label for each group, and one for all other groups; it sees no vector.

    A pair may also be known by its first word, as `"dog\\t"`, or by its second, as `"\\tbarks"`;
    `order` says which of the three ("pair", "first", "second") is asked first, and which next.
    """

    otherwise: str
    by_group: dict[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ("pair", "first", "second")

    def predict(self, groups: Iterable[str]) -> np.ndarray:
        """(items,) labels."""
        return np.asarray([self._label(group) for group in groups])

    def _label(self, group: str) -> str:
        ways = _ways(group)
        asked = (ways[way] for way in self.order if way in ways)
        return next((self.by_group[way] for way in asked if way in self.by_group), self.otherwise)

    def judge(self, groups: Iterable[str], labels: Iterable[str]) -> Judgement:
        """What it says of each item against what is right."""
        return Judgement.of(self.predict(groups), np.asarray(list(labels)))


def majority(labels: Iterable[str]) -> Guess:
    """The most frequent label, whatever the item; the first in the alphabet among equals."""
    return Guess(_commonest(Counter(labels)))


def word_types(groups: Iterable[str], labels: Iterable[str]) -> Guess:
    """The most frequent label of each word type; a type not among `groups` gets the majority's.

    A pair (a group with a tab) may be known as a pair, or by its first or its second word alone:
    often one word says more than the few pairs that occur again. Asked first is what is right most
    often on the last fifth of the items when only the others are known; an unseen one backs off to
    the next.
    """
    groups, labels = list(groups), list(labels)
    found = _counted(groups, labels)
    if not any(BETWEEN in group for group in groups):
        return found
    cut = len(groups) * 4 // 5
    before = _counted(groups[: max(cut, 1)], labels[: max(cut, 1)])
    orders = permutations(found.order)
    best = max(orders, key=lambda order: _accuracy(before, order, groups[cut:], labels[cut:]))
    return replace(found, order=best)


def _counted(groups: list[str], labels: list[str]) -> Guess:
    """The most frequent label of each group, and of each word of those that are pairs."""
    counts: dict[str, Counter] = {}
    for group, label in zip(groups, labels, strict=True):
        for way in _ways(group).values():
            counts.setdefault(way, Counter())[label] += 1
    by_group = {group: _commonest(each) for group, each in counts.items()}
    return Guess(majority(labels).otherwise, by_group)


def _accuracy(guess: Guess, order: tuple[str, ...], groups: list[str], labels: list[str]) -> float:
    return replace(guess, order=order).judge(groups, labels).accuracy


def _ways(group: str) -> dict[str, str]:
    """As what a group may be known: itself; a pair also by either word."""
    first, tab, second = group.partition(BETWEEN)
    return {"pair": group} | ({"first": first + tab, "second": tab + second} if tab else {})


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
