"""A model of one's own: its weights from and to a `Transformer`, and what the engine asks of it."""

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from tests.models import noisy
from tlcourse import objectives
from tlcourse.adaptation import Classifier
from tlcourse.bpe import SPECIALS
from tlcourse.evaluation import generate
from tlcourse.exercises.transformer import model as lesson
from tlcourse.training import train
from tlcourse.transformer import (
    Attention,
    Config,
    EngineMethods,
    Transformer,
    as_transformer,
    take_weights,
)

CONFIG = Config(50, width=12, layers=3, heads=2, feed_forward=20, max_length=16)


class Model(lesson.Model):
    """What lesson 02 builds, with the package's attention: AdamW makes rounding large."""

    def __init__(self, config):
        super().__init__(config)
        for block in self.blocks:
            block.attention = Attention(config)


class MyModel(EngineMethods, Model):
    pass


def reference(config: Config = CONFIG) -> Transformer:
    return noisy(config, seed=1)


def tokens(seed: int = 2) -> torch.Tensor:
    drawn = torch.Generator().manual_seed(seed)
    return torch.randint(len(SPECIALS), 50, (3, 9), generator=drawn)


IS_TOKEN = torch.arange(9) < torch.tensor([9, 4, 6])[:, None]


@pytest.mark.parametrize("causal", [True, False])
def test_the_same_weights_give_the_same_logits(causal: bool) -> None:
    theirs = reference(replace(CONFIG, causal=causal))
    mine = take_weights(Model(theirs.config), theirs)
    for given in (None, IS_TOKEN):
        torch.testing.assert_close(mine(tokens(), given), theirs(tokens(), given))


def test_there_and_back_no_weight_is_lost_or_shared_and_no_number_is_drawn() -> None:
    theirs, mine = reference(), Model(CONFIG)
    before = torch.get_rng_state()
    assert take_weights(mine, theirs) is mine
    back = as_transformer(mine.eval())
    assert torch.equal(torch.get_rng_state(), before)
    assert back.config == CONFIG and not back.training and as_transformer(mine.train()).training
    torch.nn.init.zeros_(mine.embedding.weight)
    for name, weight in theirs.state_dict().items():
        assert weight.any() and torch.equal(back.state_dict()[name], weight), name


def test_another_configuration_is_named_but_dropout_moves_no_weight() -> None:
    take_weights(Model(replace(CONFIG, dropout=0.1)), reference())
    with pytest.raises(ValueError, match=r"layers 2 against 3.*Model\(reference.config\)"):
        take_weights(Model(replace(CONFIG, layers=2)), reference())


def test_wrong_names_shapes_and_a_missing_config_are_said_and_nothing_is_copied() -> None:
    wrong = Model(CONFIG)
    wrong.last_norm = wrong.norm
    del wrong.norm
    before = copy.deepcopy(wrong.state_dict())
    with pytest.raises(ValueError, match=r"without norm.weight, norm.bias and with last_norm"):
        take_weights(wrong, reference())
    with pytest.raises(ValueError, match="without norm.weight"):
        as_transformer(wrong)
    assert all(torch.equal(old, wrong.state_dict()[name]) for name, old in before.items())
    narrow = Model(CONFIG)
    narrow.blocks[0].feed_forward.up = nn.Linear(12, 19)
    with pytest.raises(ValueError, match=r"up.weight of shape \(20, 12\), got \(19, 12\)"):
        take_weights(narrow, reference())
    del narrow.config
    with pytest.raises(ValueError, match=r"self.config = config"):
        as_transformer(narrow)


def test_what_the_package_calls_is_what_the_transformer_gives() -> None:
    theirs = reference()
    mine = take_weights(MyModel(CONFIG), theirs)
    at = torch.tensor([8, 0, 5])
    torch.testing.assert_close(
        mine.hidden_at(tokens(), IS_TOKEN, at=at), theirs.hidden_at(tokens(), IS_TOKEN, at=at)
    )
    states = mine.hidden_states(tokens(), IS_TOKEN)
    assert len(states) == CONFIG.layers + 1
    for one, other in zip(states, theirs.hidden_states(tokens(), IS_TOKEN), strict=True):
        torch.testing.assert_close(one, other)
    assert not any(block._forward_hooks for block in mine.blocks)
    assert mine.output_layer[0] is mine.embedding.weight and mine.output_layer[1] is None
    mine.set_attention("explicit")
    with torch.no_grad():
        torch.testing.assert_close(mine(tokens()), theirs(tokens()))
    assert generate(mine, [7], 6, temperature=0) == generate(theirs, [7], 6, temperature=0)


def test_the_engine_trains_both_with_the_same_losses() -> None:
    theirs = reference()
    mine = take_weights(MyModel(CONFIG), theirs)

    def loss(model, batch):
        return objectives.causal_loss(model, *batch)

    batches = [(tokens(seed),) for seed in range(4)]
    one, other = (train(model, loss, batches, seed=0) for model in (mine, theirs))
    assert one[-1]["loss"] != one[0]["loss"]
    for row, same in zip(one, other, strict=True):
        assert row["loss"] == pytest.approx(same["loss"], rel=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "last token"])
def test_a_classifier_reads_both_alike(pooling: str) -> None:
    theirs = reference()
    mine = take_weights(MyModel(CONFIG), theirs)
    found = []
    for body in (mine, theirs):
        torch.manual_seed(0)
        classifier = Classifier(body, None, ["A", "B"], pooling=pooling).eval()
        found.append(classifier(tokens(), IS_TOKEN))
    torch.testing.assert_close(*found)
