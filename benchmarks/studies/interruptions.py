"""Is `tlcourse pretrain` bit-exact when it is killed? Killed at random moments, then run again.

One run is left undisturbed. Then, for moments drawn uniformly over its duration, a fresh run is
killed (SIGKILL) and the same command is given again until it ends. A row says when it was killed,
what the run was doing, and whether weights and log equal those of the undisturbed run, apart from
seconds.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import clocks, runner
from tlcourse import sizes
from tlcourse.pretraining.logs import LOG
from tlcourse.training import STATE

KILLS = {"tiny": 1, "small": 20, "full": 20}
TOKENS = {"tiny": "2e4", "small": "4e5", "full": "4e5"}
SAVE_EVERY = {"tiny": "0.1", "small": "0.3", "full": "0.3"}  # seconds


def _command(out: Path, size: str) -> list[str]:
    """A run that is short enough to be repeated and long enough to be killed anywhere."""
    shape = ["--width", "64", "--layers", "2", "--heads", "2", "--vocabulary", "600"]
    budget = ["--batch-size", "16", "--length", "64", "--tokens", TOKENS[size]]
    command = [sys.executable, "-m", "tlcourse", "pretrain", "--objective", "hybrid"]
    return [*command, *shape, *budget, "--save-every", SAVE_EVERY[size], "--out", str(out)]


def _run(out: Path, size: str, kill_after: float | None = None) -> bool:
    """Runs the command in `out`; False if it was killed. Raises RuntimeError if it failed."""
    environment = os.environ | {"TLCOURSE_SIZE": "tiny"}
    environment.pop("TLCOURSE_DATA", None)  # the bundled sample: the same everywhere
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            _command(out, size), env=environment, stdout=subprocess.DEVNULL, stderr=errors
        )
        try:
            child.wait(kill_after)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return False
        if child.returncode:
            errors.seek(0)
            raise RuntimeError(f"expected the run to end well: {errors.read().decode()[-500:]}")
    return True


def _doing(out: Path) -> str:
    """What a run was doing when it was killed."""
    if (out / "checkpoint" / "model.safetensors").exists():
        return "all written"
    if not (out / "corpus" / "corpus.json").exists():
        return "before the token file was whole"
    if not (out / LOG).exists():
        return "before the first step"
    if not (out / STATE).exists():
        return f"at step {len(_losses(out))}, no state saved yet"
    return f"at step {len(_losses(out))}"


def _losses(out: Path) -> list[list[float]]:
    """Step, loss, norm and factor of each whole line of the log."""
    records = []
    for line in (out / LOG).read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:  # killed while it wrote this one
            break
        records.append([record[key] for key in ("step", "loss", "norm", "factor")])
    return records


def _same(one: Path, other: Path) -> dict[str, bool]:
    weights = [(out / "checkpoint" / "model.safetensors").read_bytes() for out in (one, other)]
    leftovers = [path.name for path in other.rglob(".*") if path.is_file()]
    return {
        "weights_equal": weights[0] == weights[1],
        "log_equal": _losses(one) == _losses(other),
        "nothing_left_over": not leftovers,
    }


def measure() -> dict:
    """One row a kill, and how many ended as the undisturbed run did."""
    size, generator, rows = sizes.current().name, random.Random(0), []
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "run"
        _, duration = clocks.timed(lambda: _run(whole, size))
        undisturbed = whole.rename(Path(folder) / "undisturbed")
        steps = len(_losses(undisturbed))
        for number in range(KILLS[size]):
            moment = generator.uniform(0, duration)
            ended = _run(whole, size, kill_after=moment)
            row = {"kill": number, "after_seconds": round(moment, 2)}
            row["doing"] = "ended before" if ended else _doing(whole)
            _run(whole, size)
            rows.append(row | _same(undisturbed, whole))
            shutil.rmtree(whole)
    exact = sum(row["weights_equal"] and row["log_equal"] for row in rows)
    return {
        "job": "interruptions",
        **runner.provenance("wikitext, bundled sample"),
        "seconds_undisturbed": round(duration, 2),
        "steps": steps,
        "kills": len(rows),
        "bit_exact": exact,
        "rows": rows,
    }
