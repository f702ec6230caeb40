"""Puts the page together: its sources and the files of models, as a folder or as one file."""

import base64
import html
import json
import re
import shutil
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from string import Template

from tlcourse import files, lessons
from tlcourse.adaptation import Classifier
from tlcourse.files import PACKAGE
from tlcourse.lessons import first_cell
from tlcourse.page import first
from tlcourse.page.choosing import Shown, chosen

HERE = PACKAGE / "page"
VIEW = PACKAGE / "views" / "attention.js"  # the attention view of lesson 08
STYLES = (PACKAGE / "views" / "attention.css", HERE / "page.css")
OLD = "old.js"  # a classic script, which runs in browsers that cannot run the modules
LESSONS = ("00", "01", "02", "03", "05", "07", "08")  # to which rooms link
# One file may connect to nothing at all; a folder fetches its own files.
ALONE = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; "
ALONE += "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
HOSTED = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
HOSTED += "connect-src 'self'; base-uri 'none'; form-action 'none'"
IMPORT = re.compile(r'^import \{([^}]*)\} from "([./\w]+)";\n', flags=re.MULTILINE)


def build(out: str | Path, models: Iterable[str | Path] | None = None) -> Path:
    """Writes the page with these models and classifiers, names or folders; None: all shipped ones.

    A name that ends in `.html` gives one file, which holds everything and replaces what was there;
    any other a new folder, for a web server. Both appear whole or not at all. Returns the file to
    open. Raises ValueError for a model that the page cannot read, FileNotFoundError for one that is
    not there, FileExistsError for a folder with something in it, and what `check` raises.
    """
    out = Path(out)
    shown = chosen(models)
    check(shown)
    if out.suffix == ".html":
        files.write_text(out, one_file(shown))
        return out
    with files.new_folder(out) as temporary:
        fill(temporary, shown)
    return out / "index.html"


def check(shown: Iterable[Shown]) -> None:
    """Loads each model and classifier and asks it once: what is copied has to work in a browser.

    Raises ValueError for a damaged file, FileNotFoundError for a missing one, FloatingPointError
    for answers that are not finite.
    """
    from tlcourse.page import trec  # which is run as a program, too

    for each in shown:
        if not each.classifier:
            first.reading(each.folder)
        else:
            load = trec.load if each.base else Classifier.load
            load(each.folder).probabilities(first.CAUSALS, compute=first.PLAIN)


def page(shown: Sequence[Shown], **parts: str) -> str:
    """index.html with its parts put in; the first model has read its example."""
    source = Template((HERE / "index.html").read_text(encoding="utf-8"))
    models = [each for each in shown if not each.classifier]
    kept = first.reading(models[0].folder)
    causal = {each.name: files.read_json(each.folder / "config.json")["causal"] for each in models}
    made = {
        "models": list(causal),
        "pair": pair(models, causal),
        "classifiers": [{"name": e.name, "base": e.base} for e in shown if e.classifier],
        "examples": {name: first.examples(read) for name, read in causal.items()},
        "lessons": {number: lesson(number) for number in LESSONS},
        "first": kept,
    }
    texts = first.examples(kept["causal"])
    return source.substitute(
        parts,
        made=json.dumps(made).replace("<", "\\u003c"),
        text=html.escape(kept["text"]),
        examples="".join(f'<button type="button">{html.escape(text)}</button>' for text in texts),
        glance=first.glance(kept),
    )


def pair(models: Sequence[Shown], causal: dict[str, bool]) -> list[str] | None:
    """A causal and a masked model that cut texts alike, by name; None where one is missing."""
    cuts = {each.name: files.read_json(each.folder / "tokenizer.json") for each in models}
    for one in causal:
        for other in causal:
            if causal[one] and not causal[other] and cuts[one] == cuts[other]:
                return [one, other]
    return None


def lesson(number: str) -> dict[str, str]:
    """Title and address of a lesson."""
    found = lessons.get(number)
    place = f"{address()}/blob/main/notebooks/{found.path.name}"
    return {"title": found.title.split(" · ")[-1], "address": place}


def address() -> str:
    """The repository's address, in a clone and in an install, which has no pyproject.toml."""
    if (files.root() / "pyproject.toml").exists():
        return first_cell.address()
    urls = metadata.metadata("tlcourse").get_all("Project-URL") or []
    found = dict(url.split(", ", 1) for url in urls)
    return found.get("Repository", "https://github.com/OWNER/tlcourse").rstrip("/")


def modules() -> dict[str, str]:
    """The page's modules by file name, each behind all that it imports; page.js is the last."""
    found: dict[str, str] = {}

    def add(path: Path) -> None:
        source = path.read_text(encoding="utf-8")
        for _, imported in IMPORT.findall(source):
            place = (path.parent / imported).resolve()
            if file_name(place) not in found:
                add(place)
        found[file_name(path)] = source

    add(HERE / "page.js")
    return found


def file_name(path: Path) -> str:
    """What a module is called in a built page; the view has the name of another module."""
    return "view.js" if path == VIEW else path.name


def one_file(shown: Sequence[Shown]) -> str:
    """The page as one text: modules one behind the other, and the models' files in base64."""
    script = "\n".join(
        re.sub(r"^export ", "", IMPORT.sub("", source), flags=re.MULTILINE)
        for source in modules().values()
    )
    blocks = [
        f'<script id="{html.escape(each.name)}/{file}" type="application/octet-stream">'
        f"{base64.b64encode(each.content(file)).decode('ascii')}</script>"
        for each in shown
        for file in each.files
    ]
    style = "".join(path.read_text(encoding="utf-8") for path in STYLES)
    old = (HERE / OLD).read_text(encoding="utf-8")
    return page(
        shown,
        policy=ALONE,
        style=f"<style>\n{style}</style>",
        old=f"<script>\n{old}</script>",
        files="\n".join(blocks),
        script=f'<script type="module">\n{script}</script>',
    )


def fill(folder: Path, shown: Sequence[Shown]) -> None:
    """Writes the page into a folder: its modules, and a folder of files for each model."""
    for name, source in modules().items():
        own = source.replace('"../views/attention.js"', '"./view.js"')
        files.write_text(folder / name, own)
    for path in [*STYLES, HERE / OLD]:
        shutil.copyfile(path, folder / path.name)
    for each in shown:
        (folder / each.name).mkdir()
        for file in each.files:
            (folder / each.name / file).write_bytes(each.content(file))
    text = page(
        shown,
        policy=HOSTED,
        style="\n".join(f'<link rel="stylesheet" href="{path.name}">' for path in STYLES),
        old=f'<script src="{OLD}"></script>',
        files="",
        script='<script type="module" src="page.js"></script>',
    )
    files.write_text(folder / "index.html", text)
