"""Ignite's own handlers on our engine, and what an end before the end leaves behind."""

import logging
import math
import os
import signal
import threading

import pytest
import torch
from ignite.engine import Events
from ignite.handlers import EarlyStopping, FastaiLRFinder, TerminateOnNan, Timer
from ignite.handlers.param_scheduler import PiecewiseLinear
from torch import nn

from tests.models import PLAIN
from tests.training.test_engine import (
    STEPS,
    Crash,
    linear_batch,
    linear_loss,
    little,
    loss_of,
    run,
    same,
    train_linear,
    without_time,
)
from tlcourse.training import STATE, Resume, Trainer, train

pytestmark = pytest.mark.usefixtures("interrupts")


def terminate_at(step: int):
    """A handler that ends the training after a step."""

    def attach(engine):
        engine.add_event_handler(Events.ITERATION_COMPLETED(once=step + 1), engine.terminate)

    return attach


def test_the_learning_rate_finder_of_ignite_and_all_is_as_before_it():
    model, optimizer = little()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    batches, more = [linear_batch(k) for k in range(4)], {"compute": PLAIN, "clip": math.inf}
    engine = Trainer(model, linear_loss, batches, optimizers=[optimizer], **more)
    used, finder = [], FastaiLRFinder()
    (group,) = optimizer.param_groups
    engine.add_event_handler(Events.ITERATION_STARTED, lambda: used.append(group["lr"]))
    objects = {"model": model, "optimizer": optimizer}
    rates = {"num_iter": 25, "start_lr": 1e-4, "end_lr": 100.0, "diverge_th": 100.0}
    with finder.attach(engine, objects, lambda record: record["loss"], **rates) as sweep:
        sweep.run()
    found = finder.get_results()
    assert len(found["lr"]) > 10 > engine.steps  # it goes through the batches again
    assert used[1:] == sorted(used[1:]) and used[-1] > 100 * used[1]
    assert isinstance(finder.lr_suggestion(), float)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name]), name
    assert optimizer.param_groups[0]["lr"] == 0.1
    engine.run()  # and the same engine then trains as if nothing had been
    other, own = little()
    history = train_linear(other, own, batches, clip=math.inf)
    assert same(model, other) and without_time(engine.history) == without_time(history)


def test_early_stopping_a_timer_and_a_check_for_nan_attach():
    timer = Timer(average=True)

    def attach(engine):
        score = EarlyStopping(2, lambda engine: min(engine.state.output["step"], 2), engine)
        engine.add_event_handler(Events.ITERATION_COMPLETED, score)
        engine.add_event_handler(
            Events.ITERATION_COMPLETED, TerminateOnNan(lambda record: record["loss"])
        )
        timer.attach(engine, step=Events.ITERATION_COMPLETED)

    model, history = run(handlers=[attach])
    assert [record["step"] for record in history] == [0, 1, 2, 3, 4]
    assert timer.step_count == 5 and not model.training


def test_without_a_schedule_ignite_s_own_sets_the_learning_rates():
    model, optimizer = little()
    seen = []

    def attach(engine):
        rates = PiecewiseLinear(optimizer, "lr", [(0, 0.1), (4, 0.5)])
        engine.add_event_handler(Events.ITERATION_STARTED, rates)

    note = [lambda _: seen.append(optimizer.param_groups[0]["lr"])]
    history = train_linear(model, optimizer, steps=4, handlers=[attach], on_step=note)
    assert seen == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert {record["factor"] for record in history} == {1.0}


def test_a_run_that_a_handler_ended_is_kept_and_goes_on_from_there_bit_for_bit(tmp_path):
    whole, history = run()
    _, part = run(resume=Resume(tmp_path), handlers=[terminate_at(3)])
    assert without_time(part) == without_time(history[:4])
    assert (tmp_path / STATE).exists()
    rest = []
    resumed, went = run(5, resume=Resume(tmp_path), on_step=[rest.append])
    assert same(whole, resumed) and without_time(went) == without_time(history)
    assert [record["step"] for record in rest] == [4, 5, 6, 7, 8]


