import pytest

from tlcourse import files
from tlcourse.lessons import headline, headlines
from tlcourse.lessons.headlines import store


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """An empty place for stored numbers, at size tiny, with nothing being collected."""
    monkeypatch.setattr(files, "root", lambda: tmp_path)
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    monkeypatch.delenv(headlines.COLLECT, raising=False)
    return tmp_path


def keep(clone, **record):
    full = {"unit": "times", "size": "tiny", "data": "sample", "hardware": "2 CPU threads"}
    files.write_json(clone / headlines.STORE, {"bpe.speedup": full | record})


@pytest.mark.parametrize(
    ("stored", "mine", "tolerance", "said"),
    [
        (88.0, 88.0, 0.0, "-> same"),
        (88.04, 87.96, 0.0, "-> same"),  # both are printed as 88
        (88.0, 60.0, 0.5, "-> expected at this size"),
        (88.0, 60.0, 0.1, "-> look here"),
        (-2.0, -2.1, 0.1, "-> expected at this size"),
        (3834, 3833, 0.0, "-> look here"),
    ],
)
def test_verdict(clone, capsys, stored, mine, tolerance, said):
    keep(clone, value=stored)
    headline("bpe.speedup", mine, unit="times", data="sample", tolerance=tolerance)
    assert capsys.readouterr().out.splitlines()[-1].strip() == said


def test_says_both_numbers_and_where_they_come_from(clone, capsys):
    keep(clone, value=88.04)
    headline("bpe.speedup", 61.5, unit="times", data="sample", tolerance=0.5)
    assert capsys.readouterr().out.splitlines()[:2] == [
        "bpe.speedup: 61.5 times (size tiny, sample)",
        "    stored: 88 times (size tiny, sample, 2 CPU threads)",
    ]


@pytest.mark.parametrize("other", [{"size": "small"}, {"data": "WikiText-2"}])
def test_does_not_compare_what_cannot_be_compared(clone, capsys, other):
    keep(clone, value=88.0, **other)
    headline("bpe.speedup", 88.0, unit="times", data="sample")
    assert "-> not compared: the stored run had" in capsys.readouterr().out


def test_without_a_stored_number(clone, capsys):
    headline("bpe.speedup", 12.0)
    assert "stored: nothing yet" in capsys.readouterr().out
    assert not (clone / headlines.STORE).exists()


def test_a_collecting_run_stores_what_it_printed(clone, capsys, monkeypatch):
    keep(clone, value=88.0)
    collected = clone / "collected"
    monkeypatch.setenv(headlines.COLLECT, str(collected))
    headline("bpe.speedup", 50.0, unit="times", data="sample")
    headline("bpe.equal", 3834, unit="merges", data="sample")
    assert capsys.readouterr().out.count("-> same") == 2
    assert files.read_json(clone / headlines.STORE)["bpe.speedup"]["value"] == 88.0
    assert store(collected) == [
        "bpe.speedup: 88 times -> 50 times",
        "bpe.equal: nothing -> 3,834 merges",
    ]
    stored = files.read_json(clone / headlines.STORE)
    assert stored["bpe.equal"]["value"] == 3834
    assert stored["bpe.speedup"]["hardware"]
    monkeypatch.delenv(headlines.COLLECT)
    headline("bpe.equal", 3834, unit="merges", data="sample")
    assert "-> same" in capsys.readouterr().out


def test_storing_nothing_writes_nothing(clone):
    assert store(clone / "collected") == []
    assert not (clone / headlines.STORE).exists()


@pytest.mark.parametrize(("name", "value"), [("speedup", 1.0), ("bpe.x", float("nan"))])
def test_errors(clone, name, value):
    with pytest.raises(ValueError, match="expected"):
        headline(name, value)
