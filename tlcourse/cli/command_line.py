"""The commands, and how one of them is run."""

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from tlcourse import __version__, environment, files, signals
from tlcourse.cli.console import complain
from tlcourse.cli.options import Argument, Command, Option, option_meant, page_of_help
from tlcourse.wording import nearest

UNREAD = 141  # what a shell gives for a program that a closed pipe ended
COMMANDS = {  # the first lines of their modules
    "check": "Tests whether this machine is ready for the course.",
    "lab": "Creates or updates your copy of the lessons and opens it in JupyterLab.",
    "run": "Executes one lesson from top to bottom without a browser.",
    "html": "Writes a lesson as one HTML page, with the alt texts of its figures.",
    "slides": "Writes a lesson as slides: one HTML file that needs no network.",
    "page": "Builds the page on which the models run in a browser, as one file or as a folder.",
    "release": "Writes copies of lessons to hand out to a class.",
    "grade": "Grades a folder of submitted lessons: every answer is checked again.",
    "site": "Builds the whole course as a web site that also opens from disk.",
    "progress": "Shows which exercises you have solved or tried, and which one comes next.",
    "reset": "Removes your kept answer to one exercise.",
    "answers": "Exports your kept answers to a file, or imports them from one.",
    "data": "Lists the data sets, where each comes from, and whether it is as expected.",
    "pretrain": "Pretrains a model on a corpus and saves a checkpoint; continues a stopped run.",
    "evaluate": "Evaluates a checkpoint, and rewrites its card if it is one of your own.",
    "adapt": "Adapts a model to a file of texts and labels, or to another task, and saves it.",
    "predict": "Predicts labels with probabilities, tags, answers or numbers, by a saved model.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code.

    0: success. 1: failure; also without a command, after a list of them, as git does. 2: a wrong
    word, or input that cannot be used, with a line that says so. 130: stopped by Ctrl-C, 143: by
    SIGTERM, with a line in which the command's `left(arguments)` says what is left behind. 141,
    without a line: nobody reads the output any more, as in a pipe to `head -1`.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    with signals.Stoppable() as stoppable:
        context = None
        try:
            _refuse_other_bytes(words)
            context = overview.make_context("tlcourse", words or ["--help"])
            with context:
                stoppable.status = overview.invoke(context)
                signals.check()
        except click.exceptions.Exit as ended:  # after --help and --version
            stoppable.status = ended.exit_code if words else 1
        except BaseException as error:
            # A library may have turned the interrupt into an error of its own.
            if isinstance(error, KeyboardInterrupt) or (stoppable.number and not stoppable.late):
                stoppable.status = _stopped(stoppable, context)
            elif isinstance(error, BrokenPipeError):
                stoppable.status = UNREAD
            elif (line := _line(error)) is not None:
                complain(line)
                stoppable.status = 2
            else:
                raise
        stoppable.status = _flushed(stoppable.status)
    return stoppable.status


def _refuse_other_bytes(words: Sequence[str]) -> None:
    """Raises UsageError for bytes that are not UTF-8: they can be neither printed nor written."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise click.UsageError(
                f"expected words in UTF-8, got {os.fsencode(word)!r}; type it in a terminal that "
                "is set to UTF-8, or give a file another name"
            ) from None


def _flushed(status: int) -> int:
    """Returns the exit code after flushing the output; UNREAD if nobody reads that any more."""
    try:
        print(end="", flush=True)
    except OSError as error:
        # The rest is discarded; otherwise Python would complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return status or UNREAD
        if not status:
            complain(_line(error) or "")
        return status or 2
    return status


def _line(error: BaseException) -> str | None:
    """Returns an error as one line that says what to do; None for a bug of this package."""
    if isinstance(error, click.BadParameter) and isinstance(error.param, Option | Argument):
        return f"argument {error.param.row()[0].split()[0]}: {error.message}"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, ImportError) and (packages := environment.missing()):
        return environment.lacking(packages, "run", ": python -m pip")
    if not isinstance(error, ValueError | OSError | FloatingPointError):
        return None
    full = isinstance(error, OSError) and error.errno in files.FULL
    do = "; free some space and run the same command again" if full else ""
    return " ".join(str(error).splitlines()) + do


def _stopped(stoppable: signals.Stoppable, context: click.Context | None) -> int:
    """Prints that a command was stopped, and what is left behind; returns the exit code."""
    running = context and context.meta.get("command")
    left = running.command.left(running.obj) if running else "nothing was changed"
    if os.environ.get("RANK", "0") == "0":  # of several, under torchrun, the first one speaks
        with contextlib.suppress(OSError):  # the terminal is closed
            complain(f"stopped; {left}")
    return 128 + (stoppable.number or signal.SIGINT)


class Overview(click.Group):
    """All commands; only the module of the one that is run is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names of the commands, in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> Command:
        """Returns a command by name; raises UsageError that lists all and names the nearest."""
        if cmd_name not in COMMANDS:
            raise click.UsageError(
                f"expected a command out of {', '.join(COMMANDS)}, got {cmd_name!r}"
                f"{nearest(cmd_name, COMMANDS)}"
            )
        return Command(cmd_name, COMMANDS[cmd_name], import_module(f"tlcourse.cli.{cmd_name}"))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses as click does, but refuses wrong options with the course's own message."""
        if args[0].startswith("-"):
            names = [name for param in self.get_params(ctx) for name in param.opts]
            args = [option_meant(args[0], names, "; `tlcourse --help` lists those there are")]
        return super().parse_args(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        """Returns the page that `tlcourse` alone and `tlcourse --help` show."""
        return page_of_help(
            ["tlcourse", "COMMAND", "[OPTIONS]"],
            "A course on transfer learning in NLP. `tlcourse COMMAND --help` shows the options of "
            "one command.",
            {"Commands": list(COMMANDS.items()), "Options": [("--help, --version", "")]},
        )


@click.group(cls=Overview)
@click.version_option(__version__, prog_name="tlcourse", message="%(prog)s %(version)s")
def overview() -> None:
    """Does nothing itself: its commands do the work."""
