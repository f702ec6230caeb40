"""A text classifier on a Transformer, fine-tuned with the course's one engine.

Radford et al. (2018, GPT) and Devlin et al. (2019, BERT): pretrain, put one linear layer on top,
train everything. Howard & Ruder (2018, ULMFiT) had shown before that a fine-tuned language model
pays, with a longer recipe.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse.batching import bucket_batches, pad
from tlcourse.bpe import SPECIALS, Tokenizer, normalise
from tlcourse.device import Compute
from tlcourse.training import train, warmup_stable_decay
from tlcourse.transformer import Transformer

PAD, CLS = SPECIALS.index("<pad>"), SPECIALS.index("<cls>")
POOLINGS = ("classification token", "last token", "mean")


@dataclass(frozen=True)
class Recipe:
    """How to fine-tune; the defaults were chosen on TREC's dev split."""

    epochs: int = 4
    rate: float = 5e-4  # AdamW, every parameter of the body
    head_factor: float = 3.0  # the head moves at this many times the rate
    batch: int = 32  # texts a step
    warmup: float = 0.1  # share of the steps
    weight_decay: float = 0.01
    min_steps: int = 0  # small sets get more epochs, until they reach this many steps


class Classifier(nn.Module):
    """A Transformer, a pooling of its hidden states, one linear layer.

    The text is followed by `<cls>`, so that in a causal model, too, the classification token sees
    the whole text. Raises ValueError for a pooling that is not in POOLINGS.
    """

    def __init__(
        self, body: Transformer, labels: Sequence[str], pooling: str, dropout: float = 0.1
    ):
        super().__init__()
        if pooling not in POOLINGS:
            raise ValueError(f"expected a pooling out of {', '.join(POOLINGS)}, got {pooling!r}")
        self.body, self.labels, self.pooling = body, list(labels), pooling
        for module in body.modules():
            if isinstance(module, nn.Dropout):
                module.p = dropout
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(body.config.width, len(self.labels))
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def pool(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """(batch, length, width) hidden states and (batch, length) mask to (batch, width)."""
        ends = mask.sum(dim=1) - 1  # the place of <cls>
        if self.pooling == "mean":
            words = mask & (torch.arange(mask.shape[1], device=mask.device) < ends[:, None])
            kept = hidden.masked_fill(~words[:, :, None], 0.0)  # NaN in a pad does not matter
            return kept.sum(dim=1) / words.sum(dim=1, keepdim=True)
        place = ends if self.pooling == "classification token" else ends - 1
        return hidden[torch.arange(len(hidden), device=hidden.device), place]

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """(batch, length) tokens and mask, True = token, to (batch, labels) logits."""
        hidden = self.body.hidden(tokens, mask)
        return self.head(self.dropout(self.pool(hidden, mask))).float()


def encode(texts: Iterable[str], tokenizer: Tokenizer, max_length: int) -> list[list[int]]:
    """Each text normalised, cut to `max_length` ids, the last of them `<cls>`.

    Raises ValueError that names the first text with nothing in it.
    """
    encoded = []
    for row, text in enumerate(texts):
        ids = tokenizer.encode(normalise(text))[: max_length - 1]
        if not ids:
            raise ValueError(f"expected text in row {row}, got {text!r}; remove or fill that row")
        encoded.append([*ids, CLS])
    return encoded


def fine_tune(
    classifier: Classifier,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    labels: Sequence[str],
    compute: Compute,
    recipe: Recipe,
    seed: int,
    on_step: Iterable[Callable[[dict], None]] = (),
) -> list[dict]:
    """Trains the whole classifier in place on texts and label names; returns the history.

    AdamW, linear warm-up and decay, batches of about equal lengths. Raises ValueError when texts
    and labels differ in number or a label is not one of the classifier's.
    """
    if len(texts) != len(labels):
        raise ValueError(f"expected as many labels as texts, got {len(labels)} and {len(texts)}")
    unknown = sorted(set(labels) - set(classifier.labels))
    if unknown:
        raise ValueError(f"expected labels out of {classifier.labels}, got also {unknown}")
    sequences = encode(texts, tokenizer, classifier.body.config.max_length)
    goals = torch.tensor([classifier.labels.index(label) for label in labels])
    lengths = [len(sequence) for sequence in sequences]
    per_epoch = -(-len(texts) // recipe.batch)
    steps = max(recipe.epochs * per_epoch, recipe.min_steps)
    orders: dict[int, list[list[int]]] = {}

    def batch_of(step: int) -> tuple[Tensor, ...]:
        epoch, place = divmod(step, per_epoch)
        if epoch not in orders:
            orders.clear()
            orders[epoch] = bucket_batches(lengths, recipe.batch, seed, epoch)
        rows = orders[epoch][place]
        return *pad([sequences[row] for row in rows], PAD), goals[rows]

    return train(
        classifier.to(compute.device),
        classification_loss,
        batch_of,
        steps,
        [_optimizer(classifier, recipe)],
        warmup_stable_decay(steps, max(1, round(recipe.warmup * steps)), 1.0),
        compute,
        seed,
        on_step=on_step,
    )


def classification_loss(model: Classifier, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
    """Sum of nats over a batch of (tokens, mask, labels), and how many texts."""
    tokens, mask, labels = batch
    return F.cross_entropy(model(tokens, mask), labels, reduction="sum"), len(labels)


def _optimizer(classifier: Classifier, recipe: Recipe) -> torch.optim.Optimizer:
    return torch.optim.AdamW(
        [
            {"params": list(classifier.body.parameters()), "lr": recipe.rate},
            {"params": list(classifier.head.parameters()), "lr": recipe.rate * recipe.head_factor},
        ],
        betas=(0.9, 0.98),
        weight_decay=recipe.weight_decay,
        fused=True,
    )


@torch.no_grad()
def predict(
    classifier: Classifier,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    compute: Compute,
    batch: int = 64,
) -> Tensor:
    """(texts, labels) probabilities, in the order of `texts`."""
    classifier.to(compute.device).eval()
    sequences = encode(texts, tokenizer, classifier.body.config.max_length)
    order = sorted(range(len(sequences)), key=lambda row: len(sequences[row]))
    result = torch.empty(len(sequences), len(classifier.labels))
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        tokens, mask = (part.to(compute.device) for part in pad([sequences[r] for r in rows], PAD))
        with compute.autocast():
            result[rows] = classifier(tokens, mask).softmax(dim=-1).cpu()
    return result


def wrong(probabilities: Tensor, labels: Sequence[str], names: Sequence[str]) -> list[int]:
    """The numbers of the texts whose likeliest label is not the true one."""
    guesses = probabilities.argmax(dim=-1).tolist()
    return [
        row
        for row, (guess, label) in enumerate(zip(guesses, labels, strict=True))
        if names[guess] != label
    ]
