"""Help for the exercise on the model: what is looked at in a candidate."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_shape
from tlcourse.exercises.transformer._parts import built, new, small


def tokens(*shape, seed=0):
    return torch.randint(40, shape, generator=torch.Generator().manual_seed(seed))


def shape_of(candidate, method, *given):
    """The shape of what a method gives."""
    with torch.no_grad():
        got = getattr(built(candidate, small()), method)(*given)
    if not hasattr(got, "shape"):
        expect_shape(got, (), f"`{method}`")
    return tuple(got.shape)


def first_loss(candidate):
    """The mean loss of a new model on random tokens, in nats."""
    config = small(vocabulary_size=500, width=96)
    ids = torch.randint(500, (4, 16), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        logits = new(candidate, config)(ids[:, :-1])
    return round(F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).item(), 1)


def moved(candidate, config, ids, at):
    """The positions whose logits move when the token at position `at` is another one."""
    changed = ids.clone()
    changed[:, at] = (changed[:, at] + 1) % 40
    with torch.no_grad():
        model = built(candidate, config)
        apart = (model(changed) - model(ids)).abs().amax(dim=(0, 2))
    return (apart > 1e-6).nonzero()[:, 0].tolist()


def at_a_pad(candidate, config, ids, is_token):
    """By how much the last logits of text 0 move when the pads of the text are other tokens."""
    other = ids.masked_fill(~is_token, 7)
    with torch.no_grad():
        model = built(candidate, config)
        apart = (model(other, is_token) - model(ids, is_token))[is_token]
    return round(apart.abs().max().item(), 4)


IS_TOKEN = torch.arange(6) < torch.tensor([4, 6])[:, None]


def result(candidate, method, config, *given):
    """What a method of a model with drawn weights gives."""
    with torch.no_grad():
        return getattr(built(candidate, config), method)(*given)


def on_meta(candidate):
    """The kind of device that the logits are on where model and tokens are on `meta`; "" if none.

    No number is computed there; what mixes it with the CPU raises an error, as on a GPU.
    """
    model = built(candidate, small()).to("meta")
    try:
        return model(tokens(2, 5).to("meta"), IS_TOKEN[:, :5].to("meta")).device.type
    except (RuntimeError, NotImplementedError):
        return ""
