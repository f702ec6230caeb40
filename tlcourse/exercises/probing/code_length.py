"""Lesson 07: how many bits the labels take, sent in blocks (Voita & Titov, 2020)."""

import math
import random
from itertools import pairwise

import torch

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, real_number, short
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def bits(candidate, labels, classes, ends, logs):
    """The candidate's bits; `logs[n]` are the log-probabilities of a probe of n examples."""

    def fit(count):
        if count not in logs:
            raise CheckFailed(
                check=f"the calls of `fit` for ends {ends}",
                yours=f"`fit({short(count)})`",
                expected="`fit(start)` for the start of each block after the first",
                why="A probe is trained on all labels before its block. Nothing comes before the "
                "first block, so each of its labels costs log2(classes) bits.",
            )
        return logs[count].clone()

    got = expect_unchanged(candidate, labels, classes, ends, fit)
    if real_number(got) is None:
        raise CheckFailed(
            check="what `code_length` returns",
            yours=short(got),
            expected="one number, the bits of all labels",
            why="Is a `return` missing?" if got is None else "",
        )
    return real_number(got)


task = Exercise(
    __name__,
    number="7.5",
    title="The length of a code",
    difficulty=3,
    importance=3,
    minutes=20,
    hints=(
        "Begin with the first block: no probe has seen anything yet, so each of the `classes` "
        "labels is equally likely. How many bits does one label take? And `ends[0]` of them?",
        "`itertools.pairwise(ends)` gives the (start, end) of each block after the first. Its "
        "probe is `fit(start)`, which has seen everything before the block and nothing of it.",
        "Only the rows `start` to `end` of `fit(start)` belong to this block, and in each row only "
        "the log-probability of its label counts: `logs[range(start, end), labels[start:end]]`.",
        "A label of log-probability l costs -l nats, which are -l / ln 2 bits: divide the sum by "
        "`math.log(2)`.",
    ),
    imports="import math\nfrom itertools import pairwise\nimport numpy as np\nimport torch\n"
    "from torch.nn import functional as F",
    measure=bits,
    tolerance=1e-4,
)


@task.reference
def code_length(labels, classes, ends, fit):
    """The bits of all labels: uniform in the first block, then by a probe of all blocks before."""
    bits = ends[0] * math.log2(classes)
    for start, end in pairwise(ends):
        logs = fit(start)[range(start, end), labels[start:end]]
        bits -= logs.sum() / math.log(2)
    return bits


@task.truth
def label_by_label(labels, classes, ends, logs):
    nats = 0.0
    for place, label in enumerate(labels.tolist()):
        seen = max((end for end in ends if end <= place), default=0)
        nats += -logs[seen][place, label].item() if seen else math.log(classes)
    return nats / math.log(2)


def drawn(classes, ends, seed):
    """The arguments of `bits`: random labels, and a random probe for each of `ends`."""
    draw = torch.Generator().manual_seed(varying(seed))
    labels = torch.randint(classes, (ends[-1],), generator=draw)
    scores = {end: 2 * torch.randn(ends[-1], classes, generator=draw) for end in ends}
    return labels, classes, ends, {end: each.log_softmax(dim=1) for end, each in scores.items()}


def mixed():
    """30 random cases."""
    draw = random.Random(varying(3))
    for seed in range(30):
        classes, count = draw.randrange(2, 9), draw.randrange(3, 40)
        ends = [*sorted(draw.sample(range(1, count), draw.randrange(1, min(6, count)))), count]
        yield case(f"{classes} classes, ends {ends}", *drawn(classes, ends, 100 + seed))


def fits(candidate, labels, classes, ends, logs):
    """How often the candidate calls `fit`."""
    calls = []
    candidate(labels, classes, ends, lambda count: calls.append(count) or logs[count].clone())
    return len(calls)


by_hand = {
    2: torch.tensor([[1 / 16, 15 / 16], [31 / 32, 1 / 32], [7 / 8, 1 / 8], [1 / 4, 3 / 4]]).log(),
    4: torch.tensor([[63 / 64, 1 / 64]] * 4).log(),
}
surprise = torch.tensor([[0.0, -2000.0]] * 3)

task.stage(
    "the first block",
    case("6 labels of 4 classes in one block", *drawn(4, [6], 1)),
    hint="Each label costs log2(classes) bits, not ln(classes), even if a class does not occur. "
    "Return the bits of all labels together.",
)
task.stage(
    "a block sent with a probe",
    case(
        "2 classes, labels 0 1 1 0, the first two uniform, the last two with probabilities 1/8 and "
        "1/4 by `fit(2)`",
        *(torch.tensor([0, 1, 1, 0]), 2, [2, 4], by_hand),
    ),
    hint="The labels cost 1, 1, 3 and 2 bits; add them up. `fit(2)` gives natural logarithms "
    "already. Take minus the entry of each label in its own row (2 or 3), divided by ln 2.",
)
task.stage(
    "each block with its own probe",
    case("3 classes, ends [1, 3, 4, 9]", *drawn(3, [1, 3, 4, 9], 2)),
    case(
        "3 classes, ends [1, 3, 4, 9]: the number of calls of `fit`",
        *drawn(3, [1, 3, 4, 9], 2),
        measure=fits,
        expected=3,
        hint="`fit` trains a probe, which takes time: call it once for each block after the first.",
    ),
    hint="Each block after the first has a probe of its own, trained on all blocks before it. Are "
    "all blocks counted?",
)
task.stage(
    "30 random cases",
    *mixed(),
    case(
        "a label of log-probability -2000",
        *(torch.tensor([0, 0, 1]), 2, [1, 3], {1: surprise, 3: surprise}),
        hint="`exp(-2000)` is 0 on a computer: use the logarithms that `fit` gives.",
    ),
    hint="Add up the costs of all labels, each by the probe of its block.",
)


def by_later_probes(labels, classes, ends, fit):
    return code_length(labels, classes, ends, lambda start: fit(ends[ends.index(start) + 1]))


def by(block, begin=lambda classes, ends: ends[0] * math.log2(classes)):
    """Adds up `block(labels, start, end, fit)` after `begin(classes, ends)`."""
    return lambda labels, classes, ends, fit: (
        begin(classes, ends) + sum(block(labels, start, end, fit) for start, end in pairwise(ends))
    )


def cost(labels, start, end, fit, seen=None):
    """The bits of a block, by the probe of `seen` examples."""
    logs = fit(start if seen is None else seen)
    return -logs[range(start, end), labels[start:end]].sum() / math.log(2)


task.mistakes(
    (
        "`fit(end)` has seen the very labels it has to predict: a block's probe is `fit(start)`.",
        by_later_probes,
    ),
    (
        "The first block is in nats: a label costs log2(classes) bits, so use `math.log2`, not "
        "`math.log`.",
        by(cost, lambda classes, ends: ends[0] * math.log(classes)),
    ),
    (
        "The cost of a block is the mean over its labels here: take their sum.",
        by(lambda labels, start, end, fit: cost(labels, start, end, fit) / (end - start)),
    ),
    (
        "The probe is evaluated on the examples that it was trained on: take the rows `start` to "
        "`end` of `fit(start)`, which has a row for each example.",
        by(lambda labels, start, end, fit: cost(labels, 0, start, fit, start)),
    ),
)
