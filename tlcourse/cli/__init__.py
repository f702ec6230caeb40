"""The command `tlcourse`: one module a command, with its options and its work.

    from tlcourse.cli import main

    main(["data", "trec"])    # what `tlcourse data trec` does in a shell; 0 when all went well
    main(["progress"])

`main` imports the module of the command that is asked for, and no other; that one imports what it
works with when it runs. So lists, help and wrong words are quick: none of them loads PyTorch. A new
command is a module here with `add_options(parser)` and `run(arguments)`, which returns the exit
code, and a line in `command_line.COMMANDS`.
"""

from tlcourse.cli.command_line import main

__all__ = ["main"]
