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
        (88.0, 88.0, 0.0, "✓ bpe.speedup: 88 times"),
        (88.04, 87.96, 0.0, "✓ bpe.speedup: 88 times"),  # both are printed as 88
        (88.0, 60.0, 0.5, "✓ bpe.speedup: 60 times (stored run: 88 times)"),
        (-2.0, -2.1, 0.1, "✓ bpe.speedup: -2.1 times (stored run: -2 times)"),
    ],
)
def test_numbers_that_agree_take_one_line(clone, capsys, stored, mine, tolerance, said):
    keep(clone, value=stored)
    headline("bpe.speedup", mine, unit="times", data="sample", tolerance=tolerance)
    assert capsys.readouterr().out.splitlines() == [said]


@pytest.mark.parametrize(
    ("mine", "tolerance", "said"),
    [(60.0, 0.1, "60 times, but the stored run had 88 times"), (3833, 0.0, "3,833 times, but")],
)
def test_numbers_that_disagree_are_told_with_their_origins(clone, capsys, mine, tolerance, said):
    keep(clone, value=88.04 if mine < 100 else 3834)
    headline("bpe.speedup", mine, unit="times", data="sample", tolerance=tolerance)
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith(f"✗ bpe.speedup: {said}") and first.endswith("look here")
    assert rest == [
        "    this run: size tiny, sample",
        "    stored run: size tiny, sample, 2 CPU threads",
        "    Lesson 00, section 0.5, explains what this means.",
    ]


@pytest.mark.parametrize("other", [{"size": "small"}, {"data": "WikiText-2"}])
def test_does_not_compare_what_cannot_be_compared(clone, capsys, other):
    keep(clone, value=88.0, **other)
    headline("bpe.speedup", 88.0, unit="times", data="sample")
    assert "(not compared: the stored run had" in capsys.readouterr().out


def test_without_a_stored_number(clone, capsys):
    headline("bpe.x", 12.0)
    assert capsys.readouterr().out == "bpe.x: 12\n"
    assert not (clone / headlines.STORE).exists()


def test_a_collecting_run_stores_what_it_printed(clone, capsys, monkeypatch):
    keep(clone, value=88.0)
    collected = clone / "collected"
    monkeypatch.setenv(headlines.COLLECT, str(collected))
    headline("bpe.speedup", 50.0, unit="times", data="sample")
    headline("bpe.equal", 3834, unit="merges", data="sample")
    assert capsys.readouterr().out.count("✓") == 2
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
    assert "✓" in capsys.readouterr().out


def test_storing_nothing_writes_nothing(clone):
    assert store(clone / "collected") == []
    assert not (clone / headlines.STORE).exists()


@pytest.mark.parametrize(("name", "value"), [("speedup", 1.0), ("bpe.x", float("nan"))])
def test_errors(clone, name, value):
    with pytest.raises(ValueError, match="expected"):
        headline(name, value)
