"""The exercises of lesson 04: the last real token under padding, and freezing that freezes."""

import torch
from torch import Tensor, nn

from tlcourse.exercises.expect import Wrong, expect_close, expect_equal, expect_shape
from tlcourse.exercises.expect import expect_unchanged as call
from tlcourse.exercises.machinery import Exercise, Stage


def last_token(hidden: Tensor, mask: Tensor) -> Tensor:
    """(batch, length, width) states and (batch, length) mask, True = token, to (batch, width)."""
    last = mask.sum(dim=1) - 1
    return hidden[torch.arange(len(hidden)), last]


def _states(batch: int, length: int, width: int) -> Tensor:
    """(batch, length, width): row * 100 + position, the same in the whole width."""
    states = 100.0 * torch.arange(batch)[:, None] + torch.arange(length)
    return states[:, :, None].expand(batch, length, width).clone()


def _kept(lengths: list[int], length: int) -> Tensor:
    return torch.tensor([[place < n for place in range(length)] for n in lengths])


def _pool_shape(candidate) -> None:
    got = call(candidate, torch.randn(2, 5, 3), _kept([4, 2], 5))
    if getattr(got, "shape", None) == (2, 2, 3):
        raise Wrong(
            "2 texts of 5 positions, width 3, gave shape (2, 2, 3): the last place of every text "
            "was taken in every text. Index rows and places together: "
            "`hidden[torch.arange(batch), places]`."
        )
    likely = "One state for each text: `hidden[rows, places]` takes one place from each row."
    expect_shape(got, (2, 3), "2 texts of 5 positions, width 3", likely)


def _pool_alone(candidate) -> None:
    states = torch.tensor([3.0, 2.0, 4.0, 1.0])[None, :, None].repeat(1, 1, 2)
    expect_close(
        call(candidate, states, _kept([4], 4)),
        [[1.0, 1.0]],
        "one text of 4 tokens whose states are 3, 2, 4, 1",
        "Nothing is padded here: the state of the last position is wanted, whole and alone, and "
        "not a mean, a sum or the largest.",
    )


def _pool_padded(candidate) -> None:
    got = call(candidate, _states(3, 6, 1), _kept([2, 5, 4], 6))
    values = [round(value, 3) for value in got.detach().flatten().tolist()]
    if not any(values):
        raise Wrong(
            "texts of 2, 5 and 4 tokens in 6 positions gave 0 each time. A pad that was filled "
            "with 0 is still a pad: look for the place of the last token, not for the last place."
        )
    if len({value % 100 for value in values}) == 1:
        raise Wrong(
            "texts of 2, 5 and 4 tokens in 6 positions gave the states of position "
            f"{values[0]:.0f} each time. Each has its own: the mask says where the tokens end."
        )
    if values[0] == 2.0:
        raise Wrong(
            "a text of 2 tokens gave the state of position 2, which is the first pad. Positions "
            "count from 0: the last of n tokens stands at n - 1."
        )
    expect_close(
        got,
        [[1.0], [104.0], [203.0]],
        "texts of 2, 5 and 4 tokens in 6 positions (state = 100 * text + position)",
        "Each text has its own last token; its state is wanted, and not a mean or a sum.",
    )


def _pool_whole(candidate) -> None:
    draw = torch.Generator().manual_seed(4)
    for _ in range(20):
        lengths = torch.randint(1, 9, (5,), generator=draw).tolist()
        texts = [torch.randn(n, 7, generator=draw) for n in lengths]
        pad = [torch.full((8 - n, 7), float("nan")) for n in lengths]
        hidden = torch.stack([torch.cat(pair) for pair in zip(texts, pad, strict=True)])
        expect_close(
            candidate(hidden, _kept(lengths, 8)),
            torch.stack([text[-1] for text in texts]),
            f"5 texts of {lengths} tokens, NaN in the pads",
            "What stands in a pad must not matter, not even multiplied by zero.",
        )


def freeze(module: nn.Module) -> None:
    """From here on, no optimizer moves a parameter of `module`, whatever gradient is left over."""
    for parameter in module.parameters():
        parameter.requires_grad = False
        parameter.grad = None


def _two_parts() -> nn.ModuleDict:
    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 4)))
    return nn.ModuleDict({"body": body, "head": nn.Linear(4, 2)})


