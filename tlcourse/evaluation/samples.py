"""What a model says to prompts of our own: the same prompts and the same draws for every model."""

import torch

from tlcourse import device
from tlcourse.batching import generator_for
from tlcourse.bpe import EOS, MASK, Tokenizer, normalise
from tlcourse.device import Compute
from tlcourse.evaluation.generation import generate
from tlcourse.evaluation.scoring import answers, reading_of
from tlcourse.transformer import Transformer

PROMPTS = (
    "The old lighthouse was built in",
    "In spring the river",
    "She studied chemistry at",
    "The second album of the band",
    "Bread is made",
)
TO_FILL = (
    "The capital of France is <mask>.",
    "She plays the <mask> in an orchestra.",
    "The king was succeeded by his <mask>.",
    "The ship <mask> in the storm.",
    "It is one of the <mask> cities in the world.",
)
COUNT = 40  # tokens of a continuation
SEED = 0


def continuations(
    model: Transformer, tokenizer: Tokenizer, *, compute: Compute | None = None
) -> list[dict[str, str]]:
    """For each of PROMPTS a sampled continuation (temperature 0.8, the 50 likeliest tokens).

    One draw each from a fixed seed, none chosen by us.
    """
    reading_of(model, "causal")
    model.to((device.choose() if compute is None else compute).device).eval()
    found = []
    for number, prompt in enumerate(PROMPTS):
        ids = [EOS, *tokenizer.encode(normalise(prompt))]
        more = generate(model, ids, COUNT, generator=generator_for(SEED, number, 1))
        # A model may have more entries than a vocabulary learnt from little text.
        known = [token for token in more if token < tokenizer.vocabulary_size]
        found.append({"prompt": prompt, "continuation": tokenizer.decode(known)})
    return found


@torch.no_grad()
def fillings(
    model: Transformer, tokenizer: Tokenizer, *, compute: Compute | None = None
) -> list[dict]:
    """For each of TO_FILL the three likeliest tokens for the mask, with their probabilities."""
    compute = device.choose() if compute is None else compute
    model.to(compute.device).eval()
    found = []
    for text in TO_FILL:
        before, after = text.split("<mask>")
        # The space before a word is part of its token, so the mask stands for it as well.
        rest = normalise(after) if after.startswith(" ") else normalise(after).lstrip()
        ids = [EOS, *tokenizer.encode(normalise(before)), MASK, *tokenizer.encode(rest)]
        tokens = torch.tensor([ids], device=compute.device)
        logits = model.logits(answers(model, tokens, tokens == MASK)).float()
        probabilities = logits[0].softmax(-1)[: tokenizer.vocabulary_size]
        best, places = probabilities.topk(3)
        pairs = zip(tokenizer.tokens(places.tolist()), best.tolist(), strict=True)
        found.append({"text": text, "likeliest": [list(pair) for pair in pairs]})
    return found
