"""Answers to the exercises of lesson 05, right and wrong ones."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.adaptation.adapter import AdapterLayer
from tlcourse.exercises.adaptation.gradual_unfreezing import due, faulty
from tlcourse.exercises.adaptation.l2sp import l2sp, over, squared
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


class MergesTurned(LoRALinear):
    def merged(self):
        layer = nn.Linear(self.base.in_features, self.base.out_features)
        layer.weight.data = self.base.weight + (self.scale * self.a.T @ self.b.T)
        return layer


class ThroughTheWeight(LoRALinear):
    def weight(self):
        return self.base.weight + self.b @ self.a * self.scale

    def forward(self, x):
        return x @ self.weight().T + self.base.bias

    def merged(self):
        layer = nn.Linear(self.base.in_features, self.base.out_features)
        layer.weight.data = self.weight().detach().clone()
        layer.bias.data = self.base.bias.detach().clone()
        return layer


def lora(**methods):
    """The reference with other methods."""
    return type("_".join(methods), (LoRALinear,), methods)


def begins(of_a, of_b):
    """The reference whose `a` and `b` begin at these functions of the right ones."""

    def init(self, base, rank=8, alpha=16.0):
        LoRALinear.__init__(self, base, rank, alpha)
        self.a, self.b = nn.Parameter(of_a(self.a.data)), nn.Parameter(of_b(self.b.data))

    return lora(__init__=init)


def scaled(factor):
    """The reference whose scale is another function of the right one, the rank and the inputs."""

    def forward(self, x):
        by = factor(self.scale, *self.a.shape)
        return self.base(x) + by * x @ self.a.T @ self.b.T

    return lora(forward=forward)


def with_bias(of):
    """The reference whose merged layer has `of(base)` for its bias."""

    def merged(self):
        layer = LoRALinear.merged(self)
        layer.bias = of(self.base)
        return layer

    return lora(merged=merged)


def in_place(self):
    with torch.no_grad():
        self.base.weight += self.scale * self.b @ self.a
    return self.base


SCALE = "Yours: {} at [0, 0]\nExpected: {}\nWhy: The update is multiplied by alpha"
SHARES = "`merged` leaves the base as it is, and the new layer shares neither"
MATRIX = "Its weight is the base's plus (alpha / rank) B A"
BOTH = "so a gradient must reach `x` both through the base and through what you added."
test_lora_right = accepts(
    "adaptation.lora",
    CopiesTheBase,
    ThroughTheWeight,
    lora(
        forward=lambda s, x: torch.add(
            s.base(x), torch.einsum("...i,ri,or->...o", x, s.a, s.b), alpha=s.scale
        )
    ),
)
test_lora_wrong = rejects(
    "adaptation.lora",
    (InheritsFromLinear, 1, "Yours: {'weight': (3, 5), "),
    (ForgetsSuper, 1, "raised AttributeError"),
    (RankIsEight, 1, "Yours: {'a': (8, 5), "),
    (begins(lambda a: a.T, lambda b: b.T), 1, "Yours: {'a': (5, 2), 'b': (2, 3)"),
    (begins(lambda a: a, torch.randn_like), 2, "At the start `b` is 0"),
    (begins(torch.zeros_like, torch.randn_like), 2, "`b` is zero and `a` random"),
    (begins(torch.zeros_like, lambda b: b), 2, "`b` is zero and `a` random"),
    (begins(torch.ones_like, lambda b: b), 2, "Equal rows get equal gradients"),
    (scaled(lambda scale, rank, inputs: 0), 3, SCALE.format(0, 6)),
    (scaled(lambda scale, rank, inputs: 1), 3, SCALE.format(1, 6)),
    (scaled(lambda scale, rank, inputs: 2.0), 3, "The scale is always 2"),
    (scaled(lambda scale, rank, inputs: scale * rank / inputs), 3, SCALE.format(0.857143, 6)),
    (scaled(lambda scale, rank, inputs: scale * rank**0.5), 3, SCALE.format(26.8328, 12)),
    (scaled(lambda scale, rank, inputs: scale // 1), 3, "`/`, not `//`"),
    (ForOneDimension, 4, "raised RuntimeError"),
    (UpdateDetached, 4, "Yours: ['a', 'b']\nExpected: []"),
    (lora(forward=lambda s, x: s.base(x).detach() + s.scale * x @ s.a.T @ s.b.T), 4, BOTH),
    (lora(forward=lambda s, x: s.base(x) + s.scale * x.detach() @ s.a.T @ s.b.T), 4, BOTH),
    (lora(merged=lambda s: s), 5, "Expected: a plain `nn.Linear`"),
    (lora(merged=lambda s: LoRALinear.merged(s).weight), 5, "put it into an `nn.Linear`"),
    (lora(merged=lambda s: copy.deepcopy(s.base)), 5, MATRIX),
    (with_bias(lambda base: nn.Parameter(torch.zeros_like(base.bias))), 5, MATRIX),
    (MergesTurned, 5, "raised RuntimeError"),
    (lora(merged=in_place), 5, SHARES),
    (with_bias(lambda base: base.bias), 5, SHARES),
)

# adapter


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


class InModules(nn.Module):
    def __init__(self, base, bottleneck=32):
        super().__init__()
        width = len(base.bias)
        self.base, self.gelu = base, nn.GELU(approximate="tanh")
        self.down, self.up = nn.Linear(width, bottleneck), nn.Linear(bottleneck, width)
        nn.init.normal_(self.down.weight, std=0.02)
        nn.init.zeros_(self.down.bias)
        for each in self.up.parameters():
            each.data.mul_(0)

    def forward(self, x):
        h = self.base(x)
        h = h + self.up(self.gelu(self.down(h)))
        return h


def adapter(of):
    """The reference with another way from h: `of(self, h, x)`."""
    return type("Other", (AdapterLayer,), {"forward": lambda s, x: of(s, s.base(x), x)})


def zeroed(*parts):
    """The reference in which only these parts start at zero."""

    def init(self, base, bottleneck=32):
        AdapterLayer.__init__(self, base, bottleneck)
        self.up.reset_parameters()
        for each in parts:
            nn.init.zeros_(self.get_parameter(each))

    return type("_".join(("zeroed", *parts)), (AdapterLayer,), {"__init__": init})


def by_hand(s, h, x):
    narrow = h @ s.down.weight.T + s.down.bias
    return 0.5 * narrow * (1 + torch.erf(narrow / 2**0.5)) @ s.up.weight.T + (s.up.bias + h)


def frozen(s, h, x):
    with torch.no_grad():
        return AdapterLayer.forward(s, x)


UP = "Set weight and bias of `up` to zero, and leave `down` as `nn.Linear` draws it"
DOWN = "down.weight", "down.bias"
test_adapter_right = accepts("adaptation.adapter", adapter(by_hand), InModules)
test_adapter_wrong = rejects(
    "adaptation.adapter",
    (NamesTheOther, 1, "Yours: {'up.weight': (2, 3), "),
    (zeroed(), 2, UP),
    (zeroed(*DOWN), 2, UP),
    (zeroed(*DOWN, "up.weight", "up.bias"), 2, UP),
    (adapter(lambda s, h, x: 2 * h + s.up(F.gelu(s.down(h)))), 2, "The output is `h`, once"),
    (adapter(lambda s, h, x: x + s.up(F.gelu(s.down(x)))), 2, "It has to read `h`"),
    (adapter(lambda s, h, x: h), 3, "the answer is `h + up(gelu(down(h)))`"),
    (adapter(frozen), 3, "Leave out `no_grad` and `.detach()` in `forward`."),
    (adapter(lambda s, h, x: h.detach() + s.up(F.gelu(s.down(h.detach())))), 3, BOTH),
    (adapter(lambda s, h, x: h + s.up(F.gelu(s.down(h.detach())))), 3, BOTH),
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


def from_the_top(steps, names, shape, share=0.5):
    between = share * steps / (len(names) - 1) if len(names) > 1 else 0

    def factors(step):
        found = {}
        for below, name in enumerate(reversed(names)):
            found[name] = shape(step) * (step >= int(below * between + 0.5))
        return {name: found[name] for name in names}

    return factors


class AsAClass:
    def __init__(self, steps, names, shape, share=0.5):
        self.names, self.shape, top = list(names), shape, max(len(names) - 1, 1)
        self.begins = [round(share * steps * at / top) for at in range(len(names))]

    def __call__(self, step):
        asleep = len(self.names) - sum(begin <= step for begin in self.begins)
        moving = dict.fromkeys(self.names[asleep:], self.shape(step))
        return dict.fromkeys(self.names[:asleep], 0) | moving


def after(step, begin, shape):
    return shape(step) if step > begin or begin == 0 else 0.0


EARLY = "The last name, the head, moves from step 0 on, and no other does so early."
LATE = "Every group moves one step late."
BEGINS = "The block begins at step 5, the embedding at step 10, and both go on moving."
test_gradual_unfreezing_right = accepts("adaptation.gradual_unfreezing", from_the_top, AsAClass)
test_gradual_unfreezing_wrong = rejects(
    "adaptation.gradual_unfreezing",
    (gives_the_dictionary, 1, "Expected: a function of the step"),
    (names_who_moves, 1, "no factor for 'embedding'"),
    (sorts_in_place, 1, "Check: Argument 2, `names`, after the call."),
    (faulty(begin=lambda steps, share, place, top: 0), 1, EARLY),
    (
        faulty(begin=lambda n, share, place, top: share * n * (1 + top - place) / (1 + top)),
        1,
        EARLY,
    ),
    (faulty(factor=lambda step, begin, shape: shape(step) * (step > begin)), 1, LATE),
    (faulty(factor=after), 2, BEGINS),
    (faulty(factor=lambda step, begin, shape: shape(step) * (begin == 0)), 2, BEGINS),
    (
        faulty(begin=lambda steps, share, place, top: due(steps, 0.5, place, top)),
        2,
        "With share 0.25 the embedding begins at a quarter",
    ),
    (faulty(factor=lambda step, begin, shape: float(step >= begin)), 3, "has the factor `shape("),
    (divides_by_zero, 4, "ZeroDivisionError"),
)

# l2sp


def gives_the_number(classifier, strength=0.01):
    return l2sp(classifier, strength)(classifier, ())


def remembers_at_each_step(classifier, strength=0.01):
    return lambda model, batch: l2sp(model, strength)(model, batch)


def to_the_step_before(classifier, strength=0.01):
    terms = [l2sp(classifier, strength)]

    def following(now, batch):
        terms.append(l2sp(now, strength))
        return terms[-2](now, batch)

    return following


def of_the_first(classifier, strength=0.01):
    term = l2sp(classifier, strength)
    return lambda now, batch: term(classifier, batch)


def as_a_number(classifier, strength=0.01):
    term = l2sp(classifier, strength)
    return lambda model, batch: term(model, batch).item()


def by_a_copy(classifier, strength=0.01):
    before = copy.deepcopy(classifier.body)

    def term(now, batch):
        total = torch.zeros(())
        for old, new in zip(before.parameters(), now.body.parameters(), strict=True):
            total = total + (new - old.detach()).square().sum()
        return 0.5 * strength * total

    return term


def flat(model):
    """All numbers of the body in one vector."""
    return torch.cat([p.flatten() for p in model.body.parameters()])


def by_one_vector(classifier, strength=0.01):
    start = flat(classifier).detach()

    def term(model, batch):
        way = flat(model) - start
        return strength * torch.dot(way, way) / 2

    return term


TIMES = "Expected: 13.5\nWhy: The squared distance is 12 · 3². The term is half of it times the"
test_l2sp_right = accepts("adaptation.l2sp", by_a_copy, by_one_vector, over())
test_l2sp_wrong = rejects(
    "adaptation.l2sp",
    (gives_the_number, 1, "Expected: a function of the classifier and a batch"),
    (over(lambda d, s: torch.stack([(each**2).sum() for each in d])), 1, "Expected: one number, a"),
    (over(remember=torch.zeros_like), 1, "not from 0 as in weight decay"),
    (remembers_at_each_step, 2, "The term stays 0"),
    (to_the_step_before, 2, "The term stays 0"),
    (over(lambda d, s: 2 * squared(d, s)), 2, TIMES),
    (over(lambda d, s: squared(d, s) / 2), 2, TIMES),
    (over(lambda d, s: squared(d, 1.0)), 2, TIMES),
    (over(lambda d, s: s / 2 * sum(each.abs().sum() for each in d)), 2, TIMES),
    (over(of=lambda model: model), 3, "take the parameters of `classifier.body` alone"),
    (as_a_number, 4, "which carries no gradient"),
    (over(lambda d, s: squared(d, s).detach()), 4, "which carries no gradient"),
    (over(lambda d, s: s / 2 * sum((p**2).sum().sqrt() ** 2 for p in d)), 4, "without a root"),
    (of_the_first, 4, "not the one that `l2sp` was given"),
)
