"""Lesson 03: one token drawn from logits. The checks count hundreds of draws."""

import torch

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, real_number
from tlcourse.exercises.pretraining._common import told
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

DRAWS, FEW = 600, 100  # to measure the shares of tokens, and to see which tokens occur


def draws(candidate, logits, settings, count=1, seed=0):
    """`count` tokens of one generator; raises CheckFailed if one is not an id."""
    generator, found = torch.Generator().manual_seed(seed), []

    def drawn(logits):
        return [candidate(logits, **settings, generator=generator) for _ in range(count)]

    for got in expect_unchanged(drawn, logits):
        token = real_number(got)
        if token is None or token not in range(len(logits)):
            due = f"the id of a token, 0 to {len(logits) - 1}"
            check = f"what your function returns for {len(logits)} logits, {in_words(settings)}"
            raise CheckFailed(check=check, yours=told(got), expected=due)
        found.append(int(token))
    return found


def shares(candidate, probabilities, settings):
    """The share of each token among the draws, for these probabilities."""
    logits = torch.tensor(probabilities).log() + 1.5
    found = draws(candidate, logits, settings, DRAWS)
    return [found.count(token) / DRAWS for token in range(len(logits))]


def tokens(candidate, probabilities, settings):
    """The tokens that occur."""
    return sorted({*draws(candidate, torch.tensor(probabilities).log(), settings, FEW, seed=1)})


def by_seed(candidate, logits, settings, count):
    """The first token of each of `count` generators."""
    return [draws(candidate, logits, settings, seed=seed)[0] for seed in range(count)]


def defaults(candidate, logits, count):
    """Whether the tokens without settings are those of the defaults."""
    settings = {"temperature": 1.0, "top_k": 50, "top_p": 1.0}
    return by_seed(candidate, logits, {}, count) == by_seed(candidate, logits, settings, count)


def in_words(settings):
    return ", ".join(f"{name}={value}" for name, value in settings.items()) or "no settings"


task = Exercise(
    __name__,
    number="3.5",
    title="Pick the next token",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "What is left to chance if the temperature is 0? Handle this case first, with `int(logits."
        "argmax())`, and you never divide by 0.",
        "`best, ids = (logits / temperature).topk(min(top_k, len(logits)))` sorts and cuts; "
        "`probabilities = best.softmax(-1)` are those of the remaining tokens.",
        "For top-p, `before = probabilities.cumsum(-1) - probabilities` is the total probability "
        "of the likelier tokens. Keep a token where `before < top_p`: `probabilities * (before < "
        "top_p)`.",
        "`torch.multinomial(probabilities, 1, generator=generator)` draws a position, whatever the "
        "probabilities sum to; `int(ids[position])` is the token.",
    ),
    imports="import math\nimport torch\nfrom torch.nn import functional as F",
    tolerance=0.09,  # of a share: over four standard deviations of 600 draws
)


