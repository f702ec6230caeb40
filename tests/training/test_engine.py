import copy
import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.models import PLAIN
from tlcourse import objectives, pretraining
from tlcourse.batching import generator_for
from tlcourse.exercises.task import get
from tlcourse.training import STATE, Resume, train, warmup_stable_decay
from tlcourse.transformer import Config, Transformer

STEPS = 9


class Crash(Exception):
    pass


def crash_at(step: int):
    def callback(record: dict) -> None:
        if record["step"] == step:
            raise Crash

    return callback


def batch_of(step: int) -> tuple[torch.Tensor, ...]:
    return (torch.randint(6, 60, (4, 9), generator=generator_for(0, step)),)


def masked_batch(step: int) -> tuple[torch.Tensor, ...]:
    (tokens,) = batch_of(step)
    corrupted, chosen = objectives.mask_tokens(tokens, generator_for(1, step), 60, probability=0.5)
    return corrupted, tokens, chosen


def loss_of(causal: bool = True):
    return pretraining.OBJECTIVES["causal" if causal else "masked"].loss


def run(weights: int = 0, causal: bool = True, **more):
    """A small model with dropout, trained with Muon and AdamW; `weights` is a seed."""
    torch.manual_seed(weights)
    model = Transformer(Config(60, 16, 2, 2, 32, 12, causal=causal, dropout=0.2))
    arguments = {
        "loss": loss_of(causal),
        "batches": batch_of if causal else masked_batch,
        "steps": STEPS,
        "optimizers": pretraining.optimizers_for(model),
        "schedule": warmup_stable_decay(STEPS, 3, 0.4),
        "compute": PLAIN,
        "seed": 7,
    }
    return model, train(model, **(arguments | more))


