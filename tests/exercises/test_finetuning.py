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


def squeezed(hidden, mask):
    return by_edges(hidden, mask).squeeze()


def kept_dimension(hidden, mask):
    return by_edges(hidden, mask)[:, None]


def flipped_and_not_back(hidden, mask):
    return hidden[torch.arange(len(hidden)), mask.flip(1).int().argmax(dim=1)]


def length_by_the_states(hidden, mask):
    places = (hidden != 0).any(dim=2).sum(dim=1) - 2
    return hidden[torch.arange(len(hidden)), places]


def last_of_the_batch(hidden, mask):
    return hidden[mask][-len(hidden) :]


def as_an_array(hidden, mask):
    return by_edges(hidden, mask).numpy()


def detached(hidden, mask):
    return by_edges(hidden.detach(), mask)


test_last_token_right = accepts(
    "finetuning.last_token", by_edges, one_before_the_first_pad, from_behind
)
test_last_token_wrong = rejects(
    "finetuning.last_token",
    (nothing, 0, "Not solved yet"),
    (largest, 3, "not a mean, a sum or the largest"),
    (first_true, 2, "position 0 each time"),
    (counts_from_one, 2, "which is the first pad"),
    (as_an_array, 1, "gave a NumPy array; expected a tensor"),
    (kept_dimension, 1, "take one place from each row"),
    (squeezed, 2, "gave a tensor of shape (3,); expected (3, 1). All dimensions but that of the"),
    (flipped_and_not_back, 2, "Text 0 got the state of text 0 at position 4, not at 1."),
    (length_by_the_states, 2, "Text 0 got the state of text 0 at position 3, not at 1."),
    (last_of_the_batch, 2, "Text 0 got the state of text 2: each row has its own."),
    (detached, 4, "all numbers are right, but no gradient reaches `hidden`"),
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


def evaluation_mode(module):
    module.eval()


def clears_gradients_only(module):
    module.zero_grad(set_to_none=True)


def only_direct_parameters(module):
    for parameter in module.parameters(recurse=False):
        parameter.requires_grad, parameter.grad = False, None


def only_where_a_gradient_is(module):
    for parameter in module.parameters():
        if parameter.grad is not None:
            parameter.requires_grad, parameter.grad = False, None


def new_parameters(module):
    for each in module.modules():
        for name, parameter in list(each.named_parameters(recurse=False)):
            setattr(each, name, torch.nn.Parameter(parameter.detach(), requires_grad=False))


def buffers(module):
    for each in module.modules():
        for name, parameter in list(each.named_parameters(recurse=False)):
            delattr(each, name)
            each.register_buffer(name, parameter.detach())


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
    (gradients_of_zero, 1, "All have: a hook may change a gradient, and it is one still"),
    (evaluation_mode, 1, "All have: evaluation mode freezes nothing"),
    (clears_gradients_only, 1, "All have: a gradient taken away comes back"),
    (only_direct_parameters, 1, "nothing in the module has changed"),
    (only_where_a_gradient_is, 1, "frozen only if they have a gradient before"),
    (new_parameters, 1, "The module must keep those that it has"),
    (buffers, 1, "The module must keep those that it has"),
)
