"""The drawing of the whole model in HTML, as room_overview.js draws it, for the first view."""

import base64
import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from tlcourse.bpe import SPECIALS

SHOWN, LEAST, DENSE = 6, 0.02, (18, 32)  # as in room_overview.js
NOTHING = 0.02  # as in flow.js, and so are the curves
INTO, OUT = "M0 {0}C60 {0} 50 50 100 50", "M0 50C50 50 40 {0} 100 {0}"


def drawing(first: dict[str, Any]) -> str:
    """The first room in HTML, as room_overview.js draws it; a text that is typed redraws it."""
    weights, (layer, head) = _sharpest(first)
    most = max(LEAST, *(abs(lost(first, effect)) for effect in first["effects"]))
    best = first["best"][:SHOWN]
    size = f"{first['layers']} blocks of {first['heads']} heads"
    asks = "What may come next" if first["causal"] else "What may stand at &lt;mask&gt;"
    parts = (
        _stage("drawn-tokens-name", "tokens", "Tokens and vectors"),
        _tokens(first, weights),
        f'<div class="fan">{_fan(weights.tolist(), INTO)}</div>',
        _stage("drawn-heads-name", "attention", size),
        _heads(first, most, (layer, head)),
        f'<div class="fan out">{_fan([token["probability"] for token in best], OUT)}</div>',
        _stage("asks", "prediction", asks),
        _bars(best),
    )
    return (
        '<section id="overview"><h2>The whole model</h2>\n'
        f'<div class="drawing">{"".join(parts)}</div>\n'
        f'<p id="looks">{_looks(first, layer, head, weights)}</p>\n'
        f'<p id="legend" class="legend">{_legend(best[0]["text"], most)}</p></section>'
    )


def _stage(id: str, room: str, name: str) -> str:
    return f'<h3 class="stage"><a id="{id}" href="#{room}">{name}</a></h3>'


def _tokens(first: dict[str, Any], weights: np.ndarray) -> str:
    ids, texts = first["ids"], first["texts"]
    rows = []
    for place, (id, text) in enumerate(zip(ids, texts, strict=True)):
        kinds = ["special"] * (id < len(SPECIALS)) + ["marked"] * (place == first["place"])
        kinds += ["piece"] * is_piece(ids, texts, place)
        strip = _strip(first["vectors"][place]) + _bar(weights[place])
        rows.append(f"<li{_class(*kinds)}><bdi>{visible(text)}</bdi>{strip}</li>")
    dense = sum(len(ids) > most for most in DENSE)
    return f'<ol id="drawn-tokens" class="dense-{dense}">{"".join(rows)}</ol>'


def is_piece(ids: Sequence[int], texts: Sequence[str], place: int) -> bool:
    """Whether a token continues the word of the token before it, as in telling.js."""
    if not place or min(ids[place - 1], ids[place]) < len(SPECIALS):
        return False
    return texts[place][0].isalnum() and texts[place - 1][-1].isalnum()


