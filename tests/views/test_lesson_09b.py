import pytest

from tests.views.drawn import nothing_overlaps, refused, said
from tlcourse.views import dialogue_input

TOKENS = ["I", " sail", "<user>", " Hi", "<bot>", " Ahoy", "<eos>"]
TYPES = [0, 0, 1, 1, 2, 2, 2]
TARGETS = ["", "", "", "", " Ahoy", "<eos>", ""]


def title_of(picture):
    return " ".join(picture.get_suptitle().split())


def test_every_token_has_its_type_and_its_target_below():
    picture = dialogue_input(TOKENS, TYPES, TARGETS)
    words = said(picture)
    assert words.count("Ahoy") == 2 and words.count("–") == 5 and words.count("2") == 3
    assert "<user> 1 ignored, Hi 1 ignored, <bot> 2 Ahoy, Ahoy 2 <eos>" in picture.alt
    nothing_overlaps(picture)


@pytest.mark.parametrize(
    ("targets", "title"),
    [
        (TARGETS, "Only the reply is predicted"),
        (["", *TARGETS[:-1]], "A dialogue as tokens, types and targets"),  # not shifted
        (["", "", "", "<bot>", *TARGETS[4:5], "", ""], "A dialogue as tokens, types and targets"),
        ([""] * 7, "A dialogue as tokens, types and targets"),
    ],
)
def test_the_title_says_what_is_predicted_only_if_it_is(targets, title):
    assert title_of(dialogue_input(TOKENS, TYPES, targets)) == title


def test_a_long_dialogue_takes_several_lines():
    picture = dialogue_input(["persona"] * 30, [0] * 30, [""] * 30)
    assert said(picture).count("tokens") > 2
    nothing_overlaps(picture)
    refused("got 2 tokens, 1 types in .0., 2 targets", dialogue_input, ["a", "b"], [0], ["", ""])
    refused("got 1 tokens, 1 types in .3., 1 targets", dialogue_input, ["a"], [3], [""])
