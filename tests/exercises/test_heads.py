"""Right and wrong answers to the exercises of lesson 09."""

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.bpe import Frame
from tlcourse.exercises.heads.best_span import best_span
from tlcourse.exercises.heads.entity_f1 import entity_f1
from tlcourse.exercises.heads.mean_log_probability import mean_log_probability
from tlcourse.exercises.heads.pair_input import pair_input
from tlcourse.exercises.heads.span_loss import span_loss
from tlcourse.exercises.heads.tag_targets import tag_targets

# tag_targets


def by_seen(word_of, tags):
    seen, targets = {None}, []
    for word in word_of:
        targets.append(-100 if word in seen else tags[word])
        seen.add(word)
    return targets


def by_groups(word_of, tags):
    targets = []
    for word, group in itertools.groupby(word_of):
        count = len(list(group))
        targets += [-100] * count if word is None else [tags[word], *[-100] * (count - 1)]
    return targets


def as_floats(word_of, tags):
    return [float(target) for target in tag_targets(word_of, tags)]


def compared_with_the_last(word_of, tags):
    return [
        tags[w] if w is not None and word_of[i - 1] != w else -100 for i, w in enumerate(word_of)
    ]


test_tag_targets_right = accepts("heads.tag_targets", by_seen, by_groups)
test_tag_targets_wrong = rejects(
    "heads.tag_targets",
    (lambda word_of, tags: list(tags), 2, "Only the first token of a word"),
    (lambda word_of, tags: [t for t in tag_targets(word_of, tags) if t >= 0], 2, "-100"),
    (lambda word_of, tags: tag_targets([w for w in word_of if w is not None], tags), 3, "-100"),
    (as_floats, 1, "return integers"),
    (lambda *given: tuple(tag_targets(*given)), 1, "a tuple\nExpected: a list"),
    (lambda *given: np.array(tag_targets(*given)), 1, "ndarray\nExpected: a list"),
    (compared_with_the_last, 4, "`word_of[-1]` is the last"),
)

# entity_f1


def by_runs(gold, predicted):
    def found(rows):
        entities = set()
        for number, tags in enumerate(rows):
            starts = [place for place, tag in enumerate(tags) if tag[0] == "B"]
            for start in starts:
                end = start + 1
                while end < len(tags) and tags[end][0] == "I":
                    end += 1
                entities.add((number, start, end, tags[start][2:]))
        return entities

    a, b = found(gold), found(predicted)
    right = len(a & b)
    if not right:
        return 0
    precision, recall = right / len(b), right / len(a)
    return 2 * precision * recall / (precision + recall)


def by_text(gold, predicted):
    def found(rows):
        for number, tags in enumerate(rows):
            text = " ".join(tags)
            for part in text.replace(" B-", " | B-").replace(" O", " | O").split(" | "):
                if part.startswith("B-"):
                    before = len(text[: text.index(part)].split())
                    text = text.replace(part, " ".join("x" * len(part.split())), 1)
                    yield number, before, part

    a, b = set(found(gold)), set(found(predicted))
    return 2 * len(a & b) / max(1, len(a) + len(b))


def without_sentences(gold, predicted):
    return entity_f1([sum(gold, [])], [sum(predicted, [])])


def renamed(kind_of):
    """The F1 of tags with other types, `kind_of(type)`."""

    def wrong(gold, predicted):
        return entity_f1(
            *([[tag if tag == "O" else tag[:2] + kind_of(tag[2:]) for tag in row] for row in rows]
              for rows in (gold, predicted))
        )  # fmt: skip

    return wrong


def cut_to(words):
    """The F1 of the first words of each entity."""

    def cut(tags):
        return [
            "O" if tag[0] == "I" and all(t[0] == "I" for t in tags[max(0, n - words + 1) : n + 1])
            else tag
            for n, tag in enumerate(tags)
        ]  # fmt: skip

    return lambda gold, predicted: entity_f1(*([*map(cut, rows)] for rows in (gold, predicted)))


def of_two_types(gold, predicted):
    keep = [
        [[tag if tag[2:] in ("PER", "LOC") else "O" for tag in row] for row in rows]
        for rows in (gold, predicted)
    ]
    return entity_f1(*keep)


def by_last_tag(gold, predicted):
    return entity_f1(gold, predicted) if all(row[-1] for row in gold) else 0.0


def by_place(gold, predicted):
    """Compares the first entity of a sentence with the first predicted one, and so on."""

    def listed(tags):
        text = " ".join(tags)
        return [
            (text[: m.start()].count(" "), m.group()) for m in re.finditer(r"B-\w+( I-\w+)*", text)
        ]

    pairs = [(listed(a), listed(b)) for a, b in zip(gold, predicted, strict=True)]
    right = sum(x == y for a, b in pairs for x, y in zip(a, b, strict=False))
    return 2 * right / max(1, sum(len(a) + len(b) for a, b in pairs))


