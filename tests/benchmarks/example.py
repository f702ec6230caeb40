"""A job for the tests of the pool: its processes import this file and no benchmark."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks import runner
from tlcourse import files


def stay(name: str) -> None:
    """Writes the number of its process into a file of that name, and does not come back."""
    files.write_text(name, str(os.getpid()))
    time.sleep(600)


@dataclass(frozen=True)
class Recipe:
    """In place of that of adaptation, which takes seconds to import."""

    learning_rate: float = 5e-4
    epochs: int = 5


@dataclass(frozen=True)
class Job(runner.Job):
    """Misses as many questions as it is told; fails if it has to work twice."""

    study = "example"
    model: str
    missed: int
    recipe: Recipe = Recipe()

    def work(self):
        Path(f"worked-{self.missed}").touch(exist_ok=False)
        process = {"pid": os.getpid(), "threads": torch.get_num_threads()}
        return {"wrong": list(range(self.missed)), "of": 50} | process
