"""Runs one benchmark or study: `python -m benchmarks NAME [--json FILE]`; `all` is those of speed.

A benchmark is a module of `speed`, a study one of `studies`, with `measure() -> dict`: its rows,
and where they come from. Its docstring says what is measured. The others have to be asked for by
name; most train models, for minutes or hours. `gpu`, and `runs`, which carries finished runs from
machine to machine, have commands of their own: `gpu --help`, `runs --help`.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path

from benchmarks import run_cache
from benchmarks.gpu import command
from benchmarks.table import table
from tlcourse import files

SPEED = ("pretraining", "finetuning", "bpe", "lora")
BROWSER = "page"  # its seconds are of a browser: not among `all`
STUDIES = ("objectives", "scaling", "ablation", "last_leg", "masked_leg", "interruptions")
NAMES = (
    *SPEED,
    BROWSER,
    "transfer",
    "released",
    "transfer_released",
    "tasks_released",
    "screen",
    "schemes",
    "other_schemes",
    "combined",
    "distilled",
    "few_labels",
    "tapt",
    "tapt_texts",
    "more_signal",
    "tasks",
    "reviews",
    "tutorial",
    "behaviour",
    "probing",
    "probing_pairs",
    "probing_released",
    "growth",
    "looking",
    *STUDIES,
)


def run(name: str) -> dict:
    """Measures one benchmark and prints its rows."""
    room = "speed" if name in (*SPEED, BROWSER) else "studies"
    benchmark = importlib.import_module(f"benchmarks.{room}.{name}")
    result = benchmark.measure()
    rows = result["rows"]
    if hasattr(benchmark, "COLUMNS"):
        print(f"\n{name}, {result['machine']}\n{table(rows, benchmark.COLUMNS)}")
    elif all("ratio" in row for row in rows):
        print(f"\n{name}, {result['machine']}: ours against\n{table(rows)}")
    else:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
    if "ours" in result:
        print(f"\nours alone\n{table(result['ours'])}")
    print(flush=True)
    return result


def together(results: dict[str, dict]) -> dict:
    """Several results as one: all rows, and each benchmark's provenance under its name."""
    parts = {
        name: {key: value for key, value in result.items() if key != "rows"}
        for name, result in results.items()
    }
    rows = [row for result in results.values() for row in result["rows"]]
    machine = next(iter(results.values()))["machine"]
    return {"job": "all", "machine": machine, "rows": rows, "benchmarks": parts}


def main() -> int:
    """Measures, prints, and writes everything to a file if one is named."""
    if sys.argv[1:2] == ["gpu"]:
        return command.main(sys.argv[2:])
    if sys.argv[1:2] == ["runs"]:
        return run_cache.main(sys.argv[2:])
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=form
    )
    parser.add_argument("name", choices=(*NAMES, "all", "gpu", "runs"))
    parser.add_argument("--json", type=Path, help="write the rows and their provenance to a file")
    arguments = parser.parse_args()
    if arguments.name == "all":
        result = together({name: run(name) for name in SPEED})
    else:
        result = run(arguments.name)
    if arguments.json:
        files.write_json(arguments.json, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
