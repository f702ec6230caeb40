"""The command `tlcourse pretrain`: corpus to checkpoint, resumable at every stage.

Under `torchrun` every process runs this; the first one prepares, writes and speaks.
"""

import argparse
import math
import os
from dataclasses import asdict, replace
from datetime import timedelta

import torch
from ignite import distributed as idist

from tlcourse import cards, checkpoints, device, evaluate_command, files, pretraining
from tlcourse.batching import TokenFile
from tlcourse.bpe import Tokenizer
from tlcourse.pretraining import logs
from tlcourse.transformer import Config, Transformer

HISTORY = 300  # points of the loss curve kept in training.json
PATIENCE = timedelta(hours=6)  # how long the other processes wait for the first one's preparation


def run(arguments: argparse.Namespace) -> int:
    """Pretrains a model and writes its checkpoint; a run that was stopped goes on."""
    if "WORLD_SIZE" in os.environ:  # torchrun
        idist.initialize("nccl" if torch.cuda.is_available() else "gloo", timeout=PATIENCE)
    first, recipe = idist.get_rank() == 0, _recipe(arguments)
    compute, vocabulary_size, known = device.choose(), arguments.vocabulary, None
    if arguments.start:
        base, known = checkpoints.load(arguments.start)
        vocabulary_size = base.config.vocabulary_size
    prepared = arguments.prepared or arguments.out / "corpus"
    tokens = int(arguments.tokens) if arguments.minutes is None else math.inf
    if first:
        files.remove_leftovers(arguments.out)
        pretraining.prepare(
            prepared, arguments.corpus, tokens=tokens, vocabulary_size=vocabulary_size,
            tokenizer=known,
        )  # fmt: skip
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
    leg = {
        "objective": arguments.objective,
        "start": checkpoints.name_of(arguments.start) if arguments.start else "random weights",
        "corpus": files.read_json(prepared / "corpus.json")["corpus"],
        "tokens": len(history) * recipe.batch_size * recipe.length,
        "steps": len(history),
        "decay_began_at_step": begin,
        "seconds": history[-1]["seconds"],
        "hardware": device.describe(compute) + (f", {workers} processes" if workers > 1 else ""),
        "recipe": asdict(recipe),
        "history": [
            {key: record[key] for key in ("step", "loss", "seconds")}
            for record in history[:: max(1, len(history) // HISTORY)]
        ],
    }
    log = {"legs": [*legs, leg], "evaluation": {}}
    folder, card = arguments.out / "checkpoint", cards.card(arguments.out.name, log)
    checkpoints.save(folder, model, tokenizer, card=card, log=log)
    evaluate_command.evaluate(folder, compute=compute)
    print(f"checkpoint written to {folder}")
    return 0


def _recipe(arguments: argparse.Namespace) -> pretraining.PretrainingRecipe:
    rates = ("learning_rate", "muon_learning_rate", "warmup", "mask_probability")
    names = ("objective", "batch_size", "length", *rates, "seed")
    return pretraining.PretrainingRecipe(**{name: getattr(arguments, name) for name in names})


def _train(arguments, model, file, recipe, compute) -> tuple[list[dict], int]:
    """Runs or resumes the training; returns its history and the step at which decay began."""
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
