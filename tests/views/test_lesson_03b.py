import inspect

import pytest

from tests.views.drawn import (
    SAID,
    nothing_overlaps,
    refused,
    said,
    title_of,
    words_in,
)
from tlcourse.exercises.pretraining.chunked_loss import chunked_loss
from tlcourse.views import (
    bill_of_a_step,
    hybrid_differences,
    interrupted_run,
    logits_in_chunks,
    memory_of_losses,
    perplexity_by_window,
    predicted_and_true,
    price_of_learning_rates,
    race_of_optimizers,
    seen_and_asked,
    singular_values_by_round,
    singular_values_of_steps,
    worth_of_parts,
)

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


def test_memory_is_told_in_tables_of_logits():
    held = {"all at once": ([0, 1], [100, 300]), "in chunks": ([0, 1], [10, 40])}
    assert "3 tables of logits" in title_of(memory_of_losses(held, 100))
    held["in chunks"] = ([0, 1], [10, 250])
    assert title_of(memory_of_losses(held, 100)) == "Memory of a loss and its gradients"


def test_a_bill_below_half_of_the_largest_is_said():
    assert "less than half" in title_of(bill_of_a_step({"usual": 900.0, "yours": 200.0}, "yours"))
    assert "half" not in title_of(bill_of_a_step({"usual": 900.0, "yours": 700.0}, "yours"))


def test_rounds_bring_singular_values_near_one_or_do_not():
    before = [0.001, 0.1, 1.0]
    assert "near 1" in title_of(singular_values_by_round({"round 5": (before, [0.3, 0.8, 1.1])}))
    assert "near 1" not in title_of(
        singular_values_by_round({"round 1": (before, [0.3, 0.4, 1.1])})
    )


def test_even_singular_values_are_said_of_muon_alone():
    uneven, even = [9.0, 1.0, 0.1], [9.0, 8.0, 7.0]
    said_of = singular_values_of_steps({"AdamW": uneven, "Muon": even, "gradient": uneven})
    assert "Muon evens out" in title_of(said_of)
    said_of = singular_values_of_steps({"AdamW": even, "Muon": even, "gradient": uneven})
    assert "Muon" not in title_of(said_of)


def test_the_winner_of_the_race_is_named_if_it_is_clear():
    lines = {"AdamW": ([1, 2], [7.0, 5.6]), "Muon": ([1, 2], [7.0, 5.4])}
    assert title_of(race_of_optimizers(lines)).startswith("With Muon")
    lines["Muon"] = ([1, 2], [7.0, 5.59])
    assert "Muon" not in title_of(race_of_optimizers(lines))


def test_the_least_sensitive_optimizer_is_named_if_it_is_clear():
    losses = {"AdamW": {1e-3: [5.9], 3e-3: [5.8], 6e-3: [6.1]}, "Muon": {5e-3: [5.5], 0.02: [5.6]}}
    assert title_of(price_of_learning_rates(losses)).startswith("Muon is the least sensitive")
    losses["Muon"][0.02] = [5.75]
    assert title_of(price_of_learning_rates(losses)) == "The price of a learning rate"


@pytest.mark.parametrize(("second", "found"), [(-1.5, True), (0.4, False)])
def test_the_hybrid_beats_the_masked_model_only_if_it_does(second, found):
    rows = {"4M": {"causal": (1.0, 0.0, 2.0), "masked": (second, second - 1, second + 1)}}
    assert ("beats the masked" in title_of(hybrid_differences(rows))) == found


def test_perplexities_differ_if_they_do():
    assert "2 word perplexities" in title_of(perplexity_by_window({"32": 140.0, "128": 70.0}))
    assert "by window" in title_of(perplexity_by_window({"32": 71.0, "128": 70.0}))


@pytest.mark.parametrize(("low", "found"), [(0.1, True), (-0.1, False)])
def test_the_parts_worth_most_are_named_if_they_help(low, found):
    worse = {"a": (0.3, 0.2, 0.4), "b": (0.2, low, 0.3), "all": (0.7, 0.6, 0.8)}
    assert ("Costliest: a, b" in title_of(worth_of_parts(worse, "all"))) == found


def test_laws_are_better_on_the_first_leg_if_they_are():
    laws = {"one": (RUNS, ([1e6, 64e6, 128e6], [5.8, 3.7, 3.1]), (3.3, 3.5))}
    assert "closer to the truth" in title_of(predicted_and_true(laws, BEYOND, later=LATER))
    laws = {"one": (RUNS, ([1e6, 64e6, 128e6], [5.8, 3.0, 3.5]), (3.3, 3.5))}
    assert "closer" not in title_of(predicted_and_true(laws, BEYOND, later=LATER))
