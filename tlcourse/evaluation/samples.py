"""Samples for model cards: the same prompts and the same seeds for every model."""

import torch

from tlcourse import device
from tlcourse.batching import generator_for
from tlcourse.bpe import EOS, MASK, Tokenizer, normalise
from tlcourse.checkpoints import LanguageModel
from tlcourse.device import Compute
from tlcourse.evaluation.scoring import predicting_states, reading_of
from tlcourse.generation import generate
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
    model: LanguageModel, tokenizer: Tokenizer, *, compute: Compute | None = None
) -> list[dict[str, str]]:
    """A sampled continuation of each of PROMPTS (temperature 0.8, the 50 most probable tokens).

    Each is drawn once with a fixed seed, and none is selected by us.
    """
    reading_of(model, "causal")
    model.to((device.choose() if compute is None else compute).device).eval()
    samples = []
    for number, prompt in enumerate(PROMPTS):
        ids = [EOS, *tokenizer.encode(normalise(prompt))]
        new = generate(model, ids, COUNT, generator=generator_for(SEED, number, 1))
        # A model may have more entries than a vocabulary learnt from little text.
        decodable = [token for token in new if token < tokenizer.vocabulary_size]
        samples.append({"prompt": prompt, "continuation": tokenizer.decode(decodable)})
    return samples


@torch.no_grad()
def fillings(
    model: Transformer, tokenizer: Tokenizer, *, compute: Compute | None = None
) -> list[dict]:
    """The three most probable tokens for the mask in each of TO_FILL, with their probabilities."""
    compute = device.choose() if compute is None else compute
    model.to(compute.device).eval()
    predictions = []
    for text in TO_FILL:
        before, after = text.split("<mask>")
        # The space before a word is part of its token, so the mask covers it, too.
        rest = normalise(after) if after.startswith(" ") else normalise(after).lstrip()
        ids = [EOS, *tokenizer.encode(normalise(before)), MASK, *tokenizer.encode(rest)]
        tokens = torch.tensor([ids], device=compute.device)
        logits = model.logits(predicting_states(model, tokens, tokens == MASK)).float()
        probabilities = logits[0].softmax(-1)[: tokenizer.vocabulary_size]
        best, likeliest = probabilities.topk(3)
        pairs = zip(tokenizer.tokens(likeliest.tolist()), best.tolist(), strict=True)
        predictions.append({"text": text, "likeliest": [list(pair) for pair in pairs]})
    return predictions
