"""Answers to the exercises of lesson 03b that are not in their own files."""

import numpy as np
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.pretraining.chunked_loss import changed, chunked_loss
from tlcourse.exercises.pretraining.muon import A, B, C, muon, variant
from tlcourse.pretraining import PretrainingRecipe, optimizers_for
from tlcourse.transformer import Config, Transformer

# chunked_loss


def by_autograd(hidden, weight, targets, chunk):
    nats, rows = 0.0, []
    with torch.enable_grad():
        weight = weight.detach().clone().requires_grad_()
        for part, asked in zip(hidden.split(chunk), targets.split(chunk), strict=True):
            part = part.detach().clone().requires_grad_()
            loss = F.cross_entropy(part @ weight.T, asked, reduction="sum")
            loss.backward()
            nats += loss.item()
            rows.append(part.grad)
    return nats, torch.cat(rows), weight.grad


def autograd_left_off(hidden, weight, targets, chunk):
    hidden, weight = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
    nats = F.cross_entropy(hidden @ weight.T, targets, reduction="sum")
    return nats.detach(), *torch.autograd.grad(nats, (hidden, weight))


def exponentials_by_hand(three, hidden, weight, targets, chunk):
    shares = (hidden[:1] @ weight.T).exp()
    return three[0] + 0 * (shares / shares.sum()).sum(), *three[1:]


def without_the_one(three, hidden, weight, targets, chunk):
    return three[0], three[1] + weight[targets], three[2]


def of_the_last(three, hidden, weight, targets, chunk):
    last = hidden.split(chunk)[-1], weight, targets.split(chunk)[-1], chunk
    return *three[:2], chunked_loss(*last)[2]


test_chunked_loss = accepts(
    "pretraining.chunked_loss",
    by_autograd,
    changed(lambda three, *given: [np.float64(three[0]), *three[1:]]),
)
test_wrong_chunked_loss = rejects(
    "pretraining.chunked_loss",
    (changed(lambda three, *given: three[0]), 1, "3 values, `return nats, d_hidden, d_weight`"),
    (changed(lambda three, *given: (three[0], three[2], three[1])), 1, "then (vocabulary, width)"),
    (autograd_left_off, 1, "does not require grad"),
    (changed(lambda three, *given: (three[0] / len(given[2]), *three[1:])), 2, "Add up the nats"),
    (changed(without_the_one), 3, "The slope is the softmax minus 1 at the target"),
    (changed(of_the_last), 4, "their gradients are added up"),
    (lambda h, w, targets, chunk: chunked_loss(h, w, targets, len(targets)), 5, "for all targets"),
    (changed(exponentials_by_hand), 6, "Does `exp` overflow"),
)


# muon


def as_pytorch_does(gradient, buffer, momentum=0.95):
    buffer.lerp_(gradient, 1 - momentum)
    x = gradient.lerp(buffer, momentum)
    x = x / (x.square().sum().sqrt() + 1e-12)
    for _ in range(5):
        gram = x @ x.mT
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=B, alpha=C), x, beta=A)
    return x * (0.2 * max(x.shape) ** 0.5), buffer


def after(change):
    """The right answer, with what it returns changed: `change(update, buffer)`."""
    return lambda *given: change(*muon(*given))


FORMULA = "apply the formula five times"
test_muon = accepts("pretraining.muon", as_pytorch_does, variant())
test_wrong_muon = rejects(
    "pretraining.muon",
    (after(lambda update, buffer: update), 1, "2 values, `return update, buffer`"),
    (variant(formula=lambda x, gram: A * x + (C * gram + B * gram @ gram) @ x), 2, FORMULA),
    (variant(norm=lambda x: x.norm(dim=1, keepdim=True)), 2, FORMULA),
    (after(lambda update, buffer: (update / max(update.shape) ** 0.5, buffer)), 3, "longer side"),
    (after(lambda update, buffer: (update / bool(update.any()), buffer)), 4, "0 / 0 is NaN"),
    (after(lambda update, buffer: (min(update, update.T, key=len), buffer)), 1, "it back after"),
    (lambda g, buffer, momentum: muon(g, buffer / momentum, momentum), 5, "return the new"),
    (lambda g, buffer, momentum: muon(g, buffer), 5, "here 0.5"),
    (lambda g, buffer, momentum=0.9: muon(g, buffer, momentum), 5, "it is 0.95"),
)


def test_the_example_of_the_text():
    update, _ = muon(torch.diag(torch.tensor([2.0, 2.0])), torch.zeros(2, 2))
    torch.testing.assert_close(update, torch.diag(torch.tensor([0.31, 0.31])), atol=5e-3, rtol=0)


def test_the_reference_takes_the_steps_of_the_packages_optimizer():
    torch.manual_seed(0)
    model = Transformer(Config(40, 16, 1, 2, feed_forward=48, max_length=8))
    optimizer, _ = optimizers_for(model, PretrainingRecipe(muon_learning_rate=0.01))
    matrix = model.blocks[0].up.weight
    mine, buffer = matrix.detach().clone(), torch.zeros_like(matrix)
    for _ in range(4):
        gradient = torch.randn_like(matrix)
        matrix.grad = gradient.clone()
        optimizer.step()
        update, buffer = muon(gradient, buffer)
        mine = mine * (1 - 0.01 * 0.1) - 0.01 * update
    torch.testing.assert_close(matrix.detach(), mine, atol=1e-6, rtol=1e-4)
