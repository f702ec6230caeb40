"""One style for all figures: size, colours, the finding as the title, alt text.

Figures are made without pyplot: nothing stays open, and a notebook shows a figure once.
Colours: Okabe & Ito, "Color Universal Design" (2008).
"""

import base64
import html
import io
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from PIL import Image

WIDTH = 7.0  # inches
DPI = 144  # of the PNG; shown at 96, so that it stays sharp when projected
COLOURS = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "black": "#000000",
    "yellow": "#F0E442",
}
CYCLE = tuple(COLOURS[name] for name in list(COLOURS)[:7])  # yellow is too pale for a line
GREY = "#595959"
_FIXED = {"causal": "blue", "masked": "vermillion"}  # what keeps its colour in every figure
ABOVE = {"loc": "lower left", "bbox_to_anchor": (0, 1), "frameon": False}  # of a legend
MIDDLE = {"ha": "center", "va": "center"}  # of a text
NEAR = {"textcoords": "offset points", "fontweight": "bold"}  # a bold note beside a point
SHADES = "Blues"  # light to dark in one hue: the order is seen without seeing colours

_STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 12,
    "axes.labelsize": 12,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "axes.axisbelow": True,
    "lines.linewidth": 2.2,
    "axes.prop_cycle": matplotlib.cycler(color=CYCLE),
    "figure.facecolor": "white",
    "axes.facecolor": "white",
}


def use_style() -> None:
    """Makes matplotlib's defaults the course's style, for own figures too."""
    matplotlib.rcParams.update(_STYLE)


class Picture(Figure):
    """A matplotlib figure that shows itself as PNG with its alt text, in notebooks and nbconvert.

    `alt` is empty until `figure` or `finish` is given one.
    """

    alt = ""
    note: str | None = None

    def png(self) -> bytes:
        """The figure as PNG with at most 256 colours, a third of the size of one with all."""
        file = io.BytesIO()
        self.savefig(file, format="rgba", dpi=DPI)  # the pixels: twice as fast as a PNG on the way
        width = int(self.get_figwidth() * DPI)
        size = width, len(file.getvalue()) // (4 * width)
        picture = Image.frombytes("RGBA", size, file.getvalue()).convert("RGB")
        picture = picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        small = io.BytesIO()
        picture.save(small, format="png")  # optimised: 6 % smaller, six times slower
        return small.getvalue()

    def html(self) -> str:
        """An `<img>` with the picture in it and its alt text."""
        alt = html.escape(self.alt)
        data = base64.b64encode(self.png()).decode("ascii")
        width = round(self.get_figwidth() * 96)
        return f'<img alt="{alt}" width="{width}" src="data:image/png;base64,{data}">'

    def __repr__(self) -> str:
        return f"Figure: {self.alt}" if self.alt else super().__repr__()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data = {"image/png": base64.b64encode(self.png()).decode("ascii"), "text/plain": repr(self)}
        width = round(self.get_figwidth() * 96)
        return data, {"image/png": {"alt": self.alt, "width": width}}


class Texts(TypedDict, total=False):
    """What every chart and drawing takes by keyword and hands on to `figure`."""

    title: str  # the finding, in a sentence
    alt: str  # what is to be seen, for those who cannot see it
    note: str | None  # small below the figure: size, data, hardware


def figure(
    title: str = "",
    height: float = 3.8,
    *,
    rows: int = 1,
    columns: int = 1,
    alt: str = "",
    note: str | None = None,
    **subplots: Any,
) -> tuple[Picture, Any]:
    """A figure 7 inches wide and its axes (an array of them for more than one).

    `title` is the finding, in a sentence; `height` is in inches; `alt` and `note` wait for
    `finish`; `subplots` goes to `Figure.subplots` (`sharey=True`, `width_ratios=[2, 1]`). Raises
    ValueError without a title.
    """
    if not title.strip():
        raise ValueError("expected a title that says what the figure shows, got an empty one")
    use_style()
    lines = _wrapped(title)
    picture = Picture(figsize=(WIDTH, height), layout="constrained")
    picture.alt, picture.note = " ".join(alt.split()), note
    picture.get_layout_engine().set(w_pad=0.08, h_pad=0.06)
    bold = {"fontsize": 13, "fontweight": "bold", "linespacing": 1.2}
    # a title may name a token that holds a $
    picture.suptitle("\n".join(lines), x=0.012, ha="left", parse_math=False, **bold)
    return picture, picture.subplots(rows, columns, **subplots)


