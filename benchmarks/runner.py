"""Jobs: what a study runs, kept once it has run, several at a time; and what its rows rest on.

A job is a frozen dataclass, a subclass of `Job`, that names its study and says what it does. Its
result is kept in `runs/STUDY/` under a key made of its fields and of the weights it starts from, so
that a study that was stopped goes on where it was, and other weights are another job.
"""

import hashlib
import json
import os
import platform
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context, parent_process
from operator import methodcaller
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import torch

from tlcourse import checkpoints, device, files, metrics, released, sizes

if TYPE_CHECKING:
    from tlcourse.adaptation import Recipe

FOLDER = Path("runs")
RESULTS = Path(__file__).parent / "results"
EARLIER = {"rate": "learning_rate", "batch": "batch_size"}  # fields of recipes, and as they are now


class Measurement(NamedTuple):
    """One of several studies of a module, and its section of RESULTS.md, if it has one."""

    measure: Callable[[], dict]
    section: Callable[[dict], str] | None = None


class Job:
    """What subclasses, frozen dataclasses whose fields JSON can hold, have in common."""

    study: ClassVar[str]  # its folder in FOLDER
    model: str  # the checkpoint it starts from, a name or a path

    def weights(self) -> str:
        """The digest of what it starts from."""
        return digest(self.model)

    def key(self) -> str:
        """Made of all fields and the weights."""
        fields = asdict(self) | {"digest": self.weights()}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]

    def place(self) -> Path:
        """Where its result is kept."""
        return FOLDER / self.study / f"{self.key()}.json"

    def folder(self) -> Path:
        """Where other files of its own lie, such as checkpoints."""
        return self.place().with_suffix("")

    def work(self) -> dict:
        """Does it: "wrong", the numbers of the questions missed, "of" how many; and what else."""
        raise NotImplementedError

    def run(self) -> dict:
        """Its fields and what `work` found, or what an earlier run of this size left of both."""
        place, size = self.place(), sizes.current().name
        if place.exists():
            kept = files.read_json(place)
            if kept.get("made_at", size) == size:  # a rehearsal at `tiny` is no result
                return kept
        made = {"digest": self.weights(), "made_at": size, "made_on": device.describe()}
        result = asdict(self) | made | self.work()
        files.write_json(place, result)
        fields = {name: getattr(self, name) for name in asdict(self) if name != "recipe"}
        shown = ", ".join(f"{name} {value}" for name, value in fields.items())
        print(f"{self.study}: {shown}: {self.told(result)}", flush=True)
        return result

    def told(self, result: dict) -> str:
        """What is printed of a result."""
        return f"{error_of(result):.1f} % wrong"


def digest(model: str | Path) -> str:
    """Which weights a checkpoint has, or a released model of the mirror."""
    name = str(model)
    mirrored = released.in_mirror(name) if released.is_known(name) else None
    weights = (mirrored or checkpoints.folder_of(model)) / "model.safetensors"
    return hashlib.sha256(weights.read_bytes()).hexdigest()[:16]


def workers() -> int:
    """How many runs at a time: one a core, one a GPU."""
    return (os.cpu_count() or 1) if device.choose().device.type == "cpu" else 1


def in_parallel(work: Callable[[Any], Any], items: Iterable) -> list:
    """`work` of each item, in `workers()` processes of one thread each."""
    context = get_context("spawn")
    with ProcessPoolExecutor(workers(), context, _begin, (FOLDER,)) as pool:
        return list(pool.map(work, items))


def _begin(folder: Path) -> None:
    """First of all in a process of the pool, which has to be told the folder."""
    global FOLDER
    FOLDER = folder
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """Ends this process once its parent is gone, even if that was killed and could not say so."""
    parent_process().join()
    os._exit(1)


def run_all(jobs: Iterable[Job]) -> list[dict]:
    """What each job's `run` gives, in order."""
    return in_parallel(methodcaller("run"), jobs)


def groups(results: Sequence, size: int) -> list[Sequence]:
    """Results one after the other, `size` at a time: those of the seeds of one row."""
    return [results[start : start + size] for start in range(0, len(results), size)]


def error_of(result: Mapping) -> float:
    """Percent of the questions that a result got wrong."""
    return 100 * len(result["wrong"]) / result["of"]


def over_seeds(errors: Sequence[float]) -> dict:
    """Errors in percent, their mean, and Student's interval, which ends at zero."""
    mean, low, high = metrics.mean_interval(errors)
    return {"errors": list(errors), "mean": mean, "interval": [max(0.0, low), high]}


def spread(missed: Sequence[Sequence[int]], of: int) -> dict:
    """Errors in percent of runs that `missed` questions of so many; their mean and interval.

    The interval is Student's over the runs; of a single run it is Wilson's over the questions.
    """
    errors = [100 * len(numbers) / of for numbers in missed]
    if len(errors) > 1:
        return over_seeds(errors)
    interval = [100 * share for share in metrics.wilson_interval(len(missed[0]), of)]
    return {"errors": errors, "mean": errors[0], "interval": interval}


def correct(comparisons: Sequence[dict]) -> None:
    """Gives each of them "p_holm": its "p", Holm-corrected among them all."""
    corrected = metrics.holm([entry["p"] for entry in comparisons])
    for entry, p in zip(comparisons, corrected, strict=True):
        entry["p_holm"] = p


def processor_clock() -> Callable[[], float]:
    """The processor's clock on a CPU, where others may be at work; else that on the wall."""
    return time.process_time if device.choose().device.type == "cpu" else time.perf_counter


def provenance(
    data: str, *libraries: ModuleType, runs: Iterable[Mapping] = (), note: str = ""
) -> dict[str, Any]:
    """What rows rest on: size, hardware, threads, precision, versions, data.

    `runs` are those that may have been kept from other machines; `note` says how a machine was
    used, for instance what `pooled` says.
    """
    return {
        "size": sizes.current().name,
        "machine": ", ".join(filter(None, [machines(runs) or device.describe(), note])),
        "python": platform.python_version(),
        "versions": {library.__name__: library.__version__ for library in (torch, *libraries)},
        "data": data,
    }


def machines(runs: Iterable[Mapping]) -> str:
    """Where kept runs were made, and how many on each machine if on several."""
    made = Counter(run.get("made_on", "a machine that was not noted") for run in runs)
    if len(made) == 1:
        return next(iter(made))
    return ", ".join(f"{machine} (runs: {count})" for machine, count in made.most_common())


def pooled() -> str:
    """How the pool uses the machine, as a note for `provenance`."""
    return f"{workers()} runs at a time, one thread each"


def recipe_of(entry: Mapping) -> "Recipe":
    """The recipe of a stored row or choice, in which fields may have the names of EARLIER."""
    from tlcourse.adaptation import Recipe  # seconds, of which processes of the pool need none

    return Recipe(**{EARLIER.get(name, name): value for name, value in entry["recipe"].items()})
