"""The words of `python -m benchmarks gpu`, and what each command says at its end."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import gpu


def main(words: Sequence[str]) -> int:
    """Runs one command; what is wrong is one line and the status 1."""
    parser = _parser()
    arguments = parser.parse_args(words)
    try:
        return arguments.run(arguments) or 0
    except (ValueError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks gpu", description=gpu.__doc__, formatter_class=form
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    pack = commands.add_parser("pack", help="cut the data, or the state, into parts")
    pack.add_argument("--to", type=Path, required=True, help="folder of the parts")
    pack.add_argument("--corpus", nargs="+", help="as in `tlcourse pretrain`; text to learn from")
    pack.add_argument("--state", action="store_true", help="how far the plan is, not the data")
    pack.set_defaults(run=_pack)
    take = commands.add_parser("take", help="take a part; join them when all are there")
    take.add_argument("--from", dest="source", type=Path, required=True, help="a part, or a folder")
    take.set_defaults(run=_take)
    work = commands.add_parser("slice", help="do the next things of the plan")
    work.add_argument("--minutes", type=float, default=8.0, help="when it has to be over (8)")
    work.add_argument("--out", type=Path, required=True, help="folder of what is handed back")
    work.set_defaults(run=_slice)
    home = commands.add_parser("home", help="check and join what came back")
    home.add_argument("--from", dest="source", type=Path, required=True, help="folder of the parts")
    home.set_defaults(run=_home)
    measure = commands.add_parser("measure", help="one measurement of the plan, alone")
    measure.add_argument("name")
    measure.add_argument("--to", type=Path, required=True, help="file for what was found")
    measure.set_defaults(run=_measure)
    return parser


def _pack(arguments: argparse.Namespace) -> None:
    from benchmarks.gpu import place

    if arguments.state:
        paths = place.pack_state(arguments.to)
    else:
        from benchmarks.studies import pretraining_runs

        paths = place.pack_data(arguments.corpus or pretraining_runs.names(), arguments.to)
    _list(paths)


def _take(arguments: argparse.Namespace) -> None:
    from benchmarks.gpu import place

    place.take(arguments.source)


def _slice(arguments: argparse.Namespace) -> None:
    from benchmarks.gpu import slices

    _list(slices.work(arguments.minutes, arguments.out))
    print(f"[gpu] still to be done: {', '.join(slices.left()) or 'nothing'}")


def _home(arguments: argparse.Namespace) -> None:
    from benchmarks.gpu import place

    if missing := place.take(arguments.source):
        raise ValueError(
            f"expected all parts in {arguments.source}, but {', '.join(missing)} is not there; "
            "fetch what is missing and run the same again"
        )
    print(f"[gpu] rows written to {place.results()}")


def _measure(arguments: argparse.Namespace) -> None:
    from benchmarks.gpu import measuring
    from tlcourse import files

    known = measuring.MEASUREMENTS
    if arguments.name not in known:
        raise ValueError(f"expected one of {', '.join(known)}, got {arguments.name!r}")
    files.write_json(arguments.to, known[arguments.name]())


def _list(paths: Sequence[Path]) -> None:
    for path in paths:
        print(f"[gpu] {path}: {path.stat().st_size / 2**20:.1f} MiB")
