"""Which texts a checkpoint is measured on; the figures themselves: `tests/cli/test_evaluate.py`."""

import pytest

from tlcourse import checkpoints, corpora
from tlcourse.evaluation import measuring


@pytest.mark.parametrize("name", checkpoints.names())
def test_a_shipped_model_is_measured_on_what_its_log_has(name):
    log = checkpoints.log_of(name)
    assert measuring.also_measured(log, []) == {"blimp", "pronouns"}
    assert set(log["evaluation"]) == {f"{name} {split}" for name, split in measuring.TEXTS}


@pytest.mark.real_data
def test_the_real_data_are_found() -> None:
    for name, split in [*measuring.TEXTS, ("blimp", "test")]:
        assert corpora.source_of(measuring.real(name, split)) == "local mirror"


def test_what_is_said_of_a_text_that_is_not_there_is_true(tmp_path):
    told = {
        text: absent
        for corpus in ("gutenberg", "wikitext-2", "my.txt 0123456789abcdef")
        for text, _, absent in measuring.held_out({"corpus": [corpus]}, [], str(tmp_path))
    }
    assert told == {
        "gutenberg validation": "it has no such split",
        "wikitext-2 validation": "not on this machine",
        "my.txt, held out": f"not in {tmp_path}",
    }
