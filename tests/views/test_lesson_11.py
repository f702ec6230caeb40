import numpy as np

from tests.views.drawn import nothing_overlaps, refused, title_of, words_in
from tlcourse.views import agreement, cluster_tree, context_window, senses_by_layer, word_map


def test_arrows_lead_to_the_words_of_the_window_and_to_no_others():
    picture = context_window(["the", "old", "castle", "stands"], 0, window=2)
    assert title_of(picture) == "“the” predicts: old, castle"
    assert picture.alt == "In the line the old castle stands, arrows lead from the to old, castle."
    arrows = [each for each in picture.axes[0].texts if getattr(each, "arrow_patch", None)]
    assert len(arrows) == 2
    nothing_overlaps(picture)
    refused("a centre among words that fit", context_window, ["a", "line"], 2)
    refused("a centre among words that fit", context_window, ["extraordinarily"] * 9, 2)


def test_the_title_says_that_kinds_lie_together_only_if_each_word_is_nearest_to_its_own():
    seasons = {"spring": [1.0, 0.1, 0.0], "winter": [1.0, 0.0, 0.1]}
    animals = {"dog": [0.0, 1.0, 0.1], "cat": [0.1, 1.0, 0.0]}
    picture = word_map({"seasons": seasons, "animals": animals})
    assert title_of(picture) == "Words of one kind lie together"
    assert picture.alt == "seasons: spring, winter; animals: dog, cat."
    assert {"spring", "winter", "dog", "cat"} <= set(words_in(picture.axes[0]))
    mixed = word_map({"seasons": seasons | {"dog": [0.0, 1.0, 0.1]}, "animals": animals})
    assert title_of(mixed) == "Words of several kinds in the plane"
    refused("at least three words", word_map, {"seasons": seasons})


def test_only_the_directions_of_vectors_are_drawn():
    near = {"spring": [1.0, 0.1, 0.0], "winter": [1.0, 0.0, 0.1], "dog": [0.1, 1.0, 0.0]}
    far = {word: np.array(vector) * 7 for word, vector in near.items()}
    drawn = [word_map({"all": each}).axes[0].lines[0].get_xydata() for each in (near, far)]
    np.testing.assert_allclose(*drawn, atol=1e-9)


def test_more_text_helps_only_if_it_helps_every_method():
    small, large = (0.3, 0.25, 0.35), (0.5, 0.45, 0.55)
    better = {"counts": {"2M": small, "20M": large}, "CBOW": {"2M": small, "20M": large}}
    picture = agreement(better, {"GloVe": 0.6}, judgements="(MEN)")
    assert picture.axes[0].get_xlabel() == "Spearman's rank correlation with people (MEN)"
    assert title_of(picture) == "More text helps all of these methods"
    assert picture.alt == "counts: 2M 0.30, 20M 0.50; CBOW: 2M 0.30, 20M 0.50; GloVe: 0.60."
    nothing_overlaps(picture)
    mixed = better | {"CBOW": {"2M": large, "20M": small}}
    assert title_of(agreement(mixed)) == "How well cosines agree with people"


def test_the_title_names_the_layer_that_finds_most_senses():
    picture = senses_by_layer({"causal-small": [0.5, 0.75, 0.7]}, {"the other words": 0.6})
    assert title_of(picture) == "causal-small, layer 1, finds 75% of the senses"
    assert picture.alt.endswith("causal-small: 0.50, 0.75, 0.70; the other words: 0.60.")
    flat = senses_by_layer({"causal-small": [0.9, 0.75, 0.7]})
    assert title_of(flat) == "causal-small, embeddings, finds 90% of the senses"


def test_a_tree_joins_the_clusters_whose_paths_begin_alike():
    clusters = {"0": ["the", "a"], "10": ["king", "queen"], "11": ["river", "lake"]}
    picture = cluster_tree(clusters)
    axes = picture.axes[0]
    assert words_in(axes) == ["the a", "king queen", "river lake"]
    joints = {tuple(line.get_ydata()) for line in axes.lines if len(set(line.get_xdata())) == 1}
    assert joints == {(1.0, 2.0), (0.0, 1.5)}  # 10 with 11, then 0 with both
    assert picture.alt == "0: the, a; 10: king, queen; 11: river, lake."
    refused("at least two clusters", cluster_tree, {"": ["the"]})


def test_a_cluster_shows_as_many_words_as_fit():
    picture = cluster_tree({"0": ["word"] * 100, "1": ["other"]})
    shown = words_in(picture.axes[0])[0].split()
    assert 10 < len(shown) < 100
