"""Figures of lesson 04b: a sweep, a batch in parts, many trials, rare classes, confusion.

A title states a finding only where the data bear it out; otherwise it says what is drawn.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.patches import Rectangle

from tlcourse.views.bars import horizontal_bars
from tlcourse.views.diagrams import PALE_BLUE, Drawing
from tlcourse.views.dots import Interval, grouped_dots, strips
from tlcourse.views.heat_maps import bare, write_cells
from tlcourse.views.lines import curves
from tlcourse.views.style import (
    COLOURS,
    GREY,
    NEAR,
    SHADES,
    Picture,
    Texts,
    figure,
    finish,
    label_axes,
    shaped,
)

SHOWN = 8  # parts that are drawn, at most
Shares = Mapping[str, Mapping[str, Interval]]  # of a row: of each series, a share with its interval


def confusion(counts: Any, labels: Sequence[str], **texts: Unpack[Texts]) -> Picture:
    """A confusion matrix: `counts` (true, predicted), shaded by the share of each row.

    Cells show the count; zeros stay empty. At the right stands each row's share of correct answers.
    Raises ValueError when the shape does not fit the labels.
    """
    counts = shaped(counts, (len(labels), len(labels)), "counts")
    wrong = counts - np.diag(np.diag(counts))
    true, predicted = (labels[k] for k in np.unravel_index(wrong.argmax(), wrong.shape))
    title = f"Most frequent, {wrong.max()} times: {true} taken for {predicted}"
    right = f"{np.trace(counts)} of {counts.sum()} are right"
    texts = {
        "title": title if wrong.any() else "True and predicted labels",
        "alt": f"Confusion matrix of {len(labels)} labels; {right}.",
    } | texts
    totals = counts.sum(axis=1)
    shares = counts / np.maximum(totals, 1)[:, None]
    picture, axes = figure(height=1.6 + 0.5 * len(labels), **texts)
    image = axes.imshow(shares, cmap=SHADES, vmin=0, vmax=1, aspect="auto")
    written = np.vectorize(lambda count: f"{count:,}" if count else "")(counts)
    write_cells(axes, image, written, 12, bold=np.eye(len(labels)))
    axes.set_xticks(range(len(labels)), labels)
    axes.set_yticks(range(len(labels)), labels)
    label_axes(axes, x="predicted", y="true")
    right = axes.secondary_yaxis("right")
    correct = [f"{100 * shares[i, i]:.0f} % of {totals[i]:,}" for i in range(len(labels))]
    right.set_yticks(range(len(labels)), correct)
    right.set_ylabel("correct")
    bare(axes)
    bare(right)
    return finish(picture)


def batch_in_parts(rows: int, size: int, **texts: Unpack[Texts]) -> Picture:
    """A batch of `rows` texts, cut into parts of `size`, and what becomes of one part.

    Raises ValueError unless there are 2 to 8 parts.
    """
    sizes = [min(size, rows - start) for start in range(0, rows, size)]
    if not 2 <= len(sizes) <= SHOWN:
        raise ValueError(f"expected 2 to {SHOWN} parts, got {len(sizes)} of {rows} rows")
    texts = {"title": "One part at a time: gradients add up, memory does not"} | texts
    draw = Drawing(2.7, **texts)
    low, tall, top = 0.3, 1.95, 2.25
    draw.caption((0.75, top + 0.2), "batch", "black", bold=True)
    for number, count in enumerate(sizes):
        high = tall * count / rows
        top -= high
        shown = number == (len(sizes) > 3)
        fill, edge = (PALE_BLUE, COLOURS["blue"]) if shown else ("white", GREY)
        draw.axes.add_patch(Rectangle((0.3, top), 0.9, high, fc=fill, ec=edge, lw=1))
        draw.caption((0.75, top + high / 2), f"{count}", "black")
        if shown:
            place = top + high / 2
    model = draw.box((2.3, place), "model", width=0.8, height=0.4, colour="grey")
    loss = draw.box((3.75, place), "nats,\ntargets", height=0.42, colour="blue")
    draw.arrow((1.2, place), model.left, colour="blue")
    draw.arrow(model.right, loss.left, colour="blue")
    draw.caption((2.3, place + 0.35), "keeps what backward needs")
    total = draw.box((3.75, 0.5), "gradient: the sum\nover all parts", colour="blue")
    draw.arrow(loss.bottom, total.top, colour="blue")
    draw.label((3.65, (place + 0.5) / 2), "backward", align="right", colour="blue")
    draw.label((3.85, (place + 0.5) / 2), "frees what was kept", colour="grey")
    step = draw.box((5.9, 0.5), "divide by all targets,\nclip, one step", colour="grey")
    draw.arrow(total.right, step.left, dashed=True)
    draw.caption((5.9, 0.12), "after the last part")
    draw.caption((0.75, low - 0.18), f"{rows} rows")
    return draw.finish(
        f"A batch of {rows} rows in parts of {', '.join(map(str, sizes))}. One part at a time goes "
        "through the model; its backward adds to the gradient and frees what was kept. After the "
        "last part the gradient is divided by the number of all targets, and one step is taken."
    )


def learning_rate_sweep(
    rates: Sequence[float],
    losses: Sequence[float],
    marks: Mapping[str, float],
    *,
    x_label: str = "learning rate (logarithmic)",
    **texts: Unpack[Texts],
) -> Picture:
    """The loss over the learning rate of each step; `marks` maps names to learning rates.

    Losses above twice the first are cut off. The title says if the loss falls and ends above twice
    the first. Raises ValueError where rates and losses differ in
    number.
    """
    first, least, last = losses[0], min(losses), losses[-1]
    falls = least < 0.8 * first and last > 2 * first
    finding = "The loss falls, is lowest near the limit, and then explodes"
    texts = {
        "title": finding if falls else "Training loss over the learning rate",
        "alt": f"Smoothed training loss over a growing learning rate: {first:.2f} at first, "
        f"{least:.2f} at the lowest, {last:.2f} at the end; marks at {', '.join(marks)}.",
    } | texts
    labels = {"x_label": x_label, "y_label": "training loss (nats)"}
    picture = curves({"loss": (rates, losses)}, log_x=True, **labels, **texts)
    (axes,) = picture.axes
    axes.set_ylim(0, 2.1 * losses[0])
    for row, (name, rate) in enumerate(sorted(marks.items(), key=lambda mark: mark[1])):
        axes.axvline(rate, color=GREY, lw=1.2, ls=":")
        where = {"xycoords": ("data", "axes fraction"), "ha": "right", "va": "top", "color": GREY}
        axes.annotate(name, (rate, 0.98 - 0.09 * row), (-4, 0), **where, **NEAR)
    return picture


def memory_by_parts(
    parts: Sequence[int], saved: Sequence[float], fixed: Sequence[float], **texts: Unpack[Texts]
) -> Picture:
    """Memory in MiB over the number of parts of a batch: saved for backward, and all the rest."""
    floor = saved[-1] < 0.2 * saved[0] and max(fixed) < 1.05 * min(fixed)
    finding = "Parts shrink what is saved for backward; the rest remains"
    texts = {
        "title": finding if floor else "Memory of a step over the number of parts",
        "alt": f"Memory of a step over {list(parts)} parts: saved for backward "
        f"{np.round(saved).tolist()} MiB, the rest {fixed[0]:.0f} MiB at first.",
    } | texts
    return curves(
        {
            "saved for backward": (parts, saved),
            "weights, gradients, AdamW": (parts, fixed),
            "together": (parts, np.add(saved, fixed)),
        },
        x_label="parts (logarithmic)",
        y_label="memory (MiB)",
        log_x=True,
        x_ticks=parts,
        top=1.1 * (saved[0] + fixed[0]),
        **texts,
    )


def seeds_apart(errors: Mapping[str, Sequence[float]], **texts: Unpack[Texts]) -> Picture:
    """A row of dots a setting, one dot a seed; the title says if seeds alone are points apart."""
    wide = min(max(row) - min(row) for row in errors.values()) > 3
    ranges = (f"{name}: {min(row):.1f} to {max(row):.1f} %" for name, row in errors.items())
    texts = {
        "title": "The seed alone changes the error by several points" if wide else "Errors by seed",
        "alt": f"Dots of dev errors, one a seed; {'; '.join(ranges)}.",
    } | texts
    return strips(errors, x_label="dev error (%)", **texts)


def best_of_trials(
    numbers: Sequence[int], best: Mapping[str, Sequence[float]], **texts: Unpack[Texts]
) -> Picture:
    """The expected best error (%) over the number of trials, a curve a method.

    The title says if, with the most trials, each method is ahead of all others with one trial.
    """
    luck = len(best) > 1 and max(row[-1] for row in best.values()) < min(
        r[0] for r in best.values()
    )
    finding = "With enough trials, either method looks better"
    ends = (f"{name} from {row[0]:.1f} to {row[-1]:.1f} %" for name, row in best.items())
    texts = {
        "title": finding if luck else "Expected best error over the number of trials",
        "alt": f"Expected best dev error over 1 to {numbers[-1]} trials: {'; '.join(ends)}.",
    } | texts
    return curves(
        {name: (numbers, row) for name, row in best.items()},
        x_label="trials (logarithmic)",
        y_label="expected best dev error (%)",
        log_x=True,
        x_ticks=numbers,
        top=1.1 * max(row[0] for row in best.values()),
        **texts,
    )


def best_on_two_halves(
    numbers: Sequence[int], chosen: Sequence[float], other: Sequence[float], **texts: Unpack[Texts]
) -> Picture:
    """Error (%) of the best trial on the half that it was chosen on, and on the other half.

    The title says if less than half of the gain is left on the other half.
    """
    gain, left = chosen[0] - chosen[-1], other[0] - other[-1]
    finding = "Less than half of the gain is left on other questions"
    texts = {
        "title": finding if 0 <= left < gain / 2 else "The best of n trials on two halves",
        "alt": f"Error over {list(numbers)} trials: on the half that chose "
        f"{np.round(chosen, 1).tolist()} %, on the other half {np.round(other, 1).tolist()} %.",
    } | texts
    return curves(
        {"on the half that chose": (numbers, chosen), "on the other half": (numbers, other)},
        x_label="trials (logarithmic)",
        y_label="error (%)",
        log_x=True,
        x_ticks=numbers,
        top=1.1 * max(*chosen, *other),
        **texts,
    )


def recall_of_labels(recall: Shares, rare: str, **texts: Unpack[Texts]) -> Picture:
    """Recall (%) of each label, plain and weighted; the title says if `rare` gains clearly most."""
    gains = {row: each["weighted"][0] - each["plain"][0] for row, each in recall.items()}
    apart = recall[rare]["weighted"][1] > recall[rare]["plain"][0]
    most = apart and max(gains, key=lambda row: gains[row]) == rare
    title = "Class weights raise the recall of the rare label most" if most else "Recall of labels"
    x_label = "questions of the label that were found (%); lines are 95 % intervals"
    return grouped_dots(recall, x_label=x_label, **{"title": title, "alt": _told(recall)} | texts)


def pooling_differences(rows: Shares, **texts: Unpack[Texts]) -> Picture:
    """Error of the mean minus that of the last token; the title counts intervals without 0."""
    found = [each for row in rows.values() for each in row.values()]
    clear = [value for value, low, high in found if low > 0 or high < 0]
    better = f"The mean is clearly better in {len(clear)} of {len(found)} comparisons"
    texts = {
        "title": better if clear and max(clear) < 0 else "Mean pooling against the last token",
        "alt": f"Held-out error of the mean minus that of the last token. {_told(rows)}",
    } | texts
    x_label = "held-out error: mean − last token (points)"
    return grouped_dots(rows, x_label=x_label, levels={"equal": 0}, **texts)


def errors_by_frequency(errors: Mapping[str, Interval], **texts: Unpack[Texts]) -> Picture:
    """Bars of error (%), from rarely to often taught labels; the title says if they fall."""
    shares = [share for share, *_ in errors.values()]
    falls = all(a > b for a, b in itertools.pairwise(shares))
    finding = "Labels with few training questions are missed most"
    told = ", ".join(f"{name} {share:.0f} %" for name, (share, *_) in errors.items())
    texts = {
        "title": finding if falls else "Error by how often a label was taught",
        "alt": f"Dev error on fine labels by the number of training questions: {told}.",
    } | texts
    return horizontal_bars(errors, x_label="dev error on fine labels (%)", number="{:.0f}", **texts)


def errors_of_groups(errors: Shares, **texts: Unpack[Texts]) -> Picture:
    """Errors (%) of two classifiers by group of questions; the title names one hard for both.

    A group is hard for both if each classifier's interval there lies above its lowest error.
    """
    names = next(iter(errors.values()))
    least = {name: min(row[name][0] for row in errors.values()) for name in names}
    hard = [g for g, row in errors.items() if all(row[n][1] > least[n] for n in names)]
    worst = max(hard, key=lambda group: sum(v for v, *_ in errors[group].values()), default="")
    title = f"Hard for both: {worst.split(' (')[0]}" if worst else "Errors by group of questions"
    return _errors(errors, **{"title": title, "alt": _told(errors)} | texts)


def lead_by_task(errors: Shares, p_values: Mapping[str, float], **texts: Unpack[Texts]) -> Picture:
    """Errors (%), pretrained and from scratch; the title names the tasks with a lead."""
    leads = [
        task
        for task, p in p_values.items()
        if p < 0.05 and errors[task]["pretrained"][0] < errors[task]["from scratch"][0]
    ]
    finding = f"Pretraining leads on {' and '.join(leads)} only"
    texts = {
        "title": finding if leads and len(leads) < len(errors) else "Pretrained and from scratch",
        "alt": f"Dev errors. {_told(errors)}",
    } | texts
    return _errors(errors, **texts)


def _errors(errors: Shares, **texts: Unpack[Texts]) -> Picture:
    """Dots with intervals, from 0 on."""
    picture = grouped_dots(errors, x_label="dev error (%); lines are 95 % intervals", **texts)
    picture.axes[0].set_xlim(left=0)
    return picture


def _told(rows: Shares) -> str:
    """The values of all rows in words."""
    told = (
        f"{row}: " + ", ".join(f"{name} {value[0]:.1f}" for name, value in each.items())
        for row, each in rows.items()
    )
    return "; ".join(told) + "."
