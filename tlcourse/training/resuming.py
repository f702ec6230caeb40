"""How a training stops and resumes: its state in a folder, written at the end of a step."""

import pickle
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import torch

from tlcourse import files, signals

STATE = "training_state.pt"


@dataclass(frozen=True)
class Resume:
    """Where a training keeps its state, how often, and what must not change when it goes on.

    The whole state lies in `folder`, written every so many seconds. It is only taken up again by a
    training of the same `settings`, plain values by name.
    """

    folder: str | Path
    every: float = 180.0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file that holds the state."""
        return Path(self.folder) / STATE

    def save(self, parts: Mapping[str, Any], history: list[dict]) -> None:
        """Writes `state_dict()` of all `parts`, or of each in a list.

        Raises OSError when it cannot; then the state saved before stays.
        """
        state = {name: _state_of(part) for name, part in parts.items()}
        state |= {"history": history, "settings": dict(self.settings)}
        try:
            with files.atomic(self.path) as temporary, open(temporary, "wb") as out:
                try:
                    torch.save(state, out)
                except RuntimeError as error:  # what PyTorch's writer makes of a full disk
                    raise files.Unwritten(self.path, error.__context__ or error) from error
        except files.Unwritten as error:
            there = "the state saved before is still there"
            before = there if self.path.exists() else "nothing of this run has been saved yet"
            raise OSError(f"{error}; {before}") from error

    def load(self, parts: Mapping[str, Any]) -> list[dict]:
        """Puts the saved state into `parts`, without unpickling code; returns the history so far.

        An empty one if nothing was saved yet. Raises ValueError when the state is damaged or was
        made with other settings.
        """
        if not self.path.exists():
            return []
        try:
            state = torch.load(self.path, weights_only=True, map_location="cpu")
        except (RuntimeError, EOFError, OSError, pickle.UnpicklingError) as error:
            raise ValueError(
                f"expected the state of a run in {self.path}, but it is damaged "
                f"({type(error).__name__}); remove it to start again"
            ) from error
        self._check(state["settings"])
        for name, part in parts.items():
            if isinstance(part, list):
                for each, saved in zip(part, state[name], strict=True):
                    each.load_state_dict(saved)
            else:
                part.load_state_dict(state[name])
        return state["history"]

    def _check(self, found: Mapping[str, Any]) -> None:
        asked = self.settings
        differing = sorted(k for k in asked.keys() | found.keys() if asked.get(k) != found.get(k))
        if differing:
            raise ValueError(
                f"{self.path} was made with other settings: "
                + "; ".join(f"{k} was {found.get(k)!r}, now {asked.get(k)!r}" for k in differing)
                + ". Use another folder, or remove this one to start again."
            )


def steps_in(folder: str | Path) -> int:
    """How many steps the state in `folder` holds; 0 where there is none."""
    path = Resume(folder).path
    if not path.exists():
        return 0
    return len(torch.load(path, weights_only=True, map_location="cpu", mmap=True)["history"])


def _state_of(part: Any) -> Any:
    return [each.state_dict() for each in part] if isinstance(part, list) else part.state_dict()


class Keeper(signals.Held):
    """Keeps the state of a `Trainer` where a `Resume` says, if there is one; run it inside.

    What lies there is taken up at once. Whatever ends the block, its last whole step is written,
    except an exception that is no interrupt: then the state is that of the last writing.
    """

    def __init__(self, engine: Any, resume: Resume | None):
        self.engine, self.resume = engine, resume
        self.parts = {
            "model": engine.model,
            "optimizers": engine.optimizers,
            "scaler": engine.scaler,
        }
        if resume is not None:
            if engine.seed is None:
                raise ValueError("expected a seed: without one a training cannot be gone on with")
            engine.history[:] = resume.load(self.parts)
            engine.state.iteration = len(engine.history)
        self._written, self._at = len(engine.history), time.perf_counter()

    def __enter__(self) -> Self:
        return self if self.resume is None else super().__enter__()

    def after_step(self) -> None:
        """Writes the state if it is time; raises KeyboardInterrupt if a signal came."""
        if self.asked:
            raise KeyboardInterrupt
        signals.check()
        if self.resume is not None and time.perf_counter() - self._at > self.resume.every:
            self._write()

    def _write(self) -> None:
        from ignite import distributed as idist

        done = len(self.engine.history)
        if self.resume is not None and done > self._written and idist.get_rank() == 0:
            self.resume.save(self.parts, self.engine.history)
        self._written, self._at = done, time.perf_counter()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: Any) -> None:
        if self.resume is None:
            return
        stopped = self.asked or kind is None or issubclass(kind, KeyboardInterrupt)
        try:
            if stopped and self.engine.between_steps:
                self._write()
        finally:
            super().__exit__(kind, error, trace)
