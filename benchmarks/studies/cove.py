"""CoVe's translation model (McCann et al., 2017), small, for the study `elmo`.

A bidirectional LSTM reads an English sentence, its words by their characters as in ELMo. An LSTM
writes the German sentence byte by byte, and looks at the encoder's states by attention (Luong et
al., 2015). Afterwards the encoder's last layer gives the vectors of words, beside the encoded
characters, as CoVe stands beside GloVe. CoVe's encoder starts from GloVe, both directions feed its
second layer, and it read up to seven million pairs; Tatoeba's test set, which is what we have, is
1,000 pairs, of which the last tenth is held out. The number of passes was chosen by the loss on
it, so that this loss is a little too low.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks import clocks, runner
from tlcourse import batching, checkpoints, corpora, recurrent
from tlcourse.recurrent import BORDER, UNKNOWN, BiLSTM
from tlcourse.recurrent.characters import BEGIN, END
from tlcourse.training import train

Rows = list[list[int]]


class Translator(nn.Module):
    """An encoder of words and a decoder of bytes that attends to the encoder's states."""

    def __init__(self, encoder: BiLSTM):
        super().__init__()
        width = encoder.config.width
        self.encoder = encoder
        self.bytes = nn.Embedding(recurrent.VOCABULARY, width)
        self.decoder = nn.LSTM(width, width, batch_first=True)
        self.query = nn.Linear(width, width, bias=False)
        self.head = nn.Linear(2 * width, recurrent.VOCABULARY)

    def forward(self, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
        """Logits of the next byte (batch, bytes, vocabulary).

        `source` (batch, words) are ids of words, `mask` is True at words, `target` (batch, bytes)
        are the bytes written so far.
        """
        states = self.encoder.hidden(source, mask)
        written, _ = self.decoder(self.bytes(target))
        scores = (self.query(written) @ states.mT).masked_fill(~mask[:, None], -torch.inf)
        return self.head(torch.cat([written, scores.softmax(-1) @ states], dim=-1))


def nats(model: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
    """The sum of nats of the bytes of a batch, and their number."""
    source, mask, target, there = batch
    logits, due = model(source, mask, target[:, :-1]), there[:, 1:]
    return F.cross_entropy(logits[due], target[:, 1:][due], reduction="sum"), int(due.sum())


@dataclass(frozen=True)
class Translation(runner.Job):
    """A translator is trained; its weights lie in `folder()`."""

    study = "elmo"
    width: int
    epochs: int = 16
    batch_size: int = 32

    def weights(self) -> str:
        """It begins with random weights."""
        return "none"

    def fresh(self) -> Translator:
        """The model before training."""
        torch.manual_seed(0)
        return Translator(recurrent.elmo([UNKNOWN, BORDER], width=self.width))

    def rows(self, model: Translator) -> tuple[Rows, Rows]:
        """The ids of the words of English sentences, between BORDER, and of the German bytes."""
        pairs, embedding = corpora.load("tatoeba")["test"].shuffle(seed=0), model.encoder.embedding
        words = [[BORDER, *re.findall(r"\w+|[^\w\s]", text), BORDER] for text in pairs["english"]]
        embedding.add(word for sentence in words for word in sentence)  # type: ignore[operator]
        ids: dict[str, int] = embedding.ids  # type: ignore[assignment]
        english = [[ids[word] for word in sentence] for sentence in words]
        return english, [[BEGIN, *recurrent.byte_ids(text), END] for text in pairs["german"]]

    def trained(self) -> tuple[Translator, dict]:
        """The trained model, its seconds: once trained, its weights are read."""
        model, path = self.fresh(), self.folder() / "model.safetensors"
        if path.exists():
            model.load_state_dict(load_file(path), strict=False)  # a shared tensor is there once
            return model, {}
        english, german = self.rows(model)
        learnt = len(english) - len(english) // 10
        lengths = [len(row) for row in german[:learnt]]
        batches = [
            batch
            for epoch in range(self.epochs)
            for batch in batching.bucket_batches(lengths, self.batch_size, epoch)
        ]
        log, seconds = clocks.timed(
            lambda: train(
                model, nats, lambda step: padded(english, german, batches[step]), steps=len(batches)
            ),
            runner.processor_clock(),
        )
        self.folder().mkdir(parents=True, exist_ok=True)
        checkpoints.write_weights(path, model)
        return model, {"loss": log[-1]["loss"], "seconds": seconds}

    def work(self) -> dict:
        """Trains; "nats" a byte of the pairs held out, and "unigram", of their frequencies."""
        model, facts = self.trained()
        english, german = self.rows(model)
        learnt = len(english) - len(english) // 10
        with torch.no_grad():
            held_out = padded(english, german, range(learnt, len(english)))
            found, count = nats(model.eval(), held_out)
        seen = torch.tensor([byte for row in german[:learnt] for byte in row[1:]])
        shares = torch.bincount(seen, minlength=recurrent.VOCABULARY) + 1.0
        due = torch.tensor([byte for row in german[learnt:] for byte in row[1:]])
        unigram = -(shares / shares.sum()).log()[due].mean()
        parameters = sum({id(p): p.numel() for p in model.parameters()}.values())
        losses = {"nats": float(found) / count, "unigram": float(unigram)}
        return facts | losses | {"kind": "translation, bytes", "parameters": parameters}

    def told(self, result: dict) -> str:
        """The losses."""
        return f"{result['nats']:.2f} nats a byte, {result['unigram']:.2f} from frequencies"


def padded(english: Rows, german: Rows, numbers: Sequence[int]) -> tuple[Tensor, ...]:
    """Ids and mask of the English sentences of those numbers, then of the German ones."""
    sides = (batching.pad([side[number] for number in numbers]) for side in (english, german))
    return tuple(part for side in sides for part in side)
