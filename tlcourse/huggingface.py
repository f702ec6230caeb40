"""Hugging Face's GPT-2 and BERT as our `Transformer`: the same weights, the same numbers."""

import os
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import constants, file_download, try_to_load_from_cache
from torch import Tensor
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.utils import logging

from tlcourse import checkpoints
from tlcourse.transformer import Config, Transformer, bert, count_parameters, gpt2

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "relu2": "relu2",
}
# Options of theirs that change the numbers and that our class has with this value only.
NEEDED = {
    "GPT2LMHeadModel": {
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
    },
    "BertForMaskedLM": {
        "is_decoder": False,
        "position_embedding_type": "absolute",
        "add_cross_attention": False,
        "tie_word_embeddings": True,
    },
}
# Parameters of theirs that our class has once: they have to be equal.
TIED = {
    "GPT2LMHeadModel": {"lm_head.weight": "transformer.wte.weight"},
    "BertForMaskedLM": {
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
}
REAL = {
    "openai-community/gpt2": GPT2LMHeadModel,
    "google-bert/bert-base-uncased": BertForMaskedLM,
}
# What BERT's file also holds: its other head, what that one reads, and numbers from 0 upwards.
DISCARDED = ("bert.pooler.", "cls.seq_relationship.", "bert.embeddings.position_ids")
# A model is in the Hub's cache when one file of each line is.
FILES = (
    ("config.json",),
    ("model.safetensors", "pytorch_model.bin"),
    ("tokenizer.json", "vocab.json", "vocab.txt"),
)


def from_huggingface(model: PreTrainedModel) -> Transformer:
    """Our model with the weights (copied, float32) of a `GPT2LMHeadModel` or `BertForMaskedLM`.

    It comes in evaluation mode. Theirs drops attention weights too while training, ours does not.
    Raises ValueError for another class, for an option that our class does not have, and for weights
    that are not those of its configuration, such as an output layer that is not the embedding.
    """
    kind = type(model).__name__
    if kind not in NEEDED:
        raise ValueError(f"expected a {' or a '.join(NEEDED)}, got a {kind}")
    for name, needed in NEEDED[kind].items():
        came = getattr(model.config, name, needed)
        if came != needed:
            raise ValueError(f"expected {name}={needed} in the {kind}'s configuration, got {came}")
    if differing := _differing(model):
        raise ValueError(
            f"expected a {kind} with the weights that its configuration describes, and an output "
            f"layer that shares the embedding's, got {differing}; our class cannot hold these, so "
            "undo what was changed (tie_weights() shares the embedding's again)"
        )
    shape, weights = CONVERT[kind]
    ours = Transformer(shape(model.config))
    ours.load_state_dict(weights(model.state_dict(), ours.config.layers))
    return ours.eval()


def _differing(model: PreTrainedModel) -> str:
    """What of a model's weights is not as its configuration and TIED have it; "" if all is."""
    kind, found = type(model).__name__, model.state_dict()
    with checkpoints.shapes_alone():
        expected = type(model)(model.config).state_dict()
    shapes, given = ({n: t.shape for n, t in each.items()} for each in (expected, found))
    others = sorted(n for n in shapes.keys() | given.keys() if shapes.get(n) != given.get(n))
    if others:
        return f"another tensor {others[0]} than its configuration describes ({len(others)} such)"
    pairs = TIED[kind].items()
    apart = [pair for pair in pairs if not torch.equal(*(found[name] for name in pair))]
    return "".join(f"other numbers in {name} than in {source}" for name, source in apart[:1])


def _activation(name: str) -> str:
    if name not in ACTIVATIONS:
        raise ValueError(f"expected an activation out of {', '.join(ACTIVATIONS)}, got {name!r}")
    return ACTIVATIONS[name]


def _weights_and_biases(ours: str, theirs: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{ours}.{part}": state[f"{theirs}.{part}"] for part in ("weight", "bias")}


def _gpt2_shape(c: GPT2Config) -> Config:
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


def _gpt2_weights(state: dict[str, Tensor], layers: int) -> dict[str, Tensor]:
    """Our state dict; their linear layers (Conv1D) are transposed."""
    weights = {
        "embedding.weight": state["transformer.wte.weight"],
        "positions.weight": state["transformer.wpe.weight"],
    } | _weights_and_biases("norm", "transformer.ln_f", state)
    for layer in range(layers):
        ours, theirs = f"blocks.{layer}", f"transformer.h.{layer}"
        weights |= _weights_and_biases(f"{ours}.attention_norm", f"{theirs}.ln_1", state)
        weights |= _weights_and_biases(f"{ours}.feed_forward_norm", f"{theirs}.ln_2", state)
        for name, place in (
            ("attention.output", "attn.c_proj"),
            ("up", "mlp.c_fc"),
            ("down", "mlp.c_proj"),
        ):
            weights[f"{ours}.{name}.weight"] = state[f"{theirs}.{place}.weight"].T
            weights[f"{ours}.{name}.bias"] = state[f"{theirs}.{place}.bias"]
        joint = state[f"{theirs}.attn.c_attn.weight"].T.chunk(3)  # query, key, value in one layer
        biases = state[f"{theirs}.attn.c_attn.bias"].chunk(3)
        for name, weight, bias in zip(("query", "key", "value"), joint, biases, strict=True):
            weights[f"{ours}.attention.{name}.weight"] = weight
            weights[f"{ours}.attention.{name}.bias"] = bias
    return weights


def _bert_shape(c: BertConfig) -> Config:
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


def _bert_weights(state: dict[str, Tensor], layers: int) -> dict[str, Tensor]:
    """Our state dict."""
    embeddings, head = "bert.embeddings", "cls.predictions"
    weights = {
        "embedding.weight": state[f"{embeddings}.word_embeddings.weight"],
        "positions.weight": state[f"{embeddings}.position_embeddings.weight"],
        "types.weight": state[f"{embeddings}.token_type_embeddings.weight"],
        "head_bias": state[f"{head}.bias"],
    }
    weights |= _weights_and_biases("norm", f"{embeddings}.LayerNorm", state)
    weights |= _weights_and_biases("transform", f"{head}.transform.dense", state)
    weights |= _weights_and_biases("transform_norm", f"{head}.transform.LayerNorm", state)
    names = {
        "attention.query": "attention.self.query",
        "attention.key": "attention.self.key",
        "attention.value": "attention.self.value",
        "attention.output": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "feed_forward_norm": "output.LayerNorm",
    }
    for layer in range(layers):
        for ours, theirs in names.items():
            place = f"bert.encoder.layer.{layer}.{theirs}"
            weights |= _weights_and_biases(f"blocks.{layer}.{ours}", place, state)
    return weights


CONVERT = {
    "GPT2LMHeadModel": (_gpt2_shape, _gpt2_weights),
    "BertForMaskedLM": (_bert_shape, _bert_weights),
}


def pretrained(name: str, *, patience: float = 5.0) -> tuple[PreTrainedModel, object] | None:
    """(model, tokenizer) of `openai-community/gpt2` or `google-bert/bert-base-uncased`, or None.

    From the folder `gpt2` or `bert-base-uncased` of TLCOURSE_DATA, where there is one; else from
    the Hub's cache on this machine; else downloaded (0.5 GB each). One printed line says from
    where. None, and one that says why, where they are not cached and the Hub does not answer within
    `patience` seconds, or where HF_HUB_OFFLINE forbids asking. Raises ValueError for another name,
    and for a folder or a cache with files of another model, damaged ones, or weights that are not
    finite.
    """
    if name not in REAL:
        raise ValueError(f"expected a model out of {', '.join(REAL)}, got {name!r}")
    logging.set_verbosity_error()  # BERT's file also holds a pooler, which nobody asks for here
    logging.disable_progress_bar()
    found = _mirrored(name) or _cached_or_downloaded(name, patience)
    if found is None:
        return None
    *pair, place = found
    print(f"[weights] {name}: {place}")
    return pair[0], pair[1]


def _mirrored(name: str) -> tuple[PreTrainedModel, object, str] | None:
    """(model, tokenizer, "from TLCOURSE_DATA"), or None where TLCOURSE_DATA has no such folder."""
    short = name.split("/")[1]
    folder = Path(os.environ.get("TLCOURSE_DATA") or os.devnull) / short
    if not folder.is_dir():
        return None
    try:
        return *_load(name, local_files_only=True, place=folder), "from TLCOURSE_DATA"
    except Exception as error:  # what Transformers makes of a damaged file is of many classes
        raise ValueError(
            f"expected {name} (config.json, weights, tokenizer) in the folder {short} of "
            f"TLCOURSE_DATA, got {_told(error)}; save it there again or remove the folder"
        ) from error


def _cached_or_downloaded(name: str, patience: float) -> tuple[PreTrainedModel, object, str] | None:
    """(model, tokenizer, from where), or None and one printed line.

    A file that is not in the cache may be downloaded. When all are there and still do not load,
    one of them is damaged, which no download repairs: ValueError.
    """
    cached = _is_cached(name)
    why = None if cached else _offline(patience)
    if why is None:
        try:
            found = _load(name, local_files_only=cached)
        except Exception as error:  # half a gigabyte can break off in many ways
            if _is_cached(name):
                folder = file_download.repo_folder_name(repo_id=name, repo_type="model")
                raise ValueError(
                    f"expected {name} in the Hub's cache on this machine, got {_told(error)}; "
                    f"remove {Path(constants.HF_HUB_CACHE, folder)}, so that it is downloaded again"
                ) from error
            why = f"the download failed ({type(error).__name__})"
        else:
            where = "from the Hub's cache on this machine" if cached else "downloaded from the Hub"
            return *found, where
    print(f"[skipped] {name}: not on this machine, and {why}")
    return None


def _told(error: Exception) -> str:
    """The first sentence of an error; of one that Transformers raised also its class."""
    line = next(iter(str(error).strip().splitlines()), "").split(". ")[0].rstrip(".:")
    return line if type(error) is ValueError else f"{type(error).__name__}: {line}"


def _is_cached(name: str) -> bool:
    """Whether the Hub's cache has all files of a model."""
    return all(
        any(isinstance(try_to_load_from_cache(name, file), str) for file in files)
        for files in FILES
    )


def _offline(patience: float) -> str | None:
    """Why nothing can be downloaded; None where the Hub answers."""
    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    return None if _hub_answers(patience) else "the Hub does not answer"


def _load(
    name: str, local_files_only: bool, place: Path | None = None
) -> tuple[PreTrainedModel, object]:
    """From a folder, else from the Hub by name.

    Raises ValueError that says what came where it is not that model, and whatever Transformers
    raises for a file that it cannot read.
    """
    source, kind, local = place or name, REAL[name], {"local_files_only": local_files_only}
    stated = PretrainedConfig.get_config_dict(source, **local)[0]
    if (type_of := stated.get("model_type")) not in (kind.config_class.model_type, None):
        raise ValueError(f"a model of type {type_of}")
    if place is not None:
        _check_size(kind, stated, place)
    model, report = kind.from_pretrained(
        source,
        attn_implementation="eager",
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # they are in the report
        **local,
    )
    _check_report(report)
    if differing := _differing(model):
        raise ValueError(differing)
    tokenizer = AutoTokenizer.from_pretrained(source, **local)
    _check_vocabulary(tokenizer.get_vocab(), tokenizer.all_special_tokens, model.config.vocab_size)
    for tensor, numbers in model.state_dict().items():
        if not numbers.isfinite().all():
            raise ValueError(f"weights that are not finite, first in {tensor}")
    return model, tokenizer


def _check_size(kind: type[PreTrainedModel], stated: dict[str, Any], folder: Path) -> None:
    """Raises ValueError where the weights are too few for the sizes that config.json states.

    Transformers would make up the others, in as much memory as they need.
    """
    shape, _ = CONVERT[kind.__name__]
    numbers = count_parameters(shape(kind.config_class.from_dict(stated)))["total"]
    files = [path for path in folder.iterdir() if path.suffix in (".safetensors", ".bin")]
    size = sum(path.stat().st_size for path in files)
    if files and size < numbers:
        raise ValueError(f"a configuration of {numbers:,} weights and {size:,} bytes of them")


def _check_report(report: Mapping[str, Any]) -> None:
    """Raises ValueError for weights that Transformers made up, left out or could not convert."""
    found = {
        "without": report["missing_keys"],
        "of another shape in": [name for name, *_ in report["mismatched_keys"]],
        "that also hold": [
            name for name in report["unexpected_keys"] if not name.startswith(DISCARDED)
        ],
        "of which Transformers says:": report["error_msgs"],
    }
    for how, names in found.items():
        if names:
            raise ValueError(f"weights {how} {min(names)} ({len(names)} such)")


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
