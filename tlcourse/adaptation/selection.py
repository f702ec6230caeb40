"""Choices made with the labels there are, and no others."""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sklearn.model_selection import StratifiedKFold

from tlcourse.adaptation.adapting import Recipe, fine_tune
from tlcourse.adaptation.classifier import Classifier, predict, wrong
from tlcourse.bpe import Tokenizer
from tlcourse.device import Compute
from tlcourse.transformer import Transformer


@dataclass(frozen=True)
class PoolingChoice:
    """The chosen pooling, and the share of held-out texts that each candidate got wrong."""

    pooling: str
    errors: dict[str, float]


def choose_pooling(
    body: Transformer,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    labels: Sequence[str],
    names: Sequence[str],
    compute: Compute,
    recipe: Recipe,
    seed: int,
    poolings: Sequence[str] = ("mean", "last token"),
    folds: int = 3,
) -> PoolingChoice:
    """The pooling with the fewest errors in cross-validation; the first among equals.

    Every text is held out once, by stratified folds that are the same for all poolings; each fit
    begins from a copy of `body`, which stays as it is. `names` are the labels of the task.
    """
    stratified = StratifiedKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():  # a label with fewer texts than folds is no mistake
        warnings.simplefilter("ignore", UserWarning)
        splits = list(stratified.split(texts, labels))
    errors = {}
    for pooling in poolings:
        missed = 0
        for train, held_out in splits:
            torch.manual_seed(seed)
            classifier = Classifier(copy.deepcopy(body), names, pooling)
            chosen = [[column[row] for row in train] for column in (texts, labels)]
            fine_tune(classifier, tokenizer, *chosen, compute, recipe, seed)
            guesses = predict(classifier, tokenizer, [texts[row] for row in held_out], compute)
            missed += len(wrong(guesses, [labels[row] for row in held_out], names))
        errors[pooling] = missed / len(texts)
    return PoolingChoice(min(errors, key=errors.__getitem__), errors)
