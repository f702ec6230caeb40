"""The page as one file and as a folder: whole, with its models packed, and what is refused."""

import base64
import gzip
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from tests.page.node import needed, node
from tlcourse import checkpoints, files, looking
from tlcourse.adaptation import SCHEMES, Classifier
from tlcourse.bpe import Tokenizer
from tlcourse.cli import main
from tlcourse.files import PACKAGE
from tlcourse.page import build, building, card, drawing, packing, prerender
from tlcourse.page.models import ADDED, BLOCK, EDITS, FILES, OWN_CONFIG, chosen, shipped
from tlcourse.recurrent import LSTMConfig
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
    config = replace(config, vocabulary_size=tokenizer.vocabulary_size)  # what there was to learn
    checkpoints.save(folder, checkpoints.new(config), tokenizer)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("models") / 'my "<model>" & $style', Config(**SMALL))


def made(page: Page) -> dict:
    """What a built page says of itself to its script."""
    return json.loads(page.scripts["page-models"])


def policy(page: Page) -> str:
    return next(each["content"] for tag, each in page.tags if each.get("http-equiv"))


def linked(attributes: dict[str, str | None]) -> str | None:
    """Where a tag leads, unless that is a place of the page itself."""
    address = attributes.get("href")
    return None if address is None or address.startswith("#") else address


