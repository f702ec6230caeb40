"""Lesson 03: one token out of logits. Hundreds are drawn and counted; the shares are known."""

import torch

from tlcourse.exercises.expect import CheckFailed
from tlcourse.exercises.pretraining._draws import (
    DRAWS,
    FEW,
    drawn,
    shares,
    those_that_come,
    told,
)
from tlcourse.exercises.task import Exercise

CLOSE = 0.09  # of a share, see DRAWS

task = Exercise(
    __name__,
    number="3.5",
    title="Pick the next token",
    difficulty=3,
    minutes=15,
    hints=(
        "what is left for chance when the temperature is 0? Return that first: `int(logits."
        "argmax())`. Then there is nothing to divide by 0.",
        "`best, ids = (logits / temperature).topk(min(top_k, len(logits)))` sorts and cuts in one; "
        "`probabilities = best.softmax(-1)` are those of the tokens that are left.",
        "for top-p: `before = probabilities.cumsum(-1) - probabilities` is how much the likelier "
        "ones have together. Keep a token where `before < top_p`: `probabilities * (before < "
        "top_p)`.",
        "`torch.multinomial(probabilities, 1, generator=generator)` draws a place, whatever the "
        "sum of the probabilities is; `int(ids[place])` is the token.",
    ),
    imports="import math\nimport torch\nfrom torch.nn import functional as F",
)


