"""Answers to the exercises of lesson 04 by someone who saw only their text."""

import random
from collections import Counter

import numpy as np
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.checking import check
from tlcourse.exercises.finetuning.dev_split import dev_split
from tlcourse.exercises.finetuning.fine_tune import fine_tune
from tlcourse.exercises.finetuning.sign_flip import sign_flip
from tlcourse.exercises.finetuning.wilson import wilson
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


def by_texts(texts, labels, fraction=0.1, seed=0):
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
    return [row for row, text in enumerate(texts) if text in chosen]


def by_random_keys(texts, labels, fraction=0.1, seed=0):
    known = list(dict.fromkeys(texts))
    key = dict(zip(known, np.random.default_rng(seed).random(len(known)), strict=True))
    label_of = dict(zip(reversed(texts), reversed(labels), strict=True))
    found = []
    for label in set(labels):
        rows = [row for row, text in enumerate(texts) if label_of[text] == label]
        left = round(fraction * len(rows))
        for text in sorted({texts[row] for row in rows}, key=key.get):
            copies = [row for row in rows if texts[row] == text]
            if len(copies) <= left:
                found, left = found + copies, left - len(copies)
    return np.sort(np.array(found, dtype=int))


def every_tenth_line(texts, labels, fraction=0.1, seed=0):
    return list(range(0, len(texts), round(1 / fraction)))


def as_many_of_each(texts, labels, fraction=0.1, seed=0):
    kinds, dev = sorted(set(labels)), []
    whole, more = divmod(round(fraction * len(texts)), len(kinds))
    for place, label in enumerate(kinds):
        rows = [row for row in range(len(texts)) if labels[row] == label]
        dev += np.random.default_rng(seed).permutation(rows)[: whole + (place < more)].tolist()
    return sorted(dev)


def at_least_one(texts, labels, fraction=0.1, seed=0):
    dev = dev_split(texts, labels, fraction, seed)
    missing = set(labels) - {labels[row] for row in dev}
    return sorted(dev + [labels.index(label) for label in missing])


def by_the_last_label(texts, labels, fraction=0.1, seed=0):
    last = dict(zip(texts, labels, strict=True))
    return dev_split(texts, [last[text] for text in texts], fraction, seed)


def share_of_marked_rows(texts, labels, fraction=0.1, seed=0, stops=False):
    first = dict(zip(reversed(texts), reversed(labels), strict=True))
    order, dev = random.Random(seed).sample(sorted(first), len(first)), []
    for label in sorted(set(labels)):
        left = round(fraction * labels.count(label))
        for text in (text for text in order if first[text] == label):
            copies = [row for row, each in enumerate(texts) if each == text]
            if len(copies) <= left:
                dev, left = dev + copies, left - len(copies)
            elif stops:
                break
    return sorted(dev)


def stops_early(texts, labels, fraction=0.1, seed=0):
    return share_of_marked_rows(texts, labels, fraction, seed, stops=True)


def one_copy_only(texts, labels, fraction=0.1, seed=0):
    rows = dev_split(texts, labels, fraction, seed)
    return sorted({texts[row]: row for row in rows}.values())


def both_sides(texts, labels, fraction=0.1, seed=0):
    dev = dev_split(texts, labels, fraction, seed)
    return sorted(set(range(len(texts))) - set(dev)), dev


def in_the_order_of_a_set(texts, labels, fraction=0.1, seed=0):
    place = {label: f"{number:03}" for number, label in enumerate(set(labels))}
    return dev_split(texts, [place[label] for label in labels], fraction, seed)


def no_seed(texts, labels, fraction=0.1, seed=0):
    return dev_split(texts, labels, fraction, np.random.randint(10**6))


def cleaning(clean):
    """An answer to which texts are copies that `clean` makes equal."""
    return lambda texts, *more: dev_split([clean(text) for text in texts], *more)


