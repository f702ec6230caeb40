import numpy as np
import torch

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.adaptation.dora_weight import dora_weight, norm, times
from tlcourse.exercises.adaptation.quantise import coded, cut, quantise


def nothing(*arguments): ...  # your code here


# dora_weight


def row_by_row(weight, update, length):
    rows = [w + u for w, u in zip(weight, update, strict=True)]
    return torch.stack([m * row / row.norm().detach() for row, m in zip(rows, length, strict=True)])


def by_unit_rows(weight, update, length):
    turned = weight + update
    with torch.no_grad():
        own = turned.square().sum(-1, keepdim=True).sqrt()
    return length.unsqueeze(-1) * (turned / own)


def by_diagonal(weight, update, length):
    turned = torch.add(weight, update)
    return torch.diag(length / torch.linalg.vector_norm(turned, dim=-1).data) @ turned


def in_place(weight, update, length):
    weight += update
    return (length / weight.norm(dim=1))[:, None] * weight


def no_gradient(weight, update, length):
    with torch.no_grad():
        return dora_weight(weight, update, length)


def in_numpy(weight, update, length):
    turned = (weight + update).detach().numpy()
    return length.detach().numpy()[:, None] * turned / np.linalg.norm(turned, axis=1)[:, None]


def to_unit_length(weight, update, length):
    return torch.nn.functional.normalize(weight + update, dim=1)


def added_behind(weight, update, length):
    return length[:, None] * weight / norm(weight) + update


def then(change):
    """The reference whose matrix is changed: `change(matrix)`."""
    return lambda weight, update, length: change(dora_weight(weight, update, length))


ROW = "Row i of weight plus update is divided by its own length and multiplied by `length[i]`."
test_dora_right = accepts(
    "adaptation.dora_weight",
    row_by_row,
    by_unit_rows,
    by_diagonal,
    times(lambda turned, weight, update: turned / (norm(turned) + 1e-6)),
)
test_dora_wrong = rejects(
    "adaptation.dora_weight",
    (nothing, 0, "Not solved yet"),
    (then(lambda matrix: matrix.T), 1, "Expected: shape (3, 5)"),
    (in_numpy, 1, "Expected: a tensor"),
    (to_unit_length, 1, "Each row has a length of about 1."),
    (times(lambda turned, weight, update: turned / turned.norm()), 1, "`norm(dim=1)`?"),
    (times(lambda turned, weight, update: turned / norm(update)), 1, "`norm(dim=1)`?"),
    (in_place, 2, "Check: Argument 1, `weight`, after the call."),
    (lambda weight, update, length: weight + update + 0 * length[:, None], 2, ROW),
    (added_behind, 2, ROW),
    (lambda weight, update, m: (weight + update) * norm(weight + update) / m[:, None], 2, ROW),
    (lambda weight, update, length: dora_weight(weight, 0 * update, length), 3, "plus update"),
    (lambda weight, update, length: dora_weight(weight, update, length.abs()), 3, "be negative"),
    (then(torch.nn.Parameter), 4, "No gradient reaches the update"),
    (no_gradient, 4, "none reaches either, though all numbers are right"),
    (
        lambda weight, update, length: dora_weight(weight, update, length.detach()),
        4,
        "Check: The gradient of the lengths.",
    ),
)


# quantise


def in_a_loop(weight, levels, block=64):
    codes, largest = [], []
    for part in weight.flatten().split(block):
        top = max(abs(each) for each in part.tolist())
        largest.append([top])
        codes.append([(levels - each / top).abs().argmin().item() for each in part])
    return torch.tensor(codes, dtype=torch.int32), torch.tensor(largest)


def by_borders(weight, levels, block=64):
    blocks = weight.flatten().unflatten(0, (-1, block))
    largest = blocks.abs().max(1, keepdim=True).values
    borders = (levels[1:] + levels[:-1]) / 2
    return torch.bucketize((blocks / largest).contiguous(), borders), largest


def by_distances(weight, levels, block=64):
    blocks = torch.stack(weight.flatten().split(block))
    largest = torch.linalg.vector_norm(blocks, ord=float("inf"), dim=1)[:, None]
    apart = torch.cdist((blocks / largest).reshape(-1, 1), levels[:, None])
    return apart.argmin(1).to(torch.uint8).view_as(blocks), largest


def answers(change):
    """The reference whose answer is changed: `change(codes, largest, weight, levels)`."""

    def candidate(weight, levels, block=64):
        return change(*quantise(weight, levels, block), weight, levels)

    return candidate


def divides_in_place(weight, levels, block=64):
    blocks = weight.view(-1, block)
    largest = blocks.abs().amax(dim=1, keepdim=True)
    blocks /= largest
    return (blocks[..., None] - levels).abs().argmin(-1), largest


def with_a_floor(weight, levels, block=64):
    blocks = weight.reshape(-1, block)
    largest = blocks.abs().amax(dim=1, keepdim=True)
    return (blocks / largest.clamp(min=0.1))[..., None].sub(levels).abs().argmin(-1), largest


BOTH = "Codes: one for each weight, (blocks, block). Largest: one for each block, (blocks, 1)"
NEAREST = "0.7 / 0.8 is 0.875, which is nearest to the level 1"
test_quantise_right = accepts("adaptation.quantise", in_a_loop, by_borders, by_distances)
test_quantise_wrong = rejects(
    "adaptation.quantise",
    (nothing, 0, "Not solved yet"),
    (answers(lambda codes, *_: codes), 1, "Expected: two tensors: `return codes, largest`"),
    (answers(lambda codes, largest, *_: (codes, largest[:, 0])), 1, BOTH),
    (answers(lambda codes, largest, *_: (largest, codes)), 1, BOTH),
    (answers(lambda codes, largest, *_: (codes.min(), largest.max())), 1, "Yours: [(), ()]"),
    (lambda weight, levels, block=64: quantise(weight, levels, 64), 1, BOTH),
    (divides_in_place, 1, "Check: Argument 1, `weight`, after the call."),
    (answers(lambda codes, largest, w, _: (codes.view_as(w), largest)), 1, "over the end of a row"),
    (cut(lambda blocks: blocks.amax(dim=1, keepdim=True)), 2, "The largest *absolute* value"),
    (answers(lambda codes, largest, w, levels: (levels[codes], largest)), 3, "but its number"),
    (coded(lambda apart, divided, levels: (apart < 0).sum(-1)), 3, NEAREST),
    (coded(lambda apart, divided, levels: apart.abs().argmax(-1)), 3, NEAREST),
    (coded(lambda apart, divided, levels: apart.abs().argmin(-1) + 1), 3, NEAREST),
    (coded(lambda apart, divided, levels: (-apart).argmin(-1)), 3, NEAREST),
    (with_a_floor, 4, "nothing is added"),
    (answers(lambda codes, largest, *_: (codes.clamp(max=15), largest)), 4, "32 levels"),
)
