"""What the tests of adaptation share: labelled texts, a tokenizer, a little classifier."""

import torch

from tlcourse.adaptation import Classifier
from tlcourse.bpe import Tokenizer
from tlcourse.device import Compute
from tlcourse.transformer import Config, Transformer

LABELS = ["HUM", "LOC", "NUM"]
TEXTS = ["Who ran ?", "Where is the very old town ?", "When ?", "Who sang that song ?"]
LABELLED = ["HUM", "LOC", "NUM", "HUM"]
ROWS = [
    ("Who ran ?", "person"),
    ("Where is the old town ?", "place"),
    ("Who sang that song, and why ?", "person"),
    ("Where ?", "place"),
    ("Who ?", "person"),
]
CPU = Compute(torch.device("cpu"), torch.float32, "explicit", False)
TOKENIZER = Tokenizer.train(TEXTS, 280)


def make(pooling="mean", *, labels=LABELS, layers=2, spread=0.1, dropout=0.1, **shape):
    """Returns a classifier with noise on its body's weights: blocks of a new one do nothing."""
    torch.manual_seed(0)
    config = Config(TOKENIZER.vocabulary_size, 16, layers, 2, 32, 48, **shape)
    body = Transformer(config, "explicit")
    for parameter in body.parameters():
        parameter.data.add_(spread * torch.randn_like(parameter))
    return Classifier(body, TOKENIZER, labels, pooling=pooling, dropout=dropout)
