import hashlib
import math
import random
from bisect import bisect_right
from collections import Counter
from itertools import accumulate, pairwise

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
from tlcourse.exercises.probing.linear_probe import linear_probe, noisy, standard, variant
from tlcourse.exercises.probing.remove import along, remove
from tlcourse.exercises.probing.split_by_word import by as split_by
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


def strips_one_space(tokens, words):
    starts = {start for start, _ in words}
    tokens = [(start + (start + 1 in starts), end) for start, end in tokens]
    return [
        next((n for n, (begin, stop) in enumerate(words) if begin <= start < stop), None)
        for start, _ in tokens
    ]


def by_most_characters(tokens, words):
    found = []
    for start, end in tokens:
        shared = [min(end, stop) - max(start, begin) for begin, stop in words]
        most = max(shared, default=0)
        found.append(shared.index(most) if most > 0 else None)
    return found


def by_walking_along(tokens, words):
    numbers, at = [], 0
    for start, end in tokens:
        while at < len(words) and words[at][1] <= start:
            at += 1
        hit = at < len(words) and start < end and words[at][0] < end
        numbers.append(at if hit else None)
    return numbers


def changed(change):
    """The reference's numbers, changed."""
    return lambda *spans: change(word_of_each(*spans))


test_word_of_each_right = accepts("probing.word_of_each", by_bisection, by_walking_along)
test_word_of_each_wrong = rejects(
    "probing.word_of_each",
    (nothing, 0, "Not solved yet"),
    (as_given, 0, "the code as it was given"),
    (changed(lambda found: [n if n is None else n + 1 for n in found]), 1, "counted from 0"),
    (changed(lambda found: [[n] for n in found]), 1, "Expected: [0]"),
    (changed(lambda found: np.array(found, dtype=object)), 1, "Expected: [0]"),
    (by_shared(lambda a, b, start, end: start <= a <= end), 1, "So use `<`, not `<=`"),
    (by_shared(lambda a, b, start, end: a <= end and start < b), 1, "So use `<`, not `<=`"),
    (by_shared(lambda a, b, start, end: start <= a + 1 < end), 1, "Return one number for each"),
    (by_shared(lambda a, b, start, end: start <= a and b <= end), 2, "nor the whole of it lies"),
    (strips_one_space, 2, "Go by the characters that they share"),
    (changed(lambda found: [n for n in found if n is not None]), 3, "in its place of the list"),
    (by_shared(lambda a, b, start, end: a < end and start < max(b, 1)), 3, "An empty token"),
    (by_most_characters, 4, "gets the first of them"),
)


# linear_probe


