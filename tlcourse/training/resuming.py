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
    """Where a training saves its state, how often, and the settings that must not change.

    The whole state is written to `folder` every `every` seconds. It is only loaded by a training
    with the same `settings`, plain values by name.
    """

    folder: str | Path
    every: float = 180.0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file that holds the state."""
        return Path(self.folder) / STATE

    def save(self, parts: Mapping[str, Any], history: list[dict]) -> None:
        """Writes `state_dict()` of all `parts`, of which some may be lists, and the history.

        Raises OSError if it cannot be written; the state saved before is then still there.
        """
        state = {name: _state_of(part) for name, part in parts.items()}
        state |= {"history": history, "settings": dict(self.settings)}
        try:
            with files.atomic(self.path) as temporary, open(temporary, "wb") as out:
                try:
                    torch.save(state, out)
                except RuntimeError as error:  # raised by PyTorch's writer if the disk is full
                    raise files.Unwritten(self.path, error.__context__ or error) from error
        except files.Unwritten as error:
            kept = "the state saved before is still there"
            saved = kept if self.path.exists() else "nothing of this run has been saved yet"
            raise OSError(f"{error}; {saved}") from error

    def load(self, parts: Mapping[str, Any]) -> list[dict]:
        """Loads the saved state into `parts`, without unpickling code; returns its history.

        The history is empty if nothing was saved yet. Raises ValueError if the state is damaged or
        was made with other settings.
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
                for item, saved in zip(part, state[name], strict=True):
                    item.load_state_dict(saved)
            else:
                part.load_state_dict(state[name])
        return state["history"]

    def _check(self, saved: Mapping[str, Any]) -> None:
        now = self.settings
        differing = sorted(k for k in now.keys() | saved.keys() if now.get(k) != saved.get(k))
        if differing:
            raise ValueError(
                f"{self.path} was made with other settings: "
                + "; ".join(f"{k} was {saved.get(k)!r}, now {now.get(k)!r}" for k in differing)
                + ". Use another folder, or remove this one to start again."
            )


def steps_in(folder: str | Path) -> int:
    """Returns the number of steps in the state in `folder`; 0 if there is none."""
    path = Resume(folder).path
    if not path.exists():
        return 0
    return len(torch.load(path, weights_only=True, map_location="cpu", mmap=True)["history"])


def _state_of(part: Any) -> Any:
    return [item.state_dict() for item in part] if isinstance(part, list) else part.state_dict()


class Keeper(signals.Held):
    """Saves the state of a `Trainer` as a `Resume` says, if there is one; run the trainer inside.

    A state that was saved before is loaded at once. The last whole step is written at the end of
    the block, also after an interrupt; after any other exception the state saved before is kept.
    """

    def __init__(self, engine: Any, resume: Resume | None):
        self.engine, self.resume = engine, resume
        self.parts = {part: getattr(engine, part) for part in ("model", "optimizers", "scaler")}
        if resume is not None:
            if engine.seed is None:
                raise ValueError("expected a seed, without which a training cannot be resumed")
            engine.history[:] = resume.load(self.parts)
            engine.state.iteration = len(engine.history)
        self._written, self._at = len(engine.history), time.perf_counter()

    def __enter__(self) -> Self:
        return self if self.resume is None else super().__enter__()

    def after_step(self) -> None:
        """Writes the state if it is due; raises KeyboardInterrupt if a signal came."""
        if self.asked:
            raise KeyboardInterrupt
        signals.check()
        if self.resume is not None and time.perf_counter() - self._at > self.resume.every:
            self._write()

    def _write(self) -> None:
        from ignite import distributed as idist

        steps = len(self.engine.history)
        if self.resume is not None and steps > self._written and idist.get_rank() == 0:
            self.resume.save(self.parts, self.engine.history)
        self._written, self._at = steps, time.perf_counter()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: Any) -> None:
        if self.resume is None:
            return
        stopped = self.asked or kind is None or issubclass(kind, KeyboardInterrupt)
        try:
            if stopped and self.engine.between_steps:
                self._write()
        finally:
            super().__exit__(kind, error, trace)
