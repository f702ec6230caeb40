"""The probes of `probing`, asked of a released model."""

import pytest

from benchmarks import runner
from benchmarks.studies import probing, probing_pairs, probing_released
from benchmarks.studies.released import MODEL
from tests.released import save_bert
from tlcourse.probing import fitting, structure


@pytest.fixture
def bert(tmp_path, little, twelve_sentences, monkeypatch):
    """A tiny BERT in MiniLM's place in a mirror, too short for some sentences; and a little model.

    The little one stands in the place of causal-small.
    """
    save_bert(tmp_path / "mirror" / MODEL, max_position_embeddings=60)
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path / "mirror"))
    monkeypatch.setattr(probing_released, "CAUSAL", little)
    pairs = {"layers": ((MODEL, 1), (MODEL, 0)), "released": ((MODEL, 1), (little, 1))}
    monkeypatch.setattr(probing_released, "PAIRS", pairs)
    monkeypatch.setattr(fitting, "LEAST_STEPS", 10)
    monkeypatch.setattr(structure, "LEAST_STEPS", 10)
    return f"random {MODEL}"


def test_a_row_a_task_and_layer_beside_random_weights_and_in_pairs(bert):
    found = probing_released.measure()
    assert {(row["task"], row["model"], row["layer"]) for row in found["rows"]} == {
        (task, reader, layer)
        for task in ("part of speech", "relation", "trees")
        for reader in (MODEL, bert)
        for layer in range(3)
    }
    for row in found["rows"]:
        value, low, high = row.get("accuracy") or row["uuas"]
        assert 0 <= low <= value <= high <= 1 and row["digest"] == runner.digest(MODEL)
    assert [(row["task"], row["pair"]) for row in found["pairs"]] == [
        (task, pair) for task in found["kinds"] for pair in ("layers", "released")
    ]


def test_weights_that_have_read_nothing_have_the_released_model_s_shape_and_vocabulary(bert):
    read, blank = (probing.vectors("ud-english-ewt", 12, (name, 0))[0] for name in (MODEL, bert))
    assert read.layers[0].shape == blank.layers[0].shape == (len(read), 32)
    assert not (read.layers[1] == blank.layers[1]).all()
    assert probing.source(bert) == probing.source(MODEL) == MODEL
    assert probing.source("random") == probing.MODELS[0]


def test_a_pair_is_judged_on_the_sentences_that_both_models_read(bert, little):
    short, long = (probing.vectors("ud-english-ewt", 12, (name, 0))[1] for name in (MODEL, little))
    assert short.left_out and not long.left_out
    job = probing_pairs.Job("part of speech", "released", (MODEL, 1), (little, 1), 12)
    found = job.work()
    assert found["gain"][0] == pytest.approx(found["right"][0] - found["right"][1])
    alone = probing_pairs.Job("part of speech", "layers", (little, 1), (little, 0), 12).work()
    assert alone["right"][0] != found["right"][1]  # which was judged on all of them
