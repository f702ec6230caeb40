import math

import IPython.display
import numpy as np
import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import (
    SAID,
    edged,
    nothing_overlaps,
    refused,
    row_names,
    said,
    title_of,
    titles_of,
    words_in,
)
from tlcourse.exercises.task import get
from tlcourse.views import (
    COLOURS,
    LiveCurve,
    long_and_short,
    nats_of_targets,
    next_and_hidden,
    over_tokens_and_targets,
    sampling_bars,
    schedules,
    three_phases,
    training_loop,
    transfer_differences,
)


@pytest.fixture
def shown(monkeypatch):
    """What was displayed, and how often it was redrawn."""
    pictures = []

    class Handle:
        def update(self, picture):
            pictures.append(picture)

    def display(picture, display_id):
        pictures.append(picture)
        return Handle()

    monkeypatch.setattr(IPython.display, "display", display)
    return pictures


def history(steps: int) -> list[dict]:
    return [{"step": step, "loss": 9.0 - step} for step in range(steps)]


def test_without_widgets_the_curve_is_drawn_once_at_the_end(shown, monkeypatch):
    monkeypatch.setenv("TLCOURSE_WIDGETS", "off")
    watch = LiveCurve("causal", steps=4, tokens_a_step=10, every=0)
    for record in history(4):
        assert not shown
        watch(record)
    assert len(shown) == 1
    assert shown[0].alt == "causal: from 9.00 to 6.00 nats per target in 40 tokens"


def test_with_widgets_it_is_redrawn_in_its_place(shown, monkeypatch):
    monkeypatch.setenv("TLCOURSE_WIDGETS", "on")
    watch = LiveCurve("masked", 3, 10, against={"causal": history(3)}, every=0)
    for record in history(3):
        watch(record)
    assert len(shown) == 3
    names = {line.get_label() for line in shown[-1].axes[0].lines}
    assert {"masked", "causal"} <= names


def test_the_curve_is_over_tokens(shown):
    watch = LiveCurve("causal", 5, 100)
    for record in history(5):
        watch(record)
    (line,) = shown[-1].axes[0].lines
    assert line.get_xdata().tolist() == [100, 200, 300, 400, 500]
    assert line.get_ydata().tolist() == [9, 8, 7, 6, 5]


def test_a_run_that_goes_on_from_another_lies_on_its_line(shown):
    whole = [{"step": step, "loss": (9.0, 2.0, 5.0)[step % 3]} for step in range(60)]
    watch = LiveCurve("the engine", 60, 10, against={"your loop": whole})
    for record in whole[31:]:
        watch(record)
    yours, engine = (line.get_ydata() for line in shown[-1].axes[0].lines[:2])
    assert len(yours) == 60 and engine.tolist() == pytest.approx(yours[31:].tolist())


def test_long_and_short_runs_share_a_logarithmic_axis():
    long = {"one": ([1e4, 1e6], [7, 4]), "two": ([1e4, 1e6], [8, 6])}
    picture = long_and_short(long, {"live": ([1e3, 2e4], [9, 7])}, **SAID)
    axes = picture.axes[0]
    assert axes.get_xscale() == "log"
    assert np.all(np.array(axes.get_xlim()) == [*sorted(axes.get_xlim())])
    assert axes.get_xlim()[0] < 1e3 < 1e6 <= axes.get_xlim()[1]
    assert {"one", "two", "live"} <= set(words_in(axes))
    alone = long_and_short({"one": ([1e4, 1e6], [7, 4])}, {}, **SAID)
    assert words_in(alone.axes[0]) == ["one"]


def test_a_loss_that_is_watched_is_the_same_and_is_drawn(shown, monkeypatch):
    monkeypatch.setenv("TLCOURSE_WIDGETS", "off")
    watch = LiveCurve("yours", 2, 10)
    loss = watch.watching(lambda model, batch: (np.float64(model * batch), 4))
    assert [loss(2.0, 6.0), loss(2.0, 4.0)] == [(12.0, 4), (8.0, 4)]
    assert shown[0].alt == "yours: from 3.00 to 2.00 nats per target in 20 tokens"


