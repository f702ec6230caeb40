"""The command `tlcourse`; each command imports what it needs, so that `--help` is quick."""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# Spellings that go on being understood, what they are called now, and their type.
OLD_PRETRAIN_OPTIONS = (
    ("--batch", "batch_size", int),
    ("--rate", "learning_rate", float),
    ("--muon-rate", "muon_learning_rate", float),
    ("--mask-rate", "mask_probability", float),
)


class UsageError(Exception):
    """A wrong word on the command line; the message, one line, lists the right ones."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> None:
        raise UsageError(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code: 0 good, 1 failed, 2 wrong word."""
    try:
        parsed = _parser().parse_args(arguments)
        return parsed.command(parsed)
    except UsageError as error:
        print(f"tlcourse: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tlcourse: stopped", file=sys.stderr)
        return 130


def named(look_up: Callable[[str], Any], name: str) -> Any:
    """`look_up(name)`; its ValueError, which lists the names there are, becomes one line."""
    try:
        return look_up(name)
    except ValueError as error:
        raise UsageError(str(error)) from error


def check(_: argparse.Namespace) -> int:
    """Says whether this machine is ready for the course."""
    from tlcourse import checking

    results = checking.results()
    for result in results:
        print(result)
    failed = sum(not result.good for result in results)
    print(f"{failed} of {len(results)} failed" if failed else "Ready: `tlcourse lab`")
    return min(failed, 1)


def lab(arguments: argparse.Namespace) -> int:
    """Makes or refreshes your copy of the lessons and opens it in JupyterLab."""
    from tlcourse import files, running

    folder = (arguments.folder or _home(files.root()) / "my").resolve()
    for line in running.learners_copy(folder):
        print(line)
    if arguments.prepare_only:
        return 0
    first = min(folder.glob("*.ipynb"), default=folder)
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.parent}"]
    command += [f"--LabApp.default_url=/lab/tree/{folder.name}/{first.name}", *arguments.options]
    return subprocess.call(command)


def _home(root: Path) -> Path:
    """Where `my/` goes: the clone, or the working directory where the course is a wheel."""
    return root if (root / "pyproject.toml").exists() else Path.cwd()


def run(arguments: argparse.Namespace) -> int:
    """Executes one lesson from top to bottom without a browser."""
    from tlcourse import lessons, readme, running, sizes

    lesson = named(lessons.get, arguments.lesson)
    # What git holds is always small unless asked otherwise, whatever the environment says.
    chosen = None if arguments.commit_outputs else os.environ.get("TLCOURSE_SIZE")
    size = named(sizes.get, arguments.size or chosen or "small").name
    execute = running.commit_outputs if arguments.commit_outputs else running.run_lesson
    try:
        execute(lesson, size)
    except running.LessonFailed as error:
        print(f"tlcourse: failed: {error}", file=sys.stderr)
        return 1
    if arguments.commit_outputs:
        readme.main()
    return 0


def data(arguments: argparse.Namespace) -> int:
    """Says which data there are, from where, and whether they are as expected."""
    from tlcourse import corpora
    from tlcourse.corpora import catalogue

    names = [named(catalogue.get, arguments.name).name] if arguments.name else catalogue.CORPORA
    failed = False
    for name in names:
        try:
            print(corpora.describe(name))
        except corpora.DataError as error:
            failed = True
            print(f"[FAIL] {error}")
    return int(failed)


def pretrain(arguments: argparse.Namespace) -> int:
    """Pretrains a model from a corpus to a checkpoint; a run that was stopped goes on."""
    from tlcourse import pretrain_command

    return _in_one_line(pretrain_command.run, arguments)


def evaluate(arguments: argparse.Namespace) -> int:
    """Measures a checkpoint and writes its model card anew."""
    from tlcourse import evaluate_command

    return _in_one_line(evaluate_command.run, arguments)


def adapt(arguments: argparse.Namespace) -> int:
    """Adapts a model to the texts and labels of a CSV file and saves the classifier."""

    def refused_or_run(arguments: argparse.Namespace) -> int:
        from tlcourse import files

        files.refuse_occupied(arguments.out)  # before PyTorch is imported, which takes seconds
        from tlcourse import adapt_command

        return adapt_command.run(arguments)

    return _in_one_line(refused_or_run, arguments)


def predict(arguments: argparse.Namespace) -> int:
    """Says what a saved classifier makes of texts: label and probabilities."""
    from tlcourse import predict_command

    return _in_one_line(predict_command.run, arguments)


def _in_one_line(
    command: Callable[[argparse.Namespace], int], arguments: argparse.Namespace
) -> int:
    """Runs a command; what is wrong with what it was given becomes one line."""
    try:
        return command(arguments)
    except (ValueError, OSError, FloatingPointError) as error:
        raise UsageError(str(error)) from error


