"""Answers to `tapt` and `paired_gain`, written from the exercises' texts alone."""

import copy
import math
import statistics

import numpy as np
import torch
from scipy import stats

from tests.exercises.standard import accepts, rejects
from tlcourse.bpe import CLS, EOS, PAD
from tlcourse.exercises.more_signal.paired_gain import paired_gain
from tlcourse.exercises.more_signal.tapt import joined, tapt, varied
from tlcourse.exercises.pretraining.causal_loss import causal_loss
from tlcourse.exercises.pretraining.train import train
from tlcourse.exercises.pretraining.windows import windows
from tlcourse.metrics import mean_interval


def nothing(*arguments): ...  # your code here


# tapt


def the_reader_alone(*given):
    return tapt(*given)[0]


def losses_first(*given):
    return tapt(*given)[::-1]


def into_the_texts(model, texts, *more):
    for text in texts:
        text.append(EOS)
    return tapt(model, [text[:-1] for text in texts], *more)


def a_text_a_row(model, texts, optimizer_of, learning_rate, steps, batch_size=32, length=64):
    reader = copy.deepcopy(model)

    def batch_of(step):
        rows = [[*text, EOS][: length + 1] for text in texts[step * batch_size :][:batch_size]]
        wide = max(map(len, rows))
        return torch.tensor([row + [PAD] * (wide - len(row)) for row in rows])

    some = optimizer_of(reader), learning_rate, range(steps)
    return reader, train(reader, causal_loss, batch_of, *some)


def a_new_optimizer_every_step(
    model, texts, optimizer_of, learning_rate, steps, rows=32, length=64
):
    reader, ids, losses = copy.deepcopy(model), np.array(joined(texts)), []
    for step in range(steps):
        batch = windows(ids, step, rows, length + 1)
        here = {step: batch}.__getitem__
        losses += train(reader, causal_loss, here, optimizer_of(reader), learning_rate, [step])
    return reader, losses


def own_optimizer(model, texts, optimizer_of, *more):
    return tapt(model, texts, lambda reader: torch.optim.SGD(reader.parameters(), 1.0), *more)


test_tapt_right = accepts("more_signal.tapt", lambda *given: list(tapt(*given)))
test_tapt_wrong = rejects(
    "more_signal.tapt",
    (nothing, 0, "Not solved yet"),
    (the_reader_alone, 1, "expected two things"),
    (losses_first, 1, "expected the copy of the model"),
    (into_the_texts, 1, "changed the lists of ids"),
    (a_text_a_row, 2, "what the model reads"),
    (varied(lambda texts: joined(texts, after=(CLS,))), 2, "Each text is followed by EOS"),
    (varied(lambda texts: joined(texts[:-1])), 2, "Each text is followed by EOS"),
    (a_new_optimizer_every_step, 4, "5 steps of a small Transformer"),
    (own_optimizer, 4, "5 steps of a small Transformer"),
)


# paired_gain


def as_a_tuple_of_the_package(errors, baseline):
    return mean_interval(np.subtract(baseline, errors))


def by_scipy(errors, baseline):
    found = stats.ttest_rel(baseline, errors)
    return statistics.fmean(baseline) - statistics.fmean(errors), *found.confidence_interval()


def half_width(errors, baseline):
    gain, low, _ = paired_gain(errors, baseline)
    return gain, gain - low


def standard_errors(errors, baseline):
    gains = np.subtract(baseline, errors)
    half = gains.std(ddof=1) / math.sqrt(len(gains))
    return gains.mean(), gains.mean() - half, gains.mean() + half


def sorted_first(errors, baseline):
    return paired_gain(sorted(errors), sorted(baseline))


test_paired_gain_right = accepts("more_signal.paired_gain", as_a_tuple_of_the_package, by_scipy)
test_paired_gain_wrong = rejects(
    "more_signal.paired_gain",
    (nothing, 0, "Not solved yet"),
    (half_width, 1, "expected three numbers"),
    (standard_errors, 2, "only that makes the interval wide"),
    (sorted_first, 3, "gain, low, high"),
)
