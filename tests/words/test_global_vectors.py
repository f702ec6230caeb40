"""GloVe's loss, gradients and steps, against PyTorch's autograd and AdaGrad."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from tests.words.lines import random_lines
from tlcourse import words
from tlcourse.words import global_vectors
from tlcourse.words.global_vectors import blocks, loss_and_gradients


@pytest.fixture(scope="module")
def counts() -> csr_array:
    text = words.read(random_lines(lines=40, size=20, seed=0), min_count=1)
    return words.cooccurrences(text, 5, weight=lambda distance: 1 / distance)


def drawn(sizes: tuple[int, int], seed: int) -> list[np.ndarray]:
    """Random vectors and biases of words, and those of contexts."""
    generator = np.random.default_rng(seed)
    return [generator.normal(size=shape) for size in sizes for shape in ((size, 4), size)]


def objective(counts: np.ndarray, x_max: float, alpha: float, parameters) -> torch.Tensor:
    """Equation 8 of the paper, halved as in the authors' program, over the whole table."""
    x = torch.tensor(counts)
    w, b, v, c = parameters
    error = w @ v.T + b[:, None] + c - x.clamp(min=1e-9).log()
    weight = (x / x_max).clamp(max=1) ** alpha
    return (weight * error**2).sum() / 2


def test_gradients_are_those_of_autograd(counts):
    (block,) = blocks(counts, x_max=5, alpha=0.75, generator=np.random.default_rng(0))
    table = counts.toarray()[np.ix_(block.words, block.contexts)]
    parameters = drawn(table.shape, seed=1)
    tensors = [torch.tensor(array, requires_grad=True) for array in parameters]
    expected = objective(table, 5, 0.75, tensors)
    expected.backward()
    loss, gradients = loss_and_gradients(block, parameters)
    assert loss == pytest.approx(expected.item(), rel=1e-6)
    for gradient, tensor in zip(gradients, tensors, strict=True):
        assert np.allclose(gradient, tensor.grad, rtol=1e-5, atol=1e-5)


def test_an_exact_factorisation_has_no_loss():
    w, b, v, c = parameters = drawn((6, 6), seed=2)
    counts = csr_array(np.exp(w @ v.T + b[:, None] + c))
    (block,) = blocks(counts, x_max=100, alpha=0.75, generator=np.random.default_rng(0))
    here = [each[rows] for each, rows in zip(parameters, block.rows, strict=True)]
    loss, gradients = loss_and_gradients(block, here)
    assert loss == pytest.approx(0, abs=1e-9)
    assert all(gradient == pytest.approx(0, abs=1e-4) for gradient in gradients)


def test_blocks_hold_each_pair_once(counts, monkeypatch):
    monkeypatch.setattr(global_vectors, "BLOCK", 6)
    parts = blocks(counts, x_max=4, alpha=0.5, generator=np.random.default_rng(0))
    assert len(parts) == 16  # 4 groups of 5 words
    logs, weights = np.zeros((2, *counts.shape))
    for part in parts:
        i, j = part.pairs
        at = part.words[i], part.contexts[j]
        np.add.at(logs, at, part.logs)
        np.add.at(weights, at, part.weights)
    table = counts.toarray()
    assert np.allclose(logs, np.log(np.where(table > 0, table, 1)), atol=1e-6)
    assert np.allclose(weights, np.minimum(1, table / 4) ** 0.5)


def test_steps_are_those_of_adagrad(counts):
    """One block holds all pairs here, so each epoch is one step."""
    settings = {"width": 4, "x_max": 5, "learning_rate": 0.3, "seed": 3}
    start = words.glove(counts, **settings, epochs=0)
    generator = np.random.default_rng(3)
    sizes = (20, 4), 20, (20, 4), 20
    drawn = [(generator.random(size, np.float32) - 0.5) / 4 for size in sizes]
    tensors = [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in drawn]
    assert np.allclose(start, (tensors[0] + tensors[2]).detach())
    adagrad = torch.optim.Adagrad(tensors, lr=0.3, initial_accumulator_value=1, eps=0)
    expected = []
    for _ in range(5):
        adagrad.zero_grad()
        loss = objective(counts.toarray(), 5, 0.75, tensors)
        loss.backward()
        adagrad.step()
        expected.append(loss.item() / counts.nnz)
    losses: list[float] = []
    found = words.glove(counts, **settings, epochs=5, report=losses.append)
    assert losses == pytest.approx(expected, rel=1e-4)
    assert np.allclose(found, (tensors[0] + tensors[2]).detach(), atol=1e-5)


def test_the_loss_falls_in_blocks_too(counts, monkeypatch):
    monkeypatch.setattr(global_vectors, "BLOCK", 6)
    losses: list[float] = []
    vectors = words.glove(counts, width=8, epochs=100, report=losses.append)
    assert vectors.shape == (20, 8) and vectors.dtype == np.float32
    assert len(losses) == 100
    assert losses[-1] < losses[0] / 20


def test_vectors_depend_on_the_seed_alone(counts):
    first, again, other = (words.glove(counts, width=4, epochs=2, seed=s) for s in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)
