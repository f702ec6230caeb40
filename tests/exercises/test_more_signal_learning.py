"""Right and wrong answers to `tapt` and `paired_gain`."""

import copy
import statistics

import numpy as np
import torch
from scipy import stats

from tests.exercises.standard import accepts, rejects
from tlcourse.bpe import EOS
from tlcourse.exercises.more_signal.paired_gain import paired_gain
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


test_tapt_right = accepts("more_signal.tapt", by_extending, step_by_step())
test_tapt_wrong = rejects(
    "more_signal.tapt",
    (lambda *given: tapt(*given)[::-1], 1, "the copy of the model, then a list of 3 losses"),
    (lambda model, *more: (model, tapt(model, *more)[1]), 1, "Take `copy.deepcopy(model)` first"),
    (lambda model, texts, *more: tapt(model, [sum(texts, [])], *more), 2, "followed by EOS"),
    (lambda *given: tapt(*given[:5]), 2, "`batch_size` of them"),
    (step_by_step(always=True), 4, "AdamW remembers earlier gradients"),
)


# paired_gain


def by_statistics(errors, baseline):
    gains = [other - mine for mine, other in zip(errors, baseline, strict=True)]
    mean, error = statistics.mean(gains), statistics.stdev(gains) / len(gains) ** 0.5
    return [mean, *stats.t.interval(0.95, len(gains) - 1, mean, error)]


def with_interval(interval):
    """An answer with the right gain and another half-width: `interval(gains)`."""

    def answer(errors, baseline):
        gains = np.subtract(baseline, errors)
        mean, half = gains.mean(), interval(gains)
        return mean, mean - half, mean + half

    return answer


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
    (with_interval(lambda gains: 2 * stats.sem(gains)), 2, "Student's t at 0.975"),
    (with_interval(lambda gains: stats.t.ppf(0.975, 3) * stats.sem(gains)), 3, "n - 1 degrees"),
    (absolute, 4, "Some of the differences are negative"),
)
