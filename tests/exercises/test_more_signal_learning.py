"""Answers to `tapt` and `paired_gain`, written from the exercises' texts alone."""

import copy
import statistics

import numpy as np
import torch
from scipy import stats

from tests.exercises.standard import accepts, rejects
from tlcourse.bpe import CLS, EOS, PAD
from tlcourse.exercises.more_signal.paired_gain import paired_gain, varied
from tlcourse.exercises.more_signal.tapt import tapt
from tlcourse.exercises.more_signal.tapt import varied as tapt_with
from tlcourse.exercises.pretraining.causal_loss import causal_loss
from tlcourse.exercises.pretraining.train import train
from tlcourse.exercises.pretraining.windows import windows
from tlcourse.metrics import mean_interval


def nothing(*arguments): ...  # your code here


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


def on(texts_of):
    """An answer that continues on other texts."""
    return lambda model, texts, *more: tapt(model, texts_of(texts), *more)


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


def own_optimizer(model, texts, optimizer_of, *more):
    return tapt(model, texts, lambda reader: torch.optim.SGD(reader.parameters(), 1.0), *more)


EACH, SMALL = "Each text is followed by EOS", "5 steps of a small Transformer"
test_tapt_right = accepts("more_signal.tapt", by_extending, step_by_step())
test_tapt_wrong = rejects(
    "more_signal.tapt",
    (nothing, 0, "Not solved yet"),
    (lambda *given: tapt(*given)[0], 1, "Expected: two things"),
    (lambda *given: tapt(*given)[::-1], 1, "Return the copy of the model, then"),
    (lambda *given: (tapt(*given)[0], [1.0]), 1, "Expected: a list of 3 numbers"),
    (into_the_texts, 1, "Argument 2, `texts`, after the call"),
    (a_text_a_row, 2, "What the model reads"),
    (tapt_with(after=(CLS,)), 2, EACH),
    (on(lambda texts: texts[:-1]), 2, EACH),
    (on(lambda texts: [[EOS, *texts[0]], *texts[1:-1], texts[-1][:-1]]), 2, EACH),
    (on(lambda texts: [sum(texts, [])]), 2, "There is no EOS between the texts"),
    (tapt_with(batch=lambda step: step + 1), 2, "Step k takes the windows of step k"),
    (lambda *given: tapt(*given[:5]), 2, "`batch_size` of them"),
    (step_by_step(always=True), 4, SMALL),
    (own_optimizer, 4, SMALL),
)


# paired_gain


def by_statistics(errors, baseline):
    gains = [other - mine for mine, other in zip(errors, baseline, strict=True)]
    mean, error = statistics.mean(gains), statistics.stdev(gains) / len(gains) ** 0.5
    return [mean, *stats.t.interval(0.95, len(gains) - 1, mean, error)]


def by_scipy(errors, baseline):
    found = stats.ttest_rel(baseline, errors)
    return statistics.fmean(baseline) - statistics.fmean(errors), *found.confidence_interval()


def with_spread(spread):
    """An answer whose interval has another standard deviation."""

    def answer(errors, baseline):
        mean = np.mean(np.subtract(baseline, errors))
        half = stats.t.ppf(0.975, len(errors) - 1) * spread(errors, baseline) / len(errors) ** 0.5
        return mean, mean - half, mean + half

    return answer


def absolute(errors, baseline):
    return paired_gain([0.0] * len(errors), np.abs(np.subtract(baseline, errors)))


DIFFERENCES = "only the differences between the two lists make the interval wide"
test_paired_gain_right = accepts(
    "more_signal.paired_gain",
    by_statistics,
    by_scipy,
    lambda errors, baseline: mean_interval(np.subtract(baseline, errors)),
)
test_paired_gain_wrong = rejects(
    "more_signal.paired_gain",
    (nothing, 0, "Not solved yet"),
    (lambda *given: paired_gain(*given)[:2], 1, "Expected: three numbers: (gain, low, high)"),
    (lambda *given: tuple(3 * x for x in paired_gain(*given)), 1, "the mean gain is 3"),
    (with_spread(lambda e, b: np.std(e, ddof=1)), 2, DIFFERENCES),
    (with_spread(lambda e, b: np.hypot(np.std(e, ddof=1), np.std(b, ddof=1))), 2, DIFFERENCES),
    (varied(root=1), 2, DIFFERENCES),
    (varied(lambda level, _: 1.0), 2, DIFFERENCES),
    (varied(lambda level, n: stats.t.ppf(level, 3)), 3, "one degree of freedom less"),
    (absolute, 4, "Some of the differences are negative"),
)