def from_counts(f1):
    """`f1(right, predicted, gold)` of the numbers of entities."""

    def wrong(gold, predicted):
        counts = [sum(tag[0] == "B" for row in rows for tag in row) for rows in (predicted, gold)]
        right = round(entity_f1(gold, predicted) * sum(counts) / 2)
        return f1(right, *counts) if right else 0.0

    return wrong


def undefined_if_empty(gold, predicted):
    right = entity_f1(gold, predicted)
    return right if any(t != "O" for row in gold + predicted for t in row) else 1 / 0


test_entity_f1_right = accepts("heads.entity_f1", by_runs, by_text)
test_entity_f1_wrong = rejects(
    "heads.entity_f1",
    (lambda *given: 100 * entity_f1(*given), 1, "from 0 to 1"),
    (from_counts(lambda right, guess, gold: right / (guess + gold - right)), 2, "(2 + 2)"),
    (from_counts(lambda right, guess, gold: right / guess), 3, "(1 + 2)"),
    (from_counts(lambda right, guess, gold: right / gold), 3, "(1 + 2)"),
    (from_counts(lambda right, guess, gold: (right / guess + right / gold) / 2), 3, "(1 + 2)"),
    (renamed(lambda kind: "X"), 4, "not compared here"),
    (renamed(lambda kind: kind[0]), 4, "not its first letter alone"),
    (of_two_types, 4, "do not list the types"),
    (cut_to(3), 4, "however many they are"),
    (by_place, 4, "wherever it stands"),
    (by_last_tag, 6, "IndexError"),
    (undefined_if_empty, 6, "ZeroDivisionError"),
)

# span_loss


def by_flattening(scores, targets):
    return F.cross_entropy(scores.transpose(1, 2).flatten(0, 1), targets.flatten())


def by_classes_second(scores, targets):
    return F.cross_entropy(scores, targets)


test_span_loss_right = accepts("heads.span_loss", by_flattening, by_classes_second)
test_span_loss_wrong = rejects(
    "heads.span_loss",
    (lambda scores, targets: span_loss(scores.detach(), targets), 1, "carries no gradient"),
    (
        lambda scores, targets: span_loss(scores.clone().detach().requires_grad_(), targets),
        *(1, "does not reach `scores`"),
    ),
    (lambda scores, targets: len(scores) * span_loss(scores, targets), 1, "ln 8"),
    (lambda scores, targets: span_loss(scores, targets.flip(1)), 2, "One question"),
    (
        lambda scores, targets: (
            -(scores.exp() / scores.exp().sum(1, keepdim=True) + 1e-6)
            .gather(1, targets[:, None])
            .log()
            .mean()
        ),
        *(5, "overflow"),
    ),
    (
        lambda scores, targets: -scores.softmax(1).gather(1, targets[:, None]).log().mean(),
        *(5, "may round to 0"),
    ),
)

# best_span


def by_all_pairs(first, last, longest):
    pairs = [(i, j) for i in range(len(first)) for j in range(i, len(last)) if j - i < longest]
    return max(pairs, key=lambda pair: first[pair[0]].item() + last[pair[1]].item())


def by_table(first, last, longest):
    sums = first[:, None] + last
    width = torch.arange(len(first))[None, :] - torch.arange(len(first))[:, None]
    sums = sums.masked_fill((width < 0) | (width >= longest), -torch.inf)
    return torch.tensor(divmod(int(sums.argmax()), len(first)))


def starting_at(best):
    def wrong(first, last, longest):
        i, j = best_span(first, last, longest)
        return (i, j) if first[i] + last[j] > best else (0, 0)

    return wrong


def masked_with(value):
    def wrong(first, last, longest):
        sums = first[:, None] + last
        legal = torch.ones_like(sums, dtype=torch.bool).triu().tril(longest - 1)
        return divmod(int(sums.masked_fill(~legal, value).argmax()), len(first))

    return wrong


def n_best(count):
    """As BERT's script for SQuAD does: only pairs of the places with the highest scores."""

    def wrong(first, last, longest):
        places = (each.topk(min(count, len(each))).indices.tolist() for each in (first, last))
        legal = [(i, j) for i, j in itertools.product(*places) if i <= j < i + longest]
        return max(legal, key=lambda pair: first[pair[0]] + last[pair[1]], default=(0, 0))

    return wrong


def exclusive(first, last, longest):
    i, j = best_span(first, last, longest)
    return i, j + 1


def any_length(first, last, longest):
    return best_span(first, last, len(first))


test_best_span_right = accepts("heads.best_span", by_all_pairs, by_table)
test_best_span_wrong = rejects(
    "heads.best_span",
    (exclusive, 1, "the first and the last place"),
    (lambda first, last: (1, 3), 1, "first of shape (4,), last of shape (4,), number 3 = 4"),
    (any_length, 3, "j - i + 1"),
    (
        lambda first, last, longest: best_span(first, last, max(1, longest - 1)),
        *(3, "one token too few"),
    ),
    (
        lambda first, last, longest: best_span(first.int(), last.int(), longest),
        3,
        "the largest sum",
    ),
    (starting_at(0), 4, "All sums are negative here"),
    (masked_with(0), 4, "All sums are negative here"),
    *((starting_at(value), 4, "below -10,000") for value in (-9, -100, -1000, -10_000)),
    *((masked_with(value), 4, "below -10,000") for value in (-100, -1000, -10_000)),
    *((n_best(count), 5, "Compare all legal pairs") for count in (10, 15, 20)),
)

