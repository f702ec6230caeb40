import numpy as np
import pytest
import torch

from tests.probing.made import PLAIN, blobs, model_of
from tlcourse.probing import (
    intervening,
    judge_removals,
    linear_probe,
    mean_directions,
    null_space,
    orthonormal,
    probe_directions,
    random_directions,
    remove,
    removing,
    steering,
)

TOKENS = torch.arange(8, 28).view(2, 10)


def is_orthonormal(rows: np.ndarray) -> bool:
    return np.allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-6)


def test_the_mean_direction_points_from_the_first_class_to_the_second():
    x, y = blobs(2, 50, 6, apart=1.0)
    (direction,) = mean_directions(x, y)
    difference = x[y == "b"].mean(0) - x[y == "a"].mean(0)
    assert direction == pytest.approx(difference / np.linalg.norm(difference), abs=1e-5)


def test_the_mean_direction_between_two_named_labels():
    x, y = blobs(4, 50, 6, apart=1.0)
    (there,) = mean_directions(x, y, between=("c", "a"))
    difference = x[y == "a"].mean(0) - x[y == "c"].mean(0)
    assert there == pytest.approx(difference / np.linalg.norm(difference), abs=1e-5)
    assert mean_directions(x, y, between=("a", "c"))[0] == pytest.approx(-there)
    for between in (("a", "Plur"), ("a", "a")):
        with pytest.raises(ValueError, match=r"expected two labels out of \['a', 'b', 'c', 'd'\]"):
            mean_directions(x, y, between=between)


def test_without_the_mean_directions_the_means_are_one():
    x, y = blobs(4, 50, 8, apart=2.0)
    directions = mean_directions(x, y)
    assert directions.shape == (3, 8) and is_orthonormal(directions)
    left = remove(x, directions)
    means = np.stack([left[y == name].mean(0) for name in "abcd"])
    assert np.ptp(means, axis=0).max() < 1e-4


def test_the_directions_of_a_probe_are_all_it_reads():
    x, y = blobs(3, 40, 6, apart=2.0)
    x = x * np.float32([1, 5, 1, 0.2, 1, 1])
    probe = linear_probe(x, y, compute=PLAIN)
    directions = probe_directions(probe)
    assert directions.shape == (2, 6) and is_orthonormal(directions)
    shares = torch.from_numpy(probe.logits(remove(x, directions))).softmax(-1)
    assert shares == pytest.approx(shares[:1].expand_as(shares).numpy(), abs=1e-4)


def test_null_space_leaves_a_linear_probe_at_chance():
    """The label is there many times over: one probe does not find it all."""
    x, y = blobs(2, 400, 3, apart=1.5)
    x = np.concatenate([x, x + 0.3 * np.random.default_rng(2).standard_normal(x.shape)], axis=1)
    x = np.concatenate([x, np.random.default_rng(3).standard_normal((800, 4))], axis=1)
    x = x.astype(np.float32)
    found = null_space(x, y, margin=0.03, compute=PLAIN)
    assert found.accuracies[0] > 0.75 and found.accuracies[-1] <= 0.53
    assert is_orthonormal(found.directions) and 1 <= len(found.directions) < 10
    assert len(found.accuracies) == len(found.directions) + 1  # two classes: one a round
    again = linear_probe(remove(x, found.directions), y, compute=PLAIN)
    assert again.judge(remove(x, found.directions), y).accuracy < 0.55


def test_null_space_stops_by_what_it_was_not_fitted_on():
    """As many units as items: every probe remembers all, and none of it holds on other items."""
    generator = np.random.default_rng(0)
    x, asked = generator.standard_normal((2, 60, 60)).astype(np.float32)
    y, right = (generator.permutation(list("ab" * 30)) for _ in range(2))
    given = null_space(x, y, rounds=5, margin=0.2, l2=0.01, held_out=(asked, right), compute=PLAIN)
    alone = null_space(x, y, rounds=5, margin=0.2, l2=0.01, compute=PLAIN)
    assert len(given.directions) == 0 and given.accuracies[0] <= 0.7
    assert len(alone.directions) > 3 and alone.accuracies[0] > 0.9


def test_rounds_end_null_space():
    x, y = blobs(3, 30, 8, apart=2.0)
    found = null_space(x, y, rounds=1, compute=PLAIN)
    assert len(found.accuracies) == 1 and len(found.directions) == 2
    whole = null_space(x, y, rounds=9, margin=-1.0, compute=PLAIN)
    assert whole.directions.shape == (8, 8)  # nothing is left


def test_random_directions():
    rows = random_directions(3, 16, seed=1)
    assert rows.shape == (3, 16) and is_orthonormal(rows)
    assert np.array_equal(rows, random_directions(3, 16, seed=1))
    assert not np.allclose(rows, random_directions(3, 16, seed=2))
    with pytest.raises(ValueError, match="expected 1 to 4 directions, got 5"):
        random_directions(5, 4)


