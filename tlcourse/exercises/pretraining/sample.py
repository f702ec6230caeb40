"""Lesson 03: one token out of logits. Thousands are drawn and counted; the shares are known."""

import torch
from torch import Tensor

from tlcourse.exercises.expect import Wrong, real_number, short
from tlcourse.exercises.task import Exercise

DRAWS = 1500  # of each setting: shares are then right within 0.05, four standard deviations
CLOSE = 0.06

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


def drawn(candidate, logits: Tensor, settings: dict, seed: int = 0) -> int:
    """One token; raises Wrong where it is no whole number."""
    generator = torch.Generator().manual_seed(seed)
    handed = logits.clone()
    got = candidate(handed, **settings, generator=generator)
    if not handed.equal(logits):
        raise Wrong("your function changed `logits`, which it was given.")
    return token_of(got, len(logits))


def token_of(got, entries: int) -> int:
    number = real_number(got)
    if number is None or number != int(number) or not 0 <= number < entries:
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise Wrong(f"{entries} logits gave {came}; expected the id of a token, 0 to {entries - 1}")
    return int(number)


def shares(candidate, probabilities: list[float], settings: dict, seed: int = 0) -> list[float]:
    """How often each token comes, of 1,500 draws, where these are its probabilities."""
    logits = torch.tensor(probabilities).log() + 1.5
    generator = torch.Generator().manual_seed(seed)
    counts = [0] * len(probabilities)
    for _ in range(DRAWS):
        got = candidate(logits, **settings, generator=generator)
        counts[token_of(got, len(probabilities))] += 1
    return [count / DRAWS for count in counts]


def expect_shares(candidate, probabilities, settings, gives, likely):
    told = ", ".join(f"{name}={value}" for name, value in settings.items())
    given = " ".join(f"{each:g}" for each in probabilities)
    got = task.observe(
        candidate, shares, probabilities, settings, gives=gives, tolerance=CLOSE, likely=likely,
        what=f"probabilities {given}, {told}: the shares of {DRAWS:,} draws",
    )  # fmt: skip
    if any(share and right < 1e-9 for share, right in zip(got, gives, strict=True)):
        raise Wrong(f"probabilities {given}, {told}: a token came that was cut off. {likely}")


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
        raise Wrong(
            "generators of equal seed gave different tokens: draw from `generator`, as "
            "`torch.multinomial(…, generator=generator)` does."
        )
    if len(set(series[0])) == 1:
        raise Wrong("40 seeds of the generator all gave one token: draw from `generator`.")


@task.stage("temperature")
def temperature(candidate):
    likely = "Logits are divided by the temperature before the softmax."
    right = [1 / 17, 16 / 17, 0.0]
    expect_shares(candidate, [0.2, 0.8, 1e-12], {"temperature": 0.5, "top_k": 3}, right, likely)
    right = [1 / 3, 2 / 3]
    expect_shares(candidate, [0.2, 0.8], {"temperature": 2.0, "top_k": 2}, right, likely)


@task.stage("top-k")
def top_k(candidate):
    likely = "Only the k likeliest are left, and their probabilities are made to sum to 1."
    expect_shares(
        candidate, [0.1, 0.45, 0.15, 0.3], {"temperature": 1.0, "top_k": 2}, [0, 0.6, 0, 0.4],
        likely,
    )  # fmt: skip


@task.stage("top-p")
def top_p(candidate):
    four = [0.1, 0.5, 0.15, 0.25]
    settings = {"temperature": 1.0, "top_k": 4, "top_p": 0.6}
    likely = (
        "The likeliest are kept until they have at least 0.6 together: 0.5 is not enough, 0.5 + "
        "0.25 is."
    )
    expect_shares(candidate, four, settings, [0, 2 / 3, 0, 1 / 3], likely)
    likely = "0.5 alone is more than 0.3: one token is left, never none."
    expect_shares(candidate, four, settings | {"top_p": 0.3}, [0, 1, 0, 0], likely)


@task.stage("all together")
def together(candidate):
    likely = "First the temperature, then the top k, then the top p of what is left."
    settings = {"temperature": 0.5, "top_k": 3, "top_p": 0.9}
    # squared 0.36 0.09 0.04 0.01; of the first three 0.735 0.184 0.082: two reach 0.9
    expect_shares(candidate, [0.1, 0.6, 0.2, 0.3], settings, [0, 0.8, 0, 0.2], likely)
    settings = {"temperature": 1.0, "top_k": 2, "top_p": 0.6}
    likely = "top_p counts what is left after top_k: 0.4 of 0.6 is 0.67, which is enough."
    expect_shares(candidate, [0.2, 0.4, 0.2, 0.2 - 1e-3], settings | {"top_k": 2}, [0, 1, 0, 0],
                  likely)  # fmt: skip


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


def ignores_temperature_0(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    return sample(logits, temperature or 1.0, top_k, top_p, generator)


def always_the_likeliest(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    return int(logits.argmax())


def own_chance(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    return sample(logits, temperature, top_k, top_p)


for stage, says, wrong in (
    ("temperature 0", "With temperature 0 nothing is left to chance.", ignores_temperature_0),
    ("chance", "It always takes the likeliest; at temperature 1 it is drawn.",
     always_the_likeliest),
    ("chance", "generators of equal seed gave different tokens", own_chance),
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
):  # fmt: skip
    task.mistake(stage, says)(wrong)
