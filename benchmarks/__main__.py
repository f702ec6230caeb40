"""Runs one benchmark: `python -m benchmarks bpe|transfer [--json FILE]`.

A benchmark is a module of this package with `measure() -> dict`: its rows, and where they come
from. Its docstring says what is measured.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path

from tlcourse import files

NAMES = ("bpe", "transfer")


def main() -> int:
    """Measures, prints one line a row, and writes everything to a file if one is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--json", type=Path, help="write the rows and their provenance to a file")
    arguments = parser.parse_args()
    result = importlib.import_module(f"benchmarks.{arguments.name}").measure()
    for row in result["rows"]:
        print(json.dumps(row, ensure_ascii=False))
    if arguments.json:
        files.write_json(arguments.json, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
