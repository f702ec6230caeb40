"""Builds the page on which the models run in a browser, as one file or as a folder."""

import shlex
from pathlib import Path
from types import SimpleNamespace

from tlcourse import files
from tlcourse.cli.options import Option

OPTIONS = [
    Option(
        "--out",
        "FILE.html: one file that opens from disk, with no network; any other name: a new folder "
        "for a web server",
        Path,
        required=True,
    ),
    Option(
        "--model",
        "what `tlcourse pretrain` or `tlcourse adapt` wrote, or shipped names; the first model is "
        "shown first",
        shown="causal-small and trec-lora",
        metavar="FOLDER",
        multiple=True,
    ),
]


def run(arguments: SimpleNamespace) -> int:
    """Builds the page; prints what is in it and how to open it."""
    out = arguments.out
    refuse = files.refuse_no_page if out.suffix == ".html" else files.refuse_occupied
    refuse(out)  # before PyTorch is imported, which takes seconds
    from tlcourse.page import build
    from tlcourse.page.models import DEFAULT_MODELS, chosen

    asked = arguments.model or DEFAULT_MODELS
    index = build(out, asked)
    names = " and ".join(each.name for each in chosen(asked))
    size = sum(path.stat().st_size for path in ([index] if index == out else out.rglob("*")))
    how = "open it in a browser"
    if index != out:
        view = f"python -m http.server --directory {shlex.quote(str(out))}"
        how = f"copy it to any web server, or view it with `{view}`"
    print(f"wrote {out} ({size / 1e6:.1f} MB, with {names}): {how}")
    return 0


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind by a command that was stopped."""
    return "no page is half written"
