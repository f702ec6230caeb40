"""Summaries without summaries: articles, noise, ways, scores and rows of the study."""

import random

import numpy as np
import pytest
import torch

from benchmarks import runner
from benchmarks.studies import summaries
from tlcourse import checkpoints, generation
from tlcourse.transformer import EncoderDecoder

TEXT = """
 = The Red Boat =

 The Red Boat is a ferry . It sails .

 = = History = =

 It was built in 1901 . It sank . It was raised . It still sails .
 = = = Crew = = =
 There are ten people aboard .
"""
WORDS = ["The", "red", "boat", "sank", "in", "the", "dark", "."]
OTHERS = [
    text.split() for text in ("A cat slept on two warm roofs .", "Ten ducks ate green bread ..")
]


@pytest.fixture
def judged(monkeypatch):
    """Two articles."""
    one = summaries.article_of(TEXT)
    other = summaries.Article(
        ["Ducks are birds ."], ["They fly .", "They swim .", "They eat .", "!"]
    )
    monkeypatch.setattr(summaries, "judged", lambda: [one, other])
    return [one, other]


def test_an_article_is_cut_at_its_first_heading():
    article = summaries.article_of(TEXT)
    assert article.introduction == ["The Red Boat is a ferry .", "It sails ."]
    assert article.sections[0] == "It was built in 1901 ."
    assert article.sections[3:] == ["It still sails .", "There are ten people aboard ."]
    assert summaries.article_of(" = Title = \n\n Text .\n") == (["Text ."], [])


def test_sentences_to_learn_from_are_whole_and_without_unknown_words():
    whole = " ".join(["word"] * 8) + " ."
    others = ["Short .", whole.replace("word", "<unk>", 1), whole[:-1] + ";", "word " * 30 + "."]
    article = summaries.Article([whole], [*others, whole])
    assert summaries.sentences_of([article]) == [whole.split()]


def test_noise_drops_words_or_adds_words_of_others():
    draws = [random.Random(number) for number in range(40)]
    for draw in draws:
        noised = summaries.drop_words(WORDS, iter(()), draw)
        rest = iter(WORDS)
        assert noised and all(word in rest for word in noised), "some of the words, in order"
    assert len({*summaries.drop_words(WORDS * 9, iter(()), draws[0])}) == len({*WORDS})
    noised = summaries.add_words(WORDS, iter(OTHERS), random.Random(0))
    rest = iter(noised)
    assert all(word in rest for word in WORDS), "all of the words, in order"
    assert len(noised) == len(WORDS) + 2 + 2 and set(noised) - set(WORDS) <= {*sum(OTHERS, [])}


def test_a_batch_depends_on_its_seed_alone():
    def read(text):
        return [ord(character) for character in text]

    def batch(*seed):
        return summaries.batch_of(OTHERS, summaries.drop_words, read, seed=seed)

    source, target = batch(0, 1)
    assert source.equal(batch(0, 1)[0]) and not source.equal(batch(0, 2)[0])
    assert len(source) == len(target) == summaries.BATCH
    assert source.shape[1] <= summaries.SENTENCE + 1
    assert (target[:, 0] == summaries.EOS).all() and (target[:, -1] == summaries.EOS).any()


def test_what_is_copied(judged):
    first, second = (" ".join(each.sections[:3]) for each in judged)
    assert summaries.Job(summaries.LEAD).copied(judged) == [first, second]
    assert summaries.Job(summaries.OTHER).copied(judged) == [second, first]
    drawn = {summaries.Job(summaries.RANDOM, seed=n).copied(judged)[0] for n in range(20)}
    assert len(drawn) > 3 and all(len(summaries.STOP.split(each)) == 3 for each in drawn)


