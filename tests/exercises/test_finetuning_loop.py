"""Answers to the exercises of lesson 04 by someone who saw only their text."""

import random

import numpy as np
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.checking import check
from tlcourse.exercises.finetuning.dev_split import dev_split
from tlcourse.exercises.finetuning.sign_flip import sign_flip
from tlcourse.exercises.task import get


def nothing(*arguments): ...  # your code here


# dev_split


def as_numpy(texts, labels, fraction=0.1, seed=0):
    return np.array(dev_split(texts, labels, fraction, seed))


def sorted_by_hash(texts, labels, fraction=0.1, seed=0):
    draw = random.Random(str(seed))
    key = {text: draw.random() for text in sorted(set(texts))}
    rows = []
    for label in sorted(set(labels)):
        kinds = [text for text in key if labels[texts.index(text)] == label]
        copies = {text: [r for r, each in enumerate(texts) if each == text] for text in kinds}
        room = round(fraction * sum(map(len, copies.values())))
        for text in sorted(kinds, key=key.get):
            if len(copies[text]) <= room:
                rows, room = rows + copies[text], room - len(copies[text])
    return sorted(rows)


def every_tenth_line(texts, labels, fraction=0.1, seed=0):
    return list(range(0, len(texts), round(1 / fraction)))


def texts_themselves(texts, labels, fraction=0.1, seed=0):
    return [texts[row] for row in dev_split(texts, labels, fraction, seed)]


def one_copy_only(texts, labels, fraction=0.1, seed=0):
    rows = dev_split(texts, labels, fraction, seed)
    return sorted({texts[row]: row for row in rows}.values())


def unsorted(texts, labels, fraction=0.1, seed=0):
    return dev_split(texts, labels, fraction, seed)[::-1]


def both_sides(texts, labels, fraction=0.1, seed=0):
    dev = dev_split(texts, labels, fraction, seed)
    return sorted(set(range(len(texts))) - set(dev)), dev


test_dev_split_right = accepts("finetuning.dev_split", as_numpy, sorted_by_hash)
test_dev_split_wrong = rejects(
    "finetuning.dev_split",
    (nothing, 0, "Not solved yet"),
    (every_tenth_line, 2, "`round(fraction * rows of the label)`"),
    (texts_themselves, 1, "expected the row numbers of the dev split"),
    (one_copy_only, 3, "A question and all its copies go to one side"),
    (unsorted, 1, "expected the row numbers sorted"),
    (both_sides, 1, "expected the row numbers of the dev split"),
)


# classifier


def classifier(**changed):
    """The reference with some of its methods changed."""
    return type("Classifier", (get("finetuning.classifier").solution,), changed)


def first_token(self, tokens, mask):
    return self.head(self.dropout(self.body.hidden(tokens, mask)[:, 0]))


def mean(self, tokens, mask):
    hidden = self.body.hidden(tokens, mask) * mask[:, :, None]
    return self.head(self.dropout(hidden.sum(1) / mask.sum(1, keepdim=True)))


def of_logits(self, tokens, mask):
    return self.head(self.dropout(self.body(tokens, mask)[:, -1, :8]))


def log_probabilities(self, tokens, mask):
    hidden = self.body.hidden(tokens, mask)
    return F.log_softmax(self.head(hidden[torch.arange(len(mask)), mask.sum(1) - 1]), dim=-1)


test_classifier_wrong = rejects(
    "finetuning.classifier",
    (classifier(forward=first_token), 3, "They are `head(last_token(body.hidden(tokens, mask)"),
    (classifier(forward=mean), 3, "They are `head(last_token(body.hidden(tokens, mask)"),
    (classifier(forward=of_logits), 3, "They are `head(last_token(body.hidden(tokens, mask)"),
    (classifier(forward=log_probabilities), 3, "They are `head("),
)


# fine_tune


