"""The second knob: which parameters move, in which groups, at which learning rate.

A grouping is a value that is called with the classifier and the names that the first knob added;
it returns groups by name, from the input to the output. What is in no group does not move.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tlcourse import ranges
from tlcourse.adaptation.knobs import Adaptable

HEAD_FACTOR = 3.0  # the head begins at random weights and has further to go


@dataclass(frozen=True)
class Group:
    """Names of parameters that move together, at `factor` times the recipe's learning rate."""

    names: tuple[str, ...]
    factor: float = 1.0

    def __post_init__(self) -> None:
        ranges.check(self, factor=ranges.NOT_NEGATIVE)


Groups = dict[str, Group]
Grouping = Callable[[Adaptable, Sequence[str]], Groups]


def head_names(classifier: Adaptable) -> tuple[str, ...]:
    """The names of what was not pretrained and was there before any edit."""
    return tuple(name for name, _ in classifier.named_parameters() if name.startswith("head."))


def _body_names(classifier: Adaptable) -> list[str]:
    return [name for name, _ in classifier.named_parameters() if name.startswith("body.")]


def _with_head(classifier: Adaptable, name: str, names: Sequence[str], factor: float) -> Groups:
    groups = {name: Group(tuple(names), factor)} if names else {}
    return groups | {"head": Group(head_names(classifier), HEAD_FACTOR)}


@dataclass(frozen=True)
class Everything:
    """All parameters that ask for a gradient (Radford et al., 2018; Devlin et al., 2019)."""

    def __call__(self, classifier: Adaptable, added: Sequence[str]) -> Groups:
        """The body and the head."""
        asking = [name for name, p in classifier.named_parameters() if p.requires_grad]
        head = tuple(name for name in head_names(classifier) if name in asking)
        body = tuple(name for name in asking if name not in head)
        groups = {"body": Group(body), "head": Group(head, HEAD_FACTOR)}
        return {name: group for name, group in groups.items() if group.names}


@dataclass(frozen=True)
class HeadOnly:
    """The linear layer on top; the body gives features."""

    def __call__(self, classifier: Adaptable, added: Sequence[str]) -> Groups:
        """The head alone."""
        return _with_head(classifier, "added", (), 1.0)


@dataclass(frozen=True)
class AddedOnly:
    """The added parameters, at `factor` times the learning rate, and the head."""

    factor: float = 1.0

    def __post_init__(self) -> None:
        ranges.check(self, factor=ranges.NOT_NEGATIVE)

    def __call__(self, classifier: Adaptable, added: Sequence[str]) -> Groups:
        """What was added, and the head; raises ValueError where nothing was added."""
        if not added:
            raise ValueError(
                "expected a scheme whose edit adds something, for AddedOnly to move, got none; "
                "give edit=, or take groups=HeadOnly()"
            )
        return _with_head(classifier, "added", added, self.factor)


@dataclass(frozen=True)
class TopLayers:
    """The last `count` blocks, the norm after them and the head."""

    count: int

    def __post_init__(self) -> None:
        ranges.check(self, count=ranges.COUNT)

    def __call__(self, classifier: Adaptable, added: Sequence[str]) -> Groups:
        """The blocks and the head; raises ValueError where there are fewer blocks than these."""
        layers = _layers(classifier)
        if self.count >= len(layers):
            raise ValueError(f"expected 1 to {len(layers) - 1} blocks to move, got {self.count}")
        names = [name for layer in list(layers.values())[-self.count :] for name in layer]
        return _with_head(classifier, f"top {self.count}", names, 1.0)


@dataclass(frozen=True)
class Named:
    """The parameters of the body whose names end like this, and the head.

    `Named("bias")` is BitFit (Ben Zaken et al., 2022); a tuple names several endings.
    """

    endings: str | tuple[str, ...]
    factor: float = 1.0

    def __post_init__(self) -> None:
        ranges.check(self, factor=ranges.NOT_NEGATIVE)
        endings = self._all()
        if not endings or not all(isinstance(each, str) for each in endings):
            raise ValueError(f"endings: expected at least one text, got {self.endings!r}")
        short = endings if len(endings) > 1 else endings[0]  # one choice, one way to write it
        object.__setattr__(self, "endings", short)

    def _all(self) -> tuple[str, ...]:
        return tuple(self.endings) if isinstance(self.endings, tuple | list) else (self.endings,)

    def __call__(self, classifier: Adaptable, added: Sequence[str]) -> Groups:
        """The named ones and the head; raises ValueError where no name ends so."""
        endings, there = self._all(), _body_names(classifier)
        names = [name for name in there if name.endswith(endings)]
        if not names:
            nearest = difflib.get_close_matches(endings[0], there, n=1, cutoff=0.0)[0]
            raise ValueError(
                f"expected parameters that end in {' or '.join(endings)}, found none in the body; "
                f"the nearest is {nearest}"
            )
        return _with_head(classifier, " and ".join(endings), names, self.factor)


@dataclass(frozen=True)
class ByLayer:
    """Each layer a group of its own, each `decay` times slower than the one above it.

    Discriminative learning rates (Howard & Ruder, 2018) with their 2.6; with 1 all layers are
    equally fast.
    """

    decay: float = 1.0

    def __post_init__(self) -> None:
        ranges.check(self, decay=ranges.POSITIVE)

    def __call__(self, classifier: Adaptable, added: Sequence[str]) -> Groups:
        """A group for the embedding, each block, and the head."""
        layers = _layers(classifier)
        top = len(layers) - 1
        groups = {
            layer: Group(tuple(names), self.decay ** -(top - place))
            for place, (layer, names) in enumerate(layers.items())
        }
        return groups | {"head": Group(head_names(classifier), HEAD_FACTOR)}


def _layers(classifier: Adaptable) -> dict[str, list[str]]:
    """Names by layer: the embedding, the blocks, and a norm after them with the last block.

    A post-norm body has its norm before the blocks: it goes with the embedding.
    """
    layers: dict[str, list[str]] = {}
    last = len(classifier.body.blocks) - 1
    for name in _body_names(classifier):
        parts = name.split(".")
        if parts[1] == "blocks":
            layer = f"block {int(parts[2])}"
        else:
            on_top = parts[1].startswith("norm") and classifier.body.config.norm_first
            layer = f"block {last}" if on_top else "embedding"
        layers.setdefault(layer, []).append(name)
    return layers
