import hashlib
import math
import random
from bisect import bisect_right
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.checking import check
from tlcourse.exercises.probing._words import Salted, in_two_sessions
from tlcourse.exercises.probing.code_length import by, code_length, cost
from tlcourse.exercises.probing.control_labels import by as labels_by
from tlcourse.exercises.probing.control_labels import control_labels
from tlcourse.exercises.probing.linear_probe import linear_probe, noisy, standard, variant
from tlcourse.exercises.probing.remove import along, remove
from tlcourse.exercises.probing.split_by_word import split_by_word
from tlcourse.exercises.probing.word_of_each import as_given, by_shared, word_of_each
from tlcourse.exercises.task import get


def nothing(*arguments): ...  # your code here


# word_of_each


def by_bisection(tokens, words):
    starts, found = [start for start, _ in words], []
    for start, end in tokens:
        number = max(0, bisect_right(starts, start) - 1)
        if number < len(words) and words[number][1] <= start:
            number += 1
        hit = number < len(words) and max(start, words[number][0]) < min(end, words[number][1])
        found.append(number if hit else None)
    return found


def by_characters(tokens, words, choose=min):
    shared = [
        [n for n, word in enumerate(words) if {*range(*token)} & {*range(*word)}]
        for token in tokens
    ]
    return [choose(numbers, default=None) for numbers in shared]


def strips_one_space(tokens, words):
    starts = {start for start, _ in words}
    tokens = [(start + (start + 1 in starts), end) for start, end in tokens]
    return [
        next((n for n, (begin, stop) in enumerate(words) if begin <= start < stop), None)
        for start, _ in tokens
    ]


test_word_of_each_right = accepts("probing.word_of_each", by_bisection, by_characters)
test_word_of_each_wrong = rejects(
    "probing.word_of_each",
    (nothing, 0, "Not solved yet"),
    (as_given, 0, "the code as it was given"),
    (lambda *spans: [[number] for number in word_of_each(*spans)], 1, "Expected: [0]"),
    (by_shared(lambda a, b, start, end: a <= end and start < b), 1, "So use `<`, not `<=`"),
    (strips_one_space, 2, "Go by the characters that they share"),
    (lambda *spans: [n for n in word_of_each(*spans) if n is not None], 3, "in its place of the"),
    (by_shared(lambda a, b, start, end: a < end and start < b), 3, "An empty token"),
    (lambda *spans: by_characters(*spans, choose=max), 4, "gets the first of them"),
)


# linear_probe


@torch.no_grad()
def by_hand(features, labels, classes, steps):
    mean, deviation = features.mean(dim=0), features.std(dim=0, unbiased=False) + 1e-6

    def with_ones(x):
        return F.pad((x - mean) / deviation, (0, 1), value=1.0)

    inputs, targets = with_ones(features), F.one_hot(labels, classes)
    weights = torch.zeros(inputs.shape[1], classes)
    for _ in range(steps):
        errors = (inputs @ weights).softmax(dim=1) - targets
        weights -= 0.5 * inputs.T @ errors / len(labels)
    return lambda new: (with_ones(new.detach()) @ weights).max(dim=1).indices


def by_normalisation(features, labels, classes, steps):
    norm = nn.BatchNorm1d(features.shape[1], momentum=None, affine=False)
    model = nn.Sequential(norm, nn.Linear(features.shape[1], classes)).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.5)
    for _ in range(steps):
        optimizer.zero_grad()
        (-model(features.detach()).log_softmax(dim=1)[range(len(labels)), labels].mean()).backward()
        optimizer.step()
    model.eval()
    return lambda new: model(new).argsort(dim=1)[:, -1]


def trains_the_model(features, labels, classes, steps):
    F.cross_entropy(nn.Linear(features.shape[1], classes)(features), labels).backward()
    return linear_probe(features, labels, classes, steps)


