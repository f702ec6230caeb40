"""Answers to the exercises of lesson 04 that are not in their own files."""

import random
from collections import Counter

import numpy as np
import torch

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.finetuning.classifier import Classifier
from tlcourse.exercises.finetuning.dev_split import dev_split
from tlcourse.exercises.finetuning.fine_tune import fine_tune
from tlcourse.exercises.finetuning.sign_flip import sign_flip
from tlcourse.exercises.finetuning.wilson import wilson

# dev_split


def by_texts(texts, labels, fraction=0.1, seed=0, stops=False):
    times, first = Counter(texts), {}
    for text, label in zip(texts, labels, strict=True):
        first.setdefault(text, label)
    draw, chosen = random.Random(seed), set()
    for label in dict.fromkeys(first.values()):
        mine = [text for text in first if first[text] == label]
        left = round(fraction * sum(times[text] for text in mine))
        draw.shuffle(mine)
        for text in mine:
            if times[text] <= left:
                chosen.add(text)
                left -= times[text]
            elif stops:
                break
    return [row for row, text in enumerate(texts) if text in chosen]


def at_least_one(texts, labels, *more):
    dev = dev_split(texts, labels, *more)
    missing = set(labels) - {labels[row] for row in dev}
    return sorted(dev + [labels.index(label) for label in missing])


def by_the_last_label(texts, labels, *more):
    last = dict(zip(texts, labels, strict=True))
    return dev_split(texts, [last[text] for text in texts], *more)


def one_copy_only(texts, *more):
    return sorted({texts[row]: row for row in dev_split(texts, *more)}.values())


def in_the_order_of_a_set(texts, labels, *more):
    place = {label: f"{number:03}" for number, label in enumerate(set(labels))}
    return dev_split(texts, [place[label] for label in labels], *more)


def no_seed(texts, labels, fraction=0.1, seed=0):
    return dev_split(texts, labels, fraction, np.random.randint(10**6))


test_dev_split_right = accepts(
    "finetuning.dev_split", by_texts, lambda *given: np.array(dev_split(*given))
)
test_dev_split_wrong = rejects(
    "finetuning.dev_split",
    (lambda texts, *more: [texts[row] for row in dev_split(texts, *more)], 1, "the row numbers of"),
    (lambda *given: dev_split(*given)[::-1], 1, "Check: The row numbers, sorted"),
    (lambda texts, *more: [*range(0, len(texts), 5 if more[1:] else 10)], 2, "`round(fraction * "),
    (at_least_one, 2, "A tenth of 3 rows is rounded to 0"),
    (one_copy_only, 3, "All copies of a question go to the same side"),
    (by_the_last_label, 3, "the label of its first row"),
    (lambda *given: by_texts(*given, stops=True), 3, "Skip a group that no longer fits"),
    (lambda texts, *more: dev_split([*map(str.lower, texts)], *more), 3, "exactly equal are copie"),
    (lambda texts, *more: dev_split([*map(str.strip, texts)], *more), 3, "exactly equal are copie"),
    (in_the_order_of_a_set, 4, "The order of a set differs between sessions"),
    (lambda x, y, fraction=0.2, seed=0: dev_split(x, y, fraction, seed), 1, "by default 0.1"),
    (no_seed, 4, "make your own generator from it"),
)


def test_the_split_of_the_reference_is_the_packages():
    from tlcourse import corpora

    data = corpora.load("trec", source="sample")
    rows = data["train"].select(
        sorted(range(len(data["train"])), key=lambda row: tuple(data["train"][row].values()))
    )
    chosen = dev_split(rows["text"][:], rows["label"][:], seed=2019)
    package = corpora.trec_with_dev(data)["dev"]
    assert sorted(rows.select(chosen)["text"]) == sorted(package["text"])


# last_token


def by_edges(hidden, mask):
    after = torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], dim=1)
    return hidden[mask & ~after]


def before_the_first_pad(hidden, mask):
    return hidden[torch.arange(len(hidden)), mask.int().argmin(dim=1) - 1]  # -1 without a pad


