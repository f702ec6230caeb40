import numpy as np

from tests.views.drawn import nothing_overlaps, refused, said, title_of
from tlcourse.views import (
    corrupted_texts,
    dependences,
    design_space,
    fakes,
    losses_and_errors,
    targets_of_text,
    two_losses,
)

CHOICES = {"data": ["a passage"], "corruption": ["none", "masks"], "output": ["all", "hidden"]}


def test_each_objective_is_a_line_through_its_choices():
    picture = design_space(CHOICES, {"GPT": [0, 0, 0], "BERT": [0, 1, 1]})
    assert picture.alt == "GPT: a passage, none, all; BERT: a passage, masks, hidden"
    assert {"GPT", "BERT", "a passage", "corruption"} <= set(said(picture))
    assert len(picture.axes[0].lines) == 4
    nothing_overlaps(picture)
    refused(
        "an option of each choice for GPT, got .0, 2, 0.", design_space, CHOICES, {"GPT": [0, 2, 0]}
    )
    refused("an option of each choice for GPT, got .0, 0.", design_space, CHOICES, {"GPT": [0, 0]})


def test_a_loss_far_below_the_honest_one_is_called_too_good():
    honest = np.linspace(9, 6, 20)
    good = two_losses({"causal": honest, "two-sided": np.linspace(9, 0.1, 20)})
    assert title_of(good) == "The loss of the two-sided model is too good to be true"
    near = two_losses({"causal": honest, "two-sided": honest - 1})
    assert title_of(near) == "Loss: causal and two-sided"
    assert "causal ends at 6.3" in near.alt
    assert good.axes[0].get_ylim()[0] == 0


def test_the_title_names_the_models_that_see_the_next_token():
    past = np.tri(4, dtype=bool)
    picture = dependences({"causal": past, "both": np.ones((4, 4), dtype=bool)})
    assert title_of(picture) == "Outputs that depend on the next token: both"
    assert picture.alt == (
        "causal: 0 outputs depend on a later token; both: 3 outputs depend on a later token"
    )
    axes = picture.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("input token", "output at this token")
    assert title_of(dependences({"causal": past})) == "No output depends on the next token"


def test_corrupted_texts_are_rows_under_their_names():
    picture = corrupted_texts({"original": ["A", " boat"], "masked": ["<mask>", " boat"]})
    assert picture.alt == "original: A boat; masked: <mask> boat"
    assert said(picture).count("boat") == 2 and "masked" in said(picture)
    nothing_overlaps(picture)
    refused("that fit into a line, got 60 tokens", corrupted_texts, {"x": ["word"] * 60})


def test_fakes_show_what_stood_there():
    picture = fakes(["A", " boat", " sings"], ["A", " boat", " sinks"], [False, True, True])
    assert title_of(picture) == "1 of 2 sampled tokens are fakes"
    assert picture.alt == "A, boat (sampled), sings (was sinks)"
    assert {"sings", "sinks"} <= set(said(picture))
    nothing_overlaps(fakes([" boat"] * 40, [" boat"] * 39 + [" ship"], [True] * 40))
    refused("one length, got 2, 1 and 1", fakes, ["A", "B"], ["A"], [True])


def test_targets_are_shares_of_the_text():
    picture = targets_of_text({"next token": 100.0, "masked tokens": 15.2})
    assert picture.alt == "Targets: next token 100 %, masked tokens 15 %."


def test_the_title_says_when_the_lowest_loss_is_not_the_best_model():
    found = {"next token": (4.0, 15.0), "spans": (3.0, 25.0)}
    picture = losses_and_errors(found, y_label="errors (%)")
    assert title_of(picture) == "The lowest pretraining loss does not give the best body"
    assert picture.alt == "next token: loss 4.00, 15.0; spans: loss 3.00, 25.0."
    assert sorted(said(picture)) == ["next token", "spans"]
    assert picture.axes[0].lines[0].get_xydata().tolist() == [[4.0, 15.0], [3.0, 25.0]]
    agree = losses_and_errors({"a": (4.0, 25.0), "b": (3.0, 15.0)}, y_label="errors (%)")
    assert title_of(agree) == "Pretraining losses, and errors on a task"
