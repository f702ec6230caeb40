"""Figures of lesson 08: maps and scores of heads, induction, the logit lens, removed heads."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.ticker import MaxNLocator

from tlcourse.views.bars import name_rows
from tlcourse.views.diagrams import ACROSS, Box, Drawing, Point, word_width
from tlcourse.views.heat_maps import (
    ablation_grid,
    bare,
    colour_bar,
    head_grid,
    heat_map,
    score_grid,
    write_cells,
)
from tlcourse.views.lines import label_ends
from tlcourse.views.panels import Values, head, label_below, with_ends
from tlcourse.views.style import (
    COLOURS,
    GREY,
    NEAR,
    SHADES,
    Picture,
    Texts,
    colours_of,
    figure,
    finish,
    label_axes,
    shaped,
)
from tlcourse.views.tokens import brief, fitting

_COLUMNS = 12  # positions in a row of the table
_ROWS = 3  # of the table, one below the other
_WIDE = 5.6  # inches of a row
_SIZE = 9  # points
_STREAM = 0.75  # inches, the height of the residual stream
_TOKENS_AT = 1.35  # inches, the height of the tokens
_MOST_HEADS = 16


def last_query(
    tokens: Sequence[str], rows: Mapping[str, Sequence[float]], **texts: Unpack[Texts]
) -> Picture:
    """Bars of the attention of the last token, (n,) for each head of `rows`, on one axis from 0.

    The largest bar of each head is blue. The title says so where several heads look most at the
    same token.
    """
    weights = {name: shaped(row, (len(tokens),), name).astype(float) for name, row in rows.items()}
    most = [int(row.argmax()) for row in weights.values()]
    read = [brief(token) for token in tokens]
    title = f"Where the last “{read[-1]}” looks"
    if len(most) > 1 and len(set(most)) == 1:
        title = f"Every head shown looks most at “{read[most[0]]}”"
    told = "; ".join(
        f"{name} most at {read[place]!r}, with {row[place]:.2f}"
        for (name, row), place in zip(weights.items(), most, strict=True)
    )
    texts = {"title": title, "alt": f"Attention of the last token: {told}."} | texts
    columns = {"columns": len(rows), "sharex": True, "sharey": True, "squeeze": False}
    picture, grid = figure(height=1.5 + 0.22 * len(tokens), **columns, **texts)
    top = max(row.max() for row in weights.values())
    for axes, (name, row), place in zip(grid[0], weights.items(), most, strict=True):
        hues = [COLOURS["blue"] if i == place else GREY for i in range(len(row))]
        axes.barh(range(len(row)), row, height=0.7, color=hues)
        axes.text(row[place] + 0.02 * top, place, f"{row[place]:.2f}", va="center", fontsize=9)
        head(axes, name, len(rows))
        axes.set_xlim(0, 1.2 * top)
    name_rows(grid[0][0], read)
    label_below(list(grid[0]), "attention weight")
    return finish(picture)


def one_head(weights: Any, tokens: Sequence[str], name: str, **texts: Unpack[Texts]) -> Picture:
    """The attention (n, n) of the head of this name over the tokens of a sentence."""
    title = f"Head {name}: where each token looks"
    alt = f"A heat map of the attention of head {name} over the tokens of one sentence."
    return heat_map(weights, tokens, **({"title": title, "alt": alt} | texts))


def all_heads(weights: Any, tokens: Sequence[str], model: str, **texts: Unpack[Texts]) -> Picture:
    """The attention of every head, (layers, heads, n, n), of a model of this name."""
    layers, heads = np.shape(weights)[:2]
    title = f"{layers * heads} heads, one sentence: {model}"
    alt = f"A grid of {layers} blocks and {heads} heads, {model}: one map of attention per head."
    return head_grid(weights, tokens, **({"title": title, "alt": alt} | texts))


def head_habits(
    scores: Mapping[str, Any], random: Mapping[str, Any], **texts: Unpack[Texts]
) -> Picture:
    """Scores of heads, (layers, heads), above those of random weights, on one scale from 0 to 1.

    The title says that only trained heads have habits if some have half of their attention or more
    on one kind of token, and no random head a fifth.
    """
    tops = {name: (np.max(scores[name]), np.max(random[name])) for name in scores}
    title = "Habits of trained heads and of random ones"
    if max(top for top, _ in tops.values()) >= 0.5 and max(top for _, top in tops.values()) < 0.2:
        title = "Only trained heads have clear habits"
    told = ", ".join(f"{name} {top:.2f} and {other:.2f}" for name, (top, other) in tops.items())
    alt = f"Scores by block and head, trained above random. The highest: {told}."
    return score_grid(scores, random, top=1.0, **({"title": title, "alt": alt} | texts))


def missed_heads(
    changes: Any, what: str, *, label: str = "lost", missed: float = 0.25, **texts: Unpack[Texts]
) -> Picture:
    """What is lost without each head, (layers, heads); `what` the model does with them.

    The title names the heads without which at least a share `missed` of the largest loss is lost,
    if they are at most a quarter of all.
    """
    changes = shaped(changes, ("layers", "heads"), "changes").astype(float)
    few = [f"{b}.{h}" for b, h in np.argwhere(changes >= missed * changes.max())]
    title = f"{what}: what is lost without each head"
    if changes.max() > 0 and 4 * len(few) <= changes.size:
        names = f"heads {', '.join(few[:-1])} and {few[-1]}" if few[1:] else f"head {few[0]}"
        title = f"{what} depends on {names} above all"
    first = np.argsort(-changes, axis=None)[:4]
    told = (f"{i // changes.shape[1]}.{i % changes.shape[1]} {changes.flat[i]:+.3f}" for i in first)
    alt = f"{label.capitalize()}, without each head: {changes.min():+.3f} to {changes.max():+.3f}; "
    alt += f"the most without {', '.join(told)}."
    return ablation_grid(changes, label=label, **({"title": title, "alt": alt} | texts))


def birth_curves(
    steps: Sequence[float], losses: Mapping[str, Any], scores: Any, **texts: Unpack[Texts]
) -> Picture:
    """Losses above scores over the same steps, with a line where the best head's score jumps.

    `losses` maps names to a value a step; `scores` are those of the heads, (steps, layers, heads).
    The head that ends highest is coloured and named, the others are grey. The line stands at the
    first step where its score is past the middle between its first value and its highest (Olsson et
    al., 2022, see the loss fall there). The title says that the first loss falls suddenly if half
    of its fall lies within a fifth of the steps around it, and several heads end high. Raises
    ValueError where steps and values differ in number.
    """
    scores = shaped(scores, (len(steps), "layers", "heads"), "scores").astype(float)
    layer, head = np.unravel_index(scores[-1].argmax(), scores.shape[1:])
    best = scores[:, layer, head]
    at = int(np.argmax(best >= (best[0] + best.max()) / 2))
    jump, falling = steps[at], np.asarray(next(iter(losses.values())), float)
    near = len(steps) // 10
    drop = falling[max(0, at - near)] - falling[min(len(steps) - 1, at + near)]
    many = (scores[-1] >= 0.8 * best[-1]).sum()
    title = "Losses and induction scores during training"
    if near and many > 1 and best[-1] >= 0.3 and drop >= max(0.5, falling[0] - falling[-1]) / 2:
        title = f"The loss falls suddenly, while {many} induction heads appear"
    told = ", ".join(f"{name} {each[0]:.1f} to {each[-1]:.1f}" for name, each in losses.items())
    alt = f"Loss in nats: {told}. Best induction score {scores[0].max():.2f} to {best[-1]:.2f}."
    texts = {"title": title, "alt": alt} | texts
    picture, (upper, lower) = figure(height=5.0, rows=2, sharex=True, **texts)
    colours = colours_of(losses)
    for name, values in losses.items():
        upper.plot(steps, values, color=colours[name])
    for other in np.ndindex(scores.shape[1:]):
        if other != (layer, head):
            lower.plot(steps, scores[:, *other], color="#A6A6A6", lw=1.2)
    lower.plot(steps, best, color=COLOURS["green"], lw=2.6)
    for axes in (upper, lower):
        axes.axvline(jump, color=GREY, lw=1.4, ls=":", zorder=1)
        axes.margins(x=0.01)
    lower.set_ylim(bottom=min(0.0, lower.get_ylim()[0]))
    label_axes(upper, y="loss (nats per token)")
    label_axes(lower, x="training step", y="induction score")
    above = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    look = {"va": "bottom", "ha": "center", "color": GREY, "fontsize": 10.5}
    upper.annotate(f"step {jump:,g}", (jump, 1), (0, 2), **above, **look)
    label_ends(upper, [(steps[-1], v[-1], n, colours[n]) for n, v in losses.items()], 1.7, 11)
    label_ends(lower, [(steps[-1], best[-1], f"head {layer}.{head}", COLOURS["green"])], 1.7, 11)
    picture.align_ylabels()
    return finish(picture)


def pruning_curve(
    removed: Sequence[int],
    errors: Mapping[str, Values],
    baseline: float,
    **texts: Unpack[Texts],
) -> Picture:
    """Error over the number of heads removed (Michel et al., 2019), and what still is allowed.

    `errors` maps an order of removing to values at `removed`, each a number or (value, low, high),
    drawn as a band; `baseline` is the error of the whole model in per cent, and the dashed line
    lies a point above. The first order is coloured, and its last point that is not above
    that line is marked: so many heads can go; the others are grey. The title says how many, if the
    second order is above the line there. Raises ValueError where numbers of values differ, or for
    no errors.
    """
    if not errors or len(removed) < 2:
        raise ValueError(f"expected errors at two numbers of heads or more, got {dict(errors)}")
    drawn = {name: with_ends(values, len(removed), name) for name, values in errors.items()}
    first, limit, x = next(iter(drawn)), baseline + 1, np.asarray(removed, float)
    texts = _pruning_texts(removed, [each[0] for each in drawn.values()], limit) | texts
    picture, axes = figure(height=4.2, **texts)
    ends = []
    for name, (value, low, high) in list(drawn.items())[::-1]:
        colour = COLOURS["blue"] if name == first else GREY
        axes.plot(x, value, "o-", color=colour, ms=5, lw=2.2 if name == first else 1.6)
        if np.isfinite(low).any():
            axes.fill_between(x, low, high, color=colour, alpha=0.18, lw=0)
        ends.append((x[-1], value[-1], name, colour))
    axes.axhline(baseline, color=GREY, lw=1.2, ls=":", zorder=1)
    axes.axhline(limit, color=COLOURS["vermillion"], lw=1.6, ls="--", zorder=1)
    ends.append((x[-1], baseline, "all heads", GREY))
    ends.append((x[-1], limit, "1 point more", COLOURS["vermillion"]))
    axes.set_ylim(bottom=0)
    _mark_last(axes, removed, drawn[first][0], limit)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    label_axes(axes, x="heads removed", y="error (%)")
    label_ends(axes, ends, 2.8, 11)
    return finish(picture)


def _pruning_texts(removed: Sequence[int], errors: Sequence[np.ndarray], limit: float) -> Texts:
    """The title, with the number of heads that can go if they are chosen, and the alt text."""
    within = np.flatnonzero(errors[0] <= limit)
    last = within[-1] if len(within) else 0
    title = "The error by the number of heads removed"
    if removed[last] and len(errors) > 1 and errors[1][last] > limit:
        title = f"{removed[last]} heads can go, if they are chosen with care"
    ends = ", ".join(f"{each[0]:.1f} to {each[-1]:.1f}" for each in errors)
    return {"title": title, "alt": f"Error in percent, from no head removed to most: {ends}."}


def _mark_last(axes: Any, removed: Sequence[int], errors: np.ndarray, limit: float) -> None:
    """A ring around the last point within the limit, which says how many heads can go."""
    within = np.flatnonzero(errors <= limit)
    if not len(within):
        return
    last, count = within[-1], removed[within[-1]]
    axes.plot(removed[last], errors[last], "o", ms=12, mfc="none", mec="black", mew=2)
    text, back = f"{count or 'none'} can go", {"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1}
    below = {"ha": "center", "va": "top", "bbox": back}
    axes.annotate(text, (count, errors[last]), (0, -24), **below, **NEAR)


def lens_table(
    tokens: Sequence[str],
    words: Sequence[Sequence[str]],
    probabilities: Any,
    *,
    right: Sequence[str | None] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """The logit lens (nostalgebraist, 2020): the best token of each layer at each position.

    `words` and `probabilities` are (layers + 1, n), the embeddings first and drawn at the bottom,
    above the tokens that are read; a cell is the darker, the higher the probability. `right` are
    the tokens that would be right, (n,), None where there is none: a cell that has it is bold. Up
    to 12 positions stand in a row, up to 36 in the table; of more the last 36 are shown, and the
    note says so. Raises ValueError when shapes do not fit.
    """
    count = len(tokens)
    shaped(words, ("layers + 1", count), "words")
    probabilities = shaped(probabilities, (len(words), count), "probabilities").astype(float)
    answers = [None] * count if right is None else right
    shaped(answers, (count,), "right tokens")  # as an array, a token would lose a final \0
    alt = "For every layer and token the likeliest next token."
    if right is not None:
        found = [sum(a == b for a, b in zip(row, answers, strict=True)) for row in words]
        alt += f" Right of {count}, by layer: {', '.join(map(str, found))}."
    texts = {"title": "The likeliest next token after every layer", "alt": alt} | texts
    shown = range(max(0, count - _COLUMNS * _ROWS), count)
    columns = min(_COLUMNS, len(shown))
    rows = [shown[i : i + columns] for i in range(0, len(shown), columns)]
    high, room = 0.23 * len(words), 0.92 * _WIDE / columns
    height = 0.95 + len(rows) * (high + 0.4)
    picture, grid = figure(height=height, rows=len(rows), squeeze=False, **texts)
    for axes, positions in zip(grid[:, 0], rows, strict=True):
        scale = {"cmap": SHADES, "vmin": 0, "vmax": 1, "aspect": "auto", "origin": "lower"}
        image = axes.imshow(probabilities[:, positions], **scale)
        bold = [[row[position] == answers[position] for position in positions] for row in words]
        short = [[fitting(row[position], room, _SIZE) for position in positions] for row in words]
        font = {"va": "center_baseline", "parse_math": False}
        write_cells(axes, image, short, _SIZE, bold=bold, **font)
        axes.set_xlim(-0.5, columns - 0.5)
        read = [fitting(tokens[position], room, _SIZE) for position in positions]
        axes.set_xticks(range(len(positions)), read, fontsize=_SIZE, parse_math=False)
        axes.set_yticks(range(len(words)), ["emb", *range(1, len(words))], fontsize=_SIZE)
        bare(axes)
        label_axes(axes, y="layer")
    label_axes(grid[-1, 0], x="token read")
    colour_bar(picture, image, grid, "probability of the best token", pad=0.01)
    notes = ["Bold: the right token."] if right is not None else []
    if len(shown) < count:
        notes.append(f"The last {len(shown)} of {count} positions.")
    return finish(picture, note=" ".join(notes))


def attention_record(
    layer: int, head: int, *, heads: int = 0, width: int = 0, **texts: Unpack[Texts]
) -> Picture:
    """Where in a block attention and hidden states are read (blue) and changed (vermillion).

    A pre-norm block: its number is `layer`, and `head` the one that is switched off, both from 0;
    it has `heads` of them and is `width` wide. Names are those of the modules. Raises ValueError
    for a head that is not there, or heads that do not divide the width.
    """
    fits = 0 < heads <= _MOST_HEADS and width > 0 and width % heads == 0
    if not fits or not 0 <= head < heads or layer < 0:
        raise ValueError(
            f"expected a head of 1 to {_MOST_HEADS} that divide the width, got block {layer}, head "
            f"{head} of {heads} and width {width}"
        )
    texts = {
        "title": "What can be read and changed in a block",
        "alt": "A block: the attention weights are read between softmax and values, a head is "
        "switched off before the output layer, a state is replaced in the residual stream.",
    } | texts
    draw = Drawing(3.25, **texts)
    norm = draw.box((0.72, 1.4), "attention_norm", colour="grey")
    query, key, value = (
        draw.box((1.75, y), name, width=0.56, colour="grey")
        for name, y in (("query", 2.4), ("key", 2.05), ("value", 1.4))
    )
    weights = draw.box((2.75, 2.22), "softmax of\nquery · key", colour="blue")
    for part in (query, key, value):
        draw.chain(norm, part)
    for part in (query, key):
        draw.arrow(part.right, (weights.left[0], part.middle[1]))
    mixed = _slices(draw, (3.75, 1.4), heads, head)
    draw.arrow(weights.bottom, (weights.middle[0], 1.42))
    draw.label((2.68, 1.72), "weights × value", align="right", colour="grey")
    output = draw.box((4.55, 1.4), "output", colour="grey")
    draw.chain(value, mixed, output)
    forward = draw.box((5.7, 1.4), "feed_forward_norm,\nup, down", colour="grey")
    _stream(draw, (norm, output, forward))
    shape = f"(batch, {heads} heads, queries, keys)"
    _said(draw, (weights.middle[0], 3.0), f"read: seen.attention[{layer}]", shape, "blue")
    draw.arrow(weights.top, (weights.middle[0], 2.7), colour="blue")
    off = f"its {width // heads} of {width:,} numbers: 0 or their mean"
    _said(draw, (5.0, 2.6), f"change: switch head {layer}.{head} off", off, "vermillion")
    draw.arrow((4.45, 2.28), (mixed.right[0] - 0.02, mixed.top[1] + 0.03), colour="vermillion")
    draw.label((0.05, 0.5), f"read: seen.hidden_states[{layer}]", colour="blue", bold=True)
    after = f"read: seen.hidden_states[{layer + 1}]"
    draw.label((ACROSS, 0.5), after, colour="blue", align="right", bold=True)
    patch = "change: patch, a state of another text takes its place"
    draw.label((ACROSS, 0.27), patch, colour="vermillion", align="right", bold=True)
    return draw.finish()


def _said(draw: Drawing, at: Point, first: str, second: str, colour: str) -> None:
    """Two lines around a point, the first bold."""
    draw.caption(at, first, colour, bold=True)
    draw.caption((at[0], at[1] - 0.18), second, colour)


def _slices(draw: Drawing, middle: Point, heads: int, head: int) -> Box:
    """What the heads give, one cell each from top to bottom, one of them switched off."""
    tall = min(0.2, 0.9 / heads)
    for each in range(heads):
        y = middle[1] + tall * ((heads - 1) / 2 - each)
        hue = "vermillion" if each == head else "white"
        cell = draw.box((middle[0], y), width=0.5, height=tall, colour=hue)
        if tall >= 0.15:
            draw.caption(cell.middle, f"head {each}", "black")
    return Box(middle, 0.5, tall * heads)


def _stream(draw: Drawing, parts: tuple[Box, Box, Box]) -> None:
    """The residual stream below, from which norms read and to which two sums add."""
    norm, output, forward = parts
    sums = [draw.box((x, _STREAM), "+", width=0.2, height=0.2) for x in (output.middle[0], 6.25)]
    draw.stroke((0.05, _STREAM), sums[0].left)
    draw.stroke(sums[0].right, sums[1].left)
    draw.arrow(sums[1].right, (ACROSS, _STREAM))
    draw.arrow((norm.middle[0], _STREAM), norm.bottom)
    draw.arrow(output.bottom, sums[0].top)
    draw.arrow((5.15, _STREAM), (5.15, forward.bottom[1]))
    draw.arrow((6.25, forward.bottom[1]), sums[1].top)
    draw.caption((2.6, _STREAM + 0.12), "residual stream")


def induction_pattern(tokens: Sequence[str], **texts: Unpack[Texts]) -> Picture:
    """A B … A → B: how two heads continue a text whose last token stood in it before.

    In `tokens` the last one (A) stands a second time; what followed it the first time (B) is what
    comes next: one head looks at the previous token, an induction head in a later layer finds it
    (Elhage et al., 2021; Olsson et al., 2022). Raises ValueError where the last token does not
    stand before with another one behind it, or for too many tokens for the width.
    """
    before = [i for i, token in enumerate(tokens[:-2]) if token == tokens[-1]]
    if not before:
        raise ValueError(
            f"expected a last token that stands before, another one behind it, got {list(tokens)}"
        )
    names = [brief(token) for token in tokens]
    wide = [max(0.4, word_width(name, bold=True) + 0.2) for name in names]
    first, room = before[-1], ACROSS - 0.7 - wide[before[-1] + 1]
    if sum(wide) > room:
        raise ValueError(f"expected tokens that fit into {room:.1f} inches; take fewer")
    a, b = names[first], names[first + 1]
    texts = {
        "title": f"Two heads in two blocks find {a} and predict what followed it",
        "alt": f"A text that ends with {a} for the second time: an earlier head writes {a} into "
        f"the position of {b}; the induction head at the second {a} looks there, predicts {b}.",
    } | texts
    draw = Drawing(2.75, **texts)
    lefts = (room - sum(wide)) / 2 + 0.1 + np.cumsum([0, *wide])
    boxes = []
    for place, (name, left, width) in enumerate(zip(names, lefts, wide, strict=False)):
        letter = {first: "A", first + 1: "B", len(tokens) - 1: "A"}.get(place)
        fill = {"A": "blue", "B": "vermillion", None: "white"}[letter]
        size = {"width": width - 0.06, "height": 0.28}
        middle, bold = (left + width / 2, _TOKENS_AT), letter is not None
        boxes.append(draw.box(middle, name, fill=fill, bold=bold, **size))
    next_one = (lefts[-1] + 0.5 + wide[first + 1] / 2, _TOKENS_AT)
    size = {"width": wide[first + 1] - 0.06, "height": 0.28}
    predicted = draw.box(next_one, names[first + 1], colour="vermillion", bold=True, **size)
    draw.arrow(boxes[-1].right, predicted.left, colour="vermillion")
    _arc(draw, boxes[first + 1].bottom, boxes[first].bottom, -0.3, "blue")
    _arc(draw, boxes[-1].top, boxes[first + 1].top, 0.55, "vermillion")
    x = min(max(boxes[first + 1].middle[0], 2.1), 4.7)
    draw.caption((x, 0.62), "1. previous-token head", "blue", bold=True)
    text = f"“{b}” looks one back and stores:\nthe token before me is “{a}”"
    draw.caption((x, 0.32), text, "blue")
    x = min(max((boxes[-1].middle[0] + boxes[first + 1].middle[0]) / 2, 2.5), 4.3)
    text = f"“{a}” searches for a token that stored “{a}”, finds “{b}” and copies it"
    _said(draw, (x, 2.6), "2. induction head", text, "vermillion")
    return draw.finish()


def _arc(draw: Drawing, start: Point, end: Point, height: float, colour: str) -> None:
    """A bent arrow of 1 pt whose middle lies `height` inches above its ends."""
    draw.arrow(start, end, colour=colour, bend=2 * height / abs(end[0] - start[0]))