def same(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def without_time(history: list[dict]) -> list[dict]:
    return [{k: v for k, v in record.items() if k != "seconds"} for record in history]


def test_it_goes_on_from_where_a_loop_by_hand_has_stopped():
    torch.manual_seed(0)
    mine = Transformer(Config(60, 16, 2, 2, 32, 12))
    optimizer = torch.optim.AdamW(mine.parameters(), lr=0.01)
    factor, loop = warmup_stable_decay(STEPS, 3, 0.4), get("pretraining.train").solution

    def go_on(steps):
        more = batch_of, optimizer, lambda step: 0.01 * factor(step), steps
        return loop(mine, loss_of(), *more)

    go_on(range(4))
    theirs, moved_by = copy.deepcopy((mine, optimizer))
    begin = [lambda engine: setattr(engine.state, "iteration", 4)]
    more = {"steps": STEPS, "schedule": factor, "compute": PLAIN, "handlers": begin}
    history = train(theirs, loss_of(), batch_of, optimizers=[moved_by], **more)
    assert [record["step"] for record in history] == [4, 5, 6, 7, 8]
    assert [record["loss"] for record in history] == pytest.approx(go_on(range(4, 9)), rel=1e-5)


@pytest.mark.parametrize("causal", [True, False])
def test_interrupted_and_resumed_is_bit_for_bit_not_interrupted(tmp_path, causal):
    whole, history = run(causal=causal)
    step = random.SystemRandom().randrange(1, STEPS - 1)  # any will do; the message names it
    with pytest.raises(Crash):
        run(causal=causal, resume=Resume(tmp_path, every=0), on_step=[crash_at(step)])
    resumed, went = run(99, causal, resume=Resume(tmp_path, every=0))
    assert same(whole, resumed), f"interrupted at step {step}"
    assert without_time(went) == without_time(history)
    seconds = [record["seconds"] for record in went]
    assert seconds == sorted(seconds)


def test_interrupted_twice_and_once_by_an_exception_in_the_loss(tmp_path):
    whole, _ = run()
    with pytest.raises(Crash):
        run(resume=Resume(tmp_path, every=0), on_step=[crash_at(2)])
    calls = []

    def failing(model, batch):
        calls.append(1)
        if len(calls) == 4:
            raise Crash
        return loss_of()(model, batch)

    with pytest.raises(Crash):
        run(resume=Resume(tmp_path, every=0), loss=failing)
    resumed, history = run(5, resume=Resume(tmp_path, every=0))
    assert same(whole, resumed)
    assert [record["step"] for record in history] == list(range(STEPS))


def test_nothing_is_done_again_after_the_end(tmp_path):
    done, _ = run(resume=Resume(tmp_path))
    again, history = run(3, resume=Resume(tmp_path), batches=lambda step: 1 / 0)
    assert same(done, again)
    assert len(history) == STEPS
    assert not again.training


def test_no_state_before_the_first_save_starts_anew(tmp_path):
    with pytest.raises(Crash):
        run(resume=Resume(tmp_path), on_step=[crash_at(4)])  # the next save is minutes away
    assert not (tmp_path / STATE).exists()
    assert same(run(resume=Resume(tmp_path))[0], run()[0])


def test_state_of_other_settings_is_refused_and_stays(tmp_path):
    run(resume=Resume(tmp_path, settings={"rate": 1, "batch": 4}))
    before = (tmp_path / STATE).read_bytes()
    with pytest.raises(ValueError, match="rate was 1, now 2.*Use another folder"):
        run(resume=Resume(tmp_path, settings={"rate": 2, "batch": 4}))
    assert (tmp_path / STATE).read_bytes() == before


def test_a_damaged_state_says_so(tmp_path):
    run(resume=Resume(tmp_path), steps=2)
    (tmp_path / STATE).write_bytes((tmp_path / STATE).read_bytes()[:500])
    with pytest.raises(ValueError, match="expected the state of a run"):
        run(resume=Resume(tmp_path), steps=2)


def linear_loss(model: nn.Module, batch):
    """Squared error of the rows whose weight is not 0: parts may have other counts of targets."""
    x, y, keep = batch
    return (keep * (model(x)[:, 0] - y) ** 2).sum(), int(keep.sum())


def linear_batch(step: int):
    generator = generator_for(step)
    keep = torch.tensor([1.0, 1, 1, 0, 0, 0, 0, 1])  # 3 of the first half, 1 of the second
    return torch.randn(8, 3, generator=generator), torch.randn(8, generator=generator), keep


def little(rate: float = 0.1) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    return model, torch.optim.SGD(model.parameters(), lr=rate)


def train_linear(model, optimizer, batches=linear_batch, loss=linear_loss, **more) -> list[dict]:
    return train(model, loss, batches, optimizers=[optimizer], compute=PLAIN, **more)


def fit(accumulate: int = 1, clip: float = 1e9, steps: int = 3, rate: float = 0.1):
    model, optimizer = little(rate)
    return model, train_linear(model, optimizer, steps=steps, clip=clip, accumulate=accumulate)


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_accumulation_is_one_batch_though_parts_have_other_counts(parts):
    one, history = fit()
    cut, cut_history = fit(accumulate=parts)
    torch.testing.assert_close(list(cut.parameters()), list(one.parameters()))
    assert [r["loss"] for r in cut_history] == pytest.approx([r["loss"] for r in history])
    assert [r["norm"] for r in cut_history] == pytest.approx([r["norm"] for r in history])


def gradient_of_first_step() -> list[torch.Tensor]:
    model, _ = little()
    x, y, keep = linear_batch(0)
    kept = keep > 0
    F.mse_loss(model(x[kept])[:, 0], y[kept]).backward()  # the library's mean over targets
    return [parameter.grad for parameter in model.parameters()]


@pytest.mark.parametrize("parts", [1, 8])
def test_the_gradient_is_the_mean_s_and_clipped_once_as_a_whole(parts):
    start, _ = fit(steps=1, rate=0.0)
    gradient = gradient_of_first_step()
    norm = torch.cat([g.flatten() for g in gradient]).norm().item()
    for clip in (1e9, norm / 3):
        moved, history = fit(parts, clip, steps=1, rate=1.0)
        scale = min(1.0, clip / norm)
        for old, new, g in zip(start.parameters(), moved.parameters(), gradient, strict=True):
            torch.testing.assert_close(old - new, scale * g, rtol=1e-4, atol=1e-6)
        assert history[0]["norm"] == pytest.approx(norm, rel=1e-5)


def test_a_pytorch_without_the_names_it_does_not_promise_gives_the_same_bits(monkeypatch):
    whole, _ = run()
    monkeypatch.delattr(torch, "_foreach_mul_")
    assert same(whole, run()[0])


def test_schedule_values():
    factor = warmup_stable_decay(10, warmup=2, decay=0.4)
    got = [factor(step) for step in range(10)]
    assert got == pytest.approx([0.5, 1, 1, 1, 1, 1, 1, 0.75, 0.5, 0.25])
    straight = warmup_stable_decay(6, warmup=2, decay=1.0)
    assert [straight(step) for step in range(6)] == pytest.approx([0.5, 1, 1, 0.75, 0.5, 0.25])
    flat = warmup_stable_decay(4, warmup=0, decay=0.0)
    assert [flat(step) for step in range(4)] == [1, 1, 1, 1]


def test_each_group_keeps_its_own_rate_times_the_schedule():
    model, seen = nn.Linear(3, 1), []
    groups = [{"params": [model.weight], "lr": 0.5}, {"params": [model.bias], "lr": 0.02}]
    optimizer = torch.optim.SGD(groups)
    note = [lambda record: seen.append([g["lr"] for g in optimizer.param_groups])]
    schedule = warmup_stable_decay(4, 2, 0.5)
    train_linear(model, optimizer, steps=4, schedule=schedule, on_step=note)
    wanted = [[0.25, 0.01], [0.5, 0.02], [0.5, 0.02], [0.25, 0.01]]
    assert [rate for pair in seen for rate in pair] == pytest.approx(sum(wanted, []))


def test_a_schedule_may_count_in_numpy():
    model = nn.Linear(3, 1)
    named = [("weight", model.weight), ("bias", model.bias)]
    optimizer = torch.optim.SGD([{"name": n, "params": [p], "lr": 0.5} for n, p in named])
    before = [p.clone() for _, p in named]
    factors = {"weight": np.cos(0.0), "bias": np.float64(0.0)}
    train_linear(model, optimizer, steps=2, schedule=lambda step: factors)
    assert [torch.equal(p, was) for (_, p), was in zip(named, before, strict=True)] == [False, True]


def test_dropout_is_a_function_of_seed_and_step():
    one, _ = run()
    torch.rand(17)  # what was drawn before must not matter
    assert same(one, run()[0])
    assert not same(one, run(seed=8)[0])


def test_a_loss_that_is_not_finite_and_a_batch_without_targets_stop_the_run():
    def broken(model, batch):
        total, count = linear_loss(model, batch)
        return total * float("nan"), count

    def nothing(step):
        x, y, keep = linear_batch(step)
        return x, y, 0 * keep

    with pytest.raises(FloatingPointError, match="the loss is nan at step 0; lower"):
        train_linear(*little(), loss=broken, steps=2)
    with pytest.raises(ValueError, match="at least one target in the batch"):
        train_linear(*little(), nothing, steps=1)
