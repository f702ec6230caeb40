"""The probing benchmark: what its tasks ask, and one row from end to end."""

import pytest

from benchmarks import runner
from benchmarks.studies import probing
from tlcourse.corpora import treebank
from tlcourse.probing import fitting, structure


@pytest.fixture
def tiny(little, twelve_sentences, monkeypatch):
    monkeypatch.setattr(probing, "MODELS", (little, little))
    return little


@pytest.mark.parametrize("name", probing.TASKS)
def test_every_task_has_something_to_tell_apart(name, tiny):
    corpus, kind, made = probing.TASKS[name]
    train, test = (made(rows) for rows in probing.sentences(corpus, 12))
    assert len(set(train.labels)) > 1 and len(test) > 0
    assert kind in ("surface", "syntax", "meaning")
    assert (train.kind == "sentence") == (name in ("length", "content", "question type"))


def test_roles_and_antecedents_are_those_of_the_grammar():
    (sentence,) = [
        each for each in treebank.generate(200, seed=0) if len(treebank.roles(each)) == 2
    ][:1]
    task = probing._roles([sentence])
    found = {
        (int(word) + 1, int(verb) + 1): label
        for (word, verb), label in zip(task.words, task.labels, strict=True)
    }
    for role in treebank.roles(sentence):
        assert found[role.word, role.verb] == role.role
    pronouns = [each for each in treebank.generate(200, seed=0) if treebank.antecedents(each)]
    task = probing._antecedents(pronouns)
    said = sum(len(treebank.antecedents(each)) for each in pronouns)
    assert (task.labels == "yes").sum() == said and (task.labels == "no").sum() > 0


def test_the_phrases_are_those_around_a_word():
    sentence = treebank.generate(1, seed=3)[0]
    inner, outer = (probing._phrases(level)([sentence]).labels.tolist() for level in (0, 1))
    assert list(zip(inner, outer, strict=True)) == treebank.phrases(sentence)


def test_content_asks_for_the_same_words_of_new_sentences(tiny):
    train, test = (
        probing.TASKS["content"][2](each) for each in probing.sentences("ud-english-ewt", 12)
    )
    assert set(test.labels) <= set(train.labels)


def test_a_row_a_task_model_and_layer(tiny, monkeypatch):
    monkeypatch.setattr(
        probing, "TASKS", {n: probing.TASKS[n] for n in ("part of speech", "question type")}
    )
    asked = []
    report = probing.probing.report
    monkeypatch.setattr(
        probing.probing, "report", lambda *parts, **how: asked.append(how) or report(*parts, **how)
    )
    monkeypatch.setattr(fitting, "LEAST_STEPS", 10)
    monkeypatch.setattr(structure, "LEAST_STEPS", 10)
    planned = []
    monkeypatch.setattr(
        runner, "run_all", lambda each: planned.extend(each) or [job.run() for job in planned[::7]]
    )
    found = probing.measure()
    assert {row["model"] for row in found["rows"]} == {tiny, probing.RANDOM}
    for row in found["rows"]:
        if row["task"] == probing.TREES:
            assert 0 <= row["uuas"][0] <= 1 and 0 < row["linear_order"] < 1
        else:
            low, high = row["accuracy"][1:]
            assert low <= row["accuracy"][0] <= high and row["seeds"] == [row["accuracy"][0]]
            assert row["known"]["share"] + row["unknown"]["share"] == pytest.approx(1)
            if row["task"] == "question type":
                assert row["control"] is None and row["selectivity"] is None
            else:
                here = row["known"]["probe"] - row["control"]
                assert row["selectivity"] == pytest.approx(here)
            assert row["items"][0] > 0 and row["compression"] > 0
    assert asked and found["kinds"]["question type"] == ["trec", "meaning"]
    kept = len(list((runner.FOLDER / "probing").glob("*.json")))
    assert kept == len({(r["task"], r["model"], r["draw"], r["layer"]) for r in found["rows"]})
    assert {(job.model, job.draw) for job in planned} == {
        (tiny, 0), (probing.RANDOM, 0), (probing.RANDOM, 1), (probing.RANDOM, 2),
    }  # fmt: skip
    assert {row["most"] for row in found["rows"]} == {12}


def test_what_has_read_nothing_has_the_shape_of_the_first_model(tiny):
    read, blank, other = (
        probing.vectors("trec", 12, reader)[0]
        for reader in ((tiny, 0), (probing.RANDOM, 0), (probing.RANDOM, 1))
    )
    assert read.layers[0].shape == blank.layers[0].shape
    assert not (read.layers[1] == blank.layers[1]).all()
    assert not (other.layers[1] == blank.layers[1]).all()
    job = probing.Job("length", probing.RANDOM, 0, 12)
    assert job.weights() == probing.Job("length", tiny, 0, 12).weights()


def test_rows_of_fewer_sentences_or_of_another_draw_are_other_rows(tiny):
    jobs_of = [
        probing.Job("length", probing.RANDOM, 0, most, draw)
        for most, draw in ((12, 0), (40, 0), (12, 1))
    ]
    assert len({job.key() for job in jobs_of}) == 3


def test_number_is_asked_of_nouns_alone(tiny):
    corpus, _, made = probing.TASKS["number"]
    rows = probing.sentences(corpus, 12)[0]
    task = made(rows)
    assert set(task.labels) == {"Sing", "Plur"}
    asked = zip(task.sentences, task.words[:, 0], strict=True)
    assert {rows[number].upos[word] for number, word in asked} == {"NOUN"}
