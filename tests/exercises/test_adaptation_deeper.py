import torch

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.adaptation.dora_weight import dora_weight, times
from tlcourse.exercises.adaptation.quantise import quantise

# dora_weight


def row_by_row(weight, update, length):
    rows = [w + u for w, u in zip(weight, update, strict=True)]
    return torch.stack([m * row / row.norm().detach() for row, m in zip(rows, length, strict=True)])


def by_diagonal(weight, update, length):
    turned = torch.add(weight, update)
    return torch.diag(length / torch.linalg.vector_norm(turned, dim=-1).data) @ turned


def in_place(weight, update, length):
    weight += update
    return (length / weight.norm(dim=1))[:, None] * weight


def in_numpy(weight, update, length):
    return dora_weight(weight, update, length).numpy()


test_dora_right = accepts("adaptation.dora_weight", row_by_row, by_diagonal)
test_dora_wrong = rejects(
    "adaptation.dora_weight",
    (in_numpy, 1, "Expected: a tensor"),
    (lambda weight, *more: dora_weight(weight, *more) + weight, 1, "`norm(dim=1)`?"),
    (in_place, 2, "Check: Argument 1, `weight`, after the call."),
    (lambda *given: 2 * dora_weight(*given) - given[0], 2, "weight *plus update* is divided by"),
    (lambda weight, update, length: dora_weight(weight, update, length.abs()), 3, "be negative"),
    (times(lambda turned, _: turned / turned.norm(dim=1, keepdim=True)), 4, "of the update."),
    (lambda weight, update, m: dora_weight(weight, update, m.detach()), 4, "of the lengths."),
)


# quantise


def in_a_loop(weight, levels, block=64):
    codes, largest = [], []
    for part in weight.flatten().split(block):
        top = max(abs(each) for each in part.tolist())
        largest.append([top])
        codes.append([(levels - each / top).abs().argmin().item() for each in part])
    return torch.tensor(codes, dtype=torch.int32), torch.tensor(largest)


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


def by_signed_largest(weight, levels, block=64):
    blocks = weight.reshape(-1, block)
    largest = blocks.amax(dim=1, keepdim=True)
    return (blocks / largest)[..., None].sub(levels).abs().argmin(dim=-1), largest


test_quantise_right = accepts("adaptation.quantise", in_a_loop, by_distances)
test_quantise_wrong = rejects(
    "adaptation.quantise",
    (answers(lambda codes, *_: codes), 1, "Expected: two tensors: `return codes, largest`"),
    (answers(lambda codes, largest, *_: (codes, largest[:, 0])), 1, "has one number for each"),
    (answers(lambda codes, largest, w, _: (codes.view_as(w), largest)), 1, "in the next row"),
    (by_signed_largest, 2, "own largest *absolute* value"),
    (answers(lambda codes, largest, *_: (codes + 1, largest)), 3, "whose index is 3"),
    (answers(lambda codes, largest, *_: (codes.float(), largest)), 3, "a dtype of integers"),
    (answers(lambda codes, largest, *_: (codes.clamp(max=15), largest)), 4, "32 levels"),
)
