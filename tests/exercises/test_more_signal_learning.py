"""Answers to `tapt` and `paired_gain`, written from the exercises' texts alone."""

import copy
import statistics

import numpy as np
import torch
from scipy import stats

from tests.exercises.standard import accepts, rejects
from tlcourse.bpe import EOS
from tlcourse.exercises.more_signal.paired_gain import paired_gain, varied
from tlcourse.exercises.more_signal.tapt import tapt
from tlcourse.exercises.pretraining.causal_loss import causal_loss
from tlcourse.exercises.pretraining.train import train
from tlcourse.exercises.pretraining.windows import windows
from tlcourse.metrics import mean_interval

# tapt


def by_extending(model, texts, optimizer_of, learning_rate, steps, batch_size=32, length=64):
    stream = []
    for text in texts:
        stream.extend(text)
        stream.append(EOS)
    stream, model = np.asarray(stream, dtype=np.uint16), copy.deepcopy(model)
    some = lambda step: windows(stream, step, batch_size, length + 1)  # noqa: E731
    return model, train(
        model, causal_loss, some, optimizer_of(model), learning_rate, [*range(steps)]
    )


def step_by_step(always=False):
    """An answer that trains one step at a time, with one optimizer or always a new one."""

    def answer(model, texts, optimizer_of, rate, steps, batch_size=32, length=64):
        ids = np.concatenate([np.array([*text, EOS]) for text in texts])
        other, losses = copy.deepcopy(model), []
        optimizer = optimizer_of(other)
        for step in range(steps):
            batch = windows(ids, step, batch_size, length + 1)
            moves = optimizer_of(other) if always else optimizer
            losses += train(other, causal_loss, {step: batch}.__getitem__, moves, rate, [step])
        return [other, torch.tensor(losses)]

    return answer


def into_the_texts(model, texts, *more):
    for text in texts:
        text.append(EOS)
    return tapt(model, [text[:-1] for text in texts], *more)


def rate_of_the_first(model, texts, optimizer_of, rate, *more):
    return tapt(model, texts, optimizer_of, lambda step: rate(0), *more)


test_tapt_right = accepts("more_signal.tapt", by_extending, step_by_step())
test_tapt_wrong = rejects(
    "more_signal.tapt",
    (lambda *given: tapt(*given)[::-1], 1, "the copy of the model, then a list of 3 losses"),
    (into_the_texts, 1, "Argument 2, `texts`, after the call"),
    (lambda model, texts, *more: tapt(model, [sum(texts, [])], *more), 2, "followed by EOS"),
    (lambda *given: tapt(*given[:5]), 2, "`batch_size` of them"),
    (rate_of_the_first, 3, "and `learning_rate`"),
    (step_by_step(always=True), 4, "5 steps of a small Transformer"),
)


# paired_gain


def by_statistics(errors, baseline):
    gains = [other - mine for mine, other in zip(errors, baseline, strict=True)]
    mean, error = statistics.mean(gains), statistics.stdev(gains) / len(gains) ** 0.5
    return [mean, *stats.t.interval(0.95, len(gains) - 1, mean, error)]


def absolute(errors, baseline):
    return paired_gain([0.0] * len(errors), np.abs(np.subtract(baseline, errors)))


test_paired_gain_right = accepts(
    "more_signal.paired_gain",
    by_statistics,
    lambda errors, baseline: mean_interval(np.subtract(baseline, errors)),
)
test_paired_gain_wrong = rejects(
    "more_signal.paired_gain",
    (lambda *given: paired_gain(*given)[:2], 1, "Return three numbers: (gain, low, high)"),
    (lambda *given: tuple(3 * x for x in paired_gain(*given)), 1, "the mean gain is 3"),
    (varied(lambda *_: 1.0), 2, "make the interval wide"),
    (varied(lambda level, n: stats.t.ppf(level, 3)), 3, "one degree of freedom less"),
    (absolute, 4, "Some of the differences are negative"),
)
