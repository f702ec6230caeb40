"""Help for the exercise on taking a head away: solutions that take away something else."""

import copy

import torch

from tlcourse.exercises.looking._common import toy


def without(model, ids, layer, head):
    """The true answer, by values that are zero."""
    other = copy.deepcopy(model)
    size = model.config.width // model.config.heads
    with torch.no_grad():
        for each in other.blocks[layer].attention.value.parameters():
            each[size * head : size * head + size] = 0
        return other(ids)


def writers(seed, *heads):
    """A model of one layer in which only these heads write something."""
    model = toy(seed=seed, layers=1)
    columns = model.blocks[0].attention.output.weight.data.view(12, 3, 4)
    for head in {0, 1, 2}.difference(heads):
        columns[:, head] = 0
    return model


def columns_of(model, head):
    size = model.config.width // model.config.heads
    return slice(size * head, size * (head + 1))


def by_hook(columns=columns_of, after=False, layers=lambda model, layer: [layer], removes=True,
            on=lambda attention: attention.output, cells=lambda own: (..., own)):  # fmt: skip
    """A solution whose hook zeroes `columns(model, head)`; it stays where there is an error."""

    def candidate(model, tokens, layer, head):
        def mute(module, inputs, output=None):
            x = (output if after else inputs[0]).clone()
            x[cells(columns(model, head))] = 0
            return x if after else (x, *inputs[1:])

        hooks = []
        for number in layers(model, layer):
            part = on(model.blocks[number].attention)
            hang = part.register_forward_hook if after else part.register_forward_pre_hook
            hooks.append(hang(mute))
        found = model(tokens)
        for hook in hooks if removes else []:
            hook.remove()
        return found

    return candidate


def by_copy(edit):
    """A solution that edits a copy of the layer's attention: `edit(attention, columns)`."""

    def candidate(model, tokens, layer, head):
        other = copy.deepcopy(model)
        with torch.no_grad():
            edit(other.blocks[layer].attention, columns_of(model, head))
        return other(tokens)

    return candidate


def edits_and_leaves(model, tokens, layer, head):
    model.blocks[layer].attention.output.weight.data[:, columns_of(model, head)] = 0
    return model(tokens)


def edits_and_mends(model, tokens, layer, head):
    weight = model.blocks[layer].attention.output.weight.data
    before = weight.clone()
    weight[:, columns_of(model, head)] = 0
    found = model(tokens)
    weight.copy_(before)
    return found


def clears_all_hooks(model, tokens, layer, head):
    try:
        return by_hook(removes=False)(model, tokens, layer, head)
    finally:
        model.blocks[layer].attention.output._forward_pre_hooks.clear()


def swallows_the_error(model, tokens, layer, head):
    try:
        return by_copy(lambda attention, columns: attention.output.weight[:, columns].zero_())(
            model, tokens, layer, head
        )
    except ValueError:
        return None


def as_many_as_heads(model, head):
    return slice(model.config.heads * head, model.config.heads * (head + 1))


def all_others(model, head):
    chosen = torch.ones(model.config.width, dtype=torch.bool)
    chosen[columns_of(model, head)] = False
    return chosen
