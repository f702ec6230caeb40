"""The page's first view, rendered when the page is built: its first model reads an example."""

import base64
import html
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tlcourse import checkpoints
from tlcourse.bpe import EOS, MASK, SPECIALS, Tokenizer, normalise
from tlcourse.device import Compute
from tlcourse.transformer import record

CAUSAL = "The ship left Hamburg for New York. On its way to New"
MASKED = "Paris is the <mask> of France."
CAUSALS = (
    CAUSAL,
    "Anna Kowalski met Peter Brown in Paris. Later Anna",
    "I know that the keys to the old cabinet",
    "Who wrote the first book about whales?",
)
MASKEDS = (
    MASKED,
    "The ship left Hamburg for New <mask>.",
    "The keys to the old cabinet <mask> lost.",
)
BEST = 10  # the number of most probable tokens, as in reading.js; the first room has SHOWN
SHOWN = 6
PLAIN = Compute(torch.device("cpu"), torch.float32, "explicit", False)


def examples(causal: bool) -> tuple[str, ...]:
    """The example texts for a model; it starts with the first."""
    return CAUSALS if causal else MASKEDS


@torch.no_grad()
def reading(folder: Path) -> dict[str, Any]:
    """The reading of a checkpoint's example, a dict as described in reading.js.

    Raises what `checkpoints.load` and `checkpoints.refuse_nan` raise.
    """
    model, tokenizer = checkpoints.load(folder, PLAIN)
    config = model.config
    text = examples(config.causal)[0]
    ids = ids_of(tokenizer, text, config.causal)
    place = len(ids) - 1 if config.causal else ids.index(MASK)
    with record(model) as seen:
        logits = model(torch.tensor([ids]))[0]
    scores = checkpoints.refuse_nan(logits, f"logits of {folder}")[place]
    weights = torch.stack(seen.attention).reshape(config.layers, config.heads, len(ids), -1)
    best = scores.double().softmax(-1).topk(BEST)
    texts = tokenizer.tokens(best.indices.tolist())
    probabilities = best.values.tolist()
    return {
        "text": text,
        "ids": ids,
        "texts": tokenizer.tokens(ids),
        "cut": False,
        "place": place,
        "causal": config.causal,
        "layers": config.layers,
        "heads": config.heads,
        "attention": base64.b64encode(weights.numpy().astype("<f4")).decode("ascii"),
        "best": [
            {"id": int(id), "text": text, "probability": probability}
            for id, text, probability in zip(best.indices, texts, probabilities, strict=True)
        ],
    }


def ids_of(tokenizer: Tokenizer, text: str, causal: bool) -> list[int]:
    """The ids of a text, the same as those of `idsOf` in reading.js."""
    whole = normalise(text)
    parts = [whole] if causal else whole.replace(" <mask>", "<mask>").split("<mask>")
    ids = [EOS]
    for number, part in enumerate(parts):
        ids += [MASK] * (number > 0) + tokenizer.encode(part)
    return ids


def glance(first: dict[str, Any]) -> str:
    """The first room in HTML, as room_glance.js draws it; it is redrawn when a text is typed."""
    weights, (layer, head) = _sharpest(first)
    which = "the last one" if first["causal"] else "&lt;mask&gt;"
    title = "What may come next" if first["causal"] else "What may stand at &lt;mask&gt;"
    chips = [
        f"<li{_kinds(id, place == first['place'])}><bdi>{visible(text)}</bdi>"
        f"<small>{percent(weights[place])}</small>{_bar(weights[place])}</li>"
        for place, (id, text) in enumerate(zip(first["ids"], first["texts"], strict=True))
    ]
    best = first["best"][:SHOWN]
    largest = max(token["probability"] for token in best)
    scale = next(end for end in (0.1, 0.25, 0.5, 1.0) if end >= largest)
    bars = [
        f"<li><bdi>{visible(token['text'])}</bdi>"
        f'<span class="track">{_bar(token["probability"] / scale)}</span>'
        f'<span class="told">{percent(token["probability"])}</span></li>'
        for token in best
    ]
    return (
        '<section id="glance"><h2>At a glance</h2>\n'
        f'<p id="looks">{len(first["ids"])} tokens. The bars show how much {which} looks at each, '
        f"in one of {first['layers'] * first['heads']} heads (block {layer}, head {head}).</p>\n"
        f'<ol id="glance-tokens" class="chips" aria-labelledby="looks">{"".join(chips)}</ol>\n'
        f'<h3 id="asks">{title}</h3>\n'
        f'<ol id="glance-bars" class="bars" aria-labelledby="asks">{"".join(bars)}</ol></section>'
    )


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


def _kinds(id: int, marked: bool) -> str:
    kinds = " ".join(["special"] * (id < len(SPECIALS)) + ["marked"] * marked)
    return f' class="{kinds}"' if kinds else ""


def _bar(share: float) -> str:
    rect = f'<rect width="{100 * share:.2f}%" height="100%"></rect>'
    return f'<svg class="bar" aria-hidden="true">{rect}</svg>'
