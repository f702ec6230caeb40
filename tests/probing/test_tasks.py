import numpy as np
import pytest

from tlcourse.probing import Features, examples, sentence_task, tasks, trees

#   saw(root) -> dog -> The, dog -> that -> barked? no: a flat tree that can be checked by eye
ROWS = [
    {
        "forms": ["The", "dog", "saw", "the", "old", "cats", "."],
        "upos": ["DET", "NOUN", "VERB", "DET", "ADJ", "NOUN", "PUNCT"],
        "feats": ["_", "Number=Sing", "Mood=Ind|Tense=Past", "_", "_", "Number=Plur", "_"],
        "misc": ["_", "Role=agent", "_", "_", "_", "Role=patient", "SpaceAfter=No"],
        "heads": [2, 3, 0, 6, 6, 3, 3],
        "deprels": ["det", "nsubj", "root", "det", "amod", "obj", "punct"],
    },
    {
        "forms": ["Cats", "see", "themselves"],
        "upos": ["NOUN", "VERB", "PRON"],
        "feats": ["Number=Plur", "Tense=Pres", "Number=Plur"],
        "misc": ["_", "_", "Means=1"],
        "heads": [2, 0, 2],
        "deprels": ["nsubj", "root", "obj"],
    },
]


def as_pairs(task: tasks.Task, sentence: int) -> dict:
    return {
        tuple(words): str(label)
        for number, words, label in zip(
            task.sentences, task.words.tolist(), task.labels, strict=True
        )
        if number == sentence
    }


def test_a_column_labels_every_word():
    task = tasks.column(ROWS, "upos")
    assert len(task) == 10 and task.kind == "word"
    assert task.labels[7:].tolist() == ["NOUN", "VERB", "PRON"]
    assert task.groups[7:].tolist() == ["Cats", "see", "themselves"]
    assert task.sentences.tolist() == [0] * 7 + [1] * 3
    assert task.words[:, 0].tolist() == [*range(7), *range(3)]


def test_objects_do_as_well_as_rows():
    class Sentence:
        def __init__(self, row):
            self.__dict__.update(row)

    of_rows, of_objects = (
        tasks.column(each, "deprels") for each in (ROWS, [Sentence(row) for row in ROWS])
    )
    assert np.array_equal(of_rows.labels, of_objects.labels)


def test_a_key_labels_the_words_that_have_it():
    tense = tasks.key(ROWS, "Tense")
    assert as_pairs(tense, 0) == {(2,): "Past"} and as_pairs(tense, 1) == {(1,): "Pres"}


def test_number_is_asked_of_nouns_alone():
    row = {
        "forms": ["dogs", "pants", "are", "dog"],
        "upos": ["NOUN", "NOUN", "AUX", "NOUN"],
        "feats": ["Number=Plur", "Number=Ptan", "Number=Plur", "Case=Nom|Number=Sing"],
    }
    assert as_pairs(tasks.number([row]), 0) == {(0,): "Plur", (3,): "Sing"}


def test_surface_tasks():
    assert tasks.length(ROWS).labels.tolist() == ["05-08", "01-04"]
    longer = [{"forms": ["x"] * count} for count in (4, 5, 25, 26, 90)]
    assert tasks.length(longer).labels.tolist() == ["01-04", "05-08", "21-25", "26+", "26+"]
    assert as_pairs(tasks.seen_before(ROWS), 0) == {(0,): "new", (3,): "seen"}  # The, the
    thrice = tasks.seen_before([{"forms": ["a", "b", "A", "c", "b", "a", "d"]}])
    assert as_pairs(thrice, 0) == {(0,): "new", (1,): "new", (2,): "seen", (4,): "seen"}
    assert tasks.position(longer[2:3]).labels.tolist() == [*map(str, range(8)), *["8+"] * 17]


def test_content_is_one_of_some_words():
    task = tasks.content(ROWS, words={"dog", "themselves", "."})
    assert task.labels.tolist() == ["themselves"] and task.sentences.tolist() == [1]  # 0 has two
    chosen = tasks.content(ROWS)  # of four letters: cats (both), themselves
    assert chosen.labels.tolist() == ["cats"] and chosen.sentences.tolist() == [0]
    assert tasks.content(ROWS, most=1).labels.tolist() == ["cats", "cats"]


