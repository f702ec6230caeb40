"""A slider that turns a figure, and a chat; without widgets, the figure or the transcript."""

import html
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


class Transcript:
    """A conversation that prints as lines, and that a notebook shows as them: the user begins."""

    def __init__(self, utterances: Sequence[str] = ()):
        self.utterances = list(utterances)

    def lines(self) -> list[tuple[str, str]]:
        """Who speaks, "you" or "bot", and what is said."""
        return [(("you", "bot")[n % 2], text) for n, text in enumerate(self.utterances)]

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self.lines())

    def html(self) -> str:
        """The lines as HTML; all that was said is escaped."""
        return "<br>".join(f"<b>{name}:</b> {html.escape(text)}" for name, text in self.lines())


def chat(reply: Callable[[list[str]], str], opening: Sequence[str]) -> Any:
    """A field to type into, below a transcript that begins with the user's texts in `opening`.

    `reply` gets the conversation so far, which the user began and spoke in last, and returns the
    next utterance. Returns what the cell has to end with: a widget, or a `Transcript` of the
    opening and its replies when widgets are off. Uses only what ipywidgets 7.7 and 8 share. Raises
    ValueError for an opening without a text.
    """
    said = [text.strip() for text in opening]
    if not said or not all(said):
        raise ValueError(f"expected at least one text to open the chat with, got {said}")
    transcript = Transcript()

    def answer(text: str) -> None:
        transcript.utterances.append(text)
        transcript.utterances.append(reply(list(transcript.utterances)))

    for text in said:
        answer(text)
    if not widgets_on():
        return transcript

    import ipywidgets

    shown = ipywidgets.HTML(value=transcript.html())
    field = ipywidgets.Text(
        placeholder="type here, then press Enter",
        continuous_update=False,
        layout=ipywidgets.Layout(width="95%", max_width="640px"),
    )

    def typed(change: dict) -> None:
        text = change["new"].strip()
        if text:
            answer(text)
            shown.value = transcript.html()
            field.value = ""

    field.observe(typed, names="value")
    return ipywidgets.VBox([shown, field])
