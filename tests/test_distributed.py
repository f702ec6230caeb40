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


# Float32 in the children, whatever this machine can do; one thread each.
PLAIN = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "1"}


def torchrun(*arguments: str) -> str:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    command += [f"--master-port={free_port()}", *arguments]
    ran = subprocess.run(
        command, env=os.environ | PLAIN, capture_output=True, encoding="utf-8", timeout=300
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


def start(world: int, *arguments: str) -> list[subprocess.Popen]:
    """Starts Python as torchrun does, without the process that only watches."""
    common = {"WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world)}
    common |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    return [
        subprocess.Popen(
            [sys.executable, *arguments],
            env=os.environ | PLAIN | common | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        for rank in range(world)
    ]


def told(started: list[subprocess.Popen]) -> list[tuple[str, str]]:
    """What each process said, on both streams, once all of them have ended well."""
    try:
        said = [process.communicate(timeout=300) for process in started]
    finally:
        for process in started:  # one that waits for another that has failed
            process.kill()
    for process, (_, error) in zip(started, said, strict=True):
        assert process.returncode == 0, error[-3000:]
    return said


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
    for said in (told(start(1, *child)), told(start(2, *child, "two"))):
        lines = [line for output, _ in said for line in output.splitlines()]
        (line,) = [line for line in lines if line.startswith("FOUND ")]
        found.append(json.loads(line.removeprefix("FOUND ")))
    one, two = found
    for objective in ("causal", "masked", "hybrid"):
        mine, theirs = one[objective], two[objective]
        assert len(mine["losses"]) == 20 and mine["losses"][-1] < mine["losses"][0]
        assert theirs["losses"] == pytest.approx(mine["losses"], rel=1e-5), objective
        assert theirs["norms"] == pytest.approx(mine["norms"], rel=1e-4), objective
        first, second = theirs["sums"]
        assert first == second, "both processes hold the same weights, to the last bit"


OPTIONS = ["--width", "32", "--layers", "1", "--heads", "2", "--vocabulary", "400"]
OPTIONS += ["--length", "32"]
# Two commands one after the other, so that both processes import PyTorch once: the codes of both.
COMMANDS = """
import json, sys
from tlcourse.cli import main
print("CODES", [main(command) for command in json.loads(sys.argv[1])])
"""


def test_the_command_runs_under_torchrun_resumes_and_refuses_batches_that_are_too_thin(tmp_path):
    command = ["pretrain", *OPTIONS, "--batch-size", "8", "--tokens", "2e3"]
    command += ["--objective", "masked", "--out"]
    output = torchrun("-m", "tlcourse", *command, str(tmp_path / "two"))
    assert output.count("checkpoint written to") == 1
    log = checkpoints.log_of(tmp_path / "two" / "checkpoint")
    assert log["legs"][0]["hardware"].endswith(", 2 processes")
    again = [*command, str(tmp_path / "two")]  # finished: nothing is trained again
    thin = ["pretrain", *OPTIONS, "--batch-size", "1", "--tokens", "100"]
    thin += ["--out", str(tmp_path / "thin")]
    (said, error), (other, other_error) = told(start(2, "-c", COMMANDS, json.dumps([again, thin])))
    assert said.count("checkpoint written to") == 1 and "checkpoint written to" not in other
    for codes, refused in ((said, error), (other, other_error)):
        assert codes.splitlines()[-1] == "CODES [0, 2]"
        assert "at least one row for each of the 2 processes, got 1" in refused
    assert main([*command, str(tmp_path / "one")]) == 0
    lines = [
        (tmp_path / name / "log.jsonl").read_text(encoding="utf-8").splitlines()
        for name in ("one", "two")
    ]
    assert len(lines[0]) == len(lines[1]) == 7
    losses = [[json.loads(line)["loss"] for line in part] for part in lines]
    assert losses[0] == pytest.approx(losses[1], rel=2e-2)  # bfloat16 here, perhaps, and not there
