"""The second knob: which parameters are trained, in which groups, at which learning rate.

A grouping is a value that is called with the classifier and the names of the parameters that the
first knob added; it returns groups by name, from the input to the output. Parameters in no group
are frozen.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tlcourse import ranges
from tlcourse.adaptation.knobs import Adaptable

HEAD_FACTOR = 3.0  # the head starts at random weights, so it has to change more


@dataclass(frozen=True)
class Group:
    """Names of parameters that are trained together, at `factor` times the recipe's rate."""

    names: tuple[str, ...]
    factor: float = 1.0

    def __post_init__(self) -> None:
        ranges.check(self, factor=ranges.NOT_NEGATIVE)


Groups = dict[str, Group]
Grouping = Callable[[Adaptable, Sequence[str]], Groups]


def head_names(classifier: Adaptable) -> tuple[str, ...]:
    """Returns the names of the head's parameters, which were neither pretrained nor added."""
    return tuple(name for name, _ in classifier.named_parameters() if name.startswith("head."))


def _body_names(classifier: Adaptable) -> list[str]:
    return [name for name, _ in classifier.named_parameters() if name.startswith("body.")]


def _with_head(classifier: Adaptable, name: str, names: Sequence[str], factor: float) -> Groups:
    groups = {name: Group(tuple(names), factor)} if names else {}
    return groups | {"head": Group(head_names(classifier), HEAD_FACTOR)}


@dataclass(frozen=True)
class Everything:
    """All parameters that require a gradient (Radford et al., 2018; Devlin et al., 2019)."""

    def __call__(self, classifier: Adaptable, added: Sequence[str]) -> Groups:
        """Returns the groups of the body and of the head; one without parameters is left out."""
        trained = [name for name, p in classifier.named_parameters() if p.requires_grad]
        head = tuple(name for name in head_names(classifier) if name in trained)
        body = tuple(name for name in trained if name not in head)
        groups = {"body": Group(body), "head": Group(head, HEAD_FACTOR)}
        return {name: group for name, group in groups.items() if group.names}


@dataclass(frozen=True)
class HeadOnly:
    """The linear layer on top; the body is frozen and provides features."""

    def __call__(self, classifier: Adaptable, added: Sequence[str]) -> Groups:
        """Returns the group of the head."""
        return _with_head(classifier, "added", (), 1.0)


@dataclass(frozen=True)
class AddedOnly:
    """The added parameters, at `factor` times the learning rate, and the head."""

    factor: float = 1.0

    def __post_init__(self) -> None:
        ranges.check(self, factor=ranges.NOT_NEGATIVE)

    def __call__(self, classifier: Adaptable, added: Sequence[str]) -> Groups:
        """Returns the groups of the added parameters and of the head.

        Raises ValueError if no parameters were added.
        """
        if not added:
            raise ValueError(
                "expected a scheme whose edit adds parameters for AddedOnly to train, got none; "
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
        """Returns the groups of these blocks and of the head.

        Raises ValueError unless the body has more than `count` blocks.
        """
        layers = _layers(classifier)
        if self.count >= len(layers):
            raise ValueError(f"expected 1 to {len(layers) - 1} blocks to train, got {self.count}")
        names = [name for layer in list(layers.values())[-self.count :] for name in layer]
        return _with_head(classifier, f"top {self.count}", names, 1.0)


@dataclass(frozen=True)
class Named:
    """The parameters of the body whose names end in one of `endings`, and the head.

    `Named("bias")` is BitFit (Ben Zaken et al., 2022); a tuple names several endings.
    """

    endings: str | tuple[str, ...]
    factor: float = 1.0

    def __post_init__(self) -> None:
        ranges.check(self, factor=ranges.NOT_NEGATIVE)
        endings = self._all()
        if not endings or not all(isinstance(ending, str) for ending in endings):
            raise ValueError(f"endings: expected at least one text, got {self.endings!r}")
        short = endings if len(endings) > 1 else endings[0]  # equal choices compare equal
        object.__setattr__(self, "endings", short)

    def _all(self) -> tuple[str, ...]:
        return tuple(self.endings) if isinstance(self.endings, tuple | list) else (self.endings,)

    def __call__(self, classifier: Adaptable, added: Sequence[str]) -> Groups:
        """Returns the groups of these parameters and of the head.

        Raises ValueError if no name has such an ending.
        """
        endings, body = self._all(), _body_names(classifier)
        names = [name for name in body if name.endswith(endings)]
        if not names:
            nearest = difflib.get_close_matches(endings[0], body, n=1, cutoff=0.0)[0]
            raise ValueError(
                f"expected parameters that end in {' or '.join(endings)}, found none in the body; "
                f"the nearest is {nearest}"
            )
        return _with_head(classifier, " and ".join(endings), names, self.factor)


@dataclass(frozen=True)
class ByLayer:
    """Each layer in a group of its own, at 1 / `decay` times the rate of the layer above it.

    Discriminative learning rates (Howard & Ruder, 2018, with a decay of 2.6); with 1, all layers
    have the same rate.
    """

    decay: float = 1.0

    def __post_init__(self) -> None:
        ranges.check(self, decay=ranges.POSITIVE)

    def __call__(self, classifier: Adaptable, added: Sequence[str]) -> Groups:
        """Returns the groups of the embedding, of each block, and of the head."""
        layers = _layers(classifier)
        top = len(layers) - 1
        groups = {
            layer: Group(tuple(names), self.decay ** -(top - place))
            for place, (layer, names) in enumerate(layers.items())
        }
        return groups | {"head": Group(head_names(classifier), HEAD_FACTOR)}


def _layers(classifier: Adaptable) -> dict[str, list[str]]:
    """Returns parameter names by layer: the embedding, then the blocks.

    A pre-norm body's last norm counts as part of the last block; a post-norm body's only norm
    outside the blocks comes before them and counts as part of the embedding.
    """
    layers: dict[str, list[str]] = {}
    last = len(classifier.body.blocks) - 1
    for name in _body_names(classifier):
        parts = name.split(".")
        if "blocks" in parts:  # of a `BiLSTM`, of either direction
            layer = f"block {int(parts[parts.index('blocks') + 1])}"
        else:
            on_top = parts[1].startswith("norm") and classifier.body.config.norm_first
            layer = f"block {last}" if on_top else "embedding"
        layers.setdefault(layer, []).append(name)
    return layers
