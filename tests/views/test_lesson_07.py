import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from tests.views.drawn import (
    SAID,
    apart,
    arrows_of,
    edged,
    nothing_overlaps,
    refused,
    said,
    texts,
    title_of,
    titles_of,
    words_in,
)
from tlcourse.views import (
    accuracy_by_layer,
    bits_per_label,
    control_task,
    next_words,
    probe_on_frozen_body,
    removal,
    selectivity_by_layer,
)
from tlcourse.views.style import COLOURS, GREY

INTACT = (0.8, 6.4)
DRAWN = [[(0.81, 6.41), (0.79, 6.39)], [(0.8, 6.4), (0.8, 6.4)]]
FOUND = {"number": [(0.48, 6.45), (0.7, 6.42)], "random labels": [(0.8, 6.4), (0.79, 6.41)]}


def test_removal_is_drawn_beside_its_rivals_on_honest_axes():
    picture = removal(FOUND, DRAWN, INTACT)
    left, right = picture.axes
    assert titles_of((left, right)) == ["agreement (share of pairs)", "loss (nats per token)"]
    assert left.get_ylim() == (0, 1) and right.get_ylim()[0] == 0
    (band,) = left.collections
    assert band.get_paths()[0].get_extents().extents.tolist() == pytest.approx([0, 0.79, 1, 0.81])
    drawn = [(line.get_color(), *line.get_ydata()) for line in left.lines]
    number, labels = COLOURS["blue"], COLOURS["vermillion"]
    assert drawn[1:3] == [(number, 0.48, 0.7), (labels, 0.8, 0.79)]
    assert drawn[3:] == [(GREY, 0.8, 0.8), ("black", 0.5, 0.5)]
    assert "chance, 50%" in words_in(left)
    assert set(words_in(right)) == {*FOUND, "random directions", "nothing removed"}
    picture.draw_without_rendering()
    assert max(Text.get_window_extent(text).x1 for text in right.texts) <= picture.bbox.x1


def test_agreement_that_falls_without_one_direction_alone_is_the_title():
    finding = "Without the number direction, agreement falls to chance"
    assert title_of(removal(FOUND, DRAWN, INTACT)) == finding
    assert "without number it is between 48% and 70%" in removal(FOUND, DRAWN, INTACT).alt
    same = [(0.8, 6.4)] * 2
    unclear = [
        FOUND | {"number": [(0.68, 6.45), (0.7, 6.42)]},  # well above chance
        FOUND | {"random labels": [(0.55, 6.4), (0.8, 6.4)]},  # the rival does harm, too
        FOUND | {"random labels": [(0.8, 7.0), (0.8, 6.4)]},  # the loss rises
    ]
    for found in unclear:
        title = title_of(removal(found, [same, same], INTACT))
        assert title == "Agreement and loss without one direction"


def after(plural):
    return {"are": plural, "is": 0.2 - plural}


def test_a_model_that_turns_to_the_singular_is_the_title():
    shares = {"nothing removed": after(0.19), "number removed": after(0.02), "rival": after(0.18)}
    picture = next_words("The houses", shares, ("are", "were"))
    assert title_of(picture) == "With number removed, the model takes “The houses” for a singular"
    assert titles_of(picture.axes) == list(shares)
    assert "number removed: are 2%, is 18%" in picture.alt
    bars = [
        (to_hex(bar.get_facecolor()).upper(), bar.get_width()) for bar in picture.axes[1].patches
    ]
    assert bars == [(COLOURS["blue"], pytest.approx(2)), (COLOURS["orange"], pytest.approx(18))]
    for changed in ({"number removed": after(0.15)}, {"rival": after(0.02)}):
        title = title_of(next_words("The houses", shares | changed, ("are", "were")))
        assert title == "What the model expects after “The houses”"


def test_a_list_of_words_that_gets_most_of_the_accuracy_is_the_title():
    curves = {"causal-small": [0.85, 0.88], "random encoder": [0.7, 0.6]}
    picture = accuracy_by_layer(curves, {"word types": 0.82, "majority": 0.17})
    assert title_of(picture) == "Most of the accuracy needs no context"
    assert picture.axes[0].get_ylim() == (0, 1)
    assert picture.alt.startswith("At best causal-small 88.0%, random encoder 70.0%, word types")
    assert set(words_in(picture.axes[0])) == {*curves, "word types", "majority"}
    other = accuracy_by_layer(curves, {"word types": 0.5})
    assert title_of(other) == "Accuracy by layer, and the rivals of the probe"


def test_the_cheapest_code_is_the_title():
    finding = "With the trained states, the labels cost the fewest bits"
    assert title_of(bits_per_label({"no states": 3.6, "ours": 0.7}, "ours")) == finding
    other = bits_per_label({"no states": 3.6, "ours": 3.7}, "ours")
    assert title_of(other) == "Bits per label of the online code"


WORDS = [["The"], ["dog", "gy"], ["bark", "ed"], ["."]]
SIZES = {"width": 256, "layers": 6, "classes": 17}


def hues(picture):
    edges = {to_hex(patch.get_edgecolor()).upper() for patch in picture.axes[0].patches}
    return edges & set(COLOURS.values()) - {COLOURS["black"]}


SENTENCES = [["the", "duck", "can", "swim"], ["they", "duck"]]
LABELS = [["DET", "NOUN", "AUX", "VERB"], ["PRON", "VERB"]]
CONTROL = [["VERB", "ADP", "DET", "NOUN"], ["DET", "ADP"]]


def test_the_drawing_of_a_probe_takes_its_numbers_from_the_model():
    picture = probe_on_frozen_body(WORDS, (1, 4), "NOUN", **SIZES)
    assert "in layer 4 and answers NOUN" in picture.alt
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
    picture = selectivity_by_layer([0.9, 0.6], [0.6, 0.7], 0.17)
    (axes,) = picture.axes
    assert words_in(axes)[:2] == [".30", "−.10"]
    assert set(words_in(axes)[2:]) == {"task", "control task", "most frequent label"}
    lines = axes.collections[0].get_segments()
    assert [line[:, 1].tolist() for line in lines] == [[0.6, 0.9], [0.7, 0.6]]
    control, task, chance = axes.lines
    assert task.get_color() == COLOURS["blue"] and control.get_color() == COLOURS["vermillion"]
    assert set(chance.get_ydata()) == {0.17} and axes.get_ylim() == (0, 1)
    assert "selectivity" in picture.get_supxlabel()
    refused("expected 2 values for 'the control task', got 1", selectivity_by_layer, [1, 1], [1], 0)


def test_random_labels_that_get_harder_while_the_task_does_not_are_the_title():
    finding = "Random labels get harder to read with every layer, parts of speech do not"
    assert title_of(selectivity_by_layer([0.9, 0.91, 0.9], [0.8, 0.7, 0.6], 0.1)) == finding
    for task, control in (([0.9, 0.9, 0.8], [0.8, 0.7, 0.6]), ([0.9] * 3, [0.8, 0.7, 0.7])):
        title = title_of(selectivity_by_layer(task, control, 0.1))
        assert title == "The task and its control task, by layer"


def test_what_cannot_be_drawn_is_refused():
    refused("expected 2 values for 'random directions', got 1", removal, FOUND, DRAWN[:1], INTACT)
    for probed in ((4, 1), (0, 7)):
        message = "expected a word of 4, a layer from 0 to 6"
        refused(message, probe_on_frozen_body, WORDS, probed, "X", **SIZES)
    many = [["word"]] * 12
    refused("words that fit into 3.65 inches", probe_on_frozen_body, many, (0, 1), "X", **SIZES)