def _wrapped(title: str) -> list[str]:
    """The lines of a title, each as long as fits."""
    for characters in range(63, 20, -1):  # wide letters need more room
        lines = textwrap.wrap(title, characters)
        if all(text_width(line, 13, "bold") <= WIDTH - 0.2 for line in lines):
            break
    return lines


def finish(picture: Picture, alt: str = "", note: str | None = None) -> Picture:
    """Gives a figure its alt text and its note, and returns it.

    `alt` says what is to be seen, for those who cannot see it; one that `figure` was given takes
    precedence. `note` stands small below the figure (size, data, hardware), before the one that
    `figure` was given. Raises ValueError where neither gave an alt text.
    """
    picture.alt = picture.alt or " ".join(alt.split())
    if not picture.alt:
        raise ValueError("expected alt text that says what is to be seen, got an empty one")
    note = " ".join(filter(None, [note, picture.note]))
    if note:
        small = {"fontsize": 9.5, "color": GREY, "linespacing": 1.2, "parse_math": False}
        picture.supxlabel(textwrap.fill(note, 88), x=0.012, ha="left", **small)
    return picture


def label_axes(axes: Any, *, size: float = 12, **labels: str) -> None:
    """Labels the axes `x` and `y`; raises ValueError for an empty label: an axis says its unit."""
    for name, label in labels.items():
        if not label.strip():
            raise ValueError(f"expected {name}_label to name what is shown and its unit, got none")
        getattr(axes, f"set_{name}label")(label, fontsize=size)


def shaped(values: Any, shape: Sequence[int | str], what: str) -> np.ndarray:
    """The values as an array of that shape; a name in `shape`, as "layers", allows any length.

    Raises ValueError for another shape, or for no values.
    """
    array = np.asarray(values)
    fixed = [(a, b) for a, b in zip(shape, array.shape, strict=False) if not isinstance(a, str)]
    if array.ndim != len(shape) or not array.size or any(a != b for a, b in fixed):
        wanted = ", ".join(map(str, shape))
        raise ValueError(f"expected {what} of shape ({wanted}), got shape {array.shape}")
    return array


def ink_on(colour: Any) -> str:
    """Black or white, whichever is easier to read on `colour` (WCAG relative luminance)."""
    rgb = np.array(matplotlib.colors.to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return "black" if linear @ [0.2126, 0.7152, 0.0722] > 0.18 else "white"


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name: "causal" and "masked" keep theirs, by a name's first word.

    The others take the free ones in order; beside a model, what is the other model's comes last.
    Raises ValueError for more names than colours (7).
    """
    names = list(names)
    if len(names) > len(CYCLE):
        raise ValueError(f"expected at most {len(CYCLE)} series, one a colour, got {len(names)}")
    found: dict[str, str] = {}
    for name in names:
        fixed = COLOURS.get(_FIXED.get(name.replace(",", " ").split(" ")[0], ""))
        if fixed and fixed not in found.values():
            found[name] = fixed
    kept = {COLOURS[colour] for colour in _FIXED.values()} if found else set()  # taken last
    free = iter(sorted((c for c in CYCLE if c not in found.values()), key=kept.__contains__))
    return {name: found[name] if name in found else next(free) for name in names}


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """How wide a text is drawn at `size` points, in inches."""
    use_style()
    font = FontProperties(size=size, weight=weight)
    text = text.replace("$", r"\$")  # never a formula
    return float(TextPath((0, 0), text, prop=font).get_extents().width) / 72 if text.strip() else 0