def test_texts_written_together_are_those_written_alone(little):
    model, _ = checkpoints.load(little)
    both = EncoderDecoder.from_models(model, model)[0].eval()
    torch.manual_seed(1)
    for block in both.decoder.blocks:
        torch.nn.init.normal_(block.cross_attention.output.weight)
    starts, sources = [[9, 8], [7, 6]], [[10, 11, 12, 13], [14, 15]]
    alone = [generation.generate(model, each, 5, temperature=0) for each in starts]
    assert summaries.continued(model, starts, 5) == alone
    pairs = zip(starts, sources, strict=True)
    alone = [generation.generate(both, a, 5, source=b, temperature=0) for a, b in pairs]
    assert summaries.continued(both, starts, 5, sources=sources) == alone
    drawn = [summaries.continued(model, starts, 5, top=50, seed=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_only_the_decoder_is_trained(little, samples):
    model, log = summaries.denoiser(summaries.drop_words, little, little, steps=2, seed=0)
    start, _ = checkpoints.load(little)
    assert len(log) == 2
    assert all(
        p.equal(dict(start.named_parameters())[n]) for n, p in model.encoder.named_parameters()
    )
    assert not model.decoder.blocks[0].attention.value.weight.equal(
        start.blocks[0].attention.value.weight
    )


def test_a_summary_is_scored_beside_a_beginning_of_its_length(judged):
    found = summaries.scored("A red ferry sank <unk>", judged[0])
    # The introduction is "red boat is ferry it sails"; the sections begin with "it was built".
    assert found["F1"] == pytest.approx(100 * 2 * 2 / (3 + 6))
    assert found["as_long"] == pytest.approx(100 * 2 * 1 / (3 + 6))
    assert found["words"] == 3 and found["new"] == pytest.approx(100 * 2 / 3)
    assert summaries.scored("", judged[0])["F1"] == 0
    assert summaries.three("a . b ?\n c ! d .") == "a . b ? c !"


@pytest.mark.parametrize("way", summaries.ORDER)
def test_a_job_writes_and_is_scored(way, little, samples, monkeypatch):
    monkeypatch.setattr(summaries, "WRITTEN", 6)
    monkeypatch.setattr(summaries, "SENTENCE", 6)
    articles = summaries.judged()[:2]
    monkeypatch.setattr(summaries, "judged", lambda: articles)
    found = summaries.Job(way, steps=2, model=little, encoder=little).work()
    assert {len(each) for each in found["scores"].values()} == {2}
    assert bool(found["losses"]) == (way in summaries.NOISE) == (found["training_seconds"] > 0)
    assert isinstance(found["shown"], str)


def run(way, scores, **more):
    names = ("F1", "as_long", "new", "words")
    found = {"way": way, "scores": dict.fromkeys(names, scores), "losses": [4.0, 2.0]}
    return found | {"shown": f"by {way}", "training_seconds": 60.0, "seconds": 2.0} | more


def test_rows_compare_with_lead_3_article_by_article():
    row = summaries._row("x", [run("x", [10.0, 20.0]), run("x", [20.0, 30.0])], np.array([20, 30]))
    assert row["against_lead_interval"] == [-5, -5]
    assert row["mean"] == 20 and row["against_lead"] == -5
    assert (
        row["interval"][0] == 15
        and row["words"] == 20
        and row["losses"] == [4, 2]
        and row["training_seconds"] == 60
    )


def test_the_study_has_a_row_a_way_and_a_section(monkeypatch):
    monkeypatch.setattr(
        runner, "run_all", lambda jobs: [run(job.way, [10.0, 20.0]) for job in jobs]
    )
    study = summaries.measure()
    assert [row["way"] for row in study["rows"]] == list(summaries.ORDER)
    assert study["articles"] == 2 and study["shown"][summaries.LEAD] == "by lead-3"
    text = summaries.section(study)
    assert "| lead-3 | 15.0 (10.0-20.0) |  | 15.0 | 15 | 15 % | 60 |" in text
    assert "| three random sentences | 15.0 (10.0-20.0) | +0.0 (+0.0 to +0.0) |" in text
