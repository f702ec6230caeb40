"""What tests ask of a drawing: its words, and that nothing lies on anything else."""

from itertools import combinations

SAID = {"title": "The finding.", "alt": "What is seen."}


def texts(picture):
    """The texts that are not empty."""
    return [text for text in picture.axes[0].texts if text.get_text()]


def said(picture):
    """What they say."""
    return [text.get_text() for text in texts(picture)]


def nothing_overlaps(picture):
    """No text lies on another, on the title, or outside the picture."""
    picture.draw_without_rendering()
    boxes = [text.get_window_extent() for text in texts(picture)]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(box.x0 >= 0 and box.x1 <= picture.bbox.x1 and box.y0 >= 0 for box in boxes)
    assert all(box.y1 <= picture._suptitle.get_window_extent().y0 for box in boxes)
