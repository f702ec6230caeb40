"""How far a pretraining has come: what is said of it where it is stopped."""

import os
import shlex
from types import SimpleNamespace


def left(arguments: SimpleNamespace, stage: str) -> str:
    """What a run leaves that was stopped in a stage, and the command that goes on."""
    from tlcourse.cli.command_line import overview

    words = shlex.join(overview.get_command(None, "pretrain").words_of(arguments))
    command = f"tlcourse pretrain {words}"
    if "WORLD_SIZE" in os.environ:
        each = os.environ.get("LOCAL_WORLD_SIZE", os.environ["WORLD_SIZE"])
        command = f"torchrun --nproc-per-node {each} -m {command}"
    return f"{_there(arguments, stage)}; go on with: {command}"


def _there(arguments: SimpleNamespace, stage: str) -> str:
    out = arguments.out
    prepared = (arguments.prepared or out / "corpus") / "corpus.json"
    if stage == "train" or (stage == "prepare" and prepared.exists()):
        from tlcourse.training import steps_in

        steps = steps_in(out)
        done = f"{steps:,} step{'s are' if steps > 1 else ' is'} done and saved in {out}"
        return done if steps else "the corpus is prepared, no step is saved yet"
    return {
        "begin": "nothing was changed",
        "prepare": "the corpus was not prepared yet, nothing of it is kept",
        "write": f"all steps are done and saved in {out}, the checkpoint is still to be written",
        "measure": f"the checkpoint is in {out / 'checkpoint'}, still to be measured",
    }[stage]
