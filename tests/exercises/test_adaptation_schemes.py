"""Right and wrong answers to the exercises of lesson 05."""

import copy
import math
from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.adaptation import adapter, four_knobs, lora
from tlcourse.exercises.adaptation.adapter import AdapterLayer
from tlcourse.exercises.adaptation.gradual_unfreezing import beginning, gradual_unfreezing
from tlcourse.exercises.adaptation.l2sp import l2sp
from tlcourse.exercises.adaptation.lora import LoRALinear

# four_knobs


def loop(
    edit=lambda scheme, classifier: scheme.edit(classifier),
    groups=lambda scheme, classifier, added: scheme.groups(classifier, added),
    rate=lambda learning_rate, own, now: learning_rate * own * now,
    total=lambda loss, more: loss + more,
):
    """An answer with an optimizer for each group and these four lines; right as it stands."""

    def candidate(classifier, scheme, batches, task_loss, learning_rate):
        before = [id(p) for p in classifier.parameters()]
        edit(scheme, classifier)
        new = [name for name, p in classifier.named_parameters() if id(p) not in before]
        found, optimizers = groups(scheme, classifier, new), {}
        for name, group in found.items():
            members = [classifier.get_parameter(each) for each in group.names]
            optimizers[name] = torch.optim.AdamW(members, betas=(0.9, 0.98), weight_decay=0.01)
        schedule = scheme.schedule(len(batches), list(found))
        term = scheme.extra_loss and scheme.extra_loss(classifier)
        losses = []
        for step, batch in enumerate(batches):
            classifier.requires_grad_(False)
            for name, optimizer in optimizers.items():
                now = schedule(step)
                now = now if isinstance(now, float) else now[name]
                row = optimizer.param_groups[0]
                row["lr"] = rate(learning_rate, found[name].factor, now)
                for p in row["params"]:
                    p.requires_grad_(now > 0)
            loss = task_loss(classifier, batch)
            loss = total(loss, term(classifier, batch)) if term else loss
            loss.backward()
            nn.utils.clip_grad_norm_(classifier.parameters(), 1.0)
            for optimizer in optimizers.values():
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
        return losses

    return candidate


def with_a_term_always(classifier, scheme, batches, task_loss, learning_rate):
    """Right, by way of a scheme whose extra loss may be 0."""
    extra = scheme.extra_loss or (lambda classifier: lambda *batch: torch.zeros(()))
    whole = SimpleNamespace(**{**vars(scheme), "extra_loss": extra})
    right = loop(total=torch.add, rate=lambda *factors: math.prod(factors))
    return right(classifier, whole, batches, task_loss, learning_rate)


def without_a_list(*given):
    four_knobs.four_knobs(*given)


def head_alone(scheme, classifier, added):
    """The groups without those that are empty if nothing was added."""
    return {name: each for name, each in scheme.groups(classifier, []).items() if each.names}


test_four_knobs_right = accepts("adaptation.four_knobs", loop(), with_a_term_always)
test_four_knobs_wrong = rejects(
    "adaptation.four_knobs",
    (loop(edit=lambda scheme, classifier: scheme.edit), 1, "The edit was never called"),
    (without_a_list, 1, "Expected: a list of 2 losses"),
    (loop(groups=head_alone), 2, "on the names in `added`"),
    (loop(groups=lambda s, c, added: four_knobs.everything(c, added)), 2, "names in `added`"),
    (loop(rate=lambda rate, own, now: rate * now), 3, "Multiply by `group.factor`, too"),
    (loop(rate=lambda rate, own, now: rate * own), 3, "The rate is the same at every step"),
    (loop(rate=lambda rate, own, now: rate + own * now), 3, "The rate of a group is"),
    (loop(total=lambda loss, more: more), 4, "The extra loss replaces the task's loss"),
    (loop(total=lambda loss, more: loss), 4, "The extra loss has no effect"),
    (loop(total=lambda loss, more: loss - more), 4, "the task's loss plus `extra("),
)

# lora


