"""Lesson 04: a classifier made of a body, a pooling and a linear layer."""

import torch
from torch import nn

from tlcourse.exercises.expect import expect_equal, expect_gradients, expect_type
from tlcourse.exercises.finetuning.last_token import last_token
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying
from tlcourse.transformer import Config, Transformer


def body_of(causal=True):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(varying(3))
        body = Transformer(Config(30, 8, 2, 2, 16, max_length=16, causal=causal))
        for parameter in body.parameters():
            nn.init.normal_(parameter, std=0.5)
    return body


def padded(lengths, length):
    """Random tokens, and the mask of texts of these lengths."""
    draw = torch.Generator().manual_seed(varying(2))
    mask = torch.arange(length) < torch.tensor(lengths)[:, None]
    return torch.randint(6, 30, mask.shape, generator=draw).masked_fill(~mask, 0), mask


def built(candidate, body, labels, dropout=0.0):
    """The candidate's classifier; raises CheckFailed if one of its parts is wrong."""
    torch.manual_seed(0)
    made = candidate(body, labels, dropout)
    expect_type(made, nn.Module, "an instance of your class")
    expect_type(getattr(made, "head", None), nn.Linear, "the part `head`")
    expect_type(getattr(made, "dropout", None), nn.Dropout, "the part `dropout`")
    expect_equal(made.dropout.p, dropout, f"the dropout rate with `dropout={dropout}`")
    same = getattr(made, "body", None) is body
    expect_equal(same, True, "whether the part `body` is the very module that was passed")
    return made


def new_parameters(candidate):
    """For each parameter outside the body: its shape, and its standard deviation to two digits."""
    named = built(candidate, body_of(), 40).named_parameters()
    new = [(name, each) for name, each in named if not name.startswith("body.")]
    return {name: (list(each.shape), round(each.std().item(), 2)) for name, each in new}


def shape(candidate):
    logits = built(candidate, body_of(), 4)(*padded([5, 3, 4], 5))
    return tuple(getattr(logits, "shape", ()))


def logits(candidate, lengths, length, causal):
    """The logits of a head with known weights; raises CheckFailed if the body has no gradient."""
    made = built(candidate, body := body_of(causal), 4)
    with torch.no_grad():
        made.head.weight.copy_(torch.linspace(-1, 1, 32).reshape(4, 8))
        made.head.bias.copy_(torch.arange(4.0))
    got = made.eval()(*padded(lengths, length))
    expect_gradients(got, {"body": next(body.parameters())})
    return got.detach()


def dropped(candidate):
    """Whether passes differ in training and evaluation mode, and whether a logit is 0."""
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
        "`__init__` keeps `body` unchanged and makes two modules: `nn.Dropout(dropout)` and "
        "`nn.Linear(body.config.width, labels)`.",
        "`forward` has four steps: `self.body.hidden(tokens, mask)`, `last_token(hidden, mask)`, "
        "dropout, and the head.",
        "`nn.init.normal_(self.head.weight, std=0.02)` and `nn.init.zeros_(self.head.bias)`; no "
        "softmax, because the loss takes logits.",
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
    case("the new parameters for a body of width 8 and 40 labels, and their standard deviations"),
    measure=new_parameters,
    expected=lambda: {"head.weight": ([40, 8], 0.02), "head.bias": ([40], 0.0)},
    hint="Only the head is new: `nn.Linear(body.config.width, labels)`. Call `nn.init.normal_("
    "self.head.weight, std=0.02)`, and `nn.init.zeros_` for its bias.",
)
task.stage(
    "one row of logits for each text",
    case("the shape of the logits of 3 texts, 4 labels", measure=shape, expected=(3, 4)),
    hint="There is one row of logits for each text: pool the vectors of its tokens first.",
)
task.stage(
    "the right numbers",
    case("the logits of two texts, one of them padded", [5, 2], 5, True),
    case("the logits of a bidirectional body, both texts padded", [5, 2], 9, False),
    hint="The logits are `head(last_token(body.hidden(tokens, mask), mask))`, without a softmax, "
    "because the loss takes logits.",
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
        "the dropout rate if none is given",
        measure=lambda candidate: candidate(body_of(), 4).dropout.p,
        expected=0.1,
        hint="`__init__` begins with `def __init__(self, body, labels, dropout=0.1):`.",
    ),
    hint="Apply `self.dropout` to the pooled vector, before the head, and not to the logits.",
)


def forward(wrong):
    """The reference with another `forward(self, tokens, mask)`."""
    return type("Classifier", (Classifier,), {"forward": wrong})


task.mistakes(
    (
        "This reads the last position, which is a pad in shorter texts: use "
        "`last_token(hidden, mask)`.",
        forward(lambda self, tokens, mask: self.head(self.body.hidden(tokens, mask)[:, -1])),
    ),
    (
        "The body does not know where the pads are, so tokens attend to them: call "
        "`self.body.hidden(tokens, mask)`.",
        forward(lambda self, tokens, mask: self.head(last_token(self.body.hidden(tokens), mask))),
    ),
    (
        "These are probabilities, but the loss takes logits: leave out the softmax.",
        forward(lambda self, *batch: Classifier.forward(self, *batch).softmax(dim=-1)),
    ),
)
