"""The objectives of pretraining: the batch of a step, and its loss."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from tlcourse import objectives
from tlcourse.batching import TokenFile, generator_for
from tlcourse.recipes import PretrainingRecipe
from tlcourse.transformer import Config, Transformer

Batch = tuple[Tensor, ...]


class Objective(NamedTuple):
    """The batches and the loss of a pretraining objective.

    `batch(file, step, recipe=, vocabulary_size=)` returns the tensors of a step, as a pure function
    of its arguments; `loss(model, batch)` returns the sum of nats and the number of targets.
    """

    batch: Callable[..., Batch]
    loss: Callable[[Transformer, Batch], tuple[Tensor, int]]


def _causal_batch(
    file: TokenFile, step: int, *, recipe: PretrainingRecipe, vocabulary_size: int
) -> Batch:
    size, length = recipe.batch_size, recipe.length + 1
    return (file.windows(step, batch_size=size, length=length, seed=recipe.seed),)


def _masked_batch(
    file: TokenFile, step: int, *, recipe: PretrainingRecipe, vocabulary_size: int
) -> Batch:
    size, length = recipe.batch_size, recipe.length
    tokens = file.windows(step, batch_size=size, length=length, seed=recipe.seed)
    generator, probability = generator_for(recipe.seed, step, 1), recipe.mask_probability
    corrupted, chosen = objectives.mask_tokens(
        tokens, generator, vocabulary_size, probability=probability
    )
    return corrupted, tokens, chosen


def _hybrid_batch(
    file: TokenFile, step: int, *, recipe: PretrainingRecipe, vocabulary_size: int
) -> Batch:
    (tokens,) = _causal_batch(file, step, recipe=recipe, vocabulary_size=vocabulary_size)
    generator, probability = generator_for(recipe.seed, step, 1), recipe.mask_probability
    inputs, targets, chosen = objectives.hide_next_tokens(
        tokens, generator, vocabulary_size, probability=probability
    )
    # Causal rows are spread evenly over the batch: 0.5 is every second row.
    quota = (torch.arange(recipe.batch_size + 1) * recipe.causal_share).floor()
    reads_causally = quota[1:] > quota[:-1]
    inputs[reads_causally], chosen[reads_causally] = tokens[reads_causally, :-1], True
    return inputs, targets, chosen, reads_causally


def _hybrid_loss(model: Transformer, batch: Batch) -> tuple[Tensor, int]:
    inputs, targets, chosen, causal = batch
    return objectives.hybrid_loss(model, inputs, targets, chosen=chosen, causal=causal)


OBJECTIVES = {  # those of `tlcourse.recipes`
    "causal": Objective(_causal_batch, lambda model, batch: objectives.causal_loss(model, *batch)),
    "masked": Objective(
        _masked_batch,
        lambda model, batch: objectives.masked_loss(model, *batch[:2], chosen=batch[2]),
    ),
    "hybrid": Objective(_hybrid_batch, _hybrid_loss),
}


def batches(file: TokenFile, config: Config, recipe: PretrainingRecipe) -> Callable[[int], Batch]:
    """The function from a step to its batch, which the loss of the objective takes."""
    batch = OBJECTIVES[recipe.objective].batch
    return lambda step: batch(file, step, recipe=recipe, vocabulary_size=config.vocabulary_size)
