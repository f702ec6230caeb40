"""The drawing of the whole model in HTML, as room_overview.js draws it, for the first view."""

import base64
import html
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tlcourse.bpe import SPECIALS

SHOWN, LEAST, DENSE = 6, 0.02, (18, 32)  # as in room_overview.js and blocks.js
RIBBON, FAINTEST, LEVELS = 12, 0.02, 8  # as in flow.js, and so are the curves
REST = "all others"
MEANINGS = ("attention", "attention"), ("chance", "probability"), ("feed", "feed-forward (FFN)")


def drawing(first: dict[str, Any]) -> str:
    """The first room in HTML, as room_overview.js draws it; a text that is typed redraws it."""
    weights, (layer, head) = _sharpest(first)
    most = max(LEAST, *(abs(lost(first, effect)) for effect in first["effects"]))
    shares = [token["probability"] for token in first["best"][:SHOWN]]
    names = [visible(token["text"]) for token in first["best"][:SHOWN]]
    names, shares = [*names, REST], [*shares, max(0, 1 - sum(shares))]
    size = f"{first['layers']} blocks of {first['heads']} heads"
    asks = "What could come next" if first["causal"] else "What could stand at &lt;mask&gt;"
    parts = (
        _stage("drawn-tokens-name", "tokens", "Tokens", "Each becomes a vector."),
        _tokens(first, weights),
        f'<div class="fan">{_fan(weights.tolist(), False)}</div>',
        _stage("drawn-heads-name", "attention", size, "Each block adds to the vectors."),
        _heads(first, most, (layer, head)),
        f'<div class="fan out">{_fan(shares, True)}</div>',
        _stage("asks", "prediction", asks, "A probability for every token."),
        _bars(names, shares),
    )
    return (
        '<section id="overview"><h2>The whole model</h2>\n'
        f'<div class="drawing">{"".join(parts)}<svg id="route" aria-hidden="true"></svg></div>\n'
        f'<p id="looks">{_looks(first, layer, head, weights)}</p>\n'
        f'<p id="legend" class="legend">{_legend(first["best"][0]["text"], most)}</p></section>'
    )


def _stage(id: str, room: str, name: str, does: str) -> str:
    link = f'<h3><a id="{id}" href="#{room}">{name}</a></h3>'
    return f'<div class="stage">{link}<p>{does}</p></div>'


def _tokens(first: dict[str, Any], weights: np.ndarray) -> str:
    ids, texts = first["ids"], first["texts"]
    rows = []
    for place, id in enumerate(ids):
        kinds = ["special"] * (id < len(SPECIALS)) + ["marked"] * (place == first["place"])
        strip = _strip(first["vectors"][place]) + _bar(weights[place])
        rows.append(f"<li{_class(*kinds)}><bdi>{name_of(ids, texts, place)}</bdi>{strip}</li>")
    dense = sum(len(ids) > most for most in DENSE)
    return f'<ol id="drawn-tokens" class="dense-{dense}">{"".join(rows)}</ol>'


def is_piece(ids: Sequence[int], texts: Sequence[str], place: int) -> bool:
    """Whether a token continues the word of the token before it, as in telling.js."""
    if not place or min(ids[place - 1], ids[place]) < len(SPECIALS):
        return False
    return texts[place][0].isalnum() and texts[place - 1][-1].isalnum()


def name_of(ids: Sequence[int], texts: Sequence[str], place: int) -> str:
    """A token as it is named everywhere, in HTML: a piece of a word begins with a dot."""
    return "·" * is_piece(ids, texts, place) + visible(texts[place])


