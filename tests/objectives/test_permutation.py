"""Permutation language modelling: against every order, by the engine, and adapted to a task."""

import numpy as np
import pytest
import torch

from tests.adaptation.made import CPU, LABELLED, LABELS, TEXTS, TOKENIZER
from tests.models import PLAIN
from tests.transformer.test_two_streams import all_orders, step_by_step, tiny
from tlcourse.adaptation import (
    AddedOnly,
    Classifier,
    LayerMix,
    LoRA,
    Prefixes,
    Recipe,
    Scheme,
    adapt,
)
from tlcourse.batching import TokenFile, generator_for, write_tokens
from tlcourse.objectives import PermutationLM
from tlcourse.pretraining import PretrainingRecipe, pretrain
from tlcourse.transformer import Config, Deberta, RelativeConfig, bert

SHAPE = Config(TOKENIZER.vocabulary_size, 16, 2, 2, 32, 48, activation="gelu", head_bias=True)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_over_all_orders_it_is_the_mean_over_factorisations(length):
    model, orders = tiny(), all_orders(length)
    text = torch.randint(3, (length,), generator=torch.Generator().manual_seed(1))
    for k, predicted in ((1, length), (6, 1)):
        nats, targets = PermutationLM(k).loss(model, (text.expand(len(orders), -1), orders))
        each = [step_by_step(model, text, order, length - predicted) for order in orders]
        mean = sum(each) / len(each) / predicted
        assert nats.item() / targets == pytest.approx(mean, abs=1e-10)


def test_every_row_has_an_order_of_its_own_and_all_orders_are_as_likely():
    tokens = torch.zeros(6000, 3).long()
    _, orders = PermutationLM().batch(tokens, generator_for(0), 40)
    _, counts = orders.unique(dim=0, return_counts=True)
    assert len(counts) == 6 and (counts - 1000).abs().max() < 120  # 4 standard deviations
    state = torch.get_rng_state()
    _, again = PermutationLM().batch(tokens, generator_for(0), 40)
    _, other = PermutationLM().batch(tokens, generator_for(1), 40)
    assert torch.equal(again, orders) and not torch.equal(other, orders)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(("k", "expected"), [(1, 13), (3, 4), (6, 2), (20, 1)])
def test_k_is_the_share_of_targets(k, expected):
    objective = PermutationLM(k)
    batch = objective.batch(torch.ones(5, 13).long(), generator_for(0), SHAPE.vocabulary_size)
    assert objective.loss(objective.model(SHAPE), batch)[1] == 5 * expected


def test_a_k_below_1_is_refused():
    with pytest.raises(ValueError, match="a k of at least 1, got 0"):
        PermutationLM(0)


def test_the_model_has_the_shape_that_is_asked_for():
    config = PermutationLM().model(SHAPE).config
    assert config == RelativeConfig(
        TOKENIZER.vocabulary_size, 16, 2, 2, 32, memory_length=0, causal=False, activation="gelu",
        head_bias=True, max_length=48,
    )  # fmt: skip


def test_pretrained_on_a_text_that_repeats_its_loss_falls(tmp_path):
    """Each of eight tokens comes 240 times in a row, so most windows have only one of them."""
    write_tokens(tmp_path / "tokens.bin", [np.tile(np.arange(10, 18).repeat(240), 4)])
    recipe = PretrainingRecipe(batch_size=16, length=24, warmup=2, learning_rate=1e-2)
    model, file = PermutationLM().model(SHAPE), TokenFile(tmp_path / "tokens.bin")
    history = pretrain(
        model, file, 120 * 16 * 24, recipe=recipe, objective=PermutationLM(), compute=PLAIN
    )
    losses = [record["loss"] for record in history]
    assert losses[0] > 5  # nats; a uniform guess over the vocabulary has 5.6
    assert np.mean(losses[-5:]) < 1.0  # the frequencies of the eight tokens alone give 2.08


def classifier(pooling: str = "mean") -> Classifier:
    torch.manual_seed(0)
    model = PermutationLM().model(SHAPE)
    return Classifier(PermutationLM().body(model), TOKENIZER, LABELS, pooling=pooling)


@pytest.mark.parametrize("pooling", ["mean", "classification token"])
def test_a_classifier_reads_every_token_and_no_padding(pooling):
    made = classifier(pooling).eval()
    ids = made.encode(TEXTS)
    together = made(*made.stack(ids))
    alone = torch.cat([made(*made.stack([row])) for row in ids])
    torch.testing.assert_close(together, alone)
    row = ids[1]
    for place in range(len(row) - 1):  # the last is <cls>
        other = [*row]
        other[place] = 20 if row[place] != 20 else 21
        assert not torch.allclose(made(*made.stack([other])), alone[1:2], atol=1e-9, rtol=0)


@pytest.mark.parametrize("edit", [None, LoRA(2), LayerMix()])
def test_it_is_adapted(edit):
    scheme = Scheme() if edit is None else Scheme(edit=edit, groups=AddedOnly())
    recipe = Recipe(epochs=30, learning_rate=3e-3, batch_size=4)
    adapted = adapt(classifier(), TEXTS, LABELLED, scheme=scheme, recipe=recipe, compute=CPU)
    losses = [record["loss"] for record in adapted.report.history]
    assert losses[-1] < 0.9 * losses[0]
    assert adapted.probabilities(TEXTS, compute=CPU).shape == (4, 3)


def test_long_texts_are_read_in_windows():
    long = " ".join(TEXTS * 5)
    assert classifier().probabilities([long], compute=CPU).sum().item() == pytest.approx(1)


def test_what_only_a_transformer_can_do_is_refused(tmp_path):
    with pytest.raises(ValueError, match="takes a prefix, got RelativeAttention; choose another"):
        classifier().add(Prefixes(2))
    deberta = Deberta(bert(vocabulary_size=TOKENIZER.vocabulary_size, width=16, layers=1, heads=2))
    with pytest.raises(ValueError, match="takes a prefix, got DisentangledAttention"):
        Classifier(deberta, TOKENIZER, LABELS).add(Prefixes(2))
    with pytest.raises(ValueError, match="expected a Transformer of plain blocks.* got XLNet"):
        classifier().save(tmp_path / "made")
    assert not (tmp_path / "made").exists()
