"""Attention one can turn, as one page of HTML that needs nothing else: no server, no network.

The page is `attention.js` and `attention.css` of this folder and the weights. In a notebook it
stands in a sandboxed frame: its script runs, and can reach nothing outside.
"""

import base64
import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tlcourse import files
from tlcourse.views.heat_maps import heat_map
from tlcourse.views.interactive import widgets_on
from tlcourse.views.style import Picture, shaped

LIMIT = 32  # tokens, in a notebook that is committed
LARGEST = 150_000  # bytes, there
STEPS = 255  # a weight is kept in a byte
_ROW, _REST, _TALLEST = 26, 360, 1200  # pixels of the frame: a token, all else, at most
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ margin: 0; }}
main {{ margin: auto; }}
{style}</style>
</head>
<body>
<main id="view"><noscript>{title}: this page needs JavaScript.</noscript></main>
<script id="data" type="application/json">{data}</script>
<script type="module">
{script}
const data = JSON.parse(document.getElementById("data").textContent);
show(document.getElementById("view"), {{ ...data, weights: decode(data.weights) }});
</script>
</body>
</html>
"""


class Hover:
    """What `hover` gives: a notebook shows it, and `save` writes it as a file.

    `page` is the whole page of HTML; `picture` the figure that stands for it where nothing is live.
    """

    def __init__(self, page: str, picture: Picture, height: int):
        self.page, self.picture, self._height = page, picture, height

    def html(self) -> str:
        """The page in a sandboxed frame; its text is for readers whose viewer takes frames out."""
        return (
            f'<iframe sandbox="allow-scripts" title="{html.escape(self.picture.alt)}" '
            f'style="width:100%;max-width:44rem;height:{self._height}px;border:0" '
            f'srcdoc="{html.escape(self.page)}">A live view of attention is here: run the cell, '
            "or trust the notebook, to use it.</iframe>"
        )

    def save(self, path: str | Path) -> None:
        """Writes the page as a file that opens in any browser, with no network."""
        files.write_text(path, self.page)

    def __repr__(self) -> str:
        return f"Live view: {self.picture.alt}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        if not widgets_on():
            return self.picture._repr_mimebundle_(include, exclude)
        return {"text/html": self.html(), "text/plain": repr(self)}


def hover(
    weights: Any,
    tokens: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    keys: Sequence[str] | None = None,
    note: str | None = None,
    marks: Sequence[int] = (),
    head: tuple[int, int] | None = None,
    limit: int | None = LIMIT,
) -> Hover:
    """Attention (layers, heads, queries, keys) as lines between tokens, live in any browser.

    Pointing at a token, or reaching it by keyboard, shows its lines and weights; layers and heads
    have switches. `tokens` look, at themselves or at `keys`; those at the places `marks` stand out.
    `head` (layer, head), both from 0, is shown first: by default all heads of layer 0. With
    TLCOURSE_WIDGETS=off a notebook gets a heat map of that one head, of 0.0 by default.

    Weights are kept in a byte each, so they are right to 0.002. Raises ValueError when the shape
    does not fit the tokens, for weights outside 0 to 1, for more than `limit` tokens or, with a
    limit, more than 150 KB (too much for a notebook that is committed; a page to `save` may have
    `limit=None`), and without title or alt text.
    """
    keys = tokens if keys is None else keys
    weights = _checked(weights, tokens, keys)
    most = max(len(tokens), len(keys))
    if limit is not None and most > limit:
        raise ValueError(
            f"expected at most {limit} tokens for a view in a notebook, got {most}; shorten the "
            "text, or pass limit=None and save the page as a file"
        )
    layers, heads = weights.shape[:2]
    layer, number = (0, 0) if head is None else head
    if not (0 <= layer < layers and 0 <= number < heads):
        raise ValueError(
            f"expected a head (layer, head) below ({layers}, {heads}), counted from 0; got {head}"
        )
    if any(not 0 <= place < most for place in marks):
        raise ValueError(f"expected marks from 0 to {most - 1}, places of tokens; got {marks}")
    picture = heat_map(weights[layer, number], tokens, keys=keys, title=title, alt=alt, note=note)
    data = {
        "title": title,
        "alt": picture.alt,
        "note": f"{note or ''} Weights are rounded to 1/{STEPS}.".strip(),
        "layers": layers,
        "heads": heads,
        "queries": list(tokens),
        "keys": list(keys),
        "marks": [int(place) for place in marks],
        "first": {"layer": layer, "on": [number] if head else list(range(heads))},
        "weights": _encoded(weights),
    }
    live = Hover(_page(title, data), picture, min(_TALLEST, _REST + _ROW * most))
    if limit is not None and len(live.html()) > LARGEST:
        raise ValueError(
            f"expected a view of at most {LARGEST // 1000} KB in a notebook, got "
            f"{len(live.html()) // 1000} KB; show fewer layers or tokens, or pass limit=None and "
            "save the page as a file"
        )
    return live


def _checked(weights: Any, queries: Sequence[str], keys: Sequence[str]) -> np.ndarray:
    shape = ("layers", "heads", len(queries), len(keys))
    weights = shaped(weights, shape, "weights (layers, heads, queries, keys)").astype(np.float32)
    if not (weights.min() >= 0 and weights.max() <= 1.001):  # half precision rounds up; NaN fails
        raise ValueError(
            f"expected attention weights from 0 to 1, got {weights.min():.3g} to "
            f"{weights.max():.3g}; after the softmax, no differences"
        )
    return weights


def _encoded(weights: np.ndarray) -> str:
    """The weights as bytes, 255 for 1, in base64."""
    steps = np.rint(weights * STEPS).clip(0, STEPS).astype(np.uint8)
    return base64.b64encode(steps.tobytes()).decode("ascii")


def _page(title: str, data: dict) -> str:
    """The page; in the data `<` is written so that no token can end the script they stand in."""
    folder = Path(__file__).parent
    return _PAGE.format(
        policy=_POLICY,
        title=html.escape(title),
        style=(folder / "attention.css").read_text(encoding="utf-8"),
        script=(folder / "attention.js").read_text(encoding="utf-8"),
        data=json.dumps(data).replace("<", "\\u003c"),
    )