def test_one_file_holds_everything(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert build(out, [model]) == out == build(out, model)  # and again over it
    page = Page(out.read_text(encoding="utf-8"))
    assert made(page)["models"] == [model.name] and made(page)["classifiers"] == []
    for file in FILES:
        kept = base64.b64decode(page.scripts[f"{model.name}/{file}.gz"], validate=True)
        assert kept == packing.packed(file, (model / file).read_bytes())
    assert not [each for _, each in page.tags if {"src", "style"} & set(each) or linked(each)]
    assert "connect-src" not in policy(page) and policy(page).startswith("default-src 'none';")
    (font,) = re.findall(
        r'url\("data:font/woff2;base64,([^"]+)"\)', out.read_text(encoding="utf-8")
    )
    assert base64.b64decode(font) == building.FONT.read_bytes() and len(font) < 40_000
    assert "font-src data:;" in policy(page)


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
    assert made(page)["models"] == [model.name, "causal-small"]
    named = {each.get("property") or each.get("name"): each.get("content") for _, each in page.tags}
    assert named["description"] == named["og:description"] and named["og:title"]
    with Image.open(index.parent / named["og:image"]) as picture:
        assert picture.size == card.SIZE
    assert "connect-src 'self'" in policy(page) and "'unsafe-inline'" not in policy(page)
    for file in FILES:
        kept = (index.parent / model.name / f"{file}.gz").read_bytes()
        assert kept == packing.packed(file, (model / file).read_bytes())
    needs = [each.get("src") or linked(each) for _, each in page.tags]
    assert any(needs) and all((index.parent / each).is_file() for each in needs if each)
    assert not [each for _, each in page.tags if "style" in each]  # its policy forbids them
    (font,) = re.findall(r'url\("([^"]+)"\)', (index.parent / "page.css").read_text("utf-8"))
    assert (index.parent / font).is_file() and "font-src 'self'" in policy(page)
    for path in index.parent.glob("*.js"):
        for imported in re.findall(r'^.*from "([^"]+)";$', path.read_text("utf-8"), re.MULTILINE):
            assert (path.parent / imported).is_file(), f"{path.name} imports {imported}"


def test_all_shipped_models_are_the_default(tmp_path: Path) -> None:
    text = build(tmp_path / "page.html").read_text(encoding="utf-8")
    listed = text.split('<script id="page-models" type="application/json">')[1].split("</script")[0]
    found = json.loads(listed)
    assert found["models"] == checkpoints.names()
    assert [*found["models"], *(each["name"] for each in found["classifiers"])] == shipped()
    assert len(text) < 9e6 * len(checkpoints.names()) + 1e6


def test_what_is_refused(model: Path, tmp_path: Path) -> None:
    other = checkpoint(tmp_path / "other", gpt2(**SMALL))
    with pytest.raises(ValueError, match="the course's own block.*got other with rotary False, qk"):
        build(tmp_path / "page.html", [model, other])
    recurrent = checkpoint(tmp_path / "lstm", LSTMConfig(300, 8, (8,)))
    with pytest.raises(ValueError, match="the course's own block for the page, got lstm with"):
        build(tmp_path / "page.html", [model, recurrent])
    with pytest.raises(ValueError, match="different names, got .* twice; rename one"):
        build(tmp_path / "page.html", [model, model])
    with pytest.raises(ValueError, match="at least one language model"):
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
    read = {name: json.loads(value) for name, value in found.items()}
    assert read == {name: OWN_CONFIG[name] for name in BLOCK}


def test_the_first_view_is_what_the_model_makes_of_the_example(tmp_path: Path) -> None:
    """Each of its numbers once more, by another way: the plain call of the model."""
    folder = checkpoints.folder_of("causal-small")
    kept = prerender.reading(folder)
    model, tokenizer = packing.load_rounded(folder)
    with torch.no_grad():
        shares = model(torch.tensor([kept["ids"]]))[0, -1].softmax(-1)
    assert kept["texts"] == tokenizer.tokens(kept["ids"]) and kept["place"] == len(kept["ids"]) - 1
    assert [each["id"] for each in kept["best"]] == shares.topk(10).indices.tolist()
    best = kept["best"][0]
    assert best["probability"] == pytest.approx(float(shares.max()), abs=1e-5)
    effects = {(each["layer"], each["head"]): each["left"] for each in kept["effects"]}
    assert len(effects) == 24
    with torch.no_grad(), looking.ablating(model, [(5, 3)]):
        left = model(torch.tensor([kept["ids"]]))[0, -1].softmax(-1)[best["id"]]
    assert effects[5, 3] == pytest.approx(float(left), abs=1e-5)
    text = drawing.drawing(kept)
    assert f'<span class="told">{drawing.percent(best["probability"])}</span>' in text
    assert text.count("<li") == len(kept["ids"]) + drawing.SHOWN + 1 + kept["layers"]
    assert len(base64.b64decode(kept["attention"])) == 4 * 6 * 4 * len(kept["ids"]) ** 2


def test_a_page_says_what_its_models_are(model: Path) -> None:
    shipped_one, own = (building.about(each) for each in chosen(["causal-small", model]))
    assert shipped_one == (
        "causal-small is a Transformer with 6.8 million parameters; this course trained it from "
        "scratch on 61 million tokens of Wikipedia articles."
    )
    assert own == f"{model.name} is a Transformer with 0.0 million parameters."


def test_a_masked_model_is_asked_at_its_mask() -> None:
    kept = prerender.reading(checkpoints.folder_of("masked-small"))
    assert kept["texts"][kept["place"]] == "<mask>" and not kept["causal"]
    assert "What could stand at &lt;mask&gt;" in drawing.drawing(kept)


def test_pieces_of_one_word_are_joined() -> None:
    texts = ["<eos>", " Ham", "burg", ".", " 19", "45", " New"]
    ids = [0, *range(300, 306)]
    pieces = [text for place, text in enumerate(texts) if drawing.is_piece(ids, texts, place)]
    assert pieces == ["burg", "45"]


def test_tokens_in_the_first_view_are_text() -> None:
    assert drawing.visible(" <b>&") == "&lt;b&gt;&amp;"
    assert [drawing.visible(each) for each in (" a", " ", "\n", "a b")] == ["a", "␣", "↵", "a␣b"]


def classifier(folder: Path, scheme: str) -> Path:
    """A classifier of one's own, as `tlcourse adapt` saves it."""
    config, tokenizer = checkpoints.shape(checkpoints.folder_of("causal-small"))
    made = Classifier(Transformer(config), tokenizer, ["no", "yes"])
    made.add(SCHEMES[scheme].edit)
    made.scheme = SCHEMES[scheme]
    made.save(folder)
    return folder


def test_a_classifier_brings_its_files_or_the_model_it_stands_on(tmp_path: Path) -> None:
    own = classifier(tmp_path / "own", "LoRA")
    shown = {each.name: each for each in chosen(["causal-small", own])}
    assert shown["own"].classifier and set(shown["own"].files) == {*FILES, "classifier.json"}
    added = tmp_path / "added"
    added.mkdir()
    weights = load_file(own / "model.safetensors")
    alone = {name: each for name, each in weights.items() if name.endswith((".a", ".b"))}
    alone |= {name: weights[name] for name in ("head.weight", "head.bias")}
    save_file(alone, added / "model.safetensors")
    record = files.read_json(own / "classifier.json")
    files.write_json(added / "classifier.json", record)
    with pytest.raises(ValueError, match="the name of a base_model in .*added/cl.*, got None"):
        chosen([added])
    files.write_json(added / "classifier.json", record | {"base_model": "causal-small"})
    names = [(each.name, each.base) for each in chosen([added])]
    assert names == [("causal-small", None), ("added", "causal-small")]
    index = build(tmp_path / "page", [added])
    packed = {path.name for path in (index.parent / "added").iterdir()}
    assert packed == {f"{file}.gz" for file in ADDED}
    adapters = classifier(tmp_path / "adapters", "Houlsby adapters")
    with pytest.raises(ValueError, match="for the page, got adapters, adapted by Adapters"):
        chosen(["causal-small", adapters])
    record = files.read_json(adapters / "classifier.json")
    record["scheme"]["edit"] = {"knob": "MyEdit", "rank": 3}
    files.write_json(adapters / "classifier.json", record)
    with pytest.raises(ValueError, match=r"for the page, got adapters, adapted by MyEdit\(rank=3"):
        chosen(["causal-small", adapters])
    with pytest.raises(ValueError, match="at least one language model"):
        chosen([own])


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def infinite(path: Path) -> None:
    weights = load_file(path)
    weights[next(name for name in weights if name.endswith("bias"))][0] = torch.inf
    save_file(weights, path)


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("model.safetensors", cut, "expected weights in"),
        ("model.safetensors", infinite, "expected finite weights in"),
        ("model.safetensors", Path.unlink, "expected weights in|expected model.safetensors in"),
        ("tokenizer.json", lambda path: path.write_text(""), "expected a byte-level BPE tokenizer"),
        ("config.json", lambda path: path.write_text("null"), "expected a JSON object in"),
        ("classifier.json", lambda path: path.write_text("[" * 100_000), "expected JSON in"),
    ],
)
def test_damaged_files_are_not_put_into_a_page(
    name: str, damage, said: str, model: Path, tmp_path: Path
) -> None:
    """Of a model that is not the first, and of a classifier; nothing is written."""
    own = classifier(tmp_path / "own", "LoRA")
    other = shutil.copytree(model, tmp_path / "other")
    for folder in [own] if name == "classifier.json" else [other, own]:
        damage(folder / name)
        for out in ("page.html", "page"):
            with pytest.raises((ValueError, FileNotFoundError), match=f"({said}).*{folder}"):
                build(tmp_path / out, ["causal-small", folder])
            assert not (tmp_path / out).exists()


