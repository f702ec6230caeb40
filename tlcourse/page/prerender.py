"""The page's first view, rendered when the page is built: its first model reads an example."""

import base64
import itertools
from pathlib import Path
from typing import Any

import torch

from tlcourse import checkpoints
from tlcourse.bpe import EOS, MASK, Tokenizer, normalise
from tlcourse.looking import ablating
from tlcourse.page import packing
from tlcourse.transformer import record

CAUSAL = "Anna met Peter Brown in Hamburg. Later Peter"
MASKED = "Paris is the <mask> of France."
CAUSALS = (
    CAUSAL,
    "The ship left Hamburg for New York. On its way to New",
    "I know that the keys to the old cabinet",
    "Who wrote the first book about whales?",
)
MASKEDS = (
    MASKED,
    "The ship left Hamburg for New <mask>.",
    "The keys to the old cabinet <mask> lost.",
)
BEST = 10  # the number of most probable tokens, as in reading.js; the drawing shows fewer
NUMBERS = 12  # of each embedding, as in reading.js


def examples(causal: bool) -> tuple[str, ...]:
    """The example texts for a model; it starts with the first."""
    return CAUSALS if causal else MASKEDS


@torch.no_grad()
def reading(folder: Path) -> dict[str, Any]:
    """The reading of a checkpoint's example, a dict as described in reading.js.

    It is computed with the weights that the page has. Raises what `checkpoints.load` and
    `checkpoints.refuse_nan` raise.
    """
    model, tokenizer = packing.load_rounded(folder)
    config = model.config
    text = examples(config.causal)[0]
    ids = ids_of(tokenizer, text, config.causal)
    place = len(ids) - 1 if config.causal else ids.index(MASK)
    tokens = torch.tensor([ids])
    with record(model) as seen:
        logits = model(tokens)[0]
    scores = checkpoints.refuse_nan(logits, f"logits of {folder}")[place]
    weights = torch.stack(seen.attention).reshape(config.layers, config.heads, len(ids), -1)
    best = scores.double().softmax(-1).topk(BEST)
    texts = tokenizer.tokens(best.indices.tolist())
    probabilities = best.values.tolist()
    effects = []
    for layer, head in itertools.product(range(config.layers), range(config.heads)):
        with ablating(model, [(layer, head)]):
            left = model(tokens)[0, place].double().softmax(-1)[best.indices[0]]
        effects.append({"layer": layer, "head": head, "left": float(left)})
    return {
        "text": text,
        "ids": ids,
        "texts": tokenizer.tokens(ids),
        "cut": False,
        "place": place,
        "causal": config.causal,
        "layers": config.layers,
        "heads": config.heads,
        "vectors": model.embedding(tokens)[0, :, :NUMBERS].tolist(),
        "effects": effects,
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
