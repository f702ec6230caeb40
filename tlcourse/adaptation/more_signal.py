"""More to learn from than labels: the task's own text and a model's own guesses."""

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tlcourse.adaptation.adapting import adapt
from tlcourse.adaptation.classifier import Classifier
from tlcourse.adaptation.examples import Text, listed
from tlcourse.adaptation.schemes import FULL, Scheme
from tlcourse.batching import TokenFile, write_tokens
from tlcourse.bpe import EOS, Tokenizer
from tlcourse.device import Compute
from tlcourse.pretraining import pretrain
from tlcourse.recipes import PretrainingRecipe, Recipe


def pretrain_on_texts(
    classifier: Classifier,
    texts: Sequence[str],
    *,
    tokens: int = 400_000,
    recipe: PretrainingRecipe = PretrainingRecipe(),
    compute: Compute | None = None,
) -> Classifier:
    """A copy whose body has gone on pretraining on the task's own texts; no label is read.

    Task-adaptive pretraining for `tokens` tokens (Gururangan et al., 2020; Howard & Ruder, 2018,
    had done it before). The texts follow each other, `<eos>` after each. The head stays as it is.
    Raises ValueError for a released model, whose vocabulary is not the course's.
    """
    if not isinstance(classifier.tokenizer, Tokenizer):
        raise ValueError(
            "expected a body with a vocabulary of the course, got a released model; start from a "
            "shipped checkpoint, such as causal-small"
        )
    classifier = classifier.copy()
    documents = [[*ids[:-1], EOS] for ids in classifier.encode(texts)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokens.bin"
        write_tokens(path, documents)
        file = TokenFile(path)
        pretrain(classifier.body, file, tokens, recipe=recipe, compute=compute)
        del file  # closes the memory map, so that the folder can go
    return classifier


def self_train(
    classifier: Classifier,
    texts: Sequence[Text],
    labels: Sequence[str],
    *,
    unlabelled: Sequence[Text] = (),
    threshold: float = 0.8,
    rounds: int = 1,
    scheme: Scheme = FULL,
    recipe: Recipe = Recipe(),
    seed: int = 0,
    compute: Compute | None = None,
) -> Classifier:
    """A teacher on the labels, then students that also believe the guesses of the one before.

    Each starts as the classifier that is given. A guess counts when its probability is at least
    `threshold` (Yarowsky, 1995; Du et al., 2021). Raises ValueError without unlabelled texts.
    """
    texts, labels, unlabelled = (
        listed(each, what)
        for each, what in ((texts, "texts"), (labels, "labels"), (unlabelled, "unlabelled texts"))
    )
    if not classifier.encode(unlabelled):
        raise ValueError(
            "unlabelled: expected texts to guess, got none; without them it is `adapt` alone"
        )
    train = partial(adapt, classifier, scheme=scheme, recipe=recipe, seed=seed, compute=compute)
    adapted = train(texts, labels)
    for _ in range(rounds):
        sure, guesses = adapted.probabilities(unlabelled, compute=compute).max(dim=-1)
        rows = (sure >= threshold).nonzero()[:, 0].tolist()
        more = [unlabelled[row] for row in rows]
        believed = [adapted.labels[guesses[row]] for row in rows]
        adapted = train([*texts, *more], [*labels, *believed])
    return adapted
