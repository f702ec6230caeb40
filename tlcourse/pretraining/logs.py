"""Reports of a run: a line of JSON a step, TensorBoard, a progress bar; at its end, its stage."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tlcourse import files
from tlcourse.corpora.catalogue import BUNDLED
from tlcourse.recipes import PretrainingRecipe

LOG = "log.jsonl"
READ = ("tokens", "held_out")  # of a corpus's record, besides texts and words
HISTORY = 300  # points of the loss curve kept in training.json
FLUSHED = 30.0  # seconds between flushes, after which TensorBoard sees all records


class JsonLog:
    """Appends each record, with the tokens read so far, as one line to `log.jsonl` in `folder`.

    After a resume the lines of steps that are trained again are replaced, so that each step is in
    the file once.
    """

    def __init__(self, folder: Path, tokens_per_step: int):
        self.path, self.tokens_per_step = Path(folder) / LOG, tokens_per_step
        self.started = False

    def __call__(self, record: dict) -> None:
        if not self.started:
            self._truncate(record["step"])
            self.started = True
        line = record | {"tokens": (record["step"] + 1) * self.tokens_per_step}
        with files.room_for(self.path), open(self.path, "a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")

    def _truncate(self, step: int) -> None:
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        # A line a step, so a line that a kill left incomplete comes after these.
        files.write_text(self.path, "".join(f"{line}\n" for line in lines[:step]))


class TensorBoardLog:
    """Writes each record's loss, norm and factor to `folder`/tensorboard, against the tokens read.

    Raises ValueError if `tensorboardX` is not installed.
    """

    def __init__(self, folder: Path, tokens_per_step: int):
        try:
            from tensorboardX import event_file_writer, summary
        except ImportError:
            raise ValueError(
                "expected the package tensorboardX for --tensorboard, found none; "
                "run: python -m pip install tensorboardX"
            ) from None
        # Not SummaryWriter: its writing thread dies when the disk is full, and then everything
        # waits for it.
        self.open, self.scalar = event_file_writer.EventsWriter, summary.scalar
        self.tokens_per_step, self.flushed = tokens_per_step, 0.0
        self.writer: Any = None  # tensorboardX's, from the first record on
        self.folder = Path(folder) / "tensorboard"

    def __call__(self, record: dict) -> None:
        from tensorboardX.proto.event_pb2 import SessionLog

        tokens = (record["step"] + 1) * self.tokens_per_step
        with files.room_for(self.folder):
            if self.writer is None:  # START purges later steps, written before a stop
                self.folder.mkdir(parents=True, exist_ok=True)
                self.writer = self.open(str(self.folder / "events"))
                self._write(tokens, session_log=SessionLog(status=SessionLog.START))
            for name in ("loss", "norm", "factor"):
                self._write(tokens, summary=self.scalar(name, record[name]))
            if time.time() - self.flushed > FLUSHED:
                self.writer.flush()
                self.flushed = time.time()

    def _write(self, step: int, **content: object) -> None:
        from tensorboardX.proto.event_pb2 import Event

        self.writer.write_event(Event(wall_time=time.time(), step=step, **content))


class Progress:
    """A progress bar over the budget, in tokens or seconds, with speed, loss and time left."""

    def __init__(self, tokens_per_step: int, tokens: int | None, seconds: float | None):
        self.tokens_per_step, self.timed, self.last = tokens_per_step, seconds is not None, None
        unit = "s" if self.timed else "token"
        hidden = os.environ.get("RANK", "0") != "0"  # under torchrun the first process shows it
        self.bar = tqdm(total=seconds or tokens, unit=unit, unit_scale=True, disable=hidden)

    def __call__(self, record: dict) -> None:
        tokens = (record["step"] + 1) * self.tokens_per_step
        done = record["seconds"] if self.timed else tokens
        if self.last is None:  # the steps before a resume do not count for the speed
            self.bar.initial = self.bar.n = 0 if record["step"] == 0 else done
        postfix = f"loss {record['loss']:.3f}"
        if self.timed and self.last is not None:
            speed = self.tokens_per_step / (record["seconds"] - self.last)
            postfix = f"{speed:,.0f} tokens/s, {postfix}"
        self.last = record["seconds"]
        self.bar.set_postfix_str(postfix, refresh=False)
        self.bar.update(min(done, self.bar.total) - self.bar.n)  # the end may be a little late

    def close(self) -> None:
        """Ends the bar where it is."""
        self.bar.close()


def leg(
    recipe: PretrainingRecipe,
    history: Sequence[dict],
    *,
    start: str,
    made: Mapping[str, Any],
    begin: int,
    hardware: str,
) -> dict[str, Any]:
    """Returns what `training.json` and the model card keep of one leg of training.

    `start` names the checkpoint that it began from, "" for random weights; `made` is what
    `corpus.json` says of its text, `begin` the step at which the decay began.
    """
    samples = made.get("samples", [])
    stride = -(-len(history) // HISTORY)
    return {
        "objective": recipe.objective,
        "start": start or "random weights",
        "corpus": [f"{name}{BUNDLED}" if name in samples else name for name in made["corpus"]],
        "read": made.get("read", {}) | {key: made[key] for key in READ if key in made},
        "tokens": len(history) * recipe.batch_size * recipe.length,
        "steps": len(history),
        "decay_began_at_step": begin,
        "seconds": history[-1]["seconds"],
        "hardware": hardware,
        "recipe": asdict(recipe),
        "history": [
            {key: record[key] for key in ("step", "loss", "seconds")}
            for record in [*history[:-1:stride], history[-1]]
        ],
    }