@pytest.mark.parametrize("error", [KeyboardInterrupt, Crash])
@pytest.mark.parametrize("place", ["the loss", "a callback"])
def test_after_an_exception_modes_gradients_and_requests_are_as_before(error, place, caplog):
    model, optimizer = little()
    model = nn.Sequential(model, nn.Dropout(0.0), nn.Linear(1, 1))
    model[1].eval()
    model[2].weight.requires_grad_(False)
    groups = [{"params": [p], "name": n} for n, p in model.named_parameters()]
    optimizer = torch.optim.SGD(groups, lr=0.1)

    def failing(model, batch):
        total, count = linear_loss(model, batch)
        if place == "the loss" and len(done) == 2:
            total.backward()
            raise error
        return total, count

    def schedule(step: int) -> dict[str, float]:
        return {group["name"]: float(step % 2 or "weight" in group["name"]) for group in groups}

    def stop(record: dict) -> None:
        done.append(record)
        if place == "a callback" and len(done) == 3:
            raise error

    done: list[dict] = []
    with caplog.at_level(logging.INFO), pytest.raises(error):
        train_linear(model, optimizer, loss=failing, steps=5, schedule=schedule, on_step=[stop])
    assert [module.training for module in model.modules()] == [True, True, False, True]
    assert [p.requires_grad for p in model.parameters()] == [True, True, False, True]
    assert all(p.grad is None for p in model.parameters())
    assert "terminating due to" not in caplog.text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_end_of_the_step_and_the_state_is_kept(tmp_path, number):
    whole, history = run()
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    calls, inner = [], []

    def asked(model, batch):
        calls.append(1)
        if len(calls) == 4:
            os.kill(os.getpid(), number)
            inner.append("the step goes on")
        return loss_of()(model, batch)

    with pytest.raises(KeyboardInterrupt):
        run(resume=Resume(tmp_path), loss=asked)
    assert inner and len(calls) == 4
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers
    saved = torch.load(tmp_path / STATE, weights_only=True)["history"]
    assert without_time(saved) == without_time(history[:4])
    resumed, went = run(99, resume=Resume(tmp_path))
    assert same(whole, resumed) and without_time(went) == without_time(history)


def test_an_exception_that_a_signal_caused_is_the_interrupt(tmp_path):
    def killed(model, batch):
        os.kill(os.getpid(), signal.SIGINT)
        raise RuntimeError("a child of the compiler was interrupted, too")

    with pytest.raises(KeyboardInterrupt):
        run(resume=Resume(tmp_path), loss=killed)
    assert not (tmp_path / STATE).exists()  # no step was done


def test_a_second_signal_gets_through_at_once_and_a_half_done_update_is_not_kept(
    tmp_path, monkeypatch
):
    whole, _ = run()
    before = torch.optim.AdamW.step
    steps = []

    def interrupted(self, *arguments):
        steps.append(1)
        if len(steps) == 3:  # Muon has moved its matrices already
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
        return before(self, *arguments)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(torch.optim.AdamW, "step", interrupted)
        run(resume=Resume(tmp_path, every=0))
    saved = torch.load(tmp_path / STATE, weights_only=True)["history"]
    assert [record["step"] for record in saved] == [0, 1]
    assert same(whole, run(3, resume=Resume(tmp_path))[0])


def test_outside_the_main_thread_training_does_without_signals(tmp_path):
    found = []
    thread = threading.Thread(target=lambda: found.append(run(resume=Resume(tmp_path))))
    thread.start()
    thread.join()
    assert len(found[0][1]) == STEPS


def test_a_sequence_of_batches_is_one_epoch_or_as_many_steps_as_are_asked_for():
    batches = [linear_batch(k) for k in range(3)]
    assert len(train_linear(*little(), batches)) == 3
    (model, optimizer), (other, own) = little(), little()
    longer = train_linear(model, optimizer, batches, steps=7)
    again = train_linear(other, own, lambda step: batches[step % 3], steps=7)
    assert same(model, other) and without_time(longer) == without_time(again)


def test_the_default_optimizer_moves_what_asks_for_a_gradient():
    model, _ = little()
    model.bias.requires_grad_(False)
    bias, weight = model.bias.clone(), model.weight.clone()
    train(model, linear_loss, linear_batch, steps=2, compute=PLAIN)
    assert torch.equal(model.bias, bias) and not torch.equal(model.weight, weight)
    assert not model.bias.requires_grad
    model.requires_grad_(False)
    with pytest.raises(ValueError, match="all are frozen"):
        train(model, linear_loss, linear_batch, steps=2, compute=PLAIN)


def test_what_cannot_be_known_is_asked_for():
    for wrong, said in (
        ({}, "expected steps=, since batches are a function"),
        ({"batches": []}, "expected at least one batch, got none"),
        ({"steps": 1, "seed": None, "resume": Resume("nowhere")}, "expected a seed"),
    ):
        with pytest.raises(ValueError, match=said):
            train_linear(*little(), **wrong)


def test_without_a_seed_dropout_goes_on_from_pytorch_s_own_generator():
    def drawn(seed: int):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(3, 1), nn.Dropout(0.5))
        return train(model, linear_loss, linear_batch, steps=3, compute=PLAIN, seed=None)

    assert without_time(drawn(1)) == without_time(drawn(1)) != without_time(drawn(2))
