"""Help for the exercise on taking a head away: solutions that take away something else."""

import copy

import torch


def columns_of(model, head):
    size = model.config.width // model.config.heads
    return slice(size * head, size * (head + 1))


def by_hook(columns=columns_of, after=False, layers=lambda model, layer: [layer], removes=True):
    """A solution whose hook zeroes `columns(model, head)`; it stays where there is an error."""

    def candidate(model, tokens, layer, head):
        def mute(module, inputs, output=None):
            x = (output if after else inputs[0]).clone()
            x[..., columns(model, head)] = 0
            return x

        hooks = []
        for number in layers(model, layer):
            part = model.blocks[number].attention.output
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


def all_others(model, head):
    chosen = torch.ones(model.config.width, dtype=torch.bool)
    chosen[columns_of(model, head)] = False
    return chosen
