"""The search: the same budget for each scheme, edges, what is confirmed, and what is chosen."""

from dataclasses import replace

import pytest
import torch

from benchmarks import runner
from benchmarks.studies import grid_search, search_space
from benchmarks.studies.multi_stage import Task
from benchmarks.studies.search_space import COMBINED, MAIN, SPACE
from tlcourse import corpora
from tlcourse.adaptation import FULL, Recipe, adapt


def found(wrong, **more):
    return {"wrong": list(range(wrong)), "of": 100, "dev": [50.0, float(wrong)]} | {
        "seconds": 1.0,
        "forgetting": 0.5,
        **more,
    }


@pytest.fixture
def by_rate(monkeypatch):
    """Dev errors by (learning rate, size), those of the grid's worst where none is given."""
    errors, asked = {}, []

    def run(job):
        asked.append(job)
        return found(errors.get((job.recipe.learning_rate, job.size), 90))

    monkeypatch.setattr(grid_search.Job, "run", run)
    return errors, asked


def test_sizes_are_tried_at_the_best_rate_of_the_middle_one_and_its_neighbours(by_rate):
    errors, asked = by_rate
    errors |= {(4e-3, 8): 10, (8e-3, 32): 8, (2e-3, 2): 9}
    points = grid_search.grid("LoRA, all layers")
    grid = [(point["size"], point["rate"]) for point in points]
    assert grid[:6] == [(8, 1e-3 * 2**step) for step in range(6)]
    three = (2e-3, 4e-3, 8e-3)  # and on, since the best of them is the first, or the last
    assert grid[6:10] == [*((2, rate) for rate in three), (2, 1e-3)]
    assert grid[10:] == [*((32, rate) for rate in three), (32, 16e-3)]
    assert min(points, key=lambda each: each["error"])["size"] == 32
    assert {job.split for job in asked} == {"dev"} and {job.labels for job in asked} == {"all"}
    assert {job.recipe.head_learning_rate for job in asked} == {search_space.HEAD_RATE}
    assert {job.recipe.epochs for job in asked} == {grid_search.GRID_EPOCHS}


@pytest.mark.parametrize(("best", "more"), [(0, [2e-3, 1e-3, 5e-4]), (5, [0.256, 0.512, 1.024])])
def test_learning_rates_go_on_while_the_best_is_at_an_edge(by_rate, best, more):
    errors, _ = by_rate
    lowest = SPACE["BitFit"].lowest
    rates = [lowest * 2**step for step in range(6)]
    edge = rates[best]
    errors |= {(edge, None): 20, (more[0], None): 19, (more[1], None): 18, (more[2], None): 17}
    tried = [point["rate"] for point in grid_search.grid("BitFit")]
    assert tried[:6] == rates and tried[6:] == pytest.approx(more)  # and there it ends
    errors[more[1], None] = 30
    assert [p["rate"] for p in grid_search.grid("BitFit")][6:] == pytest.approx(more[:2])


def test_every_scheme_has_the_same_budget(by_rate):
    errors, _ = by_rate
    for name, entry in SPACE.items():
        errors.clear()
        errors.update({(entry.lowest * 4, size): 5 for size in entry.sizes})  # no edge
        assert len(grid_search.grid(name)) == 6 + 3 * (len(entry.sizes) - 1)
        assert len(entry.sizes) in (1, 3)
    assert set(MAIN) <= set(SPACE)


def test_the_stored_screen_has_all_grids(by_rate, uncarried):
    measured = grid_search.measure()
    assert list(dict.fromkeys(row["scheme"] for row in measured["rows"])) == list(SPACE)
    first = measured["rows"][0]
    assert first["scheme"] == FULL.name and first["dev"] == [50.0, 90.0] and first["error"] == 90
    assert set(measured["what"]) == set(SPACE)


