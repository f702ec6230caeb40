import numpy as np
import pytest

from tests.views.drawn import nothing_overlaps, refused, title_of, words_in
from tlcourse.views import (
    choices_compared,
    expert_loads,
    losses_in_segment,
    score_terms,
    streams,
)


def test_the_title_says_what_context_saves_only_if_it_saves_most_at_the_first_token():
    falling, flat = [6.0, 5.2, 5.0, 5.0], [5.0, 5.1, 5.0, 5.0]
    picture = losses_in_segment({"alone": falling, "with a memory": flat})
    assert title_of(picture) == "1.00 nats less at the first token, 0.00 at the last"
    assert picture.alt == (
        "Loss: alone: 6.00 at the first token, 5.00 at the last; "
        "with a memory: 5.00 at the first token, 5.00 at the last."
    )
    assert picture.axes[0].get_xlabel() == "position in the segment"
    other = losses_in_segment({"alone": flat, "with a memory": falling})
    assert title_of(other) == "The loss by position in the segment"


def test_streams_are_masks_under_the_order_of_prediction():
    maps = {"query": np.tri(3, k=-1, dtype=bool), "content": np.tri(3, dtype=bool)}
    picture = streams(maps, ["The", " old", " castle"], [0, 2, 1])
    assert title_of(picture) == "The order of prediction: The, castle, old"
    assert picture.alt == "query: 3 of 9 True; content: 6 of 9 True."
    assert ["query" in words_in(axes) for axes in picture.axes] == [True, False]
    assert "content" in words_in(picture.axes[1])
    nothing_overlaps(picture)


def test_terms_are_drawn_in_the_same_colours():
    weak, strong = np.eye(3), np.diag([5.0, -5.0, 0.0])
    picture = score_terms({"content": weak, "position": strong}, ["a", "b", "c"])
    assert "content 0.47, position 2.36" in picture.alt
    drawn = [axes.images[0] for axes in picture.axes[:2]]
    assert [image.get_clim() for image in drawn] == [(-5.0, 5.0)] * 2  # the same colours
    refused("terms of shape .3, 3., got .*2, 2", score_terms, {"x": np.eye(2)}, ["a", "b", "c"])


def test_the_title_says_what_the_busiest_expert_computes():
    picture = expert_loads({"free": [[0.9, 0.1], [0.5, 0.5]], "balanced": [[0.6, 0.4]] * 2})
    assert title_of(picture) == "The busiest experts compute 90 % and 60 % of the tokens"
    assert [words_in(axes) for axes in picture.axes] == [["90", "10", "50", "50"], ["60", "40"] * 2]
    assert picture.alt == "free: [[0.9, 0.1], [0.5, 0.5]]; balanced: [[0.6, 0.4], [0.6, 0.4]]"
    nothing_overlaps(picture)


def test_each_question_is_a_panel_with_a_line_and_its_intervals():
    choices = {"8": (30.0, 28.5, 32.0), "32": (25.0, 24.0, 26.0)}
    picture = choices_compared({"windows a step": choices, "width": choices}, y_label="nats")
    assert title_of(picture) == "What else decides: nats"
    assert picture.alt == "windows a step: 8 30.0, 32 25.0; width: 8 30.0, 32 25.0."
    for axes in picture.axes:
        heights = [line.get_ydata().tolist() for line in axes.lines if len(line.get_ydata()) == 2]
        assert [30.0, 25.0] in heights
        assert axes.get_ylim() == (24, pytest.approx(32.8))
