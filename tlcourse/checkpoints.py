"""Checkpoints as folders: half-precision weights, shape, vocabulary, log and model card.

A folder holds `model.safetensors`, `config.json`, `tokenizer.json`, `training.json` and
`README.md`. Loading checks names and shapes and never unpickles.
"""

from dataclasses import asdict, fields
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_model
from torch import nn

from tlcourse import device, files
from tlcourse.bpe import Tokenizer
from tlcourse.device import Compute
from tlcourse.transformer import Config, Transformer
from tlcourse.wording import nearest

FOLDER = "data/checkpoints"


def names() -> list[str]:
    """The shipped checkpoints."""
    folder = files.root() / FOLDER
    return sorted(path.parent.name for path in folder.glob("*/model.safetensors"))


def save(
    folder: str | Path,
    model: Transformer,
    tokenizer: Tokenizer,
    *,
    card: str = "",
    log: dict | None = None,
) -> None:
    """Writes a checkpoint; the weights are a half-precision copy, the live model is untouched.

    `card` is the text of README.md, `log` goes to training.json (None: no leg of training, no
    evaluation). Each file appears whole or not at all; the weights come last.
    """
    folder = Path(folder)
    write_shape(folder, model.config, tokenizer)
    files.write_json(folder / "training.json", log or {"legs": [], "evaluation": {}})
    files.write_text(folder / "README.md", card)
    with torch.random.fork_rng(devices=[]):  # a new model draws weights; the caller's draws stay
        half = Transformer(model.config)
    half.load_state_dict(model.state_dict())
    write_weights(folder / "model.safetensors", half.half())


def write_weights(path: Path, model: nn.Module) -> None:
    """Writes the weights of a model as a whole; raises `files.Unwritten` where there is no room."""
    with files.atomic(path) as temporary:
        try:
            save_model(model, str(temporary))
        except SafetensorError as error:
            raise files.Unwritten(path, error) from error


def write_shape(folder: Path, config: Config, tokenizer: Tokenizer) -> None:
    """Writes what `untrained` reads: config.json and tokenizer.json."""
    files.write_json(folder / "config.json", asdict(config))
    with files.atomic(folder / "tokenizer.json") as temporary:
        tokenizer.save(temporary)


def load(name: str | Path, compute: Compute | None = None) -> tuple[Transformer, Tokenizer]:
    """The model (float32, in evaluation mode) and tokenizer of a shipped name or of a folder.

    It is on the device of `compute` (None: `device.choose()`), with that attention kernel. Raises
    FileNotFoundError that lists the shipped names, or ValueError when a file does not fit.
    """
    folder = folder_of(name)
    if (folder / "classifier.json").exists():
        raise ValueError(
            f"expected a checkpoint of a language model, got {folder}, which is a classifier: "
            "`tlcourse predict` and `Classifier.load` read it"
        )
    model, tokenizer = untrained(folder)
    load_weights(model, folder / "model.safetensors")
    compute = device.choose() if compute is None else compute
    model.to(compute.device).set_attention(compute.attention)
    return model.eval(), tokenizer


def untrained(folder: Path) -> tuple[Transformer, Tokenizer]:
    """A new model of the shape that a folder states, and the folder's tokenizer.

    Raises FileNotFoundError, or ValueError when the two do not belong together.
    """
    model = Transformer(_config(folder / "config.json"))
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    if tokenizer.vocabulary_size > model.config.vocabulary_size:
        raise ValueError(
            f"expected at most {model.config.vocabulary_size} tokens in {folder}, its tokenizer "
            f"has {tokenizer.vocabulary_size}; the files belong to different checkpoints"
        )
    return model, tokenizer


def log_of(name: str | Path) -> dict:
    """The training log behind the card of a shipped name or of a folder."""
    return files.read_json(folder_of(name) / "training.json")


def name_of(name: str | Path) -> str:
    """What a checkpoint is called: a shipped name, or that of its run's folder."""
    folder = folder_of(name).resolve()
    return folder.parent.name if folder.name == "checkpoint" else folder.name


def is_shipped(name: str | Path) -> bool:
    """Whether a checkpoint is one of those that come with the course."""
    return folder_of(name).resolve().parent == (files.root() / FOLDER).resolve()


def rewrite(name: str | Path, card: str, log: dict) -> Path:
    """Replaces the log and then the card of a checkpoint, each as a whole; returns its folder."""
    folder = folder_of(name)
    files.write_json(folder / "training.json", log)
    files.write_text(folder / "README.md", card)
    return folder


def folder_of(name: str | Path) -> Path:
    """The folder of a shipped name, or the folder itself; raises FileNotFoundError for others."""
    for folder in (Path(name), files.root() / FOLDER / name):
        if (folder / "config.json").exists():
            return folder
    inside = Path(name) / "checkpoint"  # where `tlcourse pretrain` puts it
    if (inside / "config.json").exists():
        near = f"; did you mean {inside}?"
    else:
        near = nearest(str(name), names())
    raise FileNotFoundError(
        f"expected a checkpoint folder or one of {', '.join(names()) or 'none yet'}, "
        f"got {str(name)!r}{near}"
    )


def _config(path: Path) -> Config:
    found, known = files.read_json(path), {field.name for field in fields(Config)}
    if set(found) != known:
        raise ValueError(
            f"expected the fields {sorted(known)} in {path}, "
            f"differing: {sorted(set(found) ^ known)}; was it written by another version?"
        )
    return Config(**found)


def load_weights(model: nn.Module, path: Path) -> None:
    """Fills a model with the weights in a file, as float32; nothing is unpickled.

    Raises ValueError when the file is damaged or its names and shapes are not the model's.
    """
    try:
        weights = load_file(path)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"expected weights in {path}, but {error}; fetch the file again") from None
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    differing = sorted(name for name in expected | found if expected.get(name) != found.get(name))
    if differing:
        name = differing[0]
        raise ValueError(
            f"{path} does not fit its config.json: {len(differing)} tensors differ, first {name}: "
            f"expected {expected.get(name)}, got {found.get(name)}"
        )
    model.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
