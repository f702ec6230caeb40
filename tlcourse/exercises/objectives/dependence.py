"""Lesson 10: the tokens on which the output at each position depends."""

import torch

from tlcourse.exercises.expect import CheckFailed, expect_shape
from tlcourse.exercises.looking._common import toy
from tlcourse.exercises.objectives._common import kind, with_model
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

IDS = 100  # of the models

task = Exercise(
    __name__,
    number="10.1",
    title="What does a prediction depend on?",
    difficulty=2,
    importance=4,
    minutes=10,
    hints=(
        "Run the model once on the text as it is. If you then change the token at position j and "
        "run it again, at which positions is the output different?",
        "Start from a fresh copy for every j: `changed = tokens.clone()`, and then `changed[j] = "
        "(tokens[j] + 1) % 100`.",
        "`(model(changed) != before).any(dim=-1)` is True at every position whose output has "
        "changed. This is column j of the result: `torch.stack(columns, dim=1)`.",
    ),
    imports="import torch",
)


@task.reference
def dependence(model, tokens):
    """(length, length), True at [i, j] if the output at position i depends on token j."""
    before = model(tokens)
    columns = []
    for j in range(len(tokens)):
        changed = tokens.clone()
        changed[j] = (tokens[j] + 1) % 100
        columns.append((model(changed) != before).any(dim=-1))
    return torch.stack(columns, dim=1)


def rows(matrix):
    """A matrix of booleans as rows of 0 and 1."""
    return matrix.int().tolist()


@task.truth
def as_built(sees, tokens, *row):
    return rows(sees)


def seeing(sees, peak=0.0, size=1.0, other=-1.0):
    """A model whose output at position i depends on the tokens j for which `sees[i, j]` is True.

    A row is `peak`, a number of this `size` that changes with each of these tokens, the same times
    `other`, and 0. So its sum is always the same, and with a large `peak` its most probable token,
    too. The number falls if an even id becomes the next one, and grows if an odd one does.
    """
    generator = torch.Generator().manual_seed(varying(0))
    sizes = 1.0 + torch.randperm(IDS, generator=generator)
    values = torch.where(torch.arange(IDS) % 2 == 0, sizes, -sizes)

    def model(tokens):
        why = "Change one token, and leave the length of the text as it is."
        if tokens.ndim > 1:
            why = "The model takes one text, not a batch: pass a tensor (length,)."
        expect_shape(tokens, (len(sees),), "what the model reads", why)
        sums = size * (sees.float() @ values[tokens])
        return torch.stack([torch.full_like(sums, peak), sums, other * sums, 0 * sums], dim=1)

    return model


def table(candidate, model, tokens):
    """The returned matrix as rows of 0 and 1.

    Raises CheckFailed if it has another shape, or if several tokens are changed at once.
    """

    def run(text):
        output, changed = model(text), int((text != tokens).sum())
        if changed > 1:
            came = f"a text in which {changed} tokens are changed"
            raise CheckFailed(check="what the model reads", yours=came, expected="one at most")
        return output

    with torch.no_grad():
        got = with_model(candidate, run, tokens)
    expect_shape(got, (len(tokens), len(tokens)), "what your function returns")
    return rows(got)


def of_seeing(candidate, sees, tokens, *row):
    return table(candidate, seeing(sees, *row), tokens)


def kind_of(candidate, sees, tokens):
    return kind(with_model(candidate, seeing(sees), tokens))


def of_transformer(candidate, causal, tokens):
    body = toy(vocabulary_size=IDS, causal=causal)
    return table(candidate, lambda tokens: body(tokens[None])[0], tokens)


task.measure = of_seeing


def drawn(length, seed):
    """Random ids from 60 to 98; a fixed id that replaces a token is seldom one of them."""
    generator = torch.Generator().manual_seed(varying(seed))
    return torch.randint(60, 99, (length,), generator=generator)


def square(length):
    return torch.ones(length, length, dtype=torch.bool)


def prefix(length, first):
    """A prefix of `first` tokens, which every position sees, and a causal rest."""
    return square(length).tril() | (torch.arange(length) < first)


def query_stream(order):
    """Each position sees the tokens that come before it in a random order (Yang et al., 2019)."""
    rank = torch.tensor(order).argsort()
    return rank[:, None] > rank


def random_case(seed):
    generator = torch.Generator().manual_seed(varying(100 + seed))
    length = 2 + seed % 5
    sees = torch.rand(length, length, generator=generator) < 0.5
    return case(f"a model of {length} tokens that sees {rows(sees)}", sees, drawn(length, seed))


