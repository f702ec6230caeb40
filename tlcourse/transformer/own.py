"""A model of one's own in the package's hands: the methods it is called by, and its weights.

What lesson 02 builds, `Model(config)`, has `config`, `embedding`, `blocks`, `norm`, `hidden`,
`logits` and `forward`. Its names are those of `Transformer`, except that the feed-forward layer is
a module: `blocks.0.feed_forward.up.weight` there is `blocks.0.up.weight` here.

    class MyModel(EngineMethods, Model): ...

    mine = take_weights(MyModel(shipped.config), shipped)    # the shipped weights in my class
    theirs = as_transformer(mine)                            # and back: to save it, to look inside
"""

import re
from collections.abc import Callable
from dataclasses import fields

import torch
from torch import Tensor, nn

from tlcourse.transformer.config import Config
from tlcourse.transformer.model import Transformer
from tlcourse.transformer.places import chosen

_FEED_FORWARD = re.compile(r"(blocks\.\d+\.)(up|down)\.")
_SHOWN = 3  # names in a message


class EngineMethods:
    """What the engine, losses, evaluation and classifiers call besides `hidden` and `logits`.

    A mixin that stands first: `class MyModel(EngineMethods, Model): ...`. The logits have no bias
    and the head is the embedding, so there is nothing in between.
    """

    config: Config
    embedding: nn.Embedding
    blocks: nn.ModuleList
    hidden: Callable[..., Tensor]

    @property
    def output_layer(self) -> tuple[Tensor, None]:
        """The matrix (vocabulary, width), which is the embedding's, and no bias."""
        return self.embedding.weight, None

    def transformed(self, hidden_states: Tensor) -> Tensor:
        """(..., width) to the same: what the output layer is multiplied with."""
        return hidden_states

    def hidden_at(
        self, tokens: Tensor, padding_mask: Tensor | None = None, *, at: Tensor
    ) -> Tensor:
        """What `hidden` gives at position `at` (batch,) of each row: (batch, width)."""
        return chosen(self.hidden(tokens, padding_mask), at)[:, 0]

    def hidden_states(self, tokens: Tensor, padding_mask: Tensor | None = None) -> list[Tensor]:
        """(batch, length) ids to one (batch, length, width) for the embeddings and each block."""
        states: list[Tensor] = []
        first = self.blocks[0].register_forward_pre_hook(lambda _, inputs: states.append(inputs[0]))
        hooks = [first] + [
            block.register_forward_hook(lambda *seen: states.append(seen[-1]))
            for block in self.blocks
        ]
        try:
            self.hidden(tokens, padding_mask)
        finally:
            for hook in hooks:
                hook.remove()
        return states

    def set_attention(self, kernel: str) -> None:
        """Changes nothing: the model has one kernel, its own."""


def take_weights(model: nn.Module, reference: Transformer) -> nn.Module:
    """Copies the weights of a `Transformer` of the same configuration into `model`; returns it.

    By name: both have the same parameters, see the top of this file. Raises ValueError that says
    which configuration, names or shapes differ; then nothing is copied.
    """
    _same_shape(_config(model), reference.config)
    mine, theirs = _parameters(model), _renamed(reference)
    _same_names(mine, theirs)
    with torch.no_grad():
        for name, parameter in mine.items():
            parameter.copy_(theirs[name])
    return model


def as_transformer(model: nn.Module) -> Transformer:
    """A new `Transformer` with the weights of `model`, on its device and in its mode.

    Raises ValueError that says which names or shapes differ from those of a `Transformer`.
    """
    with torch.random.fork_rng(devices=[]):  # a new model draws weights; the caller's draws stay
        found = Transformer(_config(model))
    mine, theirs = _parameters(model), _renamed(found)
    _same_names(mine, theirs)
    with torch.no_grad():
        for name, parameter in theirs.items():
            parameter.copy_(mine[name])
    return found.to(next(model.parameters()).device).train(model.training)


def _config(model: nn.Module) -> Config:
    config = getattr(model, "config", None)
    if not isinstance(config, Config):
        raise ValueError(
            f"expected a {type(model).__name__} that keeps its Config, got {config!r} as its "
            "`config`; write `self.config = config` in `__init__`"
        )
    return config


def _same_shape(mine: Config, theirs: Config) -> None:
    """Dropout moves no weight, so it may differ."""
    differ = [
        f"{each.name} {getattr(mine, each.name)} against {getattr(theirs, each.name)}"
        for each in fields(Config)
        if each.name != "dropout" and getattr(mine, each.name) != getattr(theirs, each.name)
    ]
    if differ:
        raise ValueError(
            f"expected a model of the reference's configuration, got {', '.join(differ)}; build "
            "it as `Model(reference.config)`"
        )


def _parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    return dict(model.named_parameters())


def _renamed(model: Transformer) -> dict[str, nn.Parameter]:
    """The parameters of a `Transformer` by the names that they have in a model of one's own."""
    return {
        _FEED_FORWARD.sub(r"\1feed_forward.\2.", name): each
        for name, each in model.named_parameters()
    }


def _same_names(mine: dict[str, nn.Parameter], theirs: dict[str, nn.Parameter]) -> None:
    """Raises ValueError unless both have the same names and shapes."""
    missing = [name for name in theirs if name not in mine]
    unknown = [name for name in mine if name not in theirs]
    if missing or unknown:
        said = [
            f"{word} {_some(names)}"
            for word, names in (("without", missing), ("with", unknown))
            if names
        ]
        raise ValueError(
            f"expected a model with the parameters of a Transformer, got one {' and '.join(said)}; "
            "rename its layers"
        )
    for name, each in mine.items():
        if each.shape != theirs[name].shape:
            raise ValueError(
                f"expected {name} of shape {tuple(theirs[name].shape)}, got {tuple(each.shape)}; "
                "take the sizes from `config`"
            )


def _some(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
