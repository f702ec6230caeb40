"""Pretrains a model from a corpus to a checkpoint; a run that was stopped goes on.

Under `torchrun` every process runs this; the first one prepares, writes and speaks.
"""

from __future__ import annotations

import math
import os
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from tlcourse import files, ranges
from tlcourse.cli.options import FOLDER, Number, OneOf, Option, options_of
from tlcourse.recipes import OBJECTIVES, PretrainingRecipe
from tlcourse.wording import number_of

if TYPE_CHECKING:
    from tlcourse.bpe import Tokenizer
    from tlcourse.transformer import Config, Transformer

PATIENCE = timedelta(hours=6)  # how long the other processes wait for the first one's preparation
LOCK = ".run.lock"  # in the folder of a run, while it goes on
TOKENS = 1e6  # where no budget is given
SHAPE = {  # the fields of a configuration that can be asked for: option, range, help, default
    "width": ("--width", ranges.COUNT, "features", "256"),
    "layers": ("--layers", ranges.COUNT, "blocks", "6"),
    "heads": ("--heads", ranges.COUNT, "heads a block; they share the width", "4"),
    "vocabulary_size": (
        "--vocabulary",
        ranges.Number(int, least=262, most=2**16),
        "entries",
        "8192, or as many as the text has words for",
    ),
}
OPTIONS = [
    Option(
        "--objective",
        type=OneOf(OBJECTIVES),
        default="causal",
        help="what the model learns to predict: the next token, hidden tokens, or both",
    ),
    Option(
        "--corpus",
        multiple=True,
        default=["wikitext-2"],
        help="data sets, text files, folders of *.txt; a text ends with its file, or at two empty "
        "lines, not at each line",
    ),
    Option(
        "--tokens",
        type=Number(ranges.POSITIVE),
        help="budget, such as 25e6; at least one step",
        shown="1e6",
    ),
    Option(
        "--minutes",
        type=Number(ranges.POSITIVE),
        help="budget of running time, resumes included, instead of --tokens",
    ),
    Option("--out", type=FOLDER, required=True, help="folder of this run; the same again goes on"),
    Option(
        "--prepared", type=FOLDER, help="folder of token file and vocabulary", shown="OUT/corpus"
    ),
    Option("--start", help="checkpoint to go on from, with a fresh optimizer"),
    Option(
        "--save-every",
        type=Number(ranges.NOT_NEGATIVE),
        default=180.0,
        help="seconds between states for a resume",
    ),
    Option("--tensorboard", is_flag=True, help="write OUT/tensorboard beside OUT/log.jsonl"),
    *(
        Option(
            option,
            dest=field,
            type=Number(allowed),
            help=said,
            shown=f"{usual}; with --start as it has it",
        )
        for field, (option, allowed, said, usual) in SHAPE.items()
    ),
    *options_of(PretrainingRecipe, length={"type": Number(ranges.Number(int, least=1, most=256))}),
]


def left(arguments: SimpleNamespace) -> str:
    """What there is when it was stopped, and the command that goes on."""
    from tlcourse.cli import stage

    return stage.left(arguments, getattr(arguments, "stage", "begin"))


def _check(arguments: SimpleNamespace) -> None:
    """Refuses at once what could not be done; a ValueError says what there should be."""
    size, length, out = arguments.batch_size, arguments.length, arguments.out
    if arguments.tokens is not None and arguments.minutes is not None:
        raise ValueError("expected --tokens or --minutes, got both; give one budget")
    if arguments.minutes is None and (tokens := _tokens(arguments)) < size * length:
        raise ValueError(
            f"expected --tokens of at least one step ({size * length} tokens), which is {size} "
            f"windows (--batch-size) of {length} tokens (--length), got {tokens:g}"
        )
    if out.exists() and not out.is_dir():
        raise ValueError(f"expected a folder for --out, but {out} is a file; give another name")
    written, prepared = [out, out / "checkpoint"], _prepared(arguments)
    if not (prepared / "corpus.json").exists():
        written.append(prepared)
    for folder in written:
        files.refuse_unwritable(folder, "a folder", "give another place")


def _tokens(arguments: SimpleNamespace) -> int:
    return int(TOKENS if arguments.tokens is None else arguments.tokens)


def _prepared(arguments: SimpleNamespace) -> Path:
    return arguments.prepared or arguments.out / "corpus"


def run(arguments: SimpleNamespace) -> int:
    """Pretrains a model and writes its checkpoint; a run that was stopped goes on."""
    _check(arguments)
    if os.environ.get("RANK", "0") != "0":  # one of several processes of the run
        return _run(arguments)
    busy = (
        f"expected one process at a time for the run in {arguments.out}, but another one is "
        "running; wait until it has finished, stop it, or give another --out"
    )
    with files.locked(arguments.out / LOCK, busy):
        return _run(arguments)


