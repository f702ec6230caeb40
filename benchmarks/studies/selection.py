"""Choices made with the labels there are, and no others."""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sklearn.model_selection import StratifiedKFold

from tlcourse.adaptation import Classifier, Recipe, adapt, wrong
from tlcourse.device import Compute

POOLINGS = ("mean", "last token")
FOLDS = 3


@dataclass(frozen=True)
class PoolingChoice:
    """The chosen pooling, and the share of held-out texts that each candidate got wrong."""

    pooling: str
    errors: dict[str, float]


def choose_pooling(
    classifier: Classifier,
    texts: Sequence[str],
    labels: Sequence[str],
    *,
    recipe: Recipe = Recipe(),
    seed: int = 0,
    compute: Compute | None = None,
) -> PoolingChoice:
    """The pooling with the fewest errors in cross-validation; the first among equals.

    Every text is held out once, by stratified folds that are the same for all poolings; each fit
    begins from the classifier's body under a new head.
    """
    stratified = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    with warnings.catch_warnings():  # a label with fewer texts than folds is no mistake
        warnings.simplefilter("ignore", UserWarning)
        splits = list(stratified.split(texts, labels))
    names, errors = classifier.labels, {}
    for pooling in POOLINGS:
        missed = 0
        for train, held_out in splits:
            torch.manual_seed(seed)
            body = copy.deepcopy(classifier.body)
            start = Classifier(body, classifier.tokenizer, names, pooling=pooling)
            chosen = [[column[row] for row in train] for column in (texts, labels)]
            fitted = adapt(start, *chosen, recipe=recipe, seed=seed, compute=compute)
            guesses = fitted.probabilities([texts[row] for row in held_out], compute=compute)
            missed += len(wrong(guesses, [labels[row] for row in held_out], names))
        errors[pooling] = missed / len(texts)
    return PoolingChoice(min(errors, key=errors.__getitem__), errors)