def in_a_generator(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
    def everything():
        for epoch in range(epochs):
            yield from batches_of(epoch)

    total = epochs * len(batches_of(0))
    rise = max(1, round(warmup * total))
    for group in optimizer.param_groups:
        group["highest"] = group["lr"]
    model.train()
    losses = []
    for k, batch in enumerate(everything()):
        for group in optimizer.param_groups:
            share = (k + 1) / rise if k < rise else (total - k) / (total - rise)
            group["lr"] = share * group["highest"]
        optimizer.zero_grad(set_to_none=True)
        nats, count = loss(model, batch)
        value = nats / count
        value.backward()
        torch.nn.utils.clip_grad_norm_([*model.parameters()], clip)
        optimizer.step()
        losses += [value.item()]
    return losses


def cosine(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
    total = epochs * len(batches_of(0))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total)
    model.train()
    losses = []
    for epoch in range(epochs):
        for batch in batches_of(epoch):
            optimizer.zero_grad()
            nats, count = loss(model, batch)
            (nats / count).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            schedule.step()
            losses.append(nats.item() / count)
    return losses


def mean_of_an_epoch(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
    losses = in_a_generator(model, loss, batches_of, optimizer, epochs, warmup, clip)
    each = len(losses) // epochs
    return [sum(losses[k : k + each]) / each for k in range(0, len(losses), each)]


def forgets_the_last_epoch(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
    return in_a_generator(model, loss, batches_of, optimizer, epochs - 1, warmup, clip)


def value_clipping(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
    norm = torch.nn.utils.clip_grad_norm_
    torch.nn.utils.clip_grad_norm_ = torch.nn.utils.clip_grad_value_
    try:
        return in_a_generator(model, loss, batches_of, optimizer, epochs, warmup, clip)
    finally:
        torch.nn.utils.clip_grad_norm_ = norm


test_fine_tune_right = accepts("finetuning.fine_tune", in_a_generator)
test_fine_tune_wrong = rejects(
    "finetuning.fine_tune",
    (nothing, 0, "Not solved yet"),
    (cosine, 2, "Each group has its own highest learning rate, times the factor of the step."),
    (mean_of_an_epoch, 1, "expected 3 numbers, one for each"),
    (forgets_the_last_epoch, 1, ""),
    (value_clipping, 4, "The length of all gradients together is at most `clip`"),
)


# wilson


def clipped_normal(errors, n, z=1.96):
    p = errors / n
    half = z * (p * (1 - p) / n) ** 0.5
    return max(0, p - half), min(1, p + half)


def without_z_in_the_root(errors, n, z=1.96):
    p, shrink = errors / n, 1 + z**2 / n
    half = z * (p * (1 - p) / n) ** 0.5 / shrink
    middle = (p + z**2 / (2 * n)) / shrink
    return middle - half, middle + half


test_wilson_wrong = rejects(
    "finetuning.wilson",
    (nothing, 0, "Not solved yet"),
    (clipped_normal, 1, "which is too narrow near 0"),
    (without_z_in_the_root, 1, "Compare each term with the formula, and round nothing"),
)


# sign_flip


def in_parts(wrong_a, wrong_b, flips=10_000, seed=0):
    d = torch.as_tensor(np.asarray(wrong_a, float) - np.asarray(wrong_b, float))
    generator = torch.Generator().manual_seed(seed)
    far = 0
    for _ in range(10):
        signs = 2.0 * torch.randint(2, (flips // 10, len(d)), generator=generator) - 1
        far += ((signs.double() @ d).abs() >= d.sum().abs() - 1e-9).sum().item()
    return far / (flips // 10 * 10)


def plus_one(wrong_a, wrong_b, flips=10_000, seed=0):
    return (sign_flip(wrong_a, wrong_b, flips, seed) * flips + 1) / (flips + 1)


def shuffles(wrong_a, wrong_b, flips=10_000, seed=0):
    d = np.asarray(wrong_a, int) - np.asarray(wrong_b, int)
    generator = np.random.default_rng(seed)
    sums = np.array([generator.permutation(d).sum() for _ in range(200)])
    return np.mean(abs(sums) >= abs(d.sum()))


def returns_the_sum(wrong_a, wrong_b, flips=10_000, seed=0):
    return int(np.sum(wrong_a)) - int(np.sum(wrong_b)) + 5.5


def half_of_it(wrong_a, wrong_b, flips=10_000, seed=0):
    return sign_flip(wrong_a, wrong_b, flips, seed) / 2


def all_sums(wrong_a, wrong_b, flips=10_000, seed=0):
    return np.zeros(flips)


test_sign_flip_right = accepts("finetuning.sign_flip", in_parts, plus_one)
test_sign_flip_wrong = rejects(
    "finetuning.sign_flip",
    (nothing, 0, "Not solved yet"),
    (shuffles, 2, "Every flip has the same total"),
    (returns_the_sum, 1, "expected a share from 0 to 1"),
    (half_of_it, 1, "Every flip is at least as far from 0 as a sum of 0."),
    (all_sums, 1, "expected one number, the p-value"),
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


def test_a_checked_answer_leaves_numpys_draws_alone():
    np.random.seed(3)
    expected = np.random.RandomState(3).random()
    check(get("finetuning.dev_split"), dev_split)
    assert np.random.random() == expected
