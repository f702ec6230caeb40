"""What the tests of probes share: a small model, a tokenizer, made-up sentences and vectors."""

import numpy as np
import torch

from tlcourse.bpe import Tokenizer
from tlcourse.device import Compute
from tlcourse.transformer import Config, Transformer

PLAIN = Compute(torch.device("cpu"), torch.float32, "explicit", False)
TEXT = ' "The rain" don\'t fall on 1,234 well-known trains , and it fell ... gonna fall'
TOKENIZER = Tokenizer.train([TEXT], 290)


def model_of(*, causal: bool = True, layers: int = 2, max_length: int = 64) -> Transformer:
    torch.manual_seed(0)
    config = Config(TOKENIZER.vocabulary_size, 16, layers, 2, 32, max_length, causal)
    model = Transformer(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


def blobs(
    classes: int, each: int, width: int, *, apart: float, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Vectors (classes * each, width) around a mean for each class, and their labels."""
    generator = np.random.default_rng(seed)
    means = apart * np.random.default_rng(1).standard_normal((classes, width))
    labels = np.repeat(np.arange(classes), each)
    noise = generator.standard_normal((len(labels), width))
    order = generator.permutation(len(labels))
    names = np.array(["abcdefgh"[number] for number in labels])
    return (means[labels] + noise)[order].astype(np.float32), names[order]
