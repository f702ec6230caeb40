"""Lesson 02: scaled dot-product attention with a mask."""

import math

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_gradients, expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise
from tlcourse.transformer import padding_mask

task = Exercise(
    __name__,
    number="2.1",
    title="Scaled dot-product attention with a mask",
    difficulty=2,
    minutes=10,
    hints=(
        "write the shape beside each step before you write the step.",
        "three lines: scores, softmax, mixture. Scores are `query @ key.transpose(-2, -1)`, "
        "divided by the root of `query.shape[-1]`; where there is a mask, "
        "`masked_fill(~mask, float('-inf'))` drops keys.",
        "the softmax runs over the keys, `dim=-1`; then `weights @ value`.",
    ),
    imports="import functools\nimport math\nimport random\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F",
)


@task.reference
def attention(query, key, value, mask=None):
    """(..., queries, head_dim), (..., keys, head_dim), (..., keys, dim) to (..., queries, dim)."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1) @ value


@task.right
def by_einsum(query, key, value, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.size(-1) ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    return torch.einsum("...qk,...kd->...qd", F.softmax(scores, -1), value)


@task.right
def by_the_library(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def draw(*shape, seed=0):
    """Standard normal numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def first_call(candidate, *parts):
    """What 2 sentences give, without a mask; the two most likely exceptions are explained."""
    try:
        return expect_unchanged(candidate, *parts)
    except (TypeError, AttributeError, RuntimeError) as error:
        raised = f"your code raised {type(error).__name__}: {error}."
        if "None" in str(error):
            likely = "`mask` may be None: use it only `if mask is not None`."
            raise CheckFailed(f"without a mask {raised} {likely}") from error
        try:
            expect_unchanged(candidate, *(part[0] for part in parts))
        except Exception:
            raise error from None
        right = "that was right for (queries, head_dim), but with a batch of 2 in front"
        likely = "`.T` reverses all dimensions; `key.transpose(-2, -1)` swaps the last two alone."
        raise CheckFailed(f"{right} {raised} {likely}") from error


def shape(candidate, *parts):
    """The shape of what comes out."""
    return tuple(expect_unchanged(candidate, *parts).shape)


@task.stage("shape")
def shapes(candidate):
    parts = draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 6)
    mixed = first_call(candidate, *parts)
    likely = task.diagnose(shape, parts, tuple(getattr(mixed, "shape", ()))) or (
        "Scores are (batch, queries, keys): is the key's last pair of dimensions swapped, and "
        "those alone (`key.transpose(-2, -1)`; `.T` reverses all)?"
    )
    what = "a batch of 2 with 3 queries, 5 keys of width 4 and values of width 6"
    expect_shape(mixed, (2, 3, 6), what, likely)
    task.observe(
        candidate, shape, draw(2, 7, 3, 4), draw(2, 7, 5, 4), draw(2, 7, 5, 6),
        gives=(2, 7, 3, 6), what="the shape of the same with 7 heads",
    )  # fmt: skip


@task.stage("the weights sum to one")
def weights(candidate):
    value, ones = draw(2, 1, 6), torch.ones(2, 5, 6)
    task.probe(
        candidate, draw(2, 1, 4), draw(2, 1, 4, seed=1), value, gives=value, tolerance=1e-5,
        what="one query and one key",
        likely="A single key gets all the attention, whatever its score, so its value must come "
        "back.",
    )  # fmt: skip
    task.probe(
        candidate, draw(2, 3, 4), draw(2, 5, 4, seed=1), ones, gives=ones[:, :3], tolerance=1e-5,
        what="values that are all 1",
        likely="The weights of a query sum to 1 over the keys: is the softmax over the last "
        "dimension?",
    )  # fmt: skip


def at(candidate, place, *parts):
    """One part of what comes out."""
    return expect_unchanged(candidate, *parts)[place]


@task.stage("the scale")
def scale(candidate):
    query = torch.full((1, 5, 4), math.log(3) / 2)
    key = torch.stack([torch.ones(4), torch.zeros(4)])[None]  # scores 2 ln 3 and 0
    value = torch.tensor([[1.0] * 3, [0.0] * 3])[None]
    task.observe(
        candidate, at, (0, 0, 0), query, key, value, gives=0.75, tolerance=1e-5,
        what="scores 2·ln 3 and 0 at width 4: the first weight",
        likely="Divided by sqrt(4) they are ln 3 and 0; the softmax is 3 to 1.",
    )  # fmt: skip


def unmoved(candidate, query, key, value, mask):
    """Whether a mask changes nothing."""
    got = expect_unchanged(candidate, query, key, value, mask)
    return torch.allclose(got, candidate(query, key, value), equal_nan=True)


@task.stage("the mask, seen by query 0")
def masked(candidate):
    query, key, value = (draw(2, 4, 8, seed=seed) for seed in range(3))
    keep = torch.ones(4, 4, dtype=torch.bool).tril()
    what = "a causal mask: whether the same comes out as without it"
    task.observe(candidate, unmoved, query, key, value, keep, gives=False, what=what)
    task.observe(
        candidate, at, (slice(None), 0), query, key, value, keep,
        gives=value[:, 0], tolerance=1e-5,
        what="query 0 under a causal mask",
        likely="It may look at key 0 only, so value 0 must come back whole. Scores are dropped by "
        "-infinity before the softmax; 0 is a score like any other, and weights that are removed "
        "after the softmax are missing in the sum.",
    )  # fmt: skip


