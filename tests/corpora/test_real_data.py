"""The published figures, on a local mirror of the real data."""

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

import datasets
import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from tlcourse import corpora, metrics
from tlcourse.adaptation import baselines
from tlcourse.corpora import conllu, reading
from tlcourse.corpora.catalogue import CORPORA

pytestmark = pytest.mark.real_data


@cache
def load(name: str) -> datasets.DatasetDict:
    """A data set that several tests look at."""
    return corpora.load(name)


@pytest.mark.parametrize("name", [name for name, each in CORPORA.items() if not each.streamed])
def test_counts_and_digests(name: str) -> None:
    data = load(name)  # which verifies the facts
    lacking = {"train"} if name == "wikitext-103" else set()  # in the mirror
    assert set(data) == set(CORPORA[name].facts) - lacking
    assert corpora.source_of(data) == "local mirror" and corpora.caption_note(data) == ""


@pytest.mark.parametrize("name", ["trec", "wikitext-2", "rte", "wnut17", "marvin-linzen"])
def test_what_was_verified_is_said(name: str) -> None:
    assert corpora.describe(name).endswith("counts and sha256 verified")


def test_articles_are_as_many_as_published() -> None:
    data = load("wikitext-2")
    assert [sum(1 for _ in corpora.articles(data[split])) for split in data] == [600, 60, 60]


@pytest.mark.parametrize("name", ["wikitext-2", "wikitext-103"])
def test_articles_have_the_published_number_of_words(name: str) -> None:
    found = corpora.articles(load(name)["validation"])
    assert sum(map(metrics.words_and_line_ends, found)) == 217_646


def test_the_mirror_has_no_training_split_of_wikitext_103() -> None:
    with pytest.raises(corpora.DataError, match="out of validation, test, got 'train'"):
        load("wikitext-103")["train"]


def test_the_stand_in_is_streamed() -> None:
    found = list(itertools.islice(corpora.articles("wikipedia-standin"), 100))
    assert all(text.lstrip("\n").startswith(" = ") and len(text) > 400 for text in found)
    note = corpora.caption_note(corpora.load("wikipedia-standin"))
    assert "not WikiText-103" in note


def test_the_books_are_those_of_the_card() -> None:
    found = list(corpora.articles("gutenberg"))  # verified as it is read
    assert len(found) == 149 and not any("_" in text for text in found)


def test_blimp_has_1000_pairs_of_each_of_67_paradigms() -> None:
    pairs = load("blimp")["test"]
    counts = Counter(pairs["paradigm"][:])
    assert len(counts) == 67 and set(counts.values()) == {1000}
    assert Counter(pairs["pair"][:]) == dict.fromkeys(range(1000), 67)
    same = sum(good == bad for good, bad in zip(pairs["good"][:], pairs["bad"][:], strict=True))
    assert same == 7  # the data card says so


def test_the_treebank_has_the_published_words_and_its_words_spell_the_text() -> None:
    counts, spelled = {}, Counter()
    for split, rows in load("ud-english-ewt").items():
        sentences = [conllu.Sentence.of(row) for row in rows]
        parts = ("forms", "multiwords")
        counts[split] = [sum(len(getattr(s, part)) for s in sentences) for part in parts]
        counts[split].append(sum(sentence.empty_nodes for sentence in sentences))
        spelled.update(
            sentence.text[start:end] == form
            for sentence in sentences
            for (start, end), form in zip(sentence.spans, sentence.forms, strict=True)
        )
    assert counts == {  # the words are those of the release's stats.xml
        "train": [204_577, 2_614, 37],
        "validation": [25_147, 359, 4],
        "test": [25_094, 354, 2],
    }
    assert set(spelled) == {True}


def test_what_is_not_unique_in_trec() -> None:
    report = corpora.duplicates_report(load("trec"))
    assert (report.repeated_lines, len(report.conflicting), len(report.in_test)) == (70, 1, 10)


def test_the_dev_split_of_trec() -> None:
    parts = corpora.trec_with_dev(load("trec"))
    sizes = {split: len(rows) for split, rows in parts.items()}
    assert sizes == {"train": 4906, "dev": 546, "test": 500}
    assert not set(parts["train"]["text"]) & set(parts["dev"]["text"])
    assert corpora.source_of(parts["dev"]) == "local mirror"