test_linear_probe_right = accepts("probing.linear_probe", by_hand, by_normalisation)
test_linear_probe_wrong = rejects(
    "probing.linear_probe",
    (nothing, 0, "Not solved yet"),
    (lambda *given: linear_probe(*given) and None, 1, "Why: Is a `return` missing?"),
    (lambda *given: linear_probe(*given)(given[0]), 1, "Expected: a function that predicts"),
    (lambda *given: lambda new: linear_probe(*given)(new).numpy(), 1, "Yours: a NumPy array"),
    (lambda *given: linear_probe(*given[:3], 0), 2, "is the learning rate large enough?"),
    (lambda *given: linear_probe(*given[:3], 100), 2, "`steps` was not used"),
    (
        variant(loss=lambda scores, labels: F.cross_entropy(scores[:20], labels[:20])),
        *(4, "the mean cross-entropy of all examples"),
    ),
    (variant(scaler=lambda x: lambda new: new), 5, "Give *each column* mean 0"),
    (variant(scaler=lambda x: lambda new: (new - x.mean(0)) / x.std(0)), 5, "0 / 0 is NaN"),
    (variant(scaler=lambda x: lambda new: standard(new)(new)), 6, "of the *training* features"),
    (
        variant(loss=lambda scores, labels: F.cross_entropy(scores.softmax(-1), labels)),
        *(8, "Is there a softmax before the cross-entropy?"),
    ),
    (trains_the_model, 9, "a gradient goes through the features into the model"),
)


@pytest.mark.parametrize("probe", [linear_probe, by_hand, by_normalisation])
def test_probes_are_as_good_as_the_library(probe):
    *train, _ = noisy(400, 1)
    *new, _ = noisy(2000, 2)
    torch.manual_seed(0)
    mine = (probe(*train, 3, 300)(new[0]) == new[1]).double().mean().item()
    library = LogisticRegression().fit(*train).score(*new)
    assert mine == pytest.approx(library, abs=0.02)


# control_labels


def by_digest(words, labels, seed):
    def draw(word):
        return int(hashlib.sha256(f"{seed} {word}".encode()).hexdigest(), 16)

    return [labels[draw(word) % len(labels)] for word in words]


def by_shares(words, labels, seed):
    counts = Counter(labels)
    types, draw = sorted(set(words)), random.Random(f"control {seed}")
    drawn = dict(zip(types, draw.choices([*counts], counts.values(), k=len(types)), strict=True))
    return [drawn[word] for word in words]


def by_hash(words, labels, seed):
    return [labels[hash((word, seed)) % len(labels)] for word in words]


def half_their_own(words, labels, seed):
    draw, drawn = random.Random(f"half {seed}"), control_labels(words, labels, seed)
    own = dict(zip(words, labels, strict=True))
    stays = {word: draw.random() < 0.5 for word in own}
    return [own[word] if stays[word] else drawn[n] for n, word in enumerate(words)]


def labels_in_a_set(draw, labels, own):
    kinds = list(set(labels))
    return draw.choices(kinds, [labels.count(kind) for kind in kinds], k=len(own))


def square_roots(draw, labels, own):
    counts = Counter(labels)
    return draw.choices([*counts], [count**0.5 for count in counts.values()], k=len(own))


test_control_labels_right = accepts("probing.control_labels", by_digest, by_shares)
test_control_labels_wrong = rejects(
    "probing.control_labels",
    (nothing, 0, "Not solved yet"),
    (lambda words, *rest: dict.fromkeys(control_labels(words, *rest)), 1, "a list of 5"),
    (lambda words, *rest: control_labels([*{*words}], *rest), 1, "Each word of the text has"),
    (lambda words, *_: [100 + len(word) for word in words], 1, "that are none of the labels"),
    (lambda words, labels, seed: random.Random(seed).choices(labels, k=len(words)), 2, "Draw once"),
    (lambda words, labels, seed: [labels[words.index(word)] for word in words], 3, "was not used"),
    (labels_by(lambda _, labels, own: random.choices(labels, k=len(own))), 3, "has seeded"),
    (half_their_own, 4, "must not change its chances"),
    (labels_by(square_roots), 5, "Draw from the list of all labels"),
    (labels_by(labels_in_a_set), 6, "hashes words differently"),
    (by_hash, 6, "`hash` gives another number"),
)


