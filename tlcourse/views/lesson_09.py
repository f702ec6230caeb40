"""Figures of lesson 09: one body with other heads, entities, answers in a paragraph, pairs.

What is right is blue and what is wrong vermillion. A title states a finding only if the data show
it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from tlcourse.views.bars import horizontal_bars
from tlcourse.views.diagrams import ACROSS, Drawing, word_width
from tlcourse.views.dots import ABOVE, grouped_dots
from tlcourse.views.heat_maps import heat_map
from tlcourse.views.style import COLOURS, Picture, Texts, figure, finish, label_axes, shaped

Score = tuple[float, float, float]  # a value and the ends of its interval


class Head(NamedTuple):
    """A column of `one_body`: the task, its input, its head and its answer, lines broken by \\n."""

    task: str
    reads: str
    head: str
    answer: str


def one_body(heads: Sequence[Head], width: int, **texts: Unpack[Texts]) -> Picture:
    """The same body under several heads: input below, body in the middle, heads and answers above.

    `width` is the body's. Raises ValueError for more than four heads, which would not fit.
    """
    if not 1 <= len(heads) <= 4:
        raise ValueError(f"expected one to four heads, got {len(heads)}")
    told = "; ".join(
        f"{each.task}: reads {each.reads}, head {each.head}, answers {each.answer}"
        for each in heads
    )
    draw = Drawing(
        3.3,
        **{"title": "The body stays; input and head change", "alt": told.replace("\n", " ")}
        | texts,
    )
    column = ACROSS / len(heads)
    body = draw.box((ACROSS / 2, 1.25), width=ACROSS - 0.3, height=0.42, colour="grey")
    draw.caption(body.middle, f"the pretrained body: a state of {width:,} numbers for each token")
    for place, each in enumerate(heads):
        x = column * (place + 0.5)
        read = draw.box((x, 0.36), each.reads, width=column - 0.14, height=0.62)
        draw.arrow(read.top, (x, body.bottom[1]))
        head = draw.box(
            (x, 1.98), each.head, width=column - 0.14, height=0.5, colour="blue", bold=True
        )
        draw.arrow((x, body.top[1]), head.bottom)
        answer = draw.box((x, 2.68), each.answer, width=column - 0.14, height=0.48)
        draw.arrow(head.top, answer.bottom, colour="blue")
        draw.caption((x, 3.13), each.task, "black", bold=True)
    return draw.finish()


def targets_of_tokens(
    tokens: Sequence[str], words: Sequence[str], targets: Sequence[str], **texts: Unpack[Texts]
) -> Picture:
    """Words, their tokens and the target of each token; "" is a target that the loss ignores.

    `words` has the word of each token, "" for special tokens. Raises ValueError where the three
    differ in length.
    """
    if not len(tokens) == len(words) == len(targets):
        raise ValueError(
            f"expected a word and a target for each token, got {len(tokens)} tokens, {len(words)} "
            f"words, {len(targets)} targets"
        )
    pairs = zip(tokens, targets, strict=True)
    told = ", ".join(f"{token.strip()} {target or 'ignored'}" for token, target in pairs)
    draw = Drawing(
        1.3,
        **{"title": "One target a word, at its first token", "alt": f"Tokens and targets: {told}."}
        | texts,
    )
    widths = [
        0.14 + max(word_width(text, bold=True) for text in (token, target or "–"))
        for token, target in zip(tokens, targets, strict=True)
    ]
    scale = min(1.0, (ACROSS - 0.8) / sum(widths))
    left, start = 0.8, 0.8
    for name, y in (("words", 1.1), ("tokens", 0.68), ("targets", 0.22)):
        draw.label((0.7, y), name, align="right", colour="grey")
    for place, (token, word, target) in enumerate(zip(tokens, words, targets, strict=True)):
        wide = scale * widths[place]
        x = left + wide / 2
        draw.box((x, 0.68), token, width=wide - 0.05, height=0.26)
        if target:
            draw.box((x, 0.22), target, width=wide - 0.05, height=0.26, colour="blue", bold=True)
        else:
            draw.caption((x, 0.22), "–")
        left += wide
        last = place == len(tokens) - 1 or words[place + 1] != word
        if last and word:
            middle = (start + left) / 2, 1.1
            draw.box(middle, word, width=left - start - 0.05, height=0.26, colour="grey")
        if last:
            start = left
    return draw.finish()


def tagged(
    words: Sequence[Sequence[str]],
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    **texts: Unpack[Texts],
) -> Picture:
    """Sentences with the gold tags and the predicted ones below, wrong ones vermillion.

    All three hold an entry a word. Raises ValueError where they differ in length, or where a
    sentence is too wide.
    """
    shapes = [[len(each) for each in three] for three in (words, gold, predicted)]
    if not words or shapes[0] != shapes[1] or shapes[0] != shapes[2]:
        raise ValueError(f"expected two tags for each word, got {shapes}")
    rows = [list(zip(*row, strict=True)) for row in zip(words, gold, predicted, strict=True)]
    wrong = sum(true != guess for row in rows for _, true, guess in row)
    told = "; ".join(
        " ".join(f"{word} {a}" + (f" (predicted {b})" if a != b else "") for word, a, b in row)
        for row in rows
    )
    title = f"{len(words)} sentences, {wrong} of {sum(shapes[0])} tags wrong"
    draw = Drawing(1.12 * len(words), **{"title": title, "alt": told} | texts)
    for row, three in enumerate(zip(words, gold, predicted, strict=True)):
        top = 1.12 * (len(words) - row) - 0.2
        widths = [0.16 + max(map(word_width, column)) for column in zip(*three, strict=True)]
        if 0.85 + sum(widths) > ACROSS:
            raise ValueError(f"expected sentences that fit into a line, got {' '.join(three[0])!r}")
        for line, name in enumerate(("words", "gold", "predicted")):
            draw.label((0.75, top - 0.32 * line), name, align="right", colour="grey")
        left = 0.85
        for wide, (word, true, guess) in zip(widths, zip(*three, strict=True), strict=True):
            x = left + wide / 2
            draw.caption((x, top), word, "black")
            for tag, y, right in ((true, top - 0.32, True), (guess, top - 0.64, guess == true)):
                if tag == "O" and right:
                    draw.caption((x, y), "O")
                else:
                    hue = "blue" if right else "vermillion"
                    draw.box((x, y), tag, width=wide - 0.05, height=0.26, colour=hue)
            left += wide
    return draw.finish()


def f1_bars(scores: Mapping[str, Score], released: str, **texts: Unpack[Texts]) -> Picture:
    """Entity F1 of each way, with intervals; `released` is highlighted.

    The title says that the released model is ahead if its interval lies above all others'.
    """
    title = "Entity F1 by model"
    if scores[released][1] > max(each[2] for name, each in scores.items() if name != released):
        title = "The released model is ahead"
    told = ", ".join(f"{name} {v:.0f} ({a:.0f} to {b:.0f})" for name, (v, a, b) in scores.items())
    options = {"x_label": "entity F1 (%), 95 % interval", "number": "{:.0f}", "highlight": released}
    return horizontal_bars(scores, **options, **{"title": title, "alt": f"F1: {told}."} | texts)


def answer_scores(
    tokens: Sequence[str],
    shares: tuple[Sequence[float], Sequence[float]],
    span: tuple[int, int],
    *,
    question: str = "",
    answer: str = "",
    **texts: Unpack[Texts],
) -> Picture:
    """The probability of each token as first and as last one of the answer; the span is shaded.

    `shares` are those of each of `tokens` as first and as last token, and `span` the answer's two
    places. A token is named where it is in the span, or one of its shares is at least 3 %.
    """
    first, last = shares
    texts = {
        "title": f"“{question}” → {answer}",
        "alt": f"Probability as first token: highest at “{tokens[int(np.argmax(first))].strip()}” "
        f"with {max(first):.0%}; as last token at “{tokens[int(np.argmax(last))].strip()}” with "
        f"{max(last):.0%}. The answer is “{answer}”.",
    } | texts
    picture, axes = figure(height=2.9, **texts)
    places = np.arange(len(tokens))
    axes.axvspan(span[0] - 0.5, span[1] + 0.5, color=COLOURS["yellow"], alpha=0.35, lw=0)
    for shift, shares, hue, name in (
        (-0.2, first, "blue", "first token"),
        (0.2, last, "orange", "last token"),
    ):
        look = {"width": 0.4, "color": COLOURS[hue], "label": name}
        axes.bar(places + shift, 100 * np.asarray(shares), **look)
    named = [
        place
        for place in places
        if span[0] <= place <= span[1] or max(first[place], last[place]) >= 0.03
    ]
    axes.set_xticks(named, [tokens[place].strip() for place in named], rotation=90, fontsize=9)
    axes.set_xlim(-0.7, len(tokens) - 0.3)
    axes.tick_params(axis="x", length=0)
    axes.legend(ncols=2, labelcolor="linecolor", borderaxespad=0, **ABOVE)
    axes.grid(False, axis="x")
    label_axes(axes, y="probability (%)")
    return finish(picture)


def pair_scores(scores: Mapping[str, Score], **texts: Unpack[Texts]) -> Picture:
    """Spearman's correlation × 100 of each way to compare two sentences, with intervals."""
    best = max(scores, key=lambda name: scores[name][0])
    told = ", ".join(f"{name} {value:.0f}" for name, (value, _, _) in scores.items())
    texts = {"title": "Similarity of two sentences", "alt": f"Correlation: {told}."} | texts
    options = {"x_label": "Spearman's correlation × 100, 95 % interval", "number": "{:.0f}"}
    return horizontal_bars(scores, highlight=best, **options, **texts)


