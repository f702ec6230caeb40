"""Using a model of your own with this package: the methods it needs, and conversion of weights.

The class built in lesson 02, `Model(config)`, has `config`, `embedding`, `blocks`, `norm`,
`hidden`, `logits` and `forward`. Its parameters have the names of `Transformer`, except that the
feed-forward layer is a module: `blocks.0.feed_forward.up.weight` is `blocks.0.up.weight` there.

    class MyModel(EngineMethods, Model): ...

    model = take_weights(MyModel(shipped.config), shipped)   # the shipped weights in your class
    copy = as_transformer(model)                             # and back, to save it or look inside
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
    """The methods that training, losses, evaluation and classifiers need beyond `hidden`, `logits`.

    A mixin, to be named first: `class MyModel(EngineMethods, Model): ...`. The head is the
    embedding, without a bias or a layer before it.
    """

    config: Config
    embedding: nn.Embedding
    blocks: nn.ModuleList
    hidden: Callable[..., Tensor]

    @property
    def output_layer(self) -> tuple[Tensor, None]:
        """The matrix (vocabulary, width), shared with the embedding, and None for the bias."""
        return self.embedding.weight, None

    def transformed(self, hidden_states: Tensor) -> Tensor:
        """(..., width) to (..., width): the input of the output layer, here `hidden_states`."""
        return hidden_states

    def hidden_at(
        self, tokens: Tensor, padding_mask: Tensor | None = None, *, at: Tensor
    ) -> Tensor:
        """The hidden states at position `at` (batch,) of each row: (batch, width)."""
        return chosen(self.hidden(tokens, padding_mask), at)[:, 0]

    def hidden_states(self, tokens: Tensor, padding_mask: Tensor | None = None) -> list[Tensor]:
        """(batch, length) ids to states (batch, length, width) of the embeddings and each block."""
        states: list[Tensor] = []
        first = self.blocks[0].register_forward_pre_hook(lambda _, inputs: states.append(inputs[0]))
        hooks = [first] + [
            block.register_forward_hook(lambda _, __, output: states.append(output))
            for block in self.blocks
        ]
        try:
            self.hidden(tokens, padding_mask)
        finally:
            for hook in hooks:
                hook.remove()
        return states

    def set_attention(self, kernel: str) -> None:
        """Does nothing, because the model has a single kernel."""


def take_weights(model: nn.Module, reference: Transformer) -> nn.Module:
    """Copies the weights of a `Transformer` of the same configuration into `model`, and returns it.

    Parameters correspond by name, see the docstring of this module. Raises ValueError, before
    anything is copied, if configurations, names or shapes differ, and names the differences.
    """
    _check_configurations(_config(model), reference.config)
    parameters, sources = dict(model.named_parameters()), _renamed(reference)
    _check_parameters(parameters, sources)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(sources[name])
    return model


def as_transformer(model: nn.Module) -> Transformer:
    """A new `Transformer` with the weights of `model`, on its device and in its mode.

    Raises ValueError if names or shapes differ from those of a `Transformer`, and names them.
    """
    with torch.random.fork_rng(devices=[]):  # drawing weights must not advance the caller's state
        copy = Transformer(_config(model))
    sources, parameters = dict(model.named_parameters()), _renamed(copy)
    _check_parameters(sources, parameters)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(sources[name])
    return copy.to(next(model.parameters()).device).train(model.training)


def _config(model: nn.Module) -> Config:
    config = getattr(model, "config", None)
    if not isinstance(config, Config):
        raise ValueError(
            f"expected a {type(model).__name__} that keeps its Config, got {config!r} as its "
            "`config`; write `self.config = config` in `__init__`"
        )
    return config


def _check_configurations(config: Config, reference: Config) -> None:
    """Raises ValueError if any field but dropout, which has no weights, differs."""
    differences = [
        f"{name} {getattr(config, name)} against {getattr(reference, name)}"
        for name in (field.name for field in fields(Config))
        if name != "dropout" and getattr(config, name) != getattr(reference, name)
    ]
    if differences:
        raise ValueError(
            f"expected a model of the reference's configuration, got {', '.join(differences)}; "
            "build it as `Model(reference.config)`"
        )


def _renamed(model: Transformer) -> dict[str, nn.Parameter]:
    """The parameters of a `Transformer` under their names in the model of lesson 02."""
    return {
        _FEED_FORWARD.sub(r"\1feed_forward.\2.", name): parameter
        for name, parameter in model.named_parameters()
    }


def _check_parameters(
    parameters: dict[str, nn.Parameter], reference: dict[str, nn.Parameter]
) -> None:
    """Raises ValueError if names or shapes differ."""
    missing = [name for name in reference if name not in parameters]
    unknown = [name for name in parameters if name not in reference]
    if missing or unknown:
        differences = [
            f"{word} {_abbreviated(names)}"
            for word, names in (("without", missing), ("with", unknown))
            if names
        ]
        raise ValueError(
            "expected a model with the parameters of a Transformer, got one "
            f"{' and '.join(differences)}; rename its layers"
        )
    for name, parameter in parameters.items():
        shape = tuple(reference[name].shape)
        if parameter.shape != shape:
            raise ValueError(
                f"expected {name} of shape {shape}, got {tuple(parameter.shape)}; take the sizes "
                "from `config`"
            )


def _abbreviated(names: list[str]) -> str:
    """The first names, and the number of further ones."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