@task.reference
def sample(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    """(vocabulary,) logits to one id: temperature, then the top k, then the top p, then chance."""
    if temperature == 0:
        return int(logits.argmax())
    best, ids = (logits / temperature).topk(min(top_k, len(logits)))
    probabilities = best.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities  # of the likelier tokens
    position = torch.multinomial(probabilities * (before < top_p), 1, generator=generator)
    return int(ids[position])


def of(probabilities, settings, expected, hint):
    """A case: compares shares if fractions are expected, and otherwise the tokens that occur."""
    settings = dict(zip(("temperature", "top_k", "top_p"), settings, strict=False))
    fractions = isinstance(expected[-1], float)
    seen = f"the shares of {DRAWS} draws" if fractions else f"the ids that occur in {FEW} draws"
    what = f"{seen}, probabilities {probabilities}, {in_words(settings)}"
    measure = shares if fractions else tokens
    return case(what, probabilities, settings, expected=expected, measure=measure, hint=hint)


four = [0.2, 0.5, 0.05, 0.25]
many = torch.randn(30, generator=torch.Generator().manual_seed(varying(0)))
task.stage(
    "one id",
    case(
        "the number of ids that one draw returns, temperature=0.7",
        *(torch.tensor([0.5, 3.0, -1.0, 2.9]), {"temperature": 0.7}),
        expected=1,
    ),
    measure=lambda *given: len(draws(*given)),
)
task.stage(
    "temperature 0",
    case(
        "the tokens of 20 seeds for the logits 0.5 3.0 -1.0 2.999, temperature=0",
        *(torch.tensor([0.5, 3.0, -1.0, 2.999]), {"temperature": 0}, 20),
        expected=[1] * 20,
        measure=by_seed,
    ),
    case(
        "the tokens of 2 seeds for 30 logits, temperature=0",
        *(many, {"temperature": 0}, 2),
        expected=[int(many.argmax())] * 2,
        measure=by_seed,
    ),
    hint="With temperature 0 nothing is left to chance: always return the token with the largest "
    "logit.",
)
task.stage(
    "chance",
    of(
        four,
        (1.0, 4),
        four,
        "Draw each token with its softmax probability, and return its id.",
    ),
    case(
        "whether two generators with the same seed give the same token, for each of 40 seeds",
        *(torch.tensor(four).log(), {"temperature": 1.0, "top_k": 4}, 40),
        expected=True,
        measure=lambda *given: by_seed(*given) == by_seed(*given),
        hint="Draw from `generator`, as `torch.multinomial(…, generator=generator)` does.",
    ),
)
task.stage(
    "temperature",
    of(
        *([0.1, 0.9], (2.0, 2), [0.25, 0.75]),
        "Divide the logits by the temperature before the softmax.",
    ),
)
task.stage("top-k", of([0.1, 0.45, 0.15, 0.3], (1.0, 2), [1, 3], "Keep only the 2 likeliest."))
task.stage(
    "top-p",
    of(
        *([0.1, 0.5, 0.15, 0.25], (1.0, 4, 0.6), [1, 3]),
        "Keep the likeliest until they have at least 0.6 together: 0.5 is not enough, 0.5 + "
        "0.25 is.",
    ),
)
task.stage(
    "all together",
    of(
        *([0.2, 0.4, 0.19, 0.21], (1.0, 2, 0.6), [1]),
        "`top_p` applies to what `top_k` leaves: 0.4 of 0.6 is 0.67, which is enough.",
    ),
    of(  # squared 0.36 0.09 0.04 0.01; of the first three 0.735 0.184 0.082: two reach 0.9
        *([0.1, 0.6, 0.2, 0.3], (0.5, 3, 0.9), [1, 3]),
        "Apply the temperature first, then top-k, and then top-p to what remains.",
    ),
    case(
        "whether the tokens of 200 seeds for 60 logits are those of temperature=1.0, top_k=50, "
        "top_p=1.0, if no settings are given",
        *(torch.linspace(0, 1, 60), 200),
        expected=True,
        measure=defaults,
        hint="These are the default values in the text.",
    ),
)


def position_among_the_sorted(logits, temperature=1.0, **more):
    token = sample(logits, temperature, **more)
    return token if temperature == 0 else int((logits > logits[token]).sum())


def stops_below_top_p(logits, temperature=1.0, top_k=50, top_p=1.0, generator=None):
    best = (logits / (temperature or 1.0)).topk(min(top_k, len(logits))).values.softmax(-1)
    few = int((best.cumsum(-1) <= top_p + 1e-6).sum())
    return sample(logits, temperature, max(1, few), generator=generator)


task.mistakes(
    (
        "This code always takes the most probable token: draw one with `torch.multinomial`.",
        lambda logits, **settings: int(logits.argmax()),
    ),
    (
        "This is the token's position among the sorted ones: its id is `ids[position]`.",
        position_among_the_sorted,
    ),
    (
        "This code drops the token with which the sum reaches `top_p`: compare the sum of the more "
        "probable tokens, without the token itself.",
        stops_below_top_p,
    ),
)
