"""Lesson 08: what each layer would predict if the model ended there."""

import copy

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_equal
from tlcourse.exercises.looking._common import changes, shape_of, tensor, tokens, toy
from tlcourse.exercises.task import Exercise, case


def lens(candidate, model, states, layers=slice(None)):
    """The candidate's logits of these layers. It gets the states, one tensor, as a list."""

    def logit_lens(hidden_states):
        handed = list(hidden_states)
        got = candidate(model, handed)
        what = "how many states are in `hidden_states` after the call"
        why = "Leave the list as it is, and iterate over it: `for state in hidden_states`."
        expect_equal(len(handed), len(hidden_states), what, why)
        return got

    return tensor(logit_lens, states)[layers]


def changed(candidate, model, states):
    """The differences in the model after the call."""
    return changes(model, lambda: lens(candidate, model, states))


task = Exercise(
    __name__,
    number="8.4",
    title="The logit lens",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "What does the model do with the last block's output before there are logits? Do the same "
        "with every state.",
        "First the last norm, `model.norm(state)`, which belongs to the model's end and not to a "
        "block. The last of `hidden_states` has not passed through it, either.",
        "Then the output layer: the product of (length, width) with the transposed embedding "
        "matrix, `normed @ model.embedding.weight.T`, `+ model.head_bias` if that is not None. "
        "`torch.stack([... for state in hidden_states])` makes one tensor of the list.",
    ),
    imports="import copy\nimport numpy as np\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F\nfrom tlcourse.transformer import record",
    measure=lens,
    tolerance=1e-4,
)


@task.reference
def logit_lens(model, hidden_states):
    """A list of states (length, width) to logits (layers + 1, length, vocabulary)."""
    normed = model.norm(torch.stack(list(hidden_states)))
    logits = normed @ model.embedding.weight.T
    return logits if model.head_bias is None else logits + model.head_bias


@task.truth
def by_library(model, states, layers=slice(None)):
    """The same in double precision, from the model's weights alone."""
    model = copy.deepcopy(model).double()
    weights = *model.norm.parameters(), model.norm.eps
    normed = F.layer_norm(states.double(), states.shape[-1:], *weights)
    return F.linear(normed, model.embedding.weight, model.head_bias)[layers].detach()


def states(seed, **changes):
    """A small model, and its states for one text, embeddings first: (layers + 1, length, width)."""
    model = toy(seed=seed, **changes)
    with torch.no_grad():
        return model, torch.cat(model.hidden_states(tokens(seed - 1)[:1]))


model, its_states = states(6)
task.stage(
    "shape",
    case("the shape of your logits for 2 blocks and 6 tokens", *states(1), expected=(3, 6, 11)),
    measure=shape_of(lens),
    hint="Return one tensor, (layers + 1, length, vocabulary), with every state of the list in it, "
    "the embeddings first: `torch.stack`.",
)
task.stage(
    "the last layer says what the model says",
    case("the logits [position, token] of the last layer", *states(2), -1),
    hint="They must be those of the model itself: `model.norm`, once, then the output layer. The "
    "last of `hidden_states` has not passed through the norm, either.",
)
task.stage(
    "every layer",
    case("the logits [layer, position, token] of 3 blocks", *states(3, layers=3)),
    hint="Every layer is followed by the same end: `model.norm`, then the output layer.",
)
task.stage(
    "a vocabulary as large as the width",
    case("the logits of layer 1, width 12, a vocabulary of 12", *states(4, vocabulary_size=12), 1),
    hint="The logit of a token is the product of the state with the *row* of that token: multiply "
    "by the transposed matrix.",
)
task.stage(
    "a model with a bias",
    case("the logits of layer 1 of a model with `head_bias`", *states(5, head_bias=True), 1),
    hint="Add `model.head_bias` to the logits if the model has one.",
)
task.stage(
    "the model stays as it is",
    case("what is different about the model afterwards", model.train(), its_states, expected=[]),
    measure=changed,
    hint="Leave the model as it was, in its mode, too: use neither `eval` nor `requires_grad_`.",
)


task.mistakes(
    (
        "The embedding matrix is (vocabulary, width): transpose it for the product with (length, "
        "width), `@ model.embedding.weight.T`.",
        lambda model, states: model.norm(torch.stack(states)) @ model.embedding.weight,
    ),
    (
        "This model has no bias, its `head_bias` is None: add one only if the model has one.",
        lambda model, states: model.logits(torch.stack(states)) + model.head_bias,
    ),
    (
        "The first state, that of the embeddings, is missing: every state of the list gets its "
        "logits.",
        lambda model, states: logit_lens(model, states[1:]),
    ),
    (
        "The last state is not normed: `hidden_states` are recorded before `model.norm`, so apply "
        "it to every one of them.",
        lambda model, states: model.logits(torch.stack(states)),
    ),
    (
        "The norm is applied twice, but the model applies it once: leave one of the two out.",
        lambda model, states: logit_lens(model, [*map(model.norm, states)]),
    ),
)
