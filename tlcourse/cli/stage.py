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
        out = self.arguments.out
        prepared = (self.arguments.prepared or out / "corpus") / "corpus.json"
        if self.name == "train" or (self.name == "prepare" and prepared.exists()):
            from tlcourse.training import steps_in

            steps = steps_in(out)
            saved = f"after step {steps:,}, saved in {out}"
            return saved if steps else "before a step was saved; the corpus is prepared"
        return {
            "begin": "before it began",
            "prepare": "while the corpus was prepared; nothing of it is kept",
            "write": "after the training, before the checkpoint was written; all steps are saved",
            "measure": f"while the model was measured; its checkpoint is in {out / 'checkpoint'}",
        }[self.name]