def test_trees():
    assert trees.depths(ROWS[0]["heads"]).tolist() == [2, 1, 0, 2, 2, 1, 1]
    between = trees.distances(ROWS[0]["heads"])
    assert between[0].tolist() == [0, 1, 2, 4, 4, 3, 3]
    assert np.array_equal(between, between.T)
    assert trees.edges(ROWS[0]["heads"]) == {(0, 1), (1, 2), (3, 5), (4, 5), (2, 5), (2, 6)}
    assert trees.spanning_tree(between) == trees.edges(ROWS[0]["heads"])
    kept = [True, True, True, False, False, True, False]
    assert trees.spanning_tree(between, kept) == {(0, 1), (1, 2), (2, 5)}
    for heads in ([0, 0], [2, 1], [2, 3, 2, 0], [5, 0]):
        with pytest.raises(ValueError, match="expected heads of one tree"):
            trees.distances(heads)


def test_distances_are_the_shortest_paths():
    from scipy.sparse.csgraph import shortest_path

    generator = np.random.default_rng(0)
    heads = [0, *(int(generator.integers(1, n + 1)) for n in range(1, 30))]
    graph = np.zeros((30, 30))
    for word, head in enumerate(heads[1:], start=1):
        graph[word, head - 1] = 1
    assert np.array_equal(trees.distances(heads), shortest_path(graph, directed=False))
    assert np.array_equal(trees.depths(heads), trees.distances(heads)[0])


def test_syntactic_tasks():
    assert tasks.depth(ROWS).labels[:3].tolist() == ["2", "1", "0"]
    between = trees.distances(ROWS[0]["heads"])
    pairs = as_pairs(tasks.distance(ROWS), 0)
    assert pairs and all(label == str(between[pair]) for pair, label in pairs.items())
    # saw's cats mirrored: from 5 over 2 is -1, so no pair; dog's head 2, mirrored 0
    heads, mirrored = [(1, 2), (4, 5), (3, 5)], [(1, 0), (4, 3), (3, 1)]
    expected = dict.fromkeys(heads, "yes") | dict.fromkeys(mirrored, "no")
    assert as_pairs(tasks.head(ROWS), 0) == expected
    assert as_pairs(tasks.relation(ROWS), 1) == {(0, 1): "nsubj", (2, 1): "obj"}
    assert tasks.relation(ROWS).groups[-1] == "themselves\tsee"


def test_nothing_to_tell_is_an_error():
    with pytest.raises(ValueError, match="a label for Case"):
        tasks.key(ROWS, "Case")


def features_of(layers: int = 2) -> Features:
    states = tuple(np.arange(30, dtype=np.float16).reshape(10, 3) + 100 * k for k in range(layers))
    return Features(states, np.array([0, 7, 7, 10]), left_out=(1,))


def test_examples_are_the_rows_of_words_pairs_and_sentences():
    rows, states = [ROWS[0], ROWS[0], ROWS[1]], features_of().layers[1]
    word = examples(features_of(), tasks.column(rows, "upos"), 1)
    assert np.array_equal(word.features, states)
    assert word.sentences.tolist() == [0] * 7 + [2] * 3  # of the one left out there are none
    assert word.labels[7:].tolist() == ["NOUN", "VERB", "PRON"]
    pair = examples(features_of(), tasks.relation(rows), 1)
    assert pair.features[-1].tolist() == [*states[9], *states[8]]
    whole = sentence_task("topic", rows, lambda row: "pets" if "cats" in row["forms"] else "none")
    mean = examples(features_of(), whole, 1)
    assert mean.features == pytest.approx(np.stack([states[:7].mean(0), states[7:].mean(0)]))
    assert mean.labels.tolist() == ["pets", "none"]
    assert [each.kind for each in (word, pair, mean)] == ["word", "pair", "sentence"]
