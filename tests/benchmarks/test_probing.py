"""The studies of probes: what tasks ask, rows from end to end, pairs, sections of RESULTS.md."""

import pytest

from benchmarks import runner
from benchmarks.studies import probing
from benchmarks.studies.probing import EWT, RANDOM, RELEASED
from tests.released import save_bert
from tlcourse.corpora import treebank
from tlcourse.probing import fitting, structure


@pytest.fixture
def tiny(little, twelve_sentences, monkeypatch):
    """A little model in place of both shipped ones, in the layers that it has; short fits."""
    monkeypatch.setattr(probing, "MODELS", (little, little))
    monkeypatch.setattr(fitting, "LEAST_STEPS", 10)
    monkeypatch.setattr(structure, "LEAST_STEPS", 10)
    return little


@pytest.fixture
def bert(tmp_path, tiny, monkeypatch):
    """A tiny BERT in MiniLM's place in a mirror, too short for some sentences."""
    save_bert(tmp_path / "mirror" / RELEASED, max_position_embeddings=60)
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path / "mirror"))
    return f"{RANDOM} {RELEASED}"


@pytest.mark.parametrize("name", probing.TASKS)
def test_every_task_has_something_to_tell_apart(name, tiny):
    corpus, kind, make = probing.TASKS[name]
    train, test = (make(rows) for rows in probing.sentences(corpus, 12))
    assert len(set(train.labels)) > 1 and len(test) > 0
    assert kind in ("surface", "syntax", "meaning")
    assert (train.kind == "sentence") == (name in ("length", "content", "question type"))


def test_roles_and_antecedents_are_those_of_the_grammar():
    drawn = treebank.generate(200, seed=0)
    sentence = next(sentence for sentence in drawn if len(treebank.roles(sentence)) == 2)
    task = probing._roles([sentence])
    labels = {
        (int(word) + 1, int(verb) + 1): label
        for (word, verb), label in zip(task.words, task.labels, strict=True)
    }
    for role in treebank.roles(sentence):
        assert labels[role.word, role.verb] == role.role
    pronouns = [sentence for sentence in drawn if treebank.antecedents(sentence)]
    task = probing._antecedents(pronouns)
    known = sum(len(treebank.antecedents(sentence)) for sentence in pronouns)
    assert (task.labels == "yes").sum() == known and (task.labels == "no").sum() > 0


def test_the_phrases_are_those_around_a_word():
    sentence = treebank.generate(1, seed=3)[0]
    inner, outer = (probing._phrases(level)([sentence]).labels.tolist() for level in (0, 1))
    assert list(zip(inner, outer, strict=True)) == treebank.phrases(sentence)


def test_content_asks_for_the_same_words_of_new_sentences(tiny):
    train, test = (probing.TASKS["content"][2](rows) for rows in probing.sentences(EWT, 12))
    assert set(test.labels) <= set(train.labels)


def test_number_is_asked_of_nouns_alone(tiny):
    corpus, _, make = probing.TASKS["number"]
    rows = probing.sentences(corpus, 12)[0]
    task = make(rows)
    assert set(task.labels) == {"Sing", "Plur"}
    asked = zip(task.sentences, task.words[:, 0], strict=True)
    assert {rows[number].upos[word] for number, word in asked} == {"NOUN"}


def test_a_row_a_task_model_and_layer(tiny, monkeypatch):
    names = ("part of speech", "question type")
    monkeypatch.setattr(probing, "TASKS", {name: probing.TASKS[name] for name in names})
    planned = []
    monkeypatch.setattr(
        runner, "run_all", lambda jobs: planned.extend(jobs) or [job.run() for job in planned[::7]]
    )
    result = probing.measure()
    assert {row["model"] for row in result["rows"]} == {tiny, RANDOM}
    assert {row["task"] for row in result["rows"]} == {*names, probing.TREES}
    for row in result["rows"]:
        if row["task"] == probing.TREES:
            assert 0 <= row["uuas"][0] <= 1 and 0 < row["linear_order"] < 1
            continue
        low, high = row["accuracy"][1:]
        assert low <= row["accuracy"][0] <= high and row["seeds"] == [row["accuracy"][0]]
        assert row["known"]["share"] + row["unknown"]["share"] == pytest.approx(1)
        assert row["items"][0] > 0 and row["compression"] > 0
        if row["task"] == "question type":
            assert row["control"] is None and row["selectivity"] is None
        else:
            here = row["known"]["probe"] - row["control"]
            assert row["selectivity"] == pytest.approx(here)
    assert result["kinds"]["question type"] == ["trec", "meaning"]
    kept = len(list((runner.FOLDER / "probing").glob("*.json")))
    assert kept == len({(r["task"], r["model"], r["draw"], r["layer"]) for r in result["rows"]})
    assert {(job.model, job.draw) for job in planned} == {
        (tiny, 0),
        *((RANDOM, draw) for draw in (0, 1, 2)),
    }
    assert {row["most"] for row in result["rows"]} == {12}