def _run(arguments: SimpleNamespace) -> int:
    """What `run` does, once no other run can come in between."""
    import torch
    from ignite import distributed as idist

    from tlcourse import device
    from tlcourse.batching import TokenFile
    from tlcourse.bpe import Tokenizer
    from tlcourse.cli import finishing
    from tlcourse.transformer import Transformer

    if "WORLD_SIZE" in os.environ:  # torchrun
        idist.initialize("nccl" if torch.cuda.is_available() else "gloo", timeout=PATIENCE)
    first, recipe, compute = idist.get_rank() == 0, _recipe(arguments), device.choose()
    prepared = _prepared(arguments)
    shape, base, known, legs = _start(arguments)
    watchers = _watchers(arguments)
    arguments.stage = "prepare"
    if first:
        _prepare(arguments, prepared, shape, known)
    idist.barrier()
    arguments.stage = "train"
    tokenizer = Tokenizer.load(prepared / "tokenizer.json")
    torch.manual_seed(arguments.seed)
    if base is None:
        shape = replace(shape, vocabulary_size=tokenizer.vocabulary_size)
    model = Transformer(shape)
    if base is not None:
        model.load_state_dict(base.state_dict())
    file = TokenFile(prepared / "tokens.bin")
    history, begin = _train(arguments, model, file, recipe, compute, watchers)
    arguments.stage = "write"
    workers = idist.get_world_size()
    if "WORLD_SIZE" in os.environ:
        idist.finalize()
    if not first:
        return 0
    hardware = device.describe(compute) + f", {workers} processes" * (workers > 1)
    made = files.read_object(prepared / "corpus.json")
    legs += [finishing.leg(arguments, recipe, history, made=made, begin=begin, hardware=hardware)]
    folder = arguments.out / "checkpoint"
    if finishing.was_finished(folder, legs):
        print(f"finished already, after {len(history):,} steps: checkpoint written to {folder}")
        return 0
    finishing.save(folder, model, tokenizer, legs)
    arguments.stage = "measure"
    finishing.measure(folder, legs, compute)
    print(f"checkpoint written to {folder}")
    return 0


def _prepare(
    arguments: SimpleNamespace, prepared: Path, shape: Config, known: Tokenizer | None
) -> None:
    """Makes the vocabulary and the token file; says what they are of and what the budget is."""
    from tlcourse import pretraining

    minutes, step = arguments.minutes, arguments.batch_size * arguments.length
    tokens = _tokens(arguments) if minutes is None else math.inf
    default = " (the default; --tokens or --minutes give another)" * (arguments.tokens is None)
    if minutes is None:
        print(f"budget: {tokens:,} tokens in {number_of(tokens // step, 'step')}{default}")
    else:
        print(f"budget: {minutes:g} minutes")
    for folder in (arguments.out, arguments.out / "checkpoint"):
        files.remove_leftovers(folder)
    entries = shape.vocabulary_size if known else arguments.vocabulary_size
    pretraining.prepare(
        prepared, arguments.corpus, tokens=tokens, vocabulary_size=entries, tokenizer=known,
        at_least=2 * (arguments.length + (arguments.objective != "masked")),
        places=[arguments.out],
    )  # fmt: skip
    if (held_out := prepared / pretraining.HELD_OUT).exists():
        text = held_out.read_text(encoding="utf-8")
        files.write_text(arguments.out / pretraining.HELD_OUT, text)


def _recipe(arguments: SimpleNamespace) -> PretrainingRecipe:
    names = (field.name for field in fields(PretrainingRecipe))
    return PretrainingRecipe(**{name: getattr(arguments, name) for name in names})


def _watchers(arguments: SimpleNamespace) -> list:
    """What gets a record of every step, besides the progress bar."""
    from tlcourse.pretraining import logs

    per_step = arguments.batch_size * arguments.length
    kinds = [logs.JsonLog, logs.TensorBoardLog] if arguments.tensorboard else [logs.JsonLog]
    return [kind(arguments.out, per_step) for kind in kinds]


def _train(arguments, model, file, recipe, compute, watchers) -> tuple[list[dict], int]:
    """Runs or resumes the training; returns its history and the step at which decay began."""
    from tlcourse import pretraining
    from tlcourse.pretraining import logs

    tokens, minutes = _tokens(arguments), arguments.minutes
    per_step = recipe.batch_size * recipe.length
    progress = logs.Progress(per_step, tokens, None if minutes is None else 60 * minutes)
    more = {"recipe": recipe, "compute": compute, "folder": arguments.out}
    more |= {"save_every": arguments.save_every, "on_step": [*watchers, progress]}
    try:
        if minutes is not None:
            return pretraining.pretrain_for(model, file, minutes, **more)
        history = pretraining.pretrain(model, file, tokens, **more)
        return history, pretraining.decay_began(history, recipe)
    finally:
        progress.close()


def _start(
    arguments: SimpleNamespace,
) -> tuple[Config, Transformer | None, Tokenizer | None, list[dict]]:
    """The shape of the model, and what it starts from: model, vocabulary, the legs behind it."""
    from tlcourse import checkpoints
    from tlcourse.cli.evaluate import log_of
    from tlcourse.transformer import Config

    causal = arguments.objective != "masked"
    given = {name: getattr(arguments, name) for name in SHAPE if getattr(arguments, name)}
    if not arguments.start:
        shape = Config(**given, causal=causal)
        return replace(shape, feed_forward=4 * shape.width), None, None, []
    legs = log_of(arguments.start)["legs"]
    base, known = checkpoints.load(arguments.start)
    own = {name: getattr(base.config, name) for name in SHAPE}
    other = [f"{SHAPE[name][0]} {value}" for name, value in given.items() if value != own[name]]
    if other:
        stated = ", ".join(f"{SHAPE[name][0]} {value}" for name, value in own.items())
        raise ValueError(
            f"expected the shape of the start ({stated}), got {', '.join(other)} beside --start; "
            "leave that out"
        )
    return replace(base.config, causal=causal), base, known, legs
