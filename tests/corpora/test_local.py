"""Mirrors that are damaged, incomplete or wrong, and the bundled sample behind them."""

import json
import lzma
import zipfile
from pathlib import Path

import datasets
import pytest

from tests.corpora import made
from tlcourse import corpora
from tlcourse.corpora import wikitext
from tlcourse.corpora.catalogue import CORPORA
from tlcourse.corpora.checks import Facts, Measure, verify


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty mirror."""
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("LOC:city", "LOC:town", 1), r"line \d+: .*'LOC:town'"),
        (lambda text: text.replace("NUM:date w", "NUM:date\nw", 1), "50 labels.*'NUM:date' and ''"),
    ],
    ids=["label", "empty"],
)
def test_wrong_questions(mirror: Path, change, message: str) -> None:
    made.write_label_files(mirror / "trec")
    labels = mirror / "trec" / "train_5500.label"
    labels.write_text(change(labels.read_text(encoding="latin-1")), encoding="latin-1")
    with pytest.raises(corpora.DataError, match=message):
        corpora.load("trec")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("wikitext-2/wiki.test.tokens.xz", lzma.compress(b" a \n" * 9999)[:-40], "EOFError"),
        ("wikitext-2/wiki.test.tokens.xz", b"no archive", "LZMAError"),
        ("wikitext-2/wiki.test.tokens.xz", lzma.compress(b"\xff latin \n"), "UnicodeDecodeError"),
        ("blimp/BLiMP.zip", b"<html>sign in</html>", "BadZipFile"),
    ],
)
def test_a_damaged_file_is_named(mirror: Path, file: str, content: bytes, message: str) -> None:
    path = mirror / file
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(corpora.DataError, match=f"{path} to its end, but .*damaged.*{message}"):
        corpora.load(path.parent.name)


def test_several_data_sets_may_share_a_folder(mirror: Path) -> None:
    (mirror / "word_similarity").mkdir()
    (mirror / "word_similarity" / "EN-MEN-TR-3k.txt").write_text("sun\tsunlight\t50.0\n")
    with pytest.raises(corpora.DataError, match="men test .local mirror.: expected 3,000 rows, go"):
        corpora.load("men")
    with pytest.raises(corpora.DataError, match="TLCOURSE_DATA has no simlex-999"):
        corpora.load("simlex-999", source="local")


def test_a_streamed_file_is_verified_at_its_end(mirror: Path) -> None:
    path = mirror / "wikipedia-standin" / "wiki.train.tokens.xz"
    path.parent.mkdir()
    path.write_bytes(lzma.compress(b" \n = A = \n Text . \n \n \n = B = \n More . \n"))
    data = corpora.load("wikipedia-standin")
    assert isinstance(data["train"], datasets.IterableDataset)
    assert next(iter(data["train"])) == {"text": ""}
    with pytest.raises(corpora.DataError, match="expected 2,421,982 rows, got 7"):
        list(corpora.articles(data["train"]))


PAIR = {
    "sentence_good": "Cats sleep .",
    "sentence_bad": "Cats sleeps .",
    "UID": "transitive",
    "linguistics_term": "argument_structure",
    "pairID": "0",
}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (json.dumps(PAIR), "expected 67,000 rows, got 1; replace the file below TLCOURSE_DATA"),
        ("{", r"transitive.jsonl, line 1: expected a line with the fields sentence_good"),
        (json.dumps({"UID": "transitive"}), "line 1: .*KeyError: 'sentence_good'"),
        (json.dumps(PAIR | {"UID": "walking"}), "BLiMP's 67 paradigms.*'walking'"),
        (json.dumps(PAIR | {"linguistics_term": "binding"}), "line 1: .*'binding'"),
        (json.dumps(PAIR | {"sentence_bad": " "}), "line 1: expected two sentences"),
    ],
    ids=["rows", "json", "field", "paradigm", "phenomenon", "empty"],
)
@pytest.mark.parametrize("packed", [True, False])
def test_wrong_pairs(mirror: Path, line: str, message: str, packed: bool) -> None:
    (mirror / "blimp").mkdir()
    if packed:
        with zipfile.ZipFile(mirror / "blimp" / "BLiMP.zip", "w") as archive:
            archive.writestr("__MACOSX/data/._transitive.jsonl", b"\xff")
            archive.writestr("data/.DS_Store", b"\xff")
            archive.writestr("data/transitive.jsonl", line + "\n")
    else:
        (mirror / "blimp" / "data").mkdir()
        (mirror / "blimp" / "data" / "transitive.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(corpora.DataError, match=message):
        corpora.load("blimp")


def test_a_mirror_that_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLCOURSE_DATA", "no-such-folder")
    with pytest.raises(corpora.DataError, match="expected a folder in TLCOURSE_DATA"):
        corpora.load("trec")


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("treck", None, "out of trec, wikitext-2, wikitext-2-raw, .*'treck'"),
        ("trec", "hug", "out of local, hub, release, sample, got 'hug'"),
        ("trec", "local", "TLCOURSE_DATA is not set"),
        ("wikipedia-standin", None, "not on the Hugging Face Hub"),
        ("wikipedia-standin", "sample", "no bundled sample"),
    ],
)
def test_what_there_is_not(name: str, source: str | None, message: str) -> None:
    with pytest.raises(corpora.DataError, match=message) as error:
        corpora.load(name, source=source)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", [name for name, each in CORPORA.items() if each.sample])
def test_the_sample_is_loaded_with_one_line(name: str, capsys: pytest.CaptureFixture) -> None:
    data = corpora.load(name, source="sample")
    last = list(data.values())[-1]
    assert corpora.source_of(data) == corpora.source_of(last) == "bundled sample"
    assert capsys.readouterr().out.splitlines() == [
        f"[data] {name}: the bundled sample; numbers on it cannot be compared with published ones"
    ]
    assert "cannot be compared" in corpora.caption_note(last.select([0]))


def test_without_a_mirror_and_offline_the_sample_is_next(capsys: pytest.CaptureFixture) -> None:
    data = corpora.load("trec")
    assert {split: rows.num_rows for split, rows in data.items()} == {"train": 200, "test": 100}
    assert (
        "TLCOURSE_DATA is not set; it is not in the Hugging Face cache" in capsys.readouterr().out
    )


def test_a_mirror_without_the_set_gives_way(mirror: Path, capsys: pytest.CaptureFixture) -> None:
    assert corpora.source_of(corpora.load("trec")) == "bundled sample"
    assert "TLCOURSE_DATA has no trec" in capsys.readouterr().out


def test_a_split_is_never_filled_from_elsewhere() -> None:
    data = corpora.load("trec", source="sample")
    assert "validation" not in data
    with pytest.raises(corpora.DataError, match=r"out of train, test, got 'validation'.*bundled"):
        data["validation"]


def test_what_is_said_of_the_data() -> None:
    assert corpora.describe("trec") == (
        "trec: bundled sample, rows: train 200, test 100; "
        "numbers on it cannot be compared with published ones"
    )
    assert corpora.describe("wikipedia-standin") == "wikipedia-standin: not on this machine"
    assert corpora.available()["trec"] == ["bundled sample"]
    assert corpora.available()["wikipedia-standin"] == []


def test_the_digest_forgets_the_order_but_not_a_repetition() -> None:
    def digest(*rows: str) -> str:
        measure = Measure()
        for row in rows:
            measure.add(wikitext.count(row))
        return measure.digest

    assert digest("a", "b", "b") == digest("b", "a", "b") != digest("a", "a", "b")
    assert digest("a", "a") != digest("b", "b")


def test_a_digest_that_nobody_has_verified_is_a_line(capsys: pytest.CaptureFixture) -> None:
    measure = Measure()
    measure.add(wikitext.count(" a \n"))
    verify(measure, Facts(rows=1, words=2), what="made train", source="local mirror")
    assert "sha256 unknown" in capsys.readouterr().out
