"""Lesson 04b: find the bug of 2019, a freezing that froze nothing."""

import torch
from torch import nn

from tlcourse.exercises.expect import CheckFailed
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="4b.1",
    title="Find the bug of 2019: freezing that freezes nothing",
    difficulty=2,
    minutes=10,
    hints=(
        "an optimizer looks at two things of a parameter: whether a gradient is asked for, and "
        "which gradient is there already. Print both, before and after your function.",
        "`requires_grad`, with an s. PyTorch never complained about the other name.",
        "an optimizer passes over a parameter only if its `grad` is None; zeros are not None.",
    ),
    imports="import torch",
    trains=True,
)
HEAD = ["head.weight", "head.bias"]
LEFT_OVER = (
    "A gradient that is left over, even one of zeros, makes AdamW go on: momentum and weight decay "
    "move the parameter. Take it away altogether, and the parameter is passed over."
)


@task.reference
def freeze(module):
    """From here on, no optimizer moves a parameter of `module`, whatever gradient is left over."""
    for parameter in module.parameters():
        parameter.requires_grad = False
        parameter.grad = None


@task.right
def by_methods(module):
    module.requires_grad_(False)
    module.zero_grad(set_to_none=True)


@task.right
def by_state(module):
    for each in module.modules():
        for parameter in each.parameters(recurse=False):
            parameter.grad = None
            parameter.requires_grad_(False)
    return module


def two_parts():
    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 4)))
    return nn.ModuleDict({"body": body, "head": nn.Linear(4, 2)})


def backward(model):
    loss = model["head"](model["body"](torch.randn(8, 4))).square().sum()
    if not loss.requires_grad:
        raise CheckFailed("nothing is left to train: `freeze` was given the body, the head must go on.")
    loss.backward()


def frozen(candidate):
    """A body and a head after the body was frozen, and after `backward`."""
    model = two_parts()
    candidate(model["body"])
    backward(model)
    return model


def still_free(candidate):
    body = frozen(candidate)["body"].named_parameters()
    return [name for name, each in body if each.requires_grad and each.grad is not None]


def why_free(candidate):
    """What an answer that froze nothing did instead, in words."""
    model = two_parts()
    backward(model)
    candidate(model["body"])
    parameters = list(model["body"].parameters())
    if not all(each.requires_grad for each in parameters):
        return "All have; they are frozen only if they have a gradient before."
    if any(each._backward_hooks for each in parameters):
        return "All have: a hook may change a gradient, and it is one still. Set `requires_grad`."
    if not model["body"].training:
        return "All have: evaluation mode freezes nothing, it only switches dropout off."
    if all(each.grad is None for each in parameters):
        return "All have: a gradient taken away comes back with the next `backward`."
    return (
        "All have, and nothing in the module has changed. Set `requires_grad` on each of "
        "`parameters()`, which walks through all modules inside, and not on a copy."
    )


def replaced(candidate):
    """The parameters of a body that are no longer what they were."""
    body = two_parts()["body"]
    before = dict(body.named_parameters())
    candidate(body)
    after = dict(body.named_parameters())
    return [name for name, each in before.items() if after.get(name) is not each]


def wrong_attributes(candidate):
    """What was set that PyTorch does not read, or that hides a method."""
    body = frozen(candidate)["body"]
    found = {name for each in body.parameters() for name in vars(each)} & {
        "require_grad", "requires_grad_",
    }  # fmt: skip
    if "requires_grad" in vars(body):
        found.add("requires_grad of the module")
    return sorted(found) if still_free(candidate) else sorted(found & {"requires_grad_"})


def frozen_head(candidate):
    head = frozen(candidate)["head"].named_parameters()
    return [name for name, each in head if not each.requires_grad]


def moved(candidate, steps_before):
    """The parameters that a step of AdamW moves, after as many with the body still free."""
    model = two_parts()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(steps_before):
        backward(model)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)  # zeros, as before PyTorch 2
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    candidate(model["body"])
    backward(model)
    optimizer.step()
    return [name for name, value in model.named_parameters() if not value.equal(before[name])]


@task.stage("no gradient is asked for")
def asked(candidate):
    what = "attributes that were set and do not freeze"
    task.observe(candidate, wrong_attributes, gives=[], what=what)
    likely = "`parameters()` walks through all modules inside, and through weights and biases."
    if len(still_free(candidate)) == len(list(two_parts()["body"].parameters())):
        likely = why_free(candidate)
    task.observe(
        candidate, still_free, gives=[],
        what="parameters of the body with a gradient after `backward`", likely=likely,
    )  # fmt: skip
    what = "parameters frozen in the head, which was not handed in"
    task.observe(candidate, frozen_head, gives=[], what=what)
    task.observe(
        candidate, replaced, gives=[], what="parameters that were replaced or taken out",
        likely="The module must keep those that it has: an optimizer holds them already.",
    )  # fmt: skip


@task.stage("nothing moves")
def nothing_moves(candidate):
    task.observe(
        candidate, moved, 0, gives=HEAD,
        what="parameters that moved in a step of AdamW after freezing the body",
        likely="AdamW passes over a parameter whose `grad` is None.",
    )  # fmt: skip


@task.stage("gradients that are left over")
def left_over(candidate):
    task.observe(
        candidate, moved, 2, gives=HEAD,
        what="two steps with everything free, then the body frozen, a third step: what moved in it",
        likely=LEFT_OVER,
    )  # fmt: skip


@task.mistake(
    "no gradient is asked for",
    "The parameters now have an attribute `require_grad`, and none is frozen. PyTorch reads "
    "`requires_grad`; Python lets you add any other name without a word.",
)
def as_in_2019(module):
    for parameter in module.parameters():
        parameter.require_grad = False


@task.mistake(
    "no gradient is asked for",
    "`requires_grad_`, with an underscore at the end, is a method, and you replaced it. Call it, "
    "`parameter.requires_grad_(False)`, or set `parameter.requires_grad`.",
)
def replaces_the_method(module):
    for parameter in module.parameters():
        parameter.requires_grad_ = False


@task.mistake(
    "no gradient is asked for",
    "The module now has an attribute `requires_grad`, and its parameters do not know of it. Set it "
    "on every parameter, or call the method `module.requires_grad_(False)`.",
)
def on_the_module(module):
    module.requires_grad = False


@task.mistake(
    "no gradient is asked for",
    "Only the first layer is frozen: `module.parameters()` walks through all modules inside.",
)
def outer_layers_only(module):
    for parameter in module[0].parameters():
        parameter.requires_grad = False


@task.mistake(
    "nothing moves",
    "AdamW passes over a parameter whose `grad` is None. One of zeros is a gradient, and weight "
    "decay moves the parameter.",
)
def zeros_for_gradients(module):
    for parameter in module.parameters():
        parameter.requires_grad = False
        parameter.grad = torch.zeros_like(parameter)


@task.mistake("gradients that are left over", LEFT_OVER)
def flags_only(module):
    module.requires_grad_(False)


@task.mistake("gradients that are left over", LEFT_OVER)
def zeros_the_gradients(module):
    module.requires_grad_(False)
    for parameter in module.parameters():
        if parameter.grad is not None:
            parameter.grad.zero_()
