import numpy as np
import pytest
import torch

from tests.probing.made import PLAIN, TOKENIZER, model_of
from tlcourse.bpe import UNK
from tlcourse.probing import (
    SIGNALS,
    correlations,
    erase_words,
    erasing_neurons,
    find_neurons,
    neurons,
)

TOKENS = torch.arange(8, 28).view(2, 10)


@torch.no_grad()
def test_erasing_a_word_changes_nothing_before_it():
    model = model_of()

    def loss(rows: torch.Tensor) -> torch.Tensor:
        logits = model(rows[:, :-1])
        return torch.nn.functional.cross_entropy(logits.mT, rows[:, 1:], reduction="none")

    ids = TOKENS[0].tolist()
    found = erase_words(ids, loss, UNK)
    assert found.shape == (10, 9)
    for erased in range(10):
        assert found[erased, : max(erased - 1, 0)] == pytest.approx(0.0, abs=1e-5)
        row = torch.tensor([[UNK if place == erased else t for place, t in enumerate(ids)]])
        expected = (loss(row) - loss(TOKENS[:1]))[0].numpy()
        assert found[erased] == pytest.approx(expected, abs=1e-4)


@torch.no_grad()
def test_erasing_neurons_is_zeroing_their_columns():
    model, other = model_of(), model_of()
    other.blocks[1].down.weight[:, [3, 7]] = 0.0
    with erasing_neurons(model, [3, 7], 1):
        assert torch.allclose(model(TOKENS), other(TOKENS), atol=1e-5)
    assert torch.equal(model(TOKENS), model_of()(TOKENS))


@torch.no_grad()
def test_erasing_by_the_mean_over_the_text():
    model, seen = model_of(), []
    with erasing_neurons(model, [3], 1, by="mean"):
        hook = model.blocks[1].down.register_forward_pre_hook(lambda _, x: seen.append(x[0]))
        model(TOKENS)
        hook.remove()
    assert seen[0][..., 3].std() < 1e-6 and seen[0][..., 2].std() > 1e-3
    with (
        erasing_neurons(model, [3], 1, by="median"),
        pytest.raises(ValueError, match="expected by= one of zero, mean, got 'median'"),
    ):
        model(TOKENS)


def test_signals():
    tokens = [" (", "a", "[b", "])", " c", ")"]
    assert neurons.bracket_depth(tokens) == [1, 1, 2, 0, 0, 0]
    assert neurons.inside_quotation([' "', "a", '"', " b", '""', '"c']) == [1, 1, 0, 0, 0, 1]
    assert neurons.place(tokens) == [0, 1, 2, 3, 4, 5]
    assert set(SIGNALS) == {"bracket depth", "inside a quotation", "place"}


def texts_of(count: int, seed: int) -> list[list[int]]:
    generator = np.random.default_rng(seed)
    size = TOKENIZER.vocabulary_size
    return [
        generator.integers(8, size, int(generator.integers(3, 20))).tolist() for _ in range(count)
    ]


@torch.no_grad()
def test_correlations_are_those_of_all_activations_at_once():
    model, texts = model_of(), texts_of(40, 0)
    signal = [[float(token % 5) for token in text] for text in texts]
    seen = []
    hook = model.blocks[1].down.register_forward_pre_hook(lambda _, x: seen.append(x[0][0]))
    for text in texts:
        model(torch.tensor([text]))
    hook.remove()
    activations, wanted = torch.cat(seen).numpy(), np.concatenate(signal)
    expected = [np.corrcoef(column, wanted)[0, 1] for column in activations.T]
    found = correlations(model, texts, signal, compute=PLAIN)
    assert found.shape == (2, 32)
    assert found[1] == pytest.approx(np.nan_to_num(expected), abs=1e-4)


def test_a_planted_neuron_is_found_and_holds_on_other_text():
    """Neuron 5 of the first block is made to look for one token alone."""
    model = model_of()
    with torch.no_grad():
        block = model.blocks[0]
        block.attention.output.weight.zero_()
        block.attention.output.bias.zero_()
        token = torch.nn.functional.layer_norm(model.embedding.weight[20], (16,))
        token = token * block.feed_forward_norm.weight + block.feed_forward_norm.bias
        block.up.weight[5] = token
        block.up.bias[5] = -0.9 * token @ token
    texts, others = texts_of(60, 0), texts_of(60, 1)
    for text in (*texts[::2], *others[::2]):
        text[1:3] = [20, 20]
    signals = [[[float(t == 20) for t in text] for text in some] for some in (texts, others)]
    best, *rest = find_neurons(
        model, (texts, signals[0]), (others, signals[1]), count=3, compute=PLAIN
    )
    assert (best.block, best.neuron) == (0, 5)
    assert best.found > 0.95 and best.held_out > 0.95
    assert len(rest) == 2 and abs(rest[0].found) >= abs(rest[1].found)


def test_signals_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="a number for each token"):
        correlations(model_of(), [[8, 9]], [[1.0]])
    with pytest.raises(ValueError, match="a signal that changes, got 1.0"):
        correlations(model_of(), [[8, 9]], [[1.0, 1.0]])
