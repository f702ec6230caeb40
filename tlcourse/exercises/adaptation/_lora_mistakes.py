"""CheckFailed ways to write LoRA, each with the stage that finds it and the sentence that it earns."""

import copy
from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional as F

START, ALPHA, MERGED = "it starts as the old layer", "alpha and rank", "merged"
STRAIGHT = "There is a non-linearity between `a` and `b`: LoRA has none."


def mistakes(reference: type) -> Iterator[tuple[str, str, type]]:
    """(stage, sentence, class) of each, made from the right class."""
    yield from parts(reference)
    for stage, says, methods in (*forwards(), *merges(reference)):
        yield stage, says, type("Faulty", (reference,), methods)


def parts(reference: type) -> Iterator[tuple[str, str, type]]:
    """What is built or started wrongly."""

    class Plain(reference):
        def __init__(self, base, rank=8, alpha=16.0):
            nn.Module.__init__(self)
            self.base, self.scale = base, alpha / rank
            self.a, self.b = torch.randn(rank, base.in_features), torch.zeros(len(base.bias), rank)

    class Turned(reference):
        def __init__(self, base, rank=8, alpha=16.0):
            super().__init__(base, rank, alpha)
            self.a, self.b = nn.Parameter(self.a.data.T), nn.Parameter(self.b.data.T)

    def starting(a, b):
        class Faulty(reference):
            def __init__(self, base, rank=8, alpha=16.0):
                super().__init__(base, rank, alpha)
                self.a.data = a * torch.randn_like(self.a)
                self.b.data = b * torch.randn_like(self.b)

        return Faulty

    yield "the parts", "`a` and `b` are plain tensors: wrap each in `nn.Parameter`.", Plain
    yield "the parts", "Both are turned: `a` is (rank, in), `b` is (out, rank).", Turned
    yield START, "`b` starts at random numbers; it starts at zero.", starting(1, 1)
    yield START, "It is the other way round: `a` is random, `b` is zero.", starting(0, 1)

    class OfOnes(reference):
        def __init__(self, base, rank=8, alpha=16.0):
            super().__init__(base, rank, alpha)
            nn.init.ones_(self.a)

    yield START, "Equal rows get equal gradients and stay equal: draw `a` at random.", OfOnes
    yield START, "Both are zero: then each gets the other's zeros as its gradient.", starting(0, 0)


def forwards() -> Iterator[tuple[str, str, dict]]:
    """CheckFailed ways through the layer."""
    for stage, says, forward in (
        (START, "That is the update alone; add it to what the base gives.",
         lambda s, x: s.scale * x @ s.a.T @ s.b.T),
        (START, "alpha / rank scales the update, not the base.",
         lambda s, x: s.scale * (s.base(x) + x @ s.a.T @ s.b.T)),
        (ALPHA, STRAIGHT, lambda s, x: s.base(x) + s.scale * F.gelu(x @ s.a.T) @ s.b.T),
        ("random layers", STRAIGHT, lambda s, x: s.base(x) + s.scale * F.relu(x @ s.a.T) @ s.b.T),
        ("random layers", "but a gradient goes on to `x`, through the base and through what you",
         lambda s, x: s.base(x).detach() + s.scale * x @ s.a.T @ s.b.T),
        ("random layers", "but a gradient goes on to `x`, through the base and through what you",
         lambda s, x: s.base(x) + s.scale * x.detach() @ s.a.T @ s.b.T),
    ):  # fmt: skip
        yield stage, says, {"forward": forward}
    for says, factor in (  # scale is alpha / rank
        ("That is the base alone: where is the update?", lambda scale, rank, inputs: 0),
        ("Where are alpha and the rank?", lambda scale, rank, inputs: 1),
        ("Nothing was divided by the rank.", lambda scale, rank, inputs: scale * rank),
        ("It was divided by the inputs, not the rank.", lambda scale, rank, n: scale * rank / n),
        ("It was divided by the root of the rank.", lambda scale, rank, n: scale * rank**0.5),
        ("It was multiplied by the rank: divide.", lambda scale, rank, n: scale * rank**2),
        ("It is alpha / rank, not rank / alpha.", lambda scale, rank, n: 1 / scale),
        ("alpha / rank need not be whole: `/`, not `//`.", lambda scale, rank, n: scale // 1),
    ):
        yield ALPHA, says, {"forward": _scaled(factor)}


def _scaled(factor):
    def forward(self, x):
        by = factor(self.scale, len(self.a), x.shape[-1])
        return self.base(x) + by * x @ self.a.T @ self.b.T

    return forward


def merges(reference: type) -> Iterator[tuple[str, str, dict]]:
    """CheckFailed ways to merge."""

    def in_place(self):
        with torch.no_grad():
            self.base.weight += self.scale * self.b @ self.a
        return self.base

    def without_bias(self):
        layer = reference.merged(self)
        layer.bias.data = torch.zeros_like(layer.bias)
        return layer

    def sharing_the_bias(self):
        layer = reference.merged(self)
        layer.bias = self.base.bias
        return layer

    def unscaled(self):
        layer = copy.deepcopy(self.base)
        layer.weight.data += self.b @ self.a
        return layer

    for says, merged in (
        ("The base itself was changed: add the update to a copy of it.", in_place),
        ("The bias of the base is missing.", without_bias),
        ("The new layer shares its bias with the base: copy it.", sharing_the_bias),
        ("alpha / rank is missing here.", unscaled),
        ("That is the base: where is the update?", lambda self: copy.deepcopy(self.base)),
        ("That is the matrix; put it into an nn.Linear.",
         lambda self: reference.merged(self).weight),
    ):  # fmt: skip
        yield MERGED, says, {"merged": merged}
