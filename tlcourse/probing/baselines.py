"""The baselines of a probe: the majority label, word types, a random encoder."""

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
    """A baseline without vectors: a label for each known group, and one for all other groups.

    The label of a pair may also be that of its first word, with the key `"dog\\t"`, or of its
    second, with the key `"\\tbarks"`; `order` is the order in which these keys are tried.
    """

    otherwise: str
    by_group: dict[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ("pair", "first", "second")

    def predict(self, groups: Iterable[str]) -> np.ndarray:
        """The predicted labels, (items,)."""
        return np.asarray([self._label(group) for group in groups])

    def _label(self, group: str) -> str:
        by_kind = _keys(group)
        keys = (by_kind[kind] for kind in self.order if kind in by_kind)
        return next((self.by_group[key] for key in keys if key in self.by_group), self.otherwise)

    def judge(self, groups: Iterable[str], labels: Iterable[str]) -> Judgement:
        """Compares the predictions with the labels of the items."""
        return Judgement.of(self.predict(groups), np.asarray(list(labels)))


def majority(labels: Iterable[str]) -> Guess:
    """The most frequent label for every item; ties go to the first in the alphabet."""
    return Guess(_most_frequent(Counter(labels)))


def word_types(groups: Iterable[str], labels: Iterable[str]) -> Guess:
    """The most frequent label of each word type; a type not among `groups` gets the majority label.

    A pair (a group with a tab) is looked up as a pair, by its first word or by its second, because
    a single word often predicts more than the few pairs that occur again. The order of look-up is
    the one with the best accuracy on the last fifth of the items, given the labels of the others;
    an unseen key backs off to the next.
    """
    groups, labels = list(groups), list(labels)
    guess = _counted(groups, labels)
    if not any(BETWEEN in group for group in groups):
        return guess
    cut = len(groups) * 4 // 5
    earlier = _counted(groups[: max(cut, 1)], labels[: max(cut, 1)])
    orders = permutations(guess.order)

    def accuracy(order: tuple[str, ...]) -> float:
        return replace(earlier, order=order).judge(groups[cut:], labels[cut:]).accuracy

    return replace(guess, order=max(orders, key=accuracy))


def _counted(groups: list[str], labels: list[str]) -> Guess:
    """The most frequent label of each group and, for pairs, of each word."""
    counts: dict[str, Counter] = {}
    for group, label in zip(groups, labels, strict=True):
        for key in _keys(group).values():
            counts.setdefault(key, Counter())[label] += 1
    by_group = {key: _most_frequent(key_counts) for key, key_counts in counts.items()}
    return Guess(majority(labels).otherwise, by_group)


def _keys(group: str) -> dict[str, str]:
    """The keys under which a group is looked up: itself and, for a pair, either word."""
    first, tab, second = group.partition(BETWEEN)
    return {"pair": group} | ({"first": first + tab, "second": tab + second} if tab else {})


def _most_frequent(counts: Counter) -> str:
    if not counts:
        raise ValueError("expected at least one label, got none")
    return min(counts, key=lambda label: (-counts[label], label))


@torch.no_grad()
def random_encoder(model: Transformer, *, seed: int = 0) -> Transformer:
    """An untrained model of the same shape, on the same device.

    Its random weights keep words distinguishable and mix in their context: embeddings have standard
    deviation 1 and matrices 1 / sqrt(inputs), divided by sqrt(2 * layers) for those that write into
    the residual stream (Radford et al., 2019). The initial weights of `Transformer` are unsuitable,
    because there each block is the identity and no word sees another.
    """
    with torch.random.fork_rng(devices=[]):  # leaves the caller's random state unchanged
        torch.manual_seed(seed)
        encoder = Transformer(model.config, model.blocks[0].attention.kernel)
        for module in encoder.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=module.in_features**-0.5)
    for block in encoder.blocks:
        for layer in (block.attention.output, block.down):
            layer.weight.div_((2 * model.config.layers) ** 0.5)
    return encoder.to(model.embedding.weight.device).eval()
