"""A confusion matrix and learning curves over numbers of labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tlcourse.views.style import SHADES, Picture, figure, finish, ink_on


def confusion(
    counts: Any,
    labels: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """A confusion matrix: `counts` (true, predicted), shaded by the share of each row.

    Cells show the count; zeros stay empty. At the right stands each row's share of correct
    answers. Raises ValueError when the shape does not fit the labels, and without title or alt
    text.
    """
    counts = np.asarray(counts)
    if counts.shape != (len(labels), len(labels)):
        raise ValueError(
            f"expected counts of shape {(len(labels), len(labels))} for {len(labels)} labels, "
            f"got {counts.shape}"
        )
    totals = counts.sum(axis=1)
    shares = counts / np.maximum(totals, 1)[:, None]
    picture, axes = figure(title, 1.6 + 0.5 * len(labels))
    image = axes.imshow(shares, cmap=SHADES, vmin=0, vmax=1, aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        if count:
            ink = ink_on(image.cmap(shares[row, column]))
            weight = "bold" if row == column else "normal"
            axes.text(
                column, row, f"{count:,}", color=ink, ha="center", va="center", fontweight=weight
            )
    axes.set_xticks(range(len(labels)), labels)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    right = axes.secondary_yaxis("right")
    said = [f"{100 * shares[i, i]:.0f} % of {totals[i]:,}" for i in range(len(labels))]
    right.set_yticks(range(len(labels)), said)
    right.set_ylabel("correct")
    for each in (axes, right):
        each.tick_params(length=0)
        each.spines[:].set_visible(False)
    axes.grid(False)
    return finish(picture, alt, note)
