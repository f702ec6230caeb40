import numpy as np
import torch

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.adaptation.dora_weight import dora_weight
from tlcourse.exercises.adaptation.quantise import quantise


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


def the_levels_themselves(weight, levels, block=64):
    codes, largest = quantise(weight, levels, block)
    return levels[codes], largest


def without_the_axis(weight, levels, block=64):
    codes, largest = quantise(weight, levels, block)
    return codes, largest[:, 0]


def codes_alone(weight, levels, block=64):
    return quantise(weight, levels, block)[0]


def in_the_shape_of_the_weight(weight, levels, block=64):
    codes, largest = quantise(weight, levels, block)
    return codes.view_as(weight), largest


def by_columns(weight, levels, block=64):
    return quantise(weight.T, levels, block)


def divides_in_place(weight, levels, block=64):
    blocks = weight.view(-1, block)
    largest = blocks.abs().amax(dim=1, keepdim=True)
    blocks /= largest
    return (blocks[..., None] - levels).abs().argmin(-1), largest


def with_a_floor(weight, levels, block=64):
    blocks = weight.reshape(-1, block)
    largest = blocks.abs().amax(dim=1, keepdim=True)
    return (blocks / largest.clamp(min=0.1))[..., None].sub(levels).abs().argmin(-1), largest


def sixteen_at_most(weight, levels, block=64):
    codes, largest = quantise(weight, levels, block)
    return codes.clamp(max=15), largest


def smallest_of_all(weight, levels, block=64):
    blocks = weight.reshape(-1, block)
    return (blocks[..., None] - levels).abs().argmin(), blocks.abs().max()


test_quantise_right = accepts("adaptation.quantise", in_a_loop)
test_quantise_wrong = rejects(
    "adaptation.quantise",
    (nothing, 0, "Not solved yet"),
    (codes_alone, 1, "return codes, largest"),
    (without_the_axis, 1, "keepdim=True"),
    (the_levels_themselves, 3, "expected whole numbers"),
    (smallest_of_all, 1, "gave [(), ()]"),
    (with_a_floor, 4, "nothing is added"),
    (sixteen_at_most, 4, "32 levels"),
    (divides_in_place, 1, "changed argument 1"),
    (in_the_shape_of_the_weight, 1, "over the end of a row"),
    (by_columns, 2, "row after row"),
)
