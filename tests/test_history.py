"""Models and scores over the years: complete rows, in the order of time, each with a source."""

import re
from dataclasses import asdict

import pytest

from tlcourse import history


def test_models_are_in_the_order_of_time_and_named_once():
    models = history.models()
    assert [each.when for each in models] == sorted(each.when for each in models)
    assert len({each.name for each in models}) == len(models) >= 12
    assert models[0].name == "NNLM" and models[-1].parameters == 1.75e11
    assert models[-1].year == pytest.approx(2020 + 4 / 12)


def test_every_number_has_a_source_with_its_year():
    rows = [*history.models(), *(row for task in history.scores().values() for row in task)]
    for row in rows:
        years = [int(year) for year in re.findall(r"\b(?:19|20)\d\d\b", row.source)]
        assert years and max(years) >= int(row.when[:4]), asdict(row)
        assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", row.when)


def test_scores_are_percent_and_people_are_of_tasks():
    scores = history.scores()
    assert all(0 < row.score < 100 for task in scores.values() for row in task)
    kinds = {row.pretrained for task in scores.values() for row in task}
    assert kinds == {"none", "vectors", "states", "fine-tuned"}
    assert set(history.people()) < set(scores)


def test_the_first_language_model_has_the_parameters_of_its_formula():
    words, features, context, hidden = 17_964, 100, 5, 60  # Bengio et al. (2003), AP News
    n = context + 1
    count = words * (1 + n * features + hidden) + hidden * (1 + context * features)
    assert history.models()[0].parameters == pytest.approx(count, rel=0.005)
