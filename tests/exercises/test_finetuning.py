import torch

from tests.exercises.standard import accepts, rejects


def nothing(*arguments): ...  # your code here


# last_token


def by_loop(hidden, mask):
    return torch.stack([states[keep][-1] for states, keep in zip(hidden, mask, strict=True)])


def by_gather(hidden, mask):
    last = mask.long().cumsum(dim=1).argmax(dim=1)
    return hidden.gather(1, last[:, None, None].expand(-1, 1, hidden.shape[2])).squeeze(1)


def by_edges(hidden, mask):
    after = torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], dim=1)
    return hidden[mask & ~after]


def last_position(hidden, mask):
    return hidden[:, -1]


def one_too_far(hidden, mask):
    places = mask.sum(dim=1).clamp(max=mask.shape[1] - 1)
    return hidden[torch.arange(len(hidden)), places]


def every_place_in_every_row(hidden, mask):
    return hidden[:, mask.sum(dim=1) - 1]


def mean(hidden, mask):
    return (hidden * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)


def times_zero(hidden, mask):
    place = torch.arange(mask.shape[1]) == mask.sum(dim=1, keepdim=True) - 1
    return (hidden * place[:, :, None]).sum(dim=1)


def same_place_for_all(hidden, mask):
    return hidden[:, mask.sum(dim=1).max() - 1]


def whole_states(hidden, mask):
    return hidden * mask[:, :, None]


def changes_the_mask(hidden, mask):
    mask[:, 1:] &= ~mask[:, :1]
    return hidden[:, 0]


test_last_token_right = accepts("finetuning.last_token", by_loop, by_gather, by_edges)
test_last_token_wrong = rejects(
    "finetuning.last_token",
    (nothing, 0, "Not solved yet"),
    (whole_states, 1, "takes one place from each row"),
    (every_place_in_every_row, 1, "Index rows and places together"),
    (changes_the_mask, 1, "changed argument 2"),
    (mean, 2, "whole and alone"),
    (last_position, 3, "the mask says where the tokens end"),
    (same_place_for_all, 3, "the mask says where the tokens end"),
    (one_too_far, 3, "which is the first pad"),
    (times_zero, 4, "not even multiplied by zero"),
)


# freeze


def by_methods(module):
    module.requires_grad_(False)
    module.zero_grad(set_to_none=True)


def by_state(module):
    for each in module.modules():
        for parameter in each.parameters(recurse=False):
            parameter.grad = None
            parameter.requires_grad_(False)
    return module


def as_in_2019(module):
    for parameter in module.parameters():
        parameter.require_grad = False


def on_the_module(module):
    module.requires_grad = False


def evaluation_mode(module):
    module.eval()


def outer_layers_only(module):
    for parameter in module[0].parameters():
        parameter.requires_grad = False


def flags_only(module):
    module.requires_grad_(False)


def zeros_the_gradients(module):
    module.requires_grad_(False)
    for parameter in module.parameters():
        if parameter.grad is not None:
            parameter.grad.zero_()


def clears_gradients_only(module):
    module.zero_grad(set_to_none=True)


test_freeze_right = accepts("finetuning.freeze", by_methods, by_state)
test_freeze_wrong = rejects(
    "finetuning.freeze",
    (nothing, 0, "Not solved yet"),
    (as_in_2019, 1, "attribute `require_grad`"),
    (on_the_module, 1, "the module now has an attribute"),
    (evaluation_mode, 1, "evaluation mode freezes nothing"),
    (outer_layers_only, 1, "walks through all modules inside"),
    (clears_gradients_only, 1, "still require a gradient"),
    (flags_only, 3, "even one of zeros"),
    (zeros_the_gradients, 3, "even one of zeros"),
)
