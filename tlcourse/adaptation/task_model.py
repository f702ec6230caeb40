"""What every task has in common: a body with its tokenizer, knobs, a head, a folder.

The body stays and the head changes: Radford et al. (2018, GPT), Devlin et al. (2019, BERT).
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse import checkpoints, device, ranges
from tlcourse.adaptation import serialization
from tlcourse.adaptation.edits import Edit, TwoBlocks, Unchanged
from tlcourse.adaptation.knobs import Record, own_classes
from tlcourse.adaptation.report import Report
from tlcourse.adaptation.schemes import KNOBS, Scheme
from tlcourse.batching import pad
from tlcourse.bpe import Frame, Tokenizer
from tlcourse.checkpoints import AnyTokenizer, Body
from tlcourse.device import Compute
from tlcourse.transformer import Transformer


class TaskModel(nn.Module, ABC):
    """A Transformer with its tokenizer and `head`, a linear layer for one task.

    It shares the weights of the body it is given, but has its own dropout and edits. The body may
    also be an `LSTM` or a `BiLSTM`, which keeps the dropout of its configuration, or one of
    `encoders`, which cannot be saved. `scheme` is how it was adapted and `report` what that
    changed; both are None before `adapt`. A subclass says what an example is, and what its loss is.
    With our vocabulary `<cls>` follows the text, so that it sees the whole text even in a causal
    model, and a pair is one text with `<sep>` between its parts. A released model has its special
    tokens where its own tokenizer puts them.
    """

    task: ClassVar[str]  # its name in classifier.json and in `tlcourse adapt --task`
    SETTINGS: ClassVar[tuple[str, ...]] = ()  # arguments that classifier.json keeps

    def __init__(
        self, body: Body, tokenizer: AnyTokenizer, *, features: int = 1, outputs: int = 1,
        dropout: float = 0.1,
    ):  # fmt: skip
        super().__init__()
        self.dropout, self.tokenizer = nn.Dropout(dropout), tokenizer
        weights = {id(parameter): parameter for parameter in body.parameters()}
        self.body = copy.deepcopy(body, weights)  # shares the weights, but not the dropout
        for module in self.body.modules():
            if isinstance(module, nn.Dropout):
                module.p = dropout
        if isinstance(self.body, Transformer) and self.body.config.head_transform:
            self.body.drop_head()  # a released language model's, which no other task needs
        self.mix: nn.Module | None = None  # averages the layers' hidden states; None: the last's
        self.head: Any = nn.Linear(features * body.config.width, outputs)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        self.scheme: Scheme | None = None
        self.added: tuple[str, ...] = ()  # names of the parameters that the scheme's edit added
        self.report: Report | None = None
        self.about: dict[str, Any] = {}  # the content of its folder's classifier.json

    @abstractmethod
    def examples(self, texts: Sequence[Any], answers: Any) -> tuple[list[list[int]], Tensor]:
        """Returns the ids of each example, and the targets, (examples, ...), of its loss.

        Raises ValueError for texts and answers that do not fit; the message names the row.
        """

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Returns (batch, length, outputs) scores of (batch, length) tokens, mask, True = token."""
        return self.classify(self.states(tokens, mask))

    @abstractmethod
    def loss(self, scores: Tensor, targets: Tensor) -> tuple[Tensor, int]:
        """Returns the sum of the losses of a batch, and the number of targets that it counts."""

    def batch_loss(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        """Returns the `loss` of a batch: (tokens, mask, targets), or (features, targets)."""
        *inputs, targets = batch
        scores = self(*inputs) if len(inputs) == 2 else self.classify(*inputs)
        return self.loss(scores, targets)

    def settings(self) -> dict[str, Any]:
        """Returns the arguments of the class that classifier.json keeps."""
        return {name: getattr(self, name) for name in self.SETTINGS}

    def stack(self, sequences: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
        """Returns the padded tokens of examples, (batch, length), and their mask, True = token."""
        return pad(sequences, self.pad)

    @classmethod
    def from_checkpoint(
        cls,
        name: str | Path,
        *arguments: Any,
        seed: int = 0,
        compute: Compute | None = None,
        **options: Any,
    ) -> Self:
        """Returns a model with a new head, drawn from `seed`, on a checkpoint.

        `name` is that of a shipped checkpoint, or a folder; the other arguments are those of the
        class after `body` and `tokenizer`, such as `labels`. The state of the caller's random
        generator is left unchanged. Raises what `checkpoints.load` raises.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            compute = compute or device.choose()
            body, tokenizer = checkpoints.load(name, compute)
            model = cls(body, tokenizer, *arguments, **options)
        return model.to(compute.device)

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
                f"expected a model without an edit, or to continue with {self.edit}, "
                f"got {edit}{redefined} on top; start from the unedited one, or continue without "
                "`edit=`"
            )
        before = set(map(id, self.parameters()))
        edit(self)
        self.to(self.body.embedding.weight.device)
        self.added = tuple(name for name, p in self.named_parameters() if id(p) not in before)
        self.scheme = Scheme(edit=edit)
        return self.added

    def copy(self) -> Self:
        """Returns a model with a copy of the weights and without the report."""
        shared = {id(part): part for part in (self.tokenizer, self.scheme, self.report)}
        duplicate = copy.deepcopy(self, shared)
        duplicate.report = None
        return duplicate

    def states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Returns the hidden states that the head reads, (batch, length, width)."""
        types = self._types(tokens)
        if self.mix is None:
            return self.body.hidden(tokens, mask, **types)
        layers = self.body.hidden_states(tokens, mask, **types)
        return self.mix([F.layer_norm(layer, layer.shape[-1:]) for layer in layers])

    def classify(self, features: Tensor) -> Tensor:
        """Returns the head's scores of what it reads, (..., outputs), in float32."""
        if not isinstance(self.head, TwoBlocks):  # which have their own dropout
            features = self.dropout(features)
        return self.head(features).float()

    def _ends(self, mask: Tensor) -> Tensor:
        """Returns (batch,) positions: the one after the last word of each text."""
        return mask.sum(dim=1) - len(self.frame.behind)

    def _types(self, tokens: Tensor) -> dict[str, Tensor]:
        """Returns BERT's token types, (batch, length): 0 up to the first separator, then 1."""
        if self.body.config.token_types < 2 or not self.frame.typed:
            return {}
        ends = tokens == self.frame.between[-1]
        return {"types": (ends.cumsum(dim=1) - ends.long()).clamp(max=1)}

    def save(
        self, folder: str | Path, *, overwrite: bool = False, about: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Writes weights, scheme, tokenizer, card to a folder; returns what classifier.json holds.

        `about` are further entries of classifier.json, as `tlcourse adapt` writes them: columns,
        base_model, recipe, seed, train, test. Without the first two, those that the model was
        loaded with are kept. Raises what `serialization.write` raises, and ValueError if the scheme
        is not a value, or the body a variant of the `Transformer` (`checkpoints.refuse_variants`).
        """
        checkpoints.refuse_variants(self.body)
        scheme, facts = self.scheme, {**self.about, **(about or {})}
        record = {
            "task": self.task,
            **self.settings(),
            "dropout": self.dropout.p,
            "scheme": None if scheme is None else scheme.to_plain(),
            **({"base_model": facts["base_model"]} if "base_model" in facts else {}),
            **(about or {}),
            **self.columns(facts.get("columns")),
        }
        parts = serialization.Parts(self.body.config, self.tokenizer, record, scheme)
        knobs = own_classes(self.edit, KNOBS)
        return serialization.write(
            folder, self, parts, overwrite=overwrite, check=lambda place: self._read(place, knobs)
        )

    def columns(self, columns: Any) -> dict[str, Any]:
        """Returns the entry of classifier.json on the columns of the model's tables, if any."""
        return {"columns": columns} if columns else {}

    @classmethod
    def load(
        cls, folder: str | Path, *, knobs: Iterable[type] = (), compute: Compute | None = None
    ) -> Self:
        """Returns the model that `save` wrote: float32, in evaluation mode, with its scheme.

        `knobs` are the classes in its scheme that are not the course's, see `serialization.read`,
        which also says what is raised. The model is on the device of `compute` and uses its
        attention kernel.
        """
        model = cls._read(folder, knobs)
        compute = compute or device.choose()
        model.to(compute.device).body.set_attention(compute.attention)
        return model

    @classmethod
    def _read(cls, folder: str | Path, knobs: Iterable[type] = ()) -> Self:
        config, tokenizer, record, scheme = serialization.read(folder, knobs, task=cls.task)
        return checkpoints.filled(
            lambda: cls.from_record(checkpoints.new(config), tokenizer, record, scheme, folder),
            config,
            Path(folder) / serialization.WEIGHTS,
            # An edit that is not the course's may need the weights' values to be built.
            draft=scheme is None or not own_classes(scheme.edit, KNOBS),
        ).eval()

    @classmethod
    def from_record(
        cls,
        body: Body,
        tokenizer: AnyTokenizer,
        record: dict[str, Any],
        scheme: Scheme | None,
        folder: str | Path,
    ) -> Self:
        """Returns the model that a folder's record describes, with newly drawn weights.

        Raises ValueError if the record is damaged, or if the class of the edit is not given.
        """
        if scheme is not None and isinstance(scheme.edit, Record):
            raise ValueError(
                f"expected the class of the edit {scheme.edit}, by which {folder} was made; give "
                f"it: `{cls.__name__}.load({str(folder)!r}, knobs=[{scheme.edit.knob}])`"
            )
        with serialization.named(folder):
            dropout = record.get("dropout", 0.1)  # the default of every model
            if not ranges.SHARE.holds(dropout):
                raise ValueError(f"expected {ranges.SHARE.words} as dropout, got {dropout!r}")
            settings = {name: record[name] for name in cls.SETTINGS}
            model = cls(body, tokenizer, **settings, dropout=dropout)
        if scheme is not None:
            model.add(scheme.edit)
        model.scheme, model.about = scheme, record
        return model
