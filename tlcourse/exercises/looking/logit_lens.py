"""Lesson 08: what each layer would say if the model ended there.

The true answer is that of a model whose later blocks write nothing.
"""

import copy

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_shape, expect_unchanged
from tlcourse.exercises.looking._common import changes, tokens, toy
from tlcourse.exercises.looking._lens import (
    by,
    in_evaluation,
    norms_all_but_the_last,
    norms_the_last_alone,
    norms_the_last_twice,
    takes_them_out,
)
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="8.4",
    title="The logit lens",
    difficulty=3,
    minutes=15,
    hints=(
        "what does the model do with the last block's output before there are logits? Do the same "
        "with every state.",
        "first the last norm, `model.norm(state)`, which is part of the model's end, not of a "
        "block. The last of `hidden_states` has not been through it, either.",
        "then the output layer: a product of (length, width) with the embedding matrix, turned: "
        "`normed @ model.embedding.weight.T`, and `+ model.head_bias` if that is not None.",
        "`torch.stack([... for state in hidden_states])` makes one tensor of the list.",
    ),
    imports="import copy\nimport numpy as np\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F\nfrom tlcourse.transformer import record",
)


@task.reference
def logit_lens(model, hidden_states):
    """A list of states (length, width) to logits (layers + 1, length, vocabulary)."""
    normed = model.norm(torch.stack(list(hidden_states)))
    logits = normed @ model.embedding.weight.T
    return logits if model.head_bias is None else logits + model.head_bias


@task.right
def by_the_models_own_end(model, hidden_states):
    return torch.stack([model.logits(model.norm(state)) for state in hidden_states])


@task.right
def by_hand(model, hidden_states):
    norm, found = model.norm, []
    for state in hidden_states:
        centred = state - state.mean(dim=-1, keepdim=True)
        root = (centred.square().mean(dim=-1, keepdim=True) + norm.eps).sqrt()
        scaled = centred / root * norm.weight + norm.bias
        found.append(F.linear(scaled, model.embedding.weight, model.head_bias)[None])
    return torch.cat(found)


def states_of(model, ids):
    """The states of one text, embeddings first: (layers + 1, length, width)."""
    with torch.no_grad():
        return torch.cat(model.hidden_states(ids[:1]))


def called(candidate, model, states):
    """What comes out; raises CheckFailed for no tensor. A model never equals its copy: see `changes`."""

    def run(hidden_states):
        handed = list(hidden_states)
        got = candidate(model, handed)
        if len(handed) != len(hidden_states):
            raise CheckFailed(EMPTIED)
        return got

    with torch.no_grad():
        got = expect_unchanged(run, states)
    if not hasattr(got, "detach"):
        expect_shape(got, (len(states), states.shape[1], model.config.vocabulary_size), STATES)
    return got


def lens(candidate, model, states):
    """What comes out, (layers + 1, length, vocabulary); raises CheckFailed for another shape."""
    got = called(candidate, model, states)
    shape = len(states), states.shape[1], model.config.vocabulary_size
    expect_shape(got, shape, f"{len(states)} {STATES}", SHAPE)
    return got


def shape_of(candidate, model, states):
    """The shape of what comes out."""
    return tuple(called(candidate, model, states).shape)


def layer_of_lens(candidate, model, states, layer):
    """The logits of one layer, (length, vocabulary)."""
    return lens(candidate, model, states)[layer]


def changed(candidate, model, states):
    """What is different about the model afterwards."""
    return changes(model, lambda: lens(candidate, model, states))


def cut_off(model, layers, ids):
    """The true answer, (length, vocabulary): the logits of a model whose later blocks are mute."""
    short = copy.deepcopy(model)
    with torch.no_grad():
        for block in short.blocks[layers:]:
            for part in (block.attention.output, block.down):
                part.weight.zero_(), part.bias.zero_()
        return short(ids)[0]


@task.stage("shape")
def shape(candidate):
    model = toy(seed=1)
    task.observe(
        candidate, shape_of, model, states_of(model, tokens()), gives=(3, 6, 11),
        what="the states of 2 blocks, 6 tokens, a vocabulary of 11: the shape", likely=SHAPE,
    )  # fmt: skip


@task.stage("the last layer says what the model says")
def last(candidate):
    model, ids = toy(seed=2), tokens(1)
    task.observe(
        candidate, layer_of_lens, model, states_of(model, ids), -1, gives=cut_off(model, 2, ids),
        what="the logits [position, token] of the last layer", tolerance=1e-4,
        likely="They must be those of the model itself: `model.norm`, then the output layer.",
    )  # fmt: skip


@task.stage("every layer")
def every(candidate):
    model, ids = toy(seed=3, layers=3), tokens(2)
    right = torch.stack([cut_off(model, n, ids) for n in range(4)])
    task.observe(
        candidate, lens, model, states_of(model, ids), gives=right, tolerance=1e-4,
        what="the logits [layer, position, token]", likely=EVERY,
    )  # fmt: skip