test_last_token_right = accepts("finetuning.last_token", by_edges, before_the_first_pad)
test_last_token_wrong = rejects(
    "finetuning.last_token",
    (lambda *given: by_edges(*given).numpy(), 1, "Yours: a NumPy array\nExpected: a tensor\n"),
    (lambda hidden, mask: hidden * mask[:, :, None], 1, "take one position from each row"),
    (lambda *given: by_edges(*given).squeeze(), 2, "Yours: shape (3,)\n"),
    (lambda hidden, mask: hidden[mask][-len(hidden) :], 2, "the last of n tokens is at n - 1"),
    (lambda hidden, mask: hidden.masked_fill(~mask[:, :, None], -1e9).amax(1), 3, "or the largest"),
    (lambda hidden, mask: by_edges(hidden.detach(), mask), 4, "The gradient that reaches `hidden`"),
)


# classifier


def with_forward(forward):
    return type("Classifier", (Classifier,), {"forward": forward})


def by_matrix(self, tokens, mask):
    states = self.body.hidden(tokens, padding_mask=mask)
    vector = states[torch.arange(len(states)), mask.long().sum(1) - 1]
    return self.dropout(vector) @ self.head.weight.T + self.head.bias


def drops_states(self, tokens, mask):
    hidden = self.dropout(self.body.hidden(tokens, mask))
    return torch.stack([self.head(row[keep][-1]) for row, keep in zip(hidden, mask, strict=True)])


def of_the_mean(self, tokens, mask):
    hidden = self.body.hidden(tokens, mask) * mask[:, :, None]
    return self.head(self.dropout(hidden.sum(1) / mask.sum(1, keepdim=True)))


def of_a_frozen_body(self, tokens, mask):
    with torch.no_grad():
        hidden = self.body.hidden(tokens, mask)
    return self.head(hidden[torch.arange(len(mask)), mask.sum(1) - 1])


class DropsLogits(Classifier):
    def forward(self, *batch):
        rate, self.dropout.p = self.dropout.p, 0.0
        logits, self.dropout.p = super().forward(*batch), rate
        return self.dropout(logits)


test_classifier_right = accepts(
    "finetuning.classifier", with_forward(by_matrix), with_forward(drops_states)
)
test_classifier_wrong = rejects(
    "finetuning.classifier",
    (lambda body, labels, dropout=0.1: Classifier(body, labels), 1, "Yours: 0.1\nExpected: 0.0"),
    (lambda body, labels, dropout=0.1: body.hidden, 1, "Expected: a Module"),
    (with_forward(lambda self, *batch: self.head(self.body.hidden(*batch))), 2, "Yours: (3, 5, 4)"),
    (with_forward(of_the_mean), 3, "The logits are `head(last_token(body.hidden(tokens, mask)"),
    (with_forward(of_a_frozen_body), 3, "Leave out `no_grad`, `.detach()`"),
    (lambda body, labels, dropout=0.5: Classifier(body, labels, dropout), 4, "dropout=0.1):`"),
    (DropsLogits, 4, "Apply `self.dropout` to the pooled vector"),
)


# fine_tune


def triangle(step, steps, up):
    return min((step + 1) / up, (steps - step) / max(1, steps - up))


def with_factor(factor):
    """A loop in which `factor(step, steps, up)` is the factor, by a scheduler."""

    def function(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
        steps = epochs * len(batches_of(0))
        up = max(1, round(warmup * steps))
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: factor(k, steps, up))
        losses = []
        for batch in sum(map(batches_of, range(epochs)), []):
            optimizer.zero_grad()
            nats, count = loss(model.train(), batch)
            (nats / count).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            schedule.step()
            losses.append(nats.item() / count)
        return losses

    return function


def of_epochs(which):
    """The reference with the batches of epoch `which(epoch)`."""
    return lambda model, loss, batches_of, *more: fine_tune(
        model, loss, lambda epoch: batches_of(which(epoch)), *more
    )


