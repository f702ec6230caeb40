"""Answers to the exercises of lesson 03b that are not in their own files."""

import numpy as np
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.pretraining.chunked_loss import changed, chunked_loss, with_slope
from tlcourse.exercises.pretraining.muon import A, B, C, muon, variant
from tlcourse.transformer import Config, Transformer


def nothing(*arguments): ...  # your code here


# chunked_loss


def by_one_hot(hidden, weight, targets, chunk):
    nats, d_hidden, d_weight = torch.zeros(()), torch.empty_like(hidden), 0
    for start in range(0, len(targets), chunk):
        part, asked = hidden[start : start + chunk], targets[start : start + chunk]
        log_shares = F.log_softmax(F.linear(part, weight), dim=1)
        right = F.one_hot(asked, len(weight))
        nats = nats - (log_shares * right).sum()
        errors = log_shares.exp() - right
        d_hidden[start : start + chunk] = errors @ weight
        d_weight = d_weight + errors.mT @ part
    return nats, d_hidden, d_weight


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


def by_softmax_and_gather(hidden, weight, targets, chunk):
    nats, rows, total = torch.tensor(0.0), [], torch.zeros(weight.shape)
    for part, asked in zip(torch.split(hidden, chunk), torch.split(targets, chunk), strict=True):
        logits = torch.einsum("nd,vd->nv", part, weight)
        nats += (logits.logsumexp(1) - logits.gather(1, asked[:, None])[:, 0]).sum()
        slope = torch.softmax(logits, 1).scatter_add(1, asked[:, None], -torch.ones(len(asked), 1))
        rows.append(slope.mm(weight))
        total.addmm_(slope.t(), part)
    return nats.item(), torch.vstack(rows), total


def target_by_target(hidden, weight, targets, chunk):
    nats, d_hidden, d_weight = 0.0, torch.zeros_like(hidden), torch.zeros_like(weight)
    for row, (state, target) in enumerate(zip(hidden, targets.tolist(), strict=True)):
        logits = weight @ state
        nats += float(logits.logsumexp(0) - logits[target])
        slope = logits.softmax(0)
        slope[target] -= 1
        d_hidden[row] = slope @ weight
        d_weight += slope[:, None] * state
    return [np.float64(nats), d_hidden, d_weight]


def autograd_left_off(hidden, weight, targets, chunk):
    hidden, weight = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
    nats = F.cross_entropy(hidden @ weight.T, targets, reduction="sum")
    return nats.detach(), *torch.autograd.grad(nats, (hidden, weight))


def adds_in_place(hidden, weight, targets, chunk):
    result = chunked_loss(hidden, weight, targets, chunk)
    weight += result[2]
    return result


def exponentials_by_hand(three, hidden, weight, targets, chunk):
    shares = (hidden[:1] @ weight.T).exp()
    return three[0] + 0 * (shares / shares.sum()).sum(), *three[1:]


def every_nats(three, hidden, weight, targets, chunk):
    return F.cross_entropy(hidden @ weight.T, targets, reduction="none"), *three[1:]


def nats_of_the_last(three, hidden, weight, targets, chunk):
    last = hidden.split(chunk)[-1] @ weight.T, targets.split(chunk)[-1]
    return F.cross_entropy(*last, reduction="sum"), *three[1:]


def slope_of_each_chunk(slope_of):
    """An answer whose nats are right and whose slope is `slope_of(logits, asked)`."""

    def function(hidden, weight, targets, chunk):
        slopes = [
            slope_of(part @ weight.T, asked)
            for part, asked in zip(hidden.split(chunk), targets.split(chunk), strict=True)
        ]
        every = torch.cat(slopes)
        return chunked_loss(hidden, weight, targets, chunk)[0], every @ weight, every.T @ hidden

    return function


def one_hot_of_the_position(logits, asked):
    slope = logits.softmax(-1)
    slope[:, asked] -= 1  # all rows, not each row its own
    return slope


