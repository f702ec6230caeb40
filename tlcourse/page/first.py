"""The page's first view, computed when it is built: what its first model makes of an example."""

import base64
import html
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tlcourse import checkpoints
from tlcourse.bpe import EOS, MASK, SPECIALS, Tokenizer, normalise
from tlcourse.device import Compute
from tlcourse.transformer import Transformer, record

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
BEST = 10  # of the likeliest tokens, as in reading.js; in the first room SHOWN
SHOWN = 6
PLAIN = Compute(torch.device("cpu"), torch.float32, "explicit", False)


def examples(causal: bool) -> tuple[str, ...]:
    """The texts that are offered for a model, of which it begins with the first."""
    return CAUSALS if causal else MASKEDS


@torch.no_grad()
def reading(folder: Path) -> dict[str, Any]:
    """What a checkpoint makes of its example: a reading, as reading.js describes it.

    Raises what `checkpoints.load` and `checkpoints.refuse_nan` raise.
    """
    model, tokenizer = checkpoints.load(folder, PLAIN)
    config = model.config
    text = examples(config.causal)[0]
    ids = ids_of(tokenizer, text, config.causal)
    place = len(ids) - 1 if config.causal else ids.index(MASK)
    with record(model) as seen:
        logits = checkpoints.refuse_nan(_logits(model, ids), f"logits of {folder}")[place]
    weights = torch.stack(seen.attention).reshape(config.layers, config.heads, len(ids), -1)
    best = logits.double().softmax(-1).topk(BEST)
    texts = tokenizer.tokens(best.indices.tolist())
    shares = best.values.tolist()
    return {
        "text": text,
        "ids": ids,
        "texts": tokenizer.tokens(ids),
        "cut": False,
        "place": place,
        "causal": config.causal,
        "layers": config.layers,
        "heads": config.heads,
        "attention": _in_bytes(weights),
        "best": [
            {"id": int(id), "text": text, "probability": share}
            for id, text, share in zip(best.indices, texts, shares, strict=True)
        ],
    }


def ids_of(tokenizer: Tokenizer, text: str, causal: bool) -> list[int]:
    """The ids of a text, as `idsOf` of reading.js gives them."""
    parts = (
        [normalise(text)]
        if causal
        else normalise(text).replace(" <mask>", "<mask>").split("<mask>")
    )
    ids = [EOS]
    for number, part in enumerate(parts):
        ids += [MASK] * (number > 0) + tokenizer.encode(part)
    return ids


def _logits(model: Transformer, ids: list[int]) -> torch.Tensor:
    return model(torch.tensor([ids]))[0]


def _in_bytes(weights: torch.Tensor) -> str:
    return base64.b64encode(weights.numpy().astype("<f4").tobytes()).decode("ascii")


def glance(kept: dict[str, Any]) -> str:
    """The first room in HTML, as room_glance.js draws it; both are replaced by what is typed."""
    weights, (layer, head) = _sharpest(kept)
    which = "the last one" if kept["causal"] else "&lt;mask&gt;"
    ask = "What may come next" if kept["causal"] else "What may stand at &lt;mask&gt;"
    chips = [
        f"<li{_kinds(id, place == kept['place'])}><bdi>{visible(text)}</bdi>"
        f"<small>{percent(weights[place])}</small>{_bar(weights[place])}</li>"
        for place, (id, text) in enumerate(zip(kept["ids"], kept["texts"], strict=True))
    ]
    shown = kept["best"][:SHOWN]
    most = max(each["probability"] for each in shown)
    whole = next(each for each in (0.1, 0.25, 0.5, 1.0) if each >= most)
    bars = [
        f"<li><bdi>{visible(each['text'])}</bdi>"
        f'<span class="track">{_bar(each["probability"] / whole)}</span>'
        f'<span class="told">{percent(each["probability"])}</span></li>'
        for each in shown
    ]
    return (
        '<section id="glance"><h2>At a glance</h2>\n'
        f'<p id="looks">{len(kept["ids"])} tokens. The bars show how much {which} looks at each, '
        f"in one of {kept['layers'] * kept['heads']} heads (block {layer}, head {head}).</p>\n"
        f'<ol id="glance-tokens" class="chips" aria-labelledby="looks">{"".join(chips)}</ol>\n'
        f'<h3 id="asks">{ask}</h3>\n'
        f'<ol id="glance-bars" class="bars" aria-labelledby="asks">{"".join(bars)}</ol></section>'
    )


def _sharpest(kept: dict[str, Any]) -> tuple[np.ndarray, tuple[int, int]]:
    """The weights of the token that is asked, in the head `sharpest` of reading.js finds."""
    length, place = len(kept["ids"]), kept["place"]
    weights = np.frombuffer(base64.b64decode(kept["attention"]), dtype="<f4")
    looks = weights.reshape(kept["layers"], kept["heads"], length, length)[:, :, place]
    others = [at for at in range(1, length) if at != place]
    layer, head = divmod(int(looks[..., others].max(-1).argmax()), kept["heads"])
    return looks[layer, head], (layer, head)


def visible(text: str) -> str:
    """A token as the page shows it, in HTML."""
    bare = text.lstrip(" ") or text
    return html.escape(bare.replace(" ", "␣").replace("\n", "↵").replace("\t", "⇥"))


def percent(share: float) -> str:
    """0.3123 as "31.2 %"."""
    return f"{100 * share:.1f} %"


def _kinds(id: int, marked: bool) -> str:
    kinds = " ".join(["special"] * (id < len(SPECIALS)) + ["marked"] * marked)
    return f' class="{kinds}"' if kinds else ""


def _bar(share: float) -> str:
    rect = f'<rect width="{100 * share:.2f}%" height="100%"></rect>'
    return f'<svg class="bar" aria-hidden="true">{rect}</svg>'
