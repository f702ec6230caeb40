"""Figures of lesson 10: the choices of an objective, dependences, corrupted texts and fakes.

A title states a finding only if the data show it.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Unpack

import numpy as np

from tlcourse.views.bars import horizontal_bars
from tlcourse.views.diagrams import ACROSS, Drawing, word_width
from tlcourse.views.dots import write_beside
from tlcourse.views.heat_maps import mask_maps
from tlcourse.views.lines import curves
from tlcourse.views.style import COLOURS, CYCLE, GREY, Picture, Texts, figure, finish, label_axes
from tlcourse.views.tokens import brief

Path = Sequence[int]  # the place of each choice in its column


def design_space(
    choices: Mapping[str, Sequence[str]], paths: Mapping[str, Path], **texts: Unpack[Texts]
) -> Picture:
    """A column of options for each choice, and a line through the options of each objective.

    `paths` maps an objective to the place of its option in every column. Raises ValueError for a
    path that does not fit the columns.
    """
    columns = list(choices.values())
    for name, path in paths.items():
        fits = len(path) == len(columns)
        if not fits or any(at >= len(each) for at, each in zip(path, columns, strict=True)):
            raise ValueError(f"expected an option of each choice for {name}, got {list(path)}")
    told = "; ".join(
        f"{name}: " + ", ".join(each[at] for at, each in zip(path, columns, strict=True))
        for name, path in paths.items()
    )
    rows = max(map(len, columns))
    draw = Drawing(
        0.5 + 0.5 * rows, **{"title": "Four choices make an objective", "alt": told} | texts
    )
    wide = ACROSS / len(columns)
    middles = []
    for column, (name, options) in enumerate(choices.items()):
        x = wide * (column + 0.5)
        draw.caption((x, 0.5 * rows + 0.55), name, "black", bold=True)
        boxes = [
            draw.box((x, 0.5 * (rows - row)), option, width=wide - 0.38, height=0.3)
            for row, option in enumerate(options)
        ]
        middles.append(boxes)
    shifts = 0.07 * (np.arange(len(paths)) - (len(paths) - 1) / 2)
    for number, (colour, (name, path)) in enumerate(zip(CYCLE, paths.items(), strict=False)):
        boxes = [each[at] for at, each in zip(path, middles, strict=True)]
        for left, right in pairwise(boxes):
            up = shifts[number]
            start, end = (left.right[0], left.right[1] - up), (right.left[0], right.left[1] - up)
            draw.stroke(start, end, colour=colour)
        at = ACROSS * (number + 0.5) / len(paths), 0.08
        draw.label(at, name, colour=colour, align="center", bold=True)
    return draw.finish()


def two_losses(losses: Mapping[str, Sequence[float]], **texts: Unpack[Texts]) -> Picture:
    """The loss of each step of an honest model, the first one, and of one that may cheat.

    The title says that the second sees the answer if its last loss is below a quarter of the
    first's.
    """
    honest, other = list(losses)
    last = {name: float(np.mean(each[-5:])) for name, each in losses.items()}
    title = f"Loss: {honest} and {other}"
    if last[other] < last[honest] / 4:
        title = f"The loss of the {other} model is too good to be true"
    told = ", ".join(f"{name} ends at {value:.2f}" for name, value in last.items())
    series = {name: (range(1, len(each) + 1), each) for name, each in losses.items()}
    labels = {"x_label": "step", "y_label": "nats per token"}
    top = 1.02 * max(max(each) for each in losses.values())
    return curves(series, top=top, **labels, **{"title": title, "alt": f"Loss: {told}."} | texts)


def dependences(maps: Mapping[str, Any], **texts: Unpack[Texts]) -> Picture:
    """Which input tokens (columns) each output (rows) depends on, a map for each model.

    The title says for which of the models the output at some position depends on the next token.
    """
    arrays = {name: np.asarray(each) for name, each in maps.items()}
    leaks = [name for name, each in arrays.items() if np.diagonal(each, 1).any()]
    title = "No output depends on the next token"
    if leaks:
        title = f"Outputs that depend on the next token: {', '.join(leaks)}"
    length = len(next(iter(arrays.values())))
    told = "; ".join(
        f"{name}: {np.triu(each, 1).any(axis=1).sum()} outputs depend on a later token"
        for name, each in arrays.items()
    )
    names = [str(place) for place in range(1, length + 1)]
    labels = {
        "x_label": "input token",
        "y_label": "output at this token",
        "note": "●  the output depends on the input      ×  it does not",
    }
    return mask_maps(arrays, names, **labels, **{"title": title, "alt": told} | texts)


def corrupted_texts(versions: Mapping[str, Sequence[str]], **texts: Unpack[Texts]) -> Picture:
    """A row of tokens for each version of a text; special tokens such as `<mask>` are vermillion.

    Raises ValueError for a version that is too long for a line.
    """
    left = 0.15 + max(word_width(name) for name in versions)
    told = "; ".join(
        f"{name}: {' '.join(each.strip() for each in tokens)}" for name, tokens in versions.items()
    )
    height = 0.36 * len(versions)
    draw = Drawing(height, **{"title": "One text, several corruptions", "alt": told} | texts)
    for row, (name, tokens) in enumerate(versions.items()):
        y = height - 0.36 * row - 0.2
        widths = [0.12 + word_width(brief(token)) for token in tokens]
        if left + sum(widths) > ACROSS:
            raise ValueError(f"expected texts that fit into a line, got {len(tokens)} tokens")
        draw.label((left - 0.1, y), name, align="right", colour="grey")
        x = left
        for token, wide in zip(tokens, widths, strict=True):
            special = token.startswith("<") and token.endswith(">")
            hue = "vermillion" if special else "white"
            box = {"width": wide - 0.04, "height": 0.26, "colour": hue}
            draw.box((x + wide / 2, y), brief(token), **box)
            x += wide
    return draw.finish()


def fakes(
    seen: Sequence[str], original: Sequence[str], sampled: Sequence[bool], **texts: Unpack[Texts]
) -> Picture:
    """A text as a discriminator sees it: fakes are vermillion, and the original stands below.

    `sampled` says which tokens a generator wrote; those that equal the original are blue. Raises
    ValueError where the three differ in length.
    """
    if not len(seen) == len(original) == len(sampled):
        lengths = f"{len(seen)}, {len(original)} and {len(sampled)}"
        raise ValueError(f"expected three sequences of one length, got {lengths}")
    kinds = [
        ("vermillion" if one != other else "blue") if drawn else "white"
        for one, other, drawn in zip(seen, original, sampled, strict=True)
    ]
    told = ", ".join(
        one.strip() + {"white": "", "blue": " (sampled)"}.get(kind, f" (was {other.strip()})")
        for one, other, kind in zip(seen, original, kinds, strict=True)
    )
    title = f"{kinds.count('vermillion')} of {sum(sampled)} sampled tokens are fakes"
    lines: list[list[tuple[str, str, str, float]]] = [[]]
    for one, other, kind in zip(seen, original, kinds, strict=True):
        wide = 0.12 + max(word_width(brief(one)), word_width(brief(other)))
        if sum(each[-1] for each in lines[-1]) + wide > ACROSS:
            lines.append([])
        lines[-1].append((brief(one), brief(other), kind, wide))
    draw = Drawing(0.66 * len(lines), **{"title": title, "alt": told} | texts)
    for number, line in enumerate(lines):
        x, y = 0.0, 0.66 * (len(lines) - number) - 0.2
        for one, other, kind, wide in line:
            draw.box((x + wide / 2, y), one, width=wide - 0.04, height=0.26, colour=kind)
            if kind == "vermillion":
                draw.caption((x + wide / 2, y - 0.26), other)
            x += wide
    return draw.finish()


def targets_of_text(shares: Mapping[str, float], **texts: Unpack[Texts]) -> Picture:
    """For each objective, its targets in % of the tokens that are read."""
    told = ", ".join(f"{name} {share:.0f} %" for name, share in shares.items())
    texts = {"title": "Targets of each objective", "alt": f"Targets: {told}."} | texts
    label = {"x_label": "targets (% of the tokens of text)", "number": "{:.0f}"}
    return horizontal_bars(shares, **label, **texts)


def losses_and_errors(
    found: Mapping[str, tuple[float, float]], *, y_label: str = "", **texts: Unpack[Texts]
) -> Picture:
    """A point for each objective: its pretraining loss, and what its body scores on a task.

    The title says that the lowest loss does not give the best body where that body does not have
    the fewest errors.
    """
    names, points = list(found), np.array(list(found.values()), float)
    lowest, best = points.argmin(axis=0)
    title = "Pretraining losses, and errors on a task"
    if lowest != best:
        title = "The lowest pretraining loss does not give the best body"
    told = "; ".join(f"{name}: loss {x:.2f}, {y:.1f}" for name, (x, y) in found.items())
    picture, axes = figure(height=4.4, **{"title": title, "alt": f"{told}."} | texts)
    axes.plot(*points.T, "o", color=COLOURS["blue"], ms=7)
    axes.set_xlim(left=0)
    axes.margins(y=0.15)
    label_axes(axes, x="pretraining loss (nats per target)", y=y_label)
    finish(picture)
    picture.draw_without_rendering()  # now the axes have their place
    picture.set_layout_engine("none")
    write_beside(axes, points, dict(enumerate(names)), dict.fromkeys(range(len(names)), GREY))
    return picture
