"""Brown clusters against the definition: mutual information computed anew for each merge."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from tests.words.lines import random_lines
from tlcourse import words
from tlcourse.words.clusters import Window


def information(counts: np.ndarray) -> float:
    """The average mutual information in nats, by scikit-learn."""
    return mutual_info_score(None, None, contingency=counts)


def merged(counts: np.ndarray, first: int, second: int) -> np.ndarray:
    """Counts with the second cluster added to the first, and its row and column left out."""
    counts = counts.copy()
    counts[first] += counts[second]
    counts[:, first] += counts[:, second]
    return np.delete(np.delete(counts, second, axis=0), second, axis=1)


def lost(counts: np.ndarray, first: int, second: int) -> float:
    return information(counts) - information(merged(counts, first, second))


@pytest.mark.parametrize("seed", range(3))
def test_losses_are_those_of_the_mutual_information(seed):
    counts = np.random.default_rng(seed).poisson(1, (7, 7)).astype(float)
    losses = Window(counts.copy(), 7).losses() / counts.sum()
    for first, second in itertools.combinations(range(7), 2):
        assert losses[first, second] == pytest.approx(lost(counts, first, second), abs=1e-12)
    assert np.isinf(losses[np.tril_indices(7)]).all()


def test_losses_remain_right_from_merge_to_merge():
    table = np.random.default_rng(0).poisson(1, (9, 9)).astype(float)
    expected, window = table.copy(), Window(table, 6)
    for first, second, new in [(1, 4, 6), (0, 1, 7), (1, 5, 8), (0, 3, None), (0, 2, None)]:
        window.merge(first, second, new)
        expected[first] += expected[second]
        expected[:, first] += expected[:, second]
        expected[second] = 0 if new is None else expected[new]
        expected[:, second] = 0 if new is None else expected[:, new]
        assert np.array_equal(window.counts, expected[:6, :6])
        afresh = Window(expected.copy(), 6).losses()
        alive = np.isfinite(window.losses())
        assert np.allclose(window.losses()[alive], afresh[alive])
    assert alive.sum() == 6  # four of the six places are not empty


def slow_brown(text: words.Text, clusters: int) -> dict[str, list[str]]:
    """From the definition: all merges are tried, and the one that loses least is made."""
    names = text.vocabulary.words
    table = words.bigrams(text).toarray()
    groups, waiting = [[n] for n in range(clusters + 1)], list(range(clusters + 1, len(names)))
    paths = [""] * len(names)
    while len(groups) > 1:
        counts = np.array([[table[np.ix_(a, b)].sum() for b in groups] for a in groups])
        pairs = itertools.combinations(range(len(groups)), 2)
        first, second = min(pairs, key=lambda pair: lost(counts, *pair))
        if len(groups) <= clusters:
            for bit, group in zip("01", (groups[first], groups[second]), strict=True):
                for name in group:
                    paths[name] = bit + paths[name]
        groups[first] = groups[first] + groups[second]
        groups[second : second + 1] = [[waiting.pop(0)]] if waiting else []
    found: dict[str, list[str]] = {path: [] for path in sorted(paths)}
    for path, name in zip(paths, names, strict=True):
        found[path].append(name)
    return found


@pytest.mark.parametrize(("seed", "clusters"), [(0, 2), (1, 4), (2, 7), (3, 13)])
def test_each_merge_loses_least(seed, clusters):
    text = words.read(random_lines(lines=60, size=14, seed=seed), min_count=1)
    found = words.brown(text, clusters=clusters)
    assert found == slow_brown(text, clusters)
    assert len(found) == clusters


def classes() -> tuple[list[str], list[set[str]]]:
    """Lines of article, adjective, noun and verb, and these four classes of eight words each."""
    kinds = [[f"{kind}{n}" for n in range(8)] for kind in ("article", "adjective", "noun", "verb")]
    generator = np.random.default_rng(0)
    lines = [" ".join(generator.choice(kind) for kind in kinds * 3) for _ in range(300)]
    return lines, [set(kind) for kind in kinds]


def test_finds_the_classes_of_a_made_up_grammar():
    lines, kinds = classes()
    found = words.brown(words.read(lines, min_count=1), clusters=4)
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, kinds))


def test_paths_make_a_binary_tree():
    text = words.read(random_lines(lines=60, size=30, seed=0), min_count=1)
    found = words.brown(text, clusters=8, words=20)
    assert sum(2.0 ** -len(path) for path in found) == 1  # prefix-free, and no branch is missing
    assert [*found] == sorted(found)
    order = text.vocabulary.ids
    for members in found.values():
        assert members == sorted(members, key=order.__getitem__)
    assert sorted(itertools.chain(*found.values())) == sorted(text.vocabulary.words[:20])


@pytest.mark.parametrize("clusters", [1, 14])
def test_says_how_many_clusters_are_possible(clusters):
    text = words.read(random_lines(lines=60, size=14, seed=0), min_count=1)
    with pytest.raises(ValueError, match=f"from 2 to 13 clusters of 14 words, got {clusters}"):
        words.brown(text, clusters=clusters)
