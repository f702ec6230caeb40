"""Lesson 09b: label probabilities without the bias of the prompt."""

import torch

from tlcourse.evaluation import calibrate
from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def shares(candidate, probabilities, content_free):
    """The returned tensor; raises CheckFailed if it is none, or has another shape."""
    got = expect_unchanged(candidate, probabilities, content_free)
    why = "Return a tensor of the shape of `probabilities`."
    expect_shape(got, tuple(probabilities.shape), "what your function returns", why)
    return got


task = Exercise(
    __name__,
    number="9b.3",
    title="Contextual calibration",
    difficulty=2,
    importance=4,
    minutes=10,
    hints=(
        "Three lines do it. First take the mean of `content_free` over its rows: this is the bias, "
        "one number for each label.",
        "Divide every row of `probabilities` by the bias. `probabilities / bias` does that for all "
        "rows at once.",
        "Then divide every row by its sum: `ratios / ratios.sum(dim=1, keepdim=True)`.",
    ),
    imports="import torch",
    measure=shares,
    tolerance=1e-5,
)


@task.reference
def calibrated(probabilities, content_free):
    """(questions, labels) probabilities, divided by the mean of (inputs, labels), normalised."""
    ratios = probabilities / content_free.mean(dim=0)
    return ratios / ratios.sum(dim=1, keepdim=True)


@task.truth
def by_package(probabilities, content_free):
    return calibrate(probabilities.double(), content_free.double()).float()


def drawn(questions, labels, seed, inputs=3):
    """Random probabilities of questions and of inputs without content."""
    generator = torch.Generator().manual_seed(varying(seed))
    logits = 2 * torch.randn(questions + inputs, labels, generator=generator)
    shares = logits.softmax(dim=-1)
    return shares[:questions], shares[questions:]


EVEN = torch.full((3, 4), 0.25)
LEANS = torch.tensor([[0.8, 0.2]])

task.stage(
    "no bias",
    case("a prompt that prefers no label", drawn(2, 4, 1)[0], EVEN),
    hint="The bias is 1/4 for every label here. The rows sum to 1, so the result is "
    "`probabilities` itself.",
)
task.stage(
    "one question",
    case("a question as likely as the bias, which is 0.8 and 0.2", LEANS, LEANS),
    case("the same bias, and a question with 0.7 and 0.3", torch.tensor([[0.7, 0.3]]), LEANS),
    hint="Divide each probability by the bias of its label, then each row by its sum.",
)
task.stage(
    "several inputs",
    case(
        "one question, and two inputs whose mean is 0.5 and 0.5",
        torch.tensor([[0.7, 0.3]]),
        torch.tensor([[0.9, 0.1], [0.1, 0.9]]),
    ),
    case("3 questions, 4 labels and 5 inputs", *drawn(3, 4, 2, inputs=5)),
    hint="The bias of a label is the mean of its probabilities over the content-free inputs.",
)
task.stage(
    "rows that sum to 1",
    case("as many questions as labels", *drawn(3, 3, 3)),
    case("6 questions and 2 labels", *drawn(6, 2, 4)),
    hint="Sum over the labels, which are the last dimension.",
)
task.stage(
    "rare labels",
    case(
        "a bias of 0.0005 and 0.9995, and a question with 0.0002 and 0.9998",
        *(torch.tensor([[0.0002, 0.9998]]), torch.tensor([[0.0005, 0.9995]])),
        tolerance=0.01,
    ),
    hint="Small probabilities count as they are, in the bias and in the question.",
)


def without_sum(probabilities, content_free):
    return probabilities / content_free.mean(dim=0)


def by_difference(probabilities, content_free):
    return (probabilities - content_free.mean(dim=0)).softmax(dim=1)


task.mistakes(
    ("The rows do not sum to 1: divide each by its sum.", without_sum),
    (
        "This is a softmax of differences. The bias divides the probabilities, which are then "
        "divided by their sum.",
        by_difference,
    ),
    (
        "A softmax follows the division here. Divide each row by its sum instead.",
        lambda probabilities, content_free: (probabilities / content_free.mean(0)).softmax(-1),
    ),
    (
        "The probabilities are multiplied by the bias here, so that the preferred label wins even "
        "more often. Divide by it.",
        lambda probabilities, content_free: calibrated(
            probabilities, 1 / content_free.mean(0)[None]
        ),
    ),
    (
        "Only the first content-free input counts here. Take the mean over all of them.",
        lambda probabilities, content_free: calibrated(probabilities, content_free[:1]),
    ),
)
