"""The page as one file and as a folder: whole, with the models as they are, and what is refused."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.page.node import needed, node
from tlcourse import checkpoints
from tlcourse.bpe import Tokenizer
from tlcourse.files import PACKAGE
from tlcourse.page import build
from tlcourse.page.building import BLOCK, FILES, USUAL
from tlcourse.transformer import Config, Transformer, gpt2

SMALL = {"width": 8, "layers": 1, "heads": 2, "feed_forward": 8, "vocabulary_size": 300}


class Page(HTMLParser):
    """The attributes of a page's tags, and the texts of its scripts by id (or None)."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.scripts, self.inside = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        self.inside = (attributes.get("id"),) if tag == "script" else None

    def handle_data(self, text):
        if self.inside is not None:
            self.scripts[self.inside[0]] = self.scripts.get(self.inside[0], "") + text

    def handle_endtag(self, tag):
        self.inside = None


def checkpoint(folder: Path, config: Config) -> Path:
    tokenizer = Tokenizer.train(["the rain on the trains"] * 3, config.vocabulary_size)
    checkpoints.save(folder, Transformer(config), tokenizer)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("models") / 'my "<model>" & $style', Config(**SMALL))


def policy(page: Page) -> str:
    return next(each["content"] for tag, each in page.tags if each.get("http-equiv"))


def test_one_file_holds_everything(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert build(out, [model]) == out == build(out, model)  # and again over it
    page = Page(out.read_text(encoding="utf-8"))
    assert json.loads(page.scripts["page-models"]) == {"models": [model.name]}
    for file in FILES:
        kept = base64.b64decode(page.scripts[f"{model.name}/{file}"], validate=True)
        assert kept == (model / file).read_bytes()
    assert not [each for _, each in page.tags if {"src", "href"} & set(each)]
    assert "connect-src" not in policy(page) and policy(page).startswith("default-src 'none';")


@needed
def test_the_modules_are_one_script_without_imports(model: Path, tmp_path: Path) -> None:
    build(tmp_path / "page.html", [model])
    script = Page((tmp_path / "page.html").read_text(encoding="utf-8")).scripts[None]
    assert not re.search(r"^(import|export)\b", script, flags=re.MULTILINE)
    assert script.index("class Block") < script.index("class Transformer")
    assert "</script" not in script
    (tmp_path / "page.mjs").write_text(script, encoding="utf-8")
    result = node("--check", tmp_path / "page.mjs")  # twice the same name would be an error
    assert result.returncode == 0, result.stderr


def test_a_folder_has_the_files_of_the_models(model: Path, tmp_path: Path) -> None:
    index = build(tmp_path / "page", [model, "causal-small"])
    assert index == tmp_path / "page" / "index.html"
    page = Page(index.read_text(encoding="utf-8"))
    assert json.loads(page.scripts["page-models"]) == {"models": [model.name, "causal-small"]}
    assert "connect-src 'self'" in policy(page) and "'unsafe-inline'" not in policy(page)
    for file in FILES:
        assert (index.parent / model.name / file).read_bytes() == (model / file).read_bytes()
    for path in index.parent.glob("*.js"):
        for imported in re.findall(r'^.*from "([^"]+)";$', path.read_text("utf-8"), re.MULTILINE):
            assert (path.parent / imported).is_file(), f"{path.name} imports {imported}"


def test_all_shipped_models_are_the_default(tmp_path: Path) -> None:
    text = build(tmp_path / "page.html").read_text(encoding="utf-8")
    listed = text.split('<script id="page-models" type="application/json">')[1].split("</script")[0]
    assert json.loads(listed) == {"models": checkpoints.names()}
    assert len(text) < 20e6 * len(checkpoints.names())


def test_what_is_refused(model: Path, tmp_path: Path) -> None:
    other = checkpoint(tmp_path / "other", gpt2(**SMALL))
    with pytest.raises(ValueError, match="the course's own block.*got other with rotary False, qk"):
        build(tmp_path / "page.html", [model, other])
    with pytest.raises(ValueError, match="different names, got .* twice; rename one"):
        build(tmp_path / "page.html", [model, model])
    with pytest.raises(ValueError, match="at least one model"):
        build(tmp_path / "page.html", [])
    with pytest.raises(FileNotFoundError, match="expected a checkpoint folder or one of"):
        build(tmp_path / "page.html", ["nowhere"])
    with pytest.raises(FileExistsError, match="expected a new folder"):
        build(other, [model])
    assert not (tmp_path / "page.html").exists()
    assert sorted(path.name for path in other.iterdir())[0] == "README.md"


def test_the_page_and_the_builder_refuse_the_same_models() -> None:
    source = (PACKAGE / "page" / "model.js").read_text(encoding="utf-8")
    block = source.split("const OWN_BLOCK = {")[1].split("}")[0]
    found = dict(re.findall(r"(\w+): (.+),", block))
    assert {name: json.loads(value) for name, value in found.items()} == {
        n: USUAL[n] for n in BLOCK
    }
