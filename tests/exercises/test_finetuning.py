import torch
from torch import nn

from tests.exercises.standard import accepts, rejects

# last_token


def by_edges(hidden, mask):
    after = torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], dim=1)
    return hidden[mask & ~after]


def before_the_first_pad(hidden, mask):
    return hidden[torch.arange(len(hidden)), mask.int().argmin(dim=1) - 1]  # -1 without a pad


test_last_token_right = accepts("finetuning.last_token", by_edges, before_the_first_pad)
test_last_token_wrong = rejects(
    "finetuning.last_token",
    (lambda *given: by_edges(*given).numpy(), 1, "Yours: a NumPy array\nExpected: a tensor\n"),
    (lambda hidden, mask: hidden * mask[:, :, None], 1, "take one position from each row"),
    (lambda *given: by_edges(*given).squeeze(), 2, "Yours: shape (3,)\n"),
    (lambda hidden, mask: hidden[mask][-len(hidden) :], 2, "the last of n tokens is at n - 1"),
    (lambda hidden, mask: hidden.masked_fill(~mask[:, :, None], -1e9).amax(1), 3, "or the largest"),
    (lambda hidden, mask: by_edges(hidden.detach(), mask), 4, "The gradient that reaches `hidden`"),
)


# freeze


def drops_each_gradient(module):
    for parameter in module.parameters():
        parameter.grad = None
        parameter.register_post_accumulate_grad_hook(lambda each: setattr(each, "grad", None))


def by_methods(module):
    module.requires_grad_(False)
    module.zero_grad(set_to_none=True)


def freezing(which, gradient=lambda parameter: None):
    """An answer that freezes the parameters of which `which` holds, and sets their gradient."""

    def function(module):
        for name, parameter in module.named_parameters():
            if which(name, parameter):
                parameter.requires_grad, parameter.grad = False, gradient(parameter)

    return function


def setting(name):
    """An answer that sets an attribute of this name of each parameter."""

    def function(module):
        for each in module.parameters():
            setattr(each, name, False)

    return function


def replaces_parameters(module):
    for inside in module.modules():
        for name, parameter in list(inside.named_parameters(recurse=False)):
            setattr(inside, name, nn.Parameter(parameter.detach(), requires_grad=False))


def gradients_of_zero(module):
    for parameter in module.parameters():
        parameter.grad = None
        parameter.register_hook(torch.zeros_like)


test_freeze_right = accepts("finetuning.freeze", drops_each_gradient, by_methods)
test_freeze_wrong = rejects(
    "finetuning.freeze",
    (setting("require_grad"), 1, "Yours: ['set `require_grad` of each parameter']"),
    (setting("requires_grad_"), 1, "Yours: ['set `requires_grad_` of each parameter']"),
    (lambda module: setattr(module, "requires_grad", False), 1, "`requires_grad` of the module"),
    (lambda module: module.eval(), 1, "Yours: ['switched to evaluation mode']"),
    (freezing(lambda name, _: "weight" in name), 1, "Yours: ['0.bias', '1.0.bias', '1.1.bias']"),
    (freezing(lambda _, each: each.grad is not None), 1, "not only those that already have"),
    (gradients_of_zero, 1, "sets to zero is still a gradient"),
    (replaces_parameters, 1, "The module must keep its parameters"),
    (freezing(lambda *_: True, torch.zeros_like), 2, "AdamW skips a parameter only if its `grad`"),
    (lambda module: module.requires_grad_(False), 3, "With an old gradient"),
)
