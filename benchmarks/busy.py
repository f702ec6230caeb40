"""Two trainings at once: how much slower is a step than alone, by how threads wait and how many.

Each setting trains in processes of its own, alone and then two at a time, in turn over several
rounds; a step fine-tunes causal-small on 32 of TREC's questions. Ratios are against a step alone as
libgomp comes.
"""

import os
import statistics
import subprocess
import sys

from benchmarks import jobs
from tlcourse import sizes

WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_NUM_THREADS")  # what the settings are about
SETTINGS = {
    "as libgomp comes": {},
    "passive": {"OMP_WAIT_POLICY": "passive"},
    "300 spins": {"GOMP_SPINCOUNT": "300"},
    "3,000 spins": {"GOMP_SPINCOUNT": "3000"},
    "30,000 spins": {"GOMP_SPINCOUNT": "30000"},
    "one thread": {"OMP_NUM_THREADS": "1"},
}
CHOSEN = "3,000 spins"  # what `import tlcourse` sets
SECONDS = {"tiny": 1.0, "small": 6.0, "full": 30.0}  # of steps that are counted, each time
ROUNDS = {"tiny": 1, "small": 3, "full": 5}
LIMITS = {"alone": 1.1, "two at a time": 2.5}  # goals; the stored rows say what is reached
# A process: its seconds a step, after steps that are not counted; it begins when it is told to.
CHILD = """
import sys, time
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
print("ready", flush=True)
sys.stdin.readline()
seconds, count, began = float(sys.argv[1]), 0, time.perf_counter()
while time.perf_counter() - began < seconds:
    step()
    count += 1
print((time.perf_counter() - began) / count, flush=True)
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
    ours = {"TLCOURSE_DEVICE": "cpu", "HF_HUB_OFFLINE": "1"}
    environment = {name: value for name, value in os.environ.items() if name not in WAITING} | ours
    environment |= setting
    command = [sys.executable, "-c", CHILD, str(seconds)]
    pipe = subprocess.PIPE
    children = [
        subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        for _ in range(count)
    ]
    for child in children:
        while (line := child.stdout.readline()).strip() != "ready":
            if not line:
                raise RuntimeError("a process ended before it was ready; its error is above")
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    return statistics.mean(float(child.communicate()[0]) for child in children)
