"""The toy pair of languages: what its grammar promises, and its gold alignments."""

import pytest

from tlcourse import corpora
from tlcourse.corpora import toy_language as grammar

LEXICON = grammar.ARTICLES | grammar.ADJECTIVES | grammar.NOUNS | grammar.VERBS | grammar.ADVERBS


@pytest.fixture(scope="module")
def rows():
    return corpora.toy_translations(500).to_list()


def test_one_sentence_by_hand(rows):
    """An adjective and a verb change their places, *the* vanishes, *bridge* becomes two words."""
    words = "today a young bridge follows the young lamp"
    row = next(row for row in rows if row["source"] == words)
    assert row["target"] == "hodi un ilo stan seth nur seth shan"
    links = [[0, 0], [1, 1], [2, 4], [3, 2], [3, 3], [4, 7], [6, 6], [7, 5]]
    assert row["alignment"] == links


def test_every_word_of_the_target_has_one_link_to_what_it_translates(rows):
    for row in rows:
        source, target = row["source"].split(), row["target"].split()
        assert sorted(place for _, place in row["alignment"]) == list(range(len(target)))
        for number, word in enumerate(source):
            places = [place for at, place in row["alignment"] if at == number]
            assert [target[place] for place in places] == LEXICON[word].split()
            assert all(b == a + 1 for a, b in zip(places, places[1:], strict=False))


def test_the_verb_is_last_and_adjectives_follow_their_nouns(rows):
    adjectives, nouns = set(grammar.ADJECTIVES.values()), set(grammar.NOUNS.values())
    ends = {noun.split()[-1] for noun in nouns}
    for row in rows:
        target = row["target"].split()
        assert target[-1] in grammar.VERBS.values()
        assert not set(target[:-1]) & set(grammar.VERBS.values())
        for before, word in zip(target, target[1:], strict=False):
            assert word not in adjectives or before in ends


def test_some_words_vanish_and_some_become_two(rows):
    assert any("the" in row["source"].split() for row in rows)
    assert any("ola miri" in row["target"] for row in rows)
    words = [word for each in LEXICON.values() for word in each.split()]
    assert len(words) == len(set(words))  # no word of the target is ambiguous


def test_sentences_differ_and_depend_on_the_seed_alone(rows):
    assert len({row["source"] for row in rows}) == 500
    assert rows[:20] == corpora.toy_translations(20).to_list()
    assert rows[:20] != corpora.toy_translations(20, seed=1).to_list()


@pytest.mark.parametrize("count", [0, 10**9])
def test_a_wrong_count_is_refused(count):
    with pytest.raises(ValueError, match="expected from 1 to"):
        corpora.toy_translations(count)