def scores_by_task(
    scores: Mapping[str, Mapping[str, Score]], released: str, **texts: Unpack[Texts]
) -> Picture:
    """For each task, the score × 100 of each way to learn it, with intervals.

    The title counts the tasks on which the interval of the `released` model lies above all others'.
    """
    ahead = sum(
        each[released][1] > max(high for name, (_, _, high) in each.items() if name != released)
        for each in scores.values()
    )
    title = f"The released model is clearly ahead on {ahead} of {len(scores)} tasks"
    told = "; ".join(
        f"{task}: " + ", ".join(f"{name} {value:.0f}" for name, (value, _, _) in each.items())
        for task, each in scores.items()
    )
    label = {"x_label": "score × 100, 95 % interval"}
    return grouped_dots(scores, **label, **{"title": title, "alt": told} | texts)


def token_matches(
    weights: Any, premise: Sequence[str], hypothesis: Sequence[str], **texts: Unpack[Texts]
) -> Picture:
    """Attention (hypothesis tokens, premise tokens) between two texts that were read apart.

    Raises ValueError for weights of another shape.
    """
    weights = shaped(np.asarray(weights), (len(hypothesis), len(premise)), "weights")
    best = [premise[int(row.argmax())] for row in weights]
    pairs = zip(hypothesis, best, strict=True)
    told = ", ".join(f"{token} most to {match}" for token, match in pairs)
    texts = {
        "title": "Attention of the hypothesis to the premise",
        "alt": f"Attention of the tokens of the hypothesis: {told}.",
    } | texts
    names = {"keys": premise, "label": "attention weight", "y_label": "hypothesis"}
    picture = heat_map(weights, hypothesis, **names, **texts)
    picture.axes[0].set_xlabel("premise")
    return picture
