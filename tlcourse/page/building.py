"""Builds the page from its sources and the files of models, as a folder or as one file."""

import base64
import html
import itertools
import json
import re
import shutil
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from string import Template
from typing import Any

from tlcourse import checkpoints, files, lessons
from tlcourse.adaptation import Classifier
from tlcourse.files import PACKAGE
from tlcourse.lessons import first_cell
from tlcourse.page import card, drawing, packing, prerender
from tlcourse.page.models import Shown, chosen
from tlcourse.transformer import Transformer

HERE = PACKAGE / "page"
VIEW = PACKAGE / "views" / "attention.js"  # the view of lesson 08, which makes white space visible
STYLE = HERE / "page.css"
FONT = HERE / "inter.woff2"  # Inter, its Latin letters; inter-license.txt is its licence
PICTURE = "page.png"  # what a link to the page shows
OLD = "old.js"  # a classic script, for browsers that cannot run the modules
LESSONS = ("00", "01", "02", "03", "05", "07", "08")  # to which rooms link
TITLE = "Watch a language model read"
DESCRIPTION = (
    "Type a sentence and see a small Transformer read it in your browser: its tokens, where each "
    "attention head looks, what every block adds, and which word it expects next."
)
WIKIPEDIA = {"wikitext-2", "wikitext-103", "wikipedia-standin"}
# One file may connect to nothing at all; a folder fetches its own files.
ALONE = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; "
ALONE += "style-src 'unsafe-inline'; font-src data:; base-uri 'none'; form-action 'none'"
HOSTED = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
HOSTED += "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'"
IMPORT = re.compile(r'^import \{([^}]*)\} from "([./\w]+)";\n', flags=re.MULTILINE)


def build(out: str | Path, models: Iterable[str | Path] | None = None) -> Path:
    """Writes the page with these models and classifiers (names or folders; None: all shipped ones).

    If `out` ends in `.html`, it is one file with everything in it, and replaces an older file;
    otherwise it is a new folder, for a web server. Both are written completely or not at all.
    Returns the file to open. Raises ValueError for a model that the page cannot read,
    FileNotFoundError for one that does not exist, FileExistsError for a folder that is not empty,
    and what `check` raises.
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
    """Loads each model and classifier and runs it once, so that only working ones are published.

    Raises ValueError for a damaged file, FileNotFoundError for a missing one, FloatingPointError
    for outputs that are not finite.
    """
    from tlcourse.page import trec  # here, because it is also run as a program

    for model in shown:
        if not model.classifier:
            prerender.reading(model.folder)
        else:
            load = trec.load if model.base else Classifier.load
            load(model.folder).probabilities(prerender.CAUSALS, compute=packing.PLAIN)


def page(shown: Sequence[Shown], first: dict[str, Any], **parts: str) -> str:
    """The text of index.html with its parts filled in, and the first model's reading rendered."""
    source = Template((HERE / "index.html").read_text(encoding="utf-8"))
    models = [model for model in shown if not model.classifier]
    causal = {m.name: files.read_json(m.folder / "config.json")["causal"] for m in models}
    settings = {
        "models": list(causal),
        "pair": pair(models, causal),
        "classifiers": [{"name": m.name, "base": m.base} for m in shown if m.classifier],
        "examples": {name: prerender.examples(is_causal) for name, is_causal in causal.items()},
        "lessons": {number: lesson(number) for number in LESSONS},
        "about": {model.name: about(model) for model in models},
        "first": first,
    }
    texts = prerender.examples(first["causal"])
    return source.substitute(
        parts,
        title=TITLE,
        description=DESCRIPTION,
        made=json.dumps(settings).replace("<", "\\u003c"),
        text=html.escape(first["text"]),
        examples="".join(f'<button type="button">{html.escape(text)}</button>' for text in texts),
        drawing=drawing.drawing(first),
    )


