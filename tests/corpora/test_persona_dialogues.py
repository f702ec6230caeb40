import pytest

from tlcourse import corpora
from tlcourse.corpora.persona_dialogues import TOPICS


def facts_of(texts, ways):
    """The pairs of a topic and a value that one of the topic's ways to say it makes of a text."""
    return {
        (name, value)
        for name, topic in TOPICS.items()
        for value in topic.values
        for way in getattr(topic, ways)
        if way.format(value) in texts
    }


def test_the_same_seed_gives_the_same_dialogues():
    first, again = (corpora.persona_dialogues(20, seed=3) for _ in range(2))
    assert first[:] == again[:]
    assert first[:] != corpora.persona_dialogues(20, seed=4)[:]


def test_only_the_right_reply_agrees_with_the_persona_and_answers_the_question():
    for row in corpora.persona_dialogues(300, candidates=5):
        known = facts_of(row["persona"], "facts")
        assert len(known) == len(row["persona"]) in (3, 4)
        last = row["history"][-1]
        (asked,) = (name for name, topic in TOPICS.items() if last.endswith(topic.questions))
        agrees = [facts_of([text], "replies") & known for text in row["distractors"]]
        assert {name for name, _ in facts_of([row["reply"]], "replies") & known} == {asked}
        assert agrees[:-1] == [set()] * 3  # they answer the question for other personas
        assert all(asked in dict(facts_of([text], "replies")) for text in row["distractors"][:-1])
        assert agrees[-1] and asked not in dict(agrees[-1])  # another question's answer
        assert len(row["history"]) in (1, 3, 5)


def test_personas_of_even_and_odd_seeds_never_meet():
    even, odd = (
        {frozenset(facts_of(row["persona"], "facts")) for row in rows}
        for rows in (corpora.persona_dialogues(800, seed=2), corpora.persona_dialogues(800, seed=5))
    )
    assert not even & odd and len(even) > 700


def test_no_value_and_no_question_belongs_to_two_topics():
    for ways in ("values", "questions"):
        every = [text for topic in TOPICS.values() for text in getattr(topic, ways)]
        assert len(every) == len(set(every))


@pytest.mark.parametrize(("count", "candidates"), [(0, 4), (5, 2), (5, 13)])
def test_impossible_numbers_are_refused(count, candidates):
    with pytest.raises(ValueError, match=f"got {count} and {candidates}"):
        corpora.persona_dialogues(count, candidates=candidates)
