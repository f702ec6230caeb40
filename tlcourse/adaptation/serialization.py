"""An adapted classifier as a folder: weights, shape, vocabulary, record of its making, a card.

A folder holds `model.safetensors` with all parameters, including those that the scheme added,
`config.json`, `tokenizer.json`, `classifier.json` and `README.md`. It is written whole or not at
all. Loading rebuilds the model from the values of its scheme, checks names and shapes, and never
unpickles or imports by name. This module writes and reads plain parts; `Classifier` takes itself
apart and is rebuilt from them.
"""

import contextlib
import copy
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from tlcourse import __version__, checkpoints, files, released
from tlcourse.adaptation.knobs import by_name, short
from tlcourse.adaptation.schemes import KNOBS, SCHEMES, Scheme
from tlcourse.checkpoints import AnyTokenizer

LARGEST = 30_000_000  # bytes of float32 weights; more are kept in half precision
RECORD, WEIGHTS = "classifier.json", "model.safetensors"
KINDS = {  # what a model for each task is, and its class
    "labels": ("A text classifier", "Classifier"),
    "tags": ("A tagger, which gives each word of a sentence a tag", "Tagger"),
    "spans": ("A reader, which marks the answer to a question in a paragraph", "SpanReader"),
    "pairs": ("A model that says how similar two texts are", "Similarity"),
    "embeddings": ("A model that turns texts into vectors to compare", "BiEncoder"),
    "text": ("A model that continues a prompt with a reply", "Generator"),
    "choice": ("A model that chooses one of several candidates for a text", "Chooser"),
}


class Parts(NamedTuple):
    """The content of a folder without its weights."""

    config: checkpoints.Shape
    tokenizer: AnyTokenizer
    record: dict[str, Any]  # classifier.json
    scheme: Scheme | None


def write(
    folder: str | Path,
    model: nn.Module,
    parts: Parts,
    *,
    overwrite: bool,
    check: Callable[[Path], object],
) -> dict[str, Any]:
    """Writes weights, shape, tokenizer, record and card; returns what classifier.json holds.

    The weights are written in half precision if in float32 they would need more than LARGEST bytes.
    `check(folder)` reads the folder back before it takes its place. With `overwrite` a folder that
    holds a classifier is replaced. Raises FileExistsError if the folder holds something else, or
    anything without `overwrite`, and ValueError if `check` does.
    """
    overwrite = overwrite and (Path(folder) / RECORD).is_file()
    if not overwrite:
        files.refuse_occupied(folder)
    half = 4 * sum(parameter.numel() for parameter in model.parameters()) > LARGEST
    precision = "float16" if half else "float32"
    record = parts.record | {"precision": precision, "versions": versions()}
    with files.new_folder(folder, overwrite=overwrite) as temporary:
        checkpoints.write_shape(temporary, parts.config, parts.tokenizer)
        weights = copy.deepcopy(model).half() if half else model
        checkpoints.write_weights(temporary / WEIGHTS, weights)
        files.write_json(temporary / RECORD, record)
        name = Path(folder).absolute().name
        files.write_text(temporary / "README.md", card(name, record, parts.scheme))
        try:
            with torch.random.fork_rng(devices=[]):  # leaves the caller's generator alone
                check(temporary)
        except ValueError as error:
            raise ValueError(
                f"expected a classifier made by {parts.scheme}, but {error}"
            ) from error
    return record


def versions() -> dict[str, str]:
    """Returns the versions that are recorded in a folder: of the course, PyTorch and Python."""
    python = platform.python_version()
    return {"tlcourse": __version__, "torch": torch.__version__, "python": python}


def read(folder: str | Path, knobs: Iterable[type] = (), *, task: str = "labels") -> Parts:
    """Returns the content of a folder without its weights; the scheme is rebuilt from values.

    `knobs` are the classes in the scheme that are not the course's. The edit's is needed; for each
    of the other three knobs a `Record` is returned if its class is not given. Raises
    FileNotFoundError for a folder without a model, ValueError if a file does not fit, or if the
    model is for another task.
    """
    folder, record = Path(folder), record_of(folder)
    for name in ("config.json", "tokenizer.json", WEIGHTS):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"expected {name} in {folder}, got none; copy the whole folder")
    if record.get("task", "labels") != task:  # which early versions do not name
        raise ValueError(
            f"expected a model for the task {task!r} in {folder}, got one for {record['task']!r}; "
            "load it with the class of that task"
        )
    config, tokenizer = checkpoints.shape(folder)
    return Parts(config, tokenizer, record, scheme_of(record, folder, knobs))


