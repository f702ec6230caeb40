import numpy as np
import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import nothing_overlaps, refused, said, title_of
from tlcourse.views import (
    alignment,
    dialogue_input,
    prompting,
    summary_scores,
    two_stacks,
)
from tlcourse.views.style import COLOURS

SOURCE, TARGET = ["a", "red", "boat", "sank"], ["un", "losu", "luma"]
GOLD = [(0, 0), (1, 2), (2, 1)]
TOKENS = ["I", " sail", "<user>", " Hi", "<bot>", " Ahoy", "<eos>"]
TYPES = [0, 0, 1, 1, 2, 2, 2]
TARGETS = ["", "", "", "", " Ahoy", "<eos>", ""]


def row(way, model, labels, *accuracies, task="trec"):
    names = {"way": way, "model": model, "labels": labels, "wording": None, "task": task}
    return names | {"accuracies": list(accuracies)}


PROMPTS = [
    row("prompt", "ours", 0, 20.0),
    row("calibrated prompt", "ours", 4, 30.0, 50.0),
    row("calibrated prompt", "ours", 4, 40.0),  # another wording
]


@pytest.mark.parametrize(
    ("few", "many", "title"),
    [
        (30.0, 80.0, "With 4 examples the best prompt is ahead, with 100 fine-tuning"),
        (45.0, 80.0, "With 100 examples, fine-tuning is ahead of every prompt"),
        (30.0, 44.0, "With 4 examples, the best prompt is ahead of fine-tuning"),
        (38.0, 44.0, "Prompts and fine-tuning, by the number of examples"),
    ],
)
def test_who_is_said_to_be_ahead_depends_on_the_means(few, many, title):
    tuned = [row("fine-tuning", "MiniLM", 4, few), row("fine-tuning", "MiniLM", 100, many)]
    picture = prompting([*PROMPTS, *tuned], {"trec": 25.0})
    assert title_of(picture) == title
    assert "ours, calibrated prompt, 4 labels: 40 %" in picture.alt
    assert "majority class 25 %" in picture.alt


def test_each_draw_is_a_dot_and_prompts_without_calibration_are_hollow():
    tuned = [row("fine-tuning", "MiniLM", 100, 80.0, 90.0)]
    axes = prompting([*PROMPTS, *tuned], {"trec": 25.0}).axes[0]
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [list(line.get_ydata()) for line in dots] == [[20.0], [30.0, 50.0, 40.0], [80.0, 90.0]]
    assert [line.get_markerfacecolor() for line in dots][0] == "white"
    blue, green = (COLOURS[name].lower() for name in ("blue", "vermillion"))
    assert [to_hex(line.get_color()) for line in dots] == [blue, blue, green]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "4", "100"]


def test_a_task_without_fine_tuning_has_a_neutral_title():
    assert title_of(prompting(PROMPTS, {"trec": 25.0})).startswith("Prompts and fine-tuning")
    refused("ways fine-tuning, .* got 1 models and guess", prompting, [row("guess", "m", 0)], {})
    refused("got 0 models and no way", prompting, [], {"trec": 25.0})


def weights(*largest):
    """The weights of three target words, of which each is largest at one source word."""
    return np.full((3, 4), 0.1) + 0.6 * np.eye(4)[list(largest)]


@pytest.mark.parametrize(("largest", "found"), [((0, 2, 1), 3), ((0, 3, 1), 2), ((3, 3, 3), 0)])
def test_the_title_counts_the_words_that_attend_to_what_they_translate(largest, found):
    picture = alignment(weights(*largest), SOURCE, TARGET, gold=GOLD)
    assert title_of(picture) == f"{found} of 3 words attend most to the word that they translate"
    assert f"losu most to {SOURCE[largest[1]]}" in picture.alt


def test_gold_links_are_outlined_and_words_without_one_do_not_count():
    picture = alignment(weights(0, 2, 1), SOURCE, TARGET, gold=GOLD[:2])
    assert title_of(picture).startswith("2 of 2 words")
    hue = COLOURS["vermillion"].lower()
    boxes = [box for box in picture.axes[0].patches if to_hex(box.get_edgecolor()) == hue]
    centres = {tuple(np.round(box.get_center()).astype(int)) for box in boxes}
    assert centres == {(0, 0), (1, 2)}  # (column, row): the source word, the target word


def test_what_does_not_fit_is_refused():
    refused("weights", alignment, np.ones((4, 4)), SOURCE, TARGET, gold=GOLD)
    some = weights(0, 1, 2)
    refused(r"from \(0, 0\) to \(3, 2\)", alignment, some, SOURCE, TARGET, gold=[(0, 3)])
    assert title_of(alignment(some, SOURCE, TARGET)) == "Attention of target words to source words"
    refused(r"got \[\(4, 0\)\]", alignment, some, SOURCE, TARGET, gold=[(4, 0)])


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


def test_both_stacks_and_the_layer_between_them_are_drawn():
    picture = two_stacks("the red boat", "<eos> losu")
    assert {"the red boat", "<eos> losu", "cross-attention", "keys, values"} <= set(said(picture))
    assert "keys and values from the encoder's states" in picture.alt
    nothing_overlaps(picture)


def test_summaries_are_told_by_their_scores():
    rows = [
        {"way": "lead-3", "mean": 20.7, "interval": [19.4, 22.1]},
        {"way": "three random sentences", "mean": 18.4, "interval": [17.4, 19.5]},
    ]
    picture = summary_scores({"articles": 120, "rows": rows})
    assert "lead-3: F1 21; three random sentences: F1 18" in picture.alt
    assert title_of(picture) == "Summaries of 120 articles"
