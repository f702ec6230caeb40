"""`python -m tlcourse` is the command `tlcourse`, which is installed as `main` here."""

import sys

from tlcourse import signals


def main() -> int:
    """Runs the command of this process; Ctrl-C at any moment ends it in one line, or none."""
    signals.begin()
    from tlcourse.cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
