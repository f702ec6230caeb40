import torch

from tests.exercises.standard import accepts, rejects


def nothing(*arguments): ...  # your code here


def by_edges(hidden, mask):
    after = torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], dim=1)
    return hidden[mask & ~after]


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


test_last_token_right = accepts(
    "finetuning.last_token", by_edges, one_before_the_first_pad, from_behind
)
test_last_token_wrong = rejects(
    "finetuning.last_token",
    (nothing, 0, "Not solved yet"),
    (largest, 3, "not a mean, a sum or the largest"),
    (first_true, 2, "position 0 each time"),
    (counts_from_one, 2, "which is the first pad"),
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


test_freeze_right = accepts("finetuning.freeze", drops_each_gradient, by_apply)
test_freeze_wrong = rejects(
    "finetuning.freeze",
    (nothing, 0, "Not solved yet"),
    (freezes_copies, 1, "not on a copy"),
    (weights_only, 1, "through weights and biases"),
    (gradients_of_zero, 1, "with a gradient after `backward`"),
)