def _heads(first: dict[str, Any], most: float, shown: tuple[int, int]) -> str:
    names = (
        f'<th scope="col"><a href="#stream" aria-label="block {layer}">{layer}</a></th>'
        for layer in range(first["layers"])
    )
    tones = {(e["layer"], e["head"]): lost(first, e) / most for e in first["effects"]}
    rows = [
        "".join(
            f'<td><a href="#attention" aria-label="head {layer}.{head}"'
            f"{_class(*['shown'] * ((layer, head) == shown))}>{_tone(tones[layer, head])}</a></td>"
            for layer in range(first["layers"])
        )
        for head in range(first["heads"])
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    head_row = f"<thead><tr>{''.join(names)}</tr></thead>"
    return f'<table id="drawn-heads">{head_row}<tbody>{body}</tbody></table>'


def _bars(best: Sequence[dict[str, Any]]) -> str:
    largest = max(token["probability"] for token in best)
    scale = next(end for end in (0.1, 0.25, 0.5, 1.0) if end >= largest)
    rows = (
        f"<li><bdi>{visible(token['text'])}</bdi>"
        f'<span class="track">{_bar(token["probability"] / scale)}</span>'
        f'<span class="told">{percent(token["probability"])}</span></li>'
        for token in best
    )
    return f'<ol id="drawn-bars" class="bars">{"".join(rows)}</ol>'


def _looks(first: dict[str, Any], layer: int, head: int, weights: np.ndarray) -> str:
    """Where the sharpest head looks and what it does, in the words of telling.js."""
    texts, most = first["texts"], int(weights.argmax())
    (effect,) = (e for e in first["effects"] if (e["layer"], e["head"]) == (layer, head))
    best = first["best"][0]
    return (
        f"In head {head} of block {layer} ({layer}.{head}), {_quote(texts[first['place']])} looks "
        f"most of all at {_quote(texts[most])}: {percent(weights[most])} of its attention. "
        f"Without this head, the probability of {_quote(best['text'])} goes from "
        f"{percent(best['probability'])} to {percent(effect['left'])}."
    )


def _legend(best: str, most: float) -> str:
    return (
        f"<span>With one head switched off, {_quote(best)} becomes</span>"
        '<span><span class="swatch less"></span> less likely</span>'
        '<span><span class="swatch more"></span> more likely</span>'
        f"<span>full colour: by {100 * most:.1f} percentage points</span>"
        '<span><span class="swatch feed"></span> feed-forward layer</span>'
    )


def lost(first: dict[str, Any], effect: dict[str, Any]) -> float:
    """What switching a head off takes from the probability of the first choice."""
    return first["best"][0]["probability"] - effect["left"]


def _sharpest(first: dict[str, Any]) -> tuple[np.ndarray, tuple[int, int]]:
    """The weights of the predicting token in the head that `sharpest` of reading.js selects."""
    length, place = len(first["ids"]), first["place"]
    weights = np.frombuffer(base64.b64decode(first["attention"]), dtype="<f4")
    rows = weights.reshape(first["layers"], first["heads"], length, length)[:, :, place]
    others = [index for index in range(1, length) if index != place]
    layer, head = divmod(int(rows[..., others].max(-1).argmax()), first["heads"])
    return rows[layer, head], (layer, head)


def visible(text: str) -> str:
    """The HTML of a token, with white space made visible."""
    bare = text.lstrip(" ") or text
    return html.escape(bare.replace(" ", "␣").replace("\n", "↵").replace("\t", "⇥"))


def percent(share: float) -> str:
    """A share as text: 0.3123 as "31.2 %"."""
    return f"{100 * share:.1f} %"


def _quote(text: str) -> str:
    return f"'\u2068{visible(text)}\u2069'"


def _class(*kinds: str) -> str:
    return f' class="{" ".join(kinds)}"' if kinds else ""


def _bar(share: float) -> str:
    rect = f'<rect width="{100 * share:.2f}%" height="100%"></rect>'
    return f'<svg class="bar" aria-hidden="true">{rect}</svg>'


def _fan(shares: Sequence[float], curve: str) -> str:
    """Curves between evenly spaced places and one middle, as `fan` in flow.js draws them."""
    paths = []
    for place in sorted(range(len(shares)), key=lambda place: shares[place]):
        d = curve.format(f"{100 * (place + 0.5) / len(shares):.2f}")
        strong = shares[place] >= NOTHING
        width = f"{1.5 + 8 * shares[place]:.1f}" if strong else "1"
        faint = _class(*["faint"] * (not strong))
        paths.append(f'<path{faint} d="{d}" stroke-width="{width}"></path>')
    box = 'viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true"'
    return f"<svg {box}>{''.join(paths)}</svg>"


def _strip(numbers: Sequence[float]) -> str:
    most = max(map(abs, numbers))
    fields = (
        f'<rect{_class(*["minus"] * (number < 0))} x="{place}" width="1" height="1" '
        f'fill-opacity="{abs(number) / most:.2f}"></rect>'
        for place, number in enumerate(numbers)
    )
    box = f'viewBox="0 0 {len(numbers)} 1" preserveAspectRatio="none" aria-hidden="true"'
    return f'<svg class="vector" {box}>{"".join(fields)}</svg>'


def _tone(share: float) -> str:
    kind = _class(*["minus"] * (share < 0))
    rect = f'<rect{kind} width="100%" height="100%" fill-opacity="{abs(share) ** 0.5:.2f}"></rect>'
    return f'<svg class="tone" aria-hidden="true">{rect}</svg>'
