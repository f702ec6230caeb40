"""What is measured on the GPU: the tests that need one, and our steps against Hugging Face's.

Each measurement runs in a process of its own and is ended when its time is over; one that fails is
noted with its last words, and the plan goes on.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
import transformers

from benchmarks import runner
from benchmarks.gpu import place
from benchmarks.speed import finetuning, pretraining
from tlcourse import files, sizes

TESTS = (sys.executable, "-m", "pytest", "-q", "-m", "cuda", "-o", "addopts=", "tests/test_cuda.py")
VOCABULARY_SIZE = 8192


def cuda_tests(command: Sequence[str] = TESTS) -> dict:
    """One row: how many tests passed, failed and were skipped, and which failed; or "no CUDA"."""
    row = {"job": "tests on CUDA"}
    if torch.cuda.is_available():
        row |= tested(command)
    else:
        row["outcome"] = "no CUDA"
    return {**runner.provenance("made up"), "rows": [row]}


def tested(command: Sequence[str]) -> dict:
    """What pytest, run by `command`, says; RuntimeError with its last words if it says nothing."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = [*command, f"--junitxml={report}"]
        done = subprocess.run(words, cwd=files.root(), capture_output=True, encoding="utf-8")
        print(done.stdout[-4000:], done.stderr[-4000:], flush=True)
        if not report.exists():
            raise RuntimeError(f"pytest wrote no report: {(done.stdout + done.stderr)[-500:]}")
        cases = list(ElementTree.parse(report).iter("testcase"))
    kinds = {"failed": ("failure", "error"), "skipped": ("skipped",)}
    names = {
        kind: [case.get("name") for case in cases if any(case.find(t) is not None for t in tags)]
        for kind, tags in kinds.items()
    }
    passed = len(cases) - len(names["failed"]) - len(names["skipped"])
    outcome = f"{passed} passed, {len(names['failed'])} failed, {len(names['skipped'])} skipped"
    return {"outcome": outcome, "failed": names["failed"]}


def pretraining_contest(objective: str) -> dict:
    """`python -m benchmarks pretraining`, one objective, the step of the models trained here."""
    scale = pretraining.SCALES["tiny"]
    if sizes.current().name != "tiny":
        small = pretraining.SCALES["small"]
        scale = replace(small, batch_size=64, length=256, rounds=3, seconds=1.0)
        scale = replace(scale, vocabularies=(VOCABULARY_SIZE,))
    peers = {
        name: build
        for name, build in pretraining.PEERS[objective].items()
        if name.startswith("Hugging Face")
    }
    mine, rows = pretraining.compete(objective, scale.vocabularies[0], scale, peers)
    step = f"{scale.batch_size} x {scale.length} tokens"
    found = runner.provenance("random tokens", transformers)
    return {**found, "step": step, "rows": rows, "ours": [mine]}


def finetuning_contest(body: str) -> dict:
    """`python -m benchmarks finetuning`, one body, on the questions that came with the data."""
    scale = finetuning.SCALES[sizes.current().name]
    texts = files.read_json(place.data() / place.TEXTS)
    questions = {key: column[: scale.questions] for key, column in texts["questions"].items()}
    task = finetuning.Task(scale.shape(body), questions["text"], questions["label"])
    rows = finetuning.compete(body, task, scale.rounds)
    said = f"{len(task.texts):,} questions of TREC train, {texts['questions_source']}"
    return {**runner.provenance(said, transformers), "rows": rows}


MEASUREMENTS: dict[str, Callable[[], dict]] = {
    "tests": cuda_tests,
    **{f"pretraining-{name}": partial(pretraining_contest, name) for name in pretraining.PEERS},
    **{f"finetuning-{name}": partial(finetuning_contest, name) for name in finetuning.BODIES},
}


def command_of(name: str, to: Path) -> list[str]:
    """What measures in a process of its own."""
    return [sys.executable, "-m", "benchmarks", "gpu", "measure", name, "--to", str(to)]


def in_child(name: str, seconds: float) -> dict:
    """What a measurement found within so many seconds; no rows and "failed" where it did not."""
    with tempfile.TemporaryDirectory() as folder:
        found, said = Path(folder) / "found.json", Path(folder) / "said"
        with open(said, "wb") as out:
            process = subprocess.Popen(
                command_of(name, found), stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        try:
            why = f"it ended with status {process.wait(seconds)}"
        except subprocess.TimeoutExpired:
            why = f"it was ended after {seconds:.0f} s"
        finally:
            _end(process)
        words = said.read_text(encoding="utf-8", errors="replace")
        print(words, flush=True)
        if found.exists():
            return files.read_json(found)
        return {"rows": [], "failed": f"{why}; {words.strip()[-500:]}"}


def _end(process: subprocess.Popen) -> None:
    """The process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
