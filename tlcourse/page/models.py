"""The models and classifiers that a page shows, checked: names, blocks, base models."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tlcourse import checkpoints, files
from tlcourse.adaptation import Unchanged, serialization
from tlcourse.adaptation.serialization import RECORD
from tlcourse.page.packing import ENDING, WEIGHTS, packed
from tlcourse.transformer import Config

DEFAULT_MODELS = ("causal-small", "trec-lora")  # of `tlcourse page`
CLASSIFIERS = "data/classifiers"
FILES = ("config.json", "tokenizer.json", WEIGHTS)  # of a checkpoint
ADDED = (RECORD, WEIGHTS)  # of a classifier with added weights only
OWN_CONFIG = asdict(Config())
BLOCK = ("rotary", "norm_first", "qk_norm", "activation", "token_types", "head_transform")
BLOCK += ("head_bias",)  # the fields in which the page supports the course's own block only
EDITS = ("Unchanged", "LoRA", "LayerMix")  # the supported edits, as in classify.js


@dataclass(frozen=True)
class Shown:
    """A model of a page, or a classifier, whose base may be another model of the page."""

    name: str
    folder: Path
    classifier: bool = False
    base: str | None = None  # the model to which the classifier adds weights

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the page needs, by their names in `folder`."""
        if not self.classifier:
            return FILES
        return ADDED if self.base else (*FILES, RECORD)

    def packed(self) -> dict[str, bytes]:
        """The files by the names that they have in the page, in its form; see `packing`."""
        return {file + ENDING: packed(file, self._content(file)) for file in self.files}

    def _content(self, file: str) -> bytes:
        """The content of one of `files`, with the scheme in the form that this version saves.

        Earlier versions kept only the name of a scheme.
        """
        if file != RECORD:
            return (self.folder / file).read_bytes()
        record = serialization.record_of(self.folder)
        scheme = serialization.scheme_of(record, self.folder)
        record |= {"scheme": None if scheme is None else scheme.to_plain()}
        return json.dumps(record, ensure_ascii=False).encode()


def shipped() -> list[str]:
    """The names of all models and classifiers shipped with the course."""
    folder = files.root() / CLASSIFIERS
    return [*checkpoints.names(), *sorted(path.parent.name for path in folder.glob(f"*/{RECORD}"))]


def chosen(models: Iterable[str | Path] | None = None) -> list[Shown]:
    """Models and classifiers by names or folders, models first; None: all that are shipped.

    The base model of a classifier is added. Raises ValueError for a model that the page cannot
    read, FileNotFoundError for one that does not exist.
    """
    names = shipped() if models is None else models
    shown = [_shown(model) for model in ([names] if isinstance(names, str | Path) else names)]
    for model in list(shown):
        if model.base and model.base not in [listed.name for listed in shown]:
            shown.append(_shown(model.base))
    shown_names = [model.name for model in shown]
    for name in {name for name in shown_names if shown_names.count(name) > 1}:
        raise ValueError(f"expected models with different names, got {name} twice; rename one")
    if all(model.classifier for model in shown):
        raise ValueError(
            "expected at least one language model for the page beside its classifiers, got none; "
            "name one, such as causal-small"
        )
    return sorted(shown, key=lambda model: model.classifier)


def _shown(model: str | Path) -> Shown:
    """The model or classifier of a name or folder, checked."""
    for folder in (Path(model), files.root() / CLASSIFIERS / str(model)):
        if (folder / RECORD).is_file():
            return _classifier(folder.absolute().name, folder)
    folder, name = checkpoints.folder_of(model), checkpoints.name_of(model)
    _check_block(name, folder)
    return Shown(name, folder)


def _classifier(name: str, folder: Path) -> Shown:
    record = serialization.record_of(folder)
    scheme = serialization.scheme_of(record, folder)
    edit = Unchanged() if scheme is None else scheme.edit
    if type(edit).__name__ not in EDITS:
        raise ValueError(
            f"expected a classifier adapted by fine-tuning, LoRA or a mix of layers for the page, "
            f"got {name}, adapted by {edit}; adapt it by one of those"
        )
    if not (folder / "config.json").is_file():
        return Shown(name, folder, classifier=True, base=serialization.base_of(record, folder))
    _check_block(name, folder)
    return Shown(name, folder, classifier=True)


def _check_block(model: str, folder: Path) -> None:
    config = asdict(checkpoints.shape(folder)[0])
    differing = [
        f"{name} {config.get(name)}" for name in BLOCK if config.get(name) != OWN_CONFIG[name]
    ]
    if differing:
        raise ValueError(
            f"expected a model with the course's own block for the page, got {model} with "
            f"{', '.join(differing)}; give one that `tlcourse pretrain` wrote"
        )
