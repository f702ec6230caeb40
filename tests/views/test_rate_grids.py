import pytest

from tests.views.drawn import SAID
from tlcourse.views import rate_grids

FOUND = {
    "the whole body": {"full": {1e-3: 10.0, 5e-4: 12.0, 2e-3: 90.0}},
    "added parts": {"LoRA": {2e-3: 14.0, 4e-3: 11.0}, "adapters": {1e-3: 15.0}},
}


def test_each_scheme_has_rates_of_its_own_and_its_best_is_ringed():
    picture = rate_grids(FOUND, levels={"full at its best": 10.0}, **SAID)
    above, below = picture.axes
    assert above.get_xscale() == "log" and above.get_xlim() == below.get_xlim()
    rings = [
        [tuple(line.get_xydata()[0]) for line in axes.lines if line.get_markerfacecolor() == "none"]
        for axes in picture.axes
    ]
    assert rings == [[(1e-3, 10.0)], [(4e-3, 11.0), (1e-3, 15.0)]]
    line = next(line for line in above.lines if len(line.get_xdata()) == 3)
    assert list(line.get_xdata()) == [5e-4, 1e-3, 2e-3] and list(line.get_ydata()) == [12, 10, 90]
    assert above.get_ylim() == below.get_ylim() and above.get_ylim()[1] == 30  # three times 10
    assert [text.get_text() for text in above.texts] == ["full", "full at its best"]
    assert [text.get_text() for text in below.texts] == ["LoRA", "adapters"]
    for axes in picture.axes:  # names stand beside what is shown, that of a line cut off as well
        assert all(0 <= text.xy[1] <= 30 for text in axes.texts)
    dotted = [[line for line in axes.lines if line.get_linestyle() == ":"] for axes in picture.axes]
    assert [[set(line.get_ydata()) for line in each] for each in dotted] == [[{10.0}]] * 2


@pytest.mark.parametrize("missing", [{}, {"added parts": {}}, {"added parts": {"LoRA": {}}}])
def test_a_family_without_errors_is_refused(missing):
    with pytest.raises(ValueError, match="LoRA|in every family"):
        rate_grids(missing, **SAID)
