"""For maintainers: makes notebooks uniform (`python -m tlcourse.lessons.first_cell`).

Writes the same first code cell and the Colab badge into every notebook, with the address in
`[project.urls]` of `pyproject.toml`, and sets ids, kernel and language, so that notebooks written
with jupytext or exported from Colab end up alike. Outputs of other cells are kept.
"""

import argparse
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat

from tlcourse import files
from tlcourse.lessons import finding, studying

# Packages that the lessons import and Colab lacks; pip skips the installed ones.
MISSING_ON_COLAB = ("pytorch-ignite",)
UNSET = "https://github.com/OWNER/tlcourse"  # the address until the owner is known
BADGE = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
    },
}


def address() -> str:
    """The repository's address; `UNSET` until `python -m tlcourse.lessons.address` has set it."""
    text = files.bundled("pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]["urls"]["Repository"].rstrip("/")


def source() -> str:
    """The first code cell, which installs the course if necessary and imports it before torch."""
    requirements = " ".join((f"git+{address()}", *MISSING_ON_COLAB))
    return (
        "import importlib.util\n\n"
        'if importlib.util.find_spec("tlcourse") is None:\n'
        f"    %pip install -qq --no-deps {requirements}\n\n"
        "import tlcourse  # import it before torch, because it sets how threads wait"
    )


def badge(file_name: str) -> str:
    """The Markdown of the badge that opens the notebook `file_name` in Colab.

    "" while the address is unset, or if it is not on GitHub, which Colab reads notebooks from.
    """
    github, name = "https://github.com/", address()
    if name == UNSET or not name.startswith(github):
        return ""
    colab = name.replace(github, "https://colab.research.google.com/github/")
    return f"{BADGE}({colab}/blob/main/notebooks/{file_name})"


def conform(notebook: Any, file_name: str) -> Any:
    """Gives `notebook`, in place, the parts that all lessons share, and returns it."""
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        cell.setdefault("id", nbformat.v4.new_code_cell().id)
    notebook.metadata = nbformat.from_dict(METADATA)
    _set_badge(notebook, file_name)
    _set_first_cell(notebook)
    studying.state(notebook)
    return notebook


def _set_badge(notebook: Any, file_name: str) -> None:
    """Puts the badge, if there is one, under the title, replacing an older one."""
    if not notebook.cells or not notebook.cells[0].source.startswith("# "):
        raise ValueError(
            f"expected {file_name} to begin with a Markdown cell '# Title', found something else; "
            "write the opening block first"
        )
    cell = notebook.cells[0]
    title, _, rest = cell.source.partition("\n")
    rest = re.sub(rf"^{re.escape(BADGE)}\(.*\)\n*", "", rest.lstrip("\n"))
    cell.source = "\n\n".join(filter(None, (title, badge(file_name), rest))).rstrip("\n")


def _set_first_cell(notebook: Any) -> None:
    """Inserts the shared first code cell, or replaces an older version of it."""
    code = [i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    index = code[0] if code else len(notebook.cells)
    older = notebook.cells[index].source if code else ""
    if older.startswith("# set-up") or 'find_spec("tlcourse")' in older:
        notebook.cells[index].source = source()
    else:
        notebook.cells.insert(index, nbformat.v4.new_code_cell(source(), id="set-up"))


def main() -> None:
    """Makes the given notebooks, or all of them, uniform, and prints which ones changed."""
    parser = argparse.ArgumentParser(
        prog="python -m tlcourse.lessons.first_cell", description=__doc__
    )
    parser.add_argument("notebooks", nargs="*", type=Path, help="files (default: all lessons)")
    conform_files(parser.parse_args().notebooks or [lesson.path for lesson in finding.every()])


def conform_files(paths: Iterable[Path]) -> None:
    """Writes the parts that all lessons share into notebooks; prints which of them changed."""
    for path in paths:
        before = path.read_text(encoding="utf-8")
        finding.write_notebook(conform(finding.read_notebook(path), path.name), path)
        changed = path.read_text(encoding="utf-8") != before
        print(f"{'written' if changed else 'as it was':10} {path.name}")


if __name__ == "__main__":
    main()