task.stage(
    "a matrix of booleans",
    case("the result for 3 tokens", square(3), drawn(3, 1), expected=("booleans", 3, 3)),
    measure=kind_of,
    hint="Return one tensor with a row for each position and a column for each token. Comparing "
    "two tensors with `!=` gives booleans.",
)
task.stage(
    "each position sees its own token",
    case("a model that sees its own token only (1 = True)", torch.eye(3).bool(), drawn(3, 2)),
    hint="If you change token j, only the output at position j changes here. Compare it with the "
    "output for the original text, position by position: a row has changed if any of its numbers "
    "has.",
)
task.stage(
    "one side, both sides",
    case("a causal model", square(4).tril(), drawn(4, 3)),
    case(
        "a model that reads from right to left",
        *(square(4).triu(), drawn(4, 4)),
        hint="Here the output at position 0 depends on all tokens. Assume no mask: find every "
        "entry by changing a token and comparing the outputs.",
    ),
    case("a model that sees both sides", square(4), drawn(4, 5)),
    hint="[i, j] is about the output at position i and the token at position j. In a causal model "
    "the output at position 0 depends on token 0 only, so row 0 is 1 0 0 0.",
)
task.stage(
    "other masks",
    case("a model that always returns the same", ~square(3), drawn(3, 6)),
    case("a model that sees all of a prefix of 2 tokens", prefix(4, 2), drawn(4, 7)),
    case("a model that sees everything except its own token", ~torch.eye(4).bool(), drawn(4, 8)),
    case(
        "a model that sees the tokens before its own in the order 2 0 3 1",
        query_stream([2, 0, 3, 1]),
        drawn(4, 9),
    ),
    case("a causal model that always predicts id 0", square(4).tril(), drawn(4, 14), 1e6),
    case(
        "a causal model whose outputs change by less than a millionth",
        *(square(4).tril(), drawn(4, 15), 0.0, 1e-12),
        hint="Any difference counts, however small: compare with `!=`, without a tolerance.",
    ),
    case(
        "a causal model of which only one number changes, up for some tokens and down for others",
        *(square(4).tril(), torch.arange(60, 64), 0.0, 1.0, 0.0),
        hint="A number that has become smaller has changed, too: compare with `!=`.",
    ),
    *map(random_case, range(10)),
    hint="Assume nothing about the model: whatever mask it has, change one token and look which "
    "rows of the output are different.",
)
task.stage(
    "any token",
    case("a text of one token", square(1), drawn(1, 10)),
    case("the same token four times", square(4).tril(), drawn(1, 11).expand(4).clone()),
    case("the tokens 0, 1, 2 and so on up to 99", torch.eye(100).bool(), torch.arange(100)),
    hint="Token j has to become *another* token, whatever it was: `(tokens[j] + 1) % 100` does "
    "that. Replacing it by a fixed id changes nothing where this id is there already.",
)
task.stage(
    "a Transformer",
    case("a causal Transformer", True, drawn(5, 12), expected=rows(square(5).tril())),
    case("a Transformer without a causal mask", False, drawn(5, 13), expected=rows(square(5))),
    measure=of_transformer,
    hint="The expected result follows from the mask of the attention. Do you run the model on the "
    "whole text each time?",
)


def changed_rows(one, other):
    return (one != other).any(-1)


def comparing(differs=changed_rows, new=lambda token: (token + 1) % 100):
    """The reference with another comparison of two outputs, or another token, `new(token)`."""

    def wrong(model, tokens):
        columns = []
        for j in range(len(tokens)):
            changed = tokens.clone()
            changed[j] = new(tokens[j])
            columns.append(differs(model(tokens), model(changed)))
        return torch.stack(columns, dim=1)

    return wrong


def without_last(model, tokens):
    found = dependence(model, tokens)
    found[:, -1] = False
    return found


def piling_up(model, tokens):
    before, changed, columns = model(tokens), tokens.clone(), []
    for j in range(len(tokens)):
        changed[j] = (tokens[j] + 1) % 100
        columns.append((model(changed) != before).any(dim=-1))
    return torch.stack(columns, dim=1)


task.mistakes(
    (
        "Rows and columns have changed places. What you learn by changing token j is column j: "
        "stack with `dim=1`.",
        lambda model, tokens: dependence(model, tokens).T,
    ),
    (
        "The earlier tokens are still changed when you change token j. Start from a fresh copy of "
        "`tokens` for every j.",
        piling_up,
    ),
    (
        "The outputs are compared as a whole here, so one changed position counts as a change at "
        "all of them. Compare them position by position.",
        comparing(lambda one, other: (one != other).any().expand(len(one))),
    ),
    (
        "Only the most probable token is compared here. The output can change while it stays the "
        "same, so compare all numbers of a row.",
        comparing(lambda one, other: one.argmax(-1) != other.argmax(-1)),
    ),
    (
        "No change is found here. An output has changed if *any* of its numbers has: compare all "
        "numbers of a row one by one, not their sum, and use `any`, not `all`.",
        comparing(lambda one, other: (one != other).all(-1)),
    ),
    (
        "The last token is never changed here, so the last column is empty: j goes from 0 to "
        "`len(tokens) - 1`.",
        without_last,
    ),
    (
        "Token 99 becomes 100 here, and a vocabulary of 100 ends at 99: `(tokens[j] + 1) % 100`.",
        comparing(new=lambda token: token + 1),
    ),
    (
        "The result is inverted: True means that the output at position i has changed.",
        lambda model, tokens: ~dependence(model, tokens),
    ),
)
