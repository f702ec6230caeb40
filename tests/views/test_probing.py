import numpy as np
import pytest
from matplotlib.text import Text

from tlcourse.views import by_layer, code_lengths, selectivity_by_layer, task_by_layer
from tlcourse.views.style import COLOURS, GREY

SAID = {"title": "The finding.", "alt": "What is seen."}
CAUSAL = [(0.6, 0.58, 0.62), (0.8, 0.78, 0.82), (0.7, 0.68, 0.72)]
POS = {"causal": CAUSAL, "masked": [0.6, 0.9, 0.8]}
BASE = {"majority": 0.2, "random encoder": [0.5, 0.45, 0.4]}


def apart(texts):
    boxes = sorted((Text.get_window_extent(text) for text in texts), key=lambda box: box.y0)
    return all(low.y1 <= high.y0 + 3 for low, high in zip(boxes, boxes[1:], strict=False))


def test_scores_by_layer_are_coloured_and_what_they_must_beat_is_grey():
    picture = by_layer({"POS": POS}, {"POS": BASE}, **SAID, note="Size small.")
    (axes,) = picture.axes
    drawn = {tuple(line.get_ydata()): line for line in axes.lines}
    assert drawn[0.6, 0.8, 0.7].get_color() == COLOURS["blue"]
    assert drawn[0.6, 0.9, 0.8].get_color() == COLOURS["vermillion"]
    greys = drawn[0.2, 0.2, 0.2], drawn[0.5, 0.45, 0.4]
    assert {line.get_color() for line in greys} == {GREY}
    assert len({line.get_linestyle() for line in greys}) == 2
    assert {text.get_text(): text.get_color() for text in axes.texts}.items() >= {
        ("causal", COLOURS["blue"]), ("majority", GREY), ("random encoder", GREY),
    }  # fmt: skip
    assert len(axes.collections) == 1, "a band for the one with intervals"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["emb", "1", "2"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("layer", "accuracy")
    assert picture.get_suptitle() == "The finding." and picture.get_supxlabel() == "Size small."
    picture.draw_without_rendering()
    assert (
        apart(axes.texts) and max(t.get_window_extent().x1 for t in axes.texts) <= 7 * picture.dpi
    )


def test_tasks_are_panels_on_the_same_axes():
    tasks = {f"task {i}": POS for i in range(5)}
    picture = by_layer(tasks, dict.fromkeys(tasks, BASE), **SAID)
    shown = [axes for axes in picture.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == list(tasks)
    assert len({axes.get_ylim() for axes in shown}) == 1
    assert [len(axes.texts) for axes in shown] == [0, 0, 4, 0, 4], "named once a row"
    picture.draw_without_rendering()
    assert apart(shown[4].texts)
    assert all(text.get_window_extent().x1 <= picture.bbox.x1 for text in shown[4].texts)


def test_tasks_that_do_not_go_together_are_refused():
    with pytest.raises(ValueError, match="the same series and layers in every task"):
        by_layer({"a": POS, "b": {"causal": CAUSAL}}, **SAID)
    with pytest.raises(ValueError, match="the same series and layers in every task"):
        by_layer({"a": POS, "b": {name: [0.5] for name in POS}}, **SAID)
    with pytest.raises(ValueError, match=r"baselines of \['a'\], got some of \['b'\]"):
        by_layer({"a": POS}, {"b": BASE}, **SAID)
    with pytest.raises(ValueError, match="y_label"):
        by_layer({"a": POS}, **SAID, y_label="")
    with pytest.raises(ValueError, match="1 to 6 panels"):
        by_layer({}, **SAID)


def test_a_cell_is_the_score_above_its_baseline_and_the_best_is_framed():
    scores = {"POS": [0.5, 0.9, 0.7], "depth": [0.3, 0.2, 0.1]}
    picture = task_by_layer(scores, {"POS": 0.6, "depth": [0.3, 0.3, 0.3]}, **SAID)
    axes, bar = picture.axes
    cells = axes.images[0].get_array()
    assert np.allclose(cells, [[-0.1, 0.3, 0.1], [0, -0.1, -0.2]])
    assert [text.get_text() for text in axes.texts][:3] == ["−0.10", "+0.30", "+0.10"]
    bold = [text.get_position() for text in axes.texts if text.get_fontweight() == "bold"]
    assert bold == [(1, 0), (0, 1)]
    middles = [
        (f.get_x() + f.get_width() / 2, f.get_y() + f.get_height() / 2) for f in axes.patches
    ]
    assert np.allclose(middles, bold)
    low, high = axes.images[0].get_clim()
    assert low == -high and bar.get_ylim() == pytest.approx((-0.3, 0.3))
    given = {"label": "accuracy", "number": "{:.1f}", "framed": "the largest weight"}
    whole = task_by_layer(scores, **SAID, **given)
    assert whole.get_supxlabel() == "Framed: the largest weight."
    plain = whole.axes
    assert [text.get_text() for text in plain[0].texts][:3] == ["0.5", "0.9", "0.7"]
    assert plain[1].get_ylabel() == "accuracy" and plain[1].get_ylim()[0] == 0


@pytest.mark.parametrize(
    ("scores", "baseline"), [({}, None), ({"a": [1], "b": [1, 2]}, None), ({"a": [1]}, {"b": 0})]
)
def test_a_table_with_holes_is_refused(scores, baseline):
    with pytest.raises(ValueError, match="as many layers for every task, and its baseline"):
        task_by_layer(scores, baseline, **SAID)


def test_selectivity_is_the_line_between_task_and_control():
    probes = {"linear": ([0.9, 0.95], [0.6, 0.5]), "hidden": ([0.9, 0.6], [0.8, 0.7])}
    picture = selectivity_by_layer(probes, **SAID)
    first, second = picture.axes
    said = [text.get_text() for text in second.texts]
    assert said == [".10", "−.10", "task", "control task"]
    assert [text.get_text() for text in first.texts] == [".30", ".45"]
    lines = first.collections[0].get_segments()
    assert [line[:, 1].tolist() for line in lines] == [[0.6, 0.9], [0.5, 0.95]]
    control, task = first.lines
    assert task.get_color() == COLOURS["blue"] and control.get_markerfacecolor() == "white"
    assert "selectivity" in picture.get_supxlabel()
    percent = selectivity_by_layer({"p": ([90], [60])}, **SAID, number="{:.0f}").axes[0]
    assert percent.texts[0].get_text() == "30"
    with pytest.raises(ValueError, match="one to three probes side by side, got 4"):
        selectivity_by_layer(dict.fromkeys("abcd", probes["linear"]), **SAID)
    with pytest.raises(ValueError, match="expected 2 values for 'a', got 1"):
        selectivity_by_layer({"a": ([0.9, 0.8], [0.5])}, **SAID)


def test_numbers_of_many_layers_stand_upright_beside_their_lines():
    many = {name: (np.linspace(0.8, 0.9, 13), np.full(13, 0.5)) for name in ("a", "b")}
    texts = selectivity_by_layer(many, **SAID).axes[0].texts
    assert {text.get_rotation() for text in texts} == {90}


def test_a_code_is_bits_an_item_by_block_and_a_total():
    codes = {"layer 4": [(10, 20.0), (30, 20.0)], "control": [(10, 20.0), (30, 36.0)]}
    left, right = code_lengths(codes, 60.0, **SAID).axes
    first, second, uniform = left.lines
    assert first.get_xydata().tolist() == [[10, 2], [30, 1]], "20 items in the second block"
    assert second.get_ydata().tolist() == pytest.approx([2, 1.8])
    assert set(uniform.get_ydata()) == {2} and left.get_xscale() == "log"
    assert [bar.get_width() for bar in right.patches] == [60, 40, 56]
    assert [text.get_text() for text in right.texts] == ["60", "40  ÷ 1.5", "56  ÷ 1.1"]
    names = [(tick.get_text(), tick.get_color()) for tick in right.get_yticklabels()]
    assert names[0] == ("uniform code", GREY) and names[1] == ("layer 4", first.get_color())
    assert right.get_xlabel() == "length of the code (bits)"
    large = code_lengths({"a": [(9000, 12_000.0)]}, 36_000.0, **SAID).axes[1]
    assert [text.get_text() for text in large.texts] == ["36.0", "12.0  ÷ 3.0"]
    assert "kbit" in large.get_xlabel()


def test_codes_of_other_items_are_refused():
    with pytest.raises(ValueError, match=r"got items \[10, 20\] and 60 bits"):
        code_lengths({"a": [(10, 1.0)], "b": [(20, 1.0)]}, 60, **SAID)
    with pytest.raises(ValueError, match="bits of the uniform code"):
        code_lengths({"a": [(10, 1.0)]}, **SAID)