def in_evaluation_mode(model, loss, *more):
    return fine_tune(model, lambda model, batch: loss(model.eval(), batch), *more)


FACTOR = "Multiply the highest learning rate of each group"
test_fine_tune_right = accepts(
    "finetuning.fine_tune", with_factor(triangle), lambda *given: torch.tensor(fine_tune(*given))
)
test_fine_tune_wrong = rejects(
    "finetuning.fine_tune",
    (lambda *given: fine_tune(*given)[-1:], 1, "Expected: a list of 3 numbers"),
    (lambda *given: torch.tensor(fine_tune(*given)).requires_grad_(), 1, "their graphs"),
    (of_epochs(lambda epoch: epoch + 1), 1, "Epochs count from 0."),
    (with_factor(lambda step, steps, up: (steps - step) / steps), 2, FACTOR),
    (with_factor(lambda step, steps, up: min(1.0, (step + 1) / up)), 2, FACTOR),
    (of_epochs(lambda epoch: 0), 3, "Call `batches_of(epoch)` for epoch 0, 1, …"),
    (lambda *given: fine_tune(*given[:6], *(c / 2 for c in given[6:])), 4, "All gradients"),
    (lambda *given: fine_tune(*given, *(0.1, 0.5)[len(given) - 5 :]), 4, "`clip` is 1.0"),
    (lambda *given: fine_tune(*given, *(0.0, 1.0)[len(given) - 5 :]), 4, "`warmup` is 0.1"),
    (in_evaluation_mode, 5, "Call `model.train()` before the loop"),
)


# wilson


def by_counts(errors, n, z=1.96):
    right, total = n - errors, n + z * z
    root = z * (errors * right / n + z * z / 4) ** 0.5
    return [(errors + z * z / 2 - root) / total, (errors + z * z / 2 + root) / total]


test_wilson_right = accepts("finetuning.wilson", by_counts, lambda *given: np.array(wilson(*given)))
test_wilson_wrong = rejects(
    "finetuning.wilson",
    (lambda *given: wilson(*given)[::-1], 1, "Return two fractions, the low end first"),
    (lambda errors, n, z=1.96: wilson(errors, n - 1, z), 1, "Compare each term with the formula"),
    (lambda *given: np.round(wilson(*given), 3), 1, "round nothing"),
    (lambda errors, n, *_: wilson(errors, n), 3, "Use the given `z`."),
)


# sign_flip


def by_loop(wrong_a, wrong_b, flips=10_000, seed=0):
    draw = np.random.default_rng(seed)
    apart = [int(a) - int(b) for a, b in zip(wrong_a, wrong_b, strict=True) if a != b]
    far, at_least = 0, abs(sum(apart))
    for _ in range(flips):
        coins = draw.integers(0, 2, len(apart))
        far += abs(sum(d if coin else -d for d, coin in zip(apart, coins, strict=True))) >= at_least
    return far / flips


def plus_one(wrong_a, wrong_b, flips=10_000, seed=0):
    return (sign_flip(wrong_a, wrong_b, flips, seed) * flips + 1) / (flips + 1)


def size_lost(wrong_a, wrong_b, *more):
    d = np.sign(np.asarray(wrong_a, int) - np.asarray(wrong_b, int))
    return sign_flip(d, 0 * d, *more)


test_sign_flip_right = accepts("finetuning.sign_flip", by_loop, plus_one)
test_sign_flip_wrong = rejects(
    "finetuning.sign_flip",
    (lambda *given: sign_flip(*given) / 2, 1, "The observed sum is 0"),
    (lambda a, b, *more: sign_flip(a, b, *more) if a.sum() >= b.sum() else 1.0, 2, "is negative"),
    (size_lost, 3, "keep its size"),
    (lambda a, b, *more: sign_flip(a, b, 10_000, *more[1:]), 4, "as many flips as `flips` says"),
    (lambda *given: sign_flip(*given[:3], np.random.randint(10**6)), 4, "makes your own generator"),
)