def _parser() -> Parser:
    parser = Parser(prog="tlcourse", description="A course on transfer learning in NLP.")
    commands = parser.add_subparsers(required=True, metavar="command", parser_class=Parser)

    def command(function: Callable[[argparse.Namespace], int]) -> Parser:
        text = (function.__doc__ or "").strip()
        added = commands.add_parser(function.__name__, help=text, description=text)
        added.set_defaults(command=function)
        return added

    command(check)
    added = command(lab)
    added.add_argument("--folder", type=Path, help="your copy (default: my/)")
    added.add_argument("--prepare-only", action="store_true", help="copy, do not open JupyterLab")
    added.add_argument("options", nargs="*", help="for JupyterLab, after --: -- --no-browser")
    added = command(run)
    added.add_argument("lesson", help="its number or name, such as 01")
    added.add_argument("--size", help="tiny, small or full (default: TLCOURSE_SIZE, else small)")
    added.add_argument(
        "--commit-outputs",
        action="store_true",
        help="for maintainers: run without bf16 and replace the notebook and its stated minutes",
    )
    added = command(data)
    added.add_argument("name", nargs="?", help="one data set (default: all)")
    added = command(pretrain)
    _add_pretrain_options(added)
    added = command(evaluate)
    added.add_argument("checkpoint", help="a shipped name or the folder of a checkpoint")
    _add_adapt_options(command(adapt))
    _add_predict_options(command(predict))
    return parser


def _add_pretrain_options(parser: Parser) -> None:
    add = parser.add_argument
    add("--objective", choices=("causal", "masked", "hybrid"), default="causal")
    add(
        "--corpus",
        nargs="+",
        default=["wikitext-2"],
        help="data sets, text files, folders of *.txt",
    )
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--tokens", type=float, default=1e6, help="budget, such as 25e6")
    budget.add_argument("--minutes", type=float, help="budget of running time, resumes included")
    add("--out", type=Path, required=True, help="folder of this run; the same again goes on")
    add("--prepared", type=Path, help="folder of token file and vocabulary (default: OUT/corpus)")
    add("--start", help="checkpoint to go on from, with a fresh optimizer")
    add("--width", type=int, default=256, help="features; no effect with --start, like all shapes")
    add("--layers", type=int, default=6)
    add("--heads", type=int, default=4)
    add("--vocabulary", type=int, default=8192, help="entries")
    add("--batch-size", type=int, default=64, help="windows a step, all processes together")
    add("--length", type=int, default=128, help="tokens a window")
    add("--learning-rate", type=float, default=3e-3, help="of embeddings, norms and biases")
    add("--muon-learning-rate", type=float, default=0.01, help="of the matrices in the blocks")
    add("--warmup", type=int, default=100, help="steps until the full learning rates")
    add("--mask-probability", type=float, default=0.15, help="of each token (masked, hybrid)")
    for old, new, kind in OLD_PRETRAIN_OPTIONS:
        add(old, dest=new, type=kind, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    add("--seed", type=int, default=0)
    add("--save-every", type=float, default=180.0, help="seconds between states for a resume")
    add("--tensorboard", action="store_true", help="write OUT/tensorboard beside OUT/log.jsonl")


def _add_adapt_options(parser: Parser) -> None:
    add = parser.add_argument
    add("--train", type=Path, required=True, help="CSV (or .tsv), UTF-8, with column names")
    add("--test", type=Path, help="rows to measure the error on; they are not learnt")
    add("--out", type=Path, required=True, help="new folder for the classifier")
    add("--text", default="text", metavar="COLUMN", help="column of the texts (default: text)")
    add("--pair", metavar="COLUMN", help="column of the second texts, for pairs of sentences")
    add("--label", default="label", metavar="COLUMN", help="column of labels (default: label)")
    add("--model", default="causal-small", help="a shipped name or the folder of a checkpoint")
    add("--scheme", default="full-fine-tuning", help="such as lora; a wrong one lists all")
    add("--pooling", default="mean", help="such as last-token; a wrong one lists all")
    add("--epochs", type=int, help="that many (default: the lessons', more for few rows)")
    add("--learning-rate", type=float, help="of AdamW (default: the lessons')")
    add(  # the spelling of earlier versions
        "--rate",
        dest="learning_rate",
        type=float,
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )
    add("--seed", type=int, default=0)


def _add_predict_options(parser: Parser) -> None:
    add = parser.add_argument
    add("folder", type=Path, help="what `tlcourse adapt` wrote")
    add(
        "texts",
        nargs="*",
        help="one or more texts, each in quotes; for a classifier of pairs two texts a pair; "
        "without any: a text a line from the standard input, the two of a pair with a tab between",
    )
    add("--csv", type=Path, help="file with the columns that the classifier learnt from")
    add("--out", type=Path, help="new file for the rows of --csv with label and probabilities")
