"""Right and wrong answers to the exercises of lesson 09."""

import itertools

import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
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


test_tag_targets_right = accepts("heads.tag_targets", by_seen, by_groups)
test_tag_targets_wrong = rejects(
    "heads.tag_targets",
    (lambda word_of, tags: list(tags), 2, "Only the first token of a word"),
    (lambda word_of, tags: [t for t in tag_targets(word_of, tags) if t >= 0], 2, "-100"),
    (lambda word_of, tags: tag_targets([w for w in word_of if w is not None], tags), 3, "-100"),
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


def by_kinds(gold, predicted):
    return entity_f1(
        *([[tag if tag == "O" else tag[:2] + "X" for tag in row] for row in rows]
          for rows in (gold, predicted))
    )  # fmt: skip


def precision_only(gold, predicted):
    f1, count = entity_f1(gold, predicted), sum(t[0] == "B" for row in predicted for t in row)
    total = count + sum(t[0] == "B" for row in gold for t in row)
    return f1 * total / 2 / count if count else 0.0


def undefined_if_empty(gold, predicted):
    right = entity_f1(gold, predicted)
    return right if any(t != "O" for row in gold + predicted for t in row) else 1 / 0


test_entity_f1_right = accepts("heads.entity_f1", by_runs, by_text)
test_entity_f1_wrong = rejects(
    "heads.entity_f1",
    (lambda *given: 100 * entity_f1(*given), 1, "from 0 to 1"),
    (by_kinds, 3, "A place that is taken for a person"),
    (precision_only, 4, "in the second only"),
    (undefined_if_empty, 5, "ZeroDivisionError"),
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


def from_zero(first, last, longest):
    best, found = 0.0, (0, 0)
    for i in range(len(first)):
        for j in range(i, min(i + longest, len(last))):
            if first[i] + last[j] > best:
                best, found = (first[i] + last[j]).item(), (i, j)
    return found


def exclusive(first, last, longest):
    i, j = best_span(first, last, longest)
    return i, j + 1


def any_length(first, last, longest):
    return best_span(first, last, len(first))


test_best_span_right = accepts("heads.best_span", by_all_pairs, by_table)
test_best_span_wrong = rejects(
    "heads.best_span",
    (exclusive, 1, "the first and the last place"),
    (any_length, 3, "j - i + 1"),
    (from_zero, 4, "minus infinity"),
)

# pair_input


def one_at_a_time(first, second, frame, longest):
    a, b = len(first), len(second)
    while a + b + frame.size + len(frame.between) > longest:
        a, b = (a - 1, b) if a > b else (a, b - 1)
    ids = frame.around(first[:a], second[:b])
    types = [0] * (len(frame.before) + a + len(frame.between))
    return tuple(ids), tuple(types + [1] * (len(ids) - len(types)))


def by_slices(first, second, frame, longest):
    room = longest - sum(map(len, (frame.before, frame.between, frame.behind)))
    half = room // 2
    b = min(len(second), max(half, room - len(first)))
    a = min(len(first), room - b)
    one = (*frame.before, *first[:a], *frame.between)
    two = (*second[:b], *frame.behind)
    return [*one, *two], [0 for _ in one] + [1 for _ in two]


def halves(first, second, frame, longest):
    half = (longest - frame.size - len(frame.between)) // 2
    return pair_input(first[:half], second[:half], frame, longest)


def without_specials(first, second, frame, longest):
    return pair_input(first, second, frame, longest + frame.size + len(frame.between))


test_pair_input_right = accepts("heads.pair_input", one_at_a_time, by_slices)
test_pair_input_wrong = rejects(
    "heads.pair_input",
    (lambda a, b, frame, longest: (frame.around(a, b), [0] * 6), 2, "The types of"),
    (halves, 3, "Cut only what does not fit"),
    (without_specials, 3, "Special tokens count"),
    (lambda a, b, frame, longest: (a + b, []), 1, "The order is"),
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


test_mean_log_probability_right = accepts("heads.mean_log_probability", by_loop, by_library)
test_mean_log_probability_wrong = rejects(
    "heads.mean_log_probability",
    (lambda *given: -mean_log_probability(*given), 1, "never above 0"),
    (by_shares, 4, "log_softmax"),
    (lambda x, t, start: mean_log_probability(x, t, max(1, start - 1)), 2, "last of 4"),
)
