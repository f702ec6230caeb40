"""Two trainings at once: how much slower is a step than alone, by how threads wait and how many.

Each setting trains in processes of its own, or in notebooks, alone and then two at a time, in turn
over several rounds; a step fine-tunes causal-small on 32 of TREC's questions. Ratios are against a
step alone as libgomp comes. `BUSY_PRELOAD=/…/libomp.so.5:/…/libiomp5.so` adds other runtimes.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import jobs
from tlcourse import sizes
from tlcourse.lessons import first_cell

WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_NUM_THREADS")  # what the settings are about
SETTINGS = {
    "as libgomp comes": {},
    "passive": {"OMP_WAIT_POLICY": "passive"},
    "1,000 spins": {"GOMP_SPINCOUNT": "1000"},
    "1,500 spins": {"GOMP_SPINCOUNT": "1500"},
    "3,000 spins": {"GOMP_SPINCOUNT": "3000"},
    "one thread": {"OMP_NUM_THREADS": "1"},
    "notebook, torch first": {"NOTEBOOK": "import torch"},
    "notebook, first cell of the course": {"NOTEBOOK": first_cell.source()},
} | {
    Path(place).name: {"LD_PRELOAD": place}
    for place in os.environ.get("BUSY_PRELOAD", "").split(os.pathsep)
    if place
}
CHOSEN = "1,500 spins"  # what `import tlcourse` sets
SECONDS = {"tiny": 1.0, "small": 3.0, "full": 30.0}  # of steps that are counted, each time
ROUNDS = {"tiny": 1, "small": 5, "full": 5}
LIMITS = {"alone": 1.1, "two at a time": 2.5}  # goals
# Its seconds a step, after steps that are not counted; begins when it is told to.
TRAINING = """
import os, time
from pathlib import Path
import torch  # before tlcourse, which would set what is not set
from tlcourse import corpora, device
from tlcourse.adaptation import Classifier, classification_loss, prepare
from tlcourse.batching import pad
from tlcourse.bpe import PAD
start = Classifier.from_checkpoint("causal-small", corpora.TREC_LABELS)
texts = corpora.load("trec")["train"]["text"][:32]
tokens, mask = pad(start.encode(texts), PAD)
_, optimizer, _ = prepare(start, (tokens, mask))
batch = tokens, mask, torch.zeros(len(texts), dtype=torch.long)
compute = device.choose()
start.train()

def step():
    with compute.autocast():
        classification_loss(start, batch)[0].backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)

for _ in range(3):
    step()
folder, seconds, count = Path(os.environ["FOLDER"]), float(os.environ["SECONDS"]), 0
(folder / f"ready-{os.getpid()}").touch()
while not (folder / "go").exists():
    time.sleep(0.01)
began = time.perf_counter()
while time.perf_counter() - began < seconds:
    step()
    count += 1
(folder / f"taken-{os.getpid()}").write_text(str((time.perf_counter() - began) / count))
"""
# The same in a kernel, behind a cell that the setting names.
NOTEBOOK = """
import os, sys
import nbformat
from nbclient import NotebookClient
cells = [nbformat.v4.new_code_cell(source) for source in (os.environ["NOTEBOOK"], sys.argv[1])]
notebook, quiet = nbformat.v4.new_notebook(cells=cells), ["--log-level=ERROR"]
NotebookClient(notebook, timeout=None, kernel_name="python3", extra_arguments=quiet).execute()
"""


def measure() -> dict:
    """One row a setting: seconds a step alone and two at a time, medians over rounds; ratios."""
    size = sizes.current().name
    taken = {(name, count): [] for name in SETTINGS for count in (1, 2)}
    for _ in range(ROUNDS[size]):
        for name, count in taken:
            taken[name, count].append(seconds_a_step(SETTINGS[name], count, SECONDS[size]))
    usual = statistics.median(taken["as libgomp comes", 1])
    rows = []
    for name in SETTINGS:
        alone, two = (statistics.median(taken[name, count]) for count in (1, 2))
        rows.append(
            {
                "setting": name,
                "alone": alone,
                "two at a time": two,
                "alone, ratio": alone / usual,
                "two at a time, ratio": two / usual,
                "rounds": [taken[name, count] for count in (1, 2)],
            }
        )
    provenance = jobs.provenance("32 questions of TREC train, causal-small, full fine-tuning")
    return {"job": "busy", **provenance, "chosen": CHOSEN, "limits": LIMITS, "rows": rows}


def seconds_a_step(setting: dict[str, str], count: int, seconds: float) -> float:
    """The mean over `count` processes that train at the same time."""
    usual = {name: value for name, value in os.environ.items() if name not in WAITING}
    ours = {"TLCOURSE_DEVICE": "cpu", "HF_HUB_OFFLINE": "1", "SECONDS": str(seconds)}
    code = [NOTEBOOK, TRAINING] if "NOTEBOOK" in setting else [TRAINING]
    with tempfile.TemporaryDirectory() as folder:
        environment = usual | ours | setting | {"FOLDER": folder}
        children = [
            subprocess.Popen([sys.executable, "-c", *code], env=environment) for _ in range(count)
        ]
        while len(list(Path(folder).glob("ready-*"))) < count:
            if any(child.poll() is not None for child in children):
                for child in children:
                    child.kill()
                raise RuntimeError("a process ended before it was ready; its error is above")
            time.sleep(0.05)
        (Path(folder) / "go").touch()
        for child in children:
            child.wait()
        taken = [float(file.read_text()) for file in Path(folder).glob("taken-*")]
    if len(taken) < count:
        raise RuntimeError("a process ended before its time; its error is above")
    return statistics.mean(taken)
