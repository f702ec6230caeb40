"""Right and wrong answers to exercise 9b.2, cross-attention."""

from dataclasses import replace

import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.writing.cross_attention import cross_attention, with_changes


def by_einsum(states, source, mask, layer):
    heads = layer.config.heads
    parts = layer.query(states), layer.key(source), layer.value(source)
    query, key, value = (part.view(*part.shape[:2], heads, -1) for part in parts)
    query, key = (x * x.pow(2).mean(-1, keepdim=True).rsqrt() for x in (query, key))
    scores = torch.einsum("bthd,bshd->bhts", query, key) * query.shape[-1] ** -0.5
    scores = scores + torch.where(mask, 0.0, -1e9)[:, None, None]
    weights = scores.softmax(-1)
    return layer.output(torch.einsum("bhts,bshd->bthd", weights, value).flatten(2)), weights


def head_by_head(states, source, mask, layer):
    size = states.shape[-1] // layer.config.heads
    mixed, weights = [], []
    for query, key, value in zip(
        *(each.split(size, -1) for each in (layer.query(states), layer.key(source))),
        layer.value(source).split(size, -1),
        strict=True,
    ):
        scores = F.rms_norm(query, (size,)) @ F.rms_norm(key, (size,)).transpose(1, 2)
        scores = (scores / size**0.5).masked_fill(~mask[:, None], -torch.inf)
        weights.append(scores.softmax(-1))
        mixed.append(weights[-1] @ value)
    return [layer.output(torch.cat(mixed, -1)), torch.stack(weights, 1)]


def with_the_library(states, source, mask, layer):
    def split(x):
        return x.unflatten(-1, (layer.config.heads, -1)).transpose(1, 2)

    query, key = (
        F.rms_norm(each, each.shape[-1:])
        for each in (split(layer.query(states)), split(layer.key(source)))
    )
    options = {"attn_mask": mask[:, None, None]}
    mixed = F.scaled_dot_product_attention(query, key, split(layer.value(source)), **options)
    eye = torch.eye(source.shape[1]).expand(*key.shape[:2], -1, -1)
    weights = F.scaled_dot_product_attention(query, key, eye, **options)
    return layer.output(mixed.transpose(1, 2).flatten(2)), weights


test_right = accepts("writing.cross_attention", by_einsum, head_by_head, with_the_library)


class Layer(nn.Module):
    """A layer with one part replaced."""

    def __init__(self, layer, **parts):
        super().__init__()
        self.config = parts.get("config", layer.config)
        for name in ("query", "key", "value", "output"):
            setattr(self, name, parts.get(name, getattr(layer, name)))


def without_norm(states, source, mask, layer):
    def split(x):
        return x.unflatten(-1, (layer.config.heads, -1)).transpose(1, 2)

    query, key, value = map(split, (layer.query(states), layer.key(source), layer.value(source)))
    scores = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~mask[:, None, None], -torch.inf)
    weights = scores.softmax(-1)
    return layer.output((weights @ value).transpose(1, 2).flatten(2)), weights


def one_layer_for_both(states, source, mask, layer):
    return cross_attention(states, source, mask, Layer(layer, value=layer.key))


def removed_after_the_softmax(states, source, mask, layer):
    output, weights = cross_attention(states, source, torch.ones_like(mask), layer)
    return output, weights * mask[:, None, None]


def mean_of_heads(states, source, mask, layer):
    output, weights = cross_attention(states, source, mask, layer)
    return output, weights.mean(1)


def batch_of_two(states, source, mask, layer):
    return cross_attention(*(each.view(2, -1, *each.shape[2:]) for each in (states, source)),
                           mask, layer)  # fmt: skip


def squeezed(states, source, mask, layer):
    states = states.squeeze(0) if states.shape[0] == 1 else states
    _batch, _length, _width = states.shape
    return cross_attention(states, source, mask, layer)


def pads_at_the_right(states, source, mask, layer):
    right = torch.arange(mask.shape[1]) < mask.sum(1, keepdim=True)
    return cross_attention(states, source, right, layer)


def inverted(states, source, mask, layer):
    return cross_attention(states, source, ~mask, layer)


def four_heads(states, source, mask, layer):
    config = replace(layer.config, heads=4)
    return cross_attention(states, source, mask, Layer(layer, config=config))


def by_root_of_heads(states, source, mask, layer):
    wrong = with_changes(scale=lambda width: layer.config.heads**0.5)
    return wrong(states, source, mask, layer)


def halved(states, source, mask, layer):
    output, weights = cross_attention(states, source, mask, layer)
    return output, weights / 2


def changes_source(states, source, mask, layer):
    source *= mask[:, :, None]
    return cross_attention(states, source, mask, layer)


test_wrong = rejects(
    "writing.cross_attention",
    (lambda *given: cross_attention(*given)[0], 1, "two tensors"),
    (mean_of_heads, 1, "one number for each pair of tokens"),
    (batch_of_two, 1, "states of shape (1, 3, 12)"),
    (squeezed, 1, "not enough values to unpack"),
    (four_heads, 1, "heads may differ"),
    (inverted, 2, "The mask is inverted"),
    (halved, 2, "as they come out of it"),
    (by_root_of_heads, 3, "the root of the head's width. Every"),
    (pads_at_the_right, 4, "Pads may stand anywhere"),
    (changes_source, 4, "`source`, after the call"),
    (without_norm, 3, "norm each head"),
    (removed_after_the_softmax, 4, "before the softmax"),
    (one_layer_for_both, 5, "not normed"),
)
