import numpy as np

from tests.views.drawn import SAID, apart, inks, refused, words_in
from tlcourse.views import state_paths
from tlcourse.views.style import COLOURS

POINTS = np.random.default_rng(0).normal(size=(4, 6, 2)).cumsum(0)
TOKENS = [" the", " old", " mill", " the", "\n", "$"]


def paths(axes):
    return [line.get_xydata() for line in axes.lines if len(line.get_xdata()) > 1]


def test_each_token_has_a_path_from_its_embedding():
    picture = state_paths(POINTS, TOKENS, **SAID)
    axes = picture.axes[0]
    drawn = sorted(path.tolist() for path in paths(axes))
    assert drawn == sorted(POINTS[:, i].tolist() for i in range(6))
    white = [tuple(line.get_xydata()[0]) for line in axes.lines if line.get_mfc() == "white"]
    assert set(white) == {tuple(point) for point in POINTS[0]}
    assert set(words_in(axes)) <= {"the", "old", "mill", "↵", "$"}
    assert len(axes.texts) >= 4 and "layer 3" in picture.get_supxlabel()


def test_chosen_tokens_are_coloured_and_named_alone():
    axes = state_paths(POINTS, TOKENS, **SAID, chosen=[2, 5]).axes[0]
    colours = inks(axes)
    assert colours == {"mill": COLOURS["blue"], "$": COLOURS["vermillion"]}
    coloured = [
        line.get_xydata().tolist()
        for line in axes.lines
        if line.get_color() in colours.values() and len(line.get_xdata()) > 1
    ]
    assert coloured == [POINTS[:, 2].tolist(), POINTS[:, 5].tolist()]


def test_of_many_tokens_each_different_one_is_named_once():
    points = np.random.default_rng(1).normal(size=(3, 128, 2))
    picture = state_paths(points, ["a", "b"] * 64, **SAID)
    assert sorted(words_in(picture.axes[0])) == ["a", "b"]
    picture.draw_without_rendering()
    assert apart(picture.axes[0].texts)


def test_paths_that_do_not_fit_are_refused():
    for wrong in (POINTS[:, :5], POINTS[..., :1], POINTS[0]):
        refused(r"points of shape \(layers \+ 1, 6, 2\)", state_paths, wrong, TOKENS)
    for chosen in ([6], range(8)):
        refused("at most 7 chosen tokens from 0 to 5", state_paths, POINTS, TOKENS, chosen=chosen)