def test_losses_are_drawn_over_tokens_and_over_targets():
    runs = {"masked": ([10, 20], [2, 3], [9, 8]), "causal": ([10, 20], [10, 20], [9, 7])}
    picture = over_tokens_and_targets(runs, **SAID)
    for place, axes in enumerate(picture.axes):
        drawn = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]
        assert drawn == [(run[place], run[2]) for run in runs.values()]
        assert [line.get_color() for line in axes.lines] == [COLOURS["vermillion"], COLOURS["blue"]]
    assert set(words_in(picture.axes[1])) == set(runs)
    refused("same length", over_tokens_and_targets, {"x": ([1], [1, 2], [3])})


PIECES = [" The", " river", " flows", " into", " the", " sea", "."]
PADDED = [*PIECES[:4], "<pad>"]
NEXT = {0: (" river", 4.0), 1: (" flows", 2.0), 2: (" into", 0.0)}
ROWS = {"next token": (PADDED, NEXT), "hidden": (PADDED, {1: (" river", 1.5)})}


def test_the_loop_has_the_names_and_shapes_of_the_code():
    picture = training_loop(16, 128, 8192, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    for name in ("windows", "causal_loss", "schedule"):
        assert name in written and get(f"pretraining.{name}").name == name
    assert "(16, 128 + 1)" in written and "(16, 128, 8,192)" in written
    assert len(edged(picture, "blue")) == 4  # the learner's: windows, model, loss, schedule


def test_next_tokens_are_targets_everywhere_but_at_the_end_and_hidden_ones_where_they_are():
    picture = next_and_hidden(PIECES, {2, 5}, **SAID)
    nothing_overlaps(picture)
    written = said(picture)
    assert written.count("<mask>") == 2
    # in the upper row each piece is an input, and all but the first are targets; below 5 and 2
    assert written.count("river") == 3 and written.count("The") == 2 and written.count("sea") == 3


def test_a_decoder_sees_a_triangle_and_an_encoder_all():
    picture = next_and_hidden(PIECES, {2}, **SAID)
    fills = [to_hex(box.get_facecolor()) for box in picture.axes[0].patches]
    seen = [fill for fill in fills if fill == COLOURS["blue"].lower()]
    assert len(seen) == 7 * 8 // 2 + 7 * 7


def test_targets_are_summed_and_counted():
    picture = nats_of_targets(ROWS, title="The finding.")
    nothing_overlaps(picture)
    written = " ".join(said(picture)).replace("\n", " ")
    assert "6.0 nats ÷ 3 targets = 2.00 nats per target" in written
    assert "1.5 nats ÷ 1 targets = 1.50 nats per target" in written
    told = "next token: 3 targets of 5 places, 2.00 nats each"
    assert picture.alt == f"{told}; hidden: 1 targets of 5 places, 1.50 nats each"


def test_phases_follow_each_other():
    phases = [("pretrain", "read", "text"), ("adapt", "tune", "labels"), ("judge", "count", "more")]
    picture = three_phases(phases, title="The finding.")
    nothing_overlaps(picture)
    assert {"pretrain", "tune", "more"} <= set(said(picture))
    assert picture.alt == "pretrain: read, text; then adapt: tune, labels; then judge: count, more"
    refused("1 to 4 phases", three_phases, [])


def test_without_an_alt_text_the_pictures_say_what_they_show():
    assert "clipped" in training_loop(16, 128, 8192, title="The finding.").alt
    assert "lower triangle" in next_and_hidden(PIECES, {1}, title="The finding.").alt


LOGITS = np.log([0.1, 0.4, 0.3, 0.15, 0.05])
NAMES = [" a", " b", " c", " d", " e"]


def widths(axes):
    """(as learned, what can be drawn), in per cent."""
    found = [bar.get_width() for bar in axes.patches]
    half = len(found) // 2
    return found[:half], found[half:]


def draw(*settings, shown=3):
    return sampling_bars(LOGITS, NAMES.__getitem__, settings=settings, shown=shown, **SAID)


def test_the_likeliest_come_first_and_the_others_are_one_bar():
    picture = draw({"temperature": 1.0})
    learned, kept = widths(picture.axes[0])
    assert learned == pytest.approx([40, 30, 15, 15]) and kept == pytest.approx(learned)
    names = row_names(picture.axes[0])
    assert names == ["b", "c", "d", "2 others"]


def test_temperature_changes_all_shares():
    cold = np.array([0.4, 0.3, 0.15, 0.1, 0.05]) ** 2
    cold *= 100 / cold.sum()
    _, kept = widths(draw({"temperature": 0.5}).axes[0])
    assert kept == pytest.approx([*cold[:3], cold[3:].sum()])


def test_top_k_and_top_p_cut_and_what_is_left_sums_to_one():
    picture = draw({"top_k": 2}, {"top_p": 0.5}, {"top_k": 3, "top_p": 0.45})
    for axes, right in zip(picture.axes, ([400 / 7, 300 / 7, 0, 0],) * 2, strict=False):
        assert widths(axes)[1] == pytest.approx(right)
    assert widths(picture.axes[2])[1] == pytest.approx([100, 0, 0, 0])
    assert titles_of(picture.axes) == ["top-k 2", "top-p 0.5", "top-k 3, top-p 0.45"]


def test_large_logits_do_not_overflow():
    picture = sampling_bars([1000.0, 990.0], "ab".__getitem__, settings=[{"top_k": 1}], **SAID)
    assert all(math.isfinite(bar.get_width()) for bar in picture.axes[0].patches)


def test_its_own_words_tell_the_ends():
    said = {"shown": 3, "title": "The finding."}
    picture = sampling_bars(LOGITS, NAMES.__getitem__, settings=[{"top_k": 1}], **said)
    assert picture.alt == "As learned: b 40 %, 2 others 15 %. top-k 1: b 100 %, 2 others 0 %"


def test_what_cannot_be_drawn_is_refused():
    for tokens, hidden, message in (
        (PIECES, {7}, "places from 0 to 6"),
        (PIECES, set(), "places from 0 to 6"),
        (PIECES * 2, {1}, "take fewer"),
        ([" internationalisation"] * 5, {1}, "take fewer"),
    ):
        refused(message, next_and_hidden, tokens, hidden)
    for targets in ({}, {2: (" b", 1.0)}, {-1: (" b", 1.0)}):
        refused("places from 0 to 1 for 'x'", nats_of_targets, {"x": ([" a", " b"], targets)})
    refused("tokens that fit", nats_of_targets, {"x": (PIECES * 3, {0: (" a", 1.0)})})
    for settings in ((), ({"top_k": 1},) * 5):
        with pytest.raises(ValueError, match="1 to 4 settings"):
            draw(*settings)


def test_the_title_ranks_two_objectives_only_where_tokens_and_targets_disagree():
    causal = ([10, 20], [10, 20], [9, 7])
    drawn = over_tokens_and_targets({"causal": causal, "masked": ([10, 20], [2, 3], [9, 8])})
    assert title_of(drawn) == "Causal is lower at equal tokens, masked at equal targets"
    drawn = over_tokens_and_targets({"causal": causal, "masked": ([10, 20], [2, 3], [9, 10])})
    assert title_of(drawn) == "The same losses over tokens read and over targets"


def test_the_title_says_that_nats_get_dearer_only_where_each_costs_more():
    tokens = np.arange(1, 101)
    slow = long_and_short({"x": (tokens, 9 - np.log2(tokens))}, {"y": (tokens[:9], tokens[:9])})
    assert title_of(slow) == "Below 8 nats, each nat takes more text than the one before"
    even = long_and_short({"x": (tokens, 9 - tokens / 30)}, {})
    assert title_of(even) == "Training loss over tokens read"


def test_the_title_of_schedules_counts_how_long_the_first_one_is_flat():
    stable = [0.5, 1, 1, 1, 0.5]
    drawn = schedules({"stable": stable, "linear": [0.5, 1, 0.8, 0.5, 0.2]})
    assert title_of(drawn) == "The schedule “stable” leaves the end open until step 3"
    neutral = schedules({"stable": stable, "late": [0.5, 1, 1, 1, 1]})
    assert title_of(neutral) == "Learning rates over the steps of a run"


def test_an_objective_leaves_fewer_errors_only_where_no_interval_has_0():
    pair = "masked − causal"
    drawn = transfer_differences({pair: ([1, 2], [(6, 4, 8), (3, 1, 5)])})
    assert title_of(drawn) == "At every budget, causal pretraining leaves fewer errors"
    assert drawn.alt == f"Points of error, by tokens: {pair} [6, 3]"
    drawn = transfer_differences({pair: ([1, 2], [(-6, -8, -4), (-3, -5, -1)])})
    assert title_of(drawn) == "At every budget, masked pretraining leaves fewer errors"
    drawn = transfer_differences({pair: ([1, 2], [(6, 4, 8), (3, -1, 5)])})
    assert title_of(drawn) == "Differences in error after fine-tuning"
