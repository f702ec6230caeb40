"""Figures of lesson 03b: memory, Muon, learning rates, objectives, perplexities, scaling laws."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.patches import Rectangle

from tlcourse.views.bars import horizontal_bars
from tlcourse.views.diagrams import ACROSS, PALE, PALE_BLUE, Drawing
from tlcourse.views.dots import grouped_dots
from tlcourse.views.lines import curves, label_ends, log_scale
from tlcourse.views.style import (
    COLOURS,
    CYCLE,
    GREY,
    MIDDLE,
    Picture,
    Texts,
    figure,
    finish,
    label_axes,
)

Points = tuple[Sequence[float], Sequence[float]]


def predicted_and_true(
    laws: Mapping[str, tuple[Points, Points, tuple[float, float]]],
    beyond: tuple[str, float, float],
    later: tuple[str, float, float],
    **texts: Unpack[Texts],
) -> Picture:
    """Losses over tokens (logarithmic): runs, the laws fitted to them, and a run far beyond.

    `laws` maps a name to (runs, line, interval): the runs it was fitted to and its line for the
    shape of the long run, both as (tokens, losses), and the interval of its prediction. The line is
    dashed where it has no runs. `beyond` is the long run, where the laws are asked: name, tokens,
    loss. `later` is the same run after it went on, a hollow star. Raises ValueError for more laws
    than colours (7).
    """
    if not 1 <= len(laws) <= len(CYCLE):
        raise ValueError(f"expected 1 to {len(CYCLE)} laws in one figure, got {len(laws)}")
    misses = [
        [float(np.interp(np.log(tokens), np.log(x), y)) - true for _, (x, y), _ in laws.values()]
        for _, tokens, true in (beyond, later)
    ]
    title = "Predicted and true loss of a long run"
    if all(abs(a) < abs(b) for a, b in zip(*misses, strict=True)):
        title = "The laws are closer to the truth after one leg than after two"
    off = [" and ".join(f"{each:+.2f}" for each in leg) for leg in misses]
    alt = (
        f"Loss over tokens: short runs, the laws for the shape of a long run, and its loss of "
        f"{beyond[2]:.2f} after one leg and {later[2]:.2f} after two; the predictions are off by "
        f"{off[0]} and by {off[1]} nats per token."
    )
    picture, axes = figure(height=4.2, **{"title": title, "alt": alt} | texts)
    log_scale(axes.xaxis)
    label_axes(axes, x="tokens read (logarithmic)", y="held-out loss (nats/token)")
    named, (name, far, loss) = [], beyond
    numbered = enumerate(zip(CYCLE, laws.items(), strict=False))
    for place, (colour, (each, (runs, line, (low, high)))) in numbered:
        aside = 1.09 ** (place - (len(laws) - 1) / 2)  # bars side by side
        axes.plot(np.asarray(runs[0]) * aside, runs[1], "o", color=colour, ms=5, alpha=0.45)
        tokens, predicted = (np.asarray(part, float) for part in line)
        seen = tokens <= max(runs[0])
        axes.plot(tokens[seen], predicted[seen], color=colour)
        axes.plot(tokens[~seen], predicted[~seen], color=colour, ls="--")
        axes.vlines(far * aside, low, high, color=colour, lw=2)
        there = np.interp(np.log(far), np.log(tokens), predicted)
        axes.plot(far * aside, there, "_", color=colour, ms=12, mew=2.5)
        named.append((max(far * aside, tokens[-1]), predicted[-1], each, colour))
    axes.plot(far, loss, "*", color="black", ms=13)
    axes.annotate(name, (far, loss), (12, 10), textcoords="offset points")
    name, tokens, after = later
    axes.plot([far, tokens], [loss, after], ":", color="black", lw=1)
    axes.plot(tokens, after, "*", color="black", mfc="white", ms=13)
    axes.margins(x=0.06)
    label_ends(axes, [*named, (tokens, after, name, "black")], 2.9)
    return finish(picture)


def seen_and_asked(
    rows: Mapping[str, tuple[Sequence[str], Sequence[str | None]]], **texts: Unpack[Texts]
) -> Picture:
    """For each named objective two lines of boxes: tokens that go in, targets that are asked.

    `rows` maps a name to (seen, asked), one entry a position each; None asks nothing. Raises
    ValueError when the two differ in length.
    """
    texts = {
        "title": "What each kind of row sees, and what it predicts",
        "alt": "For each kind of row the tokens that the model sees, and below each position the "
        "token that it predicts there: " + "; ".join(rows),
    } | texts
    picture, axes = figure(height=0.9 + 1.15 * len(rows), **texts)
    longest = max(len(seen) for seen, _ in rows.values())
    for row, (name, (seen, asked)) in enumerate(rows.items()):
        top = 3.1 * row
        axes.text(0, top + 0.02, name, fontweight="bold", va="center")
        for place, (token, target) in enumerate(zip(seen, asked, strict=True)):
            _box(axes, place, top + 0.9, token, PALE, "black")
            if target is not None:
                _box(axes, place, top + 1.9, target, COLOURS["blue"], "white")
    axes.set_xlim(0, longest)
    axes.set_ylim(3.1 * len(rows) - 0.4, -0.5)
    axes.axis("off")
    return finish(picture)


def _box(axes: Any, left: int, middle: float, text: str, colour: str, ink: str) -> None:
    axes.barh(middle, 0.94, left=left + 0.03, height=0.84, color=colour)
    text = text.strip()
    size = 10.5 if len(text) <= 5 else 10.5 * 5 / len(text)
    axes.text(left + 0.5, middle, text, **MIDDLE, color=ink, fontsize=size)


def logits_in_chunks(
    targets: int, vocabulary: int, width: int, *, chunk: int = 1024, **texts: Unpack[Texts]
) -> Picture:
    """The table of all logits, one chunk of its rows, and what the chunk leaves behind.

    Sizes of tables are those of float32. Raises ValueError for a chunk of more than half the
    targets.
    """
    if not 1 <= chunk <= targets // 2:
        raise ValueError(f"expected a chunk of 1 to {targets // 2} targets, got {chunk}")
    texts = {"title": "One chunk of the logits, and what remains of it"} | texts
    draw = Drawing(2.75, **texts)
    bottom, tall, chunks = 0.55, 1.75, -(-targets // chunk)
    band = max(tall * chunk / targets, 0.22)
    top = bottom + tall
    for left, wide in ((0.6, 0.3), (1.75, 1.75)):
        draw.axes.add_patch(
            Rectangle((left, bottom), wide, tall, fc="white", ec=GREY, ls="--", lw=1)
        )
        look = {"fc": PALE_BLUE, "ec": COLOURS["blue"], "lw": 1, "zorder": 2}
        draw.axes.add_patch(Rectangle((left, top - band), wide, band, **look))
    draw.caption((0.75, top + 0.15), "hidden", "black", bold=True)
    draw.caption((2.62, top + 0.15), "logits", "black", bold=True)
    draw.label((0.55, bottom + tall / 2), f"{targets:,}", align="right", colour="grey")
    draw.caption((0.75, bottom - 0.14), f"{width:,}")
    draw.caption((2.62, bottom - 0.14), f"{vocabulary:,}")
    middle = top - band / 2
    draw.arrow((0.9, middle), (1.75, middle), colour="blue")
    draw.caption((1.33, middle + 0.14), "· weightᵀ", "blue")
    draw.caption((2.62, middle), f"{chunk:,} rows: {_bytes(chunk * vocabulary)}", "black")
    every = f"all rows: {_bytes(targets * vocabulary)}"
    draw.caption((2.62, bottom + (tall - band) / 2), every)
    draw.caption((2.62, 0.12), f"{chunks:,} chunks, one after the other", "black")
    rows = [
        ("nats", "a number, added up", "blue"),
        ("d_hidden", f"{chunk:,} rows of {width:,}, collected", "blue"),
        ("d_weight", f"{vocabulary:,} × {width:,}, added up", "blue"),
        ("logits, slope", "thrown away", "grey"),
    ]
    for place, (name, caption, hue) in enumerate(rows):
        y = top - 0.2 - 0.45 * place
        each = draw.box((4.3, y), name, width=0.95, colour=hue)
        draw.arrow((3.5, middle), each.left, colour=hue, dashed=hue == "grey")
        draw.label((4.85, y), caption, colour="black" if hue == "blue" else "grey")
    return draw.finish(
        f"Hidden states of {targets:,} targets times the weight give a table of {targets:,} by "
        f"{vocabulary:,} logits. A chunk is {chunk:,} of its rows. It leaves its nats, its rows of "
        "the gradient of hidden, its share of the gradient of weight; its logits are thrown away."
    )


def _bytes(numbers: int) -> str:
    """How much so many float32 take."""
    size = 4 * numbers / 2**20
    return f"{size:,.0f} MiB" if size >= 10 else f"{size:,.2g} MiB"


def interrupted_run(steps: int, cut: int, **texts: Unpack[Texts]) -> Picture:
    """A run that goes down in step `cut`, before it is saved, and a second one that goes on.

    Raises ValueError unless `cut` is one of the steps but the first.
    """
    if not 0 < cut < steps:
        raise ValueError(f"expected a step from 1 to {steps - 1} to be cut, got {cut}")
    texts = {"title": "A second run continues from the last saved step"} | texts
    draw = Drawing(1.85, **texts)
    wide = 5.5 / steps
    places = [1.15 + wide * (step + 0.5) for step in range(steps)]
    for y, name, colour in ((1.55, "first run", "blue"), (0.25, "second run", "vermillion")):
        draw.label((1.0, y), name, align="right", colour=colour, bold=True)
    for step, x in enumerate(places):
        lost = step == cut
        if step <= cut:
            hue = "white" if lost else "blue"
            draw.box((x, 1.55), f"{step}", width=0.8 * wide, height=0.26, colour=hue)
        if step >= cut:
            draw.box((x, 0.25), f"{step}", width=0.8 * wide, height=0.26, colour="vermillion")
    draw.label((places[cut] + 0.5 * wide, 1.55), "power cut", colour="grey")
    last = places[cut - 1]
    last_saved = f"saved: weights, optimizers, step {cut}"
    saved = draw.box((min(last, ACROSS - 1.6), 0.9), last_saved, colour="grey")
    draw.arrow((last, 1.42), (last, saved.top[1]))
    draw.arrow((places[cut], saved.bottom[1]), (places[cut], 0.38))
    if cut > 1:
        start = places[0] - 0.4 * wide, 0.25
        draw.label(start, "other random weights, then overwritten", colour="grey")
    return draw.finish(
        f"The first run does the steps 0 to {cut - 1} and goes down in step {cut}. What it saved "
        f"after step {cut - 1} is loaded by a second run, which does the steps {cut} to "
        f"{steps - 1}."
    )


def memory_of_losses(losses: Mapping[str, Points], table: int, **texts: Unpack[Texts]) -> Picture:
    """Bytes over seconds of ways to compute a loss and its gradients, in tables of all logits.

    `table` is the size of such a table in bytes. The title says how many tables each way needs, if
    the last way needs less than one, and the first at least two.
    """
    tables = {name: (x, [each / table for each in y]) for name, (x, y) in losses.items()}
    most = {name: max(y) for name, (_, y) in tables.items()}
    (first, *_, last), title = most, "Memory of a loss and its gradients"
    if most[first] >= 2 and most[last] < 1:
        title = f"{first.capitalize()}: {most[first]:.0f} tables of logits; {last}: less than one"
    peaks = ", ".join(f"{name} {each:.2f}" for name, each in most.items())
    return curves(
        tables,
        x_label="seconds",
        y_label="memory (tables of all logits)",
        **{"title": title, "alt": f"Memory over time; at most {peaks} tables of all logits."}
        | texts,
    )


def bill_of_a_step(bills: Mapping[str, float], mine: str, **texts: Unpack[Texts]) -> Picture:
    """MiB of one training step by how it is computed; the bar named `mine` is highlighted.

    The title says that `mine` needs less than half of the largest, if it does.
    """
    most, title = max(bills.values()), "Memory of one training step"
    if bills[mine] < most / 2:
        title = "The same step in less than half of the memory"
    alt = "MiB of one training step: " + ", ".join(f"{n} {v:,.0f}" for n, v in bills.items())
    return horizontal_bars(
        bills,
        x_label="memory of one training step (MiB)",
        number="{:,.0f}",
        highlight=mine,
        **{"title": title, "alt": alt} | texts,
    )


def singular_values_by_round(rounds: Mapping[str, Points], **texts: Unpack[Texts]) -> Picture:
    """Singular values after some rounds of a polynomial against those before (logarithmic).

    The title says that the last round brings all values above 0.01 near 1, if none of these is
    farther from 1 than 0.35.
    """
    name, (before, after) = list(rounds.items())[-1]
    title = "Singular values before and after the polynomial"
    kept = np.asarray(after)[np.asarray(before) > 0.01]
    if np.abs(kept - 1).max() < 0.35:
        title = f"After {name}, nearly all values are near 1"
    alt = f"Singular values after each round; after {name}, those above 0.01 lie between "
    return curves(
        rounds,
        x_label="singular value σ before (logarithmic)",
        y_label="σ after",
        log_x=True,
        levels={"σ = 1": 1.0},
        **{"title": title, "alt": alt + f"{kept.min():.2f} and {kept.max():.2f}."} | texts,
    )


def singular_values_of_steps(
    spectra: Mapping[str, Sequence[float]], **texts: Unpack[Texts]
) -> Picture:
    """Sorted singular values of matrices, each divided by the largest of its matrix.

    The title says that those of Muon are the most even, if its median is far above the others.
    """
    shares = {name: np.asarray(each, float) / max(each) for name, each in spectra.items()}
    middle = {name: float(np.median(each)) for name, each in shares.items()}
    title, others = "Singular values of a gradient and of two updates", dict(middle)
    if others.pop("Muon", 0.0) > 2 * max(others.values()):
        title = "Muon evens out the singular values of a gradient"
    told = ", ".join(f"{name} {each:.2f}" for name, each in middle.items())
    return curves(
        {name: (range(1, len(each) + 1), each) for name, each in shares.items()},
        x_label="direction, sorted by its singular value",
        y_label="σ / largest σ",
        top=1,
        height=4.2,
        **{"title": title, "alt": f"Sorted singular values; their medians: {told}."} | texts,
    )


def race_of_optimizers(lines: Mapping[str, Points], **texts: Unpack[Texts]) -> Picture:
    """Training losses (nats per token) over tokens; the title names the winner of two, if clear."""
    ends = {name: float(y[-1]) for name, (_, y) in lines.items()}
    (best, low), (_, high), *_ = sorted(ends.items(), key=lambda each: each[1])
    title = "Training loss of the same model with two optimizers"
    if low < high - 0.05:
        title = f"With {best}, the same model ends at a lower loss"
    told = ", ".join(f"{name} ends at {each:.2f}" for name, each in ends.items())
    return curves(
        lines,
        x_label="tokens read",
        y_label="training loss (nats per token)",
        **{"title": title, "alt": f"Training loss over tokens: {told}."} | texts,
    )


def price_of_learning_rates(
    losses: Mapping[str, Mapping[float, Sequence[float]]], **texts: Unpack[Texts]
) -> Picture:
    """How much each learning rate loses to the best of its optimizer: the mean over seeds.

    `losses` maps an optimizer to learning rates, and these to a loss for each seed; whiskers are
    the lowest and the highest seed. Learning rates are drawn as multiples of the lowest one. The
    title names the optimizer that loses least at its worst rate, if it loses less than half as much
    as each other one.
    """
    drawn, worst = {}, {}
    for name, rates in losses.items():
        means = {rate: float(np.mean(each)) for rate, each in rates.items()}
        best, lowest = min(means.values()), min(rates)
        times = [rate / lowest for rate in rates]
        above = [np.asarray(each) - best for each in rates.values()]
        ends = [[edge(each) for each in above] for edge in (np.min, np.max)]
        drawn[name] = (times, [float(np.mean(each)) for each in above], *ends)
        worst[name] = max(means.values()) - best
    order, title = sorted(worst, key=lambda name: worst[name]), "The price of a learning rate"
    if len(order) > 1 and worst[order[0]] < worst[order[1]] / 2:
        title = f"{order[0]} is the least sensitive to its learning rate"
    told = ", ".join(f"{name} {each:.2f}" for name, each in worst.items())
    return curves(
        drawn,
        x_label="learning rate, as a multiple of the lowest one tried (logarithmic)",
        y_label="nats above the best",
        log_x=True,
        x_ticks=sorted({round(each, 3) for times, *_ in drawn.values() for each in times}),
        levels={"best": 0.0},
        **{"title": title, "alt": f"Nats per token lost at the worst learning rate: {told}."}
        | texts,
    )


def hybrid_differences(
    rows: Mapping[str, Mapping[str, tuple[float, float, float]]], **texts: Unpack[Texts]
) -> Picture:
    """Points of error by which the hybrid is above each specialist, with intervals, by tokens.

    The first series compares it with the causal model, the second with the masked one. The title
    says that it beats only the masked one, if the last row says so.
    """
    (_, (first, *_)), (_, (second, *_)), *_ = list(rows.values())[-1].items()
    title = "Errors of the hybrid beside those of each specialist"
    if second < 0 <= first:
        title = "With most tokens, the hybrid beats the masked model only"
    told = "; ".join(
        f"{row}: " + ", ".join(f"{name} {each[0]:+.1f}" for name, each in series.items())
        for row, series in rows.items()
    )
    return grouped_dots(
        rows,
        x_label="error above the specialist's (points)",
        levels={"equal": 0},
        **{"title": title, "alt": f"Differences of the error in points. {told}."} | texts,
    )


def perplexity_by_window(values: Mapping[str, float], **texts: Unpack[Texts]) -> Picture:
    """Word perplexities of one model by window and stride; the title says so if they differ."""
    title = "Word perplexity by window and stride"
    if max(values.values()) > 1.5 * min(values.values()):
        title = f"One model, one text, {len(values)} word perplexities"
    alt = "Word perplexity: " + ", ".join(f"{name} {each:.0f}" for name, each in values.items())
    return horizontal_bars(
        values, x_label="word perplexity", **{"title": title, "alt": alt} | texts
    )


def worth_of_parts(
    worse: Mapping[str, tuple[float, float, float]], everything: str, **texts: Unpack[Texts]
) -> Picture:
    """Nats per token lost with each part of 2019, and with `everything` of it, with intervals.

    The title names the two changes that cost most, if their intervals lie above 0.
    """
    parts = sorted((name for name in worse if name != everything), key=lambda name: -worse[name][0])
    title = "The worth of each part"
    if all(worse[name][1] > 0 for name in parts[:2]):
        title = f"Costliest: {parts[0]}, {parts[1]}"
    alt = "Nats per token more than with today's recipe: "
    return horizontal_bars(
        {name: worse[name] for name in [*parts, everything]},
        x_label="nats per token more than with today's recipe",
        number="{:+.2f}",
        highlight=everything,
        **{"title": title, "alt": alt + "; ".join(f"{n} {e[0]:+.2f}" for n, e in worse.items())}
        | texts,
    )
