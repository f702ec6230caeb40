"""Lesson 04: a classifier, which is a body, a pooling and a linear layer."""

import torch
from torch import nn

from tlcourse.exercises.expect import defaults
from tlcourse.exercises.finetuning._classifiers import (
    dropping,
    learns,
    logits,
    parts,
    shape,
    start,
    truth,
    zeros,
)
from tlcourse.exercises.finetuning.last_token import last_token
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="4.3",
    title="The classifier",
    difficulty=2,
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


@task.right
class BySteps(nn.Module):
    def __init__(self, body, labels, dropout=0.1):
        super().__init__()
        self.add_module("head", nn.Linear(body.config.width, labels))
        self.add_module("dropout", nn.Dropout(p=dropout))
        self.body = body
        with torch.no_grad():
            self.head.weight.copy_(torch.randn(labels, body.config.width) * 0.02)
            self.head.bias.fill_(0.0)

    def forward(self, tokens, mask):
        states = self.body.hidden(tokens, padding_mask=mask)
        vector = states[torch.arange(len(states)), mask.long().sum(1) - 1]
        return self.dropout(vector) @ self.head.weight.T + self.head.bias


@task.right
class DropsStates(Classifier):
    def forward(self, tokens, mask):
        hidden = self.dropout(self.body.hidden(tokens, mask))
        return torch.stack(
            [self.head(row[keep][-1]) for row, keep in zip(hidden, mask, strict=True)]
        )


@task.stage("its parts")
def its_parts(candidate):
    for labels in (4, 7):
        task.observe(
            candidate, parts, labels, gives=([labels, 8], ["head.bias", "head.weight"]),
            what=f"a body of width 8 and {labels} labels: shape of the head, what is new",
            likely="Only the head is new: `nn.Linear(body.config.width, labels)`.",
        )  # fmt: skip
    task.observe(
        candidate, start, gives=(0.02, 0.0),
        what="a new head: standard deviation of its weights, largest bias",
        likely="`nn.init.normal_(self.head.weight, std=0.02)`; the bias is 0.",
    )  # fmt: skip


@task.stage("one row of logits for each text")
def one_row(candidate):
    task.observe(candidate, shape, [5, 3, 4], 4, gives=(3, 4), what="3 texts, 4 labels: the shape")


@task.stage("the right numbers")
def numbers(candidate):
    for lengths, length, causal, what in (
        ([5], 5, True, "one text without pads"),
        ([5, 2], 5, True, "two texts, one of them padded"),
        ([5, 2], 9, True, "pads in every row"),
        ([5, 2], 5, False, "a body that sees both sides, one text padded"),
    ):
        task.observe(
            candidate, logits, lengths, length, causal, gives=truth(lengths, length, causal),
            what=f"{what}: the logits", tolerance=1e-4,
            likely="They are `head(last_token(body.hidden(tokens, mask), mask))`.",
        )  # fmt: skip
    task.observe(
        candidate, learns, gives=True, what="whether a gradient reaches the body",
        likely="The body would learn nothing: leave out `no_grad` and `.detach()`.",
    )  # fmt: skip


@task.stage("dropout")
def dropout(candidate):
    task.observe(
        candidate, dropping, 0.5, gives=[True, False],
        what="`dropout=0.5`: whether two passes differ in training, and in evaluation",
        likely="The vector goes through `self.dropout` before the head.",
    )  # fmt: skip
    task.observe(
        candidate, zeros, gives=0.0, what="`dropout=0.5`: the share of logits that are 0",
        likely="Drop features of the vector, before the head, and not logits.",
    )  # fmt: skip
    task.observe(
        candidate, defaults, {"dropout": 0.1}, gives={"dropout": 0.1}, what="the default",
        likely="`__init__` begins with `def __init__(self, body, labels, dropout=0.1):`.",
    )  # fmt: skip


@task.mistake("the right numbers", "The last position was read, which is a pad in shorter texts.")
class LastPosition(Classifier):
    def forward(self, tokens, mask):
        return self.head(self.dropout(self.body.hidden(tokens, mask)[:, -1]))


@task.mistake("the right numbers", "The body must know where the pads are: `hidden(tokens, mask)`.")
class NoMask(Classifier):
    def forward(self, tokens, mask):
        return self.head(self.dropout(last_token(self.body.hidden(tokens), mask)))


@task.mistake("the right numbers", "These are probabilities; the loss takes logits. No softmax.")
class Probabilities(Classifier):
    def forward(self, tokens, mask):
        return super().forward(tokens, mask).softmax(dim=-1)


@task.mistake(
    "the right numbers",
    "The body would learn nothing: leave out `no_grad` and `.detach()`.",
)
class FrozenBody(Classifier):
    def forward(self, tokens, mask):
        with torch.no_grad():
            hidden = self.body.hidden(tokens, mask)
        return self.head(self.dropout(last_token(hidden, mask)))


@task.mistake("one row of logits for each text", "One row of logits for each text.")
class EveryToken(Classifier):
    def forward(self, tokens, mask):
        return self.head(self.dropout(self.body.hidden(tokens, mask)))


@task.mistake("dropout", "Drop features of the vector, before the head, and not logits.")
class DropsLogits(Classifier):
    def forward(self, tokens, mask):
        return self.dropout(self.head(last_token(self.body.hidden(tokens, mask), mask)))


@task.mistake("dropout", "Two passes in training mode are alike: the dropout is made and not used.")
class NoDropout(Classifier):
    def forward(self, tokens, mask):
        return self.head(last_token(self.body.hidden(tokens, mask), mask))


@task.mistake("its parts", "with `dropout=0.0` the part `dropout` drops 0.1.")
class FixedDropout(Classifier):
    def __init__(self, body, labels, dropout=0.1):
        super().__init__(body, labels, 0.1)


@task.mistake("its parts", "The head starts as PyTorch draws it: take std 0.02 and a bias of 0.")
class LargeStart(Classifier):
    def __init__(self, body, labels, dropout=0.1):
        super().__init__(body, labels, dropout)
        self.head.reset_parameters()
