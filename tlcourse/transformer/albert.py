"""ALBERT: the one Transformer with a factorised embedding and the same weights in all layers.

Source: Lan et al. (2020), "ALBERT: A Lite BERT for Self-supervised Learning of Language
Representations".
"""

from copy import deepcopy

from torch import Tensor, nn

from tlcourse.transformer.config import Config
from tlcourse.transformer.model import Transformer


class Albert(Transformer):
    """A post-norm `Transformer` with two ways to need fewer parameters, each an option.

    With `embedding_width` e, token, position and type embeddings and their norm have width e, and
    one linear layer widens them for the blocks: vocabulary · e + e · width numbers instead of
    vocabulary · width. The head's transform goes back to width e, as the embedding matrix is also
    the output layer. None: no factorisation. With `shared`, all layers have the same parameters, so
    that another layer adds computation but no parameters. Raises ValueError for a factorised
    embedding in a pre-norm model or without the head's transform.
    """

    def __init__(
        self, config: Config, *, embedding_width: int | None = 128, shared: bool = True
    ) -> None:
        super().__init__(config)
        self.widen: nn.Linear | None = None
        if embedding_width is not None:
            self._factorise(embedding_width)
        if shared:  # copies of the modules, so that each layer has its own hooks
            first = self.blocks[0]
            for layer in range(1, config.layers):
                same = {id(parameter): parameter for parameter in first.parameters()}
                self.blocks[layer] = deepcopy(first, same)  # type: ignore[index]

    def _factorise(self, e: int) -> None:
        """Replaces what comes before the blocks and after them by layers of width e."""
        config = self.config
        if config.norm_first or not config.head_transform:
            raise ValueError(
                "expected a post-norm configuration with a head_transform for a factorised "
                f"embedding, got norm_first={config.norm_first} and "
                f"head_transform={config.head_transform}; start from bert(...)"
            )
        self.embedding = nn.Embedding(config.vocabulary_size, e)
        if self.positions is not None:
            self.positions = nn.Embedding(config.max_length, e)
        if self.types is not None:
            self.types = nn.Embedding(config.token_types, e)
        self.norm = nn.LayerNorm(e, eps=config.norm_epsilon)
        self.widen = nn.Linear(e, config.width)
        self.transform = nn.Linear(config.width, e)
        self.transform_norm = nn.LayerNorm(e, eps=config.norm_epsilon)
        self.apply(self._initialise)

    def embed(self, tokens: Tensor, types: Tensor | None = None) -> Tensor:
        """(batch, length) ids to (batch, length, width)."""
        x = super().embed(tokens, types)
        return x if self.widen is None else self.widen(x)
