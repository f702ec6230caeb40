"""Pretrains a model on a corpus and saves a checkpoint; continues a stopped run.

Under `torchrun` every process runs this; the first one prepares, writes and speaks.
"""

from __future__ import annotations

import math
import os
import shlex
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from tlcourse import files, signals
from tlcourse.cli.options import Option, options_of
from tlcourse.ranges import COUNT, NOT_NEGATIVE, POSITIVE, Number
from tlcourse.recipes import OBJECTIVES, PretrainingRecipe
from tlcourse.wording import number_of

if TYPE_CHECKING:
    from tlcourse.bpe import Tokenizer
    from tlcourse.transformer import Config, Transformer

PATIENCE = timedelta(hours=6)  # how long other processes wait for the first one to prepare
LOCK = ".run.lock"  # in the folder of a run, while it lasts
TOKENS = 1e6  # the default budget
SHAPE = {  # the fields of a configuration that have an option: option, range, help, default
    "width": ("--width", COUNT, "features", "256"),
    "layers": ("--layers", COUNT, "blocks", "6"),
    "heads": ("--heads", COUNT, "heads per block; they share the width", "4"),
    "vocabulary_size": (
        "--vocabulary",
        Number(int, least=262, most=2**16),
        "entries",
        "8192, or as many as the text has words for",
    ),
}
OPTIONS = [
    Option(
        "--objective",
        "what the model learns to predict: the next token, hidden tokens, or both",
        tuple(OBJECTIVES),
        default="causal",
    ),
    Option(
        "--corpus",
        "data sets, text files, folders of *.txt; a document ends with its file, or at two "
        "empty lines",
        default=["wikitext-2"],
        multiple=True,
    ),
    Option("--tokens", "budget, such as 25e6; at least one step", POSITIVE, shown="1e6"),
    Option(
        "--minutes", "budget of running time instead of tokens, over all resumed runs", POSITIVE
    ),
    Option("--out", "folder of this run; the same command again continues it", Path, required=True),
    Option("--prepared", "folder with token file and vocabulary", Path, shown="OUT/corpus"),
    Option("--start", "checkpoint to start from, with a new optimizer"),
    Option("--save-every", "seconds between saved states", NOT_NEGATIVE, default=180.0),
    Option("--tensorboard", "write OUT/tensorboard beside OUT/log.jsonl", bool),
    *(
        Option(option, does, kind, shown=f"{usual}, or that of --start", dest=field)
        for field, (option, kind, does, usual) in SHAPE.items()
    ),
    *options_of(PretrainingRecipe, length={"kind": Number(int, least=1, most=256)}),
]


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind when stopped, and the command that continues."""
    from tlcourse.cli.command_line import overview

    words = shlex.join(overview.get_command(None, "pretrain").words_of(arguments))
    command = f"tlcourse pretrain {words}"
    if "WORLD_SIZE" in os.environ:
        processes = os.environ.get("LOCAL_WORLD_SIZE", os.environ["WORLD_SIZE"])
        command = f"torchrun --nproc-per-node {processes} -m {command}"
    return f"{_there(arguments)}; continue with: {command}"


def _there(arguments: SimpleNamespace) -> str:
    """Returns what is left behind by a run that was stopped in `arguments.stage`."""
    out, stage = arguments.out, getattr(arguments, "stage", "begin")
    if stage == "train" or (stage == "prepare" and (_prepared(arguments) / "corpus.json").exists()):
        from tlcourse.training import steps_in

        steps = steps_in(out)
        done = f"{steps:,} step{'s are' if steps > 1 else ' is'} done and saved in {out}"
        return done if steps else "the corpus is prepared, but no step is saved yet"
    return {
        "begin": "nothing was changed",
        "prepare": "the corpus was not prepared yet, and nothing of it was kept",
        "write": f"all steps are done and saved in {out}, but the checkpoint is not written yet",
        "measure": f"the checkpoint is in {out / 'checkpoint'}, but has not been evaluated yet",
    }[stage]


def _enter(arguments: SimpleNamespace, stage: str) -> None:
    """Notes the next stage of the run; raises `signals.Stop` if it was stopped."""
    signals.check()
    arguments.stage = stage


def _check(arguments: SimpleNamespace) -> None:
    """Raises ValueError or OSError, before any work, for options that cannot be fulfilled."""
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
    """Does the work of `run` while no other process can write to the same run."""
    import torch
    from ignite import distributed as idist

    from tlcourse import checkpoints, device
    from tlcourse.batching import TokenFile
    from tlcourse.bpe import Tokenizer
    from tlcourse.pretraining import logs
    from tlcourse.transformer import Transformer

    if "WORLD_SIZE" in os.environ:  # torchrun
        idist.initialize("nccl" if torch.cuda.is_available() else "gloo", timeout=PATIENCE)
    first, recipe, compute = idist.get_rank() == 0, _recipe(arguments), device.choose()
    prepared = _prepared(arguments)
    shape, base, known, legs = _start(arguments)
    watchers = _watchers(arguments)
    _enter(arguments, "prepare")
    if first:
        _prepare(arguments, prepared, shape, known)
    idist.barrier()
    _enter(arguments, "train")
    tokenizer = Tokenizer.load(prepared / "tokenizer.json")
    torch.manual_seed(arguments.seed)
    if base is None:
        shape = replace(shape, vocabulary_size=tokenizer.vocabulary_size)
    model = Transformer(shape)
    if base is not None:
        model.load_state_dict(base.state_dict())
    file = TokenFile(prepared / "tokens.bin")
    history, begin = _train(arguments, model, file, recipe, compute, watchers)
    _enter(arguments, "write")
    workers = idist.get_world_size()
    if "WORLD_SIZE" in os.environ:
        idist.finalize()
    if not first:
        return 0
    leg = logs.leg(
        recipe,
        history,
        start=checkpoints.name_of(arguments.start) if arguments.start else "",
        made=files.read_object(prepared / "corpus.json"),
        begin=begin,
        hardware=device.describe(compute) + f", {workers} processes" * (workers > 1),
    )
    _finish(arguments, model, tokenizer, [*legs, leg], compute)
    return 0


def _finish(arguments: SimpleNamespace, model, tokenizer, legs: list[dict], compute) -> None:
    """Writes the checkpoint and measures it, unless that was done before.

    Pronouns are measured only if some of the corpora are known to be English.
    """
    from tlcourse import checkpoints
    from tlcourse.cli.evaluate import evaluate
    from tlcourse.corpora.catalogue import own_name
    from tlcourse.evaluation import model_card

    folder = arguments.out / "checkpoint"
    if _was_finished(folder, legs):
        log = checkpoints.log_of(folder)
        checkpoints.rewrite(folder, model_card.card(checkpoints.name_of(folder), log), log)
        steps = legs[-1]["steps"]
        print(f"already finished after {steps:,} steps: checkpoint written to {folder}")
        return
    log = {"legs": legs, "evaluation": {}}
    card = model_card.card(folder.resolve().parent.name, log)
    checkpoints.save(folder, model, tokenizer, card=card, log=log)
    _enter(arguments, "measure")
    english = any(not own_name(label) for leg in legs for label in leg["corpus"])
    evaluate(folder, on=["held-out", *["pronouns"] * english], compute=compute)
    print(f"checkpoint written to {folder}")


def _was_finished(folder: Path, legs: list[dict]) -> bool:
    """True if the checkpoint of these stages was written and measured."""
    from tlcourse import checkpoints

    if not all((folder / name).exists() for name in ("model.safetensors", "training.json")):
        return False
    log = checkpoints.log_of(folder)
    kept = [(leg.get("start"), leg.get("history")) for leg in log["legs"]]
    return "samples" in log and kept == [(leg["start"], leg["history"]) for leg in legs]


def _prepare(
    arguments: SimpleNamespace, prepared: Path, shape: Config, known: Tokenizer | None
) -> None:
    """Makes the vocabulary and the token file; prints the budget and their sources."""
    from tlcourse import pretraining

    minutes, step = arguments.minutes, arguments.batch_size * arguments.length
    tokens = _tokens(arguments) if minutes is None else math.inf
    default = " (the default; change it with --tokens or --minutes)" * (arguments.tokens is None)
    if minutes is None:
        print(f"budget: {tokens:,} tokens in {number_of(tokens // step, 'step')}{default}")
    else:
        print(f"budget: {minutes:g} minutes")
    for folder in (arguments.out, arguments.out / "checkpoint"):
        files.remove_leftovers(folder)
    entries = shape.vocabulary_size if known else arguments.vocabulary_size
    pretraining.prepare(
        prepared, arguments.corpus, tokens=tokens, vocabulary_size=entries, tokenizer=known,
        at_least=2 * (arguments.length + OBJECTIVES[arguments.objective].causal),
        places=[arguments.out],
    )  # fmt: skip
    if (held_out := prepared / pretraining.HELD_OUT).exists():
        text = held_out.read_text(encoding="utf-8")
        files.write_text(arguments.out / pretraining.HELD_OUT, text)


def _recipe(arguments: SimpleNamespace) -> PretrainingRecipe:
    names = (field.name for field in fields(PretrainingRecipe))
    return PretrainingRecipe(**{name: getattr(arguments, name) for name in names})


def _watchers(arguments: SimpleNamespace) -> list:
    """Returns the loggers that get a record of every step, besides the progress bar."""
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
    """Returns the model's configuration, and the model, vocabulary and stages it starts from."""
    from tlcourse import checkpoints
    from tlcourse.evaluation import model_card
    from tlcourse.transformer import Config, Transformer

    causal = OBJECTIVES[arguments.objective].causal
    given = {name: getattr(arguments, name) for name in SHAPE if getattr(arguments, name)}
    if not arguments.start:
        shape = Config(**given, causal=causal)
        return replace(shape, feed_forward=4 * shape.width), None, None, []
    legs = model_card.log_of(arguments.start)["legs"]
    base, known = checkpoints.load(arguments.start)
    if not isinstance(base, Transformer):
        raise ValueError(
            f"expected a Transformer as the start, got the {type(base).__name__} "
            f"{arguments.start}; train it further with `pretraining.pretrain`"
        )
    own = {name: getattr(base.config, name) for name in SHAPE}
    wrong = [f"{SHAPE[name][0]} {value}" for name, value in given.items() if value != own[name]]
    if wrong:
        stated = ", ".join(f"{SHAPE[name][0]} {value}" for name, value in own.items())
        raise ValueError(
            f"expected the shape of the start ({stated}), got {', '.join(wrong)} beside --start; "
            "leave that out"
        )
    # `log_of` has refused a start that others released, so the vocabulary is one of the course.
    return replace(base.config, causal=causal), base, cast("Tokenizer", known), legs
