"""The recurrent baseline: an LSTM language model as large as the shipped Transformer.

It has the shipped vocabulary, an embedding tied to its head, and reads the same windows through the
same loss and the same engine; no dropout, since it reads every window once. The inputs of each
layer have variance 1 at the start: with PyTorch's own initialisation the context hardly reaches the
head, and for a long time the model learns only the frequencies of words.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse import pretraining
from tlcourse.batching import TokenFile
from tlcourse.device import Compute
from tlcourse.pretraining import OBJECTIVES, PretrainingRecipe
from tlcourse.training import Resume, train, warmup_stable_decay


@dataclass(frozen=True)
class Shape:
    """The default has as many parameters as the shipped Transformer, within a percent."""

    vocabulary_size: int = 8192
    width: int = 256  # of the embedding, which is the head as well
    units: int = 576  # of each layer
    layers: int = 2
    causal: ClassVar[bool] = True


class LSTM(nn.Module):
    """Layers of nn.LSTM, brought down to the width of the embedding.

    It has the methods that losses and evaluation call on a Transformer; every row starts afresh.
    """

    def __init__(self, config: Shape):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        self.body = nn.LSTM(config.width, config.units, config.layers, batch_first=True)
        self.down = nn.Linear(config.units, config.width)
        for matrix in (self.embedding.weight, self.down.weight):
            nn.init.normal_(matrix, std=matrix.shape[1] ** -0.5)
        for name, parameter in self.body.named_parameters():
            if name.startswith("weight_ih"):
                nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
            elif name.startswith("weight_hh"):
                for gate in parameter.data.chunk(4):
                    nn.init.orthogonal_(gate)
            elif name.startswith("bias_hh"):  # it remembers at first (Jozefowicz et al., 2015)
                nn.init.ones_(parameter.data[config.units : 2 * config.units])

    def hidden(self, tokens: Tensor) -> Tensor:
        """(batch, length) ids to hidden states (batch, length, width)."""
        read = self.config.width**0.5 * self.embedding(tokens)
        return self.down(self.body(read)[0])

    def transformed(self, hidden_states: Tensor) -> Tensor:
        """The hidden states unchanged: nothing stands between them and the head."""
        return hidden_states

    @property
    def output_layer(self) -> tuple[Tensor, None]:
        """The matrix (vocabulary, width) of the head, which is the embedding's; no bias."""
        return self.embedding.weight, None

    def logits(self, hidden_states: Tensor) -> Tensor:
        """(..., width) to (..., vocabulary)."""
        return F.linear(hidden_states, self.embedding.weight)


def train_lstm(
    model: LSTM,
    file: TokenFile,
    tokens: int,
    *,
    recipe: PretrainingRecipe,
    compute: Compute,
    folder: Path,
) -> list[dict]:
    """Trains in place on `tokens` tokens, by AdamW, ending decayed; returns the engine's history.

    The state is kept in `folder`: the same call goes on, and after the end only loads it.
    """
    steps = tokens // (recipe.batch_size * recipe.length)
    optimizer = torch.optim.AdamW(
        model.to(compute.device).parameters(), lr=recipe.learning_rate, betas=(0.9, 0.95),
        weight_decay=0.0, fused=True,
    )  # fmt: skip
    settings = asdict(model.config) | asdict(recipe) | {"tokens": tokens, "corpus": file.digest()}
    return train(
        model, OBJECTIVES[recipe.objective].loss, pretraining.batches(file, model.config, recipe),
        steps=steps, optimizers=[optimizer], compute=compute, seed=recipe.seed,
        schedule=warmup_stable_decay(steps, min(recipe.warmup, steps // 4 + 1), recipe.decay),
        resume=Resume(folder, settings=settings),
    )  # fmt: skip
