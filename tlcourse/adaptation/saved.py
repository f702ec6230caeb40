"""An adapted classifier as a folder: weights, shape, vocabulary, what it was made from, a card.

A folder holds `model.safetensors` with all parameters, what the scheme added included,
`config.json`, `tokenizer.json`, `classifier.json` and `README.md`. It is written whole or not at
all. Loading rebuilds the model from the values of its scheme, checks names and shapes, and never
unpickles or imports by name.
"""

import contextlib
import copy
import platform
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tlcourse import __version__, checkpoints, files, ranges, released
from tlcourse.adaptation import tables
from tlcourse.adaptation.knobs import Record, by_name, own_classes, short
from tlcourse.adaptation.schemes import KNOBS, SCHEMES, Scheme
from tlcourse.bpe import Tokenizer
from tlcourse.transformer import Transformer

if TYPE_CHECKING:
    from tlcourse.adaptation.classifier import Classifier

LARGEST = 30_000_000  # bytes of float32 weights; more are kept in half precision
RECORD = "classifier.json"


def save(
    folder: str | Path,
    classifier: "Classifier",
    *,
    overwrite: bool = False,
    about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Writes a classifier and its scheme; the live one stays as it is.

    `about` is what else the folder shall tell, as `tlcourse adapt` writes it: columns, base_model,
    recipe, seed, train, test; the first two are those that the classifier knows, where it is
    silent, and columns that do not fit what it reads, texts or pairs, give way to the usual ones.
    Returns what classifier.json holds. The weights are kept as they are,
    or in half precision where they would need more than LARGEST bytes. With `overwrite` a folder
    that holds a classifier is replaced. Raises FileExistsError when the folder holds something
    else, or anything without `overwrite`; ValueError when the scheme is not a value, or does not
    make such a classifier.
    """
    overwrite = overwrite and (Path(folder) / RECORD).is_file()
    if not overwrite:
        files.refuse_occupied(folder)
    half = 4 * sum(parameter.numel() for parameter in classifier.parameters()) > LARGEST
    scheme, own = classifier.scheme, classifier.about
    columns = (about or {}).get("columns", own.get("columns"))
    if classifier.pairs is not None:
        columns = tables.columns_for(classifier.pairs, columns)
    record = {
        "labels": classifier.labels,
        "pooling": classifier.pooling,
        "dropout": classifier.dropout.p,
        "scheme": None if scheme is None else scheme.to_plain(),
        "precision": "float16" if half else "float32",
        **{name: own[name] for name in ("base_model",) if name in own},
        **(about or {}),
        **({"columns": columns} if columns else {}),
        "versions": {
            "tlcourse": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
    }
    with files.new_folder(folder, overwrite=overwrite) as temporary:
        checkpoints.write_shape(temporary, classifier.body.config, classifier.tokenizer)
        weights = copy.deepcopy(classifier).half() if half else classifier
        checkpoints.write_weights(temporary / "model.safetensors", weights)
        files.write_json(temporary / RECORD, record)
        name = Path(folder).absolute().name
        files.write_text(temporary / "README.md", card(name, record, scheme))
        try:
            with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay
                load(type(classifier), temporary, own_classes(classifier.edit, KNOBS))
        except ValueError as error:
            raise ValueError(f"expected a classifier made by {scheme}, but {error}") from error
    return record


def load(cls: type["Classifier"], folder: str | Path, knobs: Iterable[type] = ()) -> "Classifier":
    """What `save` wrote: float32, in evaluation mode, its scheme rebuilt from values.

    `knobs` are classes of one's own by which the scheme is rebuilt. The edit's is needed; of the
    other three knobs a record comes back where the class is not given. Raises FileNotFoundError for
    a folder without a classifier, ValueError when a file does not fit or the edit's class is
    missing.
    """
    folder = Path(folder)
    if not (folder / RECORD).is_file():
        raise FileNotFoundError(
            f"expected a folder that `tlcourse adapt` wrote, got {str(folder)!r}, "
            f"which has no {RECORD}"
        )
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"expected {name} in {folder}, got none; copy the whole folder")
    record = record_of(folder)
    config, tokenizer = checkpoints.shape(folder)
    scheme = scheme_of(record, folder, knobs)
    return checkpoints.filled(
        lambda: rebuilt(cls, Transformer(config), tokenizer, record, scheme, folder),
        config,
        folder / "model.safetensors",
        draft=scheme is None or not own_classes(scheme.edit, KNOBS),  # one's own may need numbers
    ).eval()


def record_of(folder: str | Path) -> dict[str, Any]:
    """What classifier.json holds; raises ValueError when it is no object, or its columns no texts.

    What it says of labels, pooling and dropout is checked by `rebuilt`, of the scheme by
    `scheme_of`.
    """
    record = files.read_object(Path(folder) / RECORD)
    columns = record.get("columns", {})
    if not isinstance(columns, dict) or not all(
        isinstance(name, str | None) for name in columns.values()
    ):
        raise ValueError(
            f"expected names of columns in {Path(folder) / RECORD}, got {short(columns)}; restore "
            "the file"
        )
    return record


def scheme_of(
    record: Mapping[str, Any], folder: str | Path, knobs: Iterable[type] = ()
) -> Scheme | None:
    """The scheme of a record; folders of earlier versions name one of SCHEMES.

    A choice of an unknown class is a Record. Raises ValueError for a scheme that is damaged.
    """
    known = tuple(by_name(knobs, KNOBS).values())
    with _told(folder):
        kept = record["scheme"]
        if kept is None:
            return None
        return SCHEMES[kept] if isinstance(kept, str) else Scheme.from_plain(kept, known)


def base_of(record: Mapping[str, Any], folder: str | Path) -> str:
    """The model under weights that are kept without it; raises ValueError when none is named."""
    base = record.get("base_model")
    if not isinstance(base, str):
        raise ValueError(
            f"expected the name of a base_model in {Path(folder) / RECORD}, got {short(base)}: "
            "without a config.json its weights stand on another model; copy the whole folder"
        )
    return base


def rebuilt(
    cls: type["Classifier"],
    body: Transformer,
    tokenizer: Tokenizer,
    record: dict[str, Any],
    scheme: Scheme | None,
    folder: str | Path,
) -> "Classifier":
    """The classifier that the record of a folder describes, with new weights above the body's.

    Raises ValueError when the record is damaged, or the class of the edit is not given.
    """
    if scheme is not None and isinstance(scheme.edit, Record):
        raise ValueError(
            f"expected the class of the edit {scheme.edit}, by which {folder} was made; give "
            f"it: `Classifier.load({str(folder)!r}, knobs=[{scheme.edit.knob}])`"
        )
    with _told(folder):
        dropout = record.get("dropout", 0.1)  # earlier versions had this one, and did not keep it
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


@contextlib.contextmanager
def _told(folder: str | Path) -> Iterator[None]:
    """Raises ValueError that names classifier.json for what its values raise in the block."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else repr(error)
        asked = "; was it written by another version?"
        raise ValueError(
            f"expected labels, a pooling and a scheme in {Path(folder) / RECORD}, but "
            f"{why.removesuffix(asked)}{asked}"
        ) from None


def card(name: str, record: Mapping[str, Any], scheme: Scheme | None) -> str:
    """The text of README.md for what classifier.json holds; what it does not say is left out."""
    lines = [
        f"Labels: {', '.join(record['labels'])}",
        f"Scheme: {'not adapted' if scheme is None else f'`{scheme}`'}",
        f"Pooling: {record['pooling']}; weights: {record['precision']}",
    ]
    if "base_model" in record:
        base = record["base_model"]
        lines.append(f"Base model: {base}; its licence and limits hold here, too")
        if base in released.KNOWN:
            lines.append(f"Others released it; it was trained on {released.KNOWN[base].trained_on}")
    if train := record.get("train"):
        counts = ", ".join(f"{label} {count}" for label, count in train["labels"].items())
        lines.append(f"Training data: `{train['file']}`, {train['rows']} rows ({counts})")
        lines.append(f"Error on them: {in_words(train)}")
    if recipe := record.get("recipe"):
        lines.append(f"Recipe: {', '.join(f'{name} {value}' for name, value in recipe.items())}")
    if test := record.get("test"):
        lines.append(f"Test error: {in_words(test)}, on `{test['file']}`")
    lines.append(f"Made with tlcourse {record['versions']['tlcourse']}")
    texts = '"a text" "the other one"' if record.get("columns", {}).get("pair") else '"a text"'
    use = (
        f"```bash\ntlcourse predict PATH-OF-THIS-FOLDER {texts}\n```\n\n"
        "From Python: `tlcourse.adaptation.Classifier.load(folder).predict(texts)`."
    )
    return "\n".join([f"# {name}\n\nA text classifier.\n", *(f"- {line}" for line in lines)]) + (
        f"\n\n{use}\n"
    )


def in_words(measured: Mapping[str, Any]) -> str:
    """How many of `rows` went `wrong`, in percent, with the `interval` if there is one."""
    wrong, rows = len(measured["wrong"]), measured["rows"]
    words = f"{100 * wrong / rows:.1f} %, {wrong} of {rows} rows"
    if "interval" in measured:
        low, high = (100 * share for share in measured["interval"])
        words += f" (95 % interval {low:.1f} to {high:.1f} %)"
    return words