def record_of(folder: str | Path) -> dict[str, Any]:
    """Returns the content of classifier.json.

    Raises FileNotFoundError if there is none, ValueError if it is no object, or its columns are not
    named by strings. Its other entries are checked by `TaskModel.from_record` and `scheme_of`.
    """
    if not (Path(folder) / RECORD).is_file():
        raise FileNotFoundError(
            f"expected a folder that `tlcourse adapt` wrote, got {str(folder)!r}, "
            f"which has no {RECORD}"
        )
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
    """Returns the scheme of a record, None if it has none; in early versions a name in SCHEMES.

    A choice of an unknown class is a `Record`. Raises ValueError for a scheme that is damaged.
    """
    known = tuple(by_name(knobs, KNOBS).values())
    with named(folder):
        kept = record["scheme"]
        if kept is None:
            return None
        return SCHEMES[kept] if isinstance(kept, str) else Scheme.from_plain(kept, known)


def base_of(record: Mapping[str, Any], folder: str | Path) -> str:
    """Returns the name of the base model; raises ValueError if the record has none."""
    base = record.get("base_model")
    if not isinstance(base, str):
        raise ValueError(
            f"expected the name of a base_model in {Path(folder) / RECORD}, got {short(base)}: "
            "without a config.json its weights stand on another model; copy the whole folder"
        )
    return base


@contextlib.contextmanager
def named(folder: str | Path) -> Iterator[None]:
    """Turns errors in the block, due to damaged values, into ValueErrors with the file's name."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else repr(error)
        question = "; was it written by another version?"
        raise ValueError(
            f"expected labels, a pooling and a scheme in {Path(folder) / RECORD}, but "
            f"{why.removesuffix(question)}{question}"
        ) from None


def card(name: str, record: Mapping[str, Any], scheme: Scheme | None) -> str:
    """Returns the text of README.md, made from the entries that classifier.json has."""
    what, kind = KINDS[record.get("task", "labels")]
    lists = [key for key in ("labels", "tags") if key in record]
    lines = [f"{key.capitalize()}: {', '.join(record[key])}" for key in lists]
    lines.append(f"Scheme: {'not adapted' if scheme is None else f'`{scheme}`'}")
    pooling = f"Pooling: {record['pooling']}; w" if "pooling" in record else "W"
    lines.append(f"{pooling}eights: {record['precision']}")
    if "base_model" in record:
        base = record["base_model"]
        lines.append(f"Base model: {base}; its licence and limits hold here, too")
        if base in released.KNOWN:
            lines.append(f"Others released it; it was trained on {released.KNOWN[base].trained_on}")
    scored = [split for split in ("train", "test") if "scores" in record.get(split, {})]
    lines += [f"{split.capitalize()}: {scores_in_words(record[split])}" for split in scored]
    if (train := record.get("train")) and "wrong" in train:
        counts = ", ".join(f"{label} {count}" for label, count in train["labels"].items())
        lines.append(f"Training data: `{train['file']}`, {train['rows']} rows ({counts})")
        lines.append(f"Error on them: {in_words(train)}")
    if recipe := record.get("recipe"):
        lines.append(f"Recipe: {', '.join(f'{key} {value}' for key, value in recipe.items())}")
    if (test := record.get("test")) and "wrong" in test:
        lines.append(f"Test error: {in_words(test)}, on `{test['file']}`")
    lines.append(f"Made with tlcourse {record['versions']['tlcourse']}")
    texts = '"a text" "the other one"' if record.get("columns", {}).get("pair") else '"a text"'
    command = f"```bash\ntlcourse predict PATH-OF-THIS-FOLDER {texts}\n```\n\n"
    use = f"From Python: `tlcourse.adaptation.{kind}.load(folder).predict(texts)`."
    facts = "\n".join(f"- {line}" for line in lines)
    return f"# {name}\n\n{what}.\n\n{facts}\n\n{command if kind == 'Classifier' else ''}{use}\n"


def scores_in_words(scored: Mapping[str, Any]) -> str:
    """Returns the `scores` on the `rows` of a `file` as text."""
    scores = ", ".join(f"{name} {value:.3f}" for name, value in scored["scores"].items())
    return f"{scores} on {scored['rows']} rows of `{scored['file']}`"


def in_words(measured: Mapping[str, Any]) -> str:
    """Returns the error as text: percent, `wrong` of `rows`, and the `interval`, if any."""
    wrong, rows = len(measured["wrong"]), measured["rows"]
    words = f"{100 * wrong / rows:.1f} %, {wrong} of {rows} rows"
    if "interval" in measured:
        low, high = (100 * share for share in measured["interval"])
        words += f" (95 % interval {low:.1f} to {high:.1f} %)"
    return words
