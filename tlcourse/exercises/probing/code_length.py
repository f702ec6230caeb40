"""Lesson 07: how many bits the labels take, sent in blocks (Voita & Titov, 2020).

The true length is counted out, one label after the other, from the probabilities themselves.
"""

import math
import random
from itertools import pairwise

import torch

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, real_number, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="7.4",
    title="The length of a code",
    difficulty=3,
    minutes=20,
    hints=(
        "begin with the first block: no probe has seen anything yet, so that each of the `classes` "
        "labels is equally likely. How many bits is one label? And `ends[0]` of them?",
        "`itertools.pairwise(ends)` gives the (start, end) of each block after the first. Its "
        "probe is `fit(start)`, which has seen all before it and nothing of it.",
        "of the rows of `fit(start)` only `start` to `end` are of this block; in each row only the "
        "log-probability of its label counts: `logs[range(start, end), labels[start:end]]`.",
        "a label of log-probability l costs -l nats, which are -l / ln 2 bits: divide the sum by "
        "`math.log(2)`.",
    ),
    imports="import math\nfrom itertools import pairwise\nimport numpy as np\nimport torch\n"
    "from torch.nn import functional as F",
)


@task.reference
def code_length(labels, classes, ends, fit):
    """The bits of all labels: the first block uniform, each later one by a probe of all before."""
    bits = ends[0] * math.log2(classes)
    for start, end in pairwise(ends):
        logs = fit(start)[range(start, end), labels[start:end]]
        bits -= logs.sum() / math.log(2)
    return bits


@task.right
def label_by_label(labels, classes, ends, fit):
    bits, start = 0.0, 0
    for end in ends:
        table = fit(start).tolist() if start else [[-math.log(classes)] * classes] * end
        for place in range(start, end):
            bits -= table[place][labels[place]] * math.log2(math.e)
        start = end
    return bits


@task.right
def by_cross_entropy(labels, classes, ends, fit):
    nats = [torch.tensor(ends[0] * math.log(classes))]
    for start, end in zip(ends[:-1], ends[1:], strict=True):
        scores = fit(start)[start:end]
        nats.append(torch.nn.functional.cross_entropy(scores, labels[start:end], reduction="sum"))
    return torch.stack(nats).sum() / torch.tensor(2.0).log()


def fits_of(candidate, labels, classes, ends, logs):
    """How often the candidate calls `fit`."""
    calls = []
    candidate(labels, classes, ends, lambda count: calls.append(count) or logs[count].clone())
    return len(calls)


def bits_of(candidate, labels, classes, ends, logs):
    """What the candidate gives, a number; `logs[n]` is what a probe says after n examples."""

    def fit(count):
        if count == 0:
            raise CheckFailed(
                "`fit(0)` was called: nothing comes before the first block, so no probe can be "
                "trained for it. Its labels cost log2(classes) bits each."
            )
        if count not in logs:
            raise CheckFailed(f"`fit({short(count)})` was called, and `ends` is {ends}.")
        return logs[count].clone()

    got = expect_unchanged(candidate, labels, classes, ends, fit)
    if real_number(got) is None:
        missing = " Is a `return` missing?" if got is None else ""
        raise CheckFailed(
            f"it gave {short(got)}; expected one number, the bits of all labels.{missing}"
        )
    return real_number(got)


