import numpy as np
import pytest
from matplotlib.text import Text

from tests.views.drawn import (
    SAID,
    apart,
    column_names,
    inks,
    refused,
    title_of,
    titles_of,
    words_in,
)
from tlcourse.views import (
    attractors,
    erased_words,
    fine_tuned_layers,
    gains_by_task,
    grammar_of_models,
    growth,
    mixes,
    neuron,
    three_models,
    tree_read,
    trees_by_layer,
    words_in_context,
)
from tlcourse.views.style import COLOURS, GREY

TOKENS = [0, 1e5, 1e6, 2e7]
SCORES = {
    "POS (accuracy)": {"causal": (TOKENS, [0.7, 0.8, 0.85, 0.9]), "masked": (TOKENS, [0.7] * 4)},
    "LM loss (nats)": {"causal": (TOKENS, [9, 6, 5, 4])},
}


def test_attractors_are_full_with_sense_and_dashed_without():
    sense = {"causal": [(0.9, 0.88, 0.92), (0.7, 0.66, 0.74)], "LSTM": [0.8, 0.5]}
    axes = attractors(sense, {"causal": [0.8, 0.6]}, **SAID, note="Wilson.").axes[0]
    chance, full, dashed, lstm = axes.lines
    assert set(chance.get_ydata()) == {0.5} and chance.get_color() == GREY
    assert full.get_ydata().tolist() == [0.9, 0.7] and dashed.get_ydata().tolist() == [0.8, 0.6]
    assert full.get_color() == dashed.get_color() == COLOURS["blue"] != lstm.get_color()
    assert full.get_linestyle() == "-" and dashed.get_linestyle() == "--"
    assert np.abs(full.get_xdata() - [0, 1]).max() < 0.3
    assert full.get_xdata()[0] != lstm.get_xdata()[0]
    ends = axes.collections[0].get_segments()
    assert [end[:, 1].tolist() for end in ends] == [[0.88, 0.92], [0.66, 0.74]]
    assert set(inks(axes)) == {"causal", "LSTM", "chance"}
    assert column_names(axes) == ["0", "1"]
    assert "Dashed: nonsense" in axes.figure.get_supxlabel()
    assert attractors({"a": [0.5]}, **SAID).get_supxlabel() == ""


def test_growth_has_a_panel_a_score_and_keeps_what_comes_before_training():
    picture = growth(SCORES, {"POS (accuracy)": {"word types": 0.82}}, **SAID)
    first, second = picture.axes
    assert titles_of((first, second)) == list(SCORES)
    assert first.get_ylim() != second.get_ylim() and first.get_xlim() == second.get_xlim()
    assert first.get_xticks().tolist() == [0, 1e5, 1e6, 1e7]
    assert column_names(second) == ["0", "100k", "1M", "10M"]
    assert inks(second) == {"causal": COLOURS["blue"]}
    assert inks(first) == {"word types": GREY, "masked": COLOURS["vermillion"]}
    assert first.get_xlabel().split() == ["tokens", "read", "(logarithmic)"]


def test_growth_alone_has_its_label_and_a_plain_logarithm_without_zero():
    scores = {"UUAS": {"causal": ([1e5, 1e7], [(0.4, 0.3, 0.5), (0.5, 0.4, 0.6)])}}
    (axes,) = growth(scores, **SAID).axes
    assert (axes.get_ylabel(), axes.get_xscale(), len(axes.collections)) == ("UUAS", "log", 1)
    levels = {"POS": {"chance": 0.5}}
    refused(r"levels of \['UUAS'\], got some of \['POS'\]", growth, scores, levels)
    long = {"UUAS": {"causal": ([1e5], [0.4, 0.5])}}
    refused("expected 1 values for 'causal', got 2", growth, long)
    refused("at least one score with tokens above 0", growth, {})


SENSES = ["game"] * 20 + ["theatre"] * 20
CONTEXTS = {i: f"they play {i} here" for i in range(0, 40, 4)}


def cloud(apart: float):
    points = np.random.default_rng(0).normal(size=(40, 2))
    points[20:] += apart
    return points


