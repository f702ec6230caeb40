"""What temperature, top-k and top-p make of the probabilities of the next token."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tlcourse.views.style import COLOURS, GREY, Picture, figure, finish, label_axes
from tlcourse.views.tokens import visible

SETTINGS = ({"temperature": 0.5}, {"temperature": 1.5}, {"top_k": 3}, {"top_p": 0.5})
PALE = "#DDDDDD"


def sampling_bars(
    logits: Sequence[float],
    name: Callable[[int], str],
    *,
    settings: Sequence[Mapping[str, float]] = SETTINGS,
    shown: int = 8,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """A panel for each setting: the probabilities of the likeliest tokens, and of all others.

    `logits` (vocabulary,) are those of the next token, `name(token)` its text. Blue is what can be
    drawn, pale grey what it would be as learnt, at temperature 1 with nothing cut. Raises
    ValueError for no setting, or more than 4, and without title. It has an alt text of its own.
    """
    if not 1 <= len(settings) <= 4:
        raise ValueError(f"expected 1 to 4 settings, one a panel, got {len(settings)}")
    scores = np.asarray(logits, float)
    order = np.argsort(-scores, kind="stable")[:shown]
    rows = [visible(name(int(token)).strip() or name(int(token))) for token in order]
    rows.append(f"{len(scores) - len(order):,} others")
    learnt = _shown(_shares(scores), order)
    headings = [
        ", ".join(f"{knob.replace('_', '-')} {value:g}" for knob, value in setting.items())
        for setting in settings
    ]
    picture, grid = figure(title, 3.6, columns=len(settings), sharey=True, squeeze=False)
    told = []
    for axes, heading, setting in zip(grid[0], headings, settings, strict=True):
        kept = _shown(_shares(scores, **setting), order)
        axes.barh(range(len(rows)), learnt, color=PALE, height=0.8)
        axes.barh(range(len(rows)), kept, color=COLOURS["blue"], height=0.5)
        told.append(f"{heading}: {rows[0]} {kept[0]:.0f} %, {rows[-1]} {kept[-1]:.0f} %")
        axes.set_title(heading, loc="left", fontsize=11)
        axes.set_xlim(0, 100)
        axes.set_xticks([0, 50, 100])
        axes.tick_params(labelsize=10)
        axes.grid(False, axis="y")
        label_axes(axes, x="share (%)")
        axes.xaxis.label.set_size(10)
    first = grid[0][0]
    first.set_yticks(range(len(rows)), rows, parse_math=False)
    first.set_ylim(len(rows) - 0.4, -0.6)
    first.get_yticklabels()[-1].set_color(GREY)
    own = f"As learnt: {rows[0]} {learnt[0]:.0f} %, {rows[-1]} {learnt[-1]:.0f} %. "
    return finish(picture, alt or own + "; ".join(told), note)


def _shares(
    scores: np.ndarray, temperature: float = 1.0, top_k: int | None = None, top_p: float = 1.0
) -> np.ndarray:
    """(vocabulary,) probabilities: temperature, then the top k, then the top p of what is left."""
    order = np.argsort(-scores, kind="stable")
    sorted_ = np.exp((scores[order] - scores.max()) / temperature)
    if top_k is not None:
        sorted_[top_k:] = 0.0
    sorted_ /= sorted_.sum()
    sorted_[np.cumsum(sorted_) - sorted_ >= top_p] = 0.0
    found = np.empty_like(sorted_)
    found[order] = sorted_ / sorted_.sum()
    return found


def _shown(shares: np.ndarray, order: np.ndarray) -> Any:
    """In per cent: those of the tokens of `order`, and of all others together."""
    return 100 * np.append(shares[order], max(0.0, 1 - shares[order].sum()))