def about(model: Shown) -> str:
    """What a model is, in a line: its size, what it was trained on, and by whom."""
    config, _ = checkpoints.shape(model.folder)
    size = sum(each.numel() for each in Transformer(config).parameters()) / 1e6
    said = f"{model.name} is a Transformer with {size:.1f} million parameters"
    log = model.folder / "training.json"
    legs = files.read_json(log)["legs"] if log.is_file() else []
    if not legs:
        return f"{said}."
    corpora = {corpus: None for leg in legs for corpus in leg["corpus"]}
    texts = "Wikipedia articles" if set(corpora) <= WIKIPEDIA else ", ".join(corpora)
    trained = "this course trained it" if model.name in checkpoints.names() else "it was trained"
    tokens = sum(leg["tokens"] for leg in legs) / 1e6
    return f"{said}; {trained} from scratch on {tokens:.0f} million tokens of {texts}."


def pair(models: Sequence[Shown], causal: dict[str, bool]) -> list[str] | None:
    """The names of a causal and a masked model with the same tokenizer; None if there are none."""
    tokenizers = {m.name: files.read_json(m.folder / "tokenizer.json") for m in models}
    for first, second in itertools.permutations(causal, 2):
        if causal[first] and not causal[second] and tokenizers[first] == tokenizers[second]:
            return [first, second]
    return None


def lesson(number: str) -> dict[str, str]:
    """The title and the address of a lesson."""
    entry = lessons.get(number)
    url = f"{address()}/blob/main/notebooks/{entry.path.name}"
    return {"title": entry.title.split(" · ")[-1], "address": url}


def address() -> str:
    """The repository's address, from pyproject.toml or, in an install, the metadata."""
    if (files.root() / "pyproject.toml").exists():
        return first_cell.address()
    urls = metadata.metadata("tlcourse").get_all("Project-URL") or []
    by_label = dict(url.split(", ", 1) for url in urls)
    return by_label.get("Repository", first_cell.UNSET).rstrip("/")


def modules() -> dict[str, str]:
    """The page's modules by file name, each after those that it imports; page.js is the last."""
    sources: dict[str, str] = {}

    def add(path: Path) -> None:
        source = path.read_text(encoding="utf-8")
        for _, imported in IMPORT.findall(source):
            place = (path.parent / imported).resolve()
            if file_name(place) not in sources:
                add(place)
        sources[file_name(path)] = source

    add(HERE / "page.js")
    return sources


def file_name(path: Path) -> str:
    """The name of a module in a built page; the view is renamed, since attention.js is taken."""
    return "view.js" if path == VIEW else path.name


def one_file(shown: Sequence[Shown]) -> str:
    """The page as one text, with all modules in one script and the packed models in base64."""
    script = "\n".join(
        re.sub(r"^export ", "", IMPORT.sub("", source), flags=re.MULTILINE)
        for source in modules().values()
    )
    blocks = [
        f'<script id="{html.escape(model.name)}/{file}" type="application/octet-stream">'
        f"{base64.b64encode(content).decode('ascii')}</script>"
        for model in shown
        for file, content in model.packed().items()
    ]
    font = f"data:font/woff2;base64,{base64.b64encode(FONT.read_bytes()).decode('ascii')}"
    style = STYLE.read_text(encoding="utf-8").replace(FONT.name, font)
    old = (HERE / OLD).read_text(encoding="utf-8")
    return page(
        shown,
        prerender.reading(shown[0].folder),
        policy=ALONE,
        image="",
        style=f"<style>\n{style}</style>",
        old=f"<script>\n{old}</script>",
        files="\n".join(blocks),
        script=f'<script type="module">\n{script}</script>',
    )


def fill(folder: Path, shown: Sequence[Shown]) -> None:
    """Writes the page into a folder: its modules, and a folder with the files of each model."""
    for name, source in modules().items():
        text = source.replace('"../views/attention.js"', '"./view.js"')
        files.write_text(folder / name, text)
    for path in (STYLE, FONT, HERE / OLD):
        shutil.copyfile(path, folder / path.name)
    for model in shown:
        (folder / model.name).mkdir()
        for file, content in model.packed().items():
            (folder / model.name / file).write_bytes(content)
    first = prerender.reading(shown[0].folder)
    card.draw(folder / PICTURE, TITLE, first)
    text = page(
        shown,
        first,
        policy=HOSTED,
        image=f'<meta property="og:image" content="{PICTURE}">',
        style=f'<link rel="stylesheet" href="{STYLE.name}">',
        old=f'<script src="{OLD}"></script>',
        files="",
        script='<script type="module" src="page.js"></script>',
    )
    files.write_text(folder / "index.html", text)
