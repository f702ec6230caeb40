import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from tests.views.drawn import (
    SAID,
    apart,
    arrows_of,
    edged,
    inks,
    nothing_overlaps,
    refused,
    said,
    texts,
    titles_of,
    words_in,
)
from tlcourse.views import control_task, probe_on_frozen_body, removal, selectivity_by_layer
from tlcourse.views.style import COLOURS, GREY

RANDOM = [(0.88, 0.86, 0.9), (0.87, 0.85, 0.89)]
EFFECT = ({"mass mean": [0.7, 0.6]}, RANDOM, 0.89)


def test_removal_is_held_against_a_band_of_random_directions():
    effects = {"loss (nats)": EFFECT, "agreement": EFFECT}
    picture = removal([1, 8], effects, **SAID, x_label="directions")
    first, second = picture.axes
    assert titles_of((first, second)) == ["loss (nats)", "agreement"]
    (band,) = first.collections
    assert band.get_paths()[0].get_extents().extents.tolist() == pytest.approx([1, 0.85, 8, 0.9])
    drawn = [(line.get_color(), *line.get_ydata()) for line in first.lines]
    assert drawn == [(GREY, 0.88, 0.87), (COLOURS["blue"], 0.7, 0.6), (GREY, 0.89, 0.89)]
    colours = {"random directions": GREY, "mass mean": COLOURS["blue"], "nothing removed": GREY}
    assert not first.texts and inks(second) == colours
    assert first.get_xticks().tolist() == [1, 8]
    picture.draw_without_rendering()
    assert max(Text.get_window_extent(text).x1 for text in second.texts) <= picture.bbox.x1
    labels = [axes.xaxis.label.get_window_extent() for axes in (first, second)]
    assert not labels[0].overlaps(labels[1])


WORDS = [["The"], ["dog", "gy"], ["bark", "ed"], ["."]]
SIZES = {"width": 256, "layers": 6, "classes": 17}


def hues(picture):
    edges = {to_hex(patch.get_edgecolor()).upper() for patch in picture.axes[0].patches}
    return edges & set(COLOURS.values()) - {COLOURS["black"]}


SENTENCES = [["the", "duck", "can", "swim"], ["they", "duck"]]
LABELS = [["DET", "NOUN", "AUX", "VERB"], ["PRON", "VERB"]]
CONTROL = [["VERB", "ADP", "DET", "NOUN"], ["DET", "ADP"]]


def test_the_drawing_of_a_probe_takes_its_numbers_from_the_model():
    picture = probe_on_frozen_body(WORDS, (1, 4), "NOUN", **SIZES, **SAID)
    words = said(picture)
    assert {"The", "doggy", "barked", ".", "dog", "gy", "NOUN", "mean"} <= set(words)
    assert "linear probe: 256 → 17\n4,369 weights, trained" in words
    assert {"embeddings", "layer 1", "layer 4", "layer 6"} <= set(words)
    assert {"block 1", "blocks 2 to 4", "blocks 5 to 6"} <= set(words)
    assert any("6 blocks of width 256" in word for word in words)
    assert hues(picture) == {COLOURS["blue"]}
    cells = edged(picture, "blue")
    assert len(cells) == 2 * 5 + 2, "the states of two tokens, the probe and its answer"
    assert len(arrows_of(picture)) == 2 * 6 + 2
    assert {text.get_fontsize() for text in texts(picture)} == {9}


@pytest.mark.parametrize("layer", [0, 1, 4, 6])
def test_no_text_covers_another_nor_leaves_the_figure(layer):
    picture = probe_on_frozen_body(WORDS, (2, layer), "VERB", **SIZES, **SAID)
    nothing_overlaps(picture)
    patches = [patch.get_window_extent() for patch in picture.axes[0].patches]
    assert all(patch.y1 <= picture._suptitle.get_window_extent().y0 for patch in patches)


def test_the_control_task_gives_a_type_one_label():
    picture = control_task(SENTENCES, LABELS, CONTROL, **SAID)
    assert hues(picture) == {COLOURS["blue"], COLOURS["vermillion"]}
    assert len(picture.axes[0].patches) == 18
    bold = [t.get_text() for t in texts(picture) if t.get_fontweight() == "bold"]
    assert [word for word in bold if word not in ("labels", "control")] == ["duck", "duck"]
    duck, others = [t for t in texts(picture) if t.get_text() == "duck"], texts(picture)
    for word in duck:
        below = [t for t in others if t.get_position()[0] == word.get_position()[0]]
        below = [t for t in below if 0 < word.get_position()[1] - t.get_position()[1] < 0.8]
        assert below[-1].get_text() == "ADP"
    picture.draw_without_rendering()
    assert apart(texts(picture))
    message, two = "one control label for each word type, got 'ADP' and 'X'", ["DET", "X"]
    refused(message, control_task, SENTENCES, LABELS, [CONTROL[0], two])
    message, short = "a label and a control label for each word", [CONTROL[0], ["DET"]]
    refused(message, control_task, SENTENCES, LABELS, short)
    long = [[[text] * 20] for text in ("word", "NOUN", "X")]
    refused("sentences that fit, got up to 20 words", control_task, *long)


def test_selectivity_is_the_line_between_task_and_control():
    probes = {"linear": ([0.9, 0.95], [0.6, 0.5]), "hidden": ([0.9, 0.6], [0.8, 0.7])}
    picture = selectivity_by_layer(probes, **SAID)
    first, second = picture.axes
    said = words_in(second)
    assert said == [".10", "−.10", "task", "control task"]
    assert words_in(first) == [".30", ".45"]
    lines = first.collections[0].get_segments()
    assert [line[:, 1].tolist() for line in lines] == [[0.6, 0.9], [0.5, 0.95]]
    control, task = first.lines
    assert task.get_color() == COLOURS["blue"] and control.get_markerfacecolor() == "white"
    assert "selectivity" in picture.get_supxlabel()
    four = dict.fromkeys("abcd", probes["linear"])
    refused("one to three probes side by side, got 4", selectivity_by_layer, four)
    refused("expected 2 values for 'a', got 1", selectivity_by_layer, {"a": ([0.9, 0.8], [0.5])})


def test_numbers_of_many_layers_stand_upright_beside_their_lines():
    many = {name: (np.linspace(0.8, 0.9, 13), np.full(13, 0.5)) for name in ("a", "b")}
    texts = selectivity_by_layer(many, **SAID).axes[0].texts
    assert {text.get_rotation() for text in texts} == {90}


def test_what_cannot_be_drawn_is_refused():
    message = "expected 3 values for 'random directions', got 2"
    refused(message, removal, [1, 2, 3], {"loss": EFFECT})
    refused("one to three effects side by side, got 0", removal, [1], {})
    for probed in ((4, 1), (0, 7)):
        message = "expected a word of 4, a layer from 0 to 6"
        refused(message, probe_on_frozen_body, WORDS, probed, "X", **SIZES)
    many = [["word"]] * 12
    refused("words that fit into 3.65 inches", probe_on_frozen_body, many, (0, 1), "X", **SIZES)
