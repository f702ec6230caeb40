import numpy as np
import pytest
from matplotlib.text import Text

from tlcourse.views import attractors, growth, removal
from tlcourse.views.style import COLOURS, GREY

SAID = {"title": "The finding.", "alt": "What is seen."}
RANDOM = [(0.88, 0.86, 0.9), (0.87, 0.85, 0.89)]
EFFECT = ({"mass mean": [0.7, 0.6]}, RANDOM, 0.89)


def names(axes):
    return {text.get_text(): text.get_color() for text in axes.texts}


def test_removal_is_held_against_a_band_of_random_directions():
    picture = removal(
        [1, 8],
        {"loss (nats)": EFFECT, "agreement": EFFECT},
        **SAID,
        x_label="directions",
        log_x=True,
    )
    first, second = picture.axes
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["loss (nats)", "agreement"]
    (band,) = first.collections
    assert band.get_paths()[0].get_extents().extents.tolist() == pytest.approx([1, 0.85, 8, 0.9])
    drawn = [(line.get_color(), *line.get_ydata()) for line in first.lines]
    assert drawn == [
        (GREY, 0.88, 0.87), (COLOURS["blue"], 0.7, 0.6), (GREY, 0.89, 0.89),
    ]  # fmt: skip
    assert not first.texts and names(second) == {
        "random directions": GREY, "mass mean": COLOURS["blue"], "nothing removed": GREY,
    }  # fmt: skip
    assert first.get_xscale() == "log" and first.get_xticks().tolist() == [1, 8]
    picture.draw_without_rendering()
    assert max(Text.get_window_extent(text).x1 for text in second.texts) <= picture.bbox.x1
    labels = [axes.xaxis.label.get_window_extent() for axes in (first, second)]
    assert not labels[0].overlaps(labels[1])


def test_effects_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="expected 3 values for 'random directions', got 2"):
        removal([1, 2, 3], {"loss": EFFECT}, **SAID)
    with pytest.raises(ValueError, match="one to three effects side by side, got 0"):
        removal([1], {}, **SAID)


def test_attractors_are_full_with_sense_and_dashed_without():
    sense = {"causal": [(0.9, 0.88, 0.92), (0.7, 0.66, 0.74)], "LSTM": [0.8, 0.5]}
    axes = attractors(sense, {"causal": [0.8, 0.6]}, **SAID, note="Wilson.").axes[0]
    chance, full, dashed, lstm = axes.lines
    assert set(chance.get_ydata()) == {0.5} and chance.get_color() == GREY
    assert full.get_ydata().tolist() == [0.9, 0.7] and dashed.get_ydata().tolist() == [0.8, 0.6]
    assert full.get_color() == dashed.get_color() == COLOURS["blue"] != lstm.get_color()
    assert full.get_linestyle() == "-" and dashed.get_linestyle() == "--"
    assert (
        np.abs(full.get_xdata() - [0, 1]).max() < 0.3 and full.get_xdata()[0] != lstm.get_xdata()[0]
    )
    ends = axes.collections[0].get_segments()
    assert [end[:, 1].tolist() for end in ends] == [[0.88, 0.92], [0.66, 0.74]]
    assert set(names(axes)) == {"causal", "LSTM", "chance"}
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0", "1"]
    assert "Dashed: nonsense" in axes.figure.get_supxlabel()
    assert attractors({"a": [0.5]}, **SAID).get_supxlabel() == ""


def test_models_without_sense_are_refused():
    with pytest.raises(ValueError, match=r"nonsense of these only, got \['a'\] and \['b'\]"):
        attractors({"a": [0.5]}, {"b": [0.5]}, **SAID)
    with pytest.raises(ValueError, match="expected 2 values for 'b', got 1"):
        attractors({"a": [0.5, 0.6], "b": [0.5]}, **SAID)


TOKENS = [0, 1e5, 1e6, 2e7]
SCORES = {
    "POS (accuracy)": {"causal": (TOKENS, [0.7, 0.8, 0.85, 0.9]), "masked": (TOKENS, [0.7] * 4)},
    "LM loss (nats)": {"causal": (TOKENS, [9, 6, 5, 4])},
}


def test_growth_has_a_panel_a_score_and_keeps_what_comes_before_training():
    picture = growth(SCORES, {"POS (accuracy)": {"word types": 0.82}}, **SAID)
    first, second = picture.axes
    assert [axes.get_title(loc="left") for axes in (first, second)] == list(SCORES)
    assert first.get_ylim() != second.get_ylim() and first.get_xlim() == second.get_xlim()
    assert first.get_xticks().tolist() == [0, 1e5, 1e6, 1e7]
    assert [tick.get_text() for tick in second.get_xticklabels()] == ["0", "100k", "1M", "10M"]
    assert names(second) == {"causal": COLOURS["blue"]}
    assert names(first) == {"word types": GREY, "masked": COLOURS["vermillion"]}
    assert first.get_xlabel().split() == ["tokens", "read", "(logarithmic)"]


def test_growth_alone_has_its_label_and_a_plain_logarithm_without_zero():
    scores = {"UUAS": {"causal": ([1e5, 1e7], [(0.4, 0.3, 0.5), (0.5, 0.4, 0.6)])}}
    (axes,) = growth(scores, **SAID).axes
    assert (axes.get_ylabel(), axes.get_xscale(), len(axes.collections)) == ("UUAS", "log", 1)
    with pytest.raises(ValueError, match=r"levels of \['UUAS'\], got some of \['POS'\]"):
        growth(scores, {"POS": {"chance": 0.5}}, **SAID)
    with pytest.raises(ValueError, match="expected 1 values for 'causal', got 2"):
        growth({"UUAS": {"causal": ([1e5], [0.4, 0.5])}}, **SAID)
    with pytest.raises(ValueError, match="at least one score with tokens above 0"):
        growth({}, **SAID)
