"""Which commands there are, and how one is run."""

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from tlcourse import __version__, environment, files, signals
from tlcourse.cli.parsing import Parser, UsageError
from tlcourse.cli.saying import complain
from tlcourse.wording import nearest

UNREAD = 141  # what a shell gives for a program that a closed pipe ended
COMMANDS = {  # the first lines of their modules
    "check": "Says whether this machine is ready for the course.",
    "lab": "Makes or refreshes your copy of the lessons and opens it in JupyterLab.",
    "run": "Executes one lesson from top to bottom without a browser.",
    "html": "Writes a lesson as one page of HTML, alt texts of its figures included.",
    "page": "Builds the page on which the models run in a browser: a folder, or one file.",
    "progress": "Shows which exercises are solved and tried, their minutes, and what is next.",
    "reset": "Removes your kept answer to one exercise.",
    "answers": "Carries your kept answers from one machine to another, in a file.",
    "data": "Says which data there are, from where, and whether they are as expected.",
    "pretrain": "Pretrains a model from a corpus to a checkpoint; a run that was stopped goes on.",
    "evaluate": "Measures a checkpoint; writes the card of one of your own anew.",
    "adapt": "Adapts a model to the texts and labels of a CSV file and saves the classifier.",
    "predict": "Says what a saved classifier makes of texts: label and probabilities.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code.

    0 good; 1 failed, or no command, after a list of them, as git does; 2 a wrong word, or what
    cannot be done with what was given, told in one line; 130 stopped by Ctrl-C, 143 by SIGTERM,
    with one line, in which the command's `left(arguments)` says what is left behind; 141, without
    a word, when nobody reads what it says any more, as behind `| head -1`.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    command = given = None
    with signals.Stoppable() as heard:
        try:
            if not words:
                overview().print_help()
                heard.status = 1
            else:
                _refuse_other_bytes(words)
                if words[0].startswith("-"):
                    overview().parse_args(words[:1])  # --help and --version end here
                command = module(words[0])
                given = parser(words[0]).parse_args(words[1:])
                heard.status = command.run(given)
                signals.check()
        except BaseException as error:
            # What a library makes of an interrupt is none of its errors.
            if isinstance(error, KeyboardInterrupt) or heard.number and not heard.late:
                heard.status = _stopped(heard, command, given)
            elif isinstance(error, BrokenPipeError):
                heard.status = UNREAD
            elif isinstance(error, ImportError) and (them := environment.missing()):
                complain(environment.lacking(them, "run", ": python -m pip"))
                heard.status = 2
            elif isinstance(error, ValueError | OSError | FloatingPointError):
                complain(_line(error))
                heard.status = 2
            else:
                raise
        heard.status = _flushed(heard.status)
    return heard.status


def _refuse_other_bytes(words: Sequence[str]) -> None:
    """Raises UsageError for bytes that are not UTF-8: they can be neither printed nor written."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"expected words in UTF-8, got {os.fsencode(word)}; type it in a terminal that is "
                "set to UTF-8, or give a file another name"
            ) from None


def _flushed(status: int) -> int:
    """The exit code, once all that was said is out; UNREAD where nobody reads it any more."""
    try:
        print(end="", flush=True)
    except OSError as error:
        # What is left goes nowhere; Python would complain of it when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return status or UNREAD
        if not status:
            complain(_line(error))
        return status or 2
    return status


def _line(error: BaseException) -> str:
    """What an error says, in one line; where the disk is full, what to do, too."""
    full = isinstance(error, OSError) and error.errno in files.FULL
    do = "; free some space and run the same command again" if full else ""
    return " ".join(str(error).splitlines()) + do


def _stopped(
    heard: signals.Stoppable, command: ModuleType | None, given: argparse.Namespace | None
) -> int:
    """Says that a command was stopped, and what it leaves; returns the exit code."""
    left = "nothing was changed" if given is None else command.left(given)
    if os.environ.get("RANK", "0") == "0":  # of several, under torchrun, the first one speaks
        with contextlib.suppress(OSError):  # the terminal is closed
            complain(f"stopped; {left}")
    return 128 + (heard.number or signal.SIGINT)


def overview() -> Parser:
    """What `tlcourse` alone and `tlcourse --help` show."""
    top = Parser(
        prog="tlcourse",
        description="A course on transfer learning in NLP.",
        epilog="`tlcourse COMMAND --help` shows the options of one.",
    )
    top.add_argument("--version", action="version", version=f"tlcourse {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    for name, does in COMMANDS.items():
        commands.add_parser(name, help=does)
    return top


def module(name: str) -> ModuleType:
    """The module of a command; raises UsageError that lists the commands and names the nearest."""
    if name not in COMMANDS:
        listed = ", ".join(COMMANDS)
        near = nearest(name, COMMANDS)
        raise UsageError(f"expected a command out of {listed}, got {name!r}{near}")
    return import_module(f"tlcourse.cli.{name}")


def parser(name: str) -> Parser:
    """The options of a command."""
    made = Parser(prog=f"tlcourse {name}", description=COMMANDS[name])
    module(name).add_options(made)
    return made
