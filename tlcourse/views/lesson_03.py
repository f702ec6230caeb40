"""Figures of lesson 03: the loop, the two objectives, losses as they fall, sampling.

A title states a finding only where the data bear it out; otherwise it says what is drawn.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.ticker import MaxNLocator

from tlcourse.views.diagrams import ACROSS, Drawing, Point, word_width
from tlcourse.views.dots import Interval, paired_differences
from tlcourse.views.interactive import widgets_on
from tlcourse.views.lines import curves, draw_curves, label_ends, log_scale, plain, smooth
from tlcourse.views.style import (
    COLOURS,
    CYCLE,
    GREY,
    NEAR,
    Picture,
    Texts,
    colours_of,
    figure,
    finish,
    label_axes,
)
from tlcourse.views.tokens import visible

Run = tuple[Sequence[float], Sequence[float], Sequence[float]]
MASK, PAD = "<mask>", "<pad>"
Answered = tuple[Sequence[str], Mapping[int, tuple[str, float]]]
SETTINGS = ({"temperature": 0.5}, {"temperature": 1.5}, {"top_k": 3}, {"top_p": 0.5})
_PALE_BAR = "#DDDDDD"


def over_tokens_and_targets(runs: Mapping[str, Run], **texts: Unpack[Texts]) -> Picture:
    """The same losses twice: over the tokens that were read, and over their targets.

    `runs` maps a name to (tokens, targets, losses), a number a step. Raises ValueError where these
    differ in length.
    """
    texts = {
        "title": _cheaper(runs),
        "alt": "Two panels, over tokens read and over targets. "
        + ", ".join(f"{name} ends at {losses[-1]:.2f}" for name, (*_, losses) in runs.items())
        + " nats per target.",
    } | texts
    picture, row = figure(height=3.7, columns=2, sharey=True, **texts)
    colours = colours_of(runs)
    for place, axes in enumerate(row):
        for name, run in runs.items():
            axes.plot(run[place], run[2], color=colours[name])
        axes.xaxis.set_major_formatter(plain)
        axes.tick_params(labelsize=10)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
    label_axes(row[0], x="tokens read", y="loss (nats per target)")
    label_axes(row[1], x="targets")
    right = row[1].get_xlim()[1]
    for name, (_, targets, losses) in runs.items():
        inside = targets[-1] < 0.7 * right  # the line of a longer run passes above its end
        above = {"ha": "right", "va": "bottom", "xytext": (0, 14)}
        where = {"ha": "center", "va": "top", "xytext": (0, -8)} if inside else above
        row[1].annotate(name, (targets[-1], losses[-1]), color=colours[name], **where, **NEAR)
    return finish(picture)


def _cheaper(runs: Mapping[str, Run]) -> str:
    """A title: which run is lower at equal tokens and which at equal targets, if these differ."""
    lower = []
    for axis in (0, 1):
        end = min(run[axis][-1] for run in runs.values())
        at_end = {name: np.interp(end, run[axis], run[2]) for name, run in runs.items()}
        lower.append(min(at_end, key=at_end.__getitem__))
    if lower[0] == lower[1]:
        return "The same losses over tokens read and over targets"
    return f"{lower[0].capitalize()} is lower at equal tokens, {lower[1]} at equal targets"


def _slows(tokens: Sequence[float], losses: Sequence[float]) -> str:
    """A title: whether each whole nat, after the first is crossed, takes more tokens to gain."""
    x, y = np.asarray(tokens, float), np.asarray(losses, float)
    levels = range(int(y[0]) - 1, int(np.ceil(y.min())) - 1, -1)
    costs = np.diff([x[np.argmax(y <= level)] for level in levels])
    if len(costs) > 1 and (np.diff(costs) > 0).all():
        return f"Below {levels[0]} nats, each nat takes more text than the one before"
    return "Training loss over tokens read"


def long_and_short(
    long: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    short: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    **texts: Unpack[Texts],
) -> Picture:
    """Losses over tokens read (logarithmic), of long runs and of much shorter ones.

    Both map a name to (tokens, losses). Long runs have their names at the right, short ones below
    their beginnings.
    """
    ends = {name: losses[-1] for name, (_, losses) in {**short, **long}.items()}
    told = ", ".join(f"{name} ends at {loss:.2f}" for name, loss in ends.items())
    texts = {
        "title": _slows(*next(iter(long.values()))),
        "alt": f"Training losses over tokens read, on a logarithmic axis: {told} nats per target.",
    } | texts
    picture, axes = figure(height=4.2, **texts)
    log_scale(axes.xaxis)
    label_axes(axes, x="tokens read in this run (logarithmic)", y="loss (nats per target)")
    for name, (tokens, losses) in short.items():
        axes.plot(tokens, losses, color=COLOURS["green"], lw=1.6)
        start, ink = (tokens[0], losses[0]), COLOURS["green"]
        axes.annotate(name, start, (0, -4), va="top", color=ink, **NEAR)
    losses = [loss for _, run in (*short.values(), *long.values()) for loss in run]
    draw_curves(axes, long, 2.8, top=1.05 * max(losses))
    if len(long) == 1:  # one curve alone gets no name from there
        ((name, (tokens, losses)),) = long.items()
        label_ends(axes, [(tokens[-1], losses[-1], name, CYCLE[0])], 2.8)
    return finish(picture)


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
        """The same loss, `loss(model, batch) -> (nats, targets)`, drawn as it is computed.

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
        labels = {"x_label": "tokens read", "y_label": "loss (nats per target)"}
        top = 1.05 * max(max(losses) for _, losses in lines.values())
        picture = curves(lines, top=top, title=title, alt=title, note=self.note, **labels)
        picture.axes[0].set_xlim(0, self.steps * self.tokens_a_step)
        return picture

    def _before(self) -> list[Mapping[str, float]]:
        """What the first of `against` did before this run went on from it."""
        earlier = next(iter(self.against.values()), ())
        return [record for record in earlier if record["step"] < self.history[0]["step"]]

    def _line(
        self, history: Sequence[Mapping[str, float]], before: Sequence[Mapping[str, float]] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        losses = [record["loss"] for record in (*before, *history)]
        tokens = (np.array([record["step"] for record in history]) + 1) * self.tokens_a_step
        return tokens, smooth(losses, max(1, self.steps // 15))[len(before) :]


def _word(token: str) -> str:
    """A token as it is drawn: without the space that begins a word."""
    return visible(token.removeprefix(" "))


def training_loop(batch_size: int, length: int, vocabulary: int, **texts: Unpack[Texts]) -> Picture:
    """A step of pretraining: tokens to a loss along the top, the gradient back along the bottom.

    Blue is what the learner writes.
    """
    texts = {"title": "What you build: text becomes a language model"} | texts
    draw = Drawing(2.55, **texts)
    top, low = 1.75, 0.62
    mine = {"colour": "blue", "height": 0.42}
    file = draw.box((0.55, top), "token\nfile", colour="grey", height=0.42)
    cut = draw.box((1.75, top), "windows", **mine)
    model = draw.box((3.35, top), "model", width=0.85, **mine)
    loss = draw.box((5.0, top), "causal_loss", **mine)
    found = draw.box((6.25, top), "nats,\ntargets", height=0.42)
    draw.chain(file, cut, model, loss, found)
    shapes = f"({batch_size}, {length} + 1)", f"({batch_size}, {length}, {vocabulary:,})"
    for x, caption, shape in ((2.5, "tokens", shapes[0]), (4.2, "logits", shapes[1])):
        draw.caption((x, top + 0.55), caption)
        draw.caption((x, top + 0.37), shape)
    mean = draw.box((6.25, low), "nats /\ntargets", height=0.42)
    clip = draw.box((5.0, low), "gradient,\nclipped", height=0.42)
    step = draw.box((3.35, low), "optimizer", width=0.85, height=0.42)
    rate = draw.box((1.75, low), "schedule", **mine)
    draw.arrow(found.bottom, mean.top)
    draw.arrow(mean.left, clip.right)
    draw.arrow(clip.left, step.right)
    draw.arrow(step.top, model.bottom)
    draw.chain(rate, step)
    draw.label((3.43, (top + low) / 2), "updates the weights", colour="grey")
    draw.caption((2.52, low + 0.32), "learning rate")
    draw.label((0.05, 0.1), "blue: you write it", colour="blue")
    draw.label((ACROSS, 0.1), "train: all of it, once a step", colour="blue", align="right")
    return draw.finish(
        "A loop. windows cuts a batch from the token file, the model returns logits, and "
        "causal_loss returns a sum of nats and a number of targets. The gradient of their quotient "
        "is clipped, and the optimizer, whose learning rate comes from the schedule, updates the "
        "weights."
    )


def next_and_hidden(
    tokens: Sequence[str], hidden: Collection[int], **texts: Unpack[Texts]
) -> Picture:
    """Both objectives: the input, the targets, and which tokens see which.

    Above the next token (a decoder: only what stands before is seen), below the tokens at the
    places `hidden` (an encoder: both sides are seen). Raises ValueError for a place that is not
    there, or for tokens that do not fit.
    """
    texts = {"title": "One model predicts every next token, the other the hidden ones"} | texts
    if not hidden or not set(hidden) <= set(range(len(tokens))):
        raise ValueError(f"expected places from 0 to {len(tokens) - 1}, got {sorted(hidden)}")
    names = [_word(token) for token in tokens]
    wide = max(word_width(name) for name in [*names, MASK]) + 0.13
    if wide * len(tokens) > 4.82:
        raise ValueError(f"expected tokens that fit into 4.8 inches, got {len(tokens)}; take fewer")
    draw = Drawing(3.3, **texts)
    following = [*names[1:], None]
    masked = [MASK if place in hidden else name for place, name in enumerate(names)]
    gaps = [name if place in hidden else None for place, name in enumerate(names)]
    for top, heading, seen, targets, causal in (
        (3.15, "next token: a decoder, as GPT", names, following, True),
        (1.45, "hidden tokens: an encoder, as BERT", masked, gaps, False),
    ):
        draw.label((0.05, top), heading, bold=True)
        draw.label((0.62, top - 0.4), "input", colour="grey", align="right")
        draw.label((0.62, top - 0.95), "target", colour="blue", align="right")
        _questions(draw, top - 0.4, wide, seen, targets)
        draw.label((5.6, top), "which sees which", colour="grey")
        _who_sees_whom(draw, (5.6, top - 0.2), len(tokens), causal)
    return draw.finish(
        f"Two rows. Above, all {len(tokens)} tokens but the first are targets, and the map is "
        f"a lower triangle. Below, {len(hidden)} tokens are replaced by {MASK} and become targets, "
        "and every token sees all."
    )


def _questions(
    draw: Drawing, y: float, wide: float, seen: Sequence[str], targets: Sequence[str | None]
) -> None:
    """A row of tokens, and below each, where there is one, its target in blue."""
    size = {"width": wide - 0.05, "height": 0.26}
    for place, (token, target) in enumerate(zip(seen, targets, strict=True)):
        x = 0.68 + wide * (place + 0.5)
        above = draw.box((x, y), token, colour="grey", **size)
        if target is not None:
            below = draw.box((x, y - 0.55), target, colour="blue", **size)
            draw.arrow(above.bottom, below.top, colour="blue")


def _who_sees_whom(draw: Drawing, corner: Point, count: int, causal: bool) -> None:
    """A small map, a row a query: filled where a key is seen."""
    cell = 0.15  # inches
    for row, column in np.ndindex(count, count):
        middle = corner[0] + cell * (column + 0.5), corner[1] - cell * (row + 0.5)
        fill = COLOURS["blue"] if column <= row or not causal else None
        draw.box(middle, width=cell, height=cell, colour="faint", fill=fill)


def nats_of_targets(rows: Mapping[str, Answered], **texts: Unpack[Texts]) -> Picture:
    """What each target costs, as bars, and at the right the sum, the count and their quotient.

    `rows` maps a name to (input, targets), and targets map a place to (token, nats). Padding
    is white. Raises ValueError for a place that is not there, for tokens that do
    not fit, or for a row without targets.
    """
    texts = {"title": "A loss is a sum of nats divided by the number of targets"} | texts
    draw = Drawing(1.95 * len(rows), **texts)
    for name, (seen, targets) in rows.items():
        if not targets or not set(targets) <= set(range(len(seen))):
            places = f"places from 0 to {len(seen) - 1} for {name!r}"
            raise ValueError(f"expected targets at {places}, got {sorted(targets)}")
    longest = max(len(seen) for seen, _ in rows.values())
    wide, left = 5.5 / longest, 0.05
    drawn = [text for seen, found in rows.values() for text in (*seen, *dict(found.values()))]
    if max(word_width(_word(text)) for text in drawn) > wide - 0.04:
        raise ValueError(f"expected tokens that fit into {wide:.2f} inches, got {longest} tokens")
    most = max(nats for _, found in rows.values() for _, nats in found.values())
    summaries = []
    for number, (name, (seen, targets)) in enumerate(rows.items()):
        ground = 1.95 * (len(rows) - number) - 1.55
        draw.label((0.1, ground + 1.4), name, bold=True)
        for place, token in enumerate(seen):
            middle, hue = (left + wide * (place + 0.5), ground), "faint" if token == PAD else "grey"
            draw.box(middle, _word(token), width=wide - 0.05, height=0.26, colour=hue)
        for place, (target, nats) in targets.items():
            foot = left + wide * (place + 0.5), ground + 0.2
            _cost(draw, foot, wide, target, nats, 0.62 * nats / most)
        total, count = sum(nats for _, nats in targets.values()), len(targets)
        mean = f"{total / count:.2f} nats"
        quotient = f"{total:.1f} nats\n÷ {count} targets\n= {mean}\nper target"
        draw.label((5.75, ground + 0.6), quotient, colour="blue")
        summaries.append(f"{name}: {count} targets of {len(seen)} places, {mean} each")
    return draw.finish("; ".join(summaries))


def _cost(draw: Drawing, foot: Point, wide: float, target: str, nats: float, tall: float) -> None:
    """A bar as tall as the target is hard to predict, the nats and the target above it."""
    tall = max(tall, 0.02)
    middle = foot[0], foot[1] + tall / 2
    draw.box(middle, width=0.5 * wide, height=tall, colour="blue", fill=COLOURS["blue"])
    draw.caption((foot[0], foot[1] + tall + 0.1), f"{nats:.1f}", "blue")
    draw.caption((foot[0], foot[1] + tall + 0.27), _word(target), "black")


def three_phases(phases: Sequence[tuple[str, str, str]], **texts: Unpack[Texts]) -> Picture:
    """Pretrain, adapt, judge: boxes from left to right, with what each reads below it.

    A phase is (name, what is done, what it reads); lines are broken by `\\n`. Raises ValueError for
    no phase, or for more than four.
    """
    texts = {"title": "A later task shows what an objective is worth"} | texts
    if not 1 <= len(phases) <= 4:
        raise ValueError(f"expected 1 to 4 phases, got {len(phases)}")
    draw = Drawing(1.75, **texts)
    room = ACROSS / len(phases)
    drawn = []
    for place, (name, done, reads) in enumerate(phases):
        x = room * (place + 0.5)
        fill = "blue" if place == 0 else "grey"
        drawn.append(draw.box((x, 1.1), width=room - 0.5, height=0.95, fill=fill))
        draw.caption((x, 1.42), name, "black", bold=True)
        draw.caption((x, 1.02), done, "black")
        draw.caption((x, 0.3), reads)
    draw.chain(*drawn)
    description = "; then ".join(f"{name}: {done}, {reads}" for name, done, reads in phases)
    return draw.finish(description.replace("\n", " "))


def sampling_bars(
    logits: Sequence[float],
    name: Callable[[int], str],
    *,
    settings: Sequence[Mapping[str, float]] = SETTINGS,
    shown: int = 8,
    **texts: Unpack[Texts],
) -> Picture:
    """A panel for each setting: the probabilities of the likeliest tokens, and of all others.

    `logits` (vocabulary,) are those of the next token, `name(token)` its text. Blue is what can be
    drawn, pale grey what the model learned, at temperature 1 with nothing cut. Raises
    ValueError for no setting, or more than 4.
    """
    texts = {
        "title": "Temperature changes all shares, top-k and top-p cut the tail"
        if settings is SETTINGS
        else "The next token under different settings"
    } | texts
    if not 1 <= len(settings) <= 4:
        raise ValueError(f"expected 1 to 4 settings, one a panel, got {len(settings)}")
    scores = np.asarray(logits, float)
    order = np.argsort(-scores, kind="stable")[:shown]
    rows = [visible(name(int(token)).strip() or name(int(token))) for token in order]
    rows.append(f"{len(scores) - len(order):,} others")
    learned = _shown(_shares(scores), order)
    picture, grid = figure(height=3.6, columns=len(settings), sharey=True, squeeze=False, **texts)
    shares_in_words = []
    for axes, setting in zip(grid[0], settings, strict=True):
        heading = ", ".join(f"{knob.replace('_', '-')} {v:g}" for knob, v in setting.items())
        kept = _shown(_shares(scores, **setting), order)
        axes.barh(range(len(rows)), learned, color=_PALE_BAR, height=0.8)
        axes.barh(range(len(rows)), kept, color=COLOURS["blue"], height=0.5)
        shares_in_words.append(f"{heading}: {rows[0]} {kept[0]:.0f} %, {rows[-1]} {kept[-1]:.0f} %")
        axes.set_title(heading, loc="left", fontsize=11)
        axes.set_xlim(0, 100)
        axes.set_xticks([0, 50, 100])
        axes.tick_params(labelsize=10)
        axes.grid(False, axis="y")
        label_axes(axes, size=10, x="share (%)")
    first = grid[0][0]
    first.set_yticks(range(len(rows)), rows, parse_math=False)
    first.set_ylim(len(rows) - 0.4, -0.6)
    first.get_yticklabels()[-1].set_color(GREY)
    description = f"As learned: {rows[0]} {learned[0]:.0f} %, {rows[-1]} {learned[-1]:.0f} %. "
    return finish(picture, description + "; ".join(shares_in_words))


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


def schedules(shares: Mapping[str, Sequence[float]], **texts: Unpack[Texts]) -> Picture:
    """The share of the highest learning rate at every step, a curve for each schedule.

    The title says how long the first one remains at 1, if it does so longer than all others.
    """
    ends = {name: int(np.flatnonzero(np.isclose(each, 1))[-1]) for name, each in shares.items()}
    first, *others = ends
    title = "Learning rates over the steps of a run"
    if all(ends[first] > ends[name] for name in others):
        title = f"The schedule “{first}” leaves the end open until step {ends[first]}"
    told = ", ".join(f"{name} until step {step}" for name, step in ends.items())
    texts = {"title": title, "alt": f"All rise to 1 and fall later: {told} at 1."} | texts
    lines = {name: (range(len(each)), each) for name, each in shares.items()}
    return curves(lines, x_label="step", y_label="learning rate (share)", height=3.4, **texts)


def transfer_differences(
    pairs: Mapping[str, tuple[Sequence[float], Sequence[Interval]]], **texts: Unpack[Texts]
) -> Picture:
    """Differences in error between two pretrainings over tokens read, a panel for each pair.

    The title states which one leads to fewer errors if all intervals of the last pair, "one −
    other", are on one side of 0.
    """
    *_, (last, (_, found)) = pairs.items()
    title = "Differences in error after fine-tuning"
    if all(low > 0 for _, low, _ in found) or all(high < 0 for *_, high in found):
        fewer = last.split(" − ")[found[0][0] > 0]
        title = f"At every budget, {fewer} pretraining leaves fewer errors"
    means = (f"{name} {[round(m, 1) for m, *_ in each[1]]}" for name, each in pairs.items())
    texts = {"title": title, "alt": "Points of error, by tokens: " + "; ".join(means)} | texts
    return paired_differences(
        pairs,
        above="the first is worse",
        below="the first is better",
        x_label="tokens read",
        y_label="difference in error (points)",
        log_x=True,
        **texts,
    )
