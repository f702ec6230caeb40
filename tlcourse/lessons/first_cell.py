"""For maintainers: makes notebooks uniform (`python -m tlcourse.lessons.first_cell`).

Writes the same first code cell and the Colab badge into every notebook, with the address in
`[project.urls]` of `pyproject.toml`, and sets ids, kernel and language, so that notebooks written
with jupytext or exported from Colab end up alike. Outputs of other cells are kept.
"""

import argparse
import re
import tomllib
from pathlib import Path
from typing import Any

import nbformat

from tlcourse import files
from tlcourse.lessons import finding, studying

# Packages that the lessons import and Colab lacks; pip skips the installed ones.
MISSING_ON_COLAB = ("pytorch-ignite",)
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
    """The repository's address, such as `https://github.com/OWNER/tlcourse`."""
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
    """The Markdown of the badge that opens the notebook `file_name` in Colab."""
    colab = address().replace("https://github.com/", "https://colab.research.google.com/github/")
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
    """Puts the badge under the title, replacing an older one."""
    if not notebook.cells or not notebook.cells[0].source.startswith("# "):
        raise ValueError(
            f"expected {file_name} to begin with a Markdown cell '# Title', found something else; "
            "write the opening block first"
        )
    cell = notebook.cells[0]
    title, _, rest = cell.source.partition("\n")
    rest = re.sub(rf"^{re.escape(BADGE)}\(.*\)\n*", "", rest.lstrip("\n"))
    cell.source = f"{title}\n\n{badge(file_name)}\n\n{rest}".rstrip("\n")


def _set_first_cell(notebook: Any) -> None:
    """Inserts the shared first code cell, or replaces an older version of it."""
    code = [i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    index = code[0] if code else len(notebook.cells)
    if code and notebook.cells[index].source == source():
        return
    older = notebook.cells[index].source if code else ""
    outdated = older.startswith("# set-up") or 'find_spec("tlcourse")' in older
    notebook.cells[index : index + outdated] = [nbformat.v4.new_code_cell(source(), id="set-up")]


def main() -> None:
    """Makes the given notebooks, or all of them, uniform, and prints which ones changed."""
    parser = argparse.ArgumentParser(
        prog="python -m tlcourse.lessons.first_cell", description=__doc__
    )
    parser.add_argument("notebooks", nargs="*", type=Path, help="files (default: all lessons)")
    paths = parser.parse_args().notebooks or [lesson.path for lesson in finding.every()]
    for path in paths:
        before = path.read_text(encoding="utf-8")
        finding.write_notebook(conform(finding.read_notebook(path), path.name), path)
        changed = path.read_text(encoding="utf-8") != before
        print(f"{'written' if changed else 'as it was':10} {path.name}")


if __name__ == "__main__":
    main()
