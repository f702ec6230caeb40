import pytest

from tests.views.drawn import nothing_overlaps, said
from tlcourse.views import (
    adapters_in_block,
    four_knobs,
    lora_in_block,
    rate_curves,
    schemes_compared,
    step_memory,
    stored_bytes,
    unfreezing,
)

CHOICES = {
    "edit": "nothing",
    "groups": "everything, the\nhead 3 times as fast",
    "schedule": "one triangle for all:\nup, then down to 0",
    "extra_loss": "nothing",
}


def test_each_knob_says_what_it_is_set_to():
    picture = four_knobs(CHOICES, title="One loop, four knobs: the setting of full fine-tuning")
    assert set(CHOICES) | set(CHOICES.values()) <= set(said(picture))
    nothing_overlaps(picture)
    assert "schedule (how fast, and when?) is set to one triangle for all: up" in picture.alt


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="expected the knobs edit, groups, schedule, extra_loss"):
        four_knobs({"edit": "nothing"}, title="A title")


STEP = {"weights": 26.0, "gradients": 26.0, "AdamW": 52.0, "saved": 14.0}
THIN = STEP | {"gradients": 0.5, "AdamW": 1.0}


def titled(picture):
    return picture.get_suptitle()


def test_the_parts_in_a_block_are_named_with_their_sizes():
    lora, adapters = lora_in_block(128), adapters_in_block(128)
    assert "LoRA: A 8 × 128, B 128 × 8" in said(lora) and "adapter" not in said(lora)
    assert said(adapters).count("adapter") == 2 and "LoRA" not in said(adapters)
    for picture in (lora, adapters):
        nothing_overlaps(picture)
        assert "128" in picture.alt


def test_the_memory_of_a_step_is_compared_with_the_model_or_with_another_scheme():
    assert "4.5 times the memory of the weights" in titled(step_memory({"full fine-tuning": STEP}))
    both = titled(step_memory({"full fine-tuning": STEP, "LoRA": THIN}))
    assert both.startswith("LoRA needs 35% of the memory of full")
    assert "The memory of one" in titled(step_memory({"LoRA": THIN, "full fine-tuning": STEP}))


def test_the_bytes_of_all_tasks_are_compared_if_there_are_fewer():
    found = stored_bytes({"five copies": 130.0, "one body, five LoRAs": 27.3})
    assert titled(found) == "One body, five LoRAs: 21% of the bytes" and "130.0" in found.alt
    assert titled(stored_bytes({"five copies": 1.0, "other": 2.0})) == "MiB to store all tasks"


RATES = {
    "full": {1e-4: 32.0, 5e-4: 30.0, 2e-3: 31.0},
    "LoRA": {5e-4: 42.0, 2e-3: 31.0, 8e-3: 33.0},
}


def test_a_factor_is_named_only_if_both_schemes_were_best_inside_their_ranges():
    assert titled(rate_curves(RATES, 41.0)).startswith("LoRA is best at 4 times the")
    at_an_edge = RATES | {"LoRA": {5e-4: 42.0, 2e-3: 31.0, 8e-3: 29.0}}
    assert titled(rate_curves(at_an_edge, 41.0)) == "Dev errors of two schemes over learning rates"
    turned = dict(reversed(RATES.items()))
    assert titled(rate_curves(turned, 41.0)) == "Dev errors of two schemes over learning rates"


def test_unfreezing_from_the_head_down_is_said_where_it_is_so():
    stairs = ["body", "head"], [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    at_once = ["body", "head"], [[1.0] * 3, [1.0] * 3]
    found = unfreezing({"all": at_once, "gradual": stairs})
    assert titled(found) == "One layer after another, from the head down"
    assert "body at step 2, head at step 0" in found.alt
    assert titled(unfreezing({"all": at_once})) == "Learning rates of the layers over a run"


def test_forgetting_is_named_if_schemes_with_similar_errors_differ_in_it():
    rows = {
        "full": ("nothing", ((30.0, 28.0, 33.0), 0.0, 5.0)),
        "slow": ("groups", ((31.0, 28.0, 34.0), (1.0, -1.0, 3.0), 3.7)),
        "counting": ("nothing", ((41.0, 38.0, 44.0), (11.0, 8.0, 14.0), None)),
    }
    differently = "Schemes with similar errors forget very differently"
    found = schemes_compared(rows, 3.5)
    assert titled(found) == differently and "slow 31.0 %, 3.70" in found.alt
    rows["slow"] = "groups", ((31.0, 28.0, 34.0), (1.0, -1.0, 3.0), 4.9)
    assert titled(schemes_compared(rows, 3.5)) == "Errors and forgetting of the schemes"
