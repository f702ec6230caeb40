"""The shipped cards say what their logs say."""

import pytest

from tlcourse import cards, checkpoints, files


@pytest.mark.parametrize("name", checkpoints.names())
def test_a_shipped_card_is_written_from_its_log(name):
    log = checkpoints.log_of(name)
    path = files.find(f"{checkpoints.FOLDER}/{name}/README.md")
    text = path.read_text(encoding="utf-8")
    assert text == cards.card(name, log)
    for number, leg in enumerate(log["legs"], start=1):
        assert f"\n| {number} | {leg['objective']} | {leg['start']} |" in text
        assert f"{leg['objective']} on {leg['tokens']:,} tokens" in text


def test_the_two_shipped_models_are_small_enough_for_git():
    assert set(checkpoints.names()) == {"causal-small", "masked-small"}
    for name in checkpoints.names():
        folder = files.find(f"{checkpoints.FOLDER}/{name}")
        assert sum(path.stat().st_size for path in folder.iterdir()) <= 15 * 2**20
