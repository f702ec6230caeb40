"""The objectives of runs, by name in a recipe or as values: the batch of a step, and its loss."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from tlcourse import objectives
from tlcourse.batching import Mixture, TokenFile, generator_for
from tlcourse.objectives import Hybrid, Masked, NextToken
from tlcourse.objectives.objective import Batch
from tlcourse.recipes import PretrainingRecipe
from tlcourse.transformer import Config


class FromRecipe(NamedTuple):
    """The batches and the loss of an objective with a recipe's settings.

    `batch(file, step, recipe=, vocabulary_size=)` returns the tensors of a step, as a pure function
    of its arguments; the vocabulary is the model's. `loss(model, batch)` returns the sum of nats
    and the number of targets.
    """

    batch: Callable[..., Batch]
    loss: Callable[[Any, Batch], tuple[Tensor, int]]


def _of(value: Callable[[PretrainingRecipe], objectives.Objective]) -> FromRecipe:
    """The objective of a recipe, whose settings `value` reads; the loss depends on none of them."""

    def batch(
        file: TokenFile | Mixture, step: int, *, recipe: PretrainingRecipe, vocabulary_size: int
    ) -> Batch:
        objective, size = value(recipe), recipe.batch_size
        length = recipe.length + objective.extra
        tokens = file.windows(step, batch_size=size, length=length, seed=recipe.seed)
        text_ids = vocabulary_size - objective.sentinels  # those of the tokenizer
        return objective.batch(tokens, generator_for(recipe.seed, step, 1), text_ids)

    return FromRecipe(batch, value(PretrainingRecipe()).loss)


OBJECTIVES = {  # those of `tlcourse.recipes`
    "causal": _of(lambda recipe: NextToken()),
    "masked": _of(lambda recipe: Masked(recipe.mask_probability)),
    "hybrid": _of(lambda recipe: Hybrid(recipe.mask_probability, recipe.causal_share)),
}


def chosen(recipe: PretrainingRecipe, objective: objectives.Objective | None) -> FromRecipe:
    """The given objective; without one, that of the recipe."""
    return OBJECTIVES[recipe.objective] if objective is None else _of(lambda _: objective)


def batches(
    file: TokenFile | Mixture,
    config: Config,
    recipe: PretrainingRecipe,
    *,
    objective: objectives.Objective | None = None,
) -> Callable[[int], Batch]:
    """The function from a step to its batch, which the loss of the objective takes.

    `config` is that of the model; without `objective` it is that of the recipe.
    """
    batch = chosen(recipe, objective).batch
    return lambda step: batch(file, step, recipe=recipe, vocabulary_size=config.vocabulary_size)
