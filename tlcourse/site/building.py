"""Builds the site: sources for Sphinx in a temporary folder, then HTML from them."""

import base64
import html
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from PIL import Image

from tlcourse import files, lessons, page
from tlcourse.exercises import task
from tlcourse.lessons import deck, finding, first_cell, slides, solved
from tlcourse.site import reference

DOCUMENTS = ("RESULTS.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE-PROSE.md")
CLONE = ("README.md", *DOCUMENTS, "docs", "notebooks")  # what a wheel does not have
STYLE = Path(__file__).with_name("site.css")
BADGE = re.compile(r"^\[!\[[^\]]*\]\([^)]*\)\]\([^)]*\)\n*", re.MULTILINE)
FOLDER = re.compile(r'href="\.\./([\w./-]+)/"')  # a link of a slide
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
PNG = "image/png"
PAGE = "page.html"
PAGES = (".md", ".ipynb")
SLIDES = "slides.css"  # the style sheet that all slides share
# Furo repeats its icons in every page; here they are in one script.
ICONS = re.compile(r'<svg [^>]*style="display: none;">.*?</symbol>\s*</svg>', re.DOTALL)
SHOW_ICONS = "document.body.insertAdjacentHTML('afterbegin', {});\n"
# Names, operators, punctuation and space in code get the colour of the text around them.
PLAIN = re.compile(r'<span class="(?:n|o|p|w)">([^<]*)</span>')
BREAK = re.compile(r"(<(pre|textarea|script|style)\b.*?</\2>)|\s*\n\s+", re.DOTALL)
SETTINGS = {
    "project": "Transfer learning in NLP",
    "html_title": "Transfer learning in NLP",
    "extensions": ["myst_nb", "tlcourse.site.formulas"],
    "nb_execution_mode": "off",
    "nb_merge_streams": True,
    "myst_enable_extensions": ["dollarmath", "amsmath"],
    "myst_heading_anchors": 4,
    "html_theme": "furo",
    "html_math_renderer": "mathml",
    "html_copy_source": False,
    "html_show_copyright": False,
    "html_show_search_summary": False,  # would fetch pages, which a file cannot
    "html_use_index": False,
    "html_permalinks": False,  # the contents beside a page have them
    "html_static_path": ["_static"],
    "html_css_files": ["site.css"],
    "html_extra_path": ["_extra"],
    "exclude_patterns": ["_static", "_extra"],
    "suppress_warnings": ["myst.header", "mystnb.mime_priority", "misc.highlighting_failure"],
    "pygments_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def build(out: str | Path, say: Callable[[str], Any] = print) -> Path:
    """Builds the site into the new folder `out`; returns the file to open.

    Every link within it leads to a file in it. The folder is written completely or not at all.
    Raises FileNotFoundError where the documents are missing, as in an installed wheel,
    FileExistsError for a folder that is not empty, ImportError without the extra `[site]`, and
    ValueError if Sphinx finds fault with a document.
    """
    root = files.root()
    missing = [name for name in CLONE if not (root / name).exists()]
    if missing:
        raise FileNotFoundError(
            f"expected a clone of the repository, but {missing[0]} is missing in {root}; clone it "
            "and install the course from there: pip install -e '.[site]'"
        )
    with files.new_folder(Path(out)) as folder, tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary)
        _sources(root, source, say)
        say("pages")
        _sphinx(source, folder)
    return Path(out) / "index.html"


def _sphinx(source: Path, out: Path) -> None:
    """Runs Sphinx in a process of its own, because it can run only once in one."""
    missing = [name for name in ("furo", "myst_nb", "sphinx") if find_spec(name) is None]
    if missing:
        do = "install the optional extra: pip install -c constraints.txt -e '.[site]'"
        raise ImportError(f"expected Sphinx, myst-nb and furo, got no {missing[0]}; {do}")
    settings = "".join(f"{name} = {value!r}\n" for name, value in SETTINGS.items())
    files.write_text(source / "conf.py", settings)
    with tempfile.TemporaryDirectory() as trees:
        command = [sys.executable, "-m", "sphinx", "-q", "--no-color", "-j", "auto", "-d", trees]
        done = subprocess.run([*command, source, out], capture_output=True, text=True)
    if done.returncode or done.stderr:
        faults = done.stderr.strip()[:1000]
        raise ValueError(f"expected pages without faults, got: {faults}")
    shutil.rmtree(out / "_sources", ignore_errors=True)
    for path in (out / ".buildinfo", out / "objects.inv", *out.rglob("*.map")):
        path.unlink(missing_ok=True)
    _mended(out)


