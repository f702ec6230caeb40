"""The table of sizes."""

from dataclasses import FrozenInstanceError, fields

import IPython
import pytest

from tlcourse import sizes

TOLD = "The text speaks of the stored run at size small; the numbers here will differ.\n"


def test_a_size_is_a_column_of_the_table(monkeypatch):
    small = sizes.get("small")
    assert (small.name, small.pretraining_corpus) == ("small", "wikitext-2")
    assert [sizes.get(name).adaptation_steps for name in sizes.NAMES] == [10, 100, 200]
    assert list(sizes.SIZES) == list(sizes.NAMES) == ["tiny", "small", "full"]
    monkeypatch.delenv("TLCOURSE_SIZE")
    assert sizes.current() is small
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    assert sizes.current() is sizes.get("tiny")


def test_every_number_is_of_its_type_and_no_size_is_larger_than_the_next():
    for row in fields(sizes.Size):
        values = [getattr(sizes.get(name), row.name) for name in sizes.NAMES]
        assert all(type(value) is row.type for value in values), row.name
        if row.type is int:
            assert 0 < values[0] <= values[1] <= values[2], row.name


def test_a_size_is_printable_and_fixed():
    size = sizes.get("tiny")
    assert str(size).startswith("Size(name='tiny', start_labels=24, ")
    with pytest.raises(FrozenInstanceError):
        size.adaptation_steps = 3


def test_an_unknown_size_is_one_clear_error(monkeypatch):
    said = "expected a size out of tiny, small, full, got 'huge'"
    with pytest.raises(ValueError, match=said):
        sizes.get("huge")
    monkeypatch.setenv("TLCOURSE_SIZE", "huge")
    with pytest.raises(ValueError, match=said):
        sizes.current()


def test_a_notebook_is_told_once_at_tiny_that_the_text_is_of_another_run(monkeypatch, capsys):
    sizes._print_note_on_tiny.cache_clear()
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    sizes.current()
    assert capsys.readouterr().out == ""  # no notebook
    monkeypatch.setattr(IPython, "get_ipython", Kernel)
    monkeypatch.setenv("TLCOURSE_SIZE", "small")
    sizes.current()
    assert capsys.readouterr().out == ""
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    sizes.current()
    sizes.current()
    said = capsys.readouterr().out
    assert said.startswith("[size] tiny: ") and said.endswith(TOLD) and said.count("\n") == 1


class Kernel:
    """The shell of a notebook, as far as it is looked at."""

    kernel = None


def test_a_ceiling_is_said_where_it_is_met(capsys):
    assert sizes.cap(3, 5, "texts") == 3 and capsys.readouterr().out == ""
    assert sizes.cap(3000, 5, "texts") == 5
    assert capsys.readouterr().out == "[size] 3,000 texts wanted, 5 there: using 5\n"
