"""Probes by layer, beside what they have to beat; control tasks; the length of a code."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from tlcourse.views.lines import plain
from tlcourse.views.panels import (
    DASHES,
    Values,
    draw_line,
    label_below,
    name_lines,
    panels,
    with_ends,
)
from tlcourse.views.style import (
    COLOURS,
    GREY,
    SHADES,
    Picture,
    colours_of,
    figure,
    finish,
    ink_on,
    label_axes,
)


def by_layer(
    tasks: Mapping[str, Mapping[str, Values]],
    baselines: Mapping[str, Mapping[str, float | Values]] | None = None,
    *,
    title: str = "",
    alt: str = "",
    y_label: str = "accuracy",
    x_label: str = "layer",
    note: str | None = None,
) -> Picture:
    """Scores by layer, a panel a task (one to six, on the same axes), baselines in grey.

    `tasks` maps a task to series, a series to its values: embeddings ("emb"), then layer 1 to the
    last, each a number or (value, low, high), whose interval is drawn as a band. `baselines` maps
    a task to others: a number is the same at every layer, values are as above. Every line is named
    at the right of its row. Raises ValueError where tasks differ in series or layers, for a
    baseline of no task, and without title, alt text or labels.
    """
    names = {tuple(each) for each in tasks.values()}
    counts = {len(values) for each in tasks.values() for values in each.values()}
    if len(names) > 1 or len(counts) > 1:
        raise ValueError(
            f"expected the same series and layers in every task, got series "
            f"{sorted(names)} with {sorted(counts)} layers"
        )
    greys = baselines or {}
    if set(greys) - set(tasks):
        raise ValueError(f"expected baselines of {list(tasks)}, got some of {list(greys)}")
    picture, shown = panels(title, list(tasks), sharex=True, sharey=True)
    layers = np.arange(counts.pop())
    colours = colours_of(names.pop())
    every = dict.fromkeys(name for each in greys.values() for name in each)
    dashes = dict(zip(every, DASHES * len(every), strict=False))
    ends: list[dict[str, tuple]] = []
    for axes, (task, series) in zip(shown, tasks.items(), strict=True):
        flat = {name: np.broadcast_to(v, len(layers)) if np.ndim(v) == 0 else v
                for name, v in greys.get(task, {}).items()}  # fmt: skip
        ends.append({})
        for name, values in {**flat, **series}.items():
            drawn = with_ends(values, len(layers), name)
            colour = GREY if name in flat else colours[name]
            draw_line(axes, layers, drawn, colour, dashes[name] if name in flat else "-")
            ends[-1][name] = (layers[-1], drawn[0, -1], colour)
    _layer_ticks(shown, len(layers), x_label, y_label)
    name_lines(shown, ends, 2.6 if len(shown) == 1 else 1.25)
    return finish(picture, alt, note)


def _layer_ticks(shown: Sequence[Any], count: int, x_label: str, y_label: str) -> None:
    """Names layers below each panel, as many as fit, and the axes at the outer edges."""
    columns = shown[0].get_subplotspec().get_gridspec().ncols
    step = -(-count // {1: 14, 2: 9}.get(columns, 5))
    for place, axes in enumerate(shown):
        axes.set_xticks(range(0, count, step), [i or "emb" for i in range(0, count, step)])
        label_axes(axes, **({} if place % columns else {"y": y_label}))
    label_below(shown, x_label)


def task_by_layer(
    scores: Mapping[str, Sequence[float]],
    baseline: Mapping[str, float | Sequence[float]] | None = None,
    *,
    title: str = "",
    alt: str = "",
    label: str = "accuracy above the baseline",
    number: str = "{:+.2f}",
    framed: str = "the best layer of each row",
    note: str | None = None,
) -> Picture:
    """A heat map of tasks (rows) × layers (embeddings first), with the largest of each row framed.

    `framed` says what the largest is. Cells show the score less its task's `baseline` (one number,
    or one a layer), purple above and orange below; without one the score, in blue. `label` names
    the colours, with the unit. Raises ValueError where tasks differ in layers or lack a baseline,
    and without title or alt text.
    """
    tasks = list(scores)
    counts = {len(values) for values in scores.values()}
    if len(counts) != 1 or (baseline is not None and set(tasks) - set(baseline)):
        raise ValueError(
            f"expected as many layers for every task, and its baseline if any has one; got "
            f"{sorted(counts)} layers for {tasks}, baselines {list(baseline or {})}"
        )
    cells = np.array(
        [np.subtract(scores[t], 0 if baseline is None else baseline[t]) for t in tasks]
    )
    reach = np.abs(cells).max() or 1.0
    low, colours = (min(0.0, cells.min()), SHADES) if baseline is None else (-reach, "PuOr")
    shades = matplotlib.colormaps[colours].resampled(25)
    picture, axes = figure(title, 1.9 + 0.36 * len(tasks))
    image = axes.imshow(cells, aspect="auto", cmap=shades, vmin=1.25 * low, vmax=1.25 * reach)
    size = min(11, 72 * 4.2 / cells.shape[1] / 3.3)
    for (row, column), value in np.ndenumerate(cells):
        best = column == cells[row].argmax()
        text = number.format(value).replace("-", "−")
        axes.text(
            column, row, text, ha="center", va="center", fontsize=size,
            color=ink_on(image.cmap(image.norm(value))), fontweight="bold" if best else "normal",
        )  # fmt: skip
        if best:
            axes.add_patch(
                Rectangle((column - 0.46, row - 0.44), 0.92, 0.88, fill=False, ec="black", lw=2)
            )
    axes.set_xticks(range(cells.shape[1]), ["emb", *range(1, cells.shape[1])])
    axes.set_yticks(range(len(tasks)), tasks)
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    label_axes(axes, x="layer")
    bar = picture.colorbar(image, ax=axes, pad=0.02, aspect=30)
    bar.set_label(label, fontsize=10)
    bar.ax.set_ylim(low, reach)  # the darkest shades are left out: black is seen on all others
    bar.outline.set_visible(False)
    said = f"Framed: {framed}."
    return finish(picture, alt, f"{said} {note}" if note else said)


def selectivity_by_layer(
    probes: Mapping[str, tuple[Values, Values]],
    *,
    title: str = "",
    alt: str = "",
    y_label: str = "accuracy",
    number: str = "{:.2f}",
    note: str | None = None,
) -> Picture:
    """Task and control task of one to three probes, layer by layer, and the line between them.

    `probes` maps a probe to (task, control): values from the embeddings to the last layer, each a
    number or (value, low, high). The line's number is the selectivity (Hewitt & Liang, 2019).
    Raises ValueError for another number of probes, different layers, and without title, alt text
    or label.
    """
    if not 1 <= len(probes) <= 3:
        raise ValueError(f"expected one to three probes side by side, got {len(probes)}")
    picture, shown = panels(title, list(probes), height=2.6, sharex=True, sharey=True)
    count = len(next(iter(probes.values()))[0])
    layers = np.arange(count)
    ends: list[dict[str, tuple]] = []
    for axes, (name, pair) in zip(shown, probes.items(), strict=True):
        task, control = (with_ends(values, count, name) for values in pair)
        axes.vlines(layers, control[0], task[0], color=COLOURS["blue"], lw=4, alpha=0.25)
        for values, colour, fill in ((control, GREY, "white"), (task, COLOURS["blue"], None)):
            axes.vlines(layers, *values[1:], color=colour, lw=1.4)
            axes.plot(layers, values[0], "o", color=colour, mfc=fill or colour, ms=6.5, mew=1.6)
        tight = count * len(probes) > 21  # no room for a number between two lines
        for layer, low, high in zip(layers, control[0], task[0], strict=True):
            text = "−" * bool(high < low) + (number.format(abs(high - low)).lstrip("0") or "0")
            axes.annotate(
                text, (layer, (low + high) / 2), (3, 0), va="center", textcoords="offset points",
                fontsize=9 if len(probes) < 3 else 8, rotation=90 if tight else 0,
            )  # fmt: skip
        axes.set_xlim(-0.5, count - 0.2)
        ends.append({
            "task": (layers[-1], task[0, -1], COLOURS["blue"]),
            "control task": (layers[-1], control[0, -1], GREY),
        })  # fmt: skip
    _layer_ticks(shown, count, "layer", y_label)
    name_lines(shown, ends, 2.2)
    said = "Numbers: selectivity, the task less the control task."
    return finish(picture, alt, f"{said} {note}" if note else said)


def code_lengths(
    codes: Mapping[str, Sequence[tuple[int, float]]],
    uniform_bits: float = 0.0,
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Online codes (Voita & Titov, 2020): bits an item block by block, and their totals as bars.

    `codes` maps a name to its blocks, (items sent so far, bits of the block that ends there).
    `uniform_bits` is the total of the uniform code, which learns nothing: the grey line and bar.
    Raises ValueError for no codes, different numbers of items, a uniform code of no bits, and
    without title or alt text.
    """
    items = {blocks[-1][0] for blocks in codes.values()}
    if len(items) != 1 or uniform_bits <= 0:
        raise ValueError(
            f"expected codes of the same items and the bits of the uniform code, got items "
            f"{sorted(items)} and {uniform_bits} bits"
        )
    picture, (left, right) = figure(title, max(3.4, 1.7 + 0.45 * len(codes)), columns=2)
    totals = {"uniform code": uniform_bits}
    colours = {"uniform code": GREY, **colours_of(codes)}
    for name, blocks in codes.items():
        sent, bits = np.array(blocks, float).T
        left.plot(sent, bits / np.diff(sent, prepend=0), "o-", color=colours[name], ms=5)
        totals[name] = bits.sum()
    left.axhline(uniform_bits / items.pop(), color=GREY, lw=1.6, ls=":", zorder=1.5)
    left.set(xscale="log", ylim=(0, None))
    left.xaxis.set_major_formatter(FuncFormatter(plain))
    label_axes(left, x="items sent (logarithmic)", y="bits an item")
    most = max(totals.values())
    unit, size = ("kbit", 1000) if most >= 10_000 else ("bits", 1)
    for row, (name, bits) in enumerate(totals.items()):
        right.barh(row, bits / size, color=colours[name], height=0.6)
        shorter = "" if name == "uniform code" else f"  ÷ {uniform_bits / bits:.1f}"
        text = f"{bits / size:,.{1 if size > 1 else 0}f}{shorter}"
        right.text((bits + 0.02 * most) / size, row, text, va="center")
    right.set_yticks(range(len(totals)), list(totals), fontweight="bold")
    for tick, name in zip(right.get_yticklabels(), totals, strict=True):
        tick.set_color(colours[name])
    right.set(ylim=(len(totals) - 0.5, -0.5), xlim=(0, 1.45 * most / size))
    right.grid(False, axis="y")
    right.tick_params(axis="y", length=0)
    label_axes(right, x=f"length of the code ({unit})")
    said = "÷: how many times shorter than the uniform code."
    return finish(picture, alt, f"{said} {note}" if note else said)