def test_random_weights_have_the_shape_of_the_model_that_they_are_named_after(bert, tiny):
    read, blank, other, released, random = (
        probing.vectors("trec", 12, *model)[0]
        for model in ((tiny, 0), (RANDOM, 0), (RANDOM, 1), (RELEASED, 0), (bert, 0))
    )
    for one, same in ((read, blank), (blank, other), (released, random)):
        assert one.layers[0].shape == same.layers[0].shape
        assert not (one.layers[1] == same.layers[1]).all()
    assert probing.source(bert) == probing.source(RELEASED) == RELEASED
    assert probing.source(RANDOM) == tiny


def test_rows_of_fewer_sentences_or_of_another_draw_are_other_rows(tiny):
    jobs = [probing.Job("length", RANDOM, 0, *rest) for rest in ((12, 0), (40, 0), (12, 1))]
    assert len({job.key() for job in jobs}) == 3
    assert jobs[0].weights() == probing.Job("length", tiny, 0, 12).weights()


def test_a_pair_is_two_accuracies_and_their_difference(tiny, monkeypatch):
    names = ("part of speech", "relation", "question type")
    monkeypatch.setattr(probing, "TASKS", {name: probing.TASKS[name] for name in names})
    pairs = {"layers": ((tiny, 1), (tiny, 0)), "itself": ((tiny, 1), (tiny, 1))}
    monkeypatch.setattr(probing, "PAIRS", pairs)
    result = probing.measure_pairs()
    assert [(row["task"], row["pair"]) for row in result["rows"]] == [
        (task, pair) for task in names for pair in pairs
    ]
    for row in result["rows"]:
        (one, other), (gain, low, high) = row["right"], row["gain"]
        assert gain == pytest.approx(one - other) and low <= gain <= high
        assert row["pair"] == "layers" or (gain, low, high) == (0, 0, 0)
    assert any(row["gain"][0] for row in result["rows"])
    assert result["kinds"]["question type"] == "meaning"


def test_pairs_ask_the_same_layer_of_the_course_s_models():
    probed = [one for pair in probing.PAIRS.values() for one in pair]
    assert {layer for _, layer in probed} == {0, probing.LAYER}
    assert {model for model, _ in probed} == {*probing.MODELS}


def test_a_released_model_is_asked_beside_random_weights_and_in_pairs(bert, tiny, monkeypatch):
    pairs = {"layers": ((RELEASED, 1), (RELEASED, 0)), "released": ((RELEASED, 1), (tiny, 1))}
    monkeypatch.setattr(probing, "RELEASED_PAIRS", pairs)
    result = probing.measure_released()
    assert {(row["task"], row["model"], row["layer"]) for row in result["rows"]} == {
        (task, model, layer)
        for task in ("part of speech", "relation", "trees")
        for model in (RELEASED, bert)
        for layer in range(3)
    }
    for row in result["rows"]:
        value, low, high = row.get("accuracy") or row["uuas"]
        assert 0 <= low <= value <= high <= 1 and row["digest"] == runner.digest(RELEASED)
    assert [(row["task"], row["pair"]) for row in result["pairs"]] == [
        (task, pair) for task in result["kinds"] for pair in pairs
    ]


def test_a_pair_is_judged_on_the_sentences_that_both_models_read(bert, tiny):
    short, long = (probing.vectors(EWT, 12, name)[1] for name in (RELEASED, tiny))
    assert short.left_out and not long.left_out
    task = "part of speech"
    both = probing.Pair(task, "released", (RELEASED, 1), (tiny, 1), 12).work()
    assert both["gain"][0] == pytest.approx(both["right"][0] - both["right"][1])
    alone = probing.Pair(task, "layers", (tiny, 1), (tiny, 0), 12).work()
    assert alone["right"][0] != both["right"][1]  # which was judged on all of them


