"""What the tests of looking share: small models of all kinds, ids, and the plain precision."""

import pytest
import torch

from tests.transformer.test_model import CONFIGS, random_model
from tlcourse.adaptation import Classifier
from tlcourse.bpe import Tokenizer
from tlcourse.device import Compute
from tlcourse.transformer import Config, Transformer

PLAIN = Compute(torch.device("cpu"), torch.float32, "explicit", False)
each_kind = pytest.mark.parametrize("kind", CONFIGS)
LABELS = ["a", "b", "c"]
TEXTS = ["the rain fell", "a train on the rain", "it fell"]
TOKENIZER = Tokenizer.train(TEXTS, 280)


def model_of(kind: str = "shipped", attention: str = "sdpa") -> Transformer:
    """2 layers of 3 heads of 8 features each, 50 ids, 12 positions; every parameter random."""
    return random_model(CONFIGS[kind], attention)


def ids_of(*lengths: int, vocabulary_size: int = 50, seed: int = 0) -> list[list[int]]:
    """Random ids from 6 on, a text of each length."""
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randint(6, vocabulary_size, (length,), generator=generator).tolist()
        for length in lengths
    ]


def classifier_of(pooling: str) -> Classifier:
    """A classifier whose body, of the same shape, is random; it has dropout."""
    body = random_model(
        Config(TOKENIZER.vocabulary_size, 24, 2, 3, feed_forward=40, max_length=40), "explicit"
    )
    return Classifier(body, TOKENIZER, LABELS, pooling=pooling).eval()
