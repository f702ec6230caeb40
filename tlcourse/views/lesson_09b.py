"""Figures of lesson 09b: text that answers.

A title states a finding only if the data show it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.lines import Line2D

from tlcourse.views.style import COLOURS, GREY, Picture, Texts, figure, finish, label_axes

FILLED = {"fine-tuning": True, "calibrated prompt": True, "prompt": False}  # by way
HUES = ("blue", "vermillion", "green", "purple")  # of models, as they come
MARKER: dict[str, Any] = {"marker": "o", "ms": 4.5, "mew": 1.1}


def prompting(
    rows: Sequence[Mapping[str, Any]], majority: Mapping[str, float], **texts: Unpack[Texts]
) -> Picture:
    """Accuracy against labels, a panel a task: a dot for each draw, a line through the means.

    `rows` are those of the study `prompting`: "task", "way", "model", "labels", and "accuracies"
    in percent, one for each draw; rows that differ only in their wording are pooled. A model has
    one colour; dots of prompts without calibration are hollow. `majority` has for each task the
    accuracy of its most frequent class, a dotted line. Raises ValueError without rows, for a way
    that is not in FILLED, and for more than four models.
    """
    models = list(dict.fromkeys(row["model"] for row in rows))
    ways = {row["way"] for row in rows}
    if not rows or not ways <= set(FILLED) or len(models) > len(HUES):
        raise ValueError(
            f"expected rows of 1 to {len(HUES)} models, with the ways {', '.join(FILLED)}, got "
            f"{len(models)} models and {', '.join(sorted(ways)) or 'no way'}"
        )
    pooled: dict[tuple, list[float]] = {}
    for row in rows:
        key = row["task"], row["model"], row["way"], row["labels"]
        pooled.setdefault(key, []).extend(row["accuracies"])
    counts = sorted({row["labels"] for row in rows})
    means = {key: float(np.mean(each)) for key, each in pooled.items()}
    title, alt = _finding(means, list(majority)), _told(means, majority)
    picture, grid = figure(
        height=4.3,
        columns=len(majority),
        sharey=True,
        squeeze=False,
        **{"title": title, "alt": alt} | texts,
    )
    series = list(dict.fromkeys((model, way) for _, model, way, _ in pooled))
    for axes, (task, level) in zip(grid[0], majority.items(), strict=True):
        axes.set_title(task, loc="left", fontsize=11)
        axes.axhline(level, color=GREY, lw=1.2, ls=":", zorder=1)
        where = {"ha": "right", "va": "bottom", "fontsize": 9}
        axes.text(len(counts) - 0.5, level, "majority ", color=GREY, **where)
        for place, (model, way) in enumerate(series):
            colour = COLOURS[HUES[models.index(model)]]
            shift = 0.13 * (place - (len(series) - 1) / 2)
            given = [n for n, k in enumerate(counts) if (task, model, way, k) in pooled]
            fill = colour if FILLED[way] else "white"
            for n in given:
                each = pooled[task, model, way, counts[n]]
                look = {"color": colour, "mfc": fill, "alpha": 0.7, "ls": "", **MARKER}
                axes.plot([n + shift] * len(each), each, **look)
            line = [means[task, model, way, counts[n]] for n in given]
            axes.plot(np.add(given, shift), line, color=colour, lw=1.4, ls=_dashes(way))
        axes.set_xticks(range(len(counts)), [str(k) for k in counts])
        axes.set_xlim(-0.5, len(counts) - 0.5)
        axes.grid(False, axis="x")
        label_axes(axes, x="labelled examples")
    grid[0][0].set_ylim(0, 100)
    label_axes(grid[0][0], y="right answers (%)")
    _legend(grid[0][-1], series, models)
    return finish(picture)


def _dashes(way: str) -> str:
    return "-" if FILLED[way] else "--"


def _legend(axes: Any, series: Sequence[tuple[str, str]], models: list[str]) -> None:
    """The names of all series in their colours, where these axes have most room."""
    hues = [COLOURS[HUES[models.index(model)]] for model, _ in series]
    keys = [
        Line2D([], [], color=hue, mfc=hue if FILLED[way] else "white", ls=_dashes(way), **MARKER)
        for hue, (_, way) in zip(hues, series, strict=True)
    ]
    names = [f"{model}, {way}" for model, way in series]
    look = {"fontsize": 8, "handlelength": 1.8, "labelspacing": 0.25, "borderaxespad": 0.2}
    legend = axes.legend(keys, names, loc="best", **look)
    for text, hue in zip(legend.get_texts(), hues, strict=True):
        text.set_color(hue)


def _finding(means: Mapping[tuple, float], tasks: Sequence[str]) -> str:
    """What holds on every task of few and of many labels; a neutral title otherwise."""
    early, late = [], []
    for task in tasks:
        tuned = {k: v for (t, _, way, k), v in means.items() if (t, way) == (task, "fine-tuning")}
        prompts = {
            (way, k): max(v for (t, _, w, n), v in means.items() if (t, w, n) == (task, way, k))
            for t, _, way, k in means
            if t == task and way != "fine-tuning"
        }
        if not tuned or not prompts:
            return "Prompts and fine-tuning, by the number of labels"
        fewest = min(tuned)
        with_fewest = [v for (_, k), v in prompts.items() if k == fewest]
        early.append(bool(with_fewest) and max(with_fewest) > tuned[fewest])
        late.append(tuned[max(tuned)] > max(prompts.values()))
    fewest, most = (end(k for _, _, way, k in means if way == "fine-tuning") for end in (min, max))
    if all(early) and all(late):
        return f"With {fewest} labels a prompt is ahead, with {most} fine-tuning"
    if all(late):
        return f"With {most} labels, fine-tuning is ahead of every prompt"
    return "Prompts and fine-tuning, by the number of labels"


def _told(means: Mapping[tuple, float], majority: Mapping[str, float]) -> str:
    parts = []
    for task, level in majority.items():
        told = ", ".join(
            f"{model}, {way}, {labels} labels: {mean:.0f} %"
            for (t, model, way, labels), mean in means.items()
            if t == task
        )
        parts.append(f"{task}, mean right answers: {told}; majority class {level:.0f} %.")
    return " ".join(parts)
