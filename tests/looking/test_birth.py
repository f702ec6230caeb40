import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.looking.made import PLAIN
from tlcourse.looking import NEWBORN, birth, induction_score
from tlcourse.looking.induction import repeating

SMALL = replace(NEWBORN, width=16, feed_forward=16, max_length=24)


def test_texts_repeat_a_part_of_their_own():
    ids, known = repeating(SMALL, 200, 3)
    assert ids.shape == known.shape == (200, 25) and ids.min() >= 6 and ids.max() < 64
    periods = []
    for text, repeats in zip(ids.tolist(), known.tolist(), strict=True):
        period = repeats.index(True) - 1
        assert repeats == [place > period for place in range(25)]
        assert all(text[place] == text[place - period] for place in range(period, 25))
        periods.append(period)
    assert set(periods) == set(range(8, 13))  # a third to a half
    assert torch.equal(ids, repeating(SMALL, 200, 3)[0])
    assert not torch.equal(ids, repeating(SMALL, 200, 4)[0])


def test_a_training_is_looked_at_on_the_way():
    seen = birth(SMALL, steps=5, every=2, compute=PLAIN)
    assert seen.steps.tolist() == [0, 2, 4] and seen.scores.shape == (3, 2, 2)
    assert seen.repeated.shape == seen.new.shape == (3,)
    # nothing is learnt yet: every one of 64 ids is as likely, and every place looks at all before
    assert seen.repeated[0] == pytest.approx(math.log(64), abs=0.05)
    assert seen.new[0] == pytest.approx(math.log(64), abs=0.05)
    assert seen.scores[0] == pytest.approx(np.full((2, 2), 0.09), abs=0.03)
    again = birth(SMALL, steps=4, every=4, compute=PLAIN)
    assert again.steps.tolist() == [0, 4] and again.repeated[1] == seen.repeated[2]
    assert again.scores[1] == pytest.approx(induction_score(again.model, length=8, compute=PLAIN))
    other = birth(SMALL, steps=0, seed=1, compute=PLAIN)
    assert other.repeated[0] != seen.repeated[0]


def test_the_losses_are_those_of_the_places_that_are_known_and_new():
    seen = birth(SMALL, steps=3, every=3, compute=PLAIN)
    ids, known = repeating(SMALL, 64, 0, 0, 1)
    with torch.no_grad():
        shares = seen.model(ids[:, :-1]).softmax(-1)
    nats = {True: [], False: []}
    for row, place in np.ndindex(64, 24):
        share = float(shares[row, place, ids[row, place + 1]])
        nats[bool(known[row, place + 1])].append(-math.log(share))
    assert seen.repeated[-1] == pytest.approx(np.mean(nats[True]), abs=1e-5)
    assert seen.new[-1] == pytest.approx(np.mean(nats[False]), abs=1e-5)
