"""Answers to the exercises of lesson 03b that are not in their own files."""

import numpy as np
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.pretraining.chunked_loss import chunked_loss
from tlcourse.exercises.pretraining.muon import muon
from tlcourse.transformer import Config, Transformer


def nothing(*arguments): ...  # your code here


# chunked_loss


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


def only_the_nats(hidden, weight, targets, chunk):
    return chunked_loss(hidden, weight, targets, chunk)[0]


def nats_of_each(hidden, weight, targets, chunk):
    _, *gradients = chunked_loss(hidden, weight, targets, chunk)
    return F.cross_entropy(hidden @ weight.T, targets, reduction="none"), *gradients


def other_order(hidden, weight, targets, chunk):
    nats, d_hidden, d_weight = chunked_loss(hidden, weight, targets, chunk)
    return nats, d_weight, d_hidden


def a_list_of_rows(hidden, weight, targets, chunk):
    nats, d_hidden, d_weight = chunked_loss(hidden, weight, targets, chunk)
    return nats, list(d_hidden.split(chunk)), d_weight


def transposed(hidden, weight, targets, chunk):
    nats, d_hidden, d_weight = chunked_loss(hidden, weight, targets, chunk)
    return nats, d_hidden, d_weight.T


def adds_in_place(hidden, weight, targets, chunk):
    result = chunked_loss(hidden, weight, targets, chunk)
    weight += result[2]
    return result


def keeps_every_slope(hidden, weight, targets, chunk):
    slopes, nats = [], 0.0
    for part, asked in zip(hidden.split(chunk), targets.split(chunk), strict=True):
        logits = part @ weight.T
        nats += F.cross_entropy(logits, asked, reduction="sum")
        slopes.append(logits.softmax(-1) - F.one_hot(asked, len(weight)))
    every = torch.cat(slopes)
    return nats, every @ weight, every.T @ hidden


def exponentials_by_hand(hidden, weight, targets, chunk):
    right = chunked_loss(hidden, weight, targets, chunk)
    shares = (hidden[:1] @ weight.T).exp()
    shares = shares / shares.sum()
    return right[0] + 0 * shares.sum(), *right[1:]


test_chunked_loss = accepts("pretraining.chunked_loss", by_softmax_and_gather, target_by_target)
test_wrong_chunked_loss = rejects(
    "pretraining.chunked_loss",
    (nothing, 0, "Not solved yet"),
    (only_the_nats, 1, "expected three results"),
    (nats_of_each, 1, "expected one number, the sum over all targets"),
    (other_order, 1, "the gradient of `weight` comes last"),
    (a_list_of_rows, 1, "gave a list; expected a tensor of shape (6, 4)"),
    (transposed, 1, "Is the slope transposed?"),
    (adds_in_place, 1, "changed argument 2"),
    (autograd_left_off, 1, "autograd is switched off"),
    (keeps_every_slope, 5, "kept from chunk to chunk"),
    (exponentials_by_hand, 6, "Does `exp` overflow?"),
)


# Written by someone who saw only the text of the exercise.


def forgets_the_rest(hidden, weight, targets, chunk):
    nats, rows, total = 0.0, torch.zeros_like(hidden), torch.zeros_like(weight)
    for number in range(len(targets) // chunk):
        here = slice(number * chunk, (number + 1) * chunk)
        one, rows[here], more = chunked_loss(hidden[here], weight, targets[here], chunk)
        nats, total = nats + one, total + more
    return nats, rows, total


def one_hot_of_the_position(hidden, weight, targets, chunk):
    nats, rows, total = 0.0, [], torch.zeros_like(weight)
    for part, asked in zip(hidden.split(chunk), targets.split(chunk), strict=True):
        logits = part @ weight.T
        nats += F.cross_entropy(logits, asked, reduction="sum")
        slope = logits.softmax(-1)
        slope[:, asked] -= 1  # all rows, not each row its own
        rows.append(slope @ weight)
        total += slope.T @ part
    return nats, torch.cat(rows), total


def softmax_over_targets(hidden, weight, targets, chunk):
    nats, rows, total = 0.0, [], torch.zeros_like(weight)
    for part, asked in zip(hidden.split(chunk), targets.split(chunk), strict=True):
        logits = part @ weight.T
        nats += F.cross_entropy(logits, asked, reduction="sum")
        slope = logits.softmax(0) - F.one_hot(asked, len(weight))
        rows.append(slope @ weight)
        total += slope.T @ part
    return nats, torch.cat(rows), total


test_outside_chunked_loss = rejects(
    "pretraining.chunked_loss",
    (forgets_the_rest, 2, "The last chunk is missing"),
    (one_hot_of_the_position, 3, "minus 1 at the target"),
    (softmax_over_targets, 3, "The slope is the softmax"),
)


# muon


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


def only_the_update(gradient, buffer, momentum=0.95):
    return muon(gradient, buffer, momentum)[0]


def shortens_the_gradient(gradient, buffer, momentum=0.95):
    gradient /= gradient.norm()
    return muon(gradient, buffer, momentum)


def stays_transposed(gradient, buffer, momentum=0.95):
    update, buffer = muon(gradient, buffer, momentum)
    return update.T, buffer


test_muon = accepts("pretraining.muon", by_its_transpose, in_place)
test_wrong_muon = rejects(
    "pretraining.muon",
    (nothing, 0, "Not solved yet"),
    (only_the_update, 1, "expected two matrices"),
    (shortens_the_gradient, 1, "changed `gradient`"),
    (stays_transposed, 1, "gave a tensor of shape (5, 3); expected (3, 5)"),
)


# Written by someone who saw only the text of the exercise.


def polynomial(x, gram):
    return 3.4445 * x - 4.7750 * gram @ x + 2.0315 * gram @ gram @ x


def product_once(gradient, buffer, momentum=0.95):
    buffer = momentum * buffer + gradient
    x = gradient + momentum * buffer
    x = x / max(float(x.norm()), 1e-7)
    gram = x @ x.T  # before the loop
    for _ in range(5):
        x = polynomial(x, gram)
    return 0.2 * max(x.shape) ** 0.5 * x, buffer


def looks_with_the_old_buffer(gradient, buffer, momentum=0.95):
    x = gradient + momentum * buffer
    buffer = momentum * buffer + gradient
    x = x / max(float(x.norm()), 1e-7)
    for _ in range(5):
        x = polynomial(x, x @ x.T)
    return 0.2 * max(x.shape) ** 0.5 * x, buffer


def row_by_row(gradient, buffer, momentum=0.95):
    buffer = momentum * buffer + gradient
    x = gradient + momentum * buffer
    x = x / x.norm(dim=1, keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        x = polynomial(x, x @ x.T)
    return 0.2 * max(x.shape) ** 0.5 * x, buffer


test_outside_muon = rejects(
    "pretraining.muon",
    (product_once, 2, "expected"),
    (looks_with_the_old_buffer, 5, "not the buffer itself"),
    (row_by_row, 2, "expected"),
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
