"""Lesson 04: a classifier, which is a body, a pooling and a linear layer."""

import torch
from torch import nn

from tlcourse.exercises.expect import defaults, expect_equal, expect_type
from tlcourse.exercises.finetuning.last_token import last_token
from tlcourse.exercises.task import Exercise, case
from tlcourse.transformer import Config, Transformer


def body_of(causal=True):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        body = Transformer(Config(30, 8, 2, 2, 16, max_length=16, causal=causal))
        for parameter in body.parameters():
            nn.init.normal_(parameter, std=0.5)
    return body


def padded(lengths, length):
    """Drawn tokens, and the mask of texts of these lengths."""
    draw = torch.Generator().manual_seed(2)
    mask = torch.arange(length) < torch.tensor(lengths)[:, None]
    return torch.randint(6, 30, mask.shape, generator=draw).masked_fill(~mask, 0), mask


def built(candidate, body, labels, dropout=0.0):
    """The candidate's classifier; raises CheckFailed where a part is not what it should be."""
    torch.manual_seed(0)
    made = candidate(body, labels, dropout)
    expect_type(made, nn.Module, "what your class makes")
    expect_type(getattr(made, "head", None), nn.Linear, "the part `head`")
    expect_type(getattr(made, "dropout", None), nn.Dropout, "the part `dropout`")
    expect_equal(made.dropout.p, dropout, f"how much is dropped with `dropout={dropout}`")
    same = getattr(made, "body", None) is body
    expect_equal(same, True, "whether the part `body` is the very module that is handed in")
    return made


def new_parameters(candidate):
    """The shapes of all parameters that are not the body's."""
    named = built(candidate, body_of(), 4).named_parameters()
    return {name: list(each.shape) for name, each in named if not name.startswith("body.")}


def start(candidate):
    """The standard deviation of a new head's weights, in two digits, and the largest bias."""
    head = built(candidate, body_of(), 40).head
    return round(head.weight.std().item(), 2), head.bias.abs().max().item()


def shape(candidate):
    logits = built(candidate, body_of(), 4)(*padded([5, 3, 4], 5))
    return tuple(getattr(logits, "shape", ()))


def logits(candidate, lengths, length, causal):
    """The logits of a head with known weights, in evaluation mode."""
    made = built(candidate, body_of(causal), 4)
    with torch.no_grad():
        made.head.weight.copy_(torch.linspace(-1, 1, 32).reshape(4, 8))
        made.head.bias.copy_(torch.arange(4.0))
        return made.eval()(*padded(lengths, length))


def learns(candidate):
    """Whether a gradient reaches the body."""
    body = body_of()
    got = built(candidate, body, 4)(*padded([5, 3], 5))
    if got.requires_grad:
        got.square().sum().backward()
    return any(each.grad is not None and bool(each.grad.any()) for each in body.parameters())


def dropped(candidate):
    """With `dropout=0.5`: whether passes differ in training and in evaluation, and zeros occur."""
    made, batch = built(candidate, body_of(), 50, 0.5), padded([5, 3], 5)
    differ = [not made.train(mode)(*batch).equal(made(*batch)) for mode in (True, False)]
    return [*differ, bool((made.train()(*batch) == 0).any())]


task = Exercise(
    __name__,
    number="4.3",
    title="The classifier",
    difficulty=2,
    importance=5,
    minutes=10,
    hints=(
        "`__init__` keeps `body` as it is and makes two modules: `nn.Dropout(dropout)` and "
        "`nn.Linear(body.config.width, labels)`.",
        "`forward` has three steps: `self.body.hidden(tokens, mask)`, `last_token(hidden, mask)`, "
        "and the head of the dropout of that.",
        "`nn.init.normal_(self.head.weight, std=0.02)` and `nn.init.zeros_(self.head.bias)`; no "
        "softmax, since the loss takes logits.",
    ),
    imports="import torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    builds_on=("finetuning.last_token",),
    measure=logits,
    tolerance=1e-4,
)


@task.reference
class Classifier(nn.Module):
    """(batch, length) tokens and mask to (batch, labels) logits."""

    def __init__(self, body, labels, dropout=0.1):
        super().__init__()
        self.body, self.dropout = body, nn.Dropout(dropout)
        self.head = nn.Linear(body.config.width, labels)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, tokens, mask):
        hidden = self.body.hidden(tokens, mask)
        return self.head(self.dropout(last_token(hidden, mask)))


@task.truth
def each_text_alone(lengths, length, causal):
    (tokens, mask), body = padded(lengths, length), body_of(causal).eval()
    weight, bias = torch.linspace(-1, 1, 32).reshape(4, 8), torch.arange(4.0)
    with torch.no_grad():
        last = [body.hidden(row[keep][None])[0, -1] for row, keep in zip(tokens, mask, strict=True)]
        return torch.stack([weight @ each + bias for each in last])


task.stage(
    "its parts",
    case(
        "the parameters that are new, for a body of width 8 and 4 labels",
        measure=new_parameters,
        expected={"head.weight": [4, 8], "head.bias": [4]},
        hint="Only the head is new: `nn.Linear(body.config.width, labels)`.",
    ),
    case(
        "the standard deviation of a new head's weights, and the largest number in its bias",
        measure=start,
        expected=(0.02, 0.0),
        hint="Call `nn.init.normal_(self.head.weight, std=0.02)`, and `nn.init.zeros_` for the "
        "bias, because PyTorch draws a new head otherwise.",
    ),
)
task.stage(
    "one row of logits for each text",
    case("the shape of the logits of 3 texts, 4 labels", measure=shape, expected=(3, 4)),
    hint="There is one row of logits for each text: pool the vectors of its tokens first.",
)
task.stage(
    "the right numbers",
    case("the logits of two texts, one of them padded", [5, 2], 5, True),
    case("the logits of a body that sees both sides, both texts padded", [5, 2], 9, False),
    case(
        "whether a gradient reaches the body",
        measure=learns,
        expected=True,
        hint="The body would learn nothing: leave out `no_grad` and `.detach()`.",
    ),
    hint="The logits are `head(last_token(body.hidden(tokens, mask), mask))`.",
)
task.stage(
    "dropout",
    case(
        "with `dropout=0.5`, whether two passes differ in training mode, whether they differ in "
        "evaluation mode, and whether any logit is exactly 0",
        measure=dropped,
        expected=[True, False, False],
    ),
    case(
        "the default",
        {"dropout": 0.1},
        measure=defaults,
        expected={"dropout": 0.1},
        hint="`__init__` begins with `def __init__(self, body, labels, dropout=0.1):`.",
    ),
    hint="Drop features of the pooled vector, with `self.dropout`, before the head; not logits.",
)


def forward(wrong):
    return type("Classifier", (Classifier,), {"forward": wrong})


task.mistakes(
    (
        "The last position was read, which is a pad in shorter texts.",
        forward(lambda self, tokens, mask: self.head(self.body.hidden(tokens, mask)[:, -1])),
    ),
    (
        "The body must know where the pads are: `hidden(tokens, mask)`.",
        forward(lambda self, tokens, mask: self.head(last_token(self.body.hidden(tokens), mask))),
    ),
    (
        "These are probabilities, but the loss takes logits: leave out the softmax.",
        forward(lambda self, *given: Classifier.forward(self, *given).softmax(dim=-1)),
    ),
)