# pair_input


def one_at_a_time(first, second, frame, longest):
    a, b = len(first), len(second)
    while a + b + frame.size + len(frame.between) > longest:
        a, b = (a - 1, b) if a > b else (a, b - 1)
    ids = frame.around(first[:a], second[:b])
    types = [0] * (len(frame.before) + a + len(frame.between))
    return ids, types + [1] * (len(ids) - len(types))


def by_slices(first, second, frame, longest):
    room = longest - sum(map(len, (frame.before, frame.between, frame.behind)))
    half = room // 2
    b = min(len(second), max(half, room - len(first)))
    a = min(len(first), room - b)
    one = (*frame.before, *first[:a], *frame.between)
    two = (*second[:b], *frame.behind)
    return [[*one, *two], [0 for _ in one] + [1 for _ in two]]


def halves(first, second, frame, longest):
    half = (longest - frame.size - len(frame.between)) // 2
    return pair_input(first[:half], second[:half], frame, longest)


def without_specials(first, second, frame, longest):
    return pair_input(first, second, frame, longest + frame.size + len(frame.between))


def with_frame(**change):
    """The reference with parts of the frame replaced: `change` has a function for each."""

    def wrong(first, second, frame, longest):
        parts = {name: change.get(name, tuple)(getattr(frame, name)) for name in PARTS}
        return pair_input(first, second, Frame(**parts), longest)

    return wrong


def with_count(count):
    """The reference with another number of special tokens."""

    def wrong(first, second, frame, longest):
        right = sum(len(getattr(frame, name)) for name in PARTS)
        return pair_input(first, second, frame, longest + right - count(frame))

    return wrong


def no_empty_text(first, second, frame, longest):
    assert first and second
    return pair_input(first, second, frame, longest)


def no_separator_without_second(first, second, frame, longest):
    return pair_input(first, second, frame if second else replace(frame, between=()), longest)


def no_cut_of_empty(first, second, frame, longest):
    return pair_input(first, second, frame, longest if first and second else 99)


PARTS = "before", "between", "behind"
test_pair_input_right = accepts("heads.pair_input", one_at_a_time, by_slices)
test_pair_input_wrong = rejects(
    "heads.pair_input",
    (lambda a, b, frame, longest: (frame.around(a, b), [0] * 6), 2, "The types of"),
    (halves, 3, "Cut only what does not fit"),
    (without_specials, 3, "Special tokens count"),
    (lambda a, b, frame, longest: (a + b, []), 1, "The order is"),
    (lambda *given: print(), 1, "None (is a `return` missing?)"),
    (lambda *given: map(tuple, pair_input(*given)), 1, "Return 2 lists: ids, types"),
    (lambda *given: tuple(map(tuple, pair_input(*given))), 1, "Return Python's lists"),
    *((with_frame(**{name: lambda part: part[:1]}), 1, "all of them are needed") for name in PARTS),
    (with_frame(between=lambda part: (part[0],)), 1, "all of them are needed"),
    (
        with_count(lambda f: sum(map(bool, (f.before, f.between, f.behind)))),
        3,
        "all that the frame",
    ),
    (with_count(lambda frame: 2 + bool(frame.before)), 3, "all that the frame"),
    (no_empty_text, 5, "AssertionError"),
    (no_separator_without_second, 5, "The special tokens stay"),
    (no_cut_of_empty, 5, "may still have to be cut"),
)

# mean_log_probability


def by_loop(logits, tokens, start):
    logs = torch.log_softmax(logits, dim=1)
    found = [logs[place - 1, tokens[place]] for place in range(start, len(tokens))]
    return torch.stack(found).mean()


def by_library(logits, tokens, start):
    return -float(F.cross_entropy(logits[start - 1 : -1], tokens[start:]))


def by_shares(logits, tokens, start):
    shares = logits.softmax(-1)[start - 1 : -1].gather(1, tokens[start:, None])
    return shares.clamp(min=1e-12).log().mean().item()


def log_of_mean(logits, tokens, start):
    shares = logits.softmax(-1)[start - 1 : -1].gather(1, tokens[start:, None])
    return shares.mean().log().item()


test_mean_log_probability_right = accepts("heads.mean_log_probability", by_loop, by_library)
test_mean_log_probability_wrong = rejects(
    "heads.mean_log_probability",
    (lambda *given: -mean_log_probability(*given), 1, "ln(1/4)"),
    (lambda *given: mean_log_probability(*given) / math.log(2), 1, "ln(1/4)"),
    (log_of_mean, 3, "one number a token"),
    (by_shares, 4, "log_softmax"),
    (lambda x, t, start: mean_log_probability(x, t, max(1, start - 1)), 2, "last of 4"),
)
