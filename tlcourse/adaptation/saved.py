"""An adapted classifier as a folder: weights, shape, vocabulary, what it was made from, a card.

A folder holds `model.safetensors` with all parameters, what the scheme added included,
`config.json`, `tokenizer.json`, `classifier.json` and `README.md`. It is written whole or not at
all and never over another. Loading rebuilds the model, checks names and shapes, never unpickles.
"""

import copy
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import save_model

from tlcourse import __version__, checkpoints, files
from tlcourse.adaptation.classifier import Classifier
from tlcourse.adaptation.schemes import SCHEMES
from tlcourse.adaptation.tables import Columns
from tlcourse.bpe import Tokenizer
from tlcourse.device import Compute

LARGEST = 30_000_000  # bytes of float32 weights; more are kept in half precision
RECORD = "classifier.json"


class Saved(NamedTuple):
    """A classifier from a folder (float32, in evaluation mode), and what its folder says of it."""

    classifier: Classifier
    tokenizer: Tokenizer
    columns: Columns
    record: dict[str, Any]


def save(
    folder: str | Path,
    classifier: Classifier,
    tokenizer: Tokenizer,
    scheme: str,
    about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Writes a classifier that the scheme of this name in SCHEMES made; the live one stays.

    `about` is what else the folder shall tell, as `tlcourse adapt` writes it: columns, base_model,
    recipe, seed, train, test. Returns what classifier.json holds. The weights are kept as they are,
    or in half precision where they would need more than LARGEST bytes. Raises FileExistsError when
    the folder holds something, ValueError when the scheme does not make such a classifier.
    """
    half = 4 * sum(parameter.numel() for parameter in classifier.parameters()) > LARGEST
    record = {
        "labels": classifier.labels,
        "pooling": classifier.pooling,
        "scheme": scheme,
        "precision": "float16" if half else "float32",
        **(about or {}),
        "versions": {
            "tlcourse": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
    }
    with files.new_folder(folder) as temporary:
        checkpoints.write_shape(temporary, classifier.body.config, tokenizer)
        weights = copy.deepcopy(classifier).half() if half else classifier
        with files.atomic(temporary / "model.safetensors") as path:
            save_model(weights, str(path))
        files.write_json(temporary / RECORD, record)
        files.write_text(temporary / "README.md", card(Path(folder).absolute().name, record))
        try:
            with torch.random.fork_rng(devices=[]):  # the caller's chance stays
                load(temporary)
        except ValueError as error:
            raise ValueError(f"expected a classifier made by {scheme!r}, but {error}") from error
    return record


def load(folder: str | Path, compute: Compute | None = None) -> Saved:
    """What `save` wrote; with `compute` on that device, with that attention kernel.

    Raises FileNotFoundError for a folder without a classifier, ValueError when a file does not fit.
    """
    folder = Path(folder)
    if not (folder / RECORD).is_file():
        raise FileNotFoundError(
            f"expected a folder that `tlcourse adapt` wrote, got {str(folder)!r}, "
            f"which has no {RECORD}"
        )
    record = files.read_json(folder / RECORD)
    body, tokenizer = checkpoints.untrained(folder)
    try:
        classifier = Classifier(body, record["labels"], record["pooling"])
        SCHEMES[record["scheme"]].edit(classifier)
        columns = Columns(**record.get("columns", {}))
    except (LookupError, TypeError) as error:
        raise ValueError(
            f"expected labels, a pooling, columns and a scheme out of {', '.join(SCHEMES)} in "
            f"{folder / RECORD}, but {error!r}; was it written by another version?"
        ) from None
    checkpoints.load_weights(classifier, folder / "model.safetensors")
    if compute is not None:
        classifier.to(compute.device).body.set_attention(compute.attention)
    return Saved(classifier.eval(), tokenizer, columns, record)


def card(name: str, record: Mapping[str, Any]) -> str:
    """The text of README.md for what classifier.json holds; what it does not say is left out."""
    lines = [
        f"Labels: {', '.join(record['labels'])}",
        f"Scheme: {record['scheme']}; pooling: {record['pooling']}; weights: {record['precision']}",
    ]
    if "base_model" in record:
        lines.append(f"Base model: {record['base_model']}; its licence and limits hold here, too")
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
        "From Python: `tlcourse.adaptation.saved.load` and "
        "`tlcourse.adaptation.classifier.predict`."
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