def _sources(root: Path, source: Path, say: Callable[[str], Any]) -> None:
    """Writes what Sphinx reads, laid out as the repository, so that its links hold."""
    (source / "_static").mkdir()
    shutil.copy(STYLE, source / "_static" / "site.css")
    files.write_text(source / "_static" / SLIDES, deck.styles())
    for name, script in deck.scripts().items():
        files.write_text(source / "_static" / name, script)
    for name in DOCUMENTS:
        _document(root, source, name)
    for path in sorted((root / "docs").rglob("*.md")):
        _document(root, source, str(path.relative_to(root)))
    for name, text in reference.pages().items():
        files.write_text(source / "reference" / f"{name}.md", text)
    every = lessons.every()
    for lesson in every:
        say(f"lesson {lesson.id}")
        figures = _lesson(root, source, lesson)
        _slides(source, lesson, figures)
    say("the page with the models")
    page.build(source / "_extra" / PAGE, ["causal-small", "trec-lora"])
    _document(root, source, "README.md", "index.md", _contents([each.path.stem for each in every]))


def _contents(names: list[str]) -> str:
    """The table of contents beside every page; it is not shown on the first one."""
    documents = [str(Path(name).with_suffix("")) for name in DOCUMENTS]
    groups = {
        "Lessons": [f"notebooks/{name}" for name in names],
        "Documents": ["docs/commands", "docs/classifiers", "docs/pretraining", *documents],
        "For lecturers": _teaching(),
        "Package": ["reference/index"],
    }
    return "\n\n".join(
        "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", *entries, "```"])
        for caption, entries in groups.items()
    )


def _teaching() -> list[str]:
    """The documents for lecturers; those of single lessons are last."""
    folder = files.root() / "docs" / "teaching"
    paths = [*sorted(folder.glob("*.md")), *sorted(folder.glob("*/*.md"))]
    return [str(path.relative_to(files.root()).with_suffix("")) for path in paths]


def _document(root: Path, source: Path, name: str, target: str = "", more: str = "") -> None:
    text = (root / name).read_text(encoding="utf-8")
    text = _linked(root, source, Path(name), BADGE.sub("", text))
    files.write_text(source / (target or name), f"{text}\n{more}\n")


def _linked(root: Path, source: Path, name: Path, text: str) -> str:
    """The text, after copying the files that it links to; a folder's link leads to the repository.

    Sphinx follows links to pages and files in documents, but leaves those of notebooks as they are.
    """
    places = [source, source / "_extra"] if name.suffix == ".ipynb" else [source]

    def kept(match: re.Match) -> str:
        path = (root / name.parent / match[1]).resolve()
        if re.match(r"\w+:", match[1]) or not path.is_relative_to(root):
            return match[0]
        inside = path.relative_to(root)
        if path.is_dir():
            return f"]({first_cell.address()}/tree/main/{inside})"
        if path.suffix not in PAGES:
            for place in places:
                (place / inside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, place / inside)
        return match[0]

    return LINK.sub(kept, text)