@task.stage("a vocabulary as large as the width")
def square(candidate):
    model, ids = toy(seed=4, vocabulary_size=12), tokens(3)
    task.observe(
        candidate, layer_of_lens, model, states_of(model, ids), 1, gives=cut_off(model, 1, ids),
        what="width 12, a vocabulary of 12: the logits of layer 1", tolerance=1e-4, likely=PRODUCT,
    )  # fmt: skip


@task.stage("a model with a bias")
def bias(candidate):
    model, ids = toy(seed=5, head_bias=True), tokens(4)
    task.observe(
        candidate, layer_of_lens, model, states_of(model, ids), 1, gives=cut_off(model, 1, ids),
        what="the logits of layer 1 of a model with `head_bias`", tolerance=1e-4, likely=BIAS,
    )  # fmt: skip


@task.stage("the model stays as it is")
def stays(candidate):
    model = toy(seed=6).train()
    task.observe(
        candidate, changed, model, states_of(model, tokens()), gives=[],
        what="what is different about the model afterwards", likely=LOOK,
    )  # fmt: skip


STATES = "states (length, width)"
SHAPE = (
    "One tensor, (layers + 1, length, vocabulary), with every state of the list in it, the "
    "embeddings first: `torch.stack`."
)
FIRST_LEFT = "The embeddings count, too: every state of the list gets its logits."
TURNED = (
    "The embedding matrix is (vocabulary, width): the product with (length, width) takes it "
    "turned, `@ model.embedding.weight.T`."
)
NO_NORM = (
    "This state was not normed. `model.norm` comes after the last block, so the last of "
    "`hidden_states` has not been through it, either."
)
TWICE = "The norm was applied twice: once is what the model does."
PLAIN = "LayerNorm has a gain and a bias that were learnt: call `model.norm`."
OTHER = "That is the norm of a block. The one before the output layer is `model.norm`."
SHARES = "These are not logits: leave out the softmax."
ALL_ONE = "The norm works on each position alone, over the last dimension; here it went further."
EVERY = "Every layer gets the same end: `model.norm`, then the output layer."
PRODUCT = "The logit of a token is the product of the state with the *row* of that token."
BIAS = "`model.head_bias` is added to the logits where the model has one."
NO_BIAS = "This model has no bias, its `head_bias` is None: add one only where there is one."
EMPTIED = (
    "your function took states out of the list that it was given. Walk through it instead: "
    "`for state in hidden_states`."
)
LOOK = "Looking changes nothing: the model must be left as it came, in its mode, too."


for stage, says, wrong in (
    ("shape", FIRST_LEFT, lambda model, states: logit_lens(model, states[1:])),
    ("shape", "Every state of the list gets its logits; this is the last one alone.",
     lambda model, states: logit_lens(model, states[-1:])[0]),
    ("shape", TURNED, by(head=lambda model, x: x @ model.embedding.weight)),
    ("shape", TURNED, by(head=lambda model, x: model.embedding(x))),
    ("shape", NO_BIAS, by(head=lambda model, x: model.logits(x) + model.head_bias)),
    ("shape", EMPTIED, takes_them_out),
    ("the last layer says what the model says", NO_NORM, by(norm=lambda model, x: x)),
    ("the last layer says what the model says", NO_NORM, norms_all_but_the_last),
    ("the last layer says what the model says", TWICE,
     by(norm=lambda model, x: model.norm(model.norm(x)))),
    ("the last layer says what the model says", TWICE, norms_the_last_twice),
    ("the last layer says what the model says", PLAIN,
     by(norm=lambda model, x: F.layer_norm(x, x.shape[-1:]))),
    ("the last layer says what the model says", OTHER,
     by(norm=lambda model, x: model.blocks[-1].attention_norm(x))),
    ("the last layer says what the model says", OTHER,
     by(norm=lambda model, x: model.blocks[-1].feed_forward_norm(x))),
    ("the last layer says what the model says", SHARES,
     by(finish=lambda logits: logits.softmax(-1))),
    ("the last layer says what the model says", SHARES,
     by(finish=lambda logits: logits.log_softmax(-1))),
    ("the last layer says what the model says", ALL_ONE,
     by(norm=lambda model, x: F.layer_norm(x, x.shape) * model.norm.weight + model.norm.bias)),
    ("every layer", EVERY, norms_the_last_alone),
    ("a model with a bias", BIAS, by(head=lambda model, x: x @ model.embedding.weight.T)),
    ("a vocabulary as large as the width", TURNED,
     by(head=lambda model, x: x @ (
         model.embedding.weight if len(model.embedding.weight) == x.shape[-1]
         else model.embedding.weight.T))),
    ("the model stays as it is", LOOK, in_evaluation),
):  # fmt: skip
    task.mistake(stage, says)(wrong)
