"""Lesson 04b: find the bug of 2019, a freezing that froze nothing."""

import torch
from torch import nn

from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="4b.1",
    title="Find the bug of 2019: freezing that freezes nothing",
    difficulty=2,
    importance=4,
    minutes=10,
    hints=(
        "An optimizer looks at two properties of a parameter: whether it requires a gradient, and "
        "which gradient it has already. Print both, before and after your function.",
        "The attribute is `requires_grad`, with an s. PyTorch does not complain about any other "
        "name.",
        "An optimizer skips a parameter only if its `grad` is None; zeros are not None.",
    ),
    imports="import torch",
    trains=True,
)


@task.reference
def freeze(module):
    """From now on, no optimizer changes a parameter of `module`, whatever its last gradient."""
    for parameter in module.parameters():
        parameter.requires_grad = False
        parameter.grad = None


def two_parts():
    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 4)))
    return nn.ModuleDict({"body": body, "head": nn.Linear(4, 2)})


def backward(model):
    model["head"](model["body"](torch.randn(8, 4))).square().sum().backward()


def free(candidate, old_gradient=False):
    """The parameters of the body that get a gradient after it was frozen."""
    model = two_parts()
    if old_gradient:
        backward(model)
    candidate(model["body"])
    backward(model)
    body = model["body"].named_parameters()
    return [name for name, each in body if each.requires_grad and each.grad is not None]


def in_vain(candidate):
    """The changes to a body of which no parameter is frozen; [] if one is."""
    candidate(body := two_parts()["body"])
    parameters = list(body.parameters())
    if len(free(candidate, old_gradient=True)) < len(list(two_parts()["body"].parameters())):
        return []
    done = {f"set `{name}` of each parameter" for each in parameters for name in vars(each)}
    if "requires_grad" in vars(body):
        done.add("set `requires_grad` of the module")
    if not body.training:
        done.add("switched to evaluation mode")
    return sorted(done)


def replaced(candidate):
    """The parameters of a body that are no longer the same objects."""
    body = two_parts()["body"]
    before = dict(body.named_parameters())
    candidate(body)
    after = dict(body.named_parameters())
    return [name for name, each in before.items() if after.get(name) is not each]


def updated(candidate, steps_before, frozen=False):
    """The parameters that a step of AdamW changes, after `steps_before` with a free body.

    If `frozen`, one weight was then frozen, and its gradient left.
    """
    model = two_parts()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(steps_before):
        backward(model)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)  # zeros, as before PyTorch 2
    model["body"][0].weight.requires_grad = not frozen
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    candidate(model["body"])
    backward(model)
    optimizer.step()
    return [name for name, value in model.named_parameters() if not value.equal(before[name])]


task.stage(
    "parameters that need no gradient",
    case(
        "changes that freeze nothing",
        measure=in_vain,
        hint="PyTorch reads the attribute `requires_grad` of each parameter, which the method "
        "`requires_grad_(False)` sets.",
    ),
    case("the parameters of the body with a new gradient after `backward`", True),
    case(
        "the same for a body that has no gradient yet",
        hint="Freeze all parameters, not only those that already have a gradient.",
    ),
    case(
        "the parameters of the body that were replaced or removed",
        measure=replaced,
        hint="The module must keep its parameters, because an optimizer already holds them.",
    ),
    measure=free,
    expected=lambda *_: [],
    hint="Set `requires_grad` of every parameter itself, not of a copy. `module.parameters()` "
    "includes the weights and biases of all modules inside. A gradient that a hook sets to zero is "
    "still a gradient.",
)
HEAD = ["head.weight", "head.bias"]
task.stage(
    "frozen weights stay the same",
    case("the parameters that AdamW changes after the body is frozen", 0, expected=HEAD),
    measure=updated,
    hint="AdamW skips a parameter only if its `grad` is None. Zeros are a gradient, so weight "
    "decay changes the parameter.",
)
task.stage(
    "left-over gradients",
    case("the parameters that AdamW changes if the body is frozen after 2 steps", 2, expected=HEAD),
    case(
        "the same if one weight, `0.weight` of the body, was already frozen after these steps",
        *(2, True),
        expected=HEAD,
        hint="Set the gradient of *every* parameter to None, even if its `requires_grad` is "
        "already False.",
    ),
    measure=updated,
    hint="With an old gradient, even one of zeros, momentum and weight decay still change the "
    "parameter. Set it to None, and AdamW skips the parameter.",
)


def setting(name, of=lambda module: module.parameters()):
    """An answer that sets an attribute of this name to False."""

    def function(module):
        for each in of(module):
            setattr(each, name, False)

    return function


task.mistakes(
    (
        "The parameters now have an attribute `require_grad`, which PyTorch does not read: it is "
        "called `requires_grad`, and Python lets you add any other name without an error.",
        setting("require_grad"),
    ),
    (
        "`requires_grad_`, with an underscore at the end, is a method, and you replaced it: call "
        "it, `parameter.requires_grad_(False)`, or set `parameter.requires_grad`.",
        setting("requires_grad_"),
    ),
    (
        "The module now has an attribute `requires_grad`, which its parameters do not see: set it "
        "on every parameter, or call the method `module.requires_grad_(False)`.",
        setting("requires_grad", of=lambda module: [module]),
    ),
    (
        "Evaluation mode freezes nothing, because it only switches dropout off: set "
        "`requires_grad` of every parameter to False.",
        lambda module: module.eval(),
    ),
)
