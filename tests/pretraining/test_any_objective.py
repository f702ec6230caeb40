"""Every objective of the package through `pretrain`: the plain loop, a stop, another objective."""

import numpy as np
import pytest
import torch

from tests.models import PLAIN
from tests.objectives.test_values import CONFIG, SIZE, VALUES, names
from tlcourse.batching import Mixture, TokenFile, generator_for, write_tokens
from tlcourse.bpe import SPECIALS
from tlcourse.objectives import Masked, NextToken, ReplacedTokens, SpanCorruption
from tlcourse.pretraining import PretrainingRecipe, batches, optimizers_for, pretrain

RECIPE = PretrainingRecipe(batch_size=4, length=24, warmup=2, seed=3)
STEP = 4 * 24  # tokens


@pytest.fixture
def file(tmp_path) -> TokenFile:
    ids = np.random.default_rng(0).integers(len(SPECIALS), SIZE, 3000)
    write_tokens(tmp_path / "tokens.bin", [ids])
    return TokenFile(tmp_path / "tokens.bin")


def model_of(objective):
    torch.manual_seed(0)
    return objective.model(CONFIG)


def plain_loop(model, objective, file: TokenFile, steps: int) -> list[float]:
    """Trains in place at the full learning rate; the losses."""
    model.set_attention(PLAIN.attention)
    optimizers, losses = optimizers_for(model, RECIPE), []
    length = RECIPE.length + objective.extra
    for step in range(steps):
        tokens = file.windows(step, batch_size=RECIPE.batch_size, length=length, seed=RECIPE.seed)
        batch = objective.batch(tokens, generator_for(RECIPE.seed, step, 1), SIZE)
        nats, targets = objective.loss(model, batch)
        (nats / targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        losses.append(nats.item() / targets)
    return losses


@pytest.mark.parametrize("objective", VALUES, ids=names)
def test_two_steps_are_those_of_a_plain_loop(objective, file):
    model, plain = model_of(objective), model_of(objective)
    history = pretrain(model, file, 2 * STEP, recipe=RECIPE, objective=objective, compute=PLAIN)
    losses = plain_loop(plain, objective, file, 2)
    assert [record["loss"] for record in history] == pytest.approx(losses, rel=1e-5)
    assert losses[1] != losses[0] and objective.body(model).config.width == CONFIG.width
    batch = batches(file, model.config, RECIPE, objective=objective)(2)
    (one, count), (other, same) = (objective.loss(each, batch) for each in (model, plain))
    assert one.item() == pytest.approx(other.item(), rel=1e-5) and count == same


@pytest.mark.parametrize("objective", [SpanCorruption(sentinels=20), ReplacedTokens()])
def test_a_run_that_was_stopped_ends_as_one_that_was_not(objective, file, tmp_path):
    more = {"recipe": RECIPE, "objective": objective, "compute": PLAIN}
    whole, stopped = model_of(objective), model_of(objective)
    history = pretrain(whole, file, 6 * STEP, **more)

    def stop(record: dict) -> None:
        if record["step"] == 2:
            raise KeyboardInterrupt

    more["folder"] = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        pretrain(stopped, file, 6 * STEP, on_step=[stop], **more)
    resumed = model_of(objective)
    again = pretrain(resumed, file, 6 * STEP, **more)
    assert [record["loss"] for record in again] == [record["loss"] for record in history]
    for name, tensor in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], tensor), name


def test_a_run_on_a_mixture_resumes_and_not_with_other_shares(file, tmp_path):
    write_tokens(tmp_path / "small.bin", [np.tile(np.arange(10, 20), 20)])
    files = {"large": file, "small": TokenFile(tmp_path / "small.bin")}
    mixed, more = Mixture(files, {"large": 1, "small": 1}), {"recipe": RECIPE, "compute": PLAIN}
    whole, stopped = model_of(NextToken()), model_of(NextToken())
    history = pretrain(whole, mixed, 6 * STEP, **more)

    def stop(record: dict) -> None:
        if record["step"] == 2:
            raise KeyboardInterrupt

    more["folder"] = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        pretrain(stopped, mixed, 6 * STEP, on_step=[stop], **more)
    other = Mixture(files, {"large": 2, "small": 1})
    with pytest.raises(ValueError, match="corpus"):
        pretrain(model_of(NextToken()), other, 6 * STEP, **more)
    resumed = model_of(NextToken())
    again = pretrain(resumed, mixed, 6 * STEP, **more)
    assert [record["loss"] for record in again] == [record["loss"] for record in history]
    assert torch.equal(resumed.embedding.weight, whole.embedding.weight)


def test_a_run_does_not_go_on_with_another_objective(file, tmp_path):
    more = {"recipe": RECIPE, "compute": PLAIN, "folder": tmp_path / "run"}
    model = model_of(Masked())
    pretrain(model_of(Masked()), file, STEP, objective=Masked(0.15), **more)
    with pytest.raises(ValueError, match=r"objective was 'Masked\(probability=0.15\)', now"):
        pretrain(model, file, STEP, objective=Masked(0.3), **more)
    with pytest.raises(ValueError, match=r"objective was 'Masked\(.*\)', now 'causal'"):
        pretrain(model, file, STEP, **more)


def test_sentinels_come_after_the_ids_of_the_text(file):
    objective = SpanCorruption(sentinels=20)
    config = objective.model(CONFIG).config
    source, target = batches(file, config, RECIPE, objective=objective)(0)
    assert config.vocabulary_size == SIZE + 20
    assert SIZE in source and source.max() < SIZE + 20 and (target[:, 1] == SIZE).all()