def _backward(model: nn.ModuleDict) -> None:
    loss = model["head"](model["body"](torch.randn(8, 4))).square().sum()
    if not loss.requires_grad:
        raise Wrong("nothing is left to train: `freeze` was given the body, the head must go on.")
    loss.backward()


def _freeze_gradients(candidate) -> None:
    model = _two_parts()
    candidate(model["body"])
    _backward(model)
    body = dict(model["body"].named_parameters())
    free = [name for name, p in body.items() if p.requires_grad and p.grad is not None]
    if free and any(hasattr(each, "require_grad") for each in model["body"].parameters()):
        raise Wrong(
            "the parameters now have an attribute `require_grad`, and none is frozen. PyTorch "
            "reads `requires_grad`; Python lets you add any other name without a word."
        )
    if any("requires_grad_" in vars(each) for each in model["body"].parameters()):
        raise Wrong(
            "`requires_grad_`, with an underscore at the end, is a method, and you replaced it. "
            "Call it, `parameter.requires_grad_(False)`, or set `parameter.requires_grad`."
        )
    if free and "requires_grad" in vars(model["body"]):
        raise Wrong(
            "the module now has an attribute `requires_grad`, and its parameters do not know of "
            "it. Set it on every parameter, or call the method `module.requires_grad_(False)`."
        )
    likely = "`parameters()` walks through all modules inside, and through weights and biases."
    if len(free) == len(body):
        likely = (
            "All have: set `requires_grad` on each of `parameters()`, which walks through all "
            "modules inside, and not on a copy; evaluation mode freezes nothing, and a gradient "
            "taken away comes back with the next `backward`."
        )
    expect_equal(free, [], "parameters of the body with a gradient after `backward`", likely)
    ours = [name for name, each in model["head"].named_parameters() if not each.requires_grad]
    expect_equal(ours, [], "parameters frozen in the head, which was not handed in")


def _moved_after_freezing(candidate, steps_before: int) -> list[str]:
    model = _two_parts()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(steps_before):
        _backward(model)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)  # zeros, as before PyTorch 2
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    candidate(model["body"])
    _backward(model)
    optimizer.step()
    return [name for name, value in model.named_parameters() if not value.equal(before[name])]


def _freeze_moves(candidate) -> None:
    head = ["head.weight", "head.bias"]
    what = "parameters that moved in a step of AdamW after freezing the body"
    likely = (
        "AdamW passes over a parameter whose `grad` is None. One of zeros is a gradient, and "
        "weight decay moves the parameter."
    )
    expect_equal(_moved_after_freezing(candidate, 0), head, what, likely)


def _freeze_left_over(candidate) -> None:
    expect_equal(
        _moved_after_freezing(candidate, 2),
        ["head.weight", "head.bias"],
        "two steps with everything free, then the body frozen, a third step: what moved in it",
        "A gradient that is left over, even one of zeros, makes AdamW go on: momentum and weight "
        "decay move the parameter. Set `parameter.grad = None`, and it is passed over.",
    )


EXERCISES = (
    Exercise(
        id="finetuning.last_token",
        title="The last real token",
        difficulty=2,
        minutes=10,
        hints=(
            "the last token stands in another place in each row. What tells you where?",
            "`mask.sum(dim=1)` counts the tokens of each text; the last of n stands at n - 1.",
            "`hidden[rows, places]` with two index tensors of the same length takes one position "
            "from each row; the rows are `torch.arange(len(hidden))`.",
        ),
        reference=last_token,
        stages=(
            Stage("one state for each text", _pool_shape),
            Stage("padding", _pool_padded),
            Stage("one text alone", _pool_alone),
            Stage("20 random batches", _pool_whole),
        ),
    ),
    Exercise(
        id="finetuning.freeze",
        title="Find the bug of 2019: freezing that freezes nothing",
        difficulty=2,
        minutes=10,
        hints=(
            "an optimizer looks at two things of a parameter: whether a gradient is asked for, and "
            "which gradient is there already. Print both, before and after your function.",
            "`requires_grad`, with an s. PyTorch never complained about the other name.",
            "an optimizer passes over a parameter only if its `grad` is None; zeros are not None.",
        ),
        reference=freeze,
        stages=(
            Stage("no gradient is asked for", _freeze_gradients),
            Stage("nothing moves", _freeze_moves),
            Stage("gradients that are left over", _freeze_left_over),
        ),
    ),
)
