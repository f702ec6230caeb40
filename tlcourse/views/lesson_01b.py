"""Figures of lesson 01b: a word and all its cuts, and comparisons of trainers and tokenizers."""

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Unpack

from tlcourse.views.bars import horizontal_bars
from tlcourse.views.diagrams import ACROSS, Drawing
from tlcourse.views.lines import curves
from tlcourse.views.style import Picture, Texts, figure, finish
from tlcourse.views.tokens import visible


def cuts_of_word(
    word: str, scores: Mapping[str, float], best: Sequence[str], **texts: Unpack[Texts]
) -> Picture:
    """A word with every token that it could be cut into, and the best cut in colour.

    `scores` are the tokens' log-probabilities, `best` the tokens of the best cut. Tokens lie above
    the letters that they cover, with their probability, short ones below long ones. The title says
    that `best` has the highest product if no other cut has a higher one. Raises ValueError for a
    cut that does not spell the word, a token of it without a score, or a word of more than 12
    letters.
    """
    if "".join(best) != word or not set(best) <= set(scores) or not 0 < len(word) <= 12:
        raise ValueError(
            f"expected a word of 1 to 12 letters and tokens with scores that spell it, got "
            f"{word!r} and {list(best)}"
        )
    starts = [sum(map(len, best[:number])) for number in range(len(best))]
    chosen = set(zip(starts, best, strict=True))
    found = [
        (start, word[start:end])
        for end in range(1, len(word) + 1)
        for start in range(end)
        if word[start:end] in scores
    ]
    highest = [0.0] + [-math.inf] * len(word)  # the best sum of scores up to each place
    for start, token in sorted(found, key=lambda each: each[0] + len(each[1])):
        end = start + len(token)
        highest[end] = max(highest[end], highest[start] + scores[token])
    title = f"All tokens that fit into “{visible(word)}”"
    if sum(scores[token] for token in best) >= highest[-1] - 1e-9:
        title = f"Of all cuts, {' + '.join(map(visible, best))} has the highest product"
    texts = {
        "title": title,
        "alt": f"The tokens that fit into {word}, with their probabilities; those of the cut "
        f"{' '.join(best)} are coloured.",
    } | texts
    lanes: list[list[tuple[int, str]]] = []  # tokens in one lane do not overlap
    for start, token in sorted(found, key=lambda each: (len(each[1]), each[0])):
        free = (lane for lane in lanes if all(_apart((start, token), other) for other in lane))
        lane = next(free, None)
        if lane is None:
            lanes.append(lane := [])
        lane.append((start, token))
    cell = min(0.9, ACROSS / len(word))
    left = (ACROSS - cell * len(word)) / 2
    draw = Drawing(0.36 * len(lanes) + 0.45, **texts)
    for place, letter in enumerate(word):
        middle, text = (left + cell * (place + 0.5), 0.15), visible(letter)
        draw.box(middle, text, width=cell - 0.08, height=0.26, colour="grey", bold=True)
    for row, lane in enumerate(lanes):
        for start, token in lane:
            is_best = (start, token) in chosen
            hue = "vermillion" if is_best else "faint"
            middle = left + cell * (start + len(token) / 2)
            percentage = f"{100 * math.exp(scores[token]):.2g} %"
            text = f"{visible(token)}  {percentage}" if len(token) > 1 else percentage
            size = {"width": cell * len(token) - 0.08, "height": 0.27}
            draw.box((middle, 0.55 + 0.36 * row), text, colour=hue, bold=is_best, **size)
    return draw.finish()


def _apart(one: tuple[int, str], other: tuple[int, str]) -> bool:
    """Whether two tokens of a word, each with its start, do not overlap."""
    return one[0] + len(one[1]) <= other[0] or other[0] + len(other[1]) <= one[0]


