"""More ids and token types for a trained model, such as those that mark who is speaking."""

import copy
from dataclasses import replace

import torch
from torch import nn

from tlcourse.transformer.model import Transformer


@torch.no_grad()
def grow_vocabulary(model: Transformer, count: int, *, seed: int = 0) -> Transformer:
    """A copy of the model with `count` more ids, whose numbers follow the old ones.

    The old rows of the embedding, which is also the output layer, are left as they are. A new row
    is drawn from a normal distribution with the mean and the standard deviation that each feature
    has over the old rows: rows near zero would be too probable (Hewitt, 2021). Raises ValueError
    for a count below 1.
    """
    if count < 1:
        raise ValueError(f"expected at least one more id, got {count}")
    grown, old = copy.deepcopy(model), model.embedding.weight
    draws = torch.randn(count, old.shape[1], generator=torch.Generator().manual_seed(seed))
    rows = old.mean(dim=0) + old.std(dim=0) * draws.to(old)
    grown.embedding = nn.Embedding.from_pretrained(torch.cat([old, rows]), freeze=False)
    if model.head_bias is not None:
        bias = model.head_bias
        grown.head_bias = nn.Parameter(torch.cat([bias, bias.mean().expand(count)]))
    grown.config = replace(model.config, vocabulary_size=len(old) + count)
    return grown


def grow_types(model: Transformer, count: int) -> Transformer:
    """A copy of the model with `count` token types, whose embeddings are zero at first.

    Its logits are those of the model until they are trained. Raises ValueError for a model that has
    token types already, and for fewer than two.
    """
    if model.types is not None or count < 2:
        raise ValueError(
            f"expected a model without token types and at least two of them, got {count} more for "
            f"{model.config.token_types}"
        )
    grown = copy.deepcopy(model)
    grown.types = nn.Embedding.from_pretrained(
        torch.zeros(count, model.config.width).to(model.embedding.weight), freeze=False
    )
    grown.config = replace(model.config, token_types=count)
    return grown
