"""Shows messages below an exercise, with a mark and, in a notebook or terminal, a colour."""

import html
import os
import re
import sys
from typing import Any

# For streams that cannot encode a mark, such as a pipe on Windows.
ASCII = str.maketrans({"✓": "+", "✗": "!", "○": "-", "…": "...", "⏎": "/"})
# Okabe-Ito colours; the mark has the same meaning.
MARKS = {
    "solved": ("✓", "#009E73", 32),
    "wrong": ("✗", "#D55E00", 31),
    "open": ("○", "#56B4E9", 36),
    "hint": ("", "#999999", 0),
}
PART = re.compile(r"^(Check|Yours|Expected|Why|Hint(?: \d+ of \d+)?):", re.MULTILINE)
MARKED = re.compile(r"`([^`]+)`|(?<![\w*])\*(\w[\w ]*)\*(?![\w*])")  # `code`, *emphasis*


def _tagged(match: re.Match) -> str:
    """A match of MARKED as HTML; a star within code is kept."""
    code, stressed = match.groups()
    return f"<code>{code}</code>" if code else f"<em>{stressed}</em>"


def tagged(text: str) -> str:
    """A text as HTML, with its `code` and *emphasis* as tags."""
    return MARKED.sub(_tagged, html.escape(text))


class Message:
    """Lines that a notebook shows in colour, and that print as text."""

    def __init__(self, kind: str, lines: list[str]):
        self.kind, self.lines = kind, lines

    def __repr__(self) -> str:
        mark = MARKS[self.kind][0]
        return "\n".join([f"{mark} {self.lines[0]}".strip(), *self.lines[1:]])

    def _repr_html_(self) -> str:
        mark, colour, _ = MARKS[self.kind]
        first, *rest = (
            PART.sub(r"<b>\1:</b>", tagged(line)).replace("\n", "<br>") for line in self.lines
        )
        return (
            f'<div style="border-left:4px solid {colour};padding-left:0.6em">'
            f"<b>{mark}</b> {'<br>'.join([first, *rest])}</div>"
        )


def say(kind: str, *lines: str) -> None:
    """Shows lines with the mark of their kind; empty ones are left out."""
    show(Message(kind, [line for line in lines if line]))


def show(message: Any) -> None:
    """Shows a Message or table as HTML in a notebook, elsewhere as text, coloured in a terminal.

    If the output cannot encode it, marks are replaced by ASCII marks, the rest by question marks.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and hasattr(shell, "kernel"):
        from IPython.display import display

        display(message)
        return
    code, text = MARKS[message.kind][2] if isinstance(message, Message) else 0, str(message)
    text = _encodable(text)
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
