"""CheckFailed ways to write L2-SP, each with the stage that finds it and the sentence that it earns."""

import torch

ONE, BODY, PULL = "one weight moves", "the body alone", "the pull"


def copied(parameter):
    return parameter.detach().clone()


def over(costs, of=lambda model: model.body, remembered=copied):
    """A known mistake: `costs(distances, strength)` over what `of` names."""

    def candidate(classifier, strength=0.01):
        before = [remembered(p) for p in of(classifier).parameters()]

        def term(now, batch):
            there = of(now).parameters()
            return costs([p - old for p, old in zip(there, before, strict=True)], strength)

        return term

    return candidate


def squared(distances, strength):
    """The right cost."""
    return strength / 2 * sum((each**2).sum() for each in distances)


def mistakes(right):
    """(stage, sentence, function) of each; `right` is the reference."""
    yield (
        "at the start it is 0", "That pulls towards 0, as weight decay does: pull to the start.",
        over(squared, remembered=torch.zeros_like),
    )  # fmt: skip
    yield (
        ONE, "It stays 0: what you remember moves along. Copy it, once: `p.detach().clone()`.",
        over(squared, remembered=lambda p: p),
    )  # fmt: skip
    for says, costs in (
        ("The half is missing: strength / 2.", lambda d, s: 2 * squared(d, s)),
        ("It was halved twice, or divided by the number of texts.", lambda d, s: squared(d, s) / 2),
        ("Biases and norms belong to the body, too: take all of its parameters.",
         lambda d, s: s / 2 * sum((each**2).sum() for each in d if each.ndim > 1)),
        ("The strength is missing.", lambda d, s: squared(d, 1.0)),
        ("That is the mean of the squares; their sum is wanted.",
         lambda d, s: s / 2 * sum((each**2).mean() for each in d)),
        ("That is the distance; its square is wanted.",
         lambda d, s: s / 2 * torch.cat([each.flatten() for each in d]).norm()),
        ("These are absolute values (L1); squares are wanted.",
         lambda d, s: s / 2 * sum(each.abs().sum() for each in d)),
        ("0.01 is only the default: use `strength`.", lambda d, s: squared(d, 0.01)),
    ):  # fmt: skip
        yield ONE, says, over(costs)
    yield (
        BODY, "The head is pulled, too: take `classifier.body`.",
        over(squared, of=lambda model: model),
    )  # fmt: skip
    yield (
        PULL, "carries no gradient",
        over(lambda d, s: squared(d, s).item() if torch.is_grad_enabled() else squared(d, s)),
    )  # fmt: skip
    yield (
        PULL, "At 0 a square root has no slope: sum the squares, without a root.",
        over(lambda d, s: s / 2 * sum((each**2).sum().sqrt() ** 2 for each in d)),
    )  # fmt: skip
    yield from memories(right)


def memories(right):
    """What is remembered, or asked, at the wrong time."""

    def of_the_first(classifier, strength=0.01):
        term = right(classifier, strength)
        return lambda now, batch: term(classifier, batch)

    yield (
        PULL,
        "`term` reads the classifier of `l2sp`; it takes the one it is handed.",
        of_the_first,
    )

    def adds_to_what_was(classifier, strength=0.01):
        term, costs = right(classifier, strength), []

        def growing(now, batch):
            costs.append(term(now, batch))
            return sum(costs)

        return growing

    yield (
        ONE,
        "It grows from step to step: each call of `term` begins its sum anew.",
        adds_to_what_was,
    )

    def to_the_step_before(classifier, strength=0.01):
        terms = [right(classifier, strength)]

        def following(now, batch):
            cost = terms[-1](now, batch)
            terms.append(right(now, strength))
            return cost

        return following

    yield ONE, "moves along. Copy it, once: `p.detach().clone()`.", to_the_step_before
