import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import SAID, nothing_overlaps, said
from tlcourse.exercises.task import get
from tlcourse.views import nats_of_targets, next_and_hidden, three_phases, training_loop
from tlcourse.views.style import COLOURS

PIECES = [" The", " river", " flows", " into", " the", " sea", "."]


def boxes_of(picture):
    return [patch for patch in picture.axes[0].patches if hasattr(patch, "get_bbox")]


def test_the_loop_has_the_names_and_shapes_of_the_code():
    picture = training_loop(16, 128, 8192, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    for name in ("windows", "causal_loss", "schedule"):
        assert name in written and get(f"pretraining.{name}").name == name
    assert "(16, 128 + 1)" in written and "(16, 128, 8,192)" in written


def test_what_the_learner_writes_is_blue():
    picture = training_loop(4, 32, 500, **SAID)
    blue = [each for each in boxes_of(picture) if to_hex(each.get_edgecolor()) == "#0072b2"]
    assert len(blue) == 4  # windows, model, loss, schedule


def test_next_tokens_are_asked_everywhere_but_at_the_end_and_hidden_ones_where_they_are():
    picture = next_and_hidden(PIECES, {2, 5}, **SAID)
    nothing_overlaps(picture)
    written = said(picture)
    assert written.count("<mask>") == 2
    # in the upper row each piece goes in, and all but the first are asked for; below 5 and 2
    assert written.count("river") == 3 and written.count("The") == 2 and written.count("sea") == 3


def test_a_decoder_sees_a_triangle_and_an_encoder_all():
    picture = next_and_hidden(PIECES, {2}, **SAID)
    seen = [
        box for box in boxes_of(picture) if to_hex(box.get_facecolor()) == COLOURS["blue"].lower()
    ]
    assert len(seen) == 7 * 8 // 2 + 7 * 7


@pytest.mark.parametrize(
    ("tokens", "hidden", "message"),
    [
        (PIECES, {7}, "places from 0 to 6"),
        (PIECES, set(), "places from 0 to 6"),
        (PIECES * 2, {1}, "take fewer"),
        ([" internationalisation"] * 5, {1}, "take fewer"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tokens, hidden, message):
    with pytest.raises(ValueError, match=message):
        next_and_hidden(tokens, hidden, **SAID)


ROWS = {
    "next token": (
        [*PIECES[:4], "<pad>"],
        {0: (" river", 4.0), 1: (" flows", 2.0), 2: (" into", 0.0)},
    ),
    "hidden": ([*PIECES[:4], "<pad>"], {1: (" river", 1.5)}),
}


def test_targets_are_summed_and_counted():
    picture = nats_of_targets(ROWS, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture)).replace("\n", " ")
    assert "6.0 nats ÷ 3 targets = 2.00 nats per target" in written
    assert "1.5 nats ÷ 1 targets = 1.50 nats per target" in written


def test_its_own_words_tell_the_sums():
    assert nats_of_targets(ROWS, title="The finding.").alt == (
        "next token: 3 targets of 5 places, 2.00 nats each; hidden: 1 targets of 5 places, 1.50 "
        "nats each"
    )


@pytest.mark.parametrize("targets", [{}, {2: (" b", 1.0)}, {-1: (" b", 1.0)}])
def test_targets_that_are_not_there_are_refused(targets):
    with pytest.raises(ValueError, match="places from 0 to 1 for 'x'"):
        nats_of_targets({"x": ([" a", " b"], targets)}, **SAID)


def test_too_many_tokens_are_refused():
    with pytest.raises(ValueError, match="tokens that fit"):
        nats_of_targets({"x": (PIECES * 3, {0: (" a", 1.0)})}, **SAID)


def test_phases_follow_each_other():
    phases = [("pretrain", "read", "text"), ("adapt", "tune", "labels"), ("judge", "count", "more")]
    picture = three_phases(phases, title="The finding.")
    nothing_overlaps(picture)
    assert {"pretrain", "tune", "more"} <= set(said(picture))
    assert picture.alt == "pretrain: read, text; then adapt: tune, labels; then judge: count, more"
    with pytest.raises(ValueError, match="1 to 4 phases"):
        three_phases([], **SAID)


def test_without_an_alt_text_the_pictures_say_what_they_show():
    assert "clipped" in training_loop(16, 128, 8192, title="The finding.").alt
    assert "lower triangle" in next_and_hidden(PIECES, {1}, title="The finding.").alt
    with pytest.raises(ValueError, match="title"):
        training_loop(16, 128, 8192)