def test_what_is_drawn_from_trec_stays_what_stored_results_were_measured_on() -> None:
    train = load("trec")["train"]
    drawn = [corpora.label_subset(train, n, seed=seed)[:] for n in (100, 500) for seed in range(5)]
    digest = hashlib.sha256(json.dumps(drawn).encode()).hexdigest()
    assert digest == "7fcc9490185626e9577bf40d99b561a8fc92e5425701a039444097742a34b0df"


def test_what_is_not_unique_in_the_labelled_texts() -> None:
    """The data cards say so."""
    imdb, sst, rte = load("imdb"), load("sst-2"), load("rte")
    assert [len(set(imdb[split]["text"][:])) for split in imdb] == [24_902, 24_799]
    assert [len(set(sst[split]["text"][:])) for split in sst] == [66_978, 872, 1_821]
    assert len(set(sst["train"]["text"][:]) & set(sst["test"]["text"][:])) == 2
    assert not set(sst["train"]["text"][:]) & set(sst["validation"]["text"][:])
    assert len(set(imdb["train"]["text"][:]) & set(imdb["test"]["text"][:])) == 123
    assert len(set(zip(*(rte["train"][c] for c in ("premise", "hypothesis")), strict=True))) == 2488


def test_what_is_not_unique_in_the_pairs_of_sentences() -> None:
    """The data cards say so."""

    def pairs(name: str, split: str) -> list[tuple]:
        rows = load(name)[split]
        return [*zip(rows["sentence1"][:], rows["sentence2"][:], strict=True)]

    both = [pairs("mrpc", split) for split in ("train", "test")]
    assert len(set(both[0] + both[1])) == 4_076 + 1_725
    assert len(set(itertools.chain(*both[1])) & set(itertools.chain(*both[0]))) == 265
    train, validation, test = (pairs("stsb", split) for split in ("train", "validation", "test"))
    assert [len(set(each)) for each in (train, validation, test)] == [5_706, 1_498, 1_378]
    assert [len(set(train) & set(each)) for each in (validation, test)] == [6, 7]


def test_what_is_not_unique_in_the_pairs_of_inference() -> None:
    """The data cards say so."""
    found = {}
    for name in ("snli", "mnli"):
        premises, hypotheses, _ = load(name)["validation"][:].values()
        found[name] = [len({*zip(premises, hypotheses, strict=True)}), len({*premises})]
    assert found == {"snli": [9_840, 3_319], "mnli": [9_815, 3_334]}


def labels_with(word: str, name: str) -> Counter:
    """How often the hypotheses with a word have each label."""
    _, hypotheses, labels = load(name)["validation"][:].values()
    both = zip(hypotheses, labels, strict=True)
    return Counter(label for text, label in both if word in re.findall(r"\w+", text.lower()))


def test_words_of_hypotheses_that_tell_their_labels() -> None:
    """The data cards say so."""
    assert labels_with("nobody", "snli") == {"contradiction": 53}
    asleep, never = labels_with("sleeping", "snli"), labels_with("never", "mnli")
    assert (asleep["contradiction"], asleep.total()) == (95, 108)
    assert (never["contradiction"], never.total()) == (148, 190)


def test_how_much_the_hypothesis_alone_gives_away() -> None:
    """The data cards and the sample's README say so."""

    def error(guessed: Iterable[str], rows: datasets.Dataset) -> float:
        return float(np.mean([a != b for a, b in zip(guessed, rows["label"][:], strict=True)]))

    found = []
    sample = corpora.load("snli", source="sample")["validation"]
    for name in ("mnli", "snli"):
        train, held_out = corpora.split_by(load(name)["validation"], "premise")
        model = baselines.linear("logistic regression", 1.0)
        model.fit(train["hypothesis"][:], train["label"][:])
        commonest = Counter(train["label"][:]).most_common(1)[0][0]
        found.append(error([commonest] * len(held_out), held_out))
        found.append(error(model.predict(held_out["hypothesis"][:]), held_out))
    found.append(error(model.predict(sample["hypothesis"][:]), sample))
    assert found == pytest.approx([0.634, 0.501, 0.667, 0.428, 0.433], abs=0.005)


