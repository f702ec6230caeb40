"""What a language model sees and is asked: targets, and the loss as it falls."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter

from tlcourse.views.interactive import widgets_on
from tlcourse.views.lines import curves, draw_curves, label_ends, plain
from tlcourse.views.style import (
    COLOURS,
    CYCLE,
    Picture,
    figure,
    finish,
)

PALE = "#EDEDED"
Points = tuple[Sequence[float], Sequence[float]]


def seen_and_asked(
    rows: Mapping[str, tuple[Sequence[str], Sequence[str | None]]],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """For each named objective two lines of boxes: tokens that go in, targets that are asked.

    `rows` maps a name to (seen, asked), one entry a position each; None asks nothing. Raises
    ValueError when the two differ in length, and without title or alt text.
    """
    picture, axes = figure(title, 0.9 + 1.15 * len(rows))
    longest = max(len(seen) for seen, _ in rows.values())
    for row, (name, (seen, asked)) in enumerate(rows.items()):
        if len(seen) != len(asked):
            raise ValueError(
                f"expected one target or None a position, got {len(seen)} tokens and "
                f"{len(asked)} targets for {name!r}"
            )
        top = 3.1 * row
        axes.text(0, top + 0.02, name, fontweight="bold", va="center")
        for place, (token, target) in enumerate(zip(seen, asked, strict=True)):
            _box(axes, place, top + 0.9, token, PALE, "black")
            if target is not None:
                _box(axes, place, top + 1.9, target, COLOURS["blue"], "white")
    axes.set_xlim(0, longest)
    axes.set_ylim(3.1 * len(rows) - 0.4, -0.5)
    axes.axis("off")
    return finish(picture, alt, note)


def _box(axes: Any, left: int, middle: float, text: str, colour: str, ink: str) -> None:
    axes.barh(middle, 0.94, left=left + 0.03, height=0.84, color=colour)
    text = text.strip()
    size = 10.5 if len(text) <= 5 else 10.5 * 5 / len(text)
    axes.text(left + 0.5, middle, text, ha="center", va="center", color=ink, fontsize=size)


def long_and_short(
    long: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    short: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Losses over tokens read (logarithmic), of long runs and of much shorter ones.

    Both map a name to (tokens, losses). Long runs have their names at the right, short ones
    below their beginnings. Raises ValueError without title or alt text.
    """
    picture, axes = figure(title, 4.2)
    axes.set(
        xscale="log",
        xlabel="tokens read in this run (logarithmic)",
        ylabel="loss (nats per target)",
    )
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    for name, (tokens, losses) in short.items():
        axes.plot(tokens, losses, color=COLOURS["green"], lw=1.6)
        axes.annotate(
            name,
            (tokens[0], losses[0]),
            (0, -4),
            textcoords="offset points",
            va="top",
            color=COLOURS["green"],
            fontweight="bold",
        )
    draw_curves(axes, long, 2.8)
    if len(long) == 1:  # one curve alone gets no name from there
        ((name, (tokens, losses)),) = long.items()
        label_ends(axes, [(tokens[-1], losses[-1], name, CYCLE[0])], 2.8)
    return finish(picture, alt, note)


def _note(axes: Any, text: str, x: float, y: float, colour: str, place: str) -> None:
    """Text below a point, or to its left."""
    below = place == "below"
    axes.annotate(
        text,
        (x, y),
        (0, -8) if below else (-12, 0),
        textcoords="offset points",
        color=colour,
        ha="center" if below else "right",
        va="top" if below else "center",
        weight="bold",
        fontsize=10,
    )


def smooth(values: Sequence[float], width: int) -> np.ndarray:
    """(n,) the mean of each value and the up to `width` - 1 values before it."""
    total = np.concatenate([[0.0], np.cumsum(np.asarray(values, float))])
    stop = np.arange(1, len(total))
    start = np.maximum(0, stop - width)
    return (total[stop] - total[start]) / (stop - start)


class LiveCurve:
    """Draws the loss while a run goes on; an `on_step` callback of the engine.

    The figure in the cell's output is redrawn every few seconds; without widgets it is drawn once,
    at the last step. `against` maps names of earlier runs to their histories, drawn beside it. A
    run that begins at a later step is smoothed as what goes on from the first of them.
    """

    def __init__(
        self,
        name: str,
        steps: int,
        tokens_a_step: int,
        *,
        against: Mapping[str, Sequence[Mapping[str, float]]] | None = None,
        note: str | None = None,
        every: float = 3.0,  # seconds
    ):
        self.name, self.steps, self.tokens_a_step = name, steps, tokens_a_step
        self.against, self.note, self.every = dict(against or {}), note, every
        self.history: list[dict] = []
        self.handle, self.drawn = None, time.perf_counter()

    def __call__(self, record: dict) -> None:
        """Takes one step's record."""
        self.history.append(record)
        last = record["step"] == self.steps - 1
        if last or (widgets_on() and time.perf_counter() - self.drawn > self.every):
            picture = self.picture()
            if self.handle is None:
                from IPython.display import display  # takes longer to import than all views

                self.handle = display(picture, display_id=True)
            else:
                self.handle.update(picture)
            self.drawn = time.perf_counter()

    def watching(self, loss: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        """The same loss, `loss(model, batch) -> (nats, targets)`, drawn as it is asked for.

        For a loop of one's own, which has no callbacks.
        """

        def watched(model: Any, batch: Any) -> tuple[Any, Any]:
            nats, targets = loss(model, batch)
            total = nats.item() if hasattr(nats, "item") else nats
            self({"step": len(self.history), "loss": total / float(targets)})
            return nats, targets

        return watched

    def picture(self) -> Picture:
        """The figure of what has come so far; its title tells the smoothed loss."""
        lines = {name: self._line(history) for name, history in self.against.items()}
        lines[self.name] = self._line(self.history, self._before())
        start, now = (lines[self.name][1][place] for place in (0, -1))
        done = len(self.history) * self.tokens_a_step
        title = f"{self.name}: from {start:.2f} to {now:.2f} nats per target in {done:,} tokens"
        picture = curves(
            lines,
            title=title,
            alt=title,
            x_label="tokens read",
            y_label="loss (nats per target)",
            note=self.note,
        )
        picture.axes[0].set_xlim(0, self.steps * self.tokens_a_step)
        return picture

    def _before(self) -> list[Mapping[str, float]]:
        """What the first of `against` did before this run went on from it."""
        earlier = next(iter(self.against.values()), ())
        return [record for record in earlier if record["step"] < self.history[0]["step"]]

    def _line(
        self,
        history: Sequence[Mapping[str, float]],
        before: Sequence[Mapping[str, float]] = (),
    ) -> tuple[np.ndarray, np.ndarray]:
        losses = [record["loss"] for record in (*before, *history)]
        tokens = (np.array([record["step"] for record in history]) + 1) * self.tokens_a_step
        return tokens, smooth(losses, max(1, self.steps // 15))[len(before) :]
