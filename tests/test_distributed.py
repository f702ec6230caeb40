"""Two processes do the work of one: the same losses, the same weights, the same command."""

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest
import torch
from ignite import distributed as idist

from tests.models import PLAIN
from tlcourse import checkpoints, files
from tlcourse.batching import TokenFile, write_tokens
from tlcourse.cli import main
from tlcourse.pretraining import OBJECTIVES, PretrainingRecipe, pretrain
from tlcourse.transformer import Config, Transformer

OPTIONS = ["--width", "32", "--layers", "1", "--heads", "2", "--vocabulary", "400"]
OPTIONS += ["--length", "32"]


def trained(token_file: str) -> dict:
    """Each objective, 10 steps in float32 without dropout: losses, norms, sums of the weights."""
    found = {}
    for objective in OBJECTIVES:
        torch.manual_seed(0)
        model = Transformer(Config(300, 32, 2, 2, 64, 32, causal=objective != "masked"))
        recipe = PretrainingRecipe(objective, batch_size=6, length=32, warmup=2)
        tokens = 10 * 6 * 32
        history = pretrain(model, TokenFile(token_file), tokens, recipe=recipe, compute=PLAIN)
        weights = torch.cat([p.detach().double().flatten() for p in model.parameters()])
        sums = torch.stack([weights.sum(), weights.square().sum()])
        everyone = idist.all_gather(sums[None]) if idist.get_world_size() > 1 else sums[None]
        losses, norms = ([record[key] for record in history] for key in ("loss", "norm"))
        found[objective] = {"losses": losses, "norms": norms, "sums": everyone.tolist()}
    return found


# What both processes do, one thing after the other, since each takes seconds to import PyTorch.
CHILD = """
import json, sys
from ignite import distributed as idist
from tests.test_distributed import trained
from tlcourse.cli import main
idist.initialize("gloo")
found, first = trained(sys.argv[1]), idist.get_rank() == 0
idist.finalize()
if first:
    print("FOUND", json.dumps(found))
print("CODES", [main(command) for command in json.loads(sys.argv[2])])
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def token_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokens") / "tokens.bin"
    steps = np.random.default_rng(0).integers(1, 4, 5000)
    write_tokens(path, [6 + np.cumsum(steps) % 290])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def command(folder, name):
    budget = ["--batch-size", "8", "--tokens", "2e3", "--objective", "masked"]
    return ["pretrain", *OPTIONS, *budget, "--out", str(folder / name)]


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


# Float32 in the children, whatever this machine can do; one thread each.
FLOAT32 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "1"}


def start(arguments: list[str], **variables: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=os.environ | FLOAT32 | {"PYTHONPATH": str(files.root())} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def torchrun(folder) -> str:
    """What a command says under torchrun."""
    launch = ["-m", "torch.distributed.run", "--nproc-per-node=2", f"--master-port={free_port()}"]
    ((said, _),) = told([start([*launch, "-m", "tlcourse", *command(folder, "two")])])
    return said


@pytest.fixture(scope="module")
def two(torchrun, token_file, folder) -> list[tuple[str, str]]:
    """What two processes, started as torchrun does, say of the trainings and of two commands."""
    thin = ["pretrain", *OPTIONS, "--batch-size", "1", "--tokens", "100"]
    commands = [command(folder, "two"), [*thin, "--out", str(folder / "thin")]]
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    common |= {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    arguments = ["-c", CHILD, str(token_file), json.dumps(commands)]
    return told([start(arguments, RANK=rank, LOCAL_RANK=rank, **common) for rank in "01"])


def test_two_processes_give_the_losses_of_one_for_every_objective(two, token_file):
    lines = [line for said, _ in two for line in said.splitlines()]
    (line,) = [line for line in lines if line.startswith("FOUND ")]
    both, one = json.loads(line.removeprefix("FOUND ")), trained(token_file)
    for objective in ("causal", "masked", "hybrid"):
        mine, theirs = one[objective], both[objective]
        assert len(mine["losses"]) == 10 and mine["losses"][-1] < mine["losses"][0]
        assert theirs["losses"] == pytest.approx(mine["losses"], rel=1e-5), objective
        assert theirs["norms"] == pytest.approx(mine["norms"], rel=1e-4), objective
        first, second = theirs["sums"]
        assert first == second, "both processes hold the same weights, to the last bit"


def test_the_command_runs_under_torchrun_and_gives_the_losses_of_one(torchrun, folder):
    assert torchrun.count("checkpoint written to") == 1
    log = checkpoints.log_of(folder / "two" / "checkpoint")
    assert log["legs"][0]["hardware"].endswith(", 2 processes")
    assert main(command(folder, "one")) == 0
    lines = [
        (folder / name / "log.jsonl").read_text(encoding="utf-8").splitlines()
        for name in ("one", "two")
    ]
    assert len(lines[0]) == len(lines[1]) == 7
    losses = [[json.loads(line)["loss"] for line in part] for part in lines]
    assert losses[0] == pytest.approx(losses[1], rel=2e-2)  # bfloat16 here, perhaps, and not there


def test_two_processes_resume_and_refuse_batches_that_are_too_thin(two):
    (said, _), (other, _) = two
    assert said.count("checkpoint written to") == 1  # finished: nothing is trained again
    assert "checkpoint written to" not in other
    for words, refused in two:
        assert words.splitlines()[-1] == "CODES [0, 2]"
        assert "at least one row for each of the 2 processes, got 1" in refused
