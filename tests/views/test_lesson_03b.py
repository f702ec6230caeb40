import inspect

import pytest

from tests.views.drawn import SAID, nothing_overlaps, refused, said, words_in
from tlcourse.exercises.pretraining.chunked_loss import chunked_loss
from tlcourse.views import interrupted_run, logits_in_chunks, predicted_and_true, seen_and_asked

RUNS = ([1e6, 2e6, 4e6], [6.0, 5.5, 5.2])
LINE = ([1e6, 4e6, 16e6, 64e6], [5.8, 5.0, 4.1, 3.4])
BEYOND, LATER = ("first", 64e6, 3.7), ("both", 128e6, 3.5)


def test_a_law_is_drawn_through_its_runs_and_dashed_beyond():
    laws = {"one": (RUNS, LINE, (3.3, 3.5)), "other": (RUNS, LINE, (3.0, 4.4))}
    picture = predicted_and_true(laws, BEYOND, later=LATER, **SAID)
    axes = picture.axes[0]
    lines = [line.get_ydata().tolist() for line in axes.lines if len(line.get_ydata()) > 1]
    assert lines[:3] == [RUNS[1], [5.8, 5.0], [4.1, 3.4]]
    styles = {tuple(line.get_ydata()): line.get_linestyle() for line in axes.lines}
    assert (styles[5.8, 5.0], styles[4.1, 3.4]) == ("-", "--")
    assert ([64e6], [3.7]) in [(list(x.get_xdata()), list(x.get_ydata())) for x in axes.lines]
    assert words_in(axes) == ["first", "one", "other", "both"]
    assert axes.get_xscale() == "log"


def test_bars_of_two_laws_lie_side_by_side():
    laws = {"one": (RUNS, LINE, (3.3, 3.5)), "other": (RUNS, LINE, (3.0, 4.4))}
    bars = predicted_and_true(laws, BEYOND, later=LATER, **SAID).axes[0].collections
    (left, right) = (bar.get_segments()[0][:, 0] for bar in bars)
    assert left[0] == left[1] < 64e6 < right[0] == right[1]


def test_a_run_that_went_on_is_a_hollow_star_joined_to_the_first():
    laws = {"one": (RUNS, LINE, (4.0, 4.2))}
    picture = predicted_and_true(laws, ("first", 16e6, 4.3), later=("both", 64e6, 3.9), **SAID)
    lines = {tuple(line.get_ydata()): line for line in picture.axes[0].lines}
    assert lines[4.3, 3.9].get_linestyle() == ":"
    assert lines[(3.9,)].get_markerfacecolor() == "white" != lines[(4.3,)].get_markerfacecolor()
    marks = [line for line in picture.axes[0].lines if line.get_marker() == "_"]
    assert [list(mark.get_ydata()) for mark in marks] == [[pytest.approx(4.1)]]  # after one leg
    assert words_in(picture.axes[0]) == ["first", "one", "both"]


def test_targets_are_drawn_where_something_is_asked():
    rows = {"masked": (["a", "<mask>", "c"], [None, "b", None])}
    picture = seen_and_asked(rows, title="One of three is asked", alt="A row of boxes")
    words = words_in(picture.axes[0])
    assert sorted(words) == sorted(["masked", "a", "<mask>", "c", "b"])
    refused("zip", seen_and_asked, {"x": (["a", "b"], [None])})


@pytest.mark.parametrize(
    ("targets", "chunk", "sizes"),
    [
        (8192, 1024, ("256 MiB", "32 MiB", "8 chunks")),
        (2048, 256, ("64 MiB", "8 MiB", "8 chunks")),
        (1000, 300, ("31 MiB", "9.4 MiB", "4 chunks")),
        (64, 32, ("2 MiB", "1 MiB", "2 chunks")),
    ],
)
def test_a_chunk_and_all_logits_have_their_sizes(targets, chunk, sizes):
    picture = logits_in_chunks(targets, 8192, 128, chunk=chunk, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    assert all(size in written for size in sizes), written
    assert f"{targets:,}" in written and f"{chunk:,} rows of 128" in written


def test_what_a_chunk_leaves_has_the_names_of_the_exercise():
    written = said(logits_in_chunks(40, 50, 4, chunk=8, **SAID))
    code = inspect.getsource(chunked_loss)
    for name in ("nats", "d_hidden", "d_weight", "hidden", "logits"):
        assert name in written and name in code


@pytest.mark.parametrize(("steps", "cut"), [(10, 6), (10, 1), (10, 9), (4, 2), (2, 1)])
def test_the_second_run_goes_on_where_the_first_was_cut(steps, cut):
    picture = interrupted_run(steps, cut, **SAID)
    nothing_overlaps(picture)
    numbers = [int(text) for text in said(picture) if text.isdigit()]
    assert sorted(numbers) == sorted([*range(cut + 1), *range(cut, steps)])
    assert f"saved: weights, optimizers, step {cut}" in said(picture)


def test_without_an_alt_text_the_pictures_say_what_they_show():
    assert "8 by 10 logits" in logits_in_chunks(8, 10, 4, chunk=2, title="The finding.").alt
    assert "goes down in step 6" in interrupted_run(10, 6, title="The finding.").alt


def test_what_cannot_be_drawn_is_refused():
    refused("1 to 7 laws in one figure, got 0", predicted_and_true, {}, BEYOND, later=LATER)
    refused("a chunk of 1 to 4 targets, got 5", logits_in_chunks, 8, 10, 4, chunk=5)
    for cut in (0, 4):
        refused("expected a step from 1 to 3", interrupted_run, 4, cut)
