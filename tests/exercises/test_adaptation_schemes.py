"""CheckFailed answers to the exercises of lesson 05, written from their texts alone."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.adaptation.adapter import AdapterLayer
from tlcourse.exercises.adaptation.l2sp import l2sp
from tlcourse.exercises.adaptation.lora import LoRALinear

# lora


class InheritsFromLinear(nn.Linear):
    def __init__(self, base, rank=8, alpha=16.0):
        super().__init__(base.in_features, base.out_features)
        self.a = nn.Parameter(torch.randn(rank, base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))


class CopiesTheBase(LoRALinear):
    """Right, though its base is a copy; its sizes come from the weight."""

    def __init__(self, base, rank=8, alpha=16.0):
        nn.Module.__init__(self)
        self.base = nn.Linear(base.in_features, base.out_features)
        self.base.load_state_dict(base.state_dict())
        self.scale = alpha / rank
        outputs, inputs = base.weight.shape
        self.b = nn.Parameter(base.weight.new_zeros(outputs, rank))
        self.a = nn.Parameter(nn.init.kaiming_uniform_(torch.empty(rank, inputs), a=5**0.5))


class ForOneDimension(LoRALinear):
    def forward(self, x):
        update = torch.einsum("bi,ri,or->bo", x, self.a, self.b)
        return self.base(x) + self.scale * update


class ForgetsSuper(LoRALinear):
    def __init__(self, base, rank=8, alpha=16.0):
        self.base, self.scale = base, alpha / rank
        self.a = nn.Parameter(torch.randn(rank, base.in_features))


class UpdateDetached(LoRALinear):
    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.a.T @ self.b.T).detach()


class RankIsEight(LoRALinear):
    def __init__(self, base, rank=8, alpha=16.0):
        super().__init__(base, 8, alpha)


class MergesItself(LoRALinear):
    def merged(self):
        return self


class MergesTurned(LoRALinear):
    def merged(self):
        layer = nn.Linear(self.base.in_features, self.base.out_features)
        layer.weight.data = self.base.weight + (self.scale * self.a.T @ self.b.T)
        return layer


class SharesTheWeight(LoRALinear):
    def merged(self):
        layer = LoRALinear.merged(self)
        layer.bias = self.base.bias
        return layer


test_lora_right = accepts("adaptation.lora", CopiesTheBase)
test_lora_wrong = rejects(
    "adaptation.lora",
    (InheritsFromLinear, 1, "no parameter base.weight"),
    (ForgetsSuper, 1, "raised AttributeError"),
    (RankIsEight, 1, "a is (8, 5), not (2, 5)"),
    (ForOneDimension, 4, "raised RuntimeError"),
    (UpdateDetached, 4, "gave ['a', 'b']; expected []"),
    (MergesItself, 5, "expected a plain nn.Linear"),
    (MergesTurned, 5, "raised RuntimeError"),
    (SharesTheWeight, 5, "by how much the old layer changed"),
)

# adapter


class ReadsX(AdapterLayer):
    def forward(self, x):
        return x + self.up(F.gelu(self.down(x)))


class NamesTheOther(nn.Module):
    def __init__(self, base, bottleneck=32):
        super().__init__()
        self.base = base
        self.up = nn.Linear(base.out_features, bottleneck)
        self.down = nn.Linear(bottleneck, base.out_features)
        nn.init.zeros_(self.down.weight)
        nn.init.zeros_(self.down.bias)

    def forward(self, x):
        h = self.base(x)
        return h + self.down(F.gelu(self.up(h)))


class Frozen(AdapterLayer):
    def forward(self, x):
        with torch.no_grad():
            return super().forward(x)


test_adapter_wrong = rejects(
    "adaptation.adapter",
    (NamesTheOther, 1, "down.weight is (3, 2), not (2, 3)"),
    (ReadsX, 2, "raised RuntimeError"),
    (Frozen, 3, "the added parameters that no gradient reaches"),
)

# gradual_unfreezing


def gives_the_dictionary(steps, names, shape, share=0.5):
    return {name: shape(0) for name in names}


def names_who_moves(steps, names, shape, share=0.5):
    top = max(1, len(names) - 1)

    def factors(step):
        return {
            name: shape(step)
            for place, name in enumerate(names)
            if step >= round(share * steps * (top - place) / top)
        }

    return factors


def sorts_in_place(steps, names, shape, share=0.5):
    names.reverse()
    return lambda step: dict.fromkeys(names, shape(step))


def divides_by_zero(steps, names, shape, share=0.5):
    between = share * steps / (len(names) - 1)
    places = list(reversed(range(len(names))))
    return lambda step: {
        name: shape(step) if step >= round(between * place) else 0.0
        for name, place in zip(names, places, strict=True)
    }


test_gradual_unfreezing_wrong = rejects(
    "adaptation.gradual_unfreezing",
    (gives_the_dictionary, 1, "expected a function of the step"),
    (names_who_moves, 1, "a group that stands still is there, too, with 0"),
    (sorts_in_place, 1, "your function changed argument 2"),
    (divides_by_zero, 4, "ZeroDivisionError"),
)

# l2sp


def gives_the_number(classifier, strength=0.01):
    return l2sp(classifier, strength)(classifier, ())


def remembers_at_each_step(classifier, strength=0.01):
    return lambda model, batch: l2sp(model, strength)(model, batch)


def as_a_number(classifier, strength=0.01):
    term = l2sp(classifier, strength)
    return lambda model, batch: term(model, batch).item()


def one_a_parameter(classifier, strength=0.01):
    start = [p.detach().clone() for p in classifier.body.parameters()]
    return lambda model, batch: torch.stack(
        [((p - s) ** 2).sum() for p, s in zip(model.body.parameters(), start, strict=True)]
    )


test_l2sp_wrong = rejects(
    "adaptation.l2sp",
    (gives_the_number, 1, "expected a function of classifier and batch"),
    (one_a_parameter, 1, "expected one number, a tensor of one"),
    (remembers_at_each_step, 2, "It stays 0"),
    (as_a_number, 4, "carries no gradient"),
)