def scored(task: str, model: str, layer: int, right: float, **more) -> dict:
    """A stored row of a task; the interval is one point wide on each side."""
    row = {"task": task, "model": model, "layer": layer, "draw": 0}
    return row | {"accuracy": [right, right - 0.01, right + 0.01]} | more


def tree(model: str, layer: int, right: float, **more) -> dict:
    """A stored row of trees."""
    row = {"task": "trees", "model": model, "layer": layer, "draw": 0, "linear_order": 0.48}
    return row | {"uuas": [right, right - 0.01, right + 0.01]} | more


def test_the_section_is_a_table_of_best_layers_and_a_sentence_on_trees():
    def row(model: str, layer: int, right: float, draw: int = 0) -> dict:
        known = {"majority": 0.2, "word_types": 0.5, "selectivity": None, "compression": 1.5}
        above = [right - 0.5, right - 0.51, right - 0.49]
        return scored("tag", model, layer, right, draw=draw, above_word_types=above, **known)

    rows = [row("causal", 1, 0.7), row("causal", 2, 0.8), row("causal", 3, 0.6)]
    rows += [row("random", 1, 0.4), row("random", 2, 0.5), row("random", 1, 0.3, draw=1)]
    rows += [tree("causal", 3, 0.6), tree("random", 3, 0.5)]
    study = {"rows": rows, "kinds": {"tag": ["ewt", "syntax"]}, "data": "EWT", "machine": "CPU"}
    lines = probing.section(study).splitlines()
    assert lines[4].startswith("| task | data | most frequent | word types | random | causal | ")
    assert lines[6:] == [
        "| tag | ewt | 20.0 | 50.0 | 40.0 | 80.0 (2) | +30.0 (+29.0 to +31.0) |  | 1.50 |",
        "",
        "Trees, by a distance probe, in undirected attachments that are right (UUAS, percent): "
        "causal 60.0 (59.0 to 61.0, layer 3); random 50.0; neighbours in the sentence 48.0.",
    ]


def test_the_section_of_pairs_is_a_row_a_task():
    rows = [
        {"task": "tag", "pair": "layers", "gain": [0.04, 0.03, 0.05]},
        {"task": "tag", "pair": "both sides", "gain": [-0.001, -0.004, 0.002]},
    ]
    lines = probing.pairs_section({"rows": rows, "layer": 4}).splitlines()
    assert "Layer 4 for every task" in lines[2]
    assert lines[6:] == ["| tag | +4.0 (+3.0 to +5.0) | -0.1 (-0.4 to +0.2) |"]


def test_the_section_of_a_released_model_is_a_row_a_score_and_model():
    scores = {"distance_spearman": 0.62, "root": 0.7}
    rows = [scored("tag", "bert", 0, 0.8), scored("tag", "bert", 1, 0.9)]
    rows += [tree("bert", 0, 0.5, **scores), tree("bert", 1, 0.5, **scores | {"root": 0.71})]
    rows += [scored("tag", "random bert", 0, 0.6), scored("tag", "random bert", 1, 0.5)]
    pairs = [
        {"task": "tag", "pair": "layers", "gain": [0.1, 0.09, 0.11]},
        {"task": "tag", "pair": "released", "gain": [-0.02, -0.03, 0.01]},
    ]
    study = {"rows": rows, "pairs": pairs, "layer": 1, "data": "EWT", "machine": "CPU"}
    lines = probing.released_section(study).splitlines()
    assert lines[4:11] == [
        "| task | model | 0 | 1 |",
        "|---|---|---:|---:|",
        "| tag | bert | 80.0 | 90.0 |",
        "| tag | random bert | 60.0 | 50.0 |",
        "| trees, UUAS | bert | 50.0 | 50.0 |",
        "| trees, distances | bert | 62.0 | 62.0 |",
        "| trees, roots | bert | 70.0 | 71.0 |",
    ]
    assert lines[12:] == [
        "Differences in points on the same items, layer 1:",
        "",
        "- tag, released model minus its layer 0: +10.0 (+9.0 to +11.0)",
        "- tag, released model minus causal-small: -2.0 (-3.0 to +1.0)",
    ]
