"""A text classifier on a Transformer: a body, a pooling, one linear layer.

Radford et al. (2018, GPT) and Devlin et al. (2019, BERT).
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse.batching import pad
from tlcourse.bpe import SPECIALS, Tokenizer, normalise
from tlcourse.device import Compute
from tlcourse.transformer import Transformer

PAD, CLS, SEP = (SPECIALS.index(name) for name in ("<pad>", "<cls>", "<sep>"))
Text = str | tuple[str, str]  # one text, or a pair
POOLINGS = ("classification token", "last token", "mean", "concatenation")


class Classifier(nn.Module):
    """A Transformer, a pooling of its hidden states, one linear layer.

    The text is followed by `<cls>`, so that in a causal model, too, the classification token sees
    the whole text; a pair is one text with `<sep>` between its parts. Raises ValueError for a
    pooling that is not in POOLINGS.
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
        self.mix: nn.Module | None = None  # of the hidden states of all layers; None: the last
        width = body.config.width * (3 if pooling == "concatenation" else 1)
        self.head = nn.Linear(width, len(self.labels))
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def pool(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """(batch, length, width) hidden states and (batch, length) mask to (batch, width).

        "concatenation" is (batch, 3 * width): last token, largest value and mean over the words
        (Howard & Ruder, 2018).
        """
        rows = torch.arange(len(hidden), device=hidden.device)
        ends = mask.sum(dim=1) - 1  # the place of <cls>
        if self.pooling in ("classification token", "last token"):
            return hidden[rows, ends if self.pooling == "classification token" else ends - 1]
        words = mask & (torch.arange(mask.shape[1], device=mask.device) < ends[:, None])
        others = ~words[:, :, None]
        kept = hidden.masked_fill(others, 0.0)  # NaN in a pad does not matter
        mean = kept.sum(dim=1) / words.sum(dim=1, keepdim=True)
        if self.pooling == "mean":
            return mean
        largest = hidden.masked_fill(others, -torch.inf).amax(dim=1)
        return torch.cat([hidden[rows, ends - 1], largest, mean], dim=-1)

    def features(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """(batch, length) tokens and mask, True = token, to what `classify` reads.

        (batch, width) or three times that; with a mix (batch, layers + 1, ...), layers normalised.
        """
        if self.mix is None:
            return self.pool(self.body.hidden(tokens, mask), mask)
        states = self.body.hidden_states(tokens, mask)
        return torch.stack(
            [self.pool(F.layer_norm(state, state.shape[-1:]), mask) for state in states], dim=1
        )

    def classify(self, features: Tensor) -> Tensor:
        """Features to (batch, labels) logits."""
        if self.mix is not None:
            features = self.mix(features.unbind(dim=1))
        return self.head(self.dropout(features)).float()

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """(batch, length) tokens and mask, True = token, to (batch, labels) logits."""
        return self.classify(self.features(tokens, mask))


def encode(texts: Iterable[Text], tokenizer: Tokenizer, max_length: int) -> list[list[int]]:
    """Each text normalised, cut to `max_length` ids, the last of them `<cls>`.

    A pair is its first part, `<sep>`, its second part (Radford et al., 2018; Devlin et al., 2019);
    one that is too long loses tokens from the end of its longer part first. Raises ValueError that
    names the first text, or pair, with nothing in it or in a part of it.
    """
    encoded = []
    for row, text in enumerate(texts):
        parts = (text,) if isinstance(text, str) else text
        if len(parts) != 2 and parts is text:
            raise ValueError(f"expected a text or a pair of texts in row {row}, got {text!r}")
        ids = [tokenizer.encode(normalise(part)) for part in parts]
        if not all(ids):
            raise ValueError(f"expected text in row {row}, got {text!r}; remove or fill that row")
        if len(ids) == 1:
            encoded.append([*ids[0][: max_length - 1], CLS])
        else:
            first, second = _cut(*ids, max_length - 2)
            encoded.append([*first, SEP, *second, CLS])
    return encoded


def _cut(first: list[int], second: list[int], room: int) -> tuple[list[int], list[int]]:
    """The two parts of a pair, the longer one cut until both together have at most `room` ids."""
    return (
        first[: max(room - len(second), (room + 1) // 2)],
        second[: max(room - len(first), room // 2)],
    )


@torch.no_grad()
def predict(
    classifier: Classifier,
    tokenizer: Tokenizer,
    texts: Sequence[Text],
    compute: Compute,
    batch: int = 64,
) -> Tensor:
    """(texts, labels) probabilities, in the order of `texts`, which may be pairs."""
    classifier.to(compute.device).eval()
    sequences = encode(texts, tokenizer, classifier.body.config.max_length)
    return by_length(sequences, classifier, compute, batch).softmax(dim=-1).cpu()


def by_length(
    sequences: Sequence[Sequence[int]],
    run: Callable[[Tensor, Tensor], Tensor],
    compute: Compute,
    batch: int = 64,
) -> Tensor:
    """What `run` says of (tokens, mask) of similar lengths; rows in the order of `sequences`."""
    order = sorted(range(len(sequences)), key=lambda row: len(sequences[row]))
    parts = []
    for start in range(0, len(order), batch):
        rows = [sequences[row] for row in order[start : start + batch]]
        with compute.autocast():
            parts.append(run(*(part.to(compute.device) for part in pad(rows, PAD))).float())
    result = torch.cat(parts)
    return result[torch.tensor(order).argsort()]


def wrong(probabilities: Tensor, labels: Sequence[str], names: Sequence[str]) -> list[int]:
    """The numbers of the texts whose likeliest label is not the true one."""
    guesses = probabilities.argmax(dim=-1).tolist()
    return [
        row
        for row, (guess, label) in enumerate(zip(guesses, labels, strict=True))
        if names[guess] != label
    ]
