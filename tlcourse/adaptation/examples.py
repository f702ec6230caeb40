"""Texts and labels as numbers: ids, targets, and batches of about equal lengths.

Anything that is not a text or a label is refused here, with its row, before the training starts.
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tlcourse import device
from tlcourse.adaptation.knobs import short
from tlcourse.batching import bucket_batches, pad
from tlcourse.bpe import Tokenizer, normalise
from tlcourse.checkpoints import AnyTokenizer
from tlcourse.device import Compute
from tlcourse.wording import seen

BREAKING = ("Cc", "Cs", "Zl", "Zp")  # categories of characters that no label may have
Text = str | tuple[str, str]  # one text, or a pair


def listed(values: Iterable, what: str) -> list:
    """Returns the values as a list.

    Raises ValueError for a single text, a set, a mapping and a table of several columns.
    """
    single = isinstance(values, str | bytes) or not isinstance(values, Iterable)
    table = len(getattr(values, "shape", (0,))) != 1  # more than one column
    if single or table or isinstance(values, Mapping | set | frozenset):
        got = short(values) if single else f"a {type(values).__name__}"
        raise ValueError(f"expected {what} in a list, or one column of a table, got {got}")
    return list(values)


def encode(
    texts: Iterable[Text], tokenizer: AnyTokenizer, max_length: int, *, room: int | None = None
) -> list[list[int]]:
    """Returns the ids of each text, cut to `max_length` ids, in the tokenizer's `frame`.

    With our vocabulary the frame is `<cls>` at the end. If `room` is given, a single text is cut to
    that many ids instead, since long texts can be read in windows.

    A pair has `<sep>` between its parts (Radford et al., 2018; Devlin et al., 2019); a pair that is
    too long loses tokens from the end of its longer part first. Raises ValueError unless `texts` is
    a list of texts or pairs without empty ones; the message names the first row that does not fit.
    """
    encoded, frame = [], getattr(tokenizer, "frame", Tokenizer.frame)
    read = getattr(tokenizer, "read", lambda text: tokenizer.encode(normalise(text)))
    for row, text in enumerate(listed(texts, "texts")):
        parts = (text,) if isinstance(text, str) else text
        pair = isinstance(parts, tuple | list) and len(parts) == 2
        if parts is text and not (pair and all(isinstance(part, str) for part in parts)):
            raise ValueError(
                f"expected a text or a pair of texts in row {row}, got {short(text)}; remove or "
                "fill that row"
            )
        try:
            ids = [read(part) for part in parts]
        except UnicodeEncodeError:
            raise ValueError(
                f"expected text in row {row}, got {short(text)}, which contains half a "
                "character (a surrogate); read the file as UTF-8"
            ) from None
        if not all(ids):
            raise ValueError(f"expected text in row {row}, got {text!r}; remove or fill that row")
        if len(ids) == 1:
            encoded.append(frame.around(ids[0][: (room or max_length) - frame.size]))
        else:
            first, second = ids
            cut = _cut(first, second, max_length - frame.size - len(frame.between))
            encoded.append(frame.around(*cut))
    return encoded


def _cut(first: list[int], second: list[int], room: int) -> tuple[list[int], list[int]]:
    """Returns the parts of a pair, the longer one cut until both have at most `room` ids."""
    return (
        first[: max(room - len(second), (room + 1) // 2)],
        second[: max(room - len(first), room // 2)],
    )


def one_line(label: str) -> bool:
    """True if a label has a visible character, and no line break or control character."""
    return bool(seen(label)) and not any(unicodedata.category(c) in BREAKING for c in label)


def label_names(labels: Iterable[str]) -> list[str]:
    """Returns the labels of a classifier as a list, in their order.

    Raises ValueError for fewer than two, for equal ones, and for a name that is blank or contains a
    line break, a tab or another control character.
    """
    names = listed(labels, "labels")
    texts = {name for name in names if isinstance(name, str)}
    if len(names) < 2 or len(texts) < len(names):
        raise ValueError(f"expected at least two labels, all different, got {short(names)}")
    refused = next((name for name in names if not one_line(name)), None)
    if refused is not None:
        raise ValueError(
            f"expected labels of one line, without control characters, got {refused!r}; rename it"
        )
    return names


def targets(labels: Iterable[str] | Tensor, names: Sequence[str]) -> Tensor:
    """Returns the targets of the loss: (texts,) label indices, or (texts, labels) probabilities.

    Raises ValueError for a label that is not in `names`, and for rows that are no probabilities.
    """
    if isinstance(labels, np.ndarray) and labels.ndim == 2 and labels.dtype.kind in "biuf":
        labels = torch.as_tensor(labels)
    if isinstance(labels, Tensor) and labels.ndim == 2:
        return _probabilities(labels.float(), names)
    labels = listed(labels.tolist() if hasattr(labels, "tolist") else labels, "labels")
    unknown = [label for label in labels if not (isinstance(label, str) and label in names)]
    if unknown:
        numbered = all(isinstance(label, Integral) for label in unknown)
        raise ValueError(
            f"expected labels out of {list(names)}, got also "
            f"[{', '.join(sorted({short(label) for label in unknown})[:5])}]"
            + ("; give the names: [names[number] for number in labels]" if numbered else "")
        )
    return torch.tensor([names.index(label) for label in labels])


def _probabilities(rows: Tensor, names: Sequence[str]) -> Tensor:
    if rows.shape[1] != len(names):
        raise ValueError(
            f"expected probabilities of {len(names)} labels for each text, "
            f"got a tensor of shape {tuple(rows.shape)}"
        )
    valid = (rows >= 0).all(dim=1) & ((rows.sum(dim=1) - 1).abs() < 0.01)  # False for NaN
    if not valid.all():
        row = valid.tolist().index(False)
        raise ValueError(
            f"expected probabilities of the labels that sum to 1, got {short(rows[row].tolist())} "
            f"in row {row}"
        )
    return rows


def length(sequence: Sequence[Any]) -> int:
    """Returns the number of tokens of an example: its ids, or those of the longest of its texts."""
    nested = sequence and isinstance(sequence[0], Sequence)
    return max(map(len, sequence)) if nested else len(sequence)


def by_length(
    sequences: Sequence[Sequence[Any]],
    read: Callable[[Tensor, Tensor], Tensor],
    *,
    pad_id: int = 0,
    stack: Callable[[Any], tuple[Tensor, Tensor]] | None = None,
    compute: Compute | None = None,
    batch_size: int = 64,
) -> Tensor:
    """Returns what `read(tokens, mask)` returns, (sequences, ...), in the order of `sequences`.

    `read` gets batches of similar lengths, (batch, length) each, so that there is little padding.
    `stack` makes a batch of sequences; by default, they are padded with `pad_id`.
    """
    stack = stack or partial(pad, pad_id=pad_id)
    compute = compute or device.choose()
    order = sorted(range(len(sequences)), key=lambda row: length(sequences[row]))
    parts = []
    for start in range(0, len(order), batch_size):
        rows = [sequences[row] for row in order[start : start + batch_size]]
        with compute.autocast():
            parts.append(read(*(part.to(compute.device) for part in stack(rows))).float())
    result = torch.cat(parts)
    return result[torch.tensor(order).argsort()]


class Batches:
    """Texts and labels as batches of about equal lengths; batch k depends on the seed and k alone.

    Raises ValueError if texts and labels differ in number, or do not fit the model.
    """

    def __init__(
        self, model: Any, texts: Iterable[Any], labels: Any, *, batch_size: int = 32, seed: int = 0
    ):
        self.sequences, self.targets = model.examples(texts, labels)
        if len(self.sequences) != len(self.targets) or not self.sequences:
            raise ValueError(
                "expected at least one text and as many labels as texts, got "
                f"{len(self.targets)} and {len(self.sequences)}"
            )
        self.stack = model.stack
        self.batch_size, self.seed = batch_size, seed
        self.features: Tensor | None = None
        self.per_epoch = -(-len(self.sequences) // batch_size)
        self._epoch = -1
        self._order: list[list[int]] = []

    def some(self, compute: Compute) -> tuple[Tensor, Tensor]:
        """Returns tokens and mask of the first texts, at most 32."""
        tokens, mask = self.stack(self.sequences[:32])
        return tokens.to(compute.device), mask.to(compute.device)

    def batch(self, step: int) -> tuple[Tensor, ...]:
        """Returns a step's (tokens, mask, labels), or (features, labels) after `read_once`."""
        epoch, place = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            lengths = [length(sequence) for sequence in self.sequences]
            self._epoch = epoch
            self._order = bucket_batches(lengths, self.batch_size, self.seed, epoch)
        rows = self._order[place]
        if self.features is not None:
            return self.features[rows], self.targets[rows]
        return *self.stack([self.sequences[row] for row in rows]), self.targets[rows]

    @torch.no_grad()
    def read_once(self, classifier: Any, compute: Compute) -> None:
        """Computes the features of all texts once, for a body that is not trained."""
        read = classifier.eval().features
        self.features = by_length(self.sequences, read, stack=self.stack, compute=compute).cpu()