test_dev_split_right = accepts(
    "finetuning.dev_split", as_numpy, sorted_by_hash, by_texts, by_random_keys
)
WHAT_COMES = "Expected: the row numbers of the dev split"
OF_THE_FIRST = "the label that its first row has"
test_dev_split_wrong = rejects(
    "finetuning.dev_split",
    (nothing, 0, "Not solved yet"),
    (lambda texts, *more: [texts[row] for row in dev_split(texts, *more)], 1, WHAT_COMES),
    (both_sides, 1, WHAT_COMES),
    (lambda *given: dev_split(*given)[::-1], 1, "Check: The order of the row numbers."),
    (lambda texts, labels, *_: dev_split(texts, labels), 1, "which share of the rows goes to dev"),
    (every_tenth_line, 2, "`round(fraction * rows of the label)`"),
    (as_many_of_each, 2, "`round(fraction * rows of the label)`"),
    (at_least_one, 2, "A tenth of 3 rows is rounded to 0"),
    (one_copy_only, 3, "A question and all its copies go to one side"),
    (by_the_last_label, 3, OF_THE_FIRST),
    (share_of_marked_rows, 3, OF_THE_FIRST),
    (stops_early, 3, "Skip a group that no longer fits"),
    (cleaning(str.lower), 3, "Only texts that are exactly equal are copies"),
    (cleaning(str.strip), 3, "Only texts that are exactly equal are copies"),
    (in_the_order_of_a_set, 4, "A set has another order in each session"),
    (no_seed, 4, "make a generator of your own from it"),
)


# classifier


def classifier(**changed):
    """The reference with some of its methods changed."""
    return type("Classifier", (get("finetuning.classifier").solution,), changed)


class BySteps(torch.nn.Module):
    def __init__(self, body, labels, dropout=0.1):
        super().__init__()
        self.add_module("head", torch.nn.Linear(body.config.width, labels))
        self.add_module("dropout", torch.nn.Dropout(p=dropout))
        self.body = body
        with torch.no_grad():
            self.head.weight.copy_(torch.randn(labels, body.config.width) * 0.02)
            self.head.bias.fill_(0.0)

    def forward(self, tokens, mask):
        states = self.body.hidden(tokens, padding_mask=mask)
        vector = states[torch.arange(len(states)), mask.long().sum(1) - 1]
        return self.dropout(vector) @ self.head.weight.T + self.head.bias


def drops_states(self, tokens, mask):
    hidden = self.dropout(self.body.hidden(tokens, mask))
    return torch.stack([self.head(row[keep][-1]) for row, keep in zip(hidden, mask, strict=True)])


def pooled(pool, then=lambda logits: logits):
    """A forward of which `pool(hidden, mask)` is the pooling."""
    return classifier(
        forward=lambda self, tokens, mask: then(
            self.head(self.dropout(pool(self.body.hidden(tokens, mask), mask)))
        )
    )


def last(hidden, mask):
    return hidden[torch.arange(len(mask)), mask.sum(1) - 1]


def mean(hidden, mask):
    return (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)


def of_logits(self, tokens, mask):
    return self.head(self.dropout(self.body(tokens, mask)[:, -1, :8]))


def of_a_frozen_body(self, tokens, mask):
    with torch.no_grad():
        hidden = self.body.hidden(tokens, mask)
    return self.head(self.dropout(last(hidden, mask)))


def drops_logits(self, tokens, mask):
    return self.dropout(self.head(last(self.body.hidden(tokens, mask), mask)))


