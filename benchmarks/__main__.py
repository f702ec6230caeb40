"""Runs one benchmark or study: `python -m benchmarks NAME [--json FILE]`; `all` is those of speed.

A benchmark is a module of `speed`; a study is one of `studies`, or a value in the table of one.
`measure()` of either returns its rows, and where they come from. The studies have to be asked for
by name; most train models, for minutes or hours. `results` writes RESULTS.md from what is stored;
`gpu`, and `runs`, which carries finished runs from machine to machine, have commands of their own:
`gpu --help`, `runs --help`.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks import run_cache
from benchmarks.catalogue import MODULES, SPEED, study_of
from benchmarks.gpu import command
from benchmarks.table import table
from tlcourse import files


def run(name: str) -> dict:
    """Measures one benchmark and prints its rows."""
    benchmark = study_of(name)
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
    parser.add_argument("name", choices=(*MODULES, "all", "results", "gpu", "runs"))
    parser.add_argument("--json", type=Path, help="write the rows and their provenance to a file")
    arguments = parser.parse_args()
    if arguments.name == "results":
        from benchmarks import results_page  # every study, which takes seconds to import

        results_page.write()
        return 0
    if arguments.name == "all":
        result = together({name: run(name) for name in SPEED})
    else:
        result = run(arguments.name)
    if arguments.json:
        files.write_json(arguments.json, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
