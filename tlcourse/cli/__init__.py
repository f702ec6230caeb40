"""The command `tlcourse`: one module a command, with its options and its work.

    from tlcourse.cli import main

    main(["data", "trec"])    # what `tlcourse data trec` does in a shell; 0 when all went well
    main(["progress"])

`main` imports only the module of the command that it runs, and that module imports what it needs
when it runs. Lists, help and errors on wrong words are therefore quick: none of them loads PyTorch.
A new command is a module here with OPTIONS, `run(arguments)`, which returns the exit code, and, if
it changes anything, `left(arguments)`, which returns what is left behind by a command that was
stopped; and a line in `command_line.COMMANDS`. `options` makes options of a dataclass's fields.
"""

from typing import Any

__all__ = ["main"]


def __getattr__(name: str) -> Any:
    """Returns `main`, which is imported on first use, after `signals.begin`."""
    if name != "main":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tlcourse.cli.command_line import main

    return main
