"""Drawings of lesson 06: where each signal enters, and what to try first.

What they are made of stands in `drawing`. Numbers come from the live configuration and from stored
results.
"""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tlcourse.views.drawing import PALE, PALE_BLUE, Box, arrow, box, canvas, label
from tlcourse.views.style import COLOURS, GREY, Picture, finish

_BLUE = COLOURS["blue"]
STAGES = ("pretrain", "TAPT", "adapt", "judge")


def signal_pipeline(
    signals: Mapping[str, Sequence[str]],
    yours: Collection[str] = (),
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Pretrain, TAPT, adapt, judge, and above each stage the signals that enter it.

    `signals` maps a stage of STAGES to its signals, lines broken by `\\n`; those in `yours` are
    blue. Raises ValueError for another stage, for a signal in `yours` that is not there, and
    without title.
    """
    there = {signal for each in signals.values() for signal in each}
    if not set(signals) <= set(STAGES) or not set(yours) <= there:
        raise ValueError(
            f"expected stages out of {', '.join(STAGES)} and signals of theirs as yours, got "
            f"{list(signals)} and {sorted(yours)}"
        )
    rows = max(len(each) for each in signals.values())
    height = 0.75 + 0.62 * rows
    picture, axes = canvas(title, height)
    places = dict(zip(STAGES, (0.7, 2.36, 4.47, 6.2), strict=True))
    wide = {"pretrain": 1.3, "TAPT": 1.6, "adapt": 2.1, "judge": 1.1}
    mine = {stage for stage, each in signals.items() if set(each) & set(yours)}
    drawn = {
        stage: box(axes, (x, 0.3), stage, width=wide[stage], height=0.36, bold=True,
                   fill=PALE_BLUE if stage in mine else PALE)
        for stage, x in places.items()
    }  # fmt: skip
    for one, other in zip(STAGES, STAGES[1:], strict=False):
        arrow(axes, drawn[one].right, drawn[other].left)
    for stage, each in signals.items():
        _enter(axes, drawn[stage], each, yours)
    own = "; ".join(f"into {stage}: {', '.join(each)}" for stage, each in signals.items())
    return finish(picture, alt or f"Pretrain, TAPT, adapt, judge. {own}".replace("\n", " "), note)


def _enter(axes: Any, stage: Box, signals: Sequence[str], yours: Collection[str]) -> None:
    """The signals of a stage, one above the other, and a line down its left side into the stage."""
    left, foot = stage.left[0], stage.top[1]
    for row, signal in enumerate(signals):
        y = foot + 0.5 + 0.62 * row
        colour = _BLUE if signal in yours else GREY
        drawn = box(axes, (stage.middle[0] + 0.06, y), signal, width=stage.width - 0.12,
                    height=0.46, fill=PALE_BLUE if signal in yours else "white",
                    edge=colour)  # fmt: skip
        axes.plot([left, drawn.left[0]], [y, y], color=colour, lw=1)
    top = foot + 0.5 + 0.62 * (len(signals) - 1)
    axes.plot([left, left], [foot + 0.12, top], color=GREY, lw=1)
    arrow(axes, (left, foot + 0.2), (left, foot - 0.02))


def decision_path(
    branches: Sequence[tuple[str, str, str]],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Questions from top to bottom; the answer "yes" leads to a piece of advice and its evidence.

    A branch is (question, advice, evidence). Raises ValueError for none, for more than 7, and
    without title.
    """
    if not 1 <= len(branches) <= 7:
        raise ValueError(f"expected 1 to 7 branches, got {len(branches)}")
    told = [tuple(textwrap.fill(text, at) for text, at in zip(each, (25, 32, 29), strict=True))
            for each in branches]  # fmt: skip
    tall = [0.2 + 0.17 * max(1 + text.count("\n") for text in each) for each in told]
    gap = 0.2
    height = sum(tall) + gap * len(tall) + 0.25
    picture, axes = canvas(title, height)
    label(axes, (4.75, height - 0.1), "what the stored runs say", colour=GREY)
    above, top = None, height - 0.27
    for (question, advice, evidence), room in zip(told, tall, strict=True):
        y = top - room / 2
        asked = box(axes, (0.95, y), question, width=1.85, height=room, fill=PALE)
        said = box(axes, (3.4, y), advice, width=2.4, height=room, fill=PALE_BLUE, edge=_BLUE)
        arrow(axes, asked.right, said.left, colour=_BLUE)
        label(axes, (4.75, y), evidence)
        if above is not None:
            arrow(axes, above.bottom, asked.top)
        above, top = asked, top - room - gap
    own = " ".join(f"{question} {advice} ({evidence})" for question, advice, evidence in branches)
    return finish(picture, alt or own, note)
