"""Which models and classifiers a page shows, checked: names, blocks, what they stand on."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tlcourse import checkpoints, files
from tlcourse.adaptation import Unchanged, serialization
from tlcourse.adaptation.serialization import RECORD
from tlcourse.transformer import Config

USUALLY = ("causal-small", "trec-lora")  # what `tlcourse page` shows
CLASSIFIERS = "data/classifiers"
FILES = ("config.json", "tokenizer.json", "model.safetensors")  # of a checkpoint
ADDED = (RECORD, "model.safetensors")  # of a classifier that is added weights alone
USUAL = asdict(Config())
BLOCK = ("rotary", "norm_first", "qk_norm", "activation", "token_types", "head_transform")
BLOCK += ("head_bias",)  # what the page's block does as the course's models do
EDITS = ("Unchanged", "LoRA", "LayerMix")  # of a scheme, as in classify.js


@dataclass(frozen=True)
class Shown:
    """What a page shows: a model, or a classifier, which may stand on a model of the page."""

    name: str
    folder: Path
    classifier: bool = False
    base: str | None = None  # the model under weights that were added to it

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the page needs."""
        if not self.classifier:
            return FILES
        return ADDED if self.base else (*FILES, RECORD)

    def content(self, file: str) -> bytes:
        """One of `files` as the page reads it: a scheme is written out, as this version saves it.

        Earlier versions kept the name of one.
        """
        if file != RECORD:
            return (self.folder / file).read_bytes()
        record = serialization.record_of(self.folder)
        scheme = serialization.scheme_of(record, self.folder)
        record |= {"scheme": None if scheme is None else scheme.to_plain()}
        return json.dumps(record, ensure_ascii=False).encode()


def shipped() -> list[str]:
    """The names of all models and classifiers that come with the course."""
    folder = files.root() / CLASSIFIERS
    return [*checkpoints.names(), *sorted(path.parent.name for path in folder.glob(f"*/{RECORD}"))]


def chosen(models: Iterable[str | Path] | None = None) -> list[Shown]:
    """Models and classifiers by names or folders, models first; None: all that are shipped.

    A shipped model on which a classifier stands comes with it. Raises ValueError for what the page
    cannot read, FileNotFoundError for what is not there.
    """
    asked = shipped() if models is None else models
    found = [_shown(each) for each in ([asked] if isinstance(asked, str | Path) else asked)]
    for each in list(found):
        if each.base and each.base not in [other.name for other in found]:
            found.append(_shown(each.base))
    for name in {each.name for each in found if [e.name for e in found].count(each.name) > 1}:
        raise ValueError(f"expected models of different names, got {name} twice; rename one")
    if all(each.classifier for each in found):
        raise ValueError(
            "expected at least one language model for the page beside its classifiers, got none; "
            "name one, such as causal-small"
        )
    return sorted(found, key=lambda each: each.classifier)


def _shown(model: str | Path) -> Shown:
    """One model or classifier, checked."""
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


def _check_block(name: str, folder: Path) -> None:
    config = asdict(checkpoints.shape(folder)[0])
    other = [f"{each} {config[each]}" for each in BLOCK if config[each] != USUAL[each]]
    if other:
        raise ValueError(
            f"expected a model of the course's own block for the page, got {name} with "
            f"{', '.join(other)}; give one that `tlcourse pretrain` wrote"
        )