def test_salted_words_are_equal_and_stand_in_sets_otherwise():
    words = [f"word{n}" for n in range(50)]
    assert [Salted(word, 1) for word in words] == words
    words.sort()
    assert in_two_sessions(sorted, words) == (words, words)
    one, other = in_two_sessions(lambda words: list(set(words)), words)
    assert one != other and sorted(one) == sorted(other)


# code_length


def by_one_table(labels, classes, ends, fit):
    table = torch.full((len(labels), classes), -math.log(classes))
    for start, end in pairwise(ends):
        table[start:end] = fit(start)[start:end]
    return -table.gather(1, labels[:, None]).sum(dtype=torch.double) / math.log(2)


def in_base_two(labels, classes, ends, fit):
    bits = [math.log(classes, 2)] * ends[0]
    for block, start in enumerate(ends[:-1]):
        logs = (fit(start) * math.log2(math.e)).numpy()
        bits += [-logs[n][labels[n]] for n in range(start, ends[block + 1])]
    return np.sum(bits)


test_code_length_right = accepts("probing.code_length", by_one_table, in_base_two)
test_code_length_wrong = rejects(
    "probing.code_length",
    (nothing, 0, "Not solved yet"),
    (lambda *given: code_length(*given) and None, 1, "Why: Is a `return` missing?"),
    (lambda *given: [code_length(*given)], 1, "Expected: one number, the bits of all labels"),
    (by(cost, lambda *_: 0.0), 1, "Each label costs log2(classes) bits"),
    (by(cost, lambda *_: 0.0, lambda ends: pairwise([0, *ends])), 1, "Nothing comes before"),
    (by(lambda *block: -cost(*block)), 2, "Take minus the entry"),
    (by(lambda labels, start, end, fit: cost(labels, start, end, fit, 1)), 2, "`fit(1)`"),
    (
        by(lambda labels, a, b, fit: sum(cost(labels, n, n + 1, fit, a) for n in range(a, b))),
        *(3, "call it once for each block"),
    ),
    (
        lambda *given: code_length(*given[:3], lambda count: given[3](count).exp().log()),
        *(4, "stay with the logarithms"),
    ),
)


def test_a_probe_that_knows_nothing_compresses_nothing():
    labels = torch.randint(5, (40,), generator=torch.Generator().manual_seed(0))
    uniform = torch.full((40, 5), -math.log(5))
    bits = code_length(labels, 5, [3, 10, 40], lambda count: uniform)
    assert bits.item() == pytest.approx(40 * math.log2(5), rel=1e-5)


# remove


def by_least_squares(states, directions):
    flat = states.reshape(-1, states.shape[-1]).T
    amounts = torch.linalg.lstsq(directions.T, flat, driver="gelsd").solution
    return (flat - directions.T @ amounts).T.reshape(states.shape)


def by_gram_schmidt(least):
    """Leaves out a direction of which no more than `least` of its length is left."""

    def candidate(states, directions):
        basis = []
        for direction in directions:
            rest = direction
            for unit in basis * 2:  # once more, against rounding
                rest = rest - (rest @ unit) * unit
            if not rest.norm() <= least * direction.norm():
                basis.append(rest / rest.norm())
        return one_after_the_other(states, basis)

    return candidate


def one_after_the_other(states, directions):
    for each in directions:
        states = states - (states @ each)[..., None] * each / (each @ each)
    return states


def by_inverse(states, directions):
    gram = directions @ directions.T
    return states - states @ directions.T @ torch.linalg.inv(gram) @ directions