def _mended(out: Path) -> None:
    """Rewrites the built pages: links to notebooks, captions of the theme, and what is large.

    The icons go into one script for all pages, the most frequent parts of code lose their elements,
    and lines lose their indentation.
    """
    for path in out.rglob("*.html"):
        if path == out / PAGE:
            continue
        text = path.read_text(encoding="utf-8")
        text = re.sub(r'href="((?!\w+:)[^"#]+)\.(?:ipynb|md)(["#])', r'href="\1.html\2', text)
        text = text.replace('class="caption" role="heading"', 'class="caption"')
        if icons := ICONS.search(text):
            files.write_text(out / "_static" / "icons.js", SHOW_ICONS.format(json.dumps(icons[0])))
            place = "../" * (len(path.relative_to(out).parts) - 1)
            text = text.replace(icons[0], f'<script src="{place}_static/icons.js"></script>')
        text = PLAIN.sub(r"\1", text)
        text = BREAK.sub(lambda match: match[1] or "\n", text)
        path.write_text(text, encoding="utf-8")


def _lesson(root: Path, source: Path, lesson: finding.Lesson) -> dict[str, str]:
    """Writes a lesson with its outputs, with hints folded and figures as files, with alt texts.

    Returns the names of these files by the figures' PNG, in base64.
    """
    notebook = finding.read_notebook(lesson.path)
    name = lesson.path.relative_to(root)
    cells: list[Any] = []
    figures: dict[str, str] = {}
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type == "markdown":
            cell.source = _linked(root, source, name, BADGE.sub("", cell.source))
        elif cell.cell_type == "code":
            cell.outputs = [_shown(source, lesson, output, figures) for output in cell.outputs]
            if cell.id == "set-up" or cell.metadata.get("jupyter", {}).get("source_hidden"):
                cell.metadata["tags"] = ["hide-input"]
            if handed_in := solved.HANDED_IN.search(cell.source):
                cells.append(_hints(handed_in[2]))
    title, _, rest = notebook.cells[0].source.partition("\n")
    slides_link = f'<a href="../slides/{lesson.path.stem}.html">Slides of this lesson</a>'
    notebook.cells[0].source = f"{title}\n\n{slides_link}\n{rest}"
    notebook.cells = cells
    finding.write_notebook(notebook, source / name)
    return figures


def _shown(source: Path, lesson: finding.Lesson, output: Any, figures: dict[str, str]) -> Any:
    """An output whose picture is a file beside the page, because only that keeps its alt text.

    The file is a lossless WebP, which is smaller than the notebook's PNG; its name goes into
    `figures`.
    """
    data = output.get("data", {})
    if PNG not in data:
        return output
    png = data[PNG].replace("\n", "")
    folder = source / "_static" / "figures"
    folder.mkdir(exist_ok=True)
    target = folder / f"{lesson.id}-{len(list(folder.glob(f'{lesson.id}-*')))}.webp"
    with Image.open(io.BytesIO(base64.b64decode(png))) as image:
        image.save(target, lossless=True, quality=75, method=3)  # how hard it tries
    figures[png] = target.name
    alt = html.escape(output.metadata.get(PNG, {}).get("alt", ""))
    picture = f'<img class="figure" alt="{alt}" src="../_static/figures/{target.name}">'
    output.data = {"text/html": picture}
    return output


def _slides(source: Path, lesson: finding.Lesson, figures: dict[str, str]) -> None:
    """The slides, with the styles, scripts and figures that the site has once for all lessons."""
    text = deck.to_html(slides.of(lesson.path), lesson.title)
    text = FOLDER.sub(rf'href="{first_cell.address()}/tree/main/\1"', text)
    shared = f'<link rel="stylesheet" href="../_static/{SLIDES}">'
    text = text.replace(deck.style_of(deck.styles()), shared)
    for name, script in deck.scripts().items():
        shared = f'<script src="../_static/{name}"></script>'
        text = text.replace(deck.script_of(script), shared)
    for png, name in figures.items():
        text = text.replace(f"data:{PNG};base64,{png}", f"../_static/figures/{name}")
    files.write_text(source / "_extra" / "slides" / f"{lesson.path.stem}.html", text)


def _hints(id: str) -> Any:
    """A Markdown cell with the hints of an exercise, each folded."""
    from nbformat.v4 import new_markdown_cell

    folds = (
        f"<details><summary>Hint {number}</summary>\n\n{hint}\n</details>"
        for number, hint in enumerate(task.get(id).hints, start=1)
    )
    return new_markdown_cell("\n\n".join(folds))
