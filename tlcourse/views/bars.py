"""Horizontal bars with intervals and numbers, and rows that have names."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from tlcourse.views.lines import plain
from tlcourse.views.style import CYCLE, GREY, Picture, Texts, figure, finish, label_axes


def name_rows(axes: Any, names: Sequence[str], above: float = 0.5, below: float = 0.5) -> None:
    """Names rows 0, 1, … at the left, from top to bottom, with so much room around them."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 1 + below, -above)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)


def horizontal_bars(
    values: Mapping[str, float | tuple[float, float, float]],
    *,
    x_label: str = "",
    number: str = "{:.1f}",
    highlight: str | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """Horizontal bars from top to bottom, each with its number; a tuple is (value, low, high).

    `number` formats what stands at a bar; the bar named `highlight` has another colour. Raises
    ValueError for no bars, or for a highlight that is none of them.
    """
    if not values or (highlight is not None and highlight not in values):
        raise ValueError(f"expected bars, and {highlight!r} among them; got {list(values)}")
    picture, axes = figure(
        height=1.35 + (0.34 if len(values) <= 12 else 0.25) * len(values), **texts
    )
    numbers = [v if isinstance(v, tuple) else (v, v, v) for v in values.values()]
    low, high = min(0.0, *map(min, numbers)), max(0.0, *map(max, numbers))
    reach = max(high, -low)
    for row, (name, (value, *ends)) in enumerate(zip(values, numbers, strict=True)):
        axes.barh(row, value, height=0.62, color=CYCLE[1] if name == highlight else CYCLE[0])
        if ends[0] != ends[1]:
            axes.hlines(row, *ends, color="black", lw=1.6)
            axes.plot(ends, [row, row], "|", color="black", ms=8)
        text = number.format(value).replace("-", "−")
        axes.text(max(value, *ends, 0.0) + 0.015 * reach, row, text, va="center")
    axes.set_xlim(1.16 * low, high + 0.16 * reach)
    name_rows(axes, list(values))
    axes.spines["left"].set_color(GREY)
    axes.xaxis.set_major_formatter(plain)
    label_axes(axes, x=x_label)
    return finish(picture)


def answer_bars(question: str, probabilities: Mapping[str, float]) -> Picture:
    """Bars of the probability of each label for a question, the best one highlighted."""
    best = max(probabilities, key=lambda label: probabilities[label])
    return horizontal_bars(
        {label: 100 * share for label, share in probabilities.items()},
        title=f"“{question}” {best}, says the model",
        alt=f"Bars of the probability of each label; {best} has {probabilities[best]:.0%}.",
        x_label="probability (%)",
        highlight=best,
    )
