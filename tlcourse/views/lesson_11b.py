"""Figures of lesson 11b: autoencoders of sentences, and what vectors of sentences know.

A title states a finding only if the data show it.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Unpack

from tlcourse.views.bars import name_rows
from tlcourse.views.diagrams import Drawing
from tlcourse.views.style import COLOURS, Picture, Texts, figure, finish, label_axes

Interval = tuple[float, float, float]  # value, low, high


def three_autoencoders(sentence: str, noisy: str, **texts: Unpack[Texts]) -> Picture:
    """The plain, the denoising and the variational autoencoder, side by side, read upwards.

    `sentence` is what all of them write, `noisy` what the denoising one reads.
    """
    told = (
        f"All three write “{sentence}” from one vector. The plain one reads the same sentence, the "
        f"denoising one reads “{noisy}”. The encoder of the variational one returns a mean and a "
        "variance, and the vector is drawn around the mean."
    )
    texts = {"title": "Three ways to make a vector hold a sentence", "alt": told} | texts
    draw, size = Drawing(3.0, **texts), {"width": 1.5, "height": 0.34}
    for x, name in zip((1.15, 3.4, 5.65), ("plain", "denoising", "variational"), strict=True):
        reads = noisy if name == "denoising" else sentence
        column = [
            draw.box((x, 0.5), reads, colour="vermillion" if reads != sentence else "white"),
            draw.box((x, 1.0), "encoder", **size),
            draw.box((x, 1.65), "vector", colour="blue", bold=True),
            draw.box((x, 2.2), "decoder", **size),
            draw.box((x, 2.75), sentence),
        ]
        for below, above in pairwise(column):
            draw.arrow(below.top, above.bottom)
        if name == "variational":
            draw.label((x + 0.1, 1.36), "mean + noise", colour="vermillion")
        draw.caption((x, 0.12), name, "black", bold=True)
    return draw.finish()


def sentence_scores(rows: Mapping[str, Mapping[str, Interval]], **texts: Unpack[Texts]) -> Picture:
    """A row for each method, a panel for each task; a row may lack a task.

    `rows` maps a method to tasks, a task to (value, low, high). The title names the method that is
    best on every task, if one is. Raises ValueError without rows.
    """
    tasks = list(dict.fromkeys(task for each in rows.values() for task in each))
    if not tasks:
        raise ValueError(f"expected at least one row with a score, got {dict(rows)}")
    best = {max(_having(rows, task), key=lambda name: rows[name][task][0]) for task in tasks}
    title = "What vectors of sentences know, by task"
    if len(best) == 1 and len(tasks) > 1:
        title = f"{best.pop()} is best on all {len(tasks)} tasks"
    told = "; ".join(
        f"{name}: " + ", ".join(f"{task} {value[0]:.3g}" for task, value in each.items())
        for name, each in rows.items()
    )
    picture, grid = figure(
        height=1.5 + 0.27 * len(rows),
        columns=len(tasks),
        sharey=True,
        squeeze=False,
        **{"title": title, "alt": f"{told}."} | texts,
    )
    for axes, task in zip(grid[0], tasks, strict=True):
        for row, scores in enumerate(rows.values()):
            if task in scores:
                value, low, high = scores[task]
                axes.hlines(row, low, high, color=COLOURS["blue"], lw=1.6)
                axes.plot(value, row, "o", color=COLOURS["blue"], ms=6)
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.tick_params(labelsize=10)
        label_axes(axes, size=10.5, x=task)
    name_rows(grid[0][0], list(rows))
    return finish(picture)


def _having(rows: Mapping[str, Mapping[str, Interval]], task: str) -> list[str]:
    return [name for name, each in rows.items() if task in each]