class Probe(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", features.mean(dim=0, keepdim=True))
        self.register_buffer("scale", 1 / (features.var(dim=0, keepdim=True) + 1e-8).sqrt())
        self.scores = nn.Linear(features.shape[1], classes)

    def forward(self, new):
        scores = self.scores((new - self.mean) * self.scale)
        return scores if self.training else scores.softmax(dim=1).topk(1).indices.squeeze(1)


def as_a_module(features, labels, classes, steps):
    probe = Probe(features.detach(), classes)
    optimizer = torch.optim.AdamW(probe.parameters(), lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=False)
        F.nll_loss(F.log_softmax(probe(features.detach()), dim=1), labels).backward()
        optimizer.step()
    return probe.eval()


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


def descent(lr, **how):
    return variant(make=lambda parameters, **_: torch.optim.SGD(parameters, lr=lr, **how))


class NeverCleared(torch.optim.Adam):
    def zero_grad(self): ...


def predicts(change):
    """What the reference predicts, changed."""
    return lambda *given: lambda new: change(linear_probe(*given)(new))


def changes_what_is_new(*given):
    predict = linear_probe(*given)
    return lambda new: predict(new.sub_(1) + 1)


def changes_features(features, labels, classes, steps):
    return linear_probe(features.sub_(1), labels, classes, steps)


def new_with_their_own(features, labels, classes, steps):
    predict = linear_probe((features - features.mean(0)) / features.std(0), labels, classes, steps)
    return lambda new: predict((new - new.mean(0)) / new.std(0))


def no_detach(**how):
    def candidate(features, labels, classes, steps):
        inputs, layer = standard(features)(features), nn.Linear(features.shape[1], classes)
        for _ in range(steps if features.requires_grad else 0):
            F.cross_entropy(layer(inputs), labels).backward(**how)
        return linear_probe(features, labels, classes, steps)

    return candidate


test_linear_probe_right = accepts(
    "probing.linear_probe", as_a_module, by_hand, by_normalisation, descent(0.1)
)
test_linear_probe_wrong = rejects(
    "probing.linear_probe",
    (nothing, 0, "Not solved yet"),
    (lambda *given: linear_probe(*given) and None, 1, "Why: Is a `return` missing?"),
    (lambda *given: linear_probe(*given)(given[0]), 1, "Expected: a function that predicts"),
    (predicts(torch.Tensor.tolist), 1, "Expected: a tensor of shape (7,)"),
    (predicts(torch.Tensor.numpy), 1, "Yours: a NumPy array"),
    (changes_what_is_new, 1, "Check: Argument 1, `new`, after the call."),
    (changes_features, 1, "Check: Argument 1, `features`, after the call."),
    (descent(0.0), 2, "Nothing was learnt"),
    (descent(1e-5), 2, "is the learning rate large enough?"),
    (descent(1.0, maximize=True), 2, "does each step increase the loss"),
    (lambda *given: linear_probe(*given[:3], 100), 2, "`steps` was not used"),
    (variant(make=NeverCleared), 4, "Gradients add up from step to step"),
    (
        variant(loss=lambda scores, labels: F.cross_entropy(scores[:20], labels[:20])),
        *(4, "the mean cross-entropy of all examples"),
    ),
    (variant(scaler=lambda x: lambda new: new), 5, "Give *each column* mean 0"),
    (variant(scaler=lambda x: lambda new: new - x.mean(0)), 5, "Give *each column* mean 0"),
    (variant(scaler=lambda x: lambda new: (new - x.mean(0)) / x.std(0)), 5, "0 / 0 is NaN"),
    (new_with_their_own, 5, "0 / 0 is NaN"),
    (variant(scaler=lambda x: lambda new: standard(new)(new)), 6, "of the *training* features"),
    (
        variant(loss=lambda scores, labels: F.cross_entropy(scores.softmax(-1), labels)),
        *(8, "Is there a softmax before the cross-entropy?"),
    ),
    (no_detach(retain_graph=True), 9, "a gradient goes through the features into the model"),
    (no_detach(), 9, "Why: The features are frozen: begin with `features.detach()`."),
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


def by_numpy(words, labels, seed):
    types, places = np.unique(words, return_inverse=True)
    return np.random.default_rng(seed).choice(labels, len(types))[places]


def by_shuffled_text(words, labels, seed):
    moved, met = random.Random(seed).sample(labels, len(labels)), {}
    return [met.setdefault(word, label) for word, label in zip(words, moved, strict=True)]


def by_unique_and_dictionary(words, labels, seed):
    types = np.unique(words)
    drawn = dict(zip(types, random.Random(seed).choices(labels, k=len(types)), strict=True))
    return [drawn[word] for word in words]


def by_shares(words, labels, seed):
    counts = Counter(labels)
    types, draw = sorted(set(words)), random.Random(f"control {seed}")
    drawn = dict(zip(types, draw.choices([*counts], counts.values(), k=len(types)), strict=True))
    return [drawn[word] for word in words]


def by_first_meeting(words, labels, seed):
    random.seed(seed)
    met = {}
    for word in words:
        if word not in met:
            met[word] = labels[random.randrange(len(labels))]
    return tuple(met[word] for word in words)


def for_types(draw, types=dict.fromkeys):
    """`draw(generator, labels, count)` for the types, given their order."""

    def candidate(words, labels, seed):
        own = list(types(words))
        drawn = dict(zip(own, draw(random.Random(seed), labels, len(own)), strict=True))
        return [drawn[word] for word in words]

    return candidate


def numbers_of_labels(words, labels, seed):
    kinds = sorted(set(labels))
    return [100 + kinds.index(label) for label in control_labels(words, labels, seed)]


def by_hash(words, labels, seed):
    return [labels[hash((word, seed)) % len(labels)] for word in words]


def label_before(words, labels, seed):
    """Each type gets the label of the word after its first place."""
    met = {}
    return [met.setdefault(word, labels[(n + 1) % len(labels)]) for n, word in enumerate(words)]


def half_their_own(words, labels, seed):
    draw, drawn = random.Random(f"half {seed}"), control_labels(words, labels, seed)
    own = dict(zip(words, labels, strict=True))
    stays = {word: draw.random() < 0.5 for word in own}
    return [own[word] if stays[word] else drawn[n] for n, word in enumerate(words)]


def root_of_counts(draw, labels, count):
    counts = Counter(labels)
    return draw.choices(list(counts), [each**0.5 for each in counts.values()], k=count)


def labels_in_a_set(draw, labels, count):
    kinds = list(set(labels))
    return draw.choices(kinds, [labels.count(kind) for kind in kinds], k=count)


test_control_labels_right = accepts(
    "probing.control_labels",
    *(by_digest, by_numpy, by_shuffled_text, by_unique_and_dictionary, by_shares),
    by_first_meeting,
)
test_control_labels_wrong = rejects(
    "probing.control_labels",
    (nothing, 0, "Not solved yet"),
    (lambda *given: control_labels(*given) and None, 1, "Why: Is a `return` missing?"),
    (lambda words, *rest: dict.fromkeys(control_labels(words, *rest)), 1, "a list of 5"),
    (lambda words, *rest: control_labels([*{*words}], *rest), 1, "Each word of the text has"),
    (numbers_of_labels, 1, "that are none of the labels"),
    (lambda words, labels, seed: random.Random(seed).choices(labels, k=len(words)), 2, "Draw once"),
    (lambda words, labels, seed: [Counter(labels).most_common()[0][0]] * len(words), 3, "the same"),
    (lambda words, labels, seed: labels, 2, "more than one label"),
    (lambda words, labels, seed: [labels[words.index(word)] for word in words], 3, "random ones"),
    (for_types(lambda _, labels, count: random.choices(labels, k=count)), 3, "has seeded"),
    (lambda words, labels, seed: control_labels(words, labels, 0), 3, "another draw"),
    (label_before, 3, "another seed has to give another draw"),
    (half_their_own, 4, "must not change its chances"),
    (for_types(root_of_counts), 5, "Draw from the list of all labels"),
    (for_types(labels_in_a_set), 6, "hashes words differently"),
    (for_types(lambda draw, labels, count: draw.choices(labels, k=count), set), 6, "has another"),
    (by_hash, 6, "`hash` gives another number"),
)


def test_salted_words_are_equal_and_stand_in_sets_otherwise():
    words = [f"word{n}" for n in range(50)]
    assert [Salted(word, 1) for word in words] == words
    assert in_two_sessions(sorted, words) == (words := sorted(words), words)
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


def by_cross_entropy(labels, classes, ends, fit):
    nats = [torch.tensor(ends[0] * math.log(classes))]
    for start, end in pairwise(ends):
        nats.append(F.cross_entropy(fit(start)[start:end], labels[start:end], reduction="sum"))
    return torch.stack(nats).sum() / torch.tensor(2.0).log()


def in_plain_python(labels, classes, ends, fit):
    bits, start = 0.0, 0
    for end in ends:
        table = fit(start).tolist() if start else [[-math.log(classes)] * classes] * end
        for place in range(start, end):
            bits -= table[place][labels[place]] * math.log2(math.e)
        start = end
    return bits


def block(change):
    """Later blocks that cost `change(log-probabilities, labels, start, end)` nats."""
    return by(lambda labels, start, end, fit: change(fit(start), labels, start, end) / math.log(2))


def own(logs, labels, start, end):
    return -logs[range(start, end), labels[start:end]].sum().item()


def with_fit(change):
    """The reference with `change(fit, count, ends)` in place of `fit(count)`."""
    return lambda labels, classes, ends, fit: code_length(
        labels, classes, ends, lambda count: change(fit, count, ends)
    )


def takes_ends_for_sizes(labels, classes, ends, fit):
    ends = [min(end, len(labels)) for end in accumulate(ends)]
    return code_length(labels, classes, ends, fit)


def errors(logs, labels, start, end):
    return (logs[start:end].argmax(1) != labels[start:end]).sum().item() * math.log(2)


test_code_length_right = accepts(
    "probing.code_length", by_one_table, in_base_two, by_cross_entropy, in_plain_python
)
test_code_length_wrong = rejects(
    "probing.code_length",
    (nothing, 0, "Not solved yet"),
    (lambda *given: code_length(*given) and None, 1, "Why: Is a `return` missing?"),
    (lambda *given: [code_length(*given)], 1, "Expected: one number, the bits of all labels"),
    (lambda *given: code_length(*given) * math.log(2), 1, "The first block is in nats"),
    (lambda labels, *rest: code_length(labels, *rest) / len(labels), 1, "of all labels together"),
    (by(cost, lambda _, classes, ends: ends[0] * classes), 1, "costs log2(classes) bits"),
    (
        by(cost, lambda labels, _, ends: ends[0] * math.log2(len(labels[: ends[0]].unique()))),
        *(1, "whether or not every class occurs"),
    ),
    (by(cost, lambda *_: 0.0, lambda ends: pairwise([0, *ends])), 1, "Nothing comes before"),
    (lambda labels, classes, *_: len(labels) * math.log2(classes), 2, "then 3 bits and 2 bits"),
    (block(lambda *given: own(*given) * math.log(2) ** 2), 2, "divided by ln 2"),
    (block(lambda *given: -own(*given)), 2, "Take minus the entry"),
    (block(lambda logs, labels, a, b: own(logs[a:], labels[a:], 0, b - a - 1)), 2, "own row"),
    (block(lambda logs, labels, a, b: own(logs, labels[a:], 0, b - a)), 2, "in its own row"),
    (block(lambda logs, labels, a, b: own(logs, labels, 0, b)), 2, "in its own row"),
    (block(lambda logs, labels, a, b: own(logs, logs.argmax(1), a, b)), 2, "of each label"),
    (block(lambda logs, labels, a, b: -logs[a:b].sum().item()), 2, "of each label"),
    (block(lambda logs, labels, a, b: -logs[labels[a:b]].sum().item()), 2, "in its own row"),
    (block(errors), 2, "then 3 bits and 2 bits"),
    (with_fit(lambda fit, count, _: fit(count).abs().log()), 2, "gives natural logarithms already"),
    (by(cost, borders=lambda ends: pairwise(ends[:-1])), 2, "then 3 bits and 2 bits"),
    (with_fit(lambda fit, count, _: fit(count - 1)), 2, "Yours: `fit(1)`"),
    (takes_ends_for_sizes, 3, "Yours: `fit(5)`"),
    (with_fit(lambda fit, count, ends: fit(ends[0])), 3, "has a probe of its own"),
    (
        with_fit(lambda fit, count, ends: fit(ends[max(0, ends.index(count) - 1)])),
        *(3, "has a probe of its own, trained on all before it"),
    ),
    (
        by(lambda labels, a, b, fit: sum(cost(labels, n, n + 1, fit, a) for n in range(a, b))),
        *(3, "call it once for each block"),
    ),
    (with_fit(lambda fit, count, _: fit(count).clamp(min=-30)), 4, "stay with the logarithms"),
    (with_fit(lambda fit, count, _: fit(count).exp().log()), 4, "stay with the logarithms"),
)


def test_a_probe_that_knows_nothing_compresses_nothing():
    labels = torch.randint(5, (40,), generator=torch.Generator().manual_seed(0))
    bits = by_cross_entropy(labels, 5, [3, 10, 40], lambda n: torch.zeros(40, 5))
    assert bits.item() == pytest.approx(40 * math.log2(5), rel=1e-5)


# remove


def by_least_squares(states, directions):
    flat = states.reshape(-1, states.shape[-1]).T
    amounts = torch.linalg.lstsq(directions.T, flat, driver="gelsd").solution
    return (flat - directions.T @ amounts).T.reshape(states.shape)


def by_eigenvectors(states, directions):
    values, vectors = torch.linalg.eigh(directions.T @ directions)
    rest = vectors[:, values < 1e-5 * values.max()]
    return states @ rest @ rest.T


def in_numpy(states, directions):
    left = np.linalg.pinv(directions.numpy(), rcond=1e-5) @ directions.numpy()
    return states - torch.from_numpy(states.numpy() @ left)


def by_gram_schmidt(least=1e-5, start=lambda directions: directions, rounds=2):
    """Leaves out a direction of which no more than `least` of its length is left."""

    def candidate(states, directions):
        basis = []
        for direction in start(directions):
            rest = direction
            for each in basis * rounds:  # once more, against rounding
                rest = rest - (rest @ each) * each
            if not rest.norm() <= least * direction.norm():
                basis.append(rest / rest.norm())
        for each in basis:
            states = states - (states @ each)[..., None] * each
        return states

    return candidate


def in_single(states, directions):
    return remove(states.float(), directions.float()).double().to(states.dtype)


def one_after_the_other(states, directions):
    for each in directions:
        states = states - (states @ each)[..., None] * each / (each @ each)
    return states


def by_inverse(states, directions):
    gram = directions @ directions.T
    return states - states @ directions.T @ torch.linalg.inv(gram) @ directions


def pinv_of_numpy(states, directions):
    """By default it cuts at 1e-15, too little for single precision."""
    left = np.linalg.pinv(directions.numpy()) @ directions.numpy()
    return states - torch.from_numpy(states.numpy() @ left)


def without(basis):
    """Removes the rows of `basis(directions)`, as if they were orthogonal and of length one."""
    return lambda states, directions: states - along(states, basis(directions))


def chosen(some):
    """Removes the span of `some(directions)`."""
    return lambda states, directions: remove(states, some(directions))


def afterwards(change):
    """What is left, changed by `change(rest, states)`."""
    return lambda states, directions: change(remove(states, directions), states)


def width_of_directions(states, directions):
    return states - (states @ directions.T / directions.norm(dim=1) ** 2).sum(-1, keepdim=True)


def twice_over(states, directions):
    for each in [*directions] * 2:
        states = states - (states @ each)[..., None] * each / (each @ each).clamp(min=1e-9)
    return states


def unit(directions):
    return directions / directions.norm(dim=1, keepdim=True)


solve_the_bonus = (by_least_squares, by_eigenvectors, in_numpy, by_gram_schmidt(), in_single)
leave_the_bonus = (
    (chosen(lambda d: d[:1]), "gives 3 at [2] instead of 0. Nothing is left along any"),
    (chosen(lambda d: d.mean(dim=0, keepdim=True)), "Nothing is left along any direction"),
    (chosen(lambda d: d[d.norm(dim=1).argmax()][None]), "Nothing is left along any direction"),
    (without(unit), "make them orthogonal first"),
    (one_after_the_other, "make them orthogonal first"),
    (twice_over, "make them orthogonal first"),
    (by_inverse, "raises _LinAlgError. Some of these directions add nothing new"),
    (by_gram_schmidt(least=-1), "use an SVD and keep what is clearly above 0"),
    (by_gram_schmidt(least=0, rounds=1), "by rounding nearly 0"),
    (by_gram_schmidt(least=0), "by rounding nearly 0"),
    (by_gram_schmidt(start=unit), "gives NaN (not a number) instead of numbers"),
    (without(lambda d: torch.linalg.qr(d.T)[0].T), "keep what is clearly above 0"),
    (without(lambda d: torch.linalg.svd(d, full_matrices=False)[2]), "clearly above 0"),
    (pinv_of_numpy, "by rounding nearly 0"),
    (chosen(lambda d: d[:2] if len(d) > 4 else d), "without 6 random directions"),
)
test_remove_right = accepts(
    "probing.remove", *solve_the_bonus, *(answer for answer, _ in leave_the_bonus)
)
test_remove_wrong = rejects(
    "probing.remove",
    (nothing, 0, "Not solved yet"),
    (afterwards(lambda rest, _: rest.numpy()), 1, "Stay with PyTorch throughout"),
    (lambda states, directions: states.copy_(remove(states, directions)), 1, "`states`, after the"),
    (afterwards(lambda rest, _: torch.atleast_2d(rest)), 1, "The states keep their shape"),
    (afterwards(lambda rest, _: rest.reshape(-1, rest.shape[-1])[0]), 1, "keep their shape"),
    (width_of_directions, 2, "What is at right angles"),
    (
        afterwards(lambda rest, h: h.norm(dim=-1, keepdim=True) * F.normalize(rest, dim=-1)),
        *(2, "Subtract only (h · d) d"),
    ),
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


def by_torch(words, share, seed):
    types, places = np.unique(words, return_inverse=True)
    coins = torch.rand(len(types), generator=torch.Generator().manual_seed(seed))
    is_test = (coins < share)[torch.from_numpy(places)]
    return (~is_test).nonzero()[:, 0], is_test.nonzero()[:, 0]


def by_digest_of_the_word(words, share, seed):
    def coin(word):
        return hashlib.md5(f"{word}{seed}".encode()).digest()[0] / 256

    test = [n for n, word in enumerate(words) if coin(word) < share]
    return sorted(set(range(len(words))) - set(test)), test


def one_coin_a_type(words, share, seed):
    draw, is_test, sides = random.Random(seed), {}, ([], [])
    for place, word in enumerate(words):
        if word not in is_test:
            is_test[word] = draw.random() < share
        sides[is_test[word]].append(place)
    return sides


def by_text_of_seed_and_word(words, share, seed):
    coins = {word: random.Random(f"{seed} {word}").random() for word in words}
    places = sorted(range(len(words)), key=lambda place: coins[words[place]])
    after = sum(coins[word] < share for word in words)
    return [places[after:], places[:after]]


def each_side(change):
    """The reference's split with both sides changed by `change(side, words)`."""
    return lambda *given: tuple(change(side, given[0]) for side in split_by_word(*given))


def drops_what_is_on_both(words, share, seed):
    train, test = by_places(words, share, seed)
    known = {words[place] for place in train}
    return train, [place for place in test if words[place] not in known]


def by_places(words, share, seed):
    places = random.Random(seed).sample(range(len(words)), len(words))
    after = round(share * len(words))
    return places[after:], places[:after]


def keeps_the_last_word(words, share, seed):
    train, test = split_by_word(words[:-1], share, seed)
    return [*train, len(words) - 1], test


def first_in_text(words, seed):
    return list(dict.fromkeys(words))


def by_frequency(words, seed):
    return list(dict.fromkeys(random.Random(seed).sample(words, len(words))))


def rarest_first(words, seed):
    counts, draw = Counter(words), random.Random(seed)
    return sorted(counts, key=lambda word: (counts[word], draw.random()))


def in_order_of_hash(words, seed):
    types = list(set(words))
    return random.Random(seed).sample(types, len(types))


def coin_of_the_hash(words, share, seed):
    test = [n for n, word in enumerate(words) if hash((seed, word)) % 1000 < 1000 * share]
    return sorted(set(range(len(words))) - set(test)), test


test_split_by_word_right = accepts(
    "probing.split_by_word",
    *(by_numpy_types, by_torch, by_digest_of_the_word, one_coin_a_type, by_text_of_seed_and_word),
    each_side(lambda side, words: [*np.array(side, dtype=np.int64)]),
)
test_split_by_word_wrong = rejects(
    "probing.split_by_word",
    (nothing, 0, "Not solved yet"),
    (each_side(lambda side, words: [words[n] for n in side]), 1, "Expected: a list of places"),
    (each_side(lambda side, words: [n in side for n in range(len(words))]), 1, "a list of places"),
    (lambda *given: split_by_word(*given)[1], 1, "Expected: two lists, (train, test)"),
    (lambda words, *rest: split_by_word(sorted({*words}), *rest), 1, "Each of the 8 places"),
    (drops_what_is_on_both, 1, "none is thrown away"),
    (by_places, 2, "Were places drawn?"),
    (keeps_the_last_word, 2, "Yours: ['word49']"),
    (lambda words, share, seed: split_by_word(words, 0.5, seed), 3, "Yours: 0.49"),
    (lambda words, share, seed: split_by_word(words, share, 0), 4, "`seed` was not used"),
    (lambda words, share, seed: split_by_word(words, share, None), 4, "nobody has seeded"),
    (split_by(first_in_text), 4, "another seed has to give another split"),
    (split_by(by_frequency), 4, "Every type has the same chance"),
    (split_by(rarest_first), 4, "Every type has the same chance"),
    (split_by(in_order_of_hash), 5, "hashes words differently"),
    (coin_of_the_hash, 5, "hashes words differently"),
)
