"""Right and wrong answers to the exercise of lesson 09b on prompts."""

import torch

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.writing.calibrated import calibrated

# calibrated


def by_loops(probabilities, content_free):
    rows = []
    for row in probabilities:
        ratios = [each / content_free[:, label].mean() for label, each in enumerate(row)]
        rows.append(torch.stack(ratios) / sum(ratios))
    return torch.stack(rows)


def by_logarithms(probabilities, content_free):
    return (probabilities.log() - content_free.mean(dim=0).log()).softmax(dim=-1)


def by_a_matrix(probabilities, content_free):
    weights = torch.diag(1 / content_free.mean(dim=0))
    return torch.nn.functional.normalize(probabilities @ weights, p=1, dim=1)


test_calibrated_right = accepts("writing.calibrated", by_loops, by_logarithms, by_a_matrix)
test_calibrated_wrong = rejects(
    "writing.calibrated",
    (lambda p, free: calibrated(p, free).argmax(dim=1), 1, "the shape of `probabilities`"),
    (lambda p, free: p, 2, "Divide each probability by the bias"),
    (lambda p, free: calibrated(p, free.max(dim=0).values[None]), 3, "mean of its probabilities"),
    (
        lambda p, free: (p / free.mean(0)) / (p / free.mean(0)).sum(dim=0),
        *(1, "The rows sum to 1"),
    ),
    (lambda p, free: calibrated(p, free.log().mean(0).exp()[None]), 3, "mean of its"),
    (lambda p, free: calibrated(p, free).numpy(), 1, "a NumPy array\nExpected: a tensor"),
    (lambda p, free: calibrated(p, free).tolist(), 1, "a list\nExpected: a tensor"),
    (lambda p, free: calibrated(p, free.mean(0, True).clamp_min(0.05)), 5, "count as they are"),
    (lambda p, free: calibrated(p, free.mean(0, True).clamp_min(0.001)), 5, "count as they are"),
    (lambda p, free: calibrated(p.clamp_min(0.001), free), 5, "count as they are"),
)