FORMULA = "The logits are `head(last_token(body.hidden(tokens, mask), mask))`."
test_classifier_right = accepts(
    "finetuning.classifier", BySteps, classifier(forward=drops_states), pooled(last)
)
test_classifier_wrong = rejects(
    "finetuning.classifier",
    (lambda body, labels, dropout=0.1: classifier()(body, labels), 1, "Yours: 0.1\nExpected: 0.0"),
    (lambda body, labels, dropout=0.1: body.hidden, 1, "Expected: a Module"),
    (pooled(lambda hidden, mask: hidden), 2, "Yours: (3, 5, 4)\nExpected: (3, 4)"),
    (pooled(lambda hidden, mask: hidden[:, 0]), 3, FORMULA),
    (pooled(mean), 3, FORMULA),
    (classifier(forward=of_logits), 3, FORMULA),
    (pooled(last, then=lambda logits: F.log_softmax(logits, dim=-1)), 3, FORMULA),
    (classifier(forward=of_a_frozen_body), 3, "leave out `no_grad` and `.detach()`"),
    (classifier(forward=drops_logits), 4, "Drop features of the vector, before the head"),
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


def by_scheduler(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
    batches = [batch for epoch in range(epochs) for batch in batches_of(epoch)]
    steps, losses = len(batches), []
    up = max(1, round(warmup * steps))

    def factor(step):
        return min((step + 1) / up, (steps - step) / max(1, steps - up))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    for batch in batches:
        optimizer.zero_grad()
        nats, targets = loss(model.train(), batch)
        mean = nats / targets
        mean.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=clip)
        optimizer.step()
        scheduler.step()
        losses.append(float(mean.detach()))
    return losses


def by_hand(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
    flat = [batch for epoch in range(epochs) for batch in batches_of(epoch)]
    tops = [group["lr"] / optimizer.param_groups[0]["lr"] for group in optimizer.param_groups]
    first, losses = optimizer.param_groups[0]["lr"], []
    up = max(1, round(warmup * len(flat)))
    model.train()
    for step, batch in enumerate(flat):
        left = (len(flat) - step) / (len(flat) - up) if step >= up else (step + 1) / up
        for group, top in zip(optimizer.param_groups, tops, strict=True):
            group.update(lr=top * first * left)
        nats, targets = loss(model, batch)
        nats.backward()
        parameters = [each for each in model.parameters() if each.grad is not None]
        length = torch.stack([each.grad.square().sum() for each in parameters]).sum().sqrt()
        for each in parameters:
            each.grad.mul_(min(1.0 / targets, clip / max(length.item(), 1e-12)))
        optimizer.step()
        optimizer.zero_grad()
        losses.append(nats.item() / targets)
    return torch.tensor(losses)


def with_factor(factor):
    """A loop of which `factor(step, steps, up)` is the factor, by a scheduler."""

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


def clipping(clip_gradients):
    """The reference with `clip_gradients(parameters, clip)` in place of PyTorch's."""

    def function(*given, **more):
        norm = torch.nn.utils.clip_grad_norm_
        torch.nn.utils.clip_grad_norm_ = lambda parameters, clip: clip_gradients(
            norm, list(parameters), clip
        )
        try:
            return fine_tune(*given, **more)
        finally:
            torch.nn.utils.clip_grad_norm_ = norm

    return function


def each_alone(norm, parameters, clip):
    for parameter in parameters:
        norm([parameter], clip)


def of_epochs(which):
    """The reference with the batches of epoch `which(epoch)`."""
    return lambda model, loss, batches_of, *more: fine_tune(
        model, loss, lambda epoch: batches_of(which(epoch)), *more
    )


def of_losses(change):
    """The reference with `change(model, nats, targets)` in place of nats and targets."""
    return lambda model, loss, *more: fine_tune(
        model, lambda model, batch: change(model, *loss(model, batch)), *more
    )


def in_evaluation_mode(model, loss, *more):
    return fine_tune(model, lambda model, batch: loss(model.eval(), batch), *more)


def mean_of_an_epoch(model, loss, batches_of, optimizer, epochs, *more):
    losses = fine_tune(model, loss, batches_of, optimizer, epochs, *more)
    each = len(losses) // epochs
    return [sum(losses[k : k + each]) / each for k in range(0, len(losses), each)]


def forgets_the_last_epoch(model, loss, batches_of, optimizer, epochs, *more):
    return fine_tune(model, loss, batches_of, optimizer, epochs - 1, *more)


def keeps_graphs(*given):
    return [torch.tensor(each, requires_grad=True) for each in fine_tune(*given)]


test_fine_tune_right = accepts("finetuning.fine_tune", in_a_generator, by_scheduler, by_hand)
A_LIST = "Expected: a list of 3 numbers, the losses of 3 steps"
FACTOR = "Each group has its own highest learning rate, times the factor of the step"
LENGTH = "All gradients together have at most the length `clip`"
test_fine_tune_wrong = rejects(
    "finetuning.fine_tune",
    (nothing, 0, "Not solved yet"),
    (mean_of_an_epoch, 1, A_LIST),
    (forgets_the_last_epoch, 1, A_LIST),
    (lambda *given: fine_tune(*given)[-1:], 1, A_LIST),
    (keeps_graphs, 1, "A loss that holds its graph keeps the memory of its step"),
    (of_losses(lambda model, nats, targets: (nats, 1)), 1, "each loss is nats / targets"),
    (of_epochs(lambda epoch: epoch + 1), 1, "Epochs count from 0."),
    (with_factor(lambda k, steps, up: (1 + np.cos(np.pi * k / steps)) / 2), 2, FACTOR),
    (with_factor(lambda k, steps, up: (steps - k) / steps), 2, FACTOR),
    (with_factor(lambda k, steps, up: min(1.0, (k + 1) / up)), 2, FACTOR),
    (with_factor(lambda k, steps, up: min(k / up, (steps - k) / (steps - up))), 2, FACTOR),
    (clipping(lambda norm, parameters, clip: norm(parameters, 1.0)), 2, "as long as this `clip`"),
    (of_epochs(lambda epoch: 0), 3, "Call `batches_of(epoch)` for epoch 0, 1, …"),
    (clipping(lambda norm, parameters, clip: None), 4, LENGTH),
    (clipping(each_alone), 4, LENGTH),
    (clipping(lambda norm, *given: torch.nn.utils.clip_grad_value_(*given)), 4, LENGTH),
    (in_evaluation_mode, 5, "Call `model.train()` before the loop"),
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


def by_counts(errors, n, z=1.96):
    right, total = n - errors, n + z * z
    root = z * (errors * right / n + z * z / 4) ** 0.5
    return [(errors + z * z / 2 - root) / total, (errors + z * z / 2 + root) / total]


def by_roots(errors, n, z=1.96):
    a, b, c = n + z**2, -(2 * errors + z**2), errors**2 / n
    root = max(b * b - 4 * a * c, 0.0) ** 0.5
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


test_wilson_right = accepts("finetuning.wilson", by_counts, by_roots)
test_wilson_wrong = rejects(
    "finetuning.wilson",
    (nothing, 0, "Not solved yet"),
    (lambda *given: wilson(*given)[::-1], 1, "Expected: two numbers, the low end first"),
    (lambda errors, n, z=1.96: errors / n, 1, "Expected: two numbers, the low end first"),
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


def by_loop(wrong_a, wrong_b, flips=10_000, seed=0):
    draw = np.random.default_rng(seed)
    apart = [int(a) - int(b) for a, b in zip(wrong_a, wrong_b, strict=True) if a != b]
    far, at_least = 0, abs(sum(apart))
    for _ in range(flips):
        coins = draw.integers(0, 2, len(apart))
        far += abs(sum(d if coin else -d for d, coin in zip(apart, coins, strict=True))) >= at_least
    return far / flips


def exactly(wrong_a, wrong_b, flips=10_000, seed=0):
    shares = {0: 1.0}
    differences = [int(a) - int(b) for a, b in zip(wrong_a, wrong_b, strict=True)]
    for d in differences:
        after = Counter()
        for total, share in shares.items():
            after[total + d] += share / 2
            after[total - d] += share / 2
        shares = after
    return sum(share for total, share in shares.items() if abs(total) >= abs(sum(differences)))


def plus_one(wrong_a, wrong_b, flips=10_000, seed=0):
    return (sign_flip(wrong_a, wrong_b, flips, seed) * flips + 1) / (flips + 1)


def shuffles(wrong_a, wrong_b, flips=10_000, seed=0):
    d = np.asarray(wrong_a, int) - np.asarray(wrong_b, int)
    generator = np.random.default_rng(seed)
    sums = np.array([generator.permutation(d).sum() for _ in range(200)])
    return np.mean(abs(sums) >= abs(d.sum()))


def size_lost(wrong_a, wrong_b, *more):
    d = np.sign(np.asarray(wrong_a, int) - np.asarray(wrong_b, int))
    return sign_flip(d, 0 * d, *more)


P_VALUE = "Expected: the p-value, one number from 0 to 1"
test_sign_flip_right = accepts("finetuning.sign_flip", in_parts, plus_one, by_loop, exactly)
test_sign_flip_wrong = rejects(
    "finetuning.sign_flip",
    (nothing, 0, "Not solved yet"),
    (lambda a, b, *more: int(np.sum(a)) - int(np.sum(b)) + 5.5, 1, P_VALUE),
    (lambda a, b, flips, *more: np.zeros(flips), 1, P_VALUE),
    (lambda *given: sign_flip(*given) / 2, 1, "The observed sum is 0, and no flip is closer to 0"),
    (shuffles, 2, "Every flip has the same total"),
    (size_lost, 3, "keep the size of each difference"),
    (lambda *given: sign_flip(*given[:3], np.random.randint(10**6)), 4, "a generator of your own"),
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
