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
        "An optimizer looks at two things of a parameter: whether a gradient is asked for, and "
        "which gradient is there already. Print both, before and after your function.",
        "The attribute is `requires_grad`, with an s. PyTorch never complained about the other "
        "name.",
        "An optimizer skips a parameter only if its `grad` is None; zeros are not None.",
    ),
    imports="import torch",
    trains=True,
)


@task.reference
def freeze(module):
    """From here on, no optimizer moves a parameter of `module`, whatever gradient is left over."""
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
    """The parameters of the body that get a gradient after the body was frozen."""
    model = two_parts()
    if old_gradient:
        backward(model)
    candidate(model["body"])
    backward(model)
    body = model["body"].named_parameters()
    return [name for name, each in body if each.requires_grad and each.grad is not None]


def in_vain(candidate):
    """What was done to a body of which no parameter is frozen."""
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


task.stage(
    "no gradient is asked for",
    case("what was done that freezes nothing", measure=in_vain),
    case("the parameters of the body with a new gradient after `backward`", True),
    case(
        "the same for a body that has no gradient yet",
        hint="Freeze all parameters, not only those that have a gradient already.",
    ),
    case(
        "the parameters of the body that were replaced or taken out",
        measure=replaced,
        hint="The module must keep its parameters, because an optimizer holds them already.",
    ),
    measure=free,
    expected=lambda *_: [],
    hint="Set `requires_grad` of every parameter itself, not of a copy. `module.parameters()` "
    "walks through all modules inside, and through weights and biases. A hook may set a gradient "
    "to zero, but that is still a gradient.",
)
HEAD = ["head.weight", "head.bias"]
task.stage(
    "nothing moves",
    case("the parameters that AdamW moves after freezing the body", 0, expected=HEAD),
    measure=moved,
    hint="AdamW skips a parameter only if its `grad` is None. Zeros are a gradient, and weight "
    "decay moves the parameter.",
)
task.stage(
    "gradients that are left over",
    case("the parameters that AdamW moves if the body is frozen after two steps", 2, expected=HEAD),
    measure=moved,
    hint="A gradient that is left over, even one of zeros, makes AdamW go on: momentum and weight "
    "decay move the parameter. Set it to None, and AdamW skips the parameter.",
)


def setting(name, of=lambda module: module.parameters()):
    """An answer that sets an attribute of this name."""

    def function(module):
        for each in of(module):
            setattr(each, name, False)

    return function


task.mistakes(
    (
        "The parameters now have an attribute `require_grad`, and none is frozen. PyTorch reads "
        "`requires_grad`; Python lets you add any other name without an error.",
        setting("require_grad"),
    ),
    (
        "`requires_grad_`, with an underscore at the end, is a method, and you replaced it. Call "
        "it, `parameter.requires_grad_(False)`, or set `parameter.requires_grad`.",
        setting("requires_grad_"),
    ),
    (
        "The module now has an attribute `requires_grad`, which its parameters do not see. Set it "
        "on every parameter, or call the method `module.requires_grad_(False)`.",
        setting("requires_grad", of=lambda module: [module]),
    ),
    (
        "Evaluation mode freezes nothing: it only switches dropout off.",
        lambda module: module.eval(),
    ),
)
