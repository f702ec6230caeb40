"""Figures of lesson 09b: text that answers.

A title states a finding only if the data show it.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Unpack

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from tlcourse.views.bars import horizontal_bars
from tlcourse.views.diagrams import ACROSS, Drawing, word_width
from tlcourse.views.heat_maps import heat_map
from tlcourse.views.style import COLOURS, GREY, Picture, Texts, figure, finish, label_axes, shaped

FILLED = {"fine-tuning": True, "calibrated prompt": True, "prompt": False}  # by way
HUES = ("blue", "vermillion", "green", "purple")  # of models, as they come
CLEAR = 5.0  # points by which a title's winner is ahead
MARKER: dict[str, Any] = {"marker": "o", "ms": 4.5, "mew": 1.1}


def prompting(
    rows: Sequence[Mapping[str, Any]], majority: Mapping[str, float], **texts: Unpack[Texts]
) -> Picture:
    """Accuracy against labels, a panel a task: a dot for each draw, a line through the means.

    `rows` are those of the study `prompting`: "task", "way", "model", "labels", and "accuracies"
    in percent, one for each draw; rows that differ only in their wording are pooled. A model has
    one colour; dots of prompts without calibration are hollow. `majority` has for each task the
    accuracy of its most frequent class, a dotted line. Raises ValueError without rows, for a way
    that is not in FILLED, and for more than four models.
    """
    models = list(dict.fromkeys(row["model"] for row in rows))
    ways = {row["way"] for row in rows}
    if not rows or not ways <= set(FILLED) or len(models) > len(HUES):
        raise ValueError(
            f"expected rows of 1 to {len(HUES)} models, with the ways {', '.join(FILLED)}, got "
            f"{len(models)} models and {', '.join(sorted(ways)) or 'no way'}"
        )
    pooled: dict[tuple, list[float]] = {}
    for row in rows:
        key = row["task"], row["model"], row["way"], row["labels"]
        pooled.setdefault(key, []).extend(row["accuracies"])
    counts = sorted({row["labels"] for row in rows})
    means = {key: float(np.mean(each)) for key, each in pooled.items()}
    title, alt = _finding(means, list(majority)), _told(means, majority)
    picture, grid = figure(
        height=4.3,
        columns=len(majority),
        sharey=True,
        squeeze=False,
        **{"title": title, "alt": alt} | texts,
    )
    series = list(dict.fromkeys((model, way) for _, model, way, _ in pooled))
    for axes, (task, level) in zip(grid[0], majority.items(), strict=True):
        axes.set_title(task, loc="left", fontsize=11)
        axes.axhline(level, color=GREY, lw=1.2, ls=":", zorder=1)
        where = {"ha": "right", "va": "bottom", "fontsize": 9}
        axes.text(len(counts) - 0.5, level, "majority ", color=GREY, **where)
        for place, (model, way) in enumerate(series):
            colour = COLOURS[HUES[models.index(model)]]
            shift = 0.13 * (place - (len(series) - 1) / 2)
            given = [n for n, k in enumerate(counts) if (task, model, way, k) in pooled]
            fill = colour if FILLED[way] else "white"
            for n in given:
                each = pooled[task, model, way, counts[n]]
                look = {"color": colour, "mfc": fill, "alpha": 0.7, "ls": "", **MARKER}
                axes.plot([n + shift] * len(each), each, **look)
            line = [means[task, model, way, counts[n]] for n in given]
            axes.plot(np.add(given, shift), line, color=colour, lw=1.4, ls=_dashes(way))
        axes.set_xticks(range(len(counts)), [str(k) for k in counts])
        axes.set_xlim(-0.5, len(counts) - 0.5)
        axes.grid(False, axis="x")
        label_axes(axes, x="examples")
    grid[0][0].set_ylim(0, 100)
    label_axes(grid[0][0], y="right answers (%)")
    _legend(grid[0][-1], series, models)
    return finish(picture)


def _dashes(way: str) -> str:
    return "-" if FILLED[way] else "--"


def _legend(axes: Any, series: Sequence[tuple[str, str]], models: list[str]) -> None:
    """The names of all series in their colours, where these axes have most room."""
    hues = [COLOURS[HUES[models.index(model)]] for model, _ in series]
    keys = [
        Line2D([], [], color=hue, mfc=hue if FILLED[way] else "white", ls=_dashes(way), **MARKER)
        for hue, (_, way) in zip(hues, series, strict=True)
    ]
    names = [f"{model}, {way}" for model, way in series]
    look = {"fontsize": 8, "handlelength": 1.8, "labelspacing": 0.25, "borderaxespad": 0.2}
    legend = axes.legend(keys, names, loc="best", **look)
    for text, hue in zip(legend.get_texts(), hues, strict=True):
        text.set_color(hue)


def _finding(means: Mapping[tuple, float], tasks: Sequence[str]) -> str:
    """What holds clearly on every task of few and of many labels; a neutral title otherwise."""
    early, late = [], []
    for task in tasks:
        tuned = {k: v for (t, _, way, k), v in means.items() if (t, way) == (task, "fine-tuning")}
        prompts = {
            (way, k): max(v for (t, _, w, n), v in means.items() if (t, w, n) == (task, way, k))
            for t, _, way, k in means
            if t == task and way != "fine-tuning"
        }
        if not tuned or not prompts:
            return "Prompts and fine-tuning, by the number of examples"
        fewest = min(tuned)
        with_fewest = [v for (_, k), v in prompts.items() if k == fewest]
        early.append(bool(with_fewest) and max(with_fewest) > tuned[fewest] + CLEAR)
        late.append(tuned[max(tuned)] > max(prompts.values()) + CLEAR)
    fewest, most = (end(k for _, _, way, k in means if way == "fine-tuning") for end in (min, max))
    if all(early) and all(late):
        return f"With {fewest} examples the best prompt is ahead, with {most} fine-tuning"
    if all(late):
        return f"With {most} examples, fine-tuning is ahead of every prompt"
    if all(early):
        return f"With {fewest} examples, the best prompt is ahead of fine-tuning"
    return "Prompts and fine-tuning, by the number of examples"


def _told(means: Mapping[tuple, float], majority: Mapping[str, float]) -> str:
    parts = []
    for task, level in majority.items():
        told = ", ".join(
            f"{model}, {way}, {labels} labels: {mean:.0f} %"
            for (t, model, way, labels), mean in means.items()
            if t == task
        )
        parts.append(f"{task}, mean right answers: {told}; majority class {level:.0f} %.")
    return " ".join(parts)


def two_stacks(source: str, target: str, **texts: Unpack[Texts]) -> Picture:
    """An encoder beside a decoder, of which one block each is drawn, and what flows between them.

    `source` is the text that is read, `target` its translation so far.
    """
    told = (
        f"The encoder reads “{source}” with self-attention and a feed-forward layer in each block. "
        f"The decoder reads “{target}” with masked self-attention, cross-attention and a "
        "feed-forward layer. Cross-attention takes its keys and values from the encoder's states. "
        "The decoder predicts the next token."
    )
    draw = Drawing(3.1, **{"title": "Cross-attention joins two stacks", "alt": told} | texts)
    left, right, size = 1.6, 5.1, {"width": 2.1, "height": 0.34}
    read = draw.box((left, 0.2), source)
    reads = draw.box((left, 0.95), "self-attention", **size)
    thinks = draw.box((left, 1.45), "feed-forward", **size)
    states = draw.box((left, 2.2), "a state for each source token", fill="grey")
    begun = draw.box((right, 0.2), target)
    looks = draw.box((right, 0.95), "self-attention, causal", **size)
    crosses = draw.box((right, 1.45), "cross-attention", colour="blue", bold=True, **size)
    writes = draw.box((right, 1.95), "feed-forward", **size)
    after = draw.box((right, 2.75), "the next token of the target")
    for column in ((read, reads, thinks, states), (begun, looks, crosses, writes, after)):
        for below, above in pairwise(column):
            draw.arrow(below.top, above.bottom)
    turn = 3.3
    draw.stroke(states.right, (turn, states.right[1]), (turn, crosses.left[1]), colour="blue")
    draw.arrow((turn, crosses.left[1]), crosses.left, colour="blue")
    draw.caption((turn + 0.36, crosses.left[1] - 0.24), "keys, values", "blue")
    draw.label((0.35, 0.58), "encoder", bold=True)
    draw.label((right + 1.2, 0.58), "decoder", align="right", bold=True)
    return draw.finish()


def alignment(
    weights: Any,
    source: Sequence[str],
    target: Sequence[str],
    *,
    gold: Iterable[tuple[int, int]] = (),
    **texts: Unpack[Texts],
) -> Picture:
    """Cross-attention (target words, source words), with the gold links as outlined cells.

    `gold` has pairs (source word, target word), counted from 0. The title says at how many linked
    target words the largest weight lies on a gold link, if there is one. Raises ValueError for
    weights of another shape, and for a link outside.
    """
    weights = shaped(np.asarray(weights), (len(target), len(source)), "weights")
    links = {(int(place), int(number)) for number, place in gold}
    if not all(0 <= i < len(target) and 0 <= j < len(source) for i, j in links):
        raise ValueError(
            f"expected links (source word, target word) from (0, 0) to ({len(source) - 1}, "
            f"{len(target) - 1}), got {sorted((j, i) for i, j in links)}"
        )
    linked = sorted({place for place, _ in links}) or list(range(len(target)))
    best = {place: int(weights[place].argmax()) for place in linked}
    found = sum((place, best[place]) in links for place in linked)
    told = ", ".join(f"{target[place]} most to {source[best[place]]}" for place in linked)
    title = "Attention of target words to source words"
    alt = f"{title}: {told}."
    if links:
        title = f"{found} of {len(linked)} words attend most to the word that they translate"
        alt += " Gold links are outlined."
    names = {"keys": source, "label": "attention weight", "y_label": "target word"}
    picture = heat_map(weights, target, **names, **{"title": title, "alt": alt} | texts)
    axes = picture.axes[0]
    axes.set_xlabel("source word")
    for place, number in links:
        look = {"fill": False, "edgecolor": COLOURS["vermillion"], "linewidth": 2, "zorder": 3}
        axes.add_patch(Rectangle((number - 0.45, place - 0.45), 0.9, 0.9, **look))
    return picture


def dialogue_input(
    tokens: Sequence[str], types: Sequence[int], targets: Sequence[str], **texts: Unpack[Texts]
) -> Picture:
    """A dialogue as tokens, with the type and the target of each below; it takes several lines.

    A target is the token to be predicted, or "" where the loss ignores the position. Types are 0
    for the persona, 1 for the user and 2 for the bot. The title says that only the reply is
    predicted if each target is the next token and all of them stand in a row up to the last but
    one. Raises ValueError where the three differ in length, or for another type.
    """
    if not len(tokens) == len(types) == len(targets) or not set(types) <= {0, 1, 2}:
        raise ValueError(
            f"expected a type from 0 to 2 and a target for each token, got {len(tokens)} tokens, "
            f"{len(types)} types in {sorted(set(types))}, {len(targets)} targets"
        )
    words, wanted = ([text.strip() for text in each] for each in (tokens, targets))
    columns = list(zip(words, types, wanted, strict=True))
    lines: list[list] = [[]]
    used = 0.8
    for token, kind, target in columns:
        wide = 0.16 + max(word_width(text, bold=True) for text in (token, target or "–"))
        if used + wide > ACROSS and lines[-1]:
            lines, used = [*lines, []], 0.8
        lines[-1].append((used, wide, token, kind, target))
        used += wide
    places = [place for place, (_, _, target) in enumerate(columns) if target]
    shifted = bool(places) and all(
        place + 1 < len(columns) and columns[place + 1][0] == columns[place][2] for place in places
    )
    whole = shifted and places == [*range(places[0], len(columns) - 1)] and places[0] > 0
    title = "Only the reply is predicted" if whole else "A dialogue as tokens, types and targets"
    told = ", ".join(f"{token} {kind} {target or 'ignored'}" for token, kind, target in columns)
    alt = f"Tokens, each with its type and its target: {told}."
    height = 1.06
    draw = Drawing(height * len(lines), **{"title": title, "alt": alt} | texts)
    for number, line in enumerate(lines):
        top = height * (len(lines) - number) - 0.2
        for down, name in enumerate(("tokens", "types", "targets")):
            draw.label((0.7, top - 0.28 * down), name, align="right", colour="grey")
        for left, wide, token, kind, target in line:
            x, size = left + wide / 2, {"width": wide - 0.05, "height": 0.24}
            draw.box((x, top), token, fill=("grey", "white", "blue")[kind], **size)
            draw.caption((x, top - 0.28), str(kind), "black")
            if target:
                draw.box((x, top - 0.56), target, colour="blue", bold=True, **size)
            else:
                draw.caption((x, top - 0.56), "–")
    return draw.finish()


def summary_scores(study: Mapping[str, Any], **texts: Unpack[Texts]) -> Picture:
    """The overlap of each way to summarise with the hidden introduction, lead-3 highlighted.

    `study` is that of `summaries`: "articles", and "rows" with "way", "mean" and "interval".
    """
    rows = study["rows"]
    texts = {
        "title": f"Summaries of {study['articles']} articles",
        "alt": "; ".join(f"{row['way']}: F1 {row['mean']:.0f}" for row in rows),
    } | texts
    scores = {row["way"]: (row["mean"], *row["interval"]) for row in rows}
    label = "F1 of words with the introduction (%), 95 % interval"
    return horizontal_bars(scores, x_label=label, highlight="lead-3", **texts)