def words_changed(shares: Sequence[float], **texts: Unpack[Texts]) -> Picture:
    """A point for each merge: the share of the distinct words that it changes, in %."""
    typical = statistics.median(shares)
    texts = {
        "title": f"Half of the merges change less than {typical:.1g} % of the distinct words",
        "alt": f"A point for each of {len(shares)} merges: the share of the distinct words that it "
        f"changes, {shares[0]:.1f} % for the first and {shares[-1]:.2f} % for the last.",
    } | texts
    picture, axes = figure(texts.pop("title"))
    axes.scatter(range(1, len(shares) + 1), shares, s=14)
    axes.set(xlabel="number of the merge", ylabel="distinct words changed (%)", ylim=(0, None))
    axes.axhline(typical, color="black", lw=1)
    axes.annotate("median", (len(shares), typical), (0, 4), textcoords="offset points", ha="right")
    return finish(picture, **texts)


def fertility_curve(
    entries: Sequence[int], fertility: Sequence[float], **texts: Unpack[Texts]
) -> Picture:
    """Tokens per word against the size of the vocabulary, with a word list's one token as a line.

    The title says that each entry saves less than those before it if the data bear it out.
    """
    points = list(zip(entries, fertility, strict=True))
    saved = [(b - d) / (c - a) for (a, b), (c, d) in pairwise(points)]
    title = "Tokens per word by the size of the vocabulary"
    if len(saved) > 1 and all(a > b > 0 for a, b in pairwise(saved)):
        title = "The larger the vocabulary, the less each new entry saves"
    texts = {
        "title": title,
        "alt": "Tokens per word by entries: " + ", ".join(f"{e}: {f:.2f}" for e, f in points),
    } | texts
    return curves(
        {"BPE": (entries, fertility)},
        x_label="entries in the vocabulary",
        y_label="tokens per word",
        log_x=True,
        x_ticks=entries,
        levels={"a word list": 1},
        **texts,
    )


def bits_against_bpe(
    differences: Mapping[str, tuple[float, float, float]], ours: str, **texts: Unpack[Texts]
) -> Picture:
    """Bars of the difference in bits per byte to BPE in %, each (difference, low, high).

    The title says that `ours` needs fewer bits than BPE if its interval lies below 0.
    """
    title = "Bits per byte, compared with BPE"
    if differences[ours][2] < 0:
        title = f"{ours} needs {-differences[ours][0]:.1f} % fewer bits than BPE"
    each = ", ".join(f"{name} {values[0]:+.1f} %" for name, values in differences.items())
    texts = {"title": title, "alt": f"Bits per byte, difference to BPE: {each}"} | texts
    return horizontal_bars(
        differences,
        highlight=ours,
        number="{:+.1f} %",
        x_label="bits per byte of the held-out text, difference to BPE (%)",
        **_with_intervals(texts, "drawn lines"),
    )


def stems_kept(
    shares: Mapping[str, tuple[float, float, float]],
    merged: str,
    probable: str,
    **texts: Unpack[Texts],
) -> Picture:
    """Bars of how often each tokenizer cuts at the end of the stem, each (share, low, high).

    The title says that `probable` does so more often than `merged` if their intervals are apart.
    """
    title = "Words that are cut at the end of the stem"
    if shares[probable][1] > shares[merged][2]:
        title = f"{probable} finds more stems than {merged}"
    bars = {name: tuple(100 * share for share in each) for name, each in shares.items()}
    each = ", ".join(f"{name} {values[0]:.0f} %" for name, values in bars.items())
    texts = {"title": title, "alt": f"Words cut at the end of the stem: {each}"} | texts
    return horizontal_bars(
        bars,
        highlight=probable,
        number="{:.0f} %",
        x_label="words that are cut at the end of the stem (%)",
        **_with_intervals(texts, "words"),
    )


def _with_intervals(texts: Texts, over: str) -> Texts:
    """The texts with a note that says what the lines on the bars are."""
    return texts | {"note": f"{texts.get('note', '')} Lines: 95 % intervals over {over}.".strip()}
