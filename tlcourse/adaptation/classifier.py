"""A text classifier on a Transformer: a body, a pooling, one linear layer.

Radford et al. (2018, GPT) and Devlin et al. (2019, BERT).
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse import checkpoints, device, ranges
from tlcourse.adaptation import serialization, tables, windows
from tlcourse.adaptation.edits import Edit, Unchanged
from tlcourse.adaptation.examples import Text, by_length, encode, label_names
from tlcourse.adaptation.knobs import Record, own_classes
from tlcourse.adaptation.report import Report
from tlcourse.adaptation.schemes import KNOBS, Scheme
from tlcourse.bpe import Frame, Tokenizer
from tlcourse.checkpoints import AnyTokenizer
from tlcourse.device import Compute
from tlcourse.transformer import Transformer

READ_AT = ("classification token", "last token")  # of one position
POOLINGS = (*READ_AT, "mean", "concatenation")


class Classifier(nn.Module):
    """A Transformer with its tokenizer, a pooling of its hidden states, one linear layer.

    With our vocabulary `<cls>` follows the text, so that the classification token sees the whole
    text even in a causal model, and a pair is one text with `<sep>` between its parts. A released
    model has its special tokens where its own tokenizer puts them. The classifier shares the
    weights of the body it is given, but has its own dropout and edits. `scheme` is how it was
    adapted and `report` what that changed; both are None before `adapt`. Raises ValueError for a
    pooling that is not in POOLINGS, and unless `labels` is a list of at least two different names.
    """

    def __init__(
        self,
        body: Transformer,
        tokenizer: AnyTokenizer,
        labels: Sequence[str],
        *,
        pooling: str = "mean",
        dropout: float = 0.1,
    ):
        super().__init__()
        if pooling not in POOLINGS:
            raise ValueError(f"expected a pooling out of {', '.join(POOLINGS)}, got {pooling!r}")
        self.labels, self.pooling = label_names(labels), pooling
        self.dropout, self.tokenizer = nn.Dropout(dropout), tokenizer
        weights = {id(parameter): parameter for parameter in body.parameters()}
        self.body = copy.deepcopy(body, weights)  # shares the weights, but not the dropout
        for module in self.body.modules():
            if isinstance(module, nn.Dropout):
                module.p = dropout
        if self.body.config.head_transform:
            self.body.drop_head()  # a released language model's, which a classifier does not need
        self.mix: nn.Module | None = None  # averages the layers' hidden states; None: the last's
        width = body.config.width * (3 if pooling == "concatenation" else 1)
        self.head = nn.Linear(width, len(self.labels))
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        self.scheme: Scheme | None = None
        self.added: tuple[str, ...] = ()  # names of the parameters that the scheme's edit added
        self.report: Report | None = None
        self.pairs: bool | None = None  # True if it was adapted to pairs of texts
        self.about: dict[str, Any] = {}  # the content of its folder's classifier.json

    @classmethod
    def from_checkpoint(
        cls,
        name: str | Path,
        labels: Sequence[str],
        *,
        pooling: str = "mean",
        dropout: float = 0.1,
        seed: int = 0,
        compute: Compute | None = None,
    ) -> "Classifier":
        """Returns a classifier with a new head, drawn from `seed`, on a checkpoint.

        `name` is that of a shipped checkpoint, or a folder. The state of the caller's random
        generator is left unchanged. Raises what `checkpoints.load` raises.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            compute = compute or device.choose()
            body, tokenizer = checkpoints.load(name, compute)
            classifier = cls(body, tokenizer, labels, pooling=pooling, dropout=dropout)
        return classifier.to(compute.device)

    @property
    def frame(self) -> Frame:
        """The special tokens around a text; our vocabulary's where the tokenizer names none."""
        return getattr(self.tokenizer, "frame", Tokenizer.frame)

    @property
    def pad(self) -> int:
        """The id of the padding token."""
        return getattr(self.tokenizer, "pad", Tokenizer.pad)

    @property
    def edit(self) -> Edit:
        """The edit that was added to the pretrained model; `Unchanged` if there was none."""
        return Unchanged() if self.scheme is None else self.scheme.edit

    def add(self, edit: Edit) -> tuple[str, ...]:
        """Applies an edit in place; returns, and keeps in `added`, the names of the new parameters.

        These are put on the body's device. Raises ValueError if an edit was added before.
        """
        if not isinstance(self.edit, Unchanged):
            redefined = ", whose class was redefined," if repr(edit) == repr(self.edit) else ""
            raise ValueError(
                f"expected a classifier without an edit, or to continue with {self.edit}, "
                f"got {edit}{redefined} on top; start from the unedited one, or continue without "
                "`edit=`"
            )
        before = set(map(id, self.parameters()))
        edit(self)
        self.to(self.body.embedding.weight.device)
        self.added = tuple(name for name, p in self.named_parameters() if id(p) not in before)
        self.scheme = Scheme(edit=edit)
        return self.added

    def copy(self) -> "Classifier":
        """Returns a classifier with a copy of the weights and without the report."""
        shared = {id(part): part for part in (self.tokenizer, self.scheme, self.report)}
        duplicate = copy.deepcopy(self, shared)
        duplicate.report = None
        return duplicate

    def encode(self, texts: Iterable[Text]) -> list[list[int]]:
        """Returns the ids of each text, see the function `encode`, for windows of long ones."""
        longest = self.body.config.max_length
        room = windows.room(longest, self.frame)
        return encode(texts, self.tokenizer, longest, room=room)

    @torch.no_grad()
    def probabilities(
        self, texts: Iterable[Text], *, compute: Compute | None = None, batch_size: int = 64
    ) -> Tensor:
        """Returns (texts, labels) probabilities in the order of `texts`, which may be pairs.

        The classifier is in evaluation mode afterwards. Raises FloatingPointError if a probability
        is not finite, see `checkpoints.refuse_nan`.
        """
        compute = compute or device.choose()
        self.to(compute.device).eval()
        sequences = self.encode(texts)
        if not sequences:
            return torch.zeros(0, len(self.labels))
        logits = by_length(sequences, self, pad_id=self.pad, compute=compute, batch_size=batch_size)
        return checkpoints.refuse_nan(logits.softmax(dim=-1).cpu(), "probabilities")

    def predict(self, texts: Iterable[Text], *, compute: Compute | None = None) -> list[str]:
        """Returns the likeliest label of each text."""
        best = self.probabilities(texts, compute=compute).argmax(dim=-1)
        return [self.labels[number] for number in best.tolist()]

    def save(
        self, folder: str | Path, *, overwrite: bool = False, about: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Writes weights, scheme, tokenizer, card to a folder; returns what classifier.json holds.

        `about` are further entries of classifier.json, as `tlcourse adapt` writes them: columns,
        base_model, recipe, seed, train, test. Without the first two, those that the classifier was
        loaded with are kept. Columns that do not fit the classifier's input (texts or pairs) are
        replaced by the default ones. Raises what `serialization.write` raises, and ValueError if
        the scheme is not a value.
        """
        scheme, facts = self.scheme, {**self.about, **(about or {})}
        columns = facts.get("columns")
        if self.pairs is not None:
            columns = tables.columns_for(self.pairs, columns)
        record = {
            "labels": self.labels,
            "pooling": self.pooling,
            "dropout": self.dropout.p,
            "scheme": None if scheme is None else scheme.to_plain(),
            **({"base_model": facts["base_model"]} if "base_model" in facts else {}),
            **(about or {}),
            **({"columns": columns} if columns else {}),
        }
        parts = serialization.Parts(self.body.config, self.tokenizer, record, scheme)
        knobs = own_classes(self.edit, KNOBS)
        return serialization.write(
            folder, self, parts, overwrite=overwrite, check=lambda place: self._read(place, knobs)
        )

    @classmethod
    def load(
        cls, folder: str | Path, *, knobs: Iterable[type] = (), compute: Compute | None = None
    ) -> "Classifier":
        """Returns the classifier that `save` wrote: float32, in evaluation mode, with its scheme.

        `knobs` are the classes in its scheme that are not the course's, see `serialization.read`,
        which also says what is raised. The classifier is on the device of `compute` and uses its
        attention kernel.
        """
        classifier = cls._read(folder, knobs)
        compute = compute or device.choose()
        classifier.to(compute.device).body.set_attention(compute.attention)
        return classifier

    @classmethod
    def _read(cls, folder: str | Path, knobs: Iterable[type] = ()) -> "Classifier":
        config, tokenizer, record, scheme = serialization.read(folder, knobs)
        return checkpoints.filled(
            lambda: cls.from_record(Transformer(config), tokenizer, record, scheme, folder),
            config,
            Path(folder) / serialization.WEIGHTS,
            # An edit that is not the course's may need the weights' values to be built.
            draft=scheme is None or not own_classes(scheme.edit, KNOBS),
        ).eval()

    @classmethod
    def from_record(
        cls,
        body: Transformer,
        tokenizer: AnyTokenizer,
        record: dict[str, Any],
        scheme: Scheme | None,
        folder: str | Path,
    ) -> "Classifier":
        """Returns the classifier that a folder's record describes, with newly drawn weights.

        Raises ValueError if the record is damaged, or if the class of the edit is not given.
        """
        if scheme is not None and isinstance(scheme.edit, Record):
            raise ValueError(
                f"expected the class of the edit {scheme.edit}, by which {folder} was made; give "
                f"it: `Classifier.load({str(folder)!r}, knobs=[{scheme.edit.knob}])`"
            )
        with serialization.named(folder):
            dropout = record.get("dropout", 0.1)  # the default of `Classifier`
            if not ranges.SHARE.holds(dropout):
                raise ValueError(f"expected {ranges.SHARE.words} as dropout, got {dropout!r}")
            classifier = cls(
                body, tokenizer, record["labels"], pooling=record["pooling"], dropout=dropout
            )
        if scheme is not None:
            classifier.add(scheme.edit)
        classifier.scheme, classifier.about = scheme, record
        if "columns" in record:
            classifier.pairs = record["columns"].get("pair") is not None
        return classifier

    def pool(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Returns (batch, width) features of (batch, length, width) hidden states.

        `mask` is (batch, length), True = token. "concatenation" gives (batch, 3 * width): the last
        token, the maximum and the mean over the words (Howard & Ruder, 2018).
        """
        rows, places = (torch.arange(size, device=mask.device) for size in mask.shape)
        if self.pooling in READ_AT:
            return hidden[rows, self._read_at(mask)]
        frame, ends = self.frame, self._ends(mask)
        words = (places >= len(frame.before)) & (places < ends[:, None])
        ignored = ~words[:, :, None]
        kept = hidden.masked_fill(ignored, 0.0)  # so that a NaN in a pad does not matter
        mean = kept.sum(dim=1) / words.sum(dim=1, keepdim=True)
        if self.pooling == "mean":
            return mean
        largest = hidden.masked_fill(ignored, -torch.inf).amax(dim=1)
        return torch.cat([hidden[rows, ends - 1], largest, mean], dim=-1)

    def _ends(self, mask: Tensor) -> Tensor:
        """Returns (batch,) positions: the one after the last word of each text."""
        return mask.sum(dim=1) - len(self.frame.behind)

    def _read_at(self, mask: Tensor) -> Tensor:
        """Returns (batch,) positions: the one whose hidden state the pooling takes."""
        ends = self._ends(mask)
        if self.pooling == "last token":
            return ends - 1
        return torch.zeros_like(ends) if self.frame.before else ends

    def _types(self, tokens: Tensor) -> dict[str, Tensor]:
        """Returns BERT's token types, (batch, length): 0 up to the first separator, then 1."""
        if self.body.config.token_types < 2 or not self.frame.typed:
            return {}
        ends = tokens == self.frame.between[-1]
        return {"types": (ends.cumsum(dim=1) - ends.long()).clamp(max=1)}

    def features(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Returns what `classify` takes, of (batch, length) tokens and mask, True = token.

        That is (batch, width), or three times the width for "concatenation"; with a mix (batch,
        layers + 1, ...), each layer normalised. Texts that are longer than the body's maximum are
        read in windows, see `windows`.
        """
        longest = self.body.config.max_length
        if tokens.shape[1] > longest:
            frame, pad_id = self.frame, self.pad
            *parts, owner = windows.split(tokens, mask, longest, frame=frame, pad_id=pad_id)
            return windows.averaged(self.features(*parts), owner)
        types = self._types(tokens)
        if self.mix is None and self.pooling in READ_AT:  # no other position is needed
            return self.body.hidden_at(tokens, mask, at=self._read_at(mask), **types)
        if self.mix is None:
            return self.pool(self.body.hidden(tokens, mask, **types), mask)
        states = self.body.hidden_states(tokens, mask, **types)
        return torch.stack(
            [self.pool(F.layer_norm(state, state.shape[-1:]), mask) for state in states], dim=1
        )

    def classify(self, features: Tensor) -> Tensor:
        """Returns (batch, labels) logits of features."""
        if self.mix is not None:
            features = self.mix(features.unbind(dim=1))
        return self.head(self.dropout(features)).float()

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Returns (batch, labels) logits of (batch, length) tokens and mask, True = token."""
        return self.classify(self.features(tokens, mask))


def misclassified(probabilities: Tensor, labels: Sequence[str], names: Sequence[str]) -> list[int]:
    """Returns the indices of the texts whose likeliest label is not the true one.

    `probabilities` is (texts, labels), `labels` the true label of each text, `names` all labels.
    """
    predictions = probabilities.argmax(dim=-1).tolist()
    return [
        row
        for row, (predicted, label) in enumerate(zip(predictions, labels, strict=True))
        if names[predicted] != label
    ]
