"""Slides as one file of reveal.js, which shows them without a network."""

import html
import re
from collections.abc import Sequence
from pathlib import Path

from pygments.formatters import HtmlFormatter

from tlcourse.lessons.slides import Section, Slide

HERE = Path(__file__).parent
REVEAL = HERE / "reveal"  # reveal.js 5.2.1 (MIT); its licence is beside it
WIDTH, HEIGHT = 1280, 720  # of a slide, which reveal.js scales to the screen
PIXELS = ((40, 36), (90, 30), (150, 25), (10_000, 21))  # the size of type up to so many words
FORMULA = (46, 52)  # the largest size of a formula, and the letters that it has room for
CODE_WIDTH, LETTER = 1160, 0.62  # pixels of a line of code; width of a letter beside its height
CODE_HEIGHT, LINE = 560, 1.35
CODE_LARGEST, SMALLEST = 26, 17
LIGHT, DARK = "friendly", "github-dark"  # styles of Pygments


def to_html(sections: Sequence[Section], title: str) -> str:
    """One HTML page with all slides, its scripts and styles inside."""
    slides = "\n".join(_section(slide) for section in sections for slide in section.slides)
    slides = re.sub(r'href="(\w+)\.ipynb', r'href="\1.html', slides)  # the slides of that lesson
    inside = "\n".join(map(script_of, scripts().values()))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
{style_of(styles())}
</head>
<body>
<div class="reveal"><div class="slides">
{slides}
</div></div>
{inside}
</body>
</html>
"""


def styles() -> str:
    """The style sheet of all slides."""
    light, dark = (HtmlFormatter(style=s).get_style_defs(".reveal code") for s in (LIGHT, DARK))
    dark = f"@media screen and (prefers-color-scheme: dark) {{ {dark} }}"
    ours = (HERE / "deck.css").read_text("utf-8")
    return "\n".join([part("reset.css"), part("reveal.css"), light, dark, ours])


def scripts() -> dict[str, str]:
    """The scripts of all slides by file name, in their order."""
    ours = (HERE / "deck.js").read_text("utf-8")
    return {"reveal.js": part("reveal.js"), "notes.js": part("notes.js"), "deck.js": ours}


def part(name: str) -> str:
    """A file of reveal.js, without the address of its sources."""
    text = (REVEAL / name).read_text("utf-8")
    return re.sub(r"^//# sourceMappingURL=.*$", "", text, flags=re.MULTILINE)


def style_of(source: str) -> str:
    """A style sheet as an element that contains it."""
    return f"<style>\n{source}\n</style>"


def script_of(source: str) -> str:
    """A script as an element that contains it."""
    inside = source.replace("</script", r"<\/script")  # would end the element
    return f"<script>{inside}</script>"


def _section(slide: Slide) -> str:
    heading = f'<p class="heading">{slide.heading}</p>' if slide.heading else ""
    notes = f'<aside class="notes">{slide.notes}</aside>' if slide.notes else ""
    size = f"{_pixels(slide):.0f}px"
    return (
        f'<section class="{slide.kind}" style="font-size: {size}">\n'
        f"{heading}{slide.content}{notes}\n</section>"
    )


def _pixels(slide: Slide) -> float:
    """The size of type with which the slide begins; the page makes it smaller where it must."""
    text = html.unescape(re.sub(r"<[^>]+>", "", slide.content))
    if slide.kind.startswith("code"):
        lines = text.strip("\n").splitlines()
        wide = CODE_WIDTH / max(map(len, lines), default=1) / LETTER
        return max(SMALLEST, min(CODE_LARGEST, wide, CODE_HEIGHT / len(lines) / LINE))
    if slide.kind == "formula":
        largest, room = FORMULA
        longest = max(len(re.sub(r"\s", "", part)) for part in _formulas(slide.content))
        return min(largest, largest * room / longest)
    return next(size for most, size in PIXELS if len(text.split()) <= most)


def _formulas(content: str) -> list[str]:
    """The letters of each formula on a line of its own."""
    found = re.findall(r'<math[^>]*display="block".*?</math>', content, flags=re.DOTALL)
    return [re.sub(r"<[^>]+>", "", each) for each in found] or [content]
