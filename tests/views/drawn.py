"""What tests ask of a picture: its words, and that nothing lies on anything else."""

from itertools import combinations

import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Annotation, Text

from tlcourse.views.style import COLOURS

SAID = {"title": "The finding.", "alt": "What is seen."}
LABELLED = SAID | {"x_label": "x", "y_label": "y"}


def refused(message, draw, *arguments, **keywords):
    """Asserts that `draw`, given a title and an alt text, raises ValueError with this message."""
    with pytest.raises(ValueError, match=message):
        draw(*arguments, **SAID | keywords)


def texts(picture):
    """The texts of the first axes that are not empty."""
    return [text for text in picture.axes[0].texts if text.get_text()]


def said(picture):
    """What they say."""
    return [text.get_text() for text in texts(picture)]


def words_in(axes):
    """What the texts of these axes say."""
    return [text.get_text() for text in axes.texts]


def inks(axes):
    """The texts of these axes with their colours."""
    return {text.get_text(): text.get_color() for text in axes.texts}


def row_names(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def column_names(axes):
    return [label.get_text() for label in axes.get_xticklabels()]


def titles_of(shown):
    """What stands above each of these axes, at the left."""
    return [axes.get_title(loc="left") for axes in shown]


def edged(picture, colour):
    """The boxes of a drawing whose edge has this colour, by its name."""
    wanted = COLOURS[colour].lower()
    return [box for box in picture.axes[0].patches if to_hex(box.get_edgecolor()) == wanted]


def arrows_of(picture):
    return [text for text in picture.axes[0].texts if isinstance(text, Annotation)]


def apart(texts):
    """Whether no text, without the line that leads to it, lies on another."""
    boxes = [Text.get_window_extent(text) for text in texts]
    return not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def nothing_overlaps(picture):
    """Asserts that no text lies on another, on the title, or outside the picture."""
    picture.draw_without_rendering()
    assert apart(texts(picture))
    boxes = [text.get_window_extent() for text in texts(picture)]
    assert all(box.x0 >= 0 and box.x1 <= picture.bbox.x1 and box.y0 >= 0 for box in boxes)
    assert all(box.y1 <= picture._suptitle.get_window_extent().y0 for box in boxes)


def title_of(picture) -> str:
    """The title of a figure, without its line breaks."""
    return " ".join(picture.get_suptitle().split())
