import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import nothing_overlaps, refused, said, title_of
from tlcourse.views import (
    Head,
    answer_scores,
    f1_bars,
    one_body,
    pair_scores,
    scores_by_task,
    tagged,
    targets_of_tokens,
    token_matches,
)
from tlcourse.views.style import COLOURS

HEADS = [
    Head("tags", "a sentence", "256 → 7\nat each word", "B-PER, …"),
    Head("spans", "question,\nparagraph", "256 → 2\nat each token", "two\ntokens"),
]


def test_the_body_is_drawn_once_and_every_head_above_it():
    picture = one_body(HEADS, 256)
    words = said(picture)
    assert sum("the pretrained body: a state of 256" in each for each in words) == 1
    assert {"tags", "spans", "256 → 2\nat each token"} <= set(words)
    assert "spans: reads question, paragraph, head 256 → 2 at each token" in picture.alt
    nothing_overlaps(picture)
    refused("one to four heads, got 5", one_body, [HEADS[0]] * 5, 256)


WORDS = ["Clara", "Clara", "sang", ""]
TOKENS = [" Cl", "ara", " sang", "<cls>"]


def test_a_word_is_above_its_tokens_and_targets_stand_at_the_first_of_them():
    picture = targets_of_tokens(TOKENS, WORDS, ["B-PER", "", "O", ""])
    assert said(picture).count("Clara") == 1 and said(picture).count("–") == 2
    assert "Cl B-PER, ara ignored, sang O, <cls> ignored" in picture.alt
    nothing_overlaps(picture)
    refused("got 4 tokens, 4 words, 1 targets", targets_of_tokens, TOKENS, WORDS, ["O"])


SENTENCES = [["Clara", "sang"], ["in", "Ghent"]]
GOLD = [["B-PER", "O"], ["O", "B-LOC"]]


def test_wrong_tags_are_counted_and_said():
    picture = tagged(SENTENCES, GOLD, [["B-PER", "O"], ["B-ORG", "O"]])
    assert title_of(picture) == "2 sentences, 2 of 4 tags wrong"
    assert picture.alt == "Clara B-PER sang O; in O (predicted B-ORG) Ghent B-LOC (predicted O)"
    nothing_overlaps(picture)
    refused("two tags for each word", tagged, SENTENCES, GOLD, [["O"], ["O", "O"]])
    refused("sentences that fit", tagged, [["Clara"] * 20], [["O"] * 20], [["O"] * 20])


@pytest.mark.parametrize(
    ("low", "title"),
    [(50.0, "The released model is ahead"), (44.0, "Entity F1 by model")],
)
def test_the_released_model_is_said_to_be_ahead_only_if_the_intervals_are_apart(low, title):
    picture = f1_bars({"ours": (40.0, 35.0, 45.0), "MiniLM": (55.0, low, 60.0)}, "MiniLM")
    assert title_of(picture) == title
    assert picture.alt == f"F1: ours 40 (35 to 45), MiniLM 55 ({low:.0f} to 60)."


def test_the_answer_is_shaded_and_unlikely_tokens_have_no_name():
    tokens = ["built", " in", " 18", "47", " after"]
    shares = [0.02, 0.01, 0.9, 0.05, 0.02], [0.01, 0.01, 0.05, 0.9, 0.03]
    picture = answer_scores(tokens, shares, (2, 3), question="When?", answer="1847")
    axes = picture.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["18", "47", "after"]
    heights = [patch.get_height() for patch in axes.patches[-10:]]
    assert heights == pytest.approx([100 * share for each in shares for share in each])
    assert title_of(picture) == "“When?” → 1847"
    assert "first token: highest at “18” with 90%" in picture.alt


def test_the_best_way_to_compare_is_highlighted():
    picture = pair_scores({"apart": (60.0, 50.0, 70.0), "together": (80.0, 75.0, 85.0)})
    colours = [to_hex(patch.get_facecolor()) for patch in picture.axes[0].patches]
    assert colours == [COLOURS["blue"].lower(), COLOURS["vermillion"].lower()]
    assert picture.alt == "Correlation: apart 60, together 80."


def test_token_matches_name_where_each_word_of_the_hypothesis_looks():
    picture = token_matches([[0.2, 0.8], [0.9, 0.1]], ["a", "man"], ["person", "one"])
    assert "person most to man, one most to a" in picture.alt
    with pytest.raises(ValueError, match="weights"):
        token_matches([[1.0]], ["a", "man"], ["person"])


def test_the_title_counts_the_tasks_on_which_the_released_model_is_clearly_ahead():
    near = {"ours": (40.0, 35.0, 45.0), "theirs": (46.0, 44.0, 48.0)}
    far = {"ours": (40.0, 35.0, 43.0), "theirs": (60.0, 58.0, 62.0)}
    picture = scores_by_task({"tags": far, "answers": near}, "theirs")
    assert title_of(picture) == "The released model is clearly ahead on 1 of 2 tasks"
    assert picture.alt == "tags: ours 40, theirs 60; answers: ours 40, theirs 46"
    nothing_overlaps(picture)
