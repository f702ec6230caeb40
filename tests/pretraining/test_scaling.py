"""The fitted power law finds the law that made the losses."""

import numpy as np
import pytest

from tlcourse.pretraining.scaling import Law, bootstrap, fit_law

TRUE = Law(1.8, 3e5, 0.35, 4e6, 0.3)
SIZES = np.repeat([0.6e6, 1.1e6, 1.8e6, 3.8e6], 3)
TOKENS = np.tile([1e6, 2e6, 4e6], 4)


def test_a_law_is_found_again_from_the_losses_it_gives():
    found = fit_law(SIZES, TOKENS, TRUE.loss(SIZES, TOKENS))
    assert found.floor == pytest.approx(1.8, rel=1e-3)
    assert (found.a, found.b) == pytest.approx((0.35, 0.3), rel=1e-3)
    assert float(found.loss(6.8e6, 60e6)) == pytest.approx(float(TRUE.loss(6.8e6, 60e6)), rel=1e-4)


def test_the_interval_of_noisy_runs_holds_the_truth_and_is_wider_further_out():
    noise = np.exp(np.random.default_rng(0).normal(0, 0.004, len(SIZES)))
    losses = TRUE.loss(SIZES, TOKENS) * noise
    law, widths = fit_law(SIZES, TOKENS, losses), []
    for at in ((2e6, 2e6), (6.8e6, 60e6)):
        low, high = bootstrap(SIZES, TOKENS, losses, at=at, law=law, repeats=15)
        assert low < float(TRUE.loss(*at)) < high
        widths.append(high - low)
    assert widths[1] > widths[0]


def test_too_few_runs_are_refused():
    with pytest.raises(ValueError, match="at least 5 runs .* got 3 runs, 1 sizes, 3 budgets"):
        fit_law(SIZES[:3], TOKENS[:3], TRUE.loss(SIZES, TOKENS)[:3])
