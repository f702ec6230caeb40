"""Figures of lesson 02b: a race of models, gradients, costs, attention, and parts of a block."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from tlcourse.views.diagrams import ACROSS, Drawing
from tlcourse.views.dots import grouped_dots
from tlcourse.views.heat_maps import heat_map
from tlcourse.views.lines import curves
from tlcourse.views.style import Picture, Texts

LATER = 2  # a model learns "long after" another one if it needs this many times the steps


def right_by_distance(
    right: Mapping[str, Sequence[float]], values: int, reach: int, **texts: Unpack[Texts]
) -> Picture:
    """Percent of right answers of each model for answers that lie 1, 2, … tokens back.

    There are `values` possible answers, of which each program contains two. The title says that
    attention answers at any distance and the CNN within `reach`, if they do.
    """
    chance, title = 100 / values, "Right answers by the distance of the answer"
    near, far = np.split(np.asarray(right["CNN"], float), [reach])
    if min(right["attention"]) > 90 and near.min() > 80 and far.mean() < (100 + chance) / 4:
        title = f"Attention answers at any distance, the CNN up to {reach} tokens back"
    texts = {
        "title": title,
        "alt": "Percent of right answers against the distance of the answer; on average "
        + ", ".join(f"{name} {np.mean(each):.0f} %" for name, each in right.items()),
    } | texts
    return curves(
        {name: (range(1, len(each) + 1), each) for name, each in right.items()},
        x_label="distance from the question to the answer (tokens)",
        y_label="right answers (%)",
        top=100,
        levels={"chance": chance, "coin toss": 50},
        dashed=["attention"],
        **texts,
    )


def losses_of_programs(
    losses: Mapping[str, Sequence[float]],
    values: int,
    batch: int,
    *,
    points: int = 40,
    **texts: Unpack[Texts],
) -> Picture:
    """Training losses of models that answer programs, as means of `points` groups of steps.

    A model has learned once such a mean is below half of the loss of guessing among `values`. The
    title says which model learns alone, or long before the next one.
    """
    guessing, series, begins = math.log(values), {}, {}
    for name, each in losses.items():
        size = max(1, len(each) // points)
        means = np.asarray(each[: len(each) // size * size], float).reshape(-1, size).mean(axis=1)
        steps = (np.arange(len(means)) + 0.5) * size
        series[name] = steps, means
        if (means < guessing / 2).any():
            begins[name] = steps[np.argmax(means < guessing / 2)]
    title, order = "Training loss", sorted(begins, key=lambda name: begins[name])
    if len(order) == 1 and len(losses) == 2:
        (other,) = losses.keys() - begins.keys()
        title = f"{order[0].capitalize()} learns, and {other} does not"
    elif len(order) > 1 and begins[order[1]] >= LATER * begins[order[0]]:
        title = f"{order[0].capitalize()} learns first, the {order[1]} long after it"
    last = ", ".join(f"{name} ends at {means[-1]:.2f}" for name, (_, means) in series.items())
    return curves(
        series,
        x_label=f"training step ({batch} programs each)",
        y_label="loss (nats per answer)",
        levels={"guessing": guessing},
        **{"title": title, "alt": f"Training loss by step: {last}."} | texts,
    )


def gradients_by_block(norms: Mapping[str, Any], **texts: Unpack[Texts]) -> Picture:
    """Norms (seeds, blocks) of the gradients of each kind of model, with bands over the seeds.

    The title says that the gradient of pre-norm alone shrinks towards the last block, if it does.
    """
    means = {name: np.asarray(each, float).mean(axis=0) for name, each in norms.items()}
    falls = {name: each[-1] < each[0] / 2 for name, each in means.items()}
    title = "Norm of the gradient in each block"
    if falls.pop("pre-norm", False) and not any(falls.values()):
        title = "Towards the last block, the gradient shrinks in pre-norm only"
    ends = ", ".join(f"{name} from {m[0]:.2f} to {m[-1]:.2f}" for name, m in means.items())
    rows = {name: np.asarray(each, float) for name, each in norms.items()}
    return curves(
        {
            name: (range(1, each.shape[1] + 1), means[name], each.min(axis=0), each.max(axis=0))
            for name, each in rows.items()
        },
        x_label="block",
        y_label="norm of the gradient",
        levels={"zero": 0.0},
        dashed=["2019"],
        **{"title": title, "alt": f"Gradient norms by block: {ends}."} | texts,
    )


def quadratic_share(
    shares: Mapping[str, Sequence[float]], lengths: Sequence[int], **texts: Unpack[Texts]
) -> Picture:
    """Percent of the operations that compare tokens and mix values, by length of the text.

    The title says that they dominate only in long texts if their share exceeds half in each model,
    but not up to 1,024 tokens.
    """
    title, short = "The quadratic part of attention", [n <= 1024 for n in lengths]
    if all(np.asarray(each)[short].max() < 50 < each[-1] for each in shares.values()):
        title = "The quadratic part dominates only in long texts"
    ends = ", ".join(f"{name} from {e[0]:.0f} to {e[-1]:.0f} %" for name, e in shares.items())
    return curves(
        {name: (lengths, each) for name, each in shares.items()},
        x_label="length of the text (tokens)",
        y_label="share of all operations (%)",
        log_x=True,
        x_ticks=lengths[::2],
        top=100,
        **{"title": title, "alt": f"Share of the quadratic operations by length: {ends}."} | texts,
    )


def answer_and_trap(
    heads: Mapping[str, Mapping[str, tuple[float, float, float]]], **texts: Unpack[Texts]
) -> Picture:
    """Percent of the question's attention that each head pays to "the answer" and "the trap".

    Each share is (mean, low, high). The title says that most heads prefer the answer, if they do.
    """
    clear = [head["the answer"][1] > head["the trap"][2] for head in heads.values()]
    title = "Attention of the question to the answer and to the trap"
    if sum(clear) > len(clear) / 2:
        title = f"{sum(clear)} of {len(clear)} heads look more at the answer than at the trap"
    most = max(head["the answer"][0] for head in heads.values())
    picture = grouped_dots(
        heads,
        x_label="share of the question's attention (%)",
        levels={"half": 50.0},
        **{
            "title": title,
            "alt": f"For each of {len(heads)} heads the share of the question's attention on the "
            f"answer, at most {most:.0f} %, and on the trap.",
        }
        | texts,
    )
    picture.axes[0].set_xlim(left=0)
    return picture


def question_row(
    weights: Mapping[str, Any], words: Sequence[str], answer: int, **texts: Unpack[Texts]
) -> Picture:
    """The attention (length,) of each head from a program's last word, the question, to its words.

    `answer` is the index of the word that answers the question.
    """
    return heat_map(
        np.stack([np.asarray(each, float) for each in weights.values()]),
        [name.split()[-1] for name in weights],
        keys=words,
        y_label="head",
        **{
            "title": f"One program: {words[-1]} is answered by {words[answer]}",
            "alt": f"Attention of the last word to {len(words)} words in {len(weights)} heads.",
        }
        | texts,
    )


def gated_feed_forward_layer(width: int, inner: int, **texts: Unpack[Texts]) -> Picture:
    """One position's vector through `gate` and `up` side by side, their product, and `down`."""
    draw = Drawing(1.7, **{"title": "A gated feed-forward layer"} | texts)
    middle, upper, lower = 0.8, 1.25, 0.35
    given = draw.box((0.5, middle), f"x\n{width}", colour="grey", height=0.5)
    gate = draw.box((1.9, upper), f"gate\n{inner:,}", colour="vermillion")
    up = draw.box((1.9, lower), f"up\n{inner:,}", colour="vermillion")
    silu = draw.box((3.1, upper), "SiLU", colour="blue")
    product = draw.box((4.2, middle), "⊙", width=0.28, height=0.28, bold=True)
    down = draw.box((5.2, middle), f"down\n{width}", colour="vermillion")
    for one, other in ((given, gate), (given, up), (gate, silu), (product, down)):
        draw.arrow(one.right, other.left)
    draw.arrow(silu.right, (product.left[0], product.middle[1] + 0.07))
    draw.arrow(up.right, (product.left[0], product.middle[1] - 0.07))
    draw.arrow(down.right, (6.3, middle))
    draw.caption((3.5, upper + 0.3), "how much of each feature passes", "blue")
    draw.caption((3.5, lower - 0.2), "the features", "vermillion")
    return draw.finish(
        f"A vector of {width} features goes through two layers side by side, gate and up, each "
        f"{inner:,} wide. SiLU is applied to the gate; the two are multiplied feature by feature, "
        f"and the layer down leads back to {width}."
    )