def test_a_basis_has_no_row_twice():
    assert orthonormal(np.array([[2.0, 0, 0], [4, 0, 0], [0, 1, 0]])).shape == (2, 3)


@torch.no_grad()
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_removing_takes_the_directions_out_of_one_layer_and_no_more(layer):
    model, rows = model_of(), random_directions(2, 16)
    before = model.hidden_states(TOKENS)
    with removing(model, rows, layer):
        after = model.hidden_states(TOKENS)
        whole = model.hidden(TOKENS)
    # the states of layer 0 are kept before the first block sees them
    for number in range(layer + (layer == 0)):
        assert torch.equal(before[number], after[number])
    if layer:
        expected = remove(before[layer].numpy(), rows)
        assert after[layer].numpy() == pytest.approx(expected, abs=1e-5)
        assert np.abs(after[layer].numpy() @ rows.T).max() < 1e-5
    assert not torch.allclose(whole, model.hidden(TOKENS))
    assert all(torch.equal(*pair) for pair in zip(before, model.hidden_states(TOKENS), strict=True))


@torch.no_grad()
def test_removing_at_the_embeddings_is_removing_from_what_block_one_is_given():
    model, rows = model_of(), random_directions(2, 16)
    with removing(model, rows, 0):
        found = model(TOKENS)
    changed = model_of()
    embed = changed.embed
    changed.embed = lambda *given: torch.from_numpy(remove(embed(*given).numpy(), rows))
    assert found.numpy() == pytest.approx(changed(TOKENS).numpy(), abs=1e-5)


@torch.no_grad()
def test_the_mean_stays_where_it_is_asked_to():
    model, rows = model_of(), random_directions(2, 16)
    state = model.hidden_states(TOKENS)[1].flatten(0, 1).numpy()
    mean = state.mean(0)
    with removing(model, rows, 1, mean=mean):
        after = model.hidden_states(TOKENS)[1].flatten(0, 1).numpy()
    assert after @ rows.T == pytest.approx(np.tile(mean @ rows.T, (20, 1)), abs=1e-4)
    assert after.mean(0) == pytest.approx(mean, abs=1e-5)


@torch.no_grad()
def test_steering_adds_and_all_directions_leave_nothing():
    model, rows = model_of(), random_directions(1, 16)
    before = model.hidden_states(TOKENS)[2]
    with steering(model, rows[0], 2, strength=3.0):
        after = model.hidden_states(TOKENS)[2]
    expected = np.tile(3.0 * rows[0], (2, 10, 1))
    assert (after - before).numpy() == pytest.approx(expected, abs=1e-5)
    with removing(model, np.eye(16), 1):
        assert model.hidden_states(TOKENS)[1].abs().max() < 1e-6
    with (
        pytest.raises(ValueError, match="expected a layer from 0 to 2, got 3"),
        intervening(model, lambda x: x, 3),
    ):
        pass


@torch.no_grad()
def test_judges_see_each_removal_and_random_ones():
    model = model_of()
    targets = torch.roll(TOKENS, -1, dims=1)

    def loss() -> float:
        return float(torch.nn.functional.cross_entropy(model(TOKENS).mT, targets))

    state = model.hidden_states(TOKENS)[1].flatten(0, 1).numpy()
    rows = orthonormal(np.linalg.svd(state - state.mean(0))[2][:3])
    found = judge_removals(
        loss, {"main": rows, "one": rows[:1]}, lambda each: removing(model, each, 1), draws=3
    )
    assert [each.name for each in found] == ["main", "one"]
    assert [each.count for each in found] == [3, 1]
    assert {each.intact for each in found} == {loss()}
    with removing(model, rows, 1):
        assert found[0].without == loss()
    values = []
    for seed in range(3):
        with removing(model, random_directions(3, 16, seed=seed), 1):
            values.append(loss())
    assert found[0].random.mean == pytest.approx(np.mean(values))
    draws = found[0].random
    assert draws.values == tuple(values)
    assert (draws.lowest, draws.highest) == (min(values), max(values))


def test_a_function_of_the_caller_can_do_the_removing():
    model, directions = model_of(), random_directions(2, 16)
    mean = np.random.default_rng(2).standard_normal(16).astype(np.float32)

    def by(states, rows):
        assert states.dtype == rows.dtype == torch.float32 and rows.shape == (2, 16)
        return states - states @ rows.T @ rows

    with removing(model, directions, 1, mean=mean), torch.no_grad():
        own = model(TOKENS)
    with removing(model, directions, 1, mean=mean, by=by), torch.no_grad():
        assert torch.allclose(model(TOKENS), own, atol=1e-5)
