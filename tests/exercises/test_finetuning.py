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
    (mean, 2, "and not a mean or a sum"),
    (last_position, 2, "position 5 each time. Each has its own: the mask says where"),
    (same_place_for_all, 2, "position 4 each time. Each has its own: the mask says where"),
    (one_too_far, 2, "which is the first pad"),
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


def replaces_the_method(module):
    for parameter in module.parameters():
        parameter.requires_grad_ = False


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


def zeros_for_gradients(module):
    for parameter in module.parameters():
        parameter.requires_grad = False
        parameter.grad = torch.zeros_like(parameter)


def clears_gradients_only(module):
    module.zero_grad(set_to_none=True)


test_freeze_right = accepts("finetuning.freeze", by_methods, by_state)
test_freeze_wrong = rejects(
    "finetuning.freeze",
    (nothing, 0, "Not solved yet"),
    (as_in_2019, 1, "attribute `require_grad`"),
    (replaces_the_method, 1, "is a method, and you replaced it"),
    (on_the_module, 1, "the module now has an attribute"),
    (evaluation_mode, 1, "evaluation mode freezes nothing"),
    (outer_layers_only, 1, "walks through all modules inside"),
    (clears_gradients_only, 1, "comes back with the next `backward`"),
    (flags_only, 3, "even one of zeros"),
    (zeros_the_gradients, 3, "even one of zeros"),
    (zeros_for_gradients, 2, "One of zeros is a gradient"),
)


# Written by someone who saw only the text of the exercises.


def one_before_the_first_pad(hidden, mask):
    return hidden[range(len(mask)), mask.int().argmin(dim=1) - 1]  # -1 where there is none


def from_behind(hidden, mask):
    place = mask.shape[1] - 1 - mask.flip(1).float().argmax(1)
    rows = torch.arange(len(place)) * mask.shape[1]
    return torch.index_select(hidden.flatten(0, 1), 0, rows + place)


def largest(hidden, mask):
    return hidden.masked_fill(~mask[:, :, None], float("-inf")).amax(dim=1)


def first_true(hidden, mask):
    return hidden[torch.arange(len(hidden)), mask.int().argmax(dim=1)]


def counts_from_one(hidden, mask):
    return hidden[torch.arange(len(hidden)), mask.sum(dim=1)]


def zeros_then_last(hidden, mask):
    return (hidden * mask[:, :, None])[:, -1]


test_outside_last_token_right = accepts(
    "finetuning.last_token", one_before_the_first_pad, from_behind
)
test_outside_last_token_wrong = rejects(
    "finetuning.last_token",
    (largest, 3, "not a mean, a sum or the largest"),
    (first_true, 2, "position 0 each time"),
    (counts_from_one, 2, "which is the first pad"),
    (zeros_then_last, 2, "A pad that was filled"),
)


def drops_each_gradient(module):
    for parameter in module.parameters():
        parameter.grad = None
        parameter.register_post_accumulate_grad_hook(lambda each: setattr(each, "grad", None))


def by_apply(module):
    def stop(each):
        for parameter in each.parameters(recurse=False):
            parameter.requires_grad_(False)
            del parameter.grad

    module.apply(stop)


def freezes_copies(module):
    for parameter in module.parameters():
        parameter = parameter.detach()
        parameter.requires_grad = False


def weights_only(module):
    for name, parameter in module.named_parameters():
        if "weight" in name:
            parameter.requires_grad, parameter.grad = False, None


def gradients_of_zero(module):
    for parameter in module.parameters():
        parameter.grad = None
        parameter.register_hook(torch.zeros_like)


test_outside_freeze_right = accepts("finetuning.freeze", drops_each_gradient, by_apply)
test_outside_freeze_wrong = rejects(
    "finetuning.freeze",
    (freezes_copies, 1, "not on a copy"),
    (weights_only, 1, "through weights and biases"),
    (gradients_of_zero, 1, "with a gradient after `backward`"),
)