class SharesTheWeights(LoRALinear):
    """Right, by a layer of its own with the base's parameters; its sizes come from the weight."""

    def __init__(self, base, rank=8, alpha=16.0):
        nn.Module.__init__(self)
        self.base = nn.Linear(base.in_features, base.out_features)
        self.base.weight, self.base.bias = base.weight, base.bias
        self.scale = alpha / rank
        outputs, inputs = base.weight.shape
        self.b = nn.Parameter(base.weight.new_zeros(outputs, rank))
        self.a = nn.Parameter(nn.init.kaiming_uniform_(torch.empty(rank, inputs), a=5**0.5))


def loaded(base):
    layer = nn.Linear(base.in_features, base.out_features)
    layer.load_state_dict(base.state_dict())
    return layer


def only_the_bias(base):
    layer = loaded(base)
    layer.bias = base.bias
    return layer


def around(copied):
    """The reference around `copied(base)`."""
    return lambda base, *sizes: LoRALinear(copied(base), *sizes)


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


def begins(of_a, of_b):
    """The reference whose `a` and `b` begin at these functions of the right ones."""

    def init(self, base, rank=8, alpha=16.0):
        LoRALinear.__init__(self, base, rank, alpha)
        self.a, self.b = nn.Parameter(of_a(self.a.data)), nn.Parameter(of_b(self.b.data))

    return type("Begins", (LoRALinear,), {"__init__": init})


def merging(of):
    """The reference whose `merged` gives `of(self)`."""
    return type("Merging", (LoRALinear,), {"merged": of})


def in_place(self):
    self.base.weight.data += self.scale * self.b @ self.a
    return self.base


