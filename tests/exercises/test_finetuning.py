import torch

from tests.exercises.standard import accepts, rejects


def nothing(*arguments): ...  # your code here


# last_token


def by_edges(hidden, mask):
    after = torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], dim=1)
    return hidden[mask & ~after]


def by_gather(hidden, mask):
    last = mask.long().cumsum(dim=1).argmax(dim=1)
    return hidden.gather(1, last[:, None, None].expand(-1, 1, hidden.shape[2])).squeeze(1)


def at(place):
    """An answer that takes, in each row, the position that `place(mask)` says."""
    return lambda hidden, mask: hidden[torch.arange(len(hidden)), place(mask)]


def changes_the_mask(hidden, mask):
    mask[:, 1:] &= ~mask[:, :1]
    return hidden[:, 0]


def length_by_the_states(hidden, mask):
    places = (hidden != 0).any(dim=2).sum(dim=1) - 2
    return hidden[torch.arange(len(hidden)), places]


def as_an_array(hidden, mask):
    return by_edges(hidden, mask).numpy()


test_last_token_right = accepts(
    "finetuning.last_token",
    by_edges,
    by_gather,
    lambda hidden, mask: torch.stack([row[keep][-1] for row, keep in zip(hidden, mask)]),  # noqa: B905
    at(lambda mask: mask.int().argmin(dim=1) - 1),  # before the first pad: -1 where there is none
    at(lambda mask: mask.shape[1] - 1 - mask.flip(1).float().argmax(1)),
)
PADDING = "the mask says where it is"
test_last_token_wrong = rejects(
    "finetuning.last_token",
    (nothing, 0, "Not solved yet"),
    (as_an_array, 1, "Yours: a NumPy array\nExpected: a tensor\n"),
    (changes_the_mask, 1, "Check: Argument 2, `mask`, after the call.\nYours: changed"),
    (lambda hidden, mask: by_edges(hidden, mask)[:, None], 1, "Yours: (2, 1, 3)\nExpected: (2, 3)"),
    (lambda hidden, mask: hidden * mask[:, :, None], 1, "take one position from each row"),
    (lambda *given: by_edges(*given).squeeze(), 2, "Yours: a tensor of shape (3,)"),
    (at(lambda mask: mask.int().argmax(dim=1)), 2, "Yours: ['text 0, position 0', 'text 1, pos"),
    (at(lambda mask: mask.sum(dim=1)), 2, "This is the first pad after each text."),
    (at(lambda mask: mask.sum(dim=1).max() - 1), 2, PADDING),
    (at(lambda mask: mask.flip(1).int().argmax(dim=1)), 2, PADDING),
    (length_by_the_states, 2, PADDING),
    (lambda hidden, mask: hidden[mask][-len(hidden) :], 2, "Yours: ['text 2, position 1', 'text 2"),
    (lambda hidden, mask: hidden.masked_fill(~mask[:, :, None], -1e9).amax(1), 3, "or the largest"),
    (lambda hidden, mask: by_edges(hidden.detach(), mask), 4, "The gradient that reaches `hidden`"),
)


# freeze


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


def by_methods(module):
    module.requires_grad_(False)
    module.zero_grad(set_to_none=True)


def by_state(module):
    for each in module.modules():
        for parameter in each.parameters(recurse=False):
            parameter.grad = None
            parameter.requires_grad_(False)
    return module


def freezes_copies(module):
    for parameter in module.parameters():
        parameter = parameter.detach()
        parameter.requires_grad = False


def freezing(which, gradient=lambda each: None):
    """An answer that freezes the parameters of which `which` holds, and sets their gradient."""

    def function(module):
        for name, parameter in module.named_parameters():
            if which(name, parameter):
                parameter.requires_grad, parameter.grad = False, gradient(parameter)

    return function


def replacing(put):
    """`put(module, name, old)` in place of each parameter."""

    def function(module):
        for each in module.modules():
            for name, parameter in list(each.named_parameters(recurse=False)):
                delattr(each, name)
                put(each, name, parameter.detach())

    return function


def as_buffer(module, name, old):
    module.register_buffer(name, old)


def as_parameter(module, name, old):
    setattr(module, name, torch.nn.Parameter(old, requires_grad=False))


def zeroed(parameter):
    return parameter.grad if parameter.grad is None else parameter.grad.zero_()


def gradients_of_zero(module):
    for parameter in module.parameters():
        parameter.grad = None
        parameter.register_hook(torch.zeros_like)


def everything(*_):
    return True


test_freeze_right = accepts(
    "finetuning.freeze", drops_each_gradient, by_apply, by_methods, by_state
)
test_freeze_wrong = rejects(
    "finetuning.freeze",
    (nothing, 0, "Not solved yet"),
    (freezes_copies, 1, "not of a copy"),
    (freezing(lambda name, *_: "weight" in name), 1, "Yours: ['0.bias', '1.0.bias', '1.1.bias']"),
    (freezing(lambda name, *_: "." not in name), 1, "through all modules inside"),
    (freezing(lambda name, each: each.grad is not None), 1, "not only those that have a gradie"),
    (gradients_of_zero, 1, "A hook may set it to zero, but that is still a gradient"),
    (replacing(as_buffer), 1, "The module must keep its parameters"),
    (replacing(as_parameter), 1, "The module must keep its parameters"),
    (lambda module: module.eval() and None, 1, "Evaluation mode freezes nothing"),
    (lambda module: module.zero_grad(set_to_none=True), 1, "comes back with the next `backward`"),
    (freezing(everything, torch.zeros_like), 2, "AdamW skips a parameter only if its `grad` is"),
    (freezing(everything, zeroed), 3, "A gradient that is left over, even one of zeros"),
    (lambda module: module.requires_grad_(False), 3, "A gradient that is left over"),
)
