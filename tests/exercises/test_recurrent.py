"""Right and wrong answers to the exercises of lesson 11b on recurrent models."""

import torch

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.recurrent.concat_pooling import concat_pooling, joined, mean

# concat_pooling


def by_pooling_layers(hidden, mask):
    """One text at a time, by functions of `torch.nn`."""
    rows = []
    for states, keep in zip(hidden, mask, strict=True):
        features = states[keep].T[None]  # (1, width, tokens)
        pools = torch.nn.AdaptiveMaxPool1d(1), torch.nn.AdaptiveAvgPool1d(1)
        rows.append(torch.cat([features[0, :, -1], *(pool(features)[0, :, 0] for pool in pools)]))
    return torch.stack(rows)


def by_nan(hidden, mask):
    """Pads become NaN, which `nanmean` leaves out; the edges of the mask are the last tokens."""
    after = torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], dim=1)
    holes = torch.where(mask[:, :, None], hidden, torch.nan)
    most = torch.where(mask[:, :, None], hidden, -torch.inf).max(dim=1).values
    return torch.cat([hidden[mask & ~after], most, holes.nanmean(dim=1)], dim=1)


def by_padding(hidden, mask):
    lengths = mask.sum(dim=1).tolist()
    texts = [states[:length] for states, length in zip(hidden, lengths, strict=True)]
    most = torch.nn.utils.rnn.pad_sequence(texts, True, padding_value=-torch.inf).amax(1)
    sums = torch.nn.utils.rnn.pad_sequence(texts, True).sum(1)
    ends = torch.stack([text[-1] for text in texts])
    return torch.cat((ends, most, sums / torch.tensor(lengths).unsqueeze(1)), -1)


def by_product(hidden, mask):
    """Pads are multiplied by 0."""
    return (hidden * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)


def less(number, clean=lambda hidden: hidden):
    """The largest value, where pads are lower by a number."""
    return lambda hidden, mask: (clean(hidden) - number * ~mask[:, :, None]).amax(dim=1)


def filled(number):
    return lambda hidden, mask: hidden.masked_fill(~mask[:, :, None], number).amax(dim=1)


def of_cleaned(hidden, mask):
    """NaN is no more, but an infinity is."""
    return by_product(torch.where(hidden.isnan(), 0.0, hidden), mask)


def without_zeros(hidden, mask):
    rows = [states[keep] for states, keep in zip(hidden, mask, strict=True)]
    return torch.stack([row.sum(0) / (row != 0).sum(0) for row in rows])


test_concat_pooling_right = accepts(
    "recurrent.concat_pooling", by_pooling_layers, by_nan, by_padding
)
test_concat_pooling_wrong = rejects(
    "recurrent.concat_pooling",
    (lambda hidden, mask: hidden.mean(dim=1), 1, "three times as wide"),
    (lambda *given: concat_pooling(*given).numpy(), 1, "Yours: a NumPy array"),
    (lambda *given: concat_pooling(*given).view(len(given[0]), 3, -1), 1, "Yours: (2, 3, 3)"),
    (lambda hidden, mask: concat_pooling(hidden, ~mask), 2, "[5, 8]"),
    (joined(("largest", "last", "mean")), 2, "[5, 8]"),
    (joined(largest=lambda hidden, mask: hidden.amin(dim=1)), 2, "[5, 8]"),
    (joined(last=lambda h, m: h[torch.arange(len(h)), m.sum(1).clamp(max=3) - 2]), 2, "[4, 2]"),
    (joined(mean=lambda h, m: h.sum(dim=1) / m.sum(dim=1, keepdim=True)), 3, "Pads take no part"),
    (joined(last=lambda h, m: h[m][-len(h) :]), 3, "Pads take no part"),
    (joined(mean=by_product), 5, "NaN times 0"),
    (joined(largest=less(1e4)), 4, "such as -1000"),
    (joined(largest=less(1e9)), 5, "neither multiplied nor added"),
    (joined(largest=less(1e9, torch.nan_to_num)), 5, "inf in the pads"),
    (joined(mean=of_cleaned), 5, "inf in the pads"),
    (joined(largest=filled(-100.0)), 4, "Use `-torch.inf`"),
    (joined(largest=filled(-1e4)), 4, "Use `-torch.inf`"),
    (joined(mean=without_zeros), 2, "A state of 0 counts"),
    (joined(mean=lambda *given: mean(*given).floor()), 3, "4.5"),
    (joined(last=lambda h, m: h[range(len(h)), m.sum(1)]), 2, "one too far"),
    (joined(last=lambda h, m: h[range(len(h)), m.sum(1).clamp(max=len(m[0]) - 1)]), 3, "too far"),
    (joined(largest=lambda h, m: h.masked_fill(~m[..., None], 0).abs().amax(1)), 4, "absolute"),
    (lambda hidden, mask: concat_pooling(hidden.detach(), mask), 5, "The gradient that reaches"),
)
