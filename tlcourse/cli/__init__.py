"""The command `tlcourse`: one module a command, with its options and its work.

    from tlcourse.cli import main

    main(["data", "trec"])    # what `tlcourse data trec` does in a shell; 0 when all went well
    main(["progress"])

`main` imports the module of the command that is asked for, and no other; that one imports what it
works with when it runs. So lists, help and wrong words are quick: none of them loads PyTorch. A new
command is a module here with OPTIONS, `run(arguments)`, which returns the exit code, and, where it
changes anything, `left(arguments)`, which says what is there when it is stopped; and a line in
`command_line.COMMANDS`. `options` makes options of a dataclass's fields.
"""

from typing import Any

__all__ = ["main"]


def __getattr__(name: str) -> Any:
    """`main`, imported when it is first used: a process listens to signals before (`signals`)."""
    if name != "main":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tlcourse.cli.command_line import main

    return main