def _heads(first: dict[str, Any], most: float, shown: tuple[int, int]) -> str:
    tones = {(e["layer"], e["head"]): lost(first, e) / most for e in first["effects"]}
    half, weights = -(-first["heads"] // 2), _attention(first)
    blocks = []
    for layer in range(first["layers"]):
        fields = [
            f'<a href="#attention" aria-label="head {layer}.{head}"'
            f"{_class('head', *['shown'] * ((layer, head) == shown))}>"
            f"{_map(weights[layer, head])}{_tone(tones[layer, head])}</a>"
            for head in range(first["heads"])
        ]
        name = f'<a class="name" href="#stream" aria-label="block {layer}">{layer}</a>'
        blocks.append(
            f'<li class="block"><div>{name}{"".join(fields[:half])}</div><span class="lane"></span>'
            f'<div>{"".join(fields[half:])}<span class="feed">FFN</span></div></li>'
        )
    return f'<ol id="drawn-heads" class="blocks">{"".join(blocks)}</ol>'


def _bars(names: Sequence[str], shares: Sequence[float]) -> str:
    scale = next(end for end in (0.1, 0.25, 0.5, 0.75, 1.0) if end >= max(shares))
    rows = (
        f'<li><bdi>{name}</bdi><span class="track"><svg width="{100 * share / scale:.2f}%" '
        f'aria-hidden="true"><rect width="100%" height="100%"></rect></svg>'
        f'<span class="told">{percent(share)}</span></span></li>'
        for name, share in zip(names, shares, strict=True)
    )
    return f'<ol id="drawn-bars" class="bars">{"".join(rows)}</ol>'


def _looks(first: dict[str, Any], layer: int, head: int, weights: np.ndarray) -> str:
    """Where the sharpest head looks and what it does, in the words of telling.js."""
    texts, most = first["texts"], int(weights.argmax())
    (effect,) = (e for e in first["effects"] if (e["layer"], e["head"]) == (layer, head))
    best = first["best"][0]
    other = "itself" if most == first["place"] else _which(texts, most)
    said = (
        f"In head {layer}.{head}, {_which(texts, first['place'])} puts {percent(weights[most])} "
        f"of its attention on {other}. "
        f"Without this head, the probability of {_quote(best['text'])} goes from "
        f"{percent(best['probability'])} to {percent(effect['left'])}."
    )
    return re.sub(r"[\d.]+%", r"<b>\g<0></b>", said)


def _which(texts: Sequence[str], place: int) -> str:
    """A token in quotes, and which one it is where there are several, as in telling.js."""
    same = [at for at, text in enumerate(texts) if visible(text) == visible(texts[place])]
    if len(same) == 1:
        return _quote(texts[place])
    number = same.index(place) + 1
    which = "last" if number == len(same) else "first" if number == 1 else f"{number}th"
    return f"the {which} {_quote(texts[place])}"


def _legend(best: str, most: float) -> str:
    kinds = (f'<span><span class="swatch {kind}"></span>{name}</span>' for kind, name in MEANINGS)
    return (
        f"<span>Colour: effect on {_quote(best)} when the head is off</span>"
        '<span>more likely <span class="swatch ramp"></span> less likely '
        f"(up to {100 * most:.1f} points)</span>{''.join(kinds)}"
    )


def lost(first: dict[str, Any], effect: dict[str, Any]) -> float:
    """What switching a head off takes from the probability of the first choice."""
    return first["best"][0]["probability"] - effect["left"]


def _attention(first: dict[str, Any]) -> np.ndarray:
    length = len(first["ids"])
    weights = np.frombuffer(base64.b64decode(first["attention"]), dtype="<f4")
    return weights.reshape(first["layers"], first["heads"], length, length)


def _sharpest(first: dict[str, Any]) -> tuple[np.ndarray, tuple[int, int]]:
    """The weights of the predicting token in the head that `sharpest` of reading.js selects."""
    length, place = len(first["ids"]), first["place"]
    rows = _attention(first)[:, :, place]
    others = [index for index in range(1, length) if index != place]
    layer, head = divmod(int(rows[..., others].max(-1).argmax()), first["heads"])
    return rows[layer, head], (layer, head)


def visible(text: str) -> str:
    """The HTML of a token, with white space made visible."""
    bare = text.lstrip(" ") or text
    return html.escape(bare.replace(" ", "␣").replace("\n", "↵").replace("\t", "⇥"))


def percent(share: float) -> str:
    """A share as text: 0.3123 as "31.2%"."""
    return f"{100 * share:.1f}%"


def _quote(text: str) -> str:
    return f"'\u2068{visible(text)}\u2069'"


def _class(*kinds: str) -> str:
    return f' class="{" ".join(kinds)}"' if kinds else ""


def _bar(share: float) -> str:
    rect = f'<rect width="{100 * share:.2f}%" height="100%"></rect>'
    return f'<svg class="bar" aria-hidden="true">{rect}</svg>'


def _fan(shares: Sequence[float], out: bool) -> str:
    """Bands between evenly spaced places and the ribbon, as `fan` in flow.js draws them."""
    row, top = 100 / len(shares), 50 - RIBBON / 2
    paths = []
    for place, share in enumerate(shares):
        height = share * RIBBON
        ends = [((place + 0.5) * row, min(height, (0.28 if out else 0.45) * row) / 2)]
        ends.append((top + height / 2, height / 2))
        (left, one), (right, other) = reversed(ends) if out else ends
        top += height
        if share < FAINTEST:
            paths.append(f'<path class="hair" d="{_curve(left, right)}"></path>')
            continue
        low, lower = f"{left + one:.2f}", f"{right + other:.2f}"
        back = f"L100 {lower}C50 {lower} 50 {low} 0 {low}Z"
        paths.append(f'<path d="{_curve(left - one, right - other)}{back}"></path>')
    box = 'viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true"'
    return f"<svg {box}>{''.join(paths)}</svg>"


def _curve(left: float, right: float) -> str:
    return f"M0 {left:.2f}C50 {left:.2f} 50 {right:.2f} 100 {right:.2f}"


def _strip(numbers: Sequence[float]) -> str:
    most = max(map(abs, numbers))
    fields = (
        f'<rect x="{place}" width="1" height="1" fill-opacity="{(1 + number / most) / 2:.2f}">'
        "</rect>"
        for place, number in enumerate(numbers)
    )
    box = f'viewBox="0 0 {len(numbers)} 1" preserveAspectRatio="none" aria-hidden="true"'
    return f'<svg class="vector" {box}>{"".join(fields)}</svg>'


def _map(weights: np.ndarray) -> str:
    """A head's weights as squares, as `mapOf` in flow.js draws them."""
    levels = np.floor(LEVELS * weights + 0.5)
    paths = []
    for level in range(1, LEVELS + 1):
        squares = (f"M{to} {place}h1v1h-1z" for place, to in np.argwhere(levels == level))
        opacity = (level / LEVELS) ** 0.75
        paths.append(f'<path d="{"".join(squares)}" fill-opacity="{opacity:.2f}"></path>')
    box = f'viewBox="0 0 {len(weights)} {len(weights)}" preserveAspectRatio="none"'
    return f'<svg class="cells" {box} aria-hidden="true">{"".join(paths)}</svg>'


def _tone(share: float) -> str:
    kind = _class(*["minus"] * (share < 0))
    rect = f'<rect{kind} width="100%" height="100%" fill-opacity="{abs(share) ** 0.5:.2f}"></rect>'
    return f'<svg class="tone" aria-hidden="true">{rect}</svg>'