def drawn(classes, ends, seed):
    """Labels (n,), and for each of `ends` the log-probabilities (n, classes) of a probe."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (ends[-1],), generator=draw)
    scores = {end: 2 * torch.randn(ends[-1], classes, generator=draw) for end in ends}
    return labels, {end: each.log_softmax(dim=1) for end, each in scores.items()}


def counted(labels, classes, ends, logs):
    """The true length: -log2 of the probability of each label, one after the other."""
    costs = []
    for place, label in enumerate(labels.tolist()):
        seen = max((end for end in ends if end <= place), default=0)
        chance = math.exp(logs[seen][place, label]) if seen else 1 / classes
        costs.append(-math.log2(chance))
    return sum(costs)


@task.stage("the first block")
def first(candidate):
    for count, classes in ((6, 4), (5, 3)):
        labels = torch.tensor([2, 0, 2, 2, 0, 2])[:count]
        task.observe(
            candidate, bits_of, labels, classes, [count], drawn(classes, [count], 1)[1],
            gives=count * math.log2(classes), what=f"{count} labels of {classes} classes in one "
            "block", likely=f"Each costs log2({classes}) bits.", tolerance=1e-4,
        )  # fmt: skip


@task.stage("a block sent with a probe")
def second(candidate):
    chances = {
        2: [[1 / 16, 15 / 16], [31 / 32, 1 / 32], [7 / 8, 1 / 8], [1 / 4, 3 / 4]],
        4: [[63 / 64, 1 / 64]] * 4,
    }
    logs = {count: torch.tensor(rows).log() for count, rows in chances.items()}
    task.observe(
        candidate, bits_of, torch.tensor([0, 1, 1, 0]), 2, [2, 4], logs, gives=7.0,
        what="2 classes, labels 0 1 1 0, the first two uniform, the last two with probabilities "
        "1/8 and 1/4 by `fit(2)`",
        likely="That is 1 bit and 1 bit, then 3 bits and 2 bits. What `fit` gives are logarithms "
        "already: no softmax and no exp before they are added.", tolerance=1e-4,
    )  # fmt: skip


@task.stage("each block with its own probe")
def blocks(candidate):
    for ends in ([2, 3, 6], [1, 3, 4, 9]):
        labels, logs = drawn(3, ends, 2)
        task.observe(
            candidate, bits_of, labels, 3, ends, logs, gives=counted(labels, 3, ends, logs),
            what=f"3 classes, ends {ends}", tolerance=1e-4,
            likely="Each block after the first has a probe of its own, trained on all before it.",
        )  # fmt: skip
        task.observe(
            candidate, fits_of, labels, 3, ends, logs, gives=len(ends) - 1,
            what=f"3 classes, ends {ends}: the number of calls of `fit`", likely=ONCE,
        )  # fmt: skip


@task.stage("30 random cases")
def whole(candidate):
    draw = random.Random(3)
    for seed in range(30):
        classes, count = draw.randrange(2, 9), draw.randrange(3, 40)
        ends = [*sorted(draw.sample(range(1, count), draw.randrange(1, min(6, count)))), count]
        labels, logs = drawn(classes, ends, 100 + seed)
        task.observe(
            candidate, bits_of, labels, classes, ends, logs,
            gives=counted(labels, classes, ends, logs), what=f"{classes} classes, ends {ends}",
            likely="Add up the cost of each label, in the block that it is in.", tolerance=1e-4,
        )  # fmt: skip
    logs = torch.tensor([[0.0, -2000.0]]).repeat(3, 1)
    task.observe(
        candidate, bits_of, torch.tensor([0, 0, 1]), 2, [1, 3], {1: logs, 3: logs},
        gives=1 + 2000 / math.log(2), what="a label of log-probability -2000", likely=FAR,
        tolerance=1e-4,
    )  # fmt: skip


FAR = "exp(-2000) is 0 on a computer: stay with the logarithms that `fit` gives."
NATS_FIRST = "The first block is in nats: log2(classes) bits a label, not ln(classes)."
OCCUR = "The receiver knows only that there are `classes` labels, not which of them occur."
FREE = "The first block is not free: without a probe each of its labels costs log2(classes) bits."
NATS = "The later blocks are in nats: natural logarithms, divided by ln 2, are bits."
TIMES = "Nats are *divided* by ln 2 to give bits: 1 nat is 1.44 bits."
MINUS = "The cost of a label is *minus* its log-probability."
MEAN = "The cost of a block is the sum over its labels, not their mean."
PER_LABEL = "These are bits per label: the length of the whole code is wanted."
FIRST_ROWS = (
    "The probe was judged on the examples it was trained on. `fit(start)` has a row for each "
    "example; the block's are `start` to `end`."
)
SEEN = "`fit(end)` has seen the very labels it has to predict: a block's probe is `fit(start)`."
LIKELIEST = "That is the cost of the likeliest class. Look up that of the label, whatever it is."
ALL_CLASSES = (
    "The log-probabilities of all classes were added: take one entry per row, that of the row's "
    "own label."
)
ROWS = (
    "The labels were taken for the numbers of rows, and whole rows were added: take one entry per "
    "row, that of the row's own label."
)
ALL_BEFORE = "The labels before the block were paid for again: rows `start` to `end` only."
ONE_PROBE = "One probe sent all blocks. With each block more labels are known: fit again."
STOPS = "Only the first two blocks are in it. Is the `return` inside the loop?"
ONCE = "`fit` trains a probe, which takes long: once for each block after the first."
LAST_LOST = "The last block is missing: it ends at the last number of `ends`."


def by(block, begin=lambda labels, classes, ends: ends[0] * math.log2(classes), borders=pairwise):
    """Adds up `block(labels, start, end, fit)` after `begin(labels, classes, ends)`."""

    def candidate(labels, classes, ends, fit):
        later = sum(block(labels, start, end, fit) for start, end in borders(ends))
        return begin(labels, classes, ends) + later

    return candidate


def cost(labels, start, end, fit, seen=None):
    """The bits of a block, by the probe of `seen` examples."""
    return nats(labels, start, end, fit(start if seen is None else seen)) / math.log(2)


def nats(labels, start, end, logs):
    return -logs[range(start, end), labels[start:end]].sum().item()


for stage, says, wrong in (
    ("the first block", NATS_FIRST, by(cost, lambda _, classes, ends: ends[0] * math.log(classes))),
    ("the first block", OCCUR,
     by(cost, lambda labels, _, ends: ends[0] * math.log2(len(labels[: ends[0]].unique())))),
    ("the first block", FREE, by(cost, lambda *_: 0.0)),
    ("the first block", "The logarithm of `classes` is missing: log2(classes) bits a label.",
     by(cost, lambda _, classes, ends: ends[0] * classes)),
    ("the first block", "nothing comes before the first block",
     by(cost, lambda *_: 0.0, lambda ends: pairwise([0, *ends]))),
    ("the first block", PER_LABEL, lambda labels, *rest: code_length(labels, *rest) / len(labels)),
    ("a block sent with a probe", NATS, by(lambda *block: cost(*block) * math.log(2))),
    ("a block sent with a probe", TIMES, by(lambda *block: cost(*block) * math.log(2) ** 2)),
    ("a block sent with a probe", MINUS, by(lambda *block: -cost(*block))),
    ("a block sent with a probe", MEAN,
     by(lambda labels, start, end, fit: cost(labels, start, end, fit) / (end - start))),
    ("a block sent with a probe", FIRST_ROWS, by(lambda labels, start, end, fit:
     cost(labels, 0, start, fit, start))),
    ("a block sent with a probe", FIRST_ROWS, by(lambda labels, start, end, fit:
     nats(labels[start:], 0, end - start, fit(start)) / math.log(2))),
    ("a block sent with a probe", SEEN, by(lambda labels, start, end, fit:
     cost(labels, start, end, fit, end))),
    ("a block sent with a probe", LIKELIEST, by(lambda labels, start, end, fit:
     cost(fit(start).argmax(dim=1), start, end, fit))),
    ("a block sent with a probe", ALL_CLASSES, by(lambda labels, start, end, fit:
     -fit(start)[start:end].sum().item() / math.log(2))),
    ("a block sent with a probe", ROWS, by(lambda labels, start, end, fit:
     -fit(start)[labels[start:end]].sum().item() / math.log(2))),
    ("a block sent with a probe", ALL_BEFORE, by(lambda labels, start, end, fit:
     cost(labels, 0, end, fit, start))),
    ("a block sent with a probe", LAST_LOST, by(cost, borders=lambda ends: pairwise(ends[:-1]))),
    ("each block with its own probe", ONE_PROBE,
     lambda labels, classes, ends, fit: code_length(labels, classes, ends, lambda _: fit(ends[0]))),
    ("each block with its own probe", STOPS, by(cost, borders=lambda ends: [*pairwise(ends)][:1])),
    ("each block with its own probe", ONCE, by(lambda labels, start, end, fit:
     sum(cost(labels, place, place + 1, fit, start) for place in range(start, end)))),
    ("30 random cases", FAR, by(lambda labels, start, end, fit:
     nats(labels, start, end, fit(start).exp().log()) / math.log(2))),
):  # fmt: skip
    task.mistake(stage, says)(wrong)