@task.reference
def sample(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    """(vocabulary,) logits to one id: temperature, then the top k, then the top p, then chance."""
    if temperature == 0:
        return int(logits.argmax())
    best, ids = (logits / temperature).topk(min(top_k, len(logits)))
    probabilities = best.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities  # what the likelier ones have together
    place = torch.multinomial(probabilities * (before < top_p), 1, generator=generator)
    return int(ids[place])


@task.right
def by_masking(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    if temperature == 0:
        return logits.argmax().item()
    scores = logits / temperature
    order = scores.argsort(descending=True)
    kept = torch.full_like(scores, float("-inf"))
    kept[order[:top_k]] = scores[order[:top_k]]
    shares, total = kept.softmax(-1), 0.0
    for token in order.tolist():
        if total >= top_p:
            kept[token] = float("-inf")
        total += shares[token].item()
    return torch.multinomial(kept.softmax(-1), 1, generator=generator).item()


@task.right
def by_the_inverse(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    cold = max(temperature, 1e-9)
    pairs = sorted(((score / cold, n) for n, score in enumerate(logits.tolist())), reverse=True)
    pairs = pairs[:top_k]
    weights = [2.718281828459045 ** (score - pairs[0][0]) for score, _ in pairs]
    total, kept = sum(weights), []
    for weight in weights:
        if sum(kept) >= top_p * total:
            break
        kept.append(weight)
    left = torch.rand(1, generator=generator).item() * sum(kept)
    for weight, (_, token) in zip(kept, pairs, strict=False):
        left -= weight
        if left < 0:
            return token
    return pairs[0][1]


def expect_shares(candidate, probabilities, settings, gives, likely):
    task.observe(
        candidate, shares, probabilities, settings, gives=gives, tolerance=CLOSE, likely=likely,
        what=f"{told(probabilities, settings)}: the shares of {DRAWS} draws",
    )  # fmt: skip


def expect_tokens(candidate, probabilities, settings, gives, likely):
    task.observe(
        candidate, those_that_come, probabilities, settings, gives=gives, likely=likely,
        what=f"{told(probabilities, settings)}: the ids that come in {FEW} draws",
    )  # fmt: skip


@task.stage("one id")
def one_id(candidate):
    logits = torch.tensor([0.5, 3.0, -1.0, 2.0])
    for settings in ({}, {"temperature": 0.7}, {"top_k": 100}, {"top_k": 2, "top_p": 0.5}):
        drawn(candidate, logits, settings)


@task.stage("temperature 0")
def cold(candidate):
    logits = torch.tensor([0.5, 3.0, -1.0, 2.9])
    for seed in range(20):
        likely = "It takes the likeliest token, the one of the largest logit, each time."
        task.observe(
            candidate, drawn, logits, {"temperature": 0}, seed, gives=1, likely=likely,
            what="logits 0.5 3.0 -1.0 2.9, temperature=0: the token",
        )  # fmt: skip


@task.stage("chance")
def chance(candidate):
    four = [0.2, 0.5, 0.05, 0.25]
    likely = "Each token comes as often as the softmax of the logits says."
    expect_shares(candidate, four, {"temperature": 1.0, "top_k": 4}, four, likely)
    logits = torch.tensor(four).log()
    settings = {"temperature": 1.0, "top_k": 4}
    series = [[drawn(candidate, logits, settings, seed) for seed in range(40)] for _ in range(2)]
    if series[0] != series[1]:
        raise CheckFailed(
            "generators of equal seed gave different tokens: draw from `generator`, as "
            "`torch.multinomial(…, generator=generator)` does."
        )
    if len(set(series[0])) == 1:
        raise CheckFailed("40 seeds of the generator all gave one token: draw from `generator`.")


@task.stage("temperature")
def temperature(candidate):
    likely = "Logits are divided by the temperature before the softmax."
    right = [1 / 17, 16 / 17, 0.0]
    expect_shares(candidate, [0.2, 0.8, 1e-12], {"temperature": 0.5, "top_k": 3}, right, likely)
    right = [0.25, 0.75]
    expect_shares(candidate, [0.1, 0.9], {"temperature": 2.0, "top_k": 2}, right, likely)


@task.stage("top-k")
def top_k(candidate):
    likely = "Only the 2 likeliest are left."
    settings = {"temperature": 1.0, "top_k": 2}
    expect_tokens(candidate, [0.1, 0.45, 0.15, 0.3], settings, [1, 3], likely)


@task.stage("top-p")
def top_p(candidate):
    four = [0.1, 0.5, 0.15, 0.25]
    settings = {"temperature": 1.0, "top_k": 4, "top_p": 0.6}
    likely = (
        "The likeliest are kept until they have at least 0.6 together: 0.5 is not enough, 0.5 + "
        "0.25 is."
    )
    expect_tokens(candidate, four, settings, [1, 3], likely)
    likely = "0.5 alone is more than 0.3: one token is left, never none."
    expect_tokens(candidate, four, settings | {"top_p": 0.3}, [1], likely)


@task.stage("all together")
def together(candidate):
    likely = "top_p counts what is left after top_k: 0.4 of 0.6 is 0.67, which is enough."
    settings = {"temperature": 1.0, "top_k": 2, "top_p": 0.6}
    expect_tokens(candidate, [0.2, 0.4, 0.19, 0.21], settings, [1], likely)
    # squared 0.36 0.09 0.04 0.01; of the first three 0.735 0.184 0.082: two reach 0.9
    likely = "First the temperature, then the top k, then the top p of what is left."
    settings = {"temperature": 0.5, "top_k": 3, "top_p": 0.9}
    expect_tokens(candidate, [0.1, 0.6, 0.2, 0.3], settings, [1, 3], likely)
    expect_shares(candidate, [0.1, 0.6, 0.2, 0.3], settings, [0, 0.8, 0, 0.2], likely)


def other(warmer=lambda logits, t: logits / t, cut=lambda best, ids, k: (best[:k], ids[:k]),
          keep=lambda before, p, top_p: before < top_p, draw=None):  # fmt: skip
    """A sampler with one of its parts done otherwise."""

    def function(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
        if temperature == 0:
            return int(logits.argmax())
        best, ids = warmer(logits, temperature).sort(descending=True)
        best, ids = cut(best, ids, top_k)
        probabilities = best.softmax(-1)
        kept = keep(probabilities.cumsum(-1) - probabilities, probabilities, top_p)
        place = torch.multinomial(probabilities * kept, 1, generator=generator)
        return int(ids[place]) if draw is None else draw(ids, place)

    return function


def top_p_first(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    best, ids = (logits / max(temperature, 1e-6)).sort(descending=True)
    shares = best.softmax(-1)
    kept = shares * (shares.cumsum(-1) - shares < top_p) * (torch.arange(len(ids)) < top_k)
    return int(ids[torch.multinomial(kept, 1, generator=generator)])


def temperature_last(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    if temperature == 0:
        return int(logits.argmax())
    best, ids = logits.topk(min(top_k, len(logits)))
    shares = best.softmax(-1)
    kept = (best / temperature).softmax(-1) * (shares.cumsum(-1) - shares < top_p)
    return int(ids[torch.multinomial(kept, 1, generator=generator)])


def ignores_temperature_0(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    return sample(logits, temperature or 1.0, top_k, top_p, generator)


def always_the_likeliest(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    return int(logits.argmax())


for stage, says, wrong in (
    ("temperature 0", "With temperature 0 nothing is left to chance.", ignores_temperature_0),
    ("chance", "It always takes the likeliest; at temperature 1 it is drawn.",
     always_the_likeliest),
    ("chance", "This is the place among the sorted tokens; its id is `ids[place]`.",
     other(draw=lambda ids, place: int(place))),
    ("temperature", "The temperature is not used.", other(warmer=lambda logits, t: logits)),
    ("temperature", "Logits were multiplied with the temperature; they are divided by it.",
     other(warmer=lambda logits, t: logits * t)),
    ("top-k", "All tokens can still be drawn: `top_k` is not used.",
     other(cut=lambda best, ids, k: (best, ids))),
    ("top-k", "These are the *least* likely.",
     other(cut=lambda best, ids, k: (best[-k:], ids[-k:]))),
    ("top-p", "`top_p` is not used.", other(keep=lambda before, p, top_p: before > -1)),
    ("top-p", "The token that reaches `top_p` is kept, too; here it was dropped.",
     other(keep=lambda before, p, top_p: (before + p <= top_p) | (before == 0))),
    ("all together", "`top_p` was counted over all tokens; the top k come first, and what is left "
     "sums to 1.", top_p_first),
    ("all together", "`top_p` was counted before the temperature: divide the logits by it first.",
     temperature_last),
):  # fmt: skip
    task.mistake(stage, says)(wrong)
