import pytest

from tests.views.drawn import SAID, nothing_overlaps, said
from tlcourse.exercises.task import get
from tlcourse.views import self_training_loop, two_masks

LABELS = ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"]
SHARES = [0.1, 0.5, 0.2, 0.1, 0.1, 0.0], [0.0, 0.2, 0.6, 0.1, 0.1, 0.0]


def test_the_loop_has_the_numbers_of_the_run_and_the_name_of_the_code():
    picture = self_training_loop(100, 4742, least=0.8, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    assert "100 questions" in written and "4,742 questions" in written
    assert "choose_guesses" in written and get("more_signal.choose_guesses").name in written
    assert "sure of by 0.8" in self_training_loop(100, 4742, title="The finding.").alt


def test_two_answers_and_their_divergence():
    picture = two_masks("What is a caldera ?", LABELS, SHARES, nats=0.1234, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    assert "0.123 nats" in written and get("more_signal.consistency_loss").name in written
    assert written.count("ABBR") == 2
    own = two_masks("What is a caldera ?", LABELS, SHARES, nats=0.1234, title="The finding.").alt
    assert "DESC and ENTY" in own
    assert "one number" in " ".join(said(two_masks("Who ?", LABELS, SHARES, **SAID))).replace(
        "\n", " "
    )


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="two answers for 6 labels"):
        two_masks("Who ?", LABELS, ([0.5, 0.5], SHARES[1]), **SAID)
    with pytest.raises(ValueError, match="a text that fits"):
        two_masks("Who ?" * 40, LABELS, SHARES, **SAID)
    with pytest.raises(ValueError, match="title"):
        self_training_loop(1, 2)
