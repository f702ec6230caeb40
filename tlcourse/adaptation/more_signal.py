"""Training signal beyond the labels: the task's own texts, and a model's predictions."""

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
    """Returns a copy whose body was pretrained further on the task's own texts, without labels.

    Task-adaptive pretraining for `tokens` tokens (Gururangan et al., 2020; before them Howard &
    Ruder, 2018). The texts are concatenated, `<eos>` after each. The head is left unchanged. Raises
    ValueError for a released model, whose vocabulary is not the course's.
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
    """Returns the last student of self-training (Yarowsky, 1995; Du et al., 2021).

    A teacher is adapted to the labels; in each round, a student is adapted to the labels and to the
    teacher's predictions on `unlabelled` whose probability is at least `threshold`, and becomes the
    next teacher. All of them start from `classifier`. Raises ValueError without unlabelled texts.
    """
    texts, labels, unlabelled = (
        listed(values, what)
        for values, what in ((texts, "texts"), (labels, "labels"), (unlabelled, "unlabelled texts"))
    )
    if not classifier.encode(unlabelled):
        raise ValueError(
            "unlabelled: expected texts to predict labels of, got none; without them call `adapt`"
        )
    train = partial(adapt, classifier, scheme=scheme, recipe=recipe, seed=seed, compute=compute)
    adapted = train(texts, labels)
    for _ in range(rounds):
        confidence, predictions = adapted.probabilities(unlabelled, compute=compute).max(dim=-1)
        rows = (confidence >= threshold).nonzero()[:, 0].tolist()
        confident = [unlabelled[row] for row in rows]
        pseudo_labels = [adapted.labels[predictions[row]] for row in rows]
        adapted = train([*texts, *confident], [*labels, *pseudo_labels])
    return adapted
