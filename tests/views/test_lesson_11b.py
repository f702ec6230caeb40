from tests.views.drawn import nothing_overlaps, refused, words_in
from tlcourse.views import frozen_states, lstm_step, two_directions


def title_of(picture):
    return " ".join(picture.get_suptitle().split())


def test_a_step_has_four_gates_and_two_states():
    picture = lstm_step()
    assert {"f   σ", "i   σ", "g   tanh", "o   σ", "c before", "c", "h"} <= {
        *words_in(picture.axes[0])
    }
    nothing_overlaps(picture)


def test_both_directions_meet_at_the_word():
    picture = two_directions(["</s>", "Michael"], "Jordan", ["scored", "again"], layers=2)
    words = words_in(picture.axes[0])
    assert words.count("Jordan") == 2 and words.count("layer 2") == words.count("characters") == 6
    assert [word for word in words if word.startswith("s") and len(word) == 2] == ["s₀", "s₁", "s₂"]
    assert "a backward model reads again, scored, Jordan" in picture.alt
    nothing_overlaps(picture)
    refused("two words on each side", two_directions, ["a"], "b", ["c", "d"])


def test_the_title_names_the_best_vectors_only_if_they_are_clearly_ahead():
    scores = {"skip-gram": (10.0, 9.0, 11.0), "MiniLM": (30.0, 29.0, 31.0)}
    picture = frozen_states(scores, {"2017": 41.9})
    assert title_of(picture) == "One tagger, F1 30 on MiniLM: clearly ahead"
    assert picture.alt == (
        "F1: MiniLM 30.0 (29.0 to 31.0), skip-gram 10.0 (9.0 to 11.0); 2017 41.9."
    )
    near = scores | {"causal": (29.0, 27.0, 31.0)}
    assert title_of(frozen_states(near)) == "Entity F1 of one tagger on different vectors"
    assert title_of(frozen_states(near, control="skip-gram")) == (
        "2 of 2 kinds of vectors are clearly better than skip-gram"
    )
    assert title_of(frozen_states(near, control="causal")).startswith("Entity F1")