def grouped_heads(heads: int, groups: int, **texts: Unpack[Texts]) -> Picture:
    """Which query heads read which head of keys and values: an arrow for each query head.

    Raises ValueError where `groups` does not divide `heads`.
    """
    if heads % groups:
        raise ValueError(
            f"expected groups that divide the heads, got {heads} heads in {groups} groups; "
            f"use 1, {heads} or another divisor of {heads}"
        )
    title = f"{heads} query heads share {groups} heads of keys and values"
    draw = Drawing(1.6, **{"title": title} | texts)
    step, each = (ACROSS - 1.7) / heads, heads // groups
    queries = [
        draw.box((1.6 + step * (i + 0.5), 1.25), str(i), width=0.34, colour="blue")
        for i in range(heads)
    ]
    for group in range(groups):
        above = queries[group * each : (group + 1) * each]
        x = sum(one.middle[0] for one in above) / each
        shared = draw.box((x, 0.35), str(group), width=0.34, colour="vermillion")
        for one in above:
            draw.arrow(one.bottom, shared.top)
    draw.label((0.0, 1.25), "query heads", colour="blue", bold=True)
    draw.label((0.0, 0.35), "heads of keys\nand values", colour="vermillion", bold=True)
    return draw.finish(
        f"{heads} query heads in {groups} groups: each group of {each} reads the same head of "
        "keys and values."
    )