def chosen(some):
    """Removes the span of `some(directions)`."""
    return lambda states, directions: remove(states, some(directions))


solve_the_bonus = (by_least_squares, by_gram_schmidt(1e-5))
leave_the_bonus = (
    (chosen(lambda d: d[:1]), "Nothing is left along any direction"),
    (one_after_the_other, "make them orthogonal first"),
    (lambda h, d: h - along(h, torch.linalg.qr(d.T)[0].T), "keep what is clearly above 0"),
    (by_inverse, "raises _LinAlgError. Some of these directions add nothing new"),
    (by_gram_schmidt(-1), "use an SVD and keep what is clearly above 0"),
    (chosen(lambda d: d[:2] if len(d) > 4 else d), "without 6 random directions"),
)
test_remove_right = accepts(
    "probing.remove", *solve_the_bonus, *(answer for answer, _ in leave_the_bonus)
)
test_remove_wrong = rejects(
    "probing.remove",
    (nothing, 0, "Not solved yet"),
    (lambda *given: remove(*given).numpy(), 1, "Stay with PyTorch throughout"),
    (lambda states, directions: states.copy_(remove(states, directions)), 1, "`states`, after the"),
    (lambda *given: torch.atleast_2d(remove(*given)), 1, "The states keep their shape"),
    (chosen(lambda d: d * (torch.arange(d.shape[1]) < 3)), 4, "and all else goes"),
)


def test_the_bonus_of_several_directions_is_a_remark():
    for answer, fragment in leave_the_bonus:
        said = check(get("probing.remove"), answer).message
        assert "(A bonus is left, several directions: " in said and fragment in said
    for answer in solve_the_bonus:
        assert "(The bonus, several" in check(get("probing.remove"), answer).message


# split_by_word


def by_numpy_types(words, share, seed):
    types = np.unique(words)
    chosen = np.random.default_rng(seed).choice(types, int(share * len(types)), replace=False)
    is_test = np.isin(words, chosen)
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def one_coin_a_type(words, share, seed):
    draw, is_test, sides = random.Random(seed), {}, ([], [])
    for place, word in enumerate(words):
        if word not in is_test:
            is_test[word] = draw.random() < share
        sides[is_test[word]].append(place)
    return sides


def by_places(words, share, seed):
    places = random.Random(seed).sample(range(len(words)), len(words))
    after = round(share * len(words))
    return places[after:], places[:after]


def first_in(order):
    """The first types of `order(words, generator)` are held out."""

    def candidate(words, share, seed):
        types = order(words, random.Random(seed))
        held_out = set(types[: round(share * len(types))])
        train = [place for place, word in enumerate(words) if word not in held_out]
        return train, [place for place, word in enumerate(words) if word in held_out]

    return candidate


test_split_by_word_right = accepts("probing.split_by_word", by_numpy_types, one_coin_a_type)
test_split_by_word_wrong = rejects(
    "probing.split_by_word",
    (nothing, 0, "Not solved yet"),
    (lambda *given: [[str(n) for n in side] for side in split_by_word(*given)], 1, "of places"),
    (lambda *given: split_by_word(*given)[1], 1, "Expected: two lists of places"),
    (lambda words, *rest: split_by_word(sorted({*words}), *rest), 1, "Each of the 8 places"),
    (by_places, 2, "Were places drawn?"),
    (lambda words, share, seed: split_by_word(words, 0.5, seed), 3, "Yours: 0.49"),
    (lambda words, share, seed: split_by_word(words, share, None), 4, "nobody has seeded"),
    (first_in(lambda words, draw: [*dict.fromkeys(words)]), 4, "another seed has to give"),
    (
        first_in(lambda words, draw: [*dict.fromkeys(draw.sample(words, len(words)))]),
        *(4, "Every type has the same chance"),
    ),
    (first_in(lambda words, draw: draw.sample([*{*words}], len({*words}))), 5, "hashes words"),
)
