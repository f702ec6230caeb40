"""More to learn from than labels: the task's own text, a model's own guesses, several models."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from tlcourse.adaptation.adapting import Recipe, adapt
from tlcourse.adaptation.classifier import Classifier, encode, predict
from tlcourse.batching import TokenFile, write_tokens
from tlcourse.bpe import SPECIALS, Tokenizer
from tlcourse.device import Compute
from tlcourse.pretraining import PretrainingRecipe, pretrain
from tlcourse.transformer import Transformer

EOS = SPECIALS.index("<eos>")


def pretrain_on_texts(
    body: Transformer,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    tokens: int,
    compute: Compute,
    recipe: PretrainingRecipe,
) -> list[dict]:
    """Goes on pretraining in place on the task's own texts, for `tokens` tokens; no label is read.

    Task-adaptive pretraining (Gururangan et al., 2020; Howard & Ruder, 2018, had done it before).
    The texts follow each other, `<eos>` after each. Returns the history.
    """
    documents = [[*ids[:-1], EOS] for ids in encode(texts, tokenizer, body.config.max_length)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokens.bin"
        write_tokens(path, documents)
        file = TokenFile(path)
        history = pretrain(body, file, tokens, recipe=recipe, compute=compute)
        del file  # closes the memory map, so that the folder can go
    return history


def self_train(
    start: Callable[[], Classifier],
    tokenizer: Tokenizer,
    texts: Sequence[str],
    labels: Sequence[str],
    unlabelled: Sequence[str],
    compute: Compute,
    recipe: Recipe,
    seed: int,
    least: float = 0.8,
    rounds: int = 1,
) -> Classifier:
    """A teacher on the labels, then students that also believe the guesses of the one before.

    Each classifier begins as `start` gives it. A guess counts when its probability is `least` or
    more (Yarowsky, 1995; Du et al., 2021).
    """
    classifier = start()
    adapt(classifier, tokenizer, texts, labels, compute, recipe, seed)
    for _ in range(rounds):
        sure, guesses = predict(classifier, tokenizer, unlabelled, compute).max(dim=-1)
        rows = (sure >= least).nonzero()[:, 0].tolist()
        more = [unlabelled[row] for row in rows]
        believed = [classifier.labels[guesses[row]] for row in rows]
        classifier = start()
        adapt(
            classifier, tokenizer, [*texts, *more], [*labels, *believed], compute, recipe, seed
        )  # fmt: skip
    return classifier


def distil(
    start: Callable[[], Classifier],
    tokenizer: Tokenizer,
    texts: Sequence[str],
    teachers: Sequence[Tensor],
    compute: Compute,
    recipe: Recipe,
    seed: int,
) -> Classifier:
    """One student of several teachers, who learns the mean of their probabilities.

    Hinton, Vinyals & Dean (2015). `teachers` are (texts, labels) probabilities, one tensor a
    teacher, of the same `texts`.
    """
    student = start()
    adapt(student, tokenizer, texts, torch.stack(list(teachers)).mean(0), compute, recipe, seed)
    return student
