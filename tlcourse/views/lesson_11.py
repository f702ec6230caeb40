"""Figures of lesson 11: windows, maps of words, clusters, judgements and senses.

A title states a finding only if the data show it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from tlcourse.views.diagrams import ACROSS, Drawing, word_width
from tlcourse.views.dots import grouped_dots, write_beside
from tlcourse.views.panels import by_layer
from tlcourse.views.style import (
    GREY,
    Picture,
    Texts,
    colours_of,
    figure,
    finish,
    label_axes,
    text_width,
)


def context_window(
    tokens: Sequence[str], centre: int, *, window: int = 2, **texts: Unpack[Texts]
) -> Picture:
    """A line of words, with an arrow from the word at `centre` to each word of its window.

    Raises ValueError for a centre outside the words, or for words that do not fit into a line.
    """
    widths = [0.14 + word_width(token) for token in tokens]
    gap = (ACROSS - sum(widths)) / (len(tokens) + 1)
    if not 0 <= centre < len(tokens) or gap < 0:
        raise ValueError(
            f"expected a centre among words that fit into a line, got {centre} and {len(tokens)} "
            "words"
        )
    around = [at for at in range(len(tokens)) if 0 < abs(at - centre) <= window]
    named = ", ".join(tokens[at] for at in around)
    texts = {
        "title": f"“{tokens[centre]}” predicts: {named}",
        "alt": f"In the line {' '.join(tokens)}, arrows lead from {tokens[centre]} to {named}.",
    } | texts
    draw = Drawing(1.0, **texts)
    boxes, x = [], gap
    for at, (token, wide) in enumerate(zip(tokens, widths, strict=True)):
        colour = "vermillion" if at == centre else "blue" if at in around else "faint"
        middle = (x + wide / 2, 0.25)
        boxes.append(draw.box(middle, token, width=wide, height=0.3, colour=colour))
        x += wide + gap
    for at in around:
        bend = 0.35 if at < centre else -0.35
        draw.arrow(boxes[centre].top, boxes[at].top, bend=bend)
    return draw.finish()


def word_map(groups: Mapping[str, Mapping[str, Any]], **texts: Unpack[Texts]) -> Picture:
    """Words in the plane of the two main directions of their vectors, a colour for each group.

    `groups` maps a name to words, a word to its vector. The vectors are divided by their lengths.
    The title says that the groups lie together if each word is nearer to the mean of its own group
    than to the others, in this plane. Raises ValueError for fewer than three words.
    """
    owners = [name for name, each in groups.items() for _ in each]
    written = [word for each in groups.values() for word in each]
    if len(written) < 3:
        raise ValueError(f"expected at least three words with a vector, got {written}")
    found = np.array([vector for each in groups.values() for vector in each.values()], float)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    names = list(dict.fromkeys(owners))
    told = "; ".join(f"{name}: {', '.join(each)}" for name, each in groups.items() if each)
    centred = found - found.mean(axis=0)
    points = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    means = np.array([points[[owner == name for owner in owners]].mean(axis=0) for name in names])
    nearest = np.linalg.norm(points[:, None] - means, axis=2).argmin(axis=1)
    apart = [names[at] for at in nearest] == owners
    title = "Words of one kind lie together" if apart else "Words of several kinds in the plane"
    picture, axes = figure(height=4.6, **{"title": title, "alt": f"{told}."} | texts)
    colours = colours_of(names)
    for name in names:
        mine = points[[owner == name for owner in owners]]
        axes.plot(*mine.T, "o", color=colours[name], ms=6, label=name)
    label_axes(axes, x="first direction", y="second direction")
    axes.tick_params(labelbottom=False, labelleft=False)
    axes.legend(labelcolor="linecolor", prop={"weight": "bold"}, loc="best", handletextpad=0.2)
    axes.margins(0.12)
    picture.draw_without_rendering()
    inks = {at: colours[owner] for at, owner in enumerate(owners)}
    write_beside(axes, points, dict(enumerate(written)), inks)
    return finish(picture)


def agreement(
    rows: Mapping[str, Mapping[str, tuple[float, float, float]]],
    levels: Mapping[str, float] | None = None,
    *,
    judgements: str = "",
    **texts: Unpack[Texts],
) -> Picture:
    """How well vectors agree with people: a row for each method, a series for each text.

    `rows` maps a method to texts, a text to (value, low, high); `levels` are drawn as lines, and
    `judgements` names the pairs. The title says that more text helps if the last series of each
    method is above its first.
    """
    values = {name: [each[0] for each in series.values()] for name, series in rows.items()}
    title = "How well cosines agree with people"
    if all(len(each) > 1 and each[-1] > each[0] for each in values.values()):
        title = "More text helps all of these methods"
    told = "; ".join(
        f"{name}: " + ", ".join(f"{text} {value[0]:.2f}" for text, value in series.items())
        for name, series in rows.items()
    )
    told += "".join(f"; {name}: {value:.2f}" for name, value in (levels or {}).items())
    x_label = f"Spearman's rank correlation with people {judgements}".rstrip()
    labels = {"x_label": x_label, "levels": levels}
    return grouped_dots(rows, **labels, **{"title": title, "alt": f"{told}."} | texts)


def senses_by_layer(
    models: Mapping[str, Sequence[float]],
    baselines: Mapping[str, float] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """The share of senses told apart by the states of each layer, beside baselines in grey.

    The title says how many the best layer of all finds.
    """
    best = max(models, key=lambda name: max(models[name]))
    layer = int(np.argmax(models[best]))
    where = f"layer {layer}" if layer else "embeddings"
    told = "; ".join(
        f"{name}: {', '.join(f'{value:.2f}' for value in each)}" for name, each in models.items()
    )
    told += "".join(f"; {name}: {value:.2f}" for name, value in (baselines or {}).items())
    texts = {
        "title": f"{best}, {where}, finds {max(models[best]):.0%} of the senses",
        "alt": f"Share of senses found by layer. {told}.",
    } | texts
    labels = {"y_label": "senses found", "limits": (0.4, 1.02)}
    return by_layer({"senses": models}, {"senses": baselines or {}}, **labels, **texts)


def cluster_tree(clusters: Mapping[str, Sequence[str]], **texts: Unpack[Texts]) -> Picture:
    """A binary tree: `clusters` maps paths of bits from the root to words, as many as fit.

    The paths are sorted, so that what belongs together stands together. Raises ValueError without
    at least two clusters.
    """
    paths = list(clusters)
    if len(paths) < 2:
        raise ValueError(f"expected at least two clusters, got {len(paths)}")
    told = "; ".join(f"{path}: {', '.join(each[:4])}" for path, each in clusters.items())
    texts = {"title": "Clusters of words, merged pair by pair", "alt": f"{told}."} | texts
    picture, axes = figure(height=0.9 + 0.2 * len(paths), **texts)
    deepest = max(map(len, paths))
    rows = {path: float(row) for row, path in enumerate(paths)}
    for depth in range(deepest - 1, -1, -1):
        for path in sorted({each[:depth] for each in rows if len(each) > depth}):
            low, high = (rows[path + bit] for bit in "01")
            rows[path] = (low + high) / 2
            axes.plot([depth, depth], [low, high], color=GREY, lw=1)
            for bit in "01":
                end = deepest if path + bit in clusters else depth + 1
                axes.plot([depth, end], [rows[path + bit]] * 2, color=GREY, lw=1)
    font = {"va": "center", "fontsize": 8.5, "parse_math": False}
    for path, each in clusters.items():
        line = each[0]
        for word in each[1:]:
            if text_width(f"{line} {word}", 8.5) > 4.4:
                break
            line += f" {word}"
        axes.text(deepest + 0.15, rows[path], line, **font)
    axes.set(ylim=(len(paths) - 0.4, -0.6), xlim=(-0.1, deepest * 3.0))
    axes.set_axis_off()
    return finish(picture)
