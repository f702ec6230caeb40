import numpy as np
import torch

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.adaptation.dora_weight import dora_weight
from tlcourse.exercises.adaptation.quantise import coded, cut, quantise


def nothing(*arguments): ...  # your code here


# dora_weight


def row_by_row(weight, update, length):
    rows = [w + u for w, u in zip(weight, update, strict=True)]
    return torch.stack([m * row / row.norm().detach() for row, m in zip(rows, length, strict=True)])


def normalised(weight, update, length):
    turned = weight + update
    own = turned.norm(p=2, dim=1, keepdim=True).data
    return turned.div(own).mul(length.view(-1, 1))


def in_place(weight, update, length):
    weight += update
    return (length / weight.norm(dim=1))[:, None] * weight


def transposed(weight, update, length):
    return dora_weight(weight, update, length).T


def no_gradient(weight, update, length):
    with torch.no_grad():
        return dora_weight(weight, update, length)


def in_numpy(weight, update, length):
    turned = (weight + update).detach().numpy()
    return length.detach().numpy()[:, None] * turned / np.linalg.norm(turned, axis=1)[:, None]


def to_unit_length(weight, update, length):
    return torch.nn.functional.normalize(weight + update, dim=1)


def with_an_epsilon(weight, update, length):
    turned = weight + update
    return (length / (turned.norm(dim=1).detach() + 1e-6))[:, None] * turned


def of_absolute_length(weight, update, length):
    return dora_weight(weight, update, length.abs())


def detached_and_wrapped(weight, update, length):
    return torch.nn.Parameter(dora_weight(weight, update, length))


test_dora_right = accepts("adaptation.dora_weight", row_by_row, normalised, with_an_epsilon)
test_dora_wrong = rejects(
    "adaptation.dora_weight",
    (nothing, 0, "Not solved yet"),
    (in_place, 2, "changed argument 1"),
    (transposed, 1, "expected (3, 5)"),
    (in_numpy, 1, "expected a tensor"),
    (to_unit_length, 1, "Each row came out with length 1"),
    (of_absolute_length, 3, "may be negative"),
    (detached_and_wrapped, 4, "the gradient of the update"),
    (no_gradient, 4, "no gradient reaches update or length"),
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


def then(change):
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
    (then(lambda codes, *_: codes), 1, "Expected: two tensors: `return codes, largest`"),
    (then(lambda codes, largest, *_: (codes, largest[:, 0])), 1, BOTH),
    (then(lambda codes, largest, *_: (largest, codes)), 1, BOTH),
    (then(lambda codes, largest, *_: (codes.min(), largest.max())), 1, "Yours: [(), ()]"),
    (lambda weight, levels, block=64: quantise(weight, levels, 64), 1, BOTH),
    (divides_in_place, 1, "Check: Argument 1, `weight`, after the call."),
    (then(lambda codes, largest, w, _: (codes.view_as(w), largest)), 1, "over the end of a row"),
    (cut(lambda blocks: blocks.amax(dim=1, keepdim=True)), 2, "The largest *absolute* value"),
    (then(lambda codes, largest, w, levels: (levels[codes], largest)), 3, "but its number"),
    (coded(lambda apart, divided, levels: (apart < 0).sum(-1)), 3, NEAREST),
    (coded(lambda apart, divided, levels: apart.abs().argmax(-1)), 3, NEAREST),
    (coded(lambda apart, divided, levels: apart.abs().argmin(-1) + 1), 3, NEAREST),
    (coded(lambda apart, divided, levels: (-apart).argmin(-1)), 3, NEAREST),
    (with_a_floor, 4, "nothing is added"),
    (then(lambda codes, largest, *_: (codes.clamp(max=15), largest)), 4, "32 levels"),
)