test_chunked_loss = accepts(
    "pretraining.chunked_loss", by_one_hot, by_autograd, by_softmax_and_gather, target_by_target
)
test_wrong_chunked_loss = rejects(
    "pretraining.chunked_loss",
    (nothing, 0, "Not solved yet"),
    (changed(lambda three, *given: three[0]), 1, "3 values, `return nats, d_hidden, d_weight`"),
    (changed(every_nats), 1, "a sum over all targets"),
    (changed(lambda three, *given: (three[0], three[2], three[1])), 1, "then (vocabulary, width)"),
    (changed(lambda three, *given: (three[0], [three[1]], three[2])), 1, "Yours: ['list', (6, 4)]"),
    (changed(lambda three, *given: (*three[:2], three[2].T)), 1, "Yours: [(6, 4), (4, 6)]"),
    (adds_in_place, 1, "`weight`, after the call.\nYours: changed"),
    (autograd_left_off, 1, "autograd is switched off"),
    (changed(nats_of_the_last), 2, "Each target costs ln 5"),
    (with_slope(lambda share, right: share), 3, "The slope is the softmax minus 1 at the target"),
    (slope_of_each_chunk(one_hot_of_the_position), 3, "minus 1 at the target"),
    (
        slope_of_each_chunk(
            lambda logits, asked: logits.softmax(0) - F.one_hot(asked, logits.shape[1])
        ),
        3,
        "The slope is the softmax",
    ),
    (
        slope_of_each_chunk(
            lambda logits, asked: logits.softmax(1) - F.one_hot(asked, logits.shape[1])
        ),
        5,
        "kept from chunk to chunk",
    ),
    (lambda h, w, targets, chunk: chunked_loss(h, w, targets, len(targets)), 5, "for all targets"),
    (changed(exponentials_by_hand), 6, "Does `exp` overflow?"),
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


def by_singular_values(gradient, buffer, momentum=0.95):
    buffer = buffer * momentum + gradient
    u, s, v = torch.linalg.svd(gradient + momentum * buffer, full_matrices=False)
    s = s / s.norm().clamp(min=1e-7)
    for _ in range(5):
        s = A * s + B * s**3 + C * s**5
    return u @ torch.diag(0.2 * max(gradient.shape) ** 0.5 * s) @ v, buffer


def by_its_transpose(gradient, buffer, momentum=0.95):
    buffer = buffer * momentum + gradient * (1 - momentum)
    x = (1 - momentum) * gradient + momentum * buffer
    x = torch.nn.functional.normalize(x.flatten(), dim=0, eps=1e-7).view_as(x)
    for _ in range(5):
        inner = x.T @ x
        x = 3.4445 * x - 4.7750 * x @ inner + 2.0315 * x @ inner @ inner
    return x * 0.2 * torch.tensor(gradient.shape).max().sqrt(), buffer


def in_place(gradient, buffer, momentum=0.95):
    buffer.mul_(momentum).add_(gradient)
    return muon(gradient + 0, (buffer - gradient) / momentum, momentum)[0], buffer


def after(change):
    """The right answer, with what it returns changed: `change(update, buffer)`."""
    return lambda *given: change(*muon(*given))


def shortens_the_gradient(gradient, buffer, momentum=0.95):
    gradient /= gradient.norm()
    return muon(gradient, buffer, momentum)


def product_once(gradient, buffer, momentum=0.95):
    first = []

    def formula(x, gram):
        first.append(gram)  # before the loop
        return A * x + (B * first[0] + C * first[0] @ first[0]) @ x

    return variant(formula=formula)(gradient, buffer, momentum)


def looks_with_the_old_buffer(gradient, buffer, momentum=0.95):
    def start(gradient, new, momentum):
        return gradient + momentum * buffer

    return variant(start=start)(gradient, buffer, momentum)


EXPLODES, LIKE = "The numbers explode", "apply the formula five times"
SIZE = "multiplied by 0.2 times the root of the longer side"
test_muon = accepts(
    "pretraining.muon", as_pytorch_does, by_singular_values, by_its_transpose, in_place
)
test_wrong_muon = rejects(
    "pretraining.muon",
    (nothing, 0, "Not solved yet"),
    (after(lambda update, buffer: update), 1, "2 values, `return update, buffer`"),
    (shortens_the_gradient, 1, "`gradient`, after the call.\nYours: changed"),
    (after(lambda update, buffer: (update.T, buffer)), 1, "Yours: [(5, 3), (3, 5)]"),
    (variant(formula=lambda x, gram: A * x + (C * gram + B * gram @ gram) @ x), 2, EXPLODES),
    (variant(formula=lambda x, gram: A * x + (-B * gram + C * gram @ gram) @ x), 2, EXPLODES),
    (variant(norm=lambda x: x.abs().max()), 2, EXPLODES),
    (variant(norm=lambda x: x.norm(dim=1, keepdim=True)), 2, EXPLODES),
    (product_once, 2, LIKE),
    (variant(count=4), 2, LIKE),
    (variant(count=0), 2, LIKE),
    (variant(formula=lambda x, gram: x.sign()), 2, LIKE),
    (variant(scale=lambda x: 1.0), 3, SIZE),
    (variant(scale=lambda x: 0.2 * min(x.shape) ** 0.5), 3, SIZE),
    (variant(scale=lambda x: 0.2 * max(x.shape)), 3, SIZE),
    (variant(scale=lambda x: 0.2 * x.shape[0] ** 0.5), 3, SIZE),
    (after(lambda update, buffer: (update / bool(update.any()), buffer)), 4, "0 / 0 is NaN"),
    (looks_with_the_old_buffer, 5, "not the buffer itself"),
    (variant(start=lambda gradient, buffer, momentum: gradient + buffer), 5, "the new buffer"),
    (lambda gradient, buffer, momentum: muon(gradient, buffer), 5, "`momentum` is an argument"),
)


def test_the_example_of_the_text():
    update, _ = muon(torch.diag(torch.tensor([2.0, 2.0])), torch.zeros(2, 2))
    torch.testing.assert_close(update, torch.diag(torch.tensor([0.31, 0.31])), atol=5e-3, rtol=0)


def test_the_reference_takes_the_steps_of_the_packages_optimizer():
    from tlcourse.pretraining import PretrainingRecipe, optimizers_for

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
