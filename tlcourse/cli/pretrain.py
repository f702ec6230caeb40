"""Pretrains a model from a corpus to a checkpoint; a run that was stopped goes on.

Under `torchrun` every process runs this; the first one prepares, writes and speaks.
"""

from __future__ import annotations

import argparse
import math
import os
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tlcourse import files
from tlcourse.cli.parsing import Number, Parser

if TYPE_CHECKING:
    from tlcourse.pretraining import PretrainingRecipe
    from tlcourse.transformer import Transformer

HISTORY = 300  # points of the loss curve kept in training.json
PATIENCE = timedelta(hours=6)  # how long the other processes wait for the first one's preparation
COUNT, POSITIVE = Number(int, least=1), Number(float, above=0)
SHARE = Number(float, above=0, most=1)
# Spellings that go on being understood, what they are called now, and their type.
OLD_OPTIONS = (
    ("--batch", "batch_size", COUNT),
    ("--rate", "learning_rate", POSITIVE),
    ("--muon-rate", "muon_learning_rate", POSITIVE),
    ("--mask-rate", "mask_probability", SHARE),
)


def add_options(parser: Parser) -> None:
    """The options of `tlcourse pretrain`."""
    add = parser.add_argument
    _add_run_options(parser)
    add("--width", type=COUNT, default=256, help="features; like all shapes, not with --start")
    add("--layers", type=COUNT, default=6, help="blocks")
    add("--heads", type=COUNT, default=4, help="heads a block; they share the width")
    entries, tokens = Number(int, least=262), Number(int, least=1, most=256)
    add("--vocabulary", type=entries, default=8192, help="entries")
    add("--batch-size", type=COUNT, default=64, help="windows a step, all processes together")
    add("--length", type=tokens, default=128, help="tokens a window")
    add("--learning-rate", type=POSITIVE, default=3e-3, help="of embeddings, norms and biases")
    add("--muon-learning-rate", type=POSITIVE, default=0.01, help="of the matrices in the blocks")
    warmup = Number(int, least=0)
    add("--warmup", type=warmup, default=100, help="steps until the full learning rates")
    add("--mask-probability", type=SHARE, default=0.15, help="of a token to be hidden")
    for old, new, kind in OLD_OPTIONS:
        add(old, dest=new, type=kind, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    add("--seed", type=int, default=0, help="of weights and windows")


def _add_run_options(parser: Parser) -> None:
    """What is trained, on what, for how long, and where it goes."""
    add = parser.add_argument
    objectives = ("causal", "masked", "hybrid")
    add("--objective", choices=objectives, default="causal", help="what the model learns to tell")
    add(
        "--corpus",
        nargs="+",
        default=["wikitext-2"],
        help="data sets, text files, folders of *.txt",
    )
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--tokens", type=POSITIVE, default=1e6, help="budget, such as 25e6")
    budget.add_argument("--minutes", type=POSITIVE, help="budget of running time, resumes included")
    add("--out", type=Path, required=True, help="folder of this run; the same again goes on")
    add("--prepared", type=Path, help="folder of token file and vocabulary (default: OUT/corpus)")
    add("--start", help="checkpoint to go on from, with a fresh optimizer")
    seconds = Number(float, least=0)
    add("--save-every", type=seconds, default=180.0, help="seconds between states for a resume")
    add("--tensorboard", action="store_true", help="write OUT/tensorboard beside OUT/log.jsonl")


def run(arguments: argparse.Namespace) -> int:
    """Pretrains a model and writes its checkpoint; a run that was stopped goes on."""
    import torch
    from ignite import distributed as idist

    from tlcourse import checkpoints, device
    from tlcourse.batching import TokenFile
    from tlcourse.bpe import Tokenizer
    from tlcourse.cli import cards
    from tlcourse.cli.evaluate import evaluate

    if "WORLD_SIZE" in os.environ:  # torchrun
        idist.initialize("nccl" if torch.cuda.is_available() else "gloo", timeout=PATIENCE)
    first, recipe, compute = idist.get_rank() == 0, _recipe(arguments), device.choose()
    prepared = arguments.prepared or arguments.out / "corpus"
    if first:
        _prepare(arguments, prepared)
    idist.barrier()
    tokenizer = Tokenizer.load(prepared / "tokenizer.json")
    torch.manual_seed(arguments.seed)
    model, legs = _start(arguments)
    file = TokenFile(prepared / "tokens.bin")
    history, begin = _train(arguments, model, file, recipe, compute)
    workers = idist.get_world_size()
    if "WORLD_SIZE" in os.environ:
        idist.finalize()
    if not first:
        return 0
    hardware = device.describe(compute) + (f", {workers} processes" if workers > 1 else "")
    corpus = files.read_json(prepared / "corpus.json")["corpus"]
    leg = _leg(arguments, recipe, history, corpus=corpus, begin=begin, hardware=hardware)
    log = {"legs": [*legs, leg], "evaluation": {}}
    folder, card = arguments.out / "checkpoint", cards.card(arguments.out.name, log)
    checkpoints.save(folder, model, tokenizer, card=card, log=log)
    evaluate(folder, compute=compute)
    print(f"checkpoint written to {folder}")
    return 0


def _prepare(arguments: argparse.Namespace, prepared: Path) -> None:
    """Makes the vocabulary and the token file; with --start, of that checkpoint's vocabulary."""
    from tlcourse import checkpoints, pretraining

    size, known = arguments.vocabulary, None
    if arguments.start:
        base, known = checkpoints.load(arguments.start)
        size = base.config.vocabulary_size
    tokens = int(arguments.tokens) if arguments.minutes is None else math.inf
    files.remove_leftovers(arguments.out)
    pretraining.prepare(
        prepared, arguments.corpus, tokens=tokens, vocabulary_size=size, tokenizer=known
    )


def _leg(
    arguments: argparse.Namespace,
    recipe: PretrainingRecipe,
    history: list[dict],
    *,
    corpus: list[str],
    begin: int,
    hardware: str,
) -> dict[str, Any]:
    """What the log and the card keep of this leg of training."""
    from tlcourse import checkpoints

    return {
        "objective": arguments.objective,
        "start": checkpoints.name_of(arguments.start) if arguments.start else "random weights",
        "corpus": corpus,
        "tokens": len(history) * recipe.batch_size * recipe.length,
        "steps": len(history),
        "decay_began_at_step": begin,
        "seconds": history[-1]["seconds"],
        "hardware": hardware,
        "recipe": asdict(recipe),
        "history": [
            {key: record[key] for key in ("step", "loss", "seconds")}
            for record in history[:: max(1, len(history) // HISTORY)]
        ],
    }


def _recipe(arguments: argparse.Namespace) -> PretrainingRecipe:
    from tlcourse.pretraining import PretrainingRecipe

    rates = ("learning_rate", "muon_learning_rate", "warmup", "mask_probability")
    names = ("objective", "batch_size", "length", *rates, "seed")
    return PretrainingRecipe(**{name: getattr(arguments, name) for name in names})


def _train(arguments, model, file, recipe, compute) -> tuple[list[dict], int]:
    """Runs or resumes the training; returns its history and the step at which decay began."""
    from tlcourse import pretraining
    from tlcourse.pretraining import logs

    tokens, minutes, out = int(arguments.tokens), arguments.minutes, arguments.out
    per_step = recipe.batch_size * recipe.length
    progress = logs.Progress(per_step, tokens, None if minutes is None else 60 * minutes)
    on_step = [logs.JsonLog(out, per_step), progress]
    if arguments.tensorboard:
        on_step.append(logs.TensorBoardLog(out, per_step))
    more = {"recipe": recipe, "compute": compute, "folder": out, "on_step": on_step}
    more["save_every"] = arguments.save_every
    try:
        if minutes is not None:
            return pretraining.pretrain_for(model, file, minutes, **more)
        history = pretraining.pretrain(model, file, tokens, **more)
        falling = [r["step"] for r in history if r["step"] > recipe.warmup and r["factor"] < 1]
        return history, min(falling, default=0)
    finally:
        progress.close()


def _start(arguments: argparse.Namespace) -> tuple[Transformer, list[dict]]:
    """The model before this leg, and the legs behind it."""
    from tlcourse import checkpoints
    from tlcourse.transformer import Config, Transformer

    causal = arguments.objective != "masked"
    if arguments.start:
        base, _ = checkpoints.load(arguments.start)
        model = Transformer(replace(base.config, causal=causal))
        model.load_state_dict(base.state_dict())
        return model, checkpoints.log_of(arguments.start)["legs"]
    shape = Config(
        vocabulary_size=arguments.vocabulary,
        width=arguments.width,
        layers=arguments.layers,
        heads=arguments.heads,
        feed_forward=4 * arguments.width,
        causal=causal,
    )
    return Transformer(shape), []