@pytest.mark.parametrize("count", [1, 4])
def test_labels_cover_no_other_and_stay_inside(count):
    points = {f"layer {i}": cloud(i) for i in range(count)}
    picture = words_in_context(points, SENSES, CONTEXTS, **SAID)
    picture.draw_without_rendering()
    for axes in picture.axes:
        boxes = [Text.get_window_extent(text) for text in axes.texts]
        assert apart(axes.texts)
        outer = axes.get_window_extent()
        assert all(outer.x0 <= b.x0 and b.x1 <= outer.x1 for b in boxes)
        written = [text for text in axes.texts if text.get_text() in CONTEXTS.values()]
        assert len(written) >= 4
        colours = {text.get_text(): text.get_color() for text in written}
        for number, context in CONTEXTS.items():
            ink = COLOURS["blue" if number < 20 else "vermillion"]
            assert colours.get(context, ink) == ink


def test_all_fit_where_points_are_far_apart():
    points = np.stack([np.arange(12) % 3, np.arange(12) // 3], axis=1)
    contexts = {i: f"a word {i}" for i in range(12)}
    picture = words_in_context({"layer": points}, ["s"] * 12, contexts, **SAID)
    assert words_in(picture.axes[0]) == list(contexts.values())


def test_senses_are_named_in_their_colours():
    picture = words_in_context({"a": cloud(0), "b": cloud(3)}, SENSES, **SAID)
    first, second = picture.axes
    named = {text.get_text(): text.get_color() for text in first.get_legend().get_texts()}
    assert named == {"game": COLOURS["blue"], "theatre": COLOURS["vermillion"]}
    assert [line.get_color() for line in second.lines] == list(named.values())
    assert len({line.get_marker() for line in second.lines}) == 2
    assert (first.get_xlabel(), second.texts[0].get_text()) == ("first coordinate", "b")
    picture.draw_without_rendering()
    legend = first.get_legend().get_window_extent()
    assert not legend.overlaps(picture._suptitle.get_window_extent())
    assert not legend.overlaps(first.get_window_extent())


def test_a_neuron_colours_the_text_and_stands_above_what_it_tracks():
    tokens = [" The", " mill", " (", " old", " )", "\n"]
    picture = neuron(tokens, [0, 0, 1, 2, 0, 0], {"bracket depth": [0, 0, 1, 1, 0, 0]}, **SAID)
    text, curve, signal = picture.axes
    assert words_in(text) == ["The", "mill", "(", "old", ")", "↵"]
    shades = [sum(box.get_facecolor()[:3]) for box in text.patches]
    assert shades[3] == min(shades) and shades[0] == shades[5] == max(shades)
    assert curve.lines[0].get_ydata().tolist() == [0, 0, 1, 2, 0, 0]
    assert signal.lines[0].get_ydata().tolist() == [0, 0, 1, 1, 0, 0]
    assert titles_of((curve, signal)) == ["activation", "bracket depth"]
    assert signal.get_xlabel() == "token of the text"
    for wrong in ({"activations": [1]}, {"activations": [0] * 6, "signals": {"x": [1]}}):
        refused(r"a token of shape \(6\)", neuron, tokens, **wrong)


def test_what_cannot_be_drawn_is_refused():
    message = r"nonsense of these only, got \['a'\] and \['b'\]"
    refused(message, attractors, {"a": [0.5]}, {"b": [0.5]})
    refused("expected 2 values for 'b', got 1", attractors, {"a": [0.5, 0.6], "b": [0.5]})
    message = r"points of 'a' of shape \(40, 2\), got shape \(3, 2\)"
    refused(message, words_in_context, {"a": np.ones((3, 2))}, SENSES)
    refused("1 to 6 panels", words_in_context, {}, SENSES)
    for wrong in ({40: "x"}, dict.fromkeys(range(13), "x")):
        message = "at most 12 contexts of occurrences 0 to 39"
        refused(message, words_in_context, {"a": cloud(0)}, SENSES, wrong)


def test_titles_of_attractors_and_growth_need_the_data():
    clear, coin = (0.8, 0.7, 0.9), (0.45, 0.4, 0.5)
    assert "no model beats a coin" in title_of(attractors({"causal": [clear, coin]}))
    assert title_of(attractors({"causal": [clear, clear]})).startswith("Agreement by")
    assert title_of(attractors({"causal": [coin, coin]})).startswith("Agreement by")
    sooner = {"POS": {"causal": (TOKENS, [1, 2, 3, 4]), "masked": (TOKENS, [1, 1, 2, 4])}}
    assert title_of(growth(sooner)) == "The causal model learns sooner than the masked one"
    later = {"POS": {"causal": (TOKENS, [1, 1, 2, 4]), "masked": (TOKENS, [1, 2, 3, 4])}}
    assert title_of(growth(later)) == "Scores of the saved models"


def test_a_neuron_is_named_only_where_it_follows():
    tokens = [" a", " (", " b", " )"]
    follows = neuron(tokens, [0, 1, 2, 0], {"bracket depth": [0, 1, 1, 0]})
    assert title_of(follows) == "A neuron that follows one signal: bracket depth"
    apart_from_it = neuron(tokens, [1, 0, 2, 1], {"bracket depth": [0, 1, 1, 0]})
    assert title_of(apart_from_it) == "The activation of one neuron"


def test_gains_and_mixes_name_what_is_largest():
    picture = gains_by_task({"depth": [40, 55.0], "tense": [90, 90.5], "head": [60, 65.0]})
    assert title_of(picture) == "Layers add over ten points to 1 tasks, and under one to 1"
    weights = {"depth": [0.1, 0.3, 0.6], "tense": [0.1, 0.6, 0.3]}
    assert title_of(mixes(weights)) == "The largest weights are those of layers 1 and 2"
    assert "The weights of" in title_of(mixes(weights | {"head": [0.6, 0.2, 0.2]}))


def test_trees_beat_neighbours_in_the_title_only_where_they_do():
    picture = trees_by_layer([(0.2, 0.1, 0.3), (0.5, 0.4, 0.6)], 0.44, 0.3)
    assert title_of(picture) == "Layer 1 finds 50% of the arcs, neighbours 44%"
    assert picture.axes[0].get_ylim() == (0, 1)
    assert title_of(trees_by_layer([0.2, 0.4], 0.44, 0.3)) == "The share of arcs found, by layer"
    read = tree_read(["It", "rains"], [2, 0], {(0, 1)}, layer=4)
    assert title_of(read) == "A tree read from layer 4"


def test_the_released_model_leads_in_the_middle_only_where_it_does():
    asked = {"trees": {"ours": [0.2, 0.5, 0.4], "released": [0.4, 0.7, 0.3]}}
    levels = {"trees": {"neighbours": 0.4}}
    assert "leads in the middle" in title_of(three_models(asked, levels, "released"))
    asked["trees"]["released"] = [0.4, 0.6, 0.7]
    assert title_of(three_models(asked, levels, "released")) == "The same probes on three models"


def test_the_token_before_matters_most_in_the_title_only_where_it_does():
    effects = np.zeros((3, 4))
    effects[[0, 1, 0], [1, 2, 3]] = 1.0
    assert "often matters most" in title_of(erased_words(effects, list("abcd")))
    effects[[0, 0], [1, 2]] = 0.0, 2.0
    assert title_of(erased_words(effects, list("abcd"))).startswith("What the prediction")


def test_models_below_a_coin_and_layers_that_gained():
    judged = {"BLiMP": {"a": (60, 58, 62)}, "with one attractor": {"a": (42, 40, 44)}}
    assert title_of(grammar_of_models(judged)) == (
        "All 1 models fall below a coin with one attractor"
    )
    above = judged | {"with one attractor": {"a": (52, 50, 54)}}
    assert title_of(grammar_of_models(above)).startswith("Pairs of sentences")
    tasks = {"question type": {"before": [0.6, 0.7], "after": [0.6, 0.9]}}
    assert "question type better" in title_of(fine_tuned_layers(tasks))
    tasks["question type"]["after"] = [0.6, 0.71]
    assert title_of(fine_tuned_layers(tasks)) == "Before and after fine-tuning, by layer"
