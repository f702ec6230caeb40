import numpy as np
import pytest

from tlcourse.views import ablation_grid, score_grid

SAID = {"title": "The finding.", "alt": "What is seen."}


def shown(picture):
    return [axes for axes in picture.axes if axes.get_visible() and axes.images]


def numbers(axes):
    return [text.get_text() for text in axes.texts]


def test_trained_stands_above_random_on_the_same_colours():
    trained = {"previous": np.array([[0.5, 0.25]]), "entropy": np.array([[3.0, 0.04]])}
    random = {"entropy": np.array([[4.0, 4.0]]), "previous": np.array([[0.125, 1.0]])}
    picture = score_grid(trained, random, **SAID)
    first, second, below, other = shown(picture)
    assert [a.get_title(loc="left") for a in (first, second)] == ["previous", "entropy"]
    assert numbers(first) == [".50", ".25"] and numbers(below) == [".12", "1.00"]
    assert numbers(second) == ["3.0", ".0"] and numbers(other) == ["4.0", "4.0"]
    assert first.images[0].get_clim() == below.images[0].get_clim() == (0, 1)
    assert second.images[0].get_clim() == other.images[0].get_clim() == (0, 4)
    assert "trained" in first.get_ylabel() and "random weights" in below.get_ylabel()
    assert below.get_xlabel() == "head" and not first.get_xlabel()


def test_five_scores_take_two_rows_and_large_models_a_colour_bar():
    five = {str(i): np.ones((2, 2)) for i in range(5)}
    picture = score_grid(five, **SAID)
    tops = {axes.get_subplotspec().rowspan.start for axes in shown(picture)}
    assert len(shown(picture)) == len(picture.axes) - 3 == 5 and tops == {0, 1}
    many = score_grid(
        {"a": np.ones((24, 16)), **{str(i): np.ones((24, 16)) for i in "bcd"}}, **SAID
    )
    assert not any(numbers(axes) for axes in many.axes)
    assert len([axes for axes in many.axes if not axes.images]) == 4, "a bar for each"


def test_scores_that_do_not_fit_are_refused():
    one = {"a": np.ones((2, 2))}
    with pytest.raises(ValueError, match=r"'b' of shape \(2, 2\), got shape \(2, 3\)"):
        score_grid({**one, "b": np.ones((2, 3))}, **SAID)
    with pytest.raises(ValueError, match="the same scores beside"):
        score_grid(one, {"b": np.ones((2, 2))}, **SAID)
    with pytest.raises(ValueError, match=r"scores of shape \(layers, heads\)"):
        score_grid({}, **SAID)


def test_a_head_that_helps_and_one_that_harms_have_two_colours():
    picture = ablation_grid([[0.5, -0.25], [0.0004, 0.0]], **SAID)
    axes, bar = picture.axes
    assert numbers(axes) == ["+.500", "−.250", ".000", ".000"]
    assert axes.images[0].get_clim() == (-0.5, 0.5)
    assert "nats" in bar.get_ylabel()
    assert [t.get_text() for t in axes.get_xticklabels()] == ["head 0", "head 1"]


def test_other_parts_stand_beside_the_heads():
    axes = ablation_grid(np.ones((3, 2)), {"feed-forward": [2.0, 4.0, 6.0]}, **SAID).axes[0]
    assert axes.images[0].get_array()[:, 2].tolist() == [2, 4, 6]
    assert axes.images[0].get_clim() == (-6, 6)
    last = axes.get_xticklabels()[-1].get_text()
    assert last.replace("\n", "") == "feed-forward"
    with pytest.raises(ValueError, match="columns of 3 values, one a block"):
        ablation_grid(np.ones((3, 2)), {"feed-forward": [1, 2]}, **SAID)
    with pytest.raises(ValueError, match=r"changes of shape \(layers, heads\), got shape \(3,\)"):
        ablation_grid(np.ones(3), **SAID)
    with pytest.raises(ValueError, match="the axis shows"):
        ablation_grid(np.ones((3, 2)), **SAID, label="")
