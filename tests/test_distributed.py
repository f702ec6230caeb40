"""Two processes do the work of one: the same losses, the same weights, the same command."""

import json
import os
import socket
import subprocess
import sys

import pytest

from tlcourse import checkpoints
from tlcourse.cli import main

# Trains each objective for 20 steps in float32 without dropout and prints losses and a checksum.
CHILD = """
import json, sys
import torch
from ignite import distributed as idist
from tlcourse.batching import TokenFile
from tlcourse.device import Compute
from tlcourse.pretraining import OBJECTIVES, PretrainingRecipe, pretrain
from tlcourse.transformer import Config, Transformer

if len(sys.argv) > 2:
    idist.initialize("gloo")
compute = Compute(torch.device("cpu"), torch.float32, "explicit", False)
found = {}
for objective in OBJECTIVES:
    torch.manual_seed(0)
    model = Transformer(Config(300, 32, 2, 2, 64, 32, causal=objective != "masked"))
    recipe = PretrainingRecipe(objective, batch_size=6, length=32, warmup=2)
    history = pretrain(model, TokenFile(sys.argv[1]), 20 * 6 * 32, recipe=recipe, compute=compute)
    weights = torch.cat([p.detach().double().flatten() for p in model.parameters()])
    sums = torch.stack([weights.sum(), weights.square().sum()])
    everyone = idist.all_gather(sums[None]) if len(sys.argv) > 2 else sums[None]
    norms = [record["norm"] for record in history]
    losses = [record["loss"] for record in history]
    found[objective] = {"losses": losses, "norms": norms, "sums": everyone.tolist()}
if idist.get_rank() == 0:
    print("FOUND " + json.dumps(found))
if len(sys.argv) > 2:
    idist.finalize()
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def torchrun(*arguments: str, processes: int = 2, **environment: str) -> str:
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={processes}"]
    command += [f"--master-port={free_port()}", *arguments]
    # Float32 in the children, whatever this machine can do; one thread each.
    plain = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        command,
        env=os.environ | plain | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


@pytest.fixture
def token_file(tmp_path):
    import numpy as np

    from tlcourse.batching import write_tokens

    path = tmp_path / "tokens.bin"
    steps = np.random.default_rng(0).integers(1, 4, 5000)
    write_tokens(path, [6 + np.cumsum(steps) % 290])
    return path


def test_two_processes_give_the_losses_of_one_for_every_objective(tmp_path, token_file):
    (tmp_path / "child.py").write_text(CHILD, encoding="utf-8")
    child = [str(tmp_path / "child.py"), str(token_file)]
    found = []
    for output in (torchrun(*child, processes=1), torchrun(*child, "two")):
        (line,) = [line for line in output.splitlines() if line.startswith("FOUND ")]
        found.append(json.loads(line.removeprefix("FOUND ")))
    one, two = found
    for objective in ("causal", "masked", "hybrid"):
        mine, theirs = one[objective], two[objective]
        assert len(mine["losses"]) == 20 and mine["losses"][-1] < mine["losses"][0]
        assert theirs["losses"] == pytest.approx(mine["losses"], rel=1e-5), objective
        assert theirs["norms"] == pytest.approx(mine["norms"], rel=1e-4), objective
        first, second = theirs["sums"]
        assert first == second, "both processes hold the same weights, to the last bit"


def test_the_command_runs_under_torchrun_resumes_there_and_writes_one_checkpoint(tmp_path):
    options = ["--width", "32", "--layers", "1", "--heads", "2", "--vocabulary", "400"]
    options += ["--batch-size", "8", "--length", "32", "--tokens", "2e3", "--objective", "masked"]
    command = ["-m", "tlcourse", "pretrain", *options, "--out"]
    output = torchrun(*command, str(tmp_path / "two"))
    assert output.count("checkpoint written to") == 1
    log = checkpoints.log_of(tmp_path / "two" / "checkpoint")
    assert log["legs"][0]["hardware"].endswith(", 2 processes")
    again = torchrun(*command, str(tmp_path / "two"))  # finished: nothing is trained again
    assert again.count("checkpoint written to") == 1
    assert main(["pretrain", *options, "--out", str(tmp_path / "one")]) == 0
    lines = [
        (tmp_path / name / "log.jsonl").read_text(encoding="utf-8").splitlines()
        for name in ("one", "two")
    ]
    assert len(lines[0]) == len(lines[1]) == 7
    losses = [[json.loads(line)["loss"] for line in part] for part in lines]
    assert losses[0] == pytest.approx(losses[1], rel=2e-2)  # bfloat16 here, perhaps, and not there


def test_a_batch_with_fewer_rows_than_processes_is_refused(tmp_path):
    options = ["--width", "32", "--layers", "1", "--heads", "2", "--vocabulary", "400"]
    options += [
        "--batch-size",
        "1",
        "--length",
        "32",
        "--tokens",
        "100",
        "--out",
        str(tmp_path / "run"),
    ]
    with pytest.raises(AssertionError, match="at least one row for each of the 2 processes, got 1"):
        torchrun("-m", "tlcourse", "pretrain", *options)
