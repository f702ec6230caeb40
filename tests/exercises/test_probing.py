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
from tlcourse.exercises.probing.control_labels import control_labels
from tlcourse.exercises.probing.linear_probe import linear_probe, noisy
from tlcourse.exercises.probing.remove import along, remove
from tlcourse.exercises.probing.split_by_word import split_by_word
from tlcourse.exercises.probing.word_of_each import as_given, by_shared, word_of_each
from tlcourse.exercises.task import get

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


test_word_of_each_right = accepts("probing.word_of_each", by_bisection, by_characters)
test_word_of_each_wrong = rejects(
    "probing.word_of_each",
    (as_given, 0, "the code as it was given"),
    (lambda *spans: [[number] for number in word_of_each(*spans)], 1, "Return one number for"),
    (by_shared(lambda a, b, start, end: a <= end and start < b), 1, "So use `<`, not `<=`"),
    (by_shared(lambda a, b, start, end: start < b <= end), 2, "neither the first nor the last"),
    (lambda *spans: [n for n in word_of_each(*spans) if n is not None], 3, "any word is None"),
    (by_shared(lambda a, b, start, end: a < end and start < b), 3, "An empty token"),
    (lambda *spans: by_characters(*spans, choose=max), 4, "to the first of them"),
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


def standard(features):
    """A function that standardises with the mean and deviation of these features."""
    mean, deviation = features.mean(dim=0), features.std(dim=0).clamp(min=1e-6)
    return lambda new: (new - mean) / deviation


def variant(scaler=standard, loss=F.cross_entropy):
    """The reference with another scale or another loss."""

    def candidate(features, labels, classes, steps):
        scale = scaler(features.detach())
        layer = nn.Linear(features.shape[1], classes)
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
        for _ in range(steps):
            optimizer.zero_grad()
            loss(layer(scale(features.detach())), labels).backward()
            optimizer.step()
        return lambda new: layer(scale(new)).argmax(dim=1)

    return candidate


def trains_the_model(features, labels, classes, steps):
    F.cross_entropy(nn.Linear(features.shape[1], classes)(features), labels).backward()
    return linear_probe(features, labels, classes, steps)


test_linear_probe_right = accepts("probing.linear_probe", by_hand, by_normalisation)
test_linear_probe_wrong = rejects(
    "probing.linear_probe",
    (lambda *given: linear_probe(*given) and None, 1, "Why: Is a `return` missing?"),
    (lambda *given: lambda new: linear_probe(*given)(new)[:1], 1, "`argmax(dim=1)` of its scores"),
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
        *(8, "Is there a softmax before the cross-entropy"),
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


def unseeded(words, labels, seed):
    return control_labels(words, labels, None)


test_control_labels_right = accepts("probing.control_labels", by_digest, by_shares)
test_control_labels_wrong = rejects(
    "probing.control_labels",
    (lambda words, *rest: dict.fromkeys(control_labels(words, *rest)), 1, "a list of 5"),
    (lambda words, *rest: control_labels([*{*words}], *rest), 1, "Each word of the text has"),
    (lambda words, *_: [100 + len(word) for word in words], 1, "that are none of the labels"),
    (lambda words, labels, seed: random.Random(seed).choices(labels, k=len(words)), 2, "Draw once"),
    (lambda words, labels, seed: [labels[words.index(word)] for word in words], 3, "was not used"),
    (unseeded, 3, "has seeded"),
    (half_their_own, 4, "must not change its chances"),
    (by_hash, 6, "`hash` returns another number"),
)


def test_salted_words_are_equal_and_have_another_order_in_sets():
    words = [f"word{n}" for n in range(50)]
    assert [Salted(word) for word in words] == words
    measure = in_two_sessions(lambda candidate, words: candidate(words))
    assert measure(sorted, words) == "the same"
    assert measure(lambda words: list(set(words)), words) == "different"


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


def first_two(labels, classes, ends, fit):
    return code_length(labels, classes, ends[:2], fit)


test_code_length_right = accepts("probing.code_length", by_one_table, in_base_two)
test_code_length_wrong = rejects(
    "probing.code_length",
    (lambda *given: code_length(*given) and None, 1, "Why: Is a `return` missing?"),
    (lambda x, n, ends, fit: code_length(x, n, [0, *ends], fit), 1, "Nothing comes before"),
    (lambda x, n, ends, fit: code_length(x, n + 2, ends, fit), 1, "not ln(classes)"),
    (by(lambda labels, start, end, fit: cost(labels, start, end, fit, 1)), 2, "`fit(1)`"),
    (first_two, 3, "Are all blocks counted?"),
    (
        by(lambda labels, a, b, fit: sum(cost(labels, n, n + 1, fit, a) for n in range(a, b))),
        *(3, "call it once for each block"),
    ),
    (
        lambda *given: code_length(*given[:3], lambda count: given[3](count).exp().log()),
        *(4, "use the logarithms that `fit` gives"),
    ),
)


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
    (chosen(lambda d: d[:1]), "Nothing may remain along any direction"),
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
    (lambda *given: remove(*given).numpy(), 1, "Use PyTorch throughout"),
    (lambda states, directions: states.copy_(remove(states, directions)), 1, "`states`, after the"),
    (lambda *given: torch.atleast_2d(remove(*given)), 2, "The states keep their shape"),
    (lambda h, d: 2 * h - remove(h, d), 2, "where d has length one in both places"),
    (chosen(lambda d: d * (torch.arange(d.shape[1]) < 3)), 4, "and the rest is removed"),
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


def first_in(order):
    """The first types of `order(words, generator)` are held out."""

    def candidate(words, share, seed):
        types = order(words, random.Random(seed))
        held_out = set(types[: round(share * len(types))])
        train = [place for place, word in enumerate(words) if word not in held_out]
        return train, [place for place, word in enumerate(words) if word in held_out]

    return candidate


def plain_types(words, draw):
    """Texts that no set finds if it is asked for a salted one."""
    return draw.sample(np.unique(words).tolist(), len({*words}))


test_split_by_word_right = accepts(
    "probing.split_by_word", by_numpy_types, one_coin_a_type, first_in(plain_types)
)
test_split_by_word_wrong = rejects(
    "probing.split_by_word",
    (lambda *given: [[str(n) for n in side] for side in split_by_word(*given)], 1, "of positions"),
    (lambda words, *rest: split_by_word(sorted({*words}), *rest), 1, "Each of the 8 positions"),
    (lambda words, share, seed: split_by_word(words, share, None), 4, "nobody has seeded"),
    (first_in(lambda words, draw: [*dict.fromkeys(words)]), 4, "another seed has to give"),
    (
        first_in(lambda words, draw: [*dict.fromkeys(draw.sample(words, len(words)))]),
        *(4, "Every type has the same chance"),
    ),
    (first_in(lambda words, draw: draw.sample([*{*words}], len({*words}))), 5, "hashes words"),
)
