import pytest
from torch import nn

from tests.views.drawn import SAID, nothing_overlaps, refused, row_names, said, words_in
from tlcourse.adaptation import LoRALinear
from tlcourse.views import (
    costs_of_schemes,
    errors_against_counting,
    errors_and_forgetting,
    layers_over_steps,
    lora_relatives,
    memory_bars,
    rate_grids,
    searched_schemes,
)

HELD = {
    "full": {"weights": 26.0, "gradients": 26.0, "AdamW": 52.0},
    "LoRA": {"weights": 26.0, "gradients": 0.2, "AdamW": 0.4},
}


def test_kinds_stand_side_by_side_and_the_sum_at_the_end():
    picture = memory_bars(HELD, title="The finding.")
    axes = picture.axes[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([26, 26, 52, 26, 0.2, 0.4])
    assert [bar.get_x() for bar in axes.patches] == pytest.approx([0, 26, 52, 0, 26, 26.2])
    written = words_in(axes)
    assert written == ["26", "26", "52", "104", "26", "27"], "a narrow part has no number"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(HELD["full"])
    assert picture.alt == (
        "MiB of one training step. full: weights 26, gradients 26, AdamW 52; "
        "LoRA: weights 26, gradients 0, AdamW 0"
    )


@pytest.mark.parametrize("held", [{}, {"a": {}}, {"a": {"x": 1.0}, "b": {"y": 1.0}}])
def test_rows_without_the_same_kinds_are_refused(held):
    with pytest.raises(ValueError, match="the same kinds of memory in every row"):
        memory_bars(held, title="The finding.")


def test_four_layers_with_what_each_learns():
    picture = lora_relatives(256, 8, **SAID)
    nothing_overlaps(picture)
    written = said(picture)
    names = ["LoRA", "QLoRA", "DoRA", "IA³"]
    assert [name for name in written if name in names] == names
    assert written.count("W\n32 bits") == 3 and written.count("W\n4 bits") == 1
    learned = [each.split()[0] for each in written if "learned" in each]
    assert learned == ["4,096", "4,096", "4,352", "256"]


def test_the_count_is_that_of_the_layer():
    layer = LoRALinear(nn.Linear(20, 20), 3, 6.0)
    count = layer.a.numel() + layer.b.numel()
    assert f"{count} learned" in said(lora_relatives(20, 3, **SAID))


def test_its_own_words_and_what_is_refused():
    assert "in 4 bits" in lora_relatives(64, 2, title="The finding.").alt
    refused("a width and a rank of 1 or more", lora_relatives, 64, 0)


COLUMNS = ("dev error (%)", "forgetting (nats)")
FOUND = {
    "the whole body": {"full": {1e-3: (10.0, 2.0), 5e-4: (12.0, 1.0), 2e-3: (90.0, 4.0)}},
    "added parts": {
        "LoRA": {2e-3: (14.0, 0.5), 4e-3: (11.0, 3.0)},
        "adapters": {1e-3: (15.0, 1.5)},
    },
}


def rings(axes):
    lines = [line for line in axes.lines if line.get_markerfacecolor() == "none"]
    return [tuple(line.get_xydata()[0]) for line in lines]


def test_each_scheme_has_rates_of_its_own_and_the_one_with_the_lowest_error_is_ringed():
    picture = rate_grids(FOUND, COLUMNS, level=10.0, **SAID)
    above, forgets, below, below_forgets = picture.axes
    assert above.get_xscale() == "log" and above.get_xlim() == below_forgets.get_xlim()
    assert rings(above) == [(1e-3, 10.0)] and rings(forgets) == [(1e-3, 2.0)]
    assert rings(below) == [(4e-3, 11.0), (1e-3, 15.0)]
    assert rings(below_forgets) == [(4e-3, 3.0), (1e-3, 1.5)]
    shown = [text.get_color() for axes in (forgets, below_forgets) for text in axes.texts]
    assert len(set(shown)) == 3  # a colour a scheme, over both families
    line = next(line for line in above.lines if len(line.get_xdata()) == 3)
    assert list(line.get_xdata()) == [5e-4, 1e-3, 2e-3] and list(line.get_ydata()) == [12, 10, 90]
    assert above.get_ylim() == below.get_ylim() and above.get_ylim()[1] == 20  # twice 10
    assert [axes.get_ylabel() for axes in picture.axes] == [*COLUMNS, *COLUMNS]
    assert words_in(below_forgets) == ["LoRA", "adapters"]
    dotted = [[line for line in axes.lines if line.get_linestyle() == ":"] for axes in picture.axes]
    heights = [[set(line.get_ydata()) for line in each] for each in dotted]
    assert heights == [[{10.0}], [], [{10.0}], []]


def test_added_parts_are_said_to_need_a_higher_learning_rate_only_if_each_of_them_does():
    lower = {"LoRA": {5e-4: (11.0, 3.0), 2e-3: (14.0, 0.5)}}
    assert (
        title(rate_grids(FOUND, COLUMNS, level=10.0))
        == "Error and forgetting at each learning rate"
    )
    higher = FOUND | {"added parts": {"LoRA": FOUND["added parts"]["LoRA"]}}
    assert title(rate_grids(higher, COLUMNS, 10.0)) == "Added parts need a higher learning rate"
    below = FOUND | {"added parts": lower}
    assert title(rate_grids(below, COLUMNS, 10.0)) == "Error and forgetting at each learning rate"
    assert "LoRA 0.0005" in rate_grids(below, COLUMNS, 10.0).alt


def test_grids_without_numbers_are_refused():
    for missing in ({}, {"added parts": {}}):
        refused("in every family", rate_grids, missing, COLUMNS, level=1)
    for points in ({}, {1e-3: (1.0,)}):
        refused("empty|unpack|zip", rate_grids, {"a": {"LoRA": points}}, COLUMNS, level=1)


def title(picture):
    return picture._suptitle.get_text().replace("\n", " ")


ROWS = {
    "full": ("nothing", (0.0, 2.0)),
    "slow": ("groups", ((5.0, 3.0, 7.0), 0.2)),
    "distilled": ("extra_loss", ((1.0, -1.0, 3.0), 0.5)),
}


def test_a_board_names_who_forgets_most_and_least_where_errors_do_not_clearly_differ():
    picture = errors_and_forgetting(ROWS, "full")
    wanted = "No clear difference in error, but full forgets 4 times as much as distilled"
    assert title(picture) == wanted
    assert row_names(picture.axes[0]) == list(ROWS) and "slow +5.0, +0.20" in picture.alt
    clear = ROWS | {"distilled": ("extra_loss", ((2.0, 1.0, 3.0), 0.5))}
    assert title(errors_and_forgetting(clear, "full")) == "Errors and forgetting, scheme by scheme"
    near = ROWS | {"distilled": ("extra_loss", ((1.0, -1.0, 3.0), (1.5, 1.0, 2.0)))}
    assert title(errors_and_forgetting(near, "full")) == "Errors and forgetting, scheme by scheme"


def test_a_scheme_of_ones_own_is_counted_against_all_others():
    picture = errors_and_forgetting(ROWS, "full", own="distilled", lost="drop (points)")
    wanted = "Your scheme: fewer errors than 1 of 2 others, less forgetting than 1"
    assert title(picture) == wanted and picture.axes[1].get_xlabel() == "drop (points)"
    assert row_names(picture.axes[0]) == ["full", "slow", "distilled (yours)"]


def test_a_schedule_that_freezes_again_is_named_only_where_it_is_alone():
    grows, stops = (["a", "b"], [[0, 1], [1, 1]]), (["a", "b"], [[1, 0], [1, 1]])
    picture = layers_over_steps({"thaw": grows, "chain": stops})
    assert title(picture) == "Only chain freezes a layer again"
    assert "frozen again in: chain." in picture.alt
    both = layers_over_steps({"thaw": stops, "chain": stops})
    assert title(both) == "Learning rates of all layers over the steps"


def test_the_title_of_the_memory_is_checked():
    assert title(memory_bars(HELD)) == "Memory of one training step, by kind"
    small = {"QLoRA": {"weights": 11.0, "gradients": 0.2, "AdamW": 0.4}}
    wanted = "LoRA saves gradients and AdamW's means; only QLoRA shrinks the weights"
    assert title(memory_bars(HELD | small)) == wanted
    assert title(memory_bars({"full": HELD["full"]} | small)) != wanted


COSTS = {
    "full": ("nothing", (100.0, 10.0, 150.0)),
    "LoRA": ("edit", (1.0, 7.0, 70.0)),
    "frozen": ("groups", (0.02, 2.0, 25.0)),
}


def test_only_the_frozen_body_is_fast():
    finding = "Few parameters save memory; only a frozen body saves much time"
    assert title(costs_of_schemes(COSTS, "full")) == finding
    fast = COSTS | {"LoRA": ("edit", (1.0, 3.0, 70.0))}
    large = COSTS | {"LoRA": ("edit", (1.0, 7.0, 140.0))}
    for other in (fast, large, {"full": COSTS["full"]}):
        assert title(costs_of_schemes(other, "full")) == "What the schemes cost"


TESTED = {
    "full": ("nothing", ((5.7, 5.0, 6.4), None, 9.6)),
    "LoRA": ("edit", ((5.5, 5.0, 6.0), (-0.2, -1.0, 0.6), 10.0)),
    "frozen body": ("groups", ((17.0, 16.0, 18.0), (11.0, 10.0, 12.0), 22.0)),
}


def test_the_one_scheme_that_differs_clearly_is_named():
    picture = searched_schemes(TESTED, {"LoRA"}, "full")
    assert title(picture) == "Only the frozen body differs clearly from full"
    assert picture.alt == "Test error: full 5.7 %; LoRA 5.5 %; frozen body 17.0 %"
    neutral = "Test errors of schemes, each with its best settings"
    for unclear in (set(), {"LoRA", "frozen body"}):
        assert title(searched_schemes(TESTED, unclear, "full")) == neutral


def test_the_one_scheme_that_does_not_beat_counting_words_is_named():
    ahead, behind = (-5.0, -6.0, -4.0), (1.0, -1.0, 3.0)
    rows = {"100 labels": {"full": ahead, "frozen": behind}}
    picture = errors_against_counting(rows | {"500 labels": rows["100 labels"]})
    assert title(picture) == "All schemes but the frozen beat counting words"
    assert "500 labels: full -5.0, frozen +1.0" in picture.alt
    for other in ({"full": behind, "frozen": ahead}, {"full": behind, "frozen": behind}):
        picture = errors_against_counting(rows | {"500 labels": other})
        assert title(picture) == "Test errors beside counting words"
