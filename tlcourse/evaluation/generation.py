"""Generating text: continuations by a causal model, predictions for masks by a masked one."""

import torch

from tlcourse.bpe import EOS, MASK, SPECIALS
from tlcourse.transformer import Transformer


@torch.no_grad()
def generate(
    model: Transformer,
    tokens: list[int],
    count: int = 40,
    *,
    generator: torch.Generator | None = None,
    temperature: float = 0.8,
    top_k: int = 50,
) -> list[int]:
    """Up to `count` new ids after `tokens`, sampled from the `top_k` most probable, until `<eos>`.

    Samples with `generator`, or with PyTorch's own; `temperature=0` takes the most probable token
    each time. Special tokens other than `<eos>` are never sampled. Raises ValueError for a
    bidirectional model and for an empty start.
    """
    if not model.config.causal:
        raise ValueError("generate needs a causal model; fill_masks is for bidirectional ones")
    if not tokens:
        raise ValueError("expected at least one token to start from")
    device, start = next(model.parameters()).device, len(tokens)
    tokens = list(tokens)
    for _ in range(count):
        window = torch.tensor([tokens[-model.config.max_length :]], device=device)
        logits = model(window)[0, -1].float().cpu()
        logits[[i for i in range(len(SPECIALS)) if i != EOS]] = -torch.inf
        if temperature == 0:
            new = int(logits.argmax())
        else:
            best, ids = (logits / temperature).topk(min(top_k, len(logits)))
            new = int(ids[torch.multinomial(best.softmax(-1), 1, generator=generator)])
        tokens.append(new)
        if new == EOS:
            break
    return tokens[start:]


@torch.no_grad()
def fill_masks(
    model: Transformer, tokens: list[int], *, top: int = 5
) -> list[list[tuple[int, float]]]:
    """For each `<mask>` in `tokens`, the `top` most probable ids with their probabilities.

    Raises ValueError for a causal model and for tokens without a mask.
    """
    if model.config.causal:
        raise ValueError("fill_masks needs a bidirectional model; generate is for causal ones")
    positions = [position for position, token in enumerate(tokens) if token == MASK]
    if not positions:
        raise ValueError("expected at least one <mask> among the tokens")
    device = next(model.parameters()).device
    logits = model(torch.tensor([tokens], device=device))[0, positions]
    best = logits.float().softmax(-1).topk(top, dim=-1)
    return [
        list(zip(ids, values, strict=True))
        for ids, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]
