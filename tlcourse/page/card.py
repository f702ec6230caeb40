"""The picture that a link to the page shows (og:image): the first reading as a drawing."""

from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from tlcourse.page import drawing

SIZE = (1200, 630)  # what most services show whole
# as in page.css
INK, QUIET, SOFT, BLUE = "#14181c", "#56606a", "#eff2f5", "#0072b2"
LESS, MORE = "#d55e00", "#008c6e"
FIELD, GAP = 58, 14  # pixels
LEFT, TOP = 80, 270  # of the heads


def draw(path: Path, title: str, first: dict[str, Any]) -> None:
    """Writes a reading (`prerender.reading`) as a PNG: text, heads, likeliest tokens."""
    image = Image.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(image)
    pen.text((LEFT, 70), title, INK, font=ImageFont.load_default(64))
    text = first["text"] + " …" * first["causal"]
    pen.text((LEFT, 170), text, QUIET, font=ImageFont.load_default(36))
    most = max(drawing.LEAST, *(abs(drawing.lost(first, each)) for each in first["effects"]))
    for each in first["effects"]:
        share = drawing.lost(first, each) / most
        x, y = LEFT + each["layer"] * (FIELD + GAP), TOP + each["head"] * (FIELD + GAP)
        colour = _mixed(MORE if share < 0 else LESS, abs(share) ** 0.5)
        pen.rounded_rectangle((x, y, x + FIELD, y + FIELD), 10, colour)
    left = LEFT + first["layers"] * (FIELD + GAP) + 90
    for row, token in enumerate(first["best"][: first["heads"]]):
        y = TOP + row * (FIELD + GAP)
        word, wide = token["text"].strip()[:12], 260 * token["probability"]
        pen.text((left, y + 12), word, INK, font=ImageFont.load_default(32))
        pen.rounded_rectangle((left + 210, y + 12, left + 216 + wide, y + 46), 4, BLUE)
    image.save(path, optimize=True)


def _mixed(colour: str, share: float) -> tuple[int, ...]:
    """A colour on the soft ground, with so much of it."""
    pairs = [(int(SOFT[at : at + 2], 16), int(colour[at : at + 2], 16)) for at in (1, 3, 5)]
    return tuple(round(ground + share * (own - ground)) for ground, own in pairs)
