import pytest

from tests.views.drawn import SAID
from tlcourse.views import rate_grids

COLUMNS = ("dev error (%)", "forgetting (nats)")
FOUND = {
    "the whole body": {"full": {1e-3: (10.0, 2.0), 5e-4: (12.0, 1.0), 2e-3: (90.0, 4.0)}},
    "added parts": {
        "LoRA": {2e-3: (14.0, 0.5), 4e-3: (11.0, 3.0)},
        "adapters": {1e-3: (15.0, 1.5)},
    },
}


def rings(axes):
    lines = [line for line in axes.lines if line.get_markerfacecolor() == "none"]
    return [tuple(line.get_xydata()[0]) for line in lines]


def test_each_scheme_has_rates_of_its_own_and_the_one_with_the_lowest_error_is_ringed():
    picture = rate_grids(FOUND, COLUMNS, level=10.0, **SAID)
    above, forgets, below, below_forgets = picture.axes
    assert above.get_xscale() == "log" and above.get_xlim() == below_forgets.get_xlim()
    assert rings(above) == [(1e-3, 10.0)] and rings(forgets) == [(1e-3, 2.0)]
    assert rings(below) == [(4e-3, 11.0), (1e-3, 15.0)]
    assert rings(below_forgets) == [(4e-3, 3.0), (1e-3, 1.5)]
    shown = [text.get_color() for axes in (forgets, below_forgets) for text in axes.texts]
    assert len(set(shown)) == 3  # a colour a scheme, over both families
    line = next(line for line in above.lines if len(line.get_xdata()) == 3)
    assert list(line.get_xdata()) == [5e-4, 1e-3, 2e-3] and list(line.get_ydata()) == [12, 10, 90]
    assert above.get_ylim() == below.get_ylim() and above.get_ylim()[1] == 20  # twice 10
    assert [axes.get_ylabel() for axes in picture.axes] == [*COLUMNS, *COLUMNS]
    assert [text.get_text() for text in below_forgets.texts] == ["LoRA", "adapters"]
    dotted = [[line for line in axes.lines if line.get_linestyle() == ":"] for axes in picture.axes]
    assert [[set(line.get_ydata()) for line in each] for each in dotted] == [
        [{10.0}],
        [],
        [{10.0}],
        [],
    ]


@pytest.mark.parametrize(
    "missing", [{}, {"added parts": {}}, {"a": {"LoRA": {}}}, {"a": {"LoRA": {1e-3: (1.0,)}}}]
)
def test_a_family_without_schemes_and_a_scheme_without_all_numbers_are_refused(missing):
    with pytest.raises(ValueError, match="LoRA|in every family"):
        rate_grids(missing, COLUMNS, **SAID)
