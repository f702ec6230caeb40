"""How far a pretraining has come: what is said of it where it is stopped."""

import argparse
import os
import shlex
from dataclasses import dataclass

from tlcourse.cli.parsing import words_of


@dataclass
class Stage:
    """How far a run has come, and what is said where it is stopped."""

    arguments: argparse.Namespace
    name: str = "begin"

    def line(self) -> str:
        """What is there, and the command that goes on."""
        from tlcourse.cli.command_line import parser

        words = shlex.join(words_of(parser("pretrain"), self.arguments))
        command = f"tlcourse pretrain {words}"
        if "WORLD_SIZE" in os.environ:
            each = os.environ.get("LOCAL_WORLD_SIZE", os.environ["WORLD_SIZE"])
            command = f"torchrun --nproc-per-node {each} -m {command}"
        return f"stopped {self._when()}; go on with: {command}"

    def _when(self) -> str:
        if self.name == "train":
            from tlcourse.training import steps_in

            steps, out = steps_in(self.arguments.out), self.arguments.out
            return f"after step {steps:,}, saved in {out}" if steps else "before the first step"
        return {
            "begin": "before anything was done",
            "prepare": "while the corpus was prepared; nothing of it is kept",
            "write": "after the training, before the checkpoint was written; all steps are saved",
            "measure": "while the model was measured; its checkpoint is in "
            f"{self.arguments.out / 'checkpoint'}",
        }[self.name]