@pytest.mark.parametrize("damage", [cut, infinite])
def test_damaged_weights_without_their_model_are_not_put_into_a_page(
    damage, tmp_path: Path
) -> None:
    added = tmp_path / "added"
    shutil.copytree(files.root() / "data/classifiers/trec-lora", added)
    damage(added / "model.safetensors")
    with pytest.raises(ValueError, match=f"expected .*weights in {added}"):
        build(tmp_path / "page.html", [added])


def test_finite_weights_whose_answers_are_not_are_not_put_into_a_page(tmp_path: Path) -> None:
    own = classifier(tmp_path / "own", "LoRA")
    weights = load_file(own / "model.safetensors")
    weights = {name: each.float() for name, each in weights.items()}
    save_file(weights | {"head.weight": torch.full((2, 256), 3e38)}, own / "model.safetensors")
    with pytest.raises(FloatingPointError, match="expected finite probabilities"):
        build(tmp_path / "page.html", ["causal-small", own])


@pytest.mark.parametrize("scheme", ["LoRA", "mix of layers", "full fine-tuning"])
def test_a_classifier_of_an_earlier_version_comes_as_this_one_saves_it(
    scheme: str, tmp_path: Path
) -> None:
    """Its record names a scheme and has no dropout; the page reads an edit."""
    own = classifier(tmp_path / "own", scheme)
    record = files.read_json(own / "classifier.json")
    now = record["scheme"]
    del record["dropout"]
    files.write_json(own / "classifier.json", record | {"scheme": scheme})
    index = build(tmp_path / "page", ["causal-small", own])
    kept = (index.parent / "own" / "classifier.json.gz").read_bytes()
    assert json.loads(gzip.decompress(kept)) == record | {"scheme": now}
    text = build(tmp_path / "page.html", ["causal-small", own]).read_text(encoding="utf-8")
    kept = re.search(r'<script id="own/classifier.json.gz"[^>]*>([^<]*)<', text)[1]
    assert json.loads(gzip.decompress(base64.b64decode(kept))) == record | {"scheme": now}


def test_page_and_builder_read_the_same_edits() -> None:
    source = (PACKAGE / "page" / "classify.js").read_text(encoding="utf-8")
    assert json.loads(re.search(r"const EDITS = (\[.*\]);", source)[1]) == list(EDITS)


def test_the_command(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "page.html"
    assert main(["page", "--out", str(out), "--model", str(model)]) == 0
    said = capsys.readouterr().out
    assert model.name in said and "open it in a browser" in said and out.is_file()
    each = ["--model", str(model), "--model", "causal-small"]  # once for each, as others have it
    assert main(["page", "--out", str(tmp_path / "page"), *each]) == 0
    assert (tmp_path / "page" / model.name).is_dir() and (tmp_path / "page/causal-small").is_dir()
    assert "python -m http.server --directory" in capsys.readouterr().out
    assert main(["page", "--out", str(tmp_path / "page"), "--model", str(model)]) == 2
    assert main(["page", "--out", str(out), "--model", "nowhere"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize("out", ["file/page.html", "file/page", "folder.html"])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    tmp_path, monkeypatch, capsys, out
):
    monkeypatch.setattr("tlcourse.page.build", None)
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "folder.html").mkdir()
    assert main(["page", "--out", str(tmp_path / out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "expected " in line and str(tmp_path / out.split("/")[0]) in line
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"
