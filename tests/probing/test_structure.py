import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.probing.made import PLAIN
from tlcourse.probing import (
    depth_probe,
    distance_probe,
    judge_depths,
    judge_distances,
    linear_distances,
    trees,
)

WIDTH = 40


def planted(sentences: int, *, seed: int) -> tuple[list[np.ndarray], list[list[int]]]:
    """Random trees, and vectors in which they are: a word is its head's plus a unit of its own.

    So |h_i - h_j|^2 over the first columns is the number of arcs; the rest is noise.
    """
    generator = np.random.default_rng(seed)
    turn = np.linalg.qr(np.random.default_rng(9).standard_normal((WIDTH, WIDTH)))[0]
    vectors, all_heads = [], []
    for _ in range(sentences):
        words = int(generator.integers(5, 12))
        heads = [0, *(int(generator.integers(1, n + 1)) for n in range(1, words))]
        clean = np.zeros((words, 12))
        for word in range(1, words):
            clean[word] = clean[heads[word] - 1]
            clean[word, word] += 1
        order = generator.permutation(words)  # words do not stand in the order of their making
        place = order.argsort()
        heads = [0 if not heads[w] else int(place[heads[w] - 1]) + 1 for w in order]
        noise = generator.standard_normal((words, WIDTH - 12))
        vectors.append((np.concatenate([clean[order], noise], axis=1) @ turn).astype(np.float32))
        all_heads.append(heads)
    return vectors, all_heads


def test_a_planted_tree_metric_is_found():
    vectors, heads = planted(300, seed=0)
    test, gold = planted(60, seed=1)
    probe = distance_probe(vectors, heads, rank=20, epochs=30, compute=PLAIN)
    found = probe.judge(test, gold)
    assert found.uuas == 1.0 and found.spearman > 0.95
    assert found.edges == [trees.edges(each) for each in gold]
    linear = judge_distances([linear_distances(len(each)) for each in gold], gold)
    assert linear.uuas < 0.6
    assert found.interval().low == 1.0 and linear.interval().low < linear.uuas


def test_planted_depths_are_found():
    vectors, heads = planted(300, seed=0)
    test, gold = planted(60, seed=1)
    found = depth_probe(vectors, heads, rank=20, epochs=30, compute=PLAIN).judge(test, gold)
    assert found.root_accuracy == 1.0 and found.spearman > 0.9


def test_vectors_that_know_nothing_give_about_chance():
    vectors, heads = planted(60, seed=0)
    noise = [np.random.default_rng(5).standard_normal(each.shape) for each in vectors]
    found = distance_probe(noise[:40], heads[:40], compute=PLAIN).judge(noise[40:], heads[40:])
    assert found.uuas < 0.5


def test_scores_by_hand():
    heads = [2, 0, 2, 3, 4]  # 0-1-2-3-4 is a chain
    right = judge_distances([linear_distances(5)], [heads])
    assert right.uuas == 1.0 and right.spearman == pytest.approx(1.0)
    assert right.edges == [{(0, 1), (1, 2), (2, 3), (3, 4)}]
    star = [0, 1, 1, 1, 1]
    wrong = judge_distances([linear_distances(5)], [star])
    assert wrong.uuas == 0.25  # 0-1 alone
    # without word 1 the chain is 0-2-3-4, of which the star has 0-2
    kept = judge_distances([linear_distances(5)], [star], keep=[[True, False, True, True, True]])
    assert kept.uuas == pytest.approx(1 / 3) and kept.edges == [{(0, 2), (2, 3), (3, 4)}]


def test_spearman_is_averaged_over_words_then_sentences_then_lengths():
    generator = np.random.default_rng(0)
    heads = [[0, 1, 2, 2, 1], [0, 1, 1, 2, 3], [2, 0, 2, 3, 4, 4], [2, 0]]
    found = []
    for tree in heads:
        noise = generator.random((len(tree), len(tree)))
        found.append(np.triu(noise, 1) + np.triu(noise, 1).T)
    by_sentence = [
        np.mean([spearmanr(one, two).statistic for one, two in zip(a, trees.distances(b))])  # noqa: B905
        for a, b in zip(found, heads, strict=True)
    ]
    expected = np.mean([np.mean(by_sentence[:2]), by_sentence[2]])  # two words are too short
    assert judge_distances(found, heads).spearman == pytest.approx(expected)
    depths = [each[0] for each in found]
    by_sentence = [
        spearmanr(a, trees.depths(b)).statistic for a, b in zip(depths, heads, strict=True)
    ]
    expected = np.mean([np.mean(by_sentence[:2]), by_sentence[2]])
    assert judge_depths(depths, heads).spearman == pytest.approx(expected)


def test_a_root_that_is_found_and_one_that_is_not():
    depths = [np.array([0.1, 0.2, 0.9]), np.array([0.0, 0.1, 0.5])]
    heads = [[0, 1, 1], [2, 0, 2]]
    assert judge_depths(depths, heads).right.tolist() == [True, False]
    keep = [[True] * 3, [False, True, True]]
    assert judge_depths(depths, heads, keep=keep).right.tolist() == [True, True]


def test_sentences_that_were_left_out_are_passed_over():
    vectors, heads = planted(8, seed=0)
    gap = [*vectors[:2], vectors[0][:0], *vectors[2:]]
    probe = distance_probe(gap, [*heads[:2], [0, 1], *heads[2:]], rank=4, compute=PLAIN)
    found = probe.judge(gap, [*heads[:2], [0, 1], *heads[2:]])
    assert found.edges[2] == set() and found.gold.tolist() == [
        0 if i == 2 else len(each) - 1 for i, each in enumerate(gap)
    ]
    with pytest.raises(ValueError, match=r"sentence 0: expected a head for each of its 10 words"):
        distance_probe(vectors, [[0, 1], *heads[1:]])
    with pytest.raises(ValueError, match="expected a tree for each of 8 sentences, got 7"):
        depth_probe(vectors, heads[1:])
    with pytest.raises(ValueError, match="at least two words"):
        distance_probe([vectors[0][:1]], [[0]])