def test_the_best_two_points_are_confirmed_and_the_better_one_is_chosen(monkeypatch):
    screened = {
        name: [
            {"scheme": name, "size": None, "rate": rate, "error": error}
            for rate, error in ((1e-3, 9.0), (2e-3, 8.0), (4e-3, 8.5), (8e-3, 12.0))
        ]
        for name in SPACE
    }
    wrong = {1e-3: 1, 2e-3: 6, 4e-3: 5, 8e-3: 1}
    asked = []

    def run_all(each):
        asked.extend(each)
        return [found(wrong[job.recipe.learning_rate] + job.seed) for job in asked]

    monkeypatch.setattr(runner, "run_all", run_all)
    monkeypatch.setattr(
        SPACE[FULL.name].__class__,
        "recipe",
        lambda self, size, rate, epochs: Recipe(epochs=epochs, learning_rate=rate),
    )
    confirmed = grid_search.confirm({name: screened[name] for name in MAIN})
    assert set(confirmed) == set(MAIN) and len(asked) == len(MAIN) * 2 * 2
    assert {(job.seed, job.fold) for job in asked} == {(0, 0), (1, 1)}
    assert [point["rate"] for point in confirmed[FULL.name]] == [4e-3, 2e-3]
    assert confirmed[FULL.name][0]["mean"] == pytest.approx(5.5)
    points = {name: grid_search.best(mine) for name, mine in screened.items()}
    points |= {name: mine[0] for name, mine in confirmed.items()}
    chosen = grid_search.choices(points)
    assert chosen[FULL.name]["recipe"]["learning_rate"] == 4e-3
    assert chosen[FULL.name]["dev_error"] == pytest.approx(5.5)
    assert chosen["BitFit"]["recipe"]["learning_rate"] == 2e-3  # not confirmed: its screen's best
    assert chosen["BitFit"]["recipe"]["epochs"] == grid_search.EPOCHS


@pytest.fixture
def task(little, samples):
    train = corpora.load("trec")["train"]
    texts, labels = train["text"][:24], train["label"][:24]
    every = train["text"][:]
    return Task(little, "mean", texts, labels, every, Recipe(epochs=1, batch_size=8), 0)


@pytest.mark.parametrize("name", SPACE | COMBINED)
def test_every_entry_of_the_space_trains(name, task):
    entry = (SPACE | COMBINED)[name]
    size = entry.sizes[-1] if name != "top layers" else entry.sizes[0]  # of two layers one
    there = search_space.task_at(name, task, size)
    assert there.scheme.name == name
    torch.manual_seed(0)
    recipe = replace(entry.recipe(size, entry.lowest, 1), min_steps=12)
    report = adapt(
        there.start(), task.texts, task.labels, scheme=there.scheme, recipe=recipe
    ).report
    assert set(report.declared) == set(report.moved)
    if entry.what == "head's learning rate":
        assert recipe.head_learning_rate == size
    assert (recipe.head_learning_rate is None) == (not entry.head)


def test_consistency_counts_what_the_model_is_sure_of_and_asks_for_sharper_answers(task):
    torch.manual_seed(0)
    model = task.start()
    term = search_space.Consistency(tuple(task.texts), 1.0, temperature=1.0, confidence=0.0)(model)
    assert term(model, (torch.zeros(1),)) > 0 and model.training
    never = search_space.Consistency(tuple(task.texts), 1.0, confidence=1.1)(model)
    assert never(model, (torch.zeros(1),)) == 0
    with torch.no_grad():  # no doubt at all, and no change by damage: nothing to ask for
        model.head.weight.zero_()
        model.head.bias.copy_(torch.tensor([50.0, 0, 0, 0, 0, 0]))
    sharp = search_space.Consistency(tuple(task.texts), 1.0)(model)
    assert sharp(model, (torch.zeros(1),)).item() == pytest.approx(0, abs=1e-5)


def test_damage_keeps_the_classification_token_and_something_to_read():
    draw = search_space.np.random.default_rng(0)
    for length in (2, 3, 30):
        ids = list(range(100, 100 + length))
        for _ in range(50):
            left = search_space._damaged(ids, draw)
            assert left[-1] == ids[-1] and len(left) >= 2 and left == sorted(left)
    counts = [len(search_space._damaged(list(range(1001)), draw)) for _ in range(20)]
    assert 1 + 1000 * 0.83 < sum(counts) / 20 < 1 + 1000 * 0.87


def test_with_few_labels_a_learning_rate_is_judged_on_dev_over_three_draws(by_rate, uncarried):
    errors, asked = by_rate
    for entry in SPACE.values():
        errors.update({(4 * entry.lowest, size): 10 for size in entry.sizes})
    tried = grid_search.search(grid_search.few_grid, list(SPACE))
    for name in SPACE:
        chosen = grid_search.best(tried[name])
        assert chosen["error"] == 10 and len(chosen["errors"]) == len(grid_search.FEW_SEEDS)
        assert errors[chosen["recipe"]["learning_rate"], chosen["size"]] == 10
        assert chosen["recipe"]["min_steps"] == grid_search.MIN_STEPS
    assert {(job.split, job.labels) for job in asked} == {("dev", grid_search.FEW)}
    assert {job.seed for job in asked}.isdisjoint(range(20))  # the draws that are tested
    errors.clear()
    lowest = SPACE["BitFit"].lowest  # the last is best: on, until it has a neighbour
    errors[32 * lowest, None] = 10
    tried = [row["rate"] / lowest for row in grid_search.few_grid("BitFit")]
    assert tried == pytest.approx([1, 2, 4, 8, 16, 32, 64])
