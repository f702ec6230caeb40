import numpy as np
import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import (
    SAID,
    apart,
    column_names,
    edged,
    nothing_overlaps,
    refused,
    row_names,
    said,
    texts,
    title_of,
)
from tlcourse.transformer import Block
from tlcourse.views import (
    all_heads,
    attention_record,
    birth_curves,
    head_habits,
    induction_pattern,
    last_query,
    lens_table,
    missed_heads,
    one_head,
    pruning_curve,
)
from tlcourse.views.style import COLOURS

STEPS = [0, 10, 20, 30, 40]
SCORE = np.array([0.0, 0.1, 0.3, 0.5, 0.8])


def written(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def dotted(axes):
    return [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == ":"]


ERRORS = [5.0, 5.5, 5.9, 6.2, 5.8, 30.0]  # the limit, 6.0, is passed, and 5.8 again below it


def rings(axes):
    return [(x[0], y[0]) for x, y in (li.get_data() for li in axes.lines if li.get_mfc() == "none")]


def test_the_head_that_ends_highest_is_named_and_its_jump_is_past_the_middle():
    scores = np.zeros((5, 2, 3))
    scores[:, 1, 2], scores[2, 0, 0] = SCORE, 0.9
    losses = {"repeated": 4 - SCORE, "new": np.full(5, 4.0)}
    upper, lower = birth_curves(STEPS, losses, scores, **SAID).axes
    assert written(lower) == ["head 1.2"] and set(written(upper)) == {"step 30", "repeated", "new"}
    green = [line for line in lower.lines if to_hex(line.get_color()).upper() == COLOURS["green"]]
    assert [line.get_ydata().tolist() for line in green] == [SCORE.tolist()]
    assert len(lower.lines) == 6 + 1
    assert dotted(upper) == dotted(lower) == [30]  # 0.4 is half of 0.8; first reached at 30
    assert lower.get_xlabel() == "training step" and not upper.get_xlabel()


def test_the_most_heads_that_can_go_within_the_limit_are_marked():
    picture = pruning_curve(range(6), {"least": ERRORS, "random": [6.0] * 6}, 5.0, **SAID)
    axes = picture.axes[0]
    assert rings(axes) == [(4, 5.8)]
    assert {"4 can go", "least", "random", "all heads", "1 point more"} <= set(written(axes))
    dashed = [line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"]
    assert dashed == [6.0] and axes.get_ylim()[0] == 0
    assert not rings(pruning_curve([1, 2], {"least": [9.0, 9.5]}, 5.0, **SAID).axes[0])


def test_an_error_of_zero_and_intervals_are_drawn():
    axes = pruning_curve([0, 1], {"least": [(0, 0, 1), (2, 1, 3)]}, 0.0, **SAID).axes[0]
    assert axes.get_ylim()[0] == 0
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == 0 and band[:, 1].max() == 3
    assert "1 point more" in written(axes) and "none can go" in written(axes)


def table(count, layers=3, **more):
    tokens = [f"t{i}" for i in range(count)]
    words = [[f" w{layer}.{i}" for i in range(count)] for layer in range(layers)]
    odds = np.arange(layers * count).reshape(layers, count) / (layers * count)
    return lens_table(tokens, words, odds, **SAID, **more), odds


def rows_of(picture):
    return [axes for axes in picture.axes if axes.images]


def test_the_last_layer_is_on_top_and_each_cell_has_its_word():
    picture, odds = table(4, right=["w", " w2.1", " w0.2", None])
    (axes,) = rows_of(picture)
    assert not axes.yaxis_inverted()
    assert row_names(axes) == ["emb", "1", "2"]
    assert column_names(axes) == ["t0", "t1", "t2", "t3"]
    for text in axes.texts:
        column, layer = text.get_position()
        assert text.get_text() == f"w{layer}.{column}"
    bold = {text.get_text() for text in axes.texts if text.get_fontweight() == "bold"}
    assert bold == {"w2.1", "w0.2"}
    assert axes.images[0].get_array().tolist() == odds.tolist()
    assert axes.images[0].get_clim() == (0, 1)
    assert "Bold" in picture.get_supxlabel() and not table(4)[0].get_supxlabel()


def test_long_texts_go_on_below_and_very_long_ones_lose_their_beginning_visibly():
    picture, odds = table(30)
    first, second, third = rows_of(picture)
    assert third.images[0].get_array().tolist() == odds[:, 24:].tolist()
    assert first.get_xlim() == third.get_xlim(), "cells of one width"
    picture, odds = table(128)
    assert rows_of(picture)[0].images[0].get_array().tolist() == odds[:, 92:104].tolist()
    assert "The last 36 of 128 positions." in picture.get_supxlabel()


def test_words_stay_in_their_cells():
    words = [["unbelievable" * 3] * 12] * 2
    picture = lens_table(["incomprehensible"] * 12, words, np.ones((2, 12)), **SAID)
    picture.draw_without_rendering()
    assert apart(rows_of(picture)[0].texts)


SIZES = {"heads": 4, "width": 256}
TOKENS = [" Marie", " Curie", " won", " and", " Marie"]


def test_the_drawing_of_a_block_takes_names_and_numbers_from_the_model():
    picture = attention_record(3, 1, **SIZES, **SAID)
    words = " ".join(said(picture))
    for name in ("attention_norm", "query", "key", "value", "output", "feed_forward_norm"):
        assert name in words
    parts = set(Block.__init__.__code__.co_names)
    assert {"attention_norm", "feed_forward_norm", "up", "down"} <= parts
    assert "read: seen.attention[3]" in words and "(batch, 4 heads, queries, keys)" in words
    assert "seen.hidden_states[3]" in words and "seen.hidden_states[4]" in words
    assert "switch head 3.1 off" in words and "its 64 of 256 numbers" in words
    nothing_overlaps(picture)
    off = edged(picture, "vermillion")
    heads = {t.get_text(): t.get_position()[1] for t in texts(picture) if "head " in t.get_text()}
    assert len(off) == 1
    box = off[0].get_bbox()
    assert box.y0 < heads["head 1"] < box.y1 and not box.y0 < heads["head 2"] < box.y1


def test_many_heads_are_drawn_without_names():
    picture = attention_record(11, 0, heads=12, width=768, **SAID)
    nothing_overlaps(picture)
    assert "head 0" not in said(picture) and "switch head 11.0 off" in " ".join(said(picture))


def test_the_induction_head_looks_behind_the_token_that_stood_before():
    picture = induction_pattern(TOKENS, **SAID)
    row = [t for t in texts(picture) if t.get_position()[1] == pytest.approx(1.35)]
    drawn = [t.get_text() for t in sorted(row, key=lambda t: t.get_position()[0])]
    assert drawn == ["Marie", "Curie", "won", "and", "Marie", "Curie"], "and what comes next"
    places = sorted(t.get_position()[0] for t in row)
    bent = [a for a in picture.axes[0].texts if not a.get_text() and abs(a.xyann[0] - a.xy[0]) > 0]
    ends = {(round(a.xyann[0], 2), round(a.xy[0], 2)) for a in bent}
    first, second, last = (round(places[i], 2) for i in (0, 1, 4))
    assert {(second, first), (last, second)} <= ends, "from B to A before it; from A to B"
    words = " ".join(said(picture))
    assert "1. previous-token head" in words and "2. induction head" in words
    nothing_overlaps(picture)


def test_what_cannot_be_drawn_is_refused():
    message = r"scores of shape \(5, layers, heads\), got shape \(4, 2, 3\)"
    refused(message, birth_curves, STEPS, {"new": SCORE}, np.zeros((4, 2, 3)))
    message, short = "expected 3 values for 'least', got 2", {"least": [1.0, 2.0]}
    refused(message, pruning_curve, [0, 1, 2], short, 1.0)
    refused("two numbers of heads or more", pruning_curve, [0, 1], {}, 1.0)
    message = r"probabilities of shape \(2, 1\), got shape \(2, 2\)"
    refused(message, lens_table, ["a"], [["b"], ["c"]], np.ones((2, 2)))
    refused(r"words of shape \(layers \+ 1, 1\)", lens_table, ["a"], [["b", "c"]], np.ones((1, 1)))
    message = r"right tokens of shape \(1\), got shape \(2,\)"
    refused(message, lens_table, ["a"], [["b"]], [[1.0]], right=["x", "y"])
    for wrong in ((3, 4, 4, 256), (0, 0, 0, 256), (0, 0, 3, 256), (-1, 0, 4, 256)):
        layer, head, heads, width = wrong
        sizes = {"heads": heads, "width": width}
        refused("a head of 1 to 16 that divide the width", attention_record, layer, head, **sizes)
    for tokens in (["a", "b"], ["a", "a"], []):
        refused("a last token that stands before, another one behind", induction_pattern, tokens)
    refused("tokens that fit into .* inches", induction_pattern, ["a", *["word"] * 20, "a"])


def test_heads_that_look_most_at_the_same_token_are_the_title():
    rows = {"trained": [0.1, 0.6, 0.3], "random": [0.2, 0.5, 0.3]}
    picture = last_query([" the", " keys", " the"], rows)
    assert title_of(picture) == "Every head shown looks most at “keys”"
    left, right = picture.axes
    assert left.get_xlim() == right.get_xlim() and left.get_xlim()[0] == 0
    assert row_names(left) == ["the", "keys", "the"]
    assert "random most at 'keys', with 0.50" in picture.alt
    for other in ({"one": rows["trained"]}, rows | {"random": [0.5, 0.2, 0.3]}):
        title = title_of(last_query([" the", " keys", " the"], other))
        assert title == "Where the last “the” looks"


def test_one_and_all_heads_have_neutral_titles():
    weights = np.full((2, 3, 2, 2), 0.5)
    title = title_of(all_heads(weights, ["a", "b"], "random weights"))
    assert title == "6 heads, one sentence: random weights"
    assert title_of(one_head(weights[0, 0], ["a", "b"], "0.0")).startswith("Head 0.0:")


def habits(trained, random):
    return head_habits(
        {"previous": [[trained, 0.1]], "itself": [[0.1, 0.2]]},
        {"previous": [[random, 0.0]], "itself": [[0.05, 0.05]]},
    )


def test_habits_of_trained_heads_alone_are_the_title():
    picture = habits(0.6, 0.05)
    assert title_of(picture) == "Only trained heads have clear habits"
    scales = {each.get_clim() for axes in picture.axes for each in axes.images}
    assert scales == {(0, 1)}, "one scale for all habits"
    assert "previous 0.60 and 0.05" in picture.alt
    for other in (habits(0.4, 0.05), habits(0.6, 0.3)):
        assert title_of(other) == "Habits of trained heads and of random ones"


def test_heads_that_are_missed_above_all_are_the_title():
    one, two, all_alike = np.full((3, 4), 0.01), np.full((3, 4), 0.01), np.ones((3, 4))
    one[0, 2] = two[0, 2] = 2.0
    two[2, 1] = 0.6
    label = {"label": "probability lost"}
    assert (
        title_of(missed_heads(one, "Copying", **label)) == "Copying depends on head 0.2 above all"
    )
    title = title_of(missed_heads(two, "Copying", **label))
    assert title == "Copying depends on heads 0.2 and 2.1 above all"
    assert "+0.010 to +2.000" in missed_heads(two, "Copying", **label).alt
    for other in (all_alike, -all_alike):
        title = title_of(missed_heads(other, "Copying", **label))
        assert title == "Copying: what is lost without each head"


def birth_of(repeated, ends=(0.5, 0.45)):
    steps, scores = range(0, 300, 10), np.zeros((30, 2, 2))
    scores[15:, 1] = ends
    losses = {"repeated": repeated, "new": np.full(30, 4.0)}
    return title_of(birth_curves(steps, losses, scores))


def test_a_loss_that_falls_suddenly_with_several_heads_is_the_title():
    sudden, steady = np.repeat([4.0, 0.2], 15), np.linspace(4, 0.2, 30)
    assert birth_of(sudden) == "The loss falls suddenly, while 2 induction heads appear"
    for title in (birth_of(steady), birth_of(sudden, ends=(0.5, 0.1))):
        assert title == "Losses and induction scores during training"


def test_the_number_of_heads_that_can_go_is_the_title():
    careful, random = [5.0, 5.5, 5.8], [5.0, 8.0, 9.0]
    title = title_of(pruning_curve([0, 3, 6], {"greedy": careful, "random": random}, 5.0))
    assert title == "6 heads can go, if they are chosen with care"
    for greedy, other in ((careful, [5.0, 5.1, 5.2]), ([5.0, 7.0, 8.0], random)):
        title = title_of(pruning_curve([0, 3, 6], {"greedy": greedy, "random": other}, 5.0))
        assert title == "The error by the number of heads removed"
