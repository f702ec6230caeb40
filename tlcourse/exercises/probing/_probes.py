"""Help for the exercise on a linear probe: data, what is seen of a probe, and faulty probes."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_shape, expect_unchanged, short

FROZEN = "The features are frozen: begin with `features.detach()`."


def clouds(each: int, seed: int, numbers: tuple[int, ...] = (0, 1, 2)) -> tuple[Tensor, Tensor]:
    """Features (n, 4) and labels (n,): `each` examples of each class, in a cloud of its own."""
    draw = torch.Generator().manual_seed(seed)
    places = torch.arange(len(numbers)).repeat(each)
    features = torch.rand(len(places), 4, generator=draw) - 0.5
    features[torch.arange(len(places)), places] += 3
    return features, torch.tensor(numbers)[places]


def resized(features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The same clouds with columns of other sizes; that without use is the largest."""
    sizes, shifts = torch.tensor([0.001, 1000, 0.01, 10000]), torch.tensor([0, 5000, 0, 0])
    return features * sizes + shifts, labels


def with_constant(features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The same clouds with a column that never varies."""
    return F.pad(features, (0, 1), value=7.0), labels


def line(each: int, seed: int) -> tuple[Tensor, Tensor]:
    """Features (n, 1) and labels (n,): three classes on a line, the middle one around 0."""
    labels = torch.arange(3).repeat(each)
    jitter = torch.rand(len(labels), generator=torch.Generator().manual_seed(seed)) - 0.5
    return (3 * (labels - 1) + jitter)[:, None], labels


def pulled(seed: int) -> tuple[Tensor, Tensor]:
    """Features (86, 1) and labels (86,): 0 around -1, 1 around 1, and six of class 1 around -6.

    By the cross-entropy, to which a mistake costs the more the further off it is, those six pull
    the border from 0 to -0.78. By a loss that has an upper limit it stays at 0.
    """
    places, labels = torch.tensor([-1.0, 1.0, -6.0]), torch.tensor([0, 1, 1])
    which = torch.arange(3).repeat_interleave(torch.tensor([40, 40, 6]))
    jitter = torch.randn(len(which), generator=torch.Generator().manual_seed(seed))
    return (places[which] + 0.3 * jitter)[:, None], labels[which]


def noisy(count: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Features (n, 6), labels (n,) drawn by a linear rule, and the likeliest class by that rule."""
    rule = 1.5 * torch.randn(6, 3, generator=torch.Generator().manual_seed(9))
    draw = torch.Generator().manual_seed(seed)
    features = torch.randn(count, 6, generator=draw)
    scores = features @ rule + torch.tensor([0.0, 2.5, -1.0])
    labels = torch.multinomial(scores.softmax(dim=1), 1, generator=draw)[:, 0]
    return features, labels, scores.argmax(dim=1)


def probe(candidate, features, labels, classes, steps=100):
    """What the candidate returns, a function; raises CheckFailed for all else."""
    torch.manual_seed(0)
    predict = expect_unchanged(candidate, features, labels, classes, steps)
    if not callable(predict):
        missing = " Is a `return` missing?" if predict is None else ""
        raise CheckFailed(f"it gave {short(predict)}; expected a function that predicts.{missing}")
    return predict


def shape(candidate, features, labels, new):
    """The shape of what is predicted."""
    got = expect_unchanged(probe(candidate, features, labels, 3, 3), new)
    if not hasattr(got, "detach"):
        expect_shape(got, (len(new),), f"what was returned, asked for {len(new)} new examples,")
    return tuple(got.shape)


def right_of(guesses, labels):
    """The share of guesses that are right, to two digits."""
    return round((torch.as_tensor(guesses) == labels).double().mean().item(), 2)


def share(candidate, train, classes, new):
    """The share of new examples that the probe gets right."""
    return right_of(probe(candidate, *train, classes)(new[0]), new[1])


def share_alone(candidate, train, new):
    """The same, with the new examples one at a time."""
    predict = probe(candidate, *train, 3)
    return right_of([int(predict(row[None])[0]) for row in new[0]], new[1])


def share_of_a_model(candidate, train, new):
    """`share` with features that a model has just computed; raises CheckFailed if it gets a gradient."""
    weight = torch.ones(train[0].shape[1], requires_grad=True)
    torch.manual_seed(0)
    try:
        guesses = candidate(train[0] * weight, train[1], 3, 100)(new[0])
    except RuntimeError as error:
        if "backward through the graph a second time" not in str(error):
            raise
        raise CheckFailed(f"{FROZEN} The second `backward()` went into the model, and failed.") from None
    if weight.grad is not None:
        raise CheckFailed(f"{FROZEN} Now a gradient went through the features into the model.")
    return right_of(guesses, new[1])


def is_right(candidate, train, new, least):
    """Whether at least this share of new examples is right."""
    return bool(right_of(probe(candidate, *train, 3, 300)(new[0]), new[1]) >= least)


def is_settled(candidate, train, new, *steps, least=0.97):
    """Whether so many steps, and so many, predict the same for nearly all new examples."""
    return right_of(*(probe(candidate, *train, 3, count)(new[0]) for count in steps)) >= least


def standard(features: Tensor, least: float = 1e-6) -> Callable:
    """A function that standardises with the mean and deviation of these features."""
    mean, deviation = features.mean(dim=0), features.std(dim=0, correction=0).clamp(min=least)
    return lambda new: (new - mean) / deviation


def largest(scores: Tensor) -> Tensor:
    return scores.argmax(dim=1)


def by(scaler=standard, choose=largest, count=lambda steps: steps, **how) -> Callable:
    """A probe with `scaler(features)`, a function that standardises, and `choose(scores)`.

    It takes `count(steps)` steps; `how` goes to `trained`.
    """

    def candidate(features, labels, classes, steps):
        scale = scaler(features.detach())
        score = trained(scale(features.detach()), labels, classes, count(steps), **how)
        return lambda new: choose(score(scale(new)))

    return candidate


def slope_of_loss(scores, targets):
    """The gradient of the cross-entropy, for each of the scores."""
    return scores.softmax(dim=1) - targets


def slope_after_softmax(scores, targets):
    """The same where a softmax comes before the cross-entropy, which has one of its own."""
    shares = scores.softmax(dim=1)
    slope = slope_of_loss(shares, targets)
    return shares * (slope - (shares * slope).sum(dim=1, keepdim=True))


@torch.no_grad()
def trained(
    inputs, labels, classes, steps, bias=True, rate=1.0, kept=0, slope_of_scores=slope_of_loss
):
    """The scores of a linear layer after so many steps, a function.

    Each step goes down the slope, plus `kept` times the slopes before. It starts as `nn.Linear`.
    """
    layer = nn.Linear(inputs.shape[1], classes, bias=bias)
    weights = torch.cat([each.reshape(classes, -1) for each in layer.parameters()], dim=1).T
    inputs = F.pad(inputs, (0, int(bias)), value=1.0)
    targets, slope = F.one_hot(labels, classes), 0
    for _ in range(steps):
        errors = slope_of_scores(inputs @ weights, targets)
        slope = kept * slope + inputs.T @ errors / len(labels)
        weights = weights - rate * slope
    return lambda new: F.pad(new, (0, int(bias)), value=1.0) @ weights
