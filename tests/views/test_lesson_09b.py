import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import refused
from tlcourse.views import prompting
from tlcourse.views.style import COLOURS


def title_of(picture):
    return " ".join(picture.get_suptitle().split())


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
        (30.0, 80.0, "With 4 labels a prompt is ahead, with 100 fine-tuning"),
        (45.0, 80.0, "With 100 labels, fine-tuning is ahead of every prompt"),
        (30.0, 35.0, "Prompts and fine-tuning, by the number of labels"),
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
