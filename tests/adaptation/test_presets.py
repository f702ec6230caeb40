"""What schemes train with by default is what the stored searches found best for them."""

import pytest

from tlcourse.adaptation import SCHEMES, Recipe, Scheme, leaderboard, preset
from tlcourse.adaptation.presets import FEW, FROZEN, HEAD_RATE, RATES

LABELS = 5452


def rate_moved(name, texts):
    """The learning rate that the searches call it: of what moves; frozen bodies: of the head."""
    factor = 1.0 if name in FROZEN else getattr(SCHEMES[name].groups, "factor", 1.0)
    return preset(SCHEMES[name], texts).learning_rate * factor


@pytest.mark.parametrize("name", RATES)
def test_with_many_texts_the_rate_is_the_best_of_the_stored_screen(name):
    searched = "top layers" if name == "top 2 layers" else name
    found = leaderboard.by_rate(leaderboard.read("screen"), searched)
    assert found[rate_moved(name, LABELS)][0] == min(error for error, _ in found.values())
    assert preset(SCHEMES[name], LABELS).epochs == leaderboard.read("screen")["epochs"]
    head = preset(SCHEMES[name], LABELS).head_learning_rate
    assert head == (None if name in FROZEN else HEAD_RATE)


@pytest.mark.parametrize("name", RATES)
def test_with_few_texts_it_is_the_best_of_the_search_with_few_labels(name):
    chosen = leaderboard.read("few_labels")["choices"]
    if name in chosen:
        stored = chosen[name]["recipe"]
        mine = preset(SCHEMES[name], FEW - 1)
        assert rate_moved(name, FEW - 1) == pytest.approx(stored["learning_rate"])
        assert (mine.epochs, mine.min_steps) == (stored["epochs"], stored["min_steps"])
        assert mine.head_learning_rate == stored["head_learning_rate"]
    else:
        assert rate_moved(name, FEW - 1) == rate_moved(name, FEW)


def test_every_scheme_of_the_course_was_searched_and_ones_own_trains_as_the_lessons_do():
    assert set(RATES) == set(SCHEMES)
    (other,) = {preset(Scheme("mine"), texts) for texts in (1, 9_999)}
    assert other == Recipe(min_steps=other.min_steps)
