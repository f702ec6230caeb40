from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from tests.views.drawn import SAID, arrows_of, refused, said
from tlcourse.views import answer_bars, dev_errors, road, story
from tlcourse.views.diagrams import PALE_BLUE

STATIONS = [(f"0{n} Name", f"thing {n} that one has then", "build") for n in range(1, 7)]
TOKENS = [" Who", " was", " the", " first", "?"]
LIKELY, LABELS = {" one": 0.6, " two": 0.2}, {"HUM": 0.9, "LOC": 0.1}


def boxes(picture):
    return [each for each in picture.axes[0].patches if isinstance(each, FancyBboxPatch)]


def test_the_road_turns_round_and_every_arrow_joins_two_neighbours():
    picture = road(STATIONS, **SAID)
    middles = []
    for each in boxes(picture)[:6]:
        x, y, wide, tall = each.get_x(), each.get_y(), each.get_width(), each.get_height()
        middles.append((x + wide / 2, y + tall / 2))
    assert [round(x, 1) for x, _ in middles] == [0.8, 2.5, 4.3, 6.0, 6.0, 4.3]
    assert middles[3][1] > middles[4][1]
    arrows = arrows_of(picture)
    for each, (before, after) in zip(arrows, pairwise(middles), strict=True):
        start, end = np.array(each.xyann), np.array(each.xy)
        assert np.linalg.norm(start - before) < 0.8 and np.linalg.norm(end - after) < 0.8
        assert (end - start) @ np.subtract(after, before) > 0
    assert {"01 Name", "06 Name", "build a language model"} <= set(said(picture))


def test_the_words_of_a_station_stay_in_its_box():
    picture = road([("01 Name", "a classifier and how sure one can be of it", "look")], **SAID)
    picture.draw_without_rendering()
    outer = boxes(picture)[0].get_window_extent()
    for text in picture.axes[0].texts[:-1]:
        inner = text.get_window_extent()
        assert outer.x0 <= inner.x0 and inner.x1 <= outer.x1 and outer.y0 <= inner.y0


def test_the_story_shows_tokens_arcs_and_both_answers():
    weights = [0.5, 0.3, 0.02, 0.1, 0.08]
    picture = story(TOKENS, weights, LIKELY, labels=LABELS, cut="was the", **SAID)
    arcs = [each for each in picture.axes[0].patches if type(each) is FancyArrowPatch]
    assert len(arcs) == 3, "one token gets too little for an arc, and the last is where they begin"
    assert [each.get_linewidth() for each in arcs] == pytest.approx([3, 1.8, 0.6])
    before = story(TOKENS, [0.6, 0.4, 0, 0, 0], LIKELY, cut="Who was", at=1, **SAID)
    (arc,) = (each for each in before.axes[0].patches if type(each) is FancyArrowPatch)
    (x, _), (to, _) = arc.get_path().vertices[[0, -1]]
    second, first = (boxes(before)[place].get_bbox() for place in (1, 0))
    assert second.x0 < x < second.x1 and first.x0 < to < first.x1
    filled = [to_hex(each.get_facecolor()).upper() for each in boxes(picture)]
    assert [fill == PALE_BLUE for fill in filled] == [True, True, False, True, False]
    written = said(picture)
    assert {"␣Who", "60%", "HUM", "90%", "3  pretrained: what follows “was the”?"} <= set(written)


@pytest.mark.parametrize("at", [1, 4])
def test_what_comes_next_hangs_on_its_token_and_what_is_asked_for_on_all(at):
    picture = story(TOKENS, [0.2] * 5, LIKELY, labels=LABELS, cut="…", at=at, **SAID)
    tokens = [each.get_bbox() for each in boxes(picture)]
    arrows = arrows_of(picture)
    asked, follows = sorted(arrows, key=lambda each: each.xyann[1])
    assert tokens[at].x0 < follows.xyann[0] == follows.xy[0] < tokens[at].x1
    assert tokens[at].y0 - follows.xyann[1] < 0.05
    (bracket,) = picture.axes[0].lines
    x, y = bracket.get_data()
    assert x[0] == tokens[0].x0 and x[-1] == tokens[-1].x1 and asked.xyann[1] == min(y)
    headings = {each.get_text()[0]: each for each in picture.axes[0].texts if each.get_text()}
    for number, arrow in (("3", follows), ("4", asked)):
        left = headings[number].get_position()[0]
        assert left < arrow.xy[0] < left + 3.2, "the arrow ends above its own heading"


def test_without_a_classifier_nothing_is_asked():
    assert not any("fine-tuned" in text for text in said(story(TOKENS, [0.2] * 5, LIKELY, **SAID)))


def test_what_cannot_be_drawn_is_refused():
    refused("part of", road, [("01", "x", "rest")])
    refused("three lines", road, [("01", "words " * 20, "look")])
    refused("expected stations", road, [])
    refused(r"one weight a token of shape \(5\), got shape", story, TOKENS, [1.0], LIKELY)


@pytest.mark.parametrize(
    ("ours", "title"),
    [
        (0.3, "10 points fewer errors than by counting words"),
        (0.5, "Errors on the dev set"),
    ],
)
def test_the_title_claims_a_gain_only_where_there_is_one(ours, title):
    errors = {"counting": (0.4, 0.3, 0.5), "ours": (ours, 0.2, 0.6)}
    assert dev_errors(errors, "ours", "counting").get_suptitle() == title


def test_the_most_probable_label_is_the_answer():
    picture = answer_bars("Who?", {"LOC": 0.2, "HUM": 0.8})
    assert picture.get_suptitle() == "“Who?” HUM, says the model"
