"""A slider that turns a figure; without widgets, the figure itself."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from tlcourse.views.style import Picture


def widgets_on() -> bool:
    """False when TLCOURSE_WIDGETS=off, as headless runs and tests set it."""
    return os.environ.get("TLCOURSE_WIDGETS", "").lower() != "off"


def slider(
    draw: Callable[[Any], Picture], values: Sequence, name: str, *, start: Any = None
) -> Any:
    """A slider over `values`, labelled `name`; moving it shows `draw(value)` in the same place.

    `start` is the value shown first (the first of `values` if None). Returns what the cell has
    to end with: a widget, or the figure for `start` when widgets are off. Uses only what
    ipywidgets 7.7 and 8 share. Raises ValueError for no values, or a start that is not one.
    """
    values = list(values)
    if not values:
        raise ValueError("expected at least one value for the slider, got none")
    start = values[0] if start is None else start
    if start not in values:
        raise ValueError(f"expected a start among {values}, got {start!r}")
    if not widgets_on():
        return draw(start)

    import ipywidgets

    drawn: dict[int, str] = {}

    def show(index: int) -> str:
        if index not in drawn:
            drawn[index] = draw(values[index]).html()
        return drawn[index]

    at = values.index(start)
    control = ipywidgets.SelectionSlider(
        options=[(str(value), index) for index, value in enumerate(values)],
        value=at,
        description=name,
        style={"description_width": "initial"},
        layout=ipywidgets.Layout(width="95%", max_width="640px"),
    )
    picture = ipywidgets.HTML(value=show(at))

    def moved(change: dict) -> None:
        picture.value = show(change["new"])

    control.observe(moved, names="value")
    return ipywidgets.VBox([control, picture])