BOTH = "so a gradient must reach `x` both through the base and through what you added."
test_lora_right = accepts("adaptation.lora", SharesTheWeights, ThroughTheWeight)
test_lora_wrong = rejects(
    "adaptation.lora",
    (begins(lambda a: a.T, lambda b: b.T), 1, "Yours: {'a': (5, 2), 'b': (2, 3)"),
    (begins(lambda a: a, torch.randn_like), 2, "At the start `b` is 0"),
    (around(copy.deepcopy), 2, "not a copy of it: `self.base = base`"),
    (around(loaded), 2, "Yours: 0 at [0, 0]\nExpected: 6"),
    (around(only_the_bias), 2, "Yours: 1 at [0, 0]\nExpected: 6"),
    (begins(torch.zeros_like, lambda b: b), 2, "`b` is zero and `a` random"),
    (begins(torch.randn_like, lambda b: b), 2, "have about the size 1 / √in"),
    (begins(lambda a: 0.02 * torch.randn_like(a), lambda b: b), 2, "Expected: 1"),
    (begins(torch.rand_like, lambda b: b), 2, "are drawn around 0"),
    (lora.scaled(lambda scale: scale // 1), 3, "Yours: 15 at [0, 0]\nExpected: 18"),
    (lora.forward(lambda s, x: s.base(x).detach() + s.scale * x @ s.a.T @ s.b.T), 4, BOTH),
    (merging(lambda s: LoRALinear.merged(s).weight), 5, "Expected: a plain `nn.Linear`"),
    (merging(lambda s: copy.deepcopy(s.base)), 5, "Its weight is the base's plus (alpha / rank)"),
    (merging(in_place), 5, "`merged` leaves the base as it is"),
)

# adapter


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
        return torch.add(h, self.up(self.gelu(self.down(h))))


def drawn(base, bottleneck=32):
    layer = AdapterLayer(base, bottleneck)
    layer.up.reset_parameters()
    return layer


def all_zero(base, bottleneck=32):
    layer = AdapterLayer(base, bottleneck)
    nn.init.zeros_(layer.down.weight)
    return layer


def by_hand(s, h, x):
    narrow = h @ s.down.weight.T + s.down.bias
    return 0.5 * narrow * (1 + torch.erf(narrow / 2**0.5)) @ s.up.weight.T + (s.up.bias + h)


test_adapter_right = accepts("adaptation.adapter", adapter.forward(by_hand), InModules)
test_adapter_wrong = rejects(
    "adaptation.adapter",
    (LoRALinear, 1, "Yours: {'a': (2, 5), "),
    (drawn, 2, "set both its weight and its bias to zero"),
    (adapter.forward(lambda s, h, x: s.up(F.gelu(s.down(h)))), 2, "The output is `h`, once"),
    (all_zero, 2, "Leave `down` as `nn.Linear` draws it"),
    (adapter.forward(torch.no_grad()(lambda s, h, x: AdapterLayer.forward(s, x))), 3, BOTH),
    (adapter.forward(lambda s, h, x: h + s.up(F.gelu(s.down(h.detach())))), 3, BOTH),
)

# gradual_unfreezing


def from_the_top(steps, names, shape, share=0.5):
    between, places = share * steps / max(1, len(names) - 1), range(len(names))[::-1]
    begins = dict(zip(names, [int(place * between + 0.5) for place in places], strict=True))
    return lambda step: {name: shape(step) * (step >= begin) for name, begin in begins.items()}


class AsAClass:
    def __init__(self, steps, names, shape, share=0.5):
        self.names, self.shape, top = list(names), shape, max(len(names) - 1, 1)
        self.begins = [round(share * steps * at / top) for at in range(len(names))]

    def __call__(self, step):
        asleep = len(self.names) - sum(begin <= step for begin in self.begins)
        moving = dict.fromkeys(self.names[asleep:], self.shape(step))
        return dict.fromkeys(self.names[:asleep], 0) | moving


def changed(change):
    """The reference whose dictionary at each step is replaced by `change(factors)`."""

    def candidate(*given):
        right = gradual_unfreezing(*given)
        return lambda step: change(right(step))

    return candidate


test_gradual_unfreezing_right = accepts("adaptation.gradual_unfreezing", from_the_top, AsAClass)
test_gradual_unfreezing_wrong = rejects(
    "adaptation.gradual_unfreezing",
    (lambda *given: {}, 1, "Expected: a function of the step"),
    (changed(lambda now: {n: f for n, f in now.items() if f}), 1, "Yours: [['missing', 'missing'"),
    (changed(lambda now: {n: float(f > 0) for n, f in now.items()}), 3, "factor `shape(step)`"),
    (beginning(lambda steps, share, i, top: share * steps * (top - i) / top), 4, "ZeroDivision"),
    (beginning(lambda steps, share, i, top: share * steps * (top - i) // max(1, top)), 5, "round"),
)

# l2sp


def by_a_copy(classifier, strength=0.01):
    before = copy.deepcopy(classifier.body)

    def term(now, batch):
        pairs = zip(now.body.parameters(), before.parameters(), strict=True)
        return strength / 2 * sum(F.mse_loss(p, old.detach(), reduction="sum") for p, old in pairs)

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


def remembers_at_each_step(classifier, strength=0.01):
    return lambda model, batch: l2sp(model, strength)(model, batch)


def of_the_first(classifier, strength=0.01):
    term = l2sp(classifier, strength)
    return lambda now, batch: term(classifier, batch)


def over(cost, of=lambda model: model.body, remember=lambda p: p.detach().clone()):
    """An answer: `cost(distances, strength)` of the parameters of what `of` returns."""

    def candidate(classifier, strength=0.01):
        before = [remember(p) for p in of(classifier).parameters()]

        def term(now, batch):
            there = of(now).parameters()
            return cost([p - old for p, old in zip(there, before, strict=True)], strength)

        return term

    return candidate


def squared(distances, strength):
    """The right cost."""
    return strength / 2 * sum((each**2).sum() for each in distances)


test_l2sp_right = accepts("adaptation.l2sp", by_a_copy, by_one_vector)
test_l2sp_wrong = rejects(
    "adaptation.l2sp",
    (lambda *given: torch.zeros(()), 1, "Expected: a function of the classifier and a batch"),
    (over(squared, remember=torch.zeros_like), 1, "not from 0 as in weight decay"),
    (over(squared, remember=lambda p: p), 2, "The term is always 0"),
    (remembers_at_each_step, 2, "The term is always 0"),
    (over(lambda d, s: squared(d, s) / 2), 2, "Expected: 13.5\nWhy: The squared distance is 12 ·"),
    (over(lambda d, s: squared([p for p in d if p.ndim > 1], s)), 2, "biases and norms belong to"),
    (over(squared, of=lambda model: model), 3, "take the parameters of `classifier.body` alone"),
    (over(lambda d, s: squared(d, s).item()), 4, "which carries no gradient"),
    (over(lambda d, s: s / 2 * sum((p**2).sum().sqrt() ** 2 for p in d)), 4, "without a root"),
    (of_the_first, 4, "not the one that `l2sp` got"),
)