def test_the_file_of_wsc273_names_the_right_candidate_first_and_the_rows_do_not() -> None:
    folder = reading.local_folder(CORPORA["wsc273"])
    lines = (folder / "wsc273.txt").read_text("utf-8").split("\n")
    schemas = zip(lines[2::5], lines[3::5], strict=False)
    first = [both.split(",")[0].split() == right.split() for both, right in schemas]
    assert first == [True] * 273
    rows = load("wsc273")["test"]
    assert all(
        one.casefold() < two.casefold()
        for one, two in zip(rows["candidate1"][:], rows["candidate2"][:], strict=True)
    )
    assert sum(bool(re.search(r"\[MASK\] [.,;:!?']", text)) for text in rows["text"][:]) == 18
    assert len(set(rows["text"][:])) == 273


def test_what_is_not_unique_in_the_word_judgements() -> None:
    """The data cards say so."""
    pairs = {}
    for name in ("wordsim-353", "simlex-999", "men", "rare-words"):
        for split, rows in load(name).items():
            both = zip(rows["word1"][:], rows["word2"][:], strict=True)
            pairs[f"{name} {split}"] = {frozenset(pair) for pair in both}
    assert [len(each) for each in pairs.values()] == [351, 203, 251, 998, 3_000, 2_033]
    every, similar, related, _, men, rare = pairs.values()
    assert similar | related == every and len(similar & related) == 103
    assert (len(frozenset().union(*men)), len(frozenset().union(*rare))) == (751, 2_951)


def test_what_is_not_unique_in_the_analogies() -> None:
    """The data card says so."""
    sections, *words = load("google-analogies")["test"][:].values()
    questions = [*zip(*words, strict=True)]
    assert len(set(questions)) == 19_373 and all(len(set(each)) == 4 for each in questions)
    assert len({pair for a, b, c, d in questions for pair in ((a, b), (c, d))}) == 550
    answers = {(section, *each) for section, each in zip(sections, questions, strict=True)}
    assert len(answers) - len({each[:4] for each in answers}) == 19
    semantic = sum(not section.startswith("gram") for section in sections)
    assert (semantic, len(questions) - semantic) == (8_869, 10_675)


def test_letters_alone_find_few_translations() -> None:
    """The data card says so."""
    german, english = load("tatoeba")["test"][:].values()
    assert len(set(german)) == len(set(english)) == 1_000
    assert sum("Tom" in re.findall(r"\w+", text) for text in english) == 23
    counting = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    vectors = counting.fit_transform([*german, *english])
    nearest = (vectors[:1_000] @ vectors[1_000:].T).toarray().argmax(axis=1)
    assert np.mean(nearest != np.arange(1_000)) == pytest.approx(0.737, abs=0.005)


PAIRS = {"good", "bad", "premise", "hypothesis", "sentence1", "sentence2", "choice1", "choice2"}
PAIRS |= {"german", "english"}
TEXTS = {"text", "tokens", "question", "paragraph"} | PAIRS  # columns, not labels or names
WORDS = {"word1", "word2", "a", "b", "c", "d"}  # one word each: those of a row are its text
PROSE = {"wikitext-2", "wikitext-103", "wnut17"}  # short lines of it may be anyone's


def texts_of(rows: datasets.Dataset) -> Iterator[str]:
    """The texts of a split, column by column; the words of a row are put in alphabetical order."""
    words = [rows[name][:] for name in rows.column_names if name in WORDS]
    yield from (" ".join(sorted(row)) for row in zip(*words, strict=True))
    for value in itertools.chain(*(rows[name][:] for name in TEXTS & set(rows.column_names))):
        yield " ".join(value) if isinstance(value, list) else value


def words_of(data: datasets.DatasetDict, longest: int | None = None) -> Iterator[str]:
    """The words of every text up to `longest` characters, case and punctuation left out."""
    for text in itertools.chain.from_iterable(map(texts_of, data.values())):
        if longest is None or len(text) <= longest:
            yield " ".join(re.findall(r"\w+", text.lower()))


def test_no_text_of_a_sample_is_a_real_one() -> None:
    copied = {}
    for name in (name for name, corpus in CORPORA.items() if corpus.sample):
        ours = set(words_of(corpora.load(name, source="sample")))
        ours = {text for text in ours if name not in PROSE or text.count(" ") >= 5}
        longest = 2 * max(map(len, ours))  # what is longer is another text
        copied[name] = sorted(ours.intersection(words_of(load(name), longest)))
        assert len(ours) >= 30
    assert {name: found for name, found in copied.items() if found} == {}
