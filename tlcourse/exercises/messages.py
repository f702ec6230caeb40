"""How the course talks below an exercise: a mark and a colour, and words where there is none."""

import html
import os
import re
import sys
from typing import Any

# Where a stream cannot encode a mark, as a pipe on Windows cannot.
ASCII = str.maketrans({"✓": "+", "✗": "!", "○": "-", "…": "...", "⏎": "/"})
# Okabe-Ito; the mark says the same without colour.
MARKS = {
    "solved": ("✓", "#009E73", 32),
    "wrong": ("✗", "#D55E00", 31),
    "open": ("○", "#56B4E9", 36),
    "hint": ("", "#999999", 0),
}
PART = re.compile(r"^(Check|Yours|Expected|Why|Hint(?: \d+ of \d+)?):", re.MULTILINE)
MARKED = re.compile(r"`([^`]+)`|(?<![\w*])\*(\w[\w ]*)\*(?![\w*])")  # `code`, *emphasis*


def _tagged(found: re.Match) -> str:
    """What MARKED found as HTML; within code a star is a star."""
    code, stressed = found.groups()
    return f"<code>{code}</code>" if code else f"<em>{stressed}</em>"


class Said:
    """Lines as a notebook shows them, in colour, and as text."""

    def __init__(self, kind: str, lines: list[str]):
        self.kind, self.lines = kind, lines

    def __repr__(self) -> str:
        mark = MARKS[self.kind][0]
        return "\n".join([f"{mark} {self.lines[0]}".strip(), *self.lines[1:]])

    def _repr_html_(self) -> str:
        mark, colour, _ = MARKS[self.kind]
        escaped = (
            PART.sub(r"<b>\1:</b>", html.escape(each)).replace("\n", "<br>") for each in self.lines
        )
        first, *rest = (MARKED.sub(_tagged, each) for each in escaped)
        return (
            f'<div style="border-left:4px solid {colour};padding-left:0.6em">'
            f"<b>{mark}</b> {'<br>'.join([first, *rest])}</div>"
        )


def say(kind: str, *lines: str) -> None:
    """Shows lines under the mark of their kind; empty ones are left out."""
    show(Said(kind, [line for line in lines if line]))


def show(said: Any) -> None:
    """Shows in a notebook as HTML, elsewhere as text, in colour where a terminal takes it.

    What the output cannot encode becomes ASCII: a mark another mark, all else a question mark.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and hasattr(shell, "kernel"):
        from IPython.display import display

        display(said)
        return
    code, text = MARKS[said.kind][2] if isinstance(said, Said) else 0, _encodable(str(said))
    if code and sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        text = f"\x1b[{code}m{text}\x1b[0m"
    print(text)


def _encodable(text: str) -> str:
    """`text` as the standard output can encode it."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
        return text
    except UnicodeEncodeError:
        return text.translate(ASCII).encode(encoding, "replace").decode(encoding)
