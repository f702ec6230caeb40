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

    With our vocabulary `<cls>` follows the text, so that in a causal model, too, the classification
    token sees the whole text, and a pair is one text with `<sep>` between its parts; a released
    model has the special tokens where its own tokenizer puts them. It has the weights of the
    body it is given, and dropout and edits of its own. `scheme` is how it was adapted and `report`
    what happened then; None before. Raises ValueError for a pooling that is not in POOLINGS, and
    for labels that are no list of two or more different names.
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
        weights = {id(each): each for each in body.parameters()}
        self.body = copy.deepcopy(body, weights)  # the same weights, but a dropout of its own
        for module in self.body.modules():
            if isinstance(module, nn.Dropout):
                module.p = dropout
        if self.body.config.head_transform:
            self.body.drop_head()  # of a released language model, which no label needs
        self.mix: nn.Module | None = None  # of the hidden states of all layers; None: the last
        width = body.config.width * (3 if pooling == "concatenation" else 1)
        self.head = nn.Linear(width, len(self.labels))
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        self.scheme: Scheme | None = None
        self.added: tuple[str, ...] = ()  # names of the parameters that the scheme's edit added
        self.report: Report | None = None
        self.pairs: bool | None = None  # whether it was adapted to pairs of texts
        self.about: dict[str, Any] = {}  # what its folder says

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
        """A new head, drawn from `seed`, on a shipped checkpoint or on one in a folder.

        The caller's random numbers stay as they were. Raises what `checkpoints.load` raises.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            compute = compute or device.choose()
            body, tokenizer = checkpoints.load(name, compute)
            found = cls(body, tokenizer, labels, pooling=pooling, dropout=dropout)
        return found.to(compute.device)

    @property
    def frame(self) -> Frame:
        """Where special tokens stand; a tokenizer of one's own that is silent has those of ours."""
        return getattr(self.tokenizer, "frame", Tokenizer.frame)

    @property
    def pad(self) -> int:
        """The id of the padding."""
        return getattr(self.tokenizer, "pad", Tokenizer.pad)

    @property
    def edit(self) -> Edit:
        """What was added to the pretrained model."""
        return Unchanged() if self.scheme is None else self.scheme.edit

    def add(self, edit: Edit) -> tuple[str, ...]:
        """Applies an edit in place; returns, and keeps in `added`, the names of the new parameters.

        What is added goes to where the body is. Raises ValueError when something was added before.
        """
        if not isinstance(self.edit, Unchanged):
            anew = ", of a class defined anew," if repr(edit) == repr(self.edit) else ""
            raise ValueError(
                f"expected a classifier to which nothing was added, or to go on by {self.edit}, "
                f"got {edit}{anew} on top; start from the one before, or go on without `edit=`"
            )
        known = set(map(id, self.parameters()))
        edit(self)
        self.to(self.body.embedding.weight.device)
        self.added = tuple(name for name, p in self.named_parameters() if id(p) not in known)
        self.scheme = Scheme(edit=edit)
        return self.added

    def copy(self) -> "Classifier":
        """Another one with the same weights; without the report."""
        shared = {id(each): each for each in (self.tokenizer, self.scheme, self.report)}
        other = copy.deepcopy(self, shared)
        other.report = None
        return other

    def encode(self, texts: Iterable[Text]) -> list[list[int]]:
        """The ids of each text, see the function `encode`; a long one's are read in windows."""
        longest = self.body.config.max_length
        room = windows.room(longest, self.frame)
        return encode(texts, self.tokenizer, longest, room=room)

    @torch.no_grad()
    def probabilities(
        self, texts: Iterable[Text], *, compute: Compute | None = None, batch_size: int = 64
    ) -> Tensor:
        """(texts, labels) probabilities, in the order of `texts`, which may be pairs.

        The classifier is in evaluation mode afterwards. Raises FloatingPointError when one of them
        is NaN, see `checkpoints.refuse_nan`.
        """
        compute = compute or device.choose()
        self.to(compute.device).eval()
        sequences = self.encode(texts)
        if not sequences:
            return torch.zeros(0, len(self.labels))
        logits = by_length(
            sequences,
            self,
            pad_id=self.pad,
            compute=compute,
            batch_size=batch_size,
        )
        return checkpoints.refuse_nan(logits.softmax(dim=-1).cpu(), "probabilities")

    def predict(self, texts: Iterable[Text], *, compute: Compute | None = None) -> list[str]:
        """The likeliest label of each text."""
        best = self.probabilities(texts, compute=compute).argmax(dim=-1)
        return [self.labels[number] for number in best.tolist()]

    def save(
        self, folder: str | Path, *, overwrite: bool = False, about: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Writes weights, scheme, tokenizer, card to a folder; returns what classifier.json holds.

        `about` is what else the folder shall tell, as `tlcourse adapt` writes it: columns,
        base_model, recipe, seed, train, test. The first two are those that the classifier knows,
        where it is silent, and columns that do not fit what it reads, texts or pairs, give way to
        the usual ones. Raises what `serialization.write` raises, and ValueError when the scheme
        is not a value.
        """
        scheme, known = self.scheme, {**self.about, **(about or {})}
        columns = known.get("columns")
        if self.pairs is not None:
            columns = tables.columns_for(self.pairs, columns)
        record = {
            "labels": self.labels,
            "pooling": self.pooling,
            "dropout": self.dropout.p,
            "scheme": None if scheme is None else scheme.to_plain(),
            **({"base_model": known["base_model"]} if "base_model" in known else {}),
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
        cls,
        folder: str | Path,
        *,
        knobs: Iterable[type] = (),
        compute: Compute | None = None,
    ) -> "Classifier":
        """What `save` wrote: float32, in evaluation mode, its scheme rebuilt from values.

        `knobs` are the classes of one's own in its scheme, see `serialization.read`, which also
        says what is raised. It is on the device of `compute`, with that attention kernel.
        """
        found = cls._read(folder, knobs)
        compute = compute or device.choose()
        found.to(compute.device).body.set_attention(compute.attention)
        return found

    @classmethod
    def _read(cls, folder: str | Path, knobs: Iterable[type] = ()) -> "Classifier":
        config, tokenizer, record, scheme = serialization.read(folder, knobs)
        return checkpoints.filled(
            lambda: cls.from_record(Transformer(config), tokenizer, record, scheme, folder),
            config,
            Path(folder) / serialization.WEIGHTS,
            # An edit of one's own may need numbers to be built.
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
        """The classifier that a folder's record describes, with new weights above the body's.

        Raises ValueError when the record is damaged, or the class of the edit is not given.
        """
        if scheme is not None and isinstance(scheme.edit, Record):
            raise ValueError(
                f"expected the class of the edit {scheme.edit}, by which {folder} was made; give "
                f"it: `Classifier.load({str(folder)!r}, knobs=[{scheme.edit.knob}])`"
            )
        with serialization.named(folder):
            dropout = record.get("dropout", 0.1)  # what `Classifier` has unless told otherwise
            if not ranges.SHARE.holds(dropout):
                raise ValueError(f"expected {ranges.SHARE.words} as dropout, got {dropout!r}")
            how = {"pooling": record["pooling"], "dropout": dropout}
            classifier = cls(body, tokenizer, record["labels"], **how)
        if scheme is not None:
            classifier.add(scheme.edit)
        classifier.scheme, classifier.about = scheme, record
        if "columns" in record:
            classifier.pairs = record["columns"].get("pair") is not None
        return classifier

    def pool(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """(batch, length, width) hidden states and (batch, length) mask to (batch, width).

        "concatenation" is (batch, 3 * width): last token, largest value and mean over the words
        (Howard & Ruder, 2018).
        """
        rows, places = (torch.arange(size, device=mask.device) for size in mask.shape)
        if self.pooling in READ_AT:
            return hidden[rows, self._read_at(mask)]
        frame, ends = self.frame, self._ends(mask)
        words = (places >= len(frame.before)) & (places < ends[:, None])
        others = ~words[:, :, None]
        kept = hidden.masked_fill(others, 0.0)  # NaN in a pad does not matter
        mean = kept.sum(dim=1) / words.sum(dim=1, keepdim=True)
        if self.pooling == "mean":
            return mean
        largest = hidden.masked_fill(others, -torch.inf).amax(dim=1)
        return torch.cat([hidden[rows, ends - 1], largest, mean], dim=-1)

    def _ends(self, mask: Tensor) -> Tensor:
        """(batch,) the place behind the last word of each text."""
        return mask.sum(dim=1) - len(self.frame.behind)

    def _read_at(self, mask: Tensor) -> Tensor:
        """(batch,) the one position that is read, by the pooling."""
        ends = self._ends(mask)
        if self.pooling == "last token":
            return ends - 1
        return torch.zeros_like(ends) if self.frame.before else ends

    def _types(self, tokens: Tensor) -> dict[str, Tensor]:
        """BERT's token types: 0 up to the end of a text or of the first of a pair, then 1."""
        if self.body.config.token_types < 2 or not self.frame.typed:
            return {}
        ends = tokens == self.frame.between[-1]
        return {"types": (ends.cumsum(dim=1) - ends.long()).clamp(max=1)}

    def features(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """(batch, length) tokens and mask, True = token, to what `classify` reads.

        (batch, width) or three times that; with a mix (batch, layers + 1, ...), layers normalised.
        A text that is longer than the body's positions is read in windows, see `windows`.
        """
        longest = self.body.config.max_length
        if tokens.shape[1] > longest:
            frame, pad_id = self.frame, self.pad
            *parts, owner = windows.split(tokens, mask, longest, frame=frame, pad_id=pad_id)
            return windows.averaged(self.features(*parts), owner)
        types = self._types(tokens)
        if self.mix is None and self.pooling in READ_AT:  # all that is read
            return self.body.hidden_at(tokens, mask, at=self._read_at(mask), **types)
        if self.mix is None:
            return self.pool(self.body.hidden(tokens, mask, **types), mask)
        states = self.body.hidden_states(tokens, mask, **types)
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


def wrong(probabilities: Tensor, labels: Sequence[str], names: Sequence[str]) -> list[int]:
    """The numbers of the texts whose likeliest label is not the true one."""
    guesses = probabilities.argmax(dim=-1).tolist()
    return [
        row
        for row, (guess, label) in enumerate(zip(guesses, labels, strict=True))
        if names[guess] != label
    ]
