"""Finished runs of jobs, carried in the repository: `python -m benchmarks runs keep|restore`.

A study of many hours is stopped and goes on, perhaps on another machine. `keep` puts what jobs
left in `runs/STUDY/` into `benchmarks/finished/STUDY.jsonl`, one line a run under its key, beside
what is there already; `restore` puts it back, and the study goes on where it was.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks import runner
from tlcourse import files

FOLDER = Path(__file__).parent / "finished"


def keep(study: str) -> int:
    """Adds the finished runs of a study to its file; returns how many that file holds now.

    Raises FileNotFoundError where the study has no runs, ValueError where a run is no JSON.
    """
    folder = runner.FOLDER / study
    runs = {place.stem: files.read_json(place) for place in sorted(folder.glob("*.json"))}
    if not runs:
        raise FileNotFoundError(
            f"expected finished runs (*.json) in {folder}, got none; "
            f"has the study {study} run here?"
        )
    runs = kept(study) | runs
    lines = [json.dumps({"key": key} | runs[key], ensure_ascii=False) for key in sorted(runs)]
    files.write_text(_place(study), "\n".join(lines) + "\n")
    return len(runs)


def restore(study: str) -> int:
    """Puts the kept runs of a study where its jobs look; returns how many were not there yet."""
    new = 0
    for key, result in kept(study).items():
        place = runner.FOLDER / study / f"{key}.json"
        if not place.exists():
            files.write_json(place, result)
            new += 1
    return new


def kept(study: str) -> dict[str, dict]:
    """By key, the runs that are in the repository; none of a study that has no file."""
    place, runs = _place(study), {}
    if place.exists():
        for line in place.read_text(encoding="utf-8").splitlines():
            result = json.loads(line)
            runs[result.pop("key")] = result
    return runs


def _place(study: str) -> Path:
    return FOLDER / f"{study}.jsonl"


def main(words: Sequence[str]) -> int:
    """The command: `keep` or `restore`, and studies; all that there are if none is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks runs", description=__doc__)
    parser.add_argument("what", choices=("keep", "restore"))
    parser.add_argument("study", nargs="*", help="a folder of runs/ (default: all kept studies)")
    arguments = parser.parse_args(words)
    for study in arguments.study or sorted(place.stem for place in FOLDER.glob("*.jsonl")):
        if arguments.what == "keep":
            print(f"{study}: {keep(study)} runs are kept in {_place(study).name}")
        else:
            print(f"{study}: {restore(study)} runs were put back into {runner.FOLDER / study}")
    return 0
