"""Evaluates a checkpoint, and rewrites its card if it is one of your own."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from tlcourse import files, signals
from tlcourse.cli.options import Argument, Option

if TYPE_CHECKING:
    from tlcourse.bpe import Tokenizer
    from tlcourse.checkpoints import LanguageModel
    from tlcourse.device import Compute

MEASURES = ("held-out", "wikitext", "blimp", "pronouns")
LOCK = ".evaluate.lock"  # in the folder of a checkpoint, while it is measured
OPTIONS = [
    Argument("checkpoint", "a shipped name or the folder of a checkpoint"),
    Option(
        "--on",
        "also measure it on: held-out text of its own corpus, WikiText, the minimal pairs "
        "of BLiMP, pronouns",
        MEASURES,
        shown="what its log already has figures for",
        multiple=True,
    ),
    Option("--write", "also replace the log and the card of a shipped model", bool),
]


def run(arguments: SimpleNamespace) -> int:
    """Measures a checkpoint and writes its log and card; a shipped one's only with --write."""
    from tlcourse import checkpoints

    write = arguments.write or not checkpoints.is_shipped(arguments.checkpoint)
    folder = evaluate(arguments.checkpoint, on=arguments.on, write=write)
    if write:
        print(f"card written to {folder / 'README.md'}")
    else:
        print(
            f"{arguments.checkpoint} ships with the course, so its log and card are unchanged "
            "(--write replaces them)"
        )
    return 0


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind when stopped, and the command that continues."""
    on = ["--on", *arguments.on] if arguments.on else []
    on += ["--write"] * arguments.write
    words = shlex.join(["tlcourse", "evaluate", arguments.checkpoint, *on])
    return f"log and card are unchanged; continue with: {words}"


def evaluate(
    name: str | Path, *, on: Sequence[str] = (), write: bool = True, compute: Compute | None = None
) -> Path:
    """Measures a checkpoint, shipped or in a folder, in the half precision it is saved in.

    The figures are printed. With `write` they replace those in `training.json`, from which
    `README.md` is written; each file is replaced as a whole. `on` are the MEASURES to take besides
    those of which the log has figures. Returns the folder.
    """
    from tlcourse import checkpoints, device, pretraining
    from tlcourse.evaluation import measuring, model_card

    compute = device.choose() if compute is None else compute
    folder = checkpoints.folder_of(name)
    with _to_be_written(folder) if write else contextlib.nullcontext():
        signals.check()
        model, tokenizer = checkpoints.load(name, compute)
        run = folder.resolve().parent
        log = measuring.measured(
            cast("LanguageModel", model),  # measuring refuses a `BiLSTM`
            cast("Tokenizer", tokenizer),  # `folder_of` refuses what others released
            model_card.log_of(name),
            on=on,
            own_text=pretraining.held_out(run),
            own_place=str(run),
            compute=compute,
        )
        if write:
            signals.too_late()
            checkpoints.rewrite(name, model_card.card(checkpoints.name_of(name), log), log)
    return folder


@contextlib.contextmanager
def _to_be_written(folder: Path) -> Iterator[None]:
    """Locks a checkpoint's folder during the block; raises OSError if it cannot be written."""
    do = "copy it to a place that can be, and measure the copy"
    files.refuse_unwritable(folder, "the folder of a checkpoint", do)
    busy = (
        f"expected one command at a time to measure {folder}, but another one is running; run "
        "this one again when it has finished"
    )
    with files.locked(folder / LOCK, busy):
        yield