OVERFLOW = "Does `exp` overflow? `softmax` first takes each row's largest score off."


@task.stage("the library's numbers")
def against_the_library(candidate):
    query, key, value = (draw(2, 3, 5, 8, seed=seed) for seed in range(3))
    mask = padding_mask(torch.tensor([5, 2]), 5)[:, None, None, :]
    usual = "Compared with `F.scaled_dot_product_attention`."
    large = 30 * query, 30 * key, value
    for what, parts, keep, likely in (
        ("two padded sentences, 3 heads", (query, key, value), mask, usual),
        ("3 heads without a mask", (query, key, value), None, usual),
        ("scores in the hundreds, no mask", large, None, usual),
        ("scores in the hundreds", large, mask, "Masked keys still get weight: use -infinity."),
    ):
        right = F.scaled_dot_product_attention(*parts, attn_mask=keep)
        if parts is large and not candidate(*parts, keep).isfinite().all():
            likely = OVERFLOW
        task.probe(candidate, *parts, keep, gives=right, what=what, likely=likely, tolerance=1e-4)
    asking = {"query": query, "key": key, "value": value}
    expect_gradients(candidate(*(part.requires_grad_() for part in asking.values()), mask), asking)


def mixed(scores, value, mask=None):
    """What is right from the scores on."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ value


def scaled(query, key):
    """The right scores."""
    return query @ key.mT / math.sqrt(query.shape[-1])


WEIGHTS = "These are the weights; the values are not mixed yet: `weights @ value`."
task.mistake("shape", WEIGHTS)(lambda query, key, *_: scaled(query, key).softmax(-1))


@task.mistake("shape", "Count dimensions from the end, -1 and -2, not from the front.")
def transposes_1_and_2(query, key, value, mask=None):
    return mixed(query @ key.transpose(1, 2) / math.sqrt(query.shape[-1]), value, mask)


@task.mistake(
    "the weights sum to one",
    "A single key gets all the attention, whatever its score, so its value must come back: divide "
    "the scores, before the softmax, not the weights.",
)
def scaled_after_the_softmax(query, key, value, mask=None):
    return mixed(query @ key.mT, value, mask) / math.sqrt(query.shape[-1])


def divided_by(root):
    """A wrong solution that divides the scores by `root(query, key, value)`."""
    return lambda query, key, value, mask=None: mixed(
        query @ key.mT / root(query, key, value), value, mask
    )


OTHER = "They are divided by the root of another size; head_dim is the query's last dimension."
for root, says in (
    (lambda q, k, v: 1, "Are the scores divided by anything? sqrt(head_dim) is 2 here."),
    (lambda q, k, v: q.shape[-1], "They are divided by head_dim; it should be its square root."),
    (lambda q, k, v: q.shape[-1] ** -0.5, "They are multiplied by sqrt(head_dim); divide."),
    (lambda q, k, v: q.shape[-2] ** 0.5, OTHER),
    (lambda q, k, v: k.shape[-2] ** 0.5, OTHER),
    (lambda q, k, v: v.shape[-1] ** 0.5, OTHER),
):
    task.mistake("the scale", says)(divided_by(root))


@task.mistake(
    "the scale", "The second key was not seen: without a mask every query looks at every key."
)
def always_causal(query, key, value, mask=None):
    causal = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    return mixed(scaled(query, key), value, causal if mask is None else mask)


def masks_by(wrong):
    """A wrong solution that is right without a mask and `wrong(scores, value, mask)` with one."""
    return lambda query, key, value, mask=None: (mixed if mask is None else wrong)(
        scaled(query, key), value, mask
    )


OPPOSITE = (
    "It saw only what comes after it. In this course True means keep; fill the scores where the "
    "mask is False (`~mask`)."
)
ZERO = "0 is a score like any other; drop keys by -infinity."
AFTER = "Weights removed after the softmax are missing in the sum: drop scores by -infinity before."
TURNED = "Is the mask transposed (`.mT`)? Its rows are queries, its columns are keys."
for says, wrong in (
    (OPPOSITE, lambda scores, value, mask: mixed(scores, value, ~mask)),
    (ZERO, lambda scores, value, mask: mixed(scores * mask, value)),
    (AFTER, lambda scores, value, mask: scores.softmax(-1) * mask @ value),
    ("Is the mask used?", lambda scores, value, mask: mixed(scores, value)),
    (TURNED, lambda scores, value, mask: mixed(scores, value, mask.mT)),
):
    task.mistake("the mask, seen by query 0", says)(masks_by(wrong))


@task.mistake("the library's numbers", "Use the mask that is given: this one drops pads.")
def the_mask_made_here(query, key, value, mask=None):
    keep = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)
    return mixed(scaled(query, key), value, keep if mask is None else keep.tril())
