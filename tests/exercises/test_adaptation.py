import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from tlcourse.exercises.machinery import check
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse import lessons
from tlcourse.adaptation import (
    L2SP,
    SCHEMES,
    Adapters,
    AddedOnly,
    ByLayer,
    Classifier,
    Everything,
    GradualUnfreezing,
    Group,
    HeadOnly,
    LoRA,
    LoRALinear,
    Named,
    OneCycle,
    Recipe,
    Scheme,
    SequentialUnfreezing,
    SlantedTriangular,
    TopLayers,
    Triangular,
    adapt,
)
from tlcourse.exercises import scheme_checks
from tlcourse.exercises.adaptation import (
    SmallByBlock,
    low_rank,
    own_scheme,
    rates_as_given,
    set_rates,
)
from tlcourse.exercises.scheme_loss_checks import adds_to_loss
from tlcourse.exercises.scheme_training_checks import paces
from tlcourse.training import warmup_stable_decay


def nothing(*arguments): ...  # your code here


# low_rank


def merged(x, weight, bias, a, b, alpha):
    return x @ (weight + b @ a * (alpha / a.shape[0])).T + bias


def by_einsum(x, weight, bias, a, b, alpha):
    scaled = alpha * b / b.shape[1]
    update = torch.einsum("...i,ri,or->...o", x, a, scaled)
    return torch.einsum("...i,oi->...o", x, weight) + bias + update


def by_module(x, weight, bias, a, b, alpha):
    layer = LoRALinear(nn.Linear(weight.shape[1], weight.shape[0]), len(a), alpha)
    layer.base.weight.data, layer.base.bias.data = weight, bias
    layer.a.data, layer.b.data = a, b
    return layer(x)


def in_double(x, weight, bias, a, b, alpha):
    return low_rank(*(each.double() for each in (x, weight, bias, a, b)), alpha)


def transposed(x, weight, bias, a, b, alpha):
    return x @ weight + bias + alpha / len(a) * x @ a.T @ b.T


def in_the_weight(x, weight, bias, a, b, alpha):
    weight += alpha / len(a) * b @ a
    return F.linear(x, weight, bias)


def update_alone(x, weight, bias, a, b, alpha):
    return alpha / len(a) * x @ a.T @ b.T


def scales_all(x, weight, bias, a, b, alpha):
    return alpha / len(a) * (F.linear(x, weight, bias) + x @ a.T @ b.T)


def bias_twice(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + F.linear(F.linear(x, a), b, bias)


def without_bias(x, weight, bias, a, b, alpha):
    return F.linear(x, weight) + alpha / len(a) * x @ a.T @ b.T


def not_by_the_rank(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + alpha * x @ a.T @ b.T


def by_the_inputs(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + alpha / a.shape[1] * x @ a.T @ b.T


def by_the_outputs(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + alpha / b.shape[0] * x @ a.T @ b.T


def times_the_rank(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + alpha * len(a) * x @ a.T @ b.T


def whole_scale(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + alpha // len(a) * x @ a.T @ b.T


def old_alone(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias)


def flat(x, weight, bias, a, b, alpha):
    return low_rank(x.reshape(-1, x.shape[-1]), weight, bias, a, b, alpha)


def squeezed(x, weight, bias, a, b, alpha):
    return low_rank(x, weight, bias, a, b, alpha).squeeze()


def at_least_two(x, weight, bias, a, b, alpha):
    return torch.atleast_2d(low_rank(x, weight, bias, a, b, alpha))


def by_the_root(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + alpha / len(a) ** 0.5 * x @ a.T @ b.T


def without_alpha(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + x @ a.T @ b.T / len(a)


def plain_sum(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + x @ a.T @ b.T


def rank_of_two(x, weight, bias, a, b, alpha):
    kept = a.clone()
    kept[2:3] = 0
    return low_rank(x, weight, bias, kept if len(a) == 3 else a, b, alpha)


def update_detached(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + alpha / len(a) * F.linear(F.linear(x, a), b).detach()


def b_alone_learns(x, weight, bias, a, b, alpha):
    return low_rank(x, weight, bias, a.detach(), b, alpha)


def in_single(x, weight, bias, a, b, alpha):
    return low_rank(*(each.float() for each in (x, weight, bias, a, b)), alpha)


test_low_rank_right = accepts("adaptation.low_rank", merged, by_einsum, in_double)
test_low_rank_wrong = rejects(
    "adaptation.low_rank",
    (nothing, 0, "Not solved yet"),
    (transposed, 1, "your code raised RuntimeError"),
    (transposed, 1, "x of shape (2, 7, 5), weight of shape (3, 5)"),
    (in_the_weight, 1, "changed argument 2 that it was given, `weight`."),
    (flat, 1, "shape (14, 3); expected (2, 7, 3). All dimensions of x but the last"),
    (update_alone, 2, "add it to the old layer"),
    (scales_all, 2, "scales the update, not the old layer"),
    (bias_twice, 2, "The bias was added twice"),
    (without_bias, 2, "The bias of the old layer is missing"),
    (not_by_the_rank, 3, "Nothing was divided by the rank"),
    (by_the_inputs, 3, "divided by the number of inputs"),
    (by_the_outputs, 3, "divided by the number of outputs"),
    (times_the_rank, 3, "multiplied by the rank"),
    (whole_scale, 3, "`/`, not `//`"),
    (old_alone, 3, "where is the update?"),
    (squeezed, 3, "A dimension of size 1 stays"),
    (by_the_root, 3, "divided by the root of the rank"),
    (without_alpha, 3, "Where is alpha?"),
    (plain_sum, 3, "Where is alpha?"),
    (rank_of_two, 4, "B A is `b @ a`"),
    (at_least_two, 4, "shape (1, 4); expected (4,)"),
    (in_single, 4, "rounded to single precision"),
    (by_module, 5, "no gradient reaches `a`"),
    (update_detached, 5, "no gradient reaches `a`"),
    (b_alone_learns, 5, "no gradient reaches `a`"),
)


# set_rates


def keeps_the_first_decay(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group.setdefault("slow", group["initial_lr"] / decay**depth)
        group["lr"] = group["slow"] * factor


def at_most_one(groups, decay, factor):
    set_rates(groups, decay, min(factor, 1.0))


def from_the_top_down(groups, decay, factor):
    divided = 1.0
    for place in range(len(groups) - 1, -1, -1):
        groups[place].update(lr=factor * groups[place]["initial_lr"] / divided)
        divided *= decay


def by_powers(groups, decay, factor):
    shares = np.power(float(decay), np.arange(1.0 - len(groups), 1.0))
    for group, share in zip(groups, shares, strict=True):
        group["lr"] = float(group["initial_lr"] * share * factor)


def in_single_precision(groups, decay, factor):
    shares = np.float32(decay) ** np.arange(1 - len(groups), 1, dtype=np.float32)
    for group, share in zip(groups, shares, strict=True):
        group["lr"] = np.float32(group["initial_lr"]) * share * np.float32(factor)


def divides_again(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["lr"] / decay**depth
    for group in groups:
        group["lr"] = group["lr"] * factor


def one_rate_first(groups, decay, factor):
    for group in groups:
        group["lr"] = groups[-1]["initial_lr"] * factor
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["lr"] / decay**depth


def the_other_order(groups, decay, factor):
    for depth, group in enumerate(groups):
        group["lr"] = group["initial_lr"] / decay**depth * factor


def depth_from_one(groups, decay, factor):
    for depth, group in enumerate(reversed(groups), start=1):
        group["lr"] = group["initial_lr"] / decay**depth * factor


def product_not_power(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["initial_lr"] / max(1, decay * depth) * factor


def all_below_alike(groups, decay, factor):
    for group in groups:
        group["lr"] = group["initial_lr"] / (1 if group is groups[-1] else decay) * factor


def moves_initial(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group["initial_lr"] = group["initial_lr"] / decay**depth
        group["lr"] = group["initial_lr"] * factor


def new_groups(groups, decay, factor):
    return [dict(group, lr=group["initial_lr"] * factor) for group in groups]


def turns_the_list(groups, decay, factor):
    groups.reverse()
    the_other_order(groups, decay, factor)


def without_factor(groups, decay, factor):
    set_rates(groups, decay, 1.0)


def keeps_the_factor(groups, decay, factor):
    if groups[-1]["lr"] == groups[-1]["initial_lr"]:
        set_rates(groups, decay, 1.0)
    for group in groups:
        group["lr"] *= factor


def not_divided(groups, decay, factor):
    for group in groups:
        group["lr"] = group["initial_lr"] * factor


def always_three(groups, decay, factor):
    set_rates(groups, 3.0, factor)


def multiplies(groups, decay, factor):
    set_rates(groups, 1 / decay, factor)


def factor_twice(groups, decay, factor):
    set_rates(groups, decay, factor**2)


def factor_for_the_top(groups, decay, factor):
    set_rates(groups, decay, 1.0)
    groups[-1]["lr"] *= factor


def rests_at_zero(groups, decay, factor):
    if factor:
        set_rates(groups, decay, factor)


def only_three(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["initial_lr"] / decay ** min(depth, 2) * factor


test_set_rates_right = accepts(
    "adaptation.set_rates", from_the_top_down, by_powers, in_single_precision
)
test_set_rates_wrong = rejects(
    "adaptation.set_rates",
    (nothing, 0, "Not solved yet"),
    (rates_as_given, 0, "the code as it was given"),
    (new_groups, 1, "nothing was set (each group is changed in place)"),
    (not_divided, 1, "Nothing was divided by `decay`"),
    (always_three, 1, "this is still divided by 3"),
    (multiplies, 1, "Lower layers are slower"),
    (the_other_order, 1, "That is upside down"),
    (depth_from_one, 1, "its depth is 0"),
    (product_not_power, 1, "`decay**depth`"),
    (all_below_alike, 1, "`decay**depth`"),
    (moves_initial, 1, "`initial_lr` was changed"),
    (turns_the_list, 1, "leave their order"),
    (divides_again, 2, "divided again at each step"),
    (keeps_the_first_decay, 2, "What an earlier step worked out is kept"),
    (without_factor, 3, "The factor of the schedule was not used"),
    (at_most_one, 3, "A factor above 1 is one like others"),
    (factor_twice, 3, "multiplied in twice"),
    (factor_for_the_top, 3, "Only the top layer"),
    (rests_at_zero, 3, "0 is a factor like others"),
    (keeps_the_factor, 3, "A factor belongs to one step"),
    (one_rate_first, 4, "One group's `initial_lr` was used for all"),
    (only_three, 5, "The ratio of two neighbours"),
)


def test_the_rates_as_given_are_those_of_a_single_group():
    given = [{"lr": 0.1, "initial_lr": 0.1} for _ in range(4)]
    rates_as_given(given, 2.6, 0.5)
    assert {group["lr"] for group in given} == {0.05}


# own_scheme


def by_parts():
    """Adapters whose biases alone move, with the norms, and a pull to the start."""

    def choose(classifier, added):
        names = [name for name, _ in classifier.named_parameters()]
        biases = tuple(name for name in added if name.endswith("bias"))
        ups = tuple(name for name in added if name.endswith("up.weight"))
        norms = tuple(name for name in names if "norm" in name)
        return {
            "biases": Group(biases, 10.0),
            "ups": Group(ups, 4.0),
            "norms": Group(norms),
            "head": Group(("head.weight", "head.bias"), 3.0),
        }

    return Scheme("ups", edit=Adapters(8), groups=choose, schedule=OneCycle(), extra_loss=L2SP(0.1))


def by_a_class():
    class Scaled(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base, self.scale = base, nn.Parameter(torch.ones(base.out_features))

        def forward(self, x):
            return self.scale * self.base(x)

    def edit(classifier):
        for block in classifier.body.blocks:
            block.up = Scaled(block.up)
            block.attention.value = Scaled(block.attention.value)

    def hold(steps, names):
        factor = warmup_stable_decay(steps, 1, 0.5)
        return lambda step: dict.fromkeys(names, factor(step))

    return Scheme("IA3", edit=edit, groups=AddedOnly(10.0), schedule=hold)


def one_layer_a_time():
    return Scheme("thaw", groups=ByLayer(2.6), schedule=SequentialUnfreezing(Triangular()))


test_own_scheme_right = accepts("adaptation.own_scheme", by_parts, by_a_class, one_layer_a_time)


@pytest.mark.parametrize("name", ["prefix tuning", "L2-SP", "with the LM loss", "BitFit"])
def test_a_scheme_of_the_course_with_another_schedule_passes(name):
    report = check(
        "adaptation.own_scheme",
        lambda: replace(SCHEMES[name], name="mine", schedule=SlantedTriangular(0.3)),
    )
    assert report.passed, report.message
    assert ("does not start as the base model" in report.message) == (name == "prefix tuning")


def new_head(classifier):
    classifier.head = nn.Linear(classifier.head.in_features, classifier.head.out_features)


def no_parameter(classifier):
    scale = torch.ones((), requires_grad=True)
    classifier.head.register_forward_hook(lambda module, given, out: scale * out)


def _squares(model):
    return sum((p**2).sum() for p in model.parameters() if p.requires_grad)


@dataclass(frozen=True)
class ToZero:
    strength: float = 0.01

    def __call__(self, classifier):
        return lambda model, batch: self.strength * _squares(model).reshape(1)


def detached(classifier):
    return lambda model, batch: _squares(model).detach()


def a_number(classifier):
    return lambda model, batch: _squares(model).item()


def live_start(classifier):
    start = dict(classifier.named_parameters())
    return lambda model, batch: sum(
        ((p - start[name]) ** 2).sum() for name, p in model.named_parameters()
    )


def forgets_words(classifier):
    nn.init.normal_(classifier.body.embedding.weight)


def deep_head(classifier):
    width, labels = classifier.head.in_features, classifier.head.out_features
    classifier.head = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, labels))


def test_a_head_of_several_layers_is_a_head():
    report = check("adaptation.own_scheme", lambda: Scheme("deep head", edit=deep_head))
    assert report.passed and "the head is in no group" not in report.message
    assert "the edit replaced the head" in report.message


def test_what_is_odd_but_no_error_is_told():
    def head_first(classifier, added):
        return dict(reversed(ByLayer()(classifier, added).items()))

    def no_head(classifier, added):
        return {"all of it": Group(tuple(added), 4.0)}

    thawing = GradualUnfreezing()
    for scheme, said in (
        (Scheme("mine", groups=head_first, schedule=thawing), "the head stands still at first"),
        (Scheme("mine", edit=LoRA(), groups=no_head), "the head is in no group"),
    ):
        report = check("adaptation.own_scheme", lambda scheme=scheme: scheme)
        assert (report.passed, said in report.message) == (True, True), report.message
    assert "remark" not in check("adaptation.own_scheme", own_scheme).message
    pulled = Scheme("mine", edit=LoRA(), groups=AddedOnly(), extra_loss=ToZero())
    assert "remark" not in check("adaptation.own_scheme", lambda: pulled).message


def test_a_scheme_that_cannot_be_saved_passes_and_is_told_how_it_could_be():
    def to_zero(classifier):
        return ToZero()(classifier)

    @dataclass(frozen=True)
    class Several:
        strengths: list

        def __call__(self, classifier):
            return ToZero(sum(self.strengths))(classifier)

    for extra_loss, said in (
        (
            to_zero,
            "a knob that is a value to save, got to_zero; write it as a class whose settings",
        ),
        (Several([0.01, 0.02]), "expected a tuple to save, got the list [0.01, 0.02]"),
    ):
        mine = Scheme("mine", edit=LoRA(), groups=AddedOnly(), extra_loss=extra_loss)
        report = check("adaptation.own_scheme", lambda mine=mine: mine)
        assert report.passed, report.message
        assert "its knob `extra_loss` is none" in report.message
        assert said in report.message


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (own_scheme(), "the same scheme as before: True"),
        (Scheme("mine", groups=lambda *given: HeadOnly()(*given)), "a knob that is a value"),
    ],
    ids=["a value", "a plain function"],
)
def test_the_lesson_keeps_a_scheme_of_ones_own_or_says_why_not(own, said, capsys):
    cells = lessons.code_cells(lessons.read_notebook(lessons.get("05").path))
    (cell,) = [cell.source for cell in cells if "Classifier.load(" in cell.source]
    recipe = Recipe(epochs=1)
    start = scheme_checks.classifier()
    adapted = adapt(start, scheme_checks.TEXTS, scheme_checks.TARGETS, scheme=own, recipe=recipe)
    exec(cell, {"own": own, "adapted": adapted, "Classifier": Classifier})
    assert said in capsys.readouterr().out


def test_the_reference_is_a_value():
    assert own_scheme() == own_scheme()
    assert Scheme.from_plain(own_scheme().to_plain(), (SmallByBlock,)) == own_scheme()


@pytest.mark.parametrize(
    "scheme",
    [
        Scheme("mine", edit=LoRA(8), groups=AddedOnly(4)),
        Scheme("mine", edit=LoRA(layers=("value", "query")), groups=AddedOnly(factor=4.0)),
        Scheme("mine", edit=LoRA(8, 16), groups=AddedOnly(4.0), schedule=Triangular(0.1)),
    ],
    ids=["in short", "layers in another order", "a schedule beside"],
)
def test_lora_rebuilt_under_a_new_name_is_lora(scheme):
    report = check("adaptation.own_scheme", lambda: scheme)
    assert (report.passed, report.stage) == (False, 1)
    assert "all four knobs are those of 'LoRA': turn one of them" in report.message


def test_lora_rebuilt_by_functions_is_told_by_what_it_moves():
    def edit(classifier):
        LoRA()(classifier)

    report = check(
        "adaptation.own_scheme", lambda: Scheme("mine", edit=edit, groups=AddedOnly(4.0))
    )
    assert report.passed and "everything moves as in 'LoRA'" in report.message


@pytest.mark.parametrize(
    ("stage", "knobs", "said"),
    [
        (scheme_checks.adds, {"edit": new_head}, "the edit replaced the head"),
        (scheme_checks.adds, {"edit": no_parameter}, "the edit added no parameter"),
        (scheme_checks.adds, {"edit": forgets_words}, "Does it write over pretrained weights?"),
        (paces, {"groups": TopLayers(2)}, "everything moves as in 'top 2 layers'"),
        (paces, {"edit": LoRA(8), "groups": AddedOnly(4.0)}, "as in 'LoRA'"),
        (adds_to_loss, {"extra_loss": detached}, "the extra loss carries no gradient"),
        (adds_to_loss, {"extra_loss": a_number}, "the extra loss carries no gradient"),
        (adds_to_loss, {"extra_loss": live_start}, "has no gradient, even when the weights"),
    ],
)
def test_what_teaches_nothing_new_is_told(stage, knobs, said):
    assert said in stage(lambda: Scheme("mine", **knobs))


def _with(name="mine", **knobs):
    """A candidate that returns full fine-tuning with these knobs turned."""

    def candidate():
        return Scheme(name, **knobs)

    candidate.__name__ = "_".join(knobs) or "unturned"
    return candidate


def _choosing(*named):
    """The second knob as groups of names, fixed beforehand."""
    return lambda classifier, added: {
        f"group {place}": Group(names) for place, names in enumerate(named)
    }


def _pace(factor):
    """The third knob from a function of (step, steps, names)."""
    return lambda steps, names: lambda step: factor(step, steps, names)


def forgets_to_return():
    Scheme("mine", edit=LoRA(), groups=AddedOnly())


def a_dictionary():
    return {"name": "mine", "edit": LoRA()}


def its_head_twice(classifier, added):
    return Everything()(classifier, added) | {"top": Group(("head.weight",))}


def parameters_not_names(classifier, added):
    return {"head": Group(tuple(classifier.head.parameters()))}


def old_names(classifier, added):
    return {"query": Group(("body.blocks.0.attention.query.weight",))}


SHARED = nn.Parameter(torch.zeros(3))


def shares(classifier):
    classifier.shift = SHARED


def copies(classifier):
    return copy.deepcopy(classifier)


def both_zero(classifier):
    LoRA()(classifier)
    for name, parameter in classifier.named_parameters():
        if name.endswith(".a"):
            parameter.data.zero_()


def unused(classifier):
    classifier.extra = nn.Linear(4, 4)


def explodes(classifier):
    classifier.head.weight.data.fill_(torch.inf)


def only_this_model(classifier):
    classifier.body.blocks[11].attention.output = nn.Linear(768, 768)


def unlearns(classifier):
    return lambda model, batch: -3 * F.cross_entropy(model(*batch[:2]), batch[2])


def the_term(classifier, batch):
    return _squares(classifier)


def one_a_text(classifier):
    return lambda model, batch: F.cross_entropy(model(*batch[:2]), batch[2], reduction="none")


def slowly(classifier, added):
    return {"all": Group(tuple(name for name, _ in classifier.named_parameters()), 1e-6)}


def never_finite(classifier):
    return lambda model, batch: (model.head.bias - model.head.bias.detach()).norm().log()


test_own_scheme_wrong = rejects(
    "adaptation.own_scheme",
    (nothing, 0, "Not solved yet"),
    (forgets_to_return, 1, "is a `return` missing?"),
    (a_dictionary, 1, "expected a Scheme"),
    (_with(name=""), 1, "the name is ''"),
    (_with("LoRA", edit=LoRA()), 1, "is a scheme of the course"),
    (_with(), 1, "all four knobs are those of 'full fine-tuning'"),
    (_with(groups=HeadOnly()), 1, "all four knobs are those of 'frozen body'"),
    (_with(edit=LoRA), 1, "call it, `LoRA(...)`"),
    (_with(groups=HeadOnly), 1, "call it, `HeadOnly(...)`"),
    (_with(schedule=Triangular), 1, "call it, `Triangular(...)`"),
    (_with(extra_loss=ToZero), 1, "call it, `ToZero(...)`"),
    (_with(groups="head"), 1, "the knob `groups` is 'head'; expected a function"),
    (_with(schedule=lambda step: 1.0), 1, "takes (step); it is called with the number of steps"),
    (_with(groups=lambda classifier: {}), 1, "takes (classifier); it is called with the class"),
    (_with(extra_loss=the_term), 1, "takes (classifier, batch); it is called with the classifier,"),
    (_with(edit=lambda classifier: Adapters()), 2, "is a pair of brackets missing"),
    (_with(edit=copies), 2, "the edit returned another model"),
    (_with(edit=shares), 2, "now share parameters"),
    (_with(edit=explodes), 2, "the logits are not finite"),
    (_with(edit=only_this_model), 2, "IndexError"),
    (_with(edit=LoRA(), groups=HeadOnly()), 3, "none of them is in a group"),
    (_with(edit=LoRA(), groups=old_names), 3, "Is it 'body.blocks.0.attention.query.base"),
    (_with(groups=its_head_twice), 3, "'head.weight' stands twice, in 'head' and 'top'"),
    (_with(groups=_choosing(("head.bias", "head.bias"))), 3, "stands twice, in 'group 0'"),
    (_with(groups=_choosing("head.weight")), 3, "A tuple of one has a comma"),
    (_with(groups=_choosing(("head.bias",), ())), 3, "group 'group 1' is empty"),
    (_with(groups=parameters_not_names), 3, "expected their *names*"),
    (_with(groups=lambda classifier, added: {}), 3, "gave no group"),
    (_with(groups=lambda classifier, added: list(added)), 3, "a list; expected a dict"),
    (_with(groups=lambda classifier, added: {"a": ("head.bias",)}), 3, "expected `Group("),
    (_with(groups=AddedOnly(0.0), edit=LoRA()), 3, "expected a number above 0"),
    (_with(groups=Named("gain")), 3, "found none in the body"),
    (_with(groups=Named("body.norm")), 3, "the nearest is body.norm."),
    (_with(schedule=lambda steps, names: 1.0), 4, "expected a function of the step"),
    (_with(schedule=_pace(lambda step, steps, names: 1 - 2 * step / steps)), 4, "would climb"),
    (
        _with(schedule=_pace(lambda step, steps, names: step / (steps // 10))),
        4,
        "the schedule at step 0 of 4",
    ),
    (_with(schedule=_pace(lambda step, steps, names: {"head": 1.0})), 4, "no factor for the group"),
    (_with(schedule=_pace(lambda step, steps, names: None)), 4, "gave None; expected a finite"),
    (
        _with(schedule=_pace(lambda step, steps, names: torch.ones(1))),
        4,
        "gave a tensor, tensor([1.])",
    ),
    (
        _with(schedule=_pace(lambda step, steps, names: dict.fromkeys(names, step % 2))),
        4,
        "has 0 for every group",
    ),
    (
        _with(schedule=_pace(lambda step, steps, names: {"body": 1.0, "head": 0.0})),
        4,
        "the group 'head' never gets a factor above 0",
    ),
    (
        _with(schedule=GradualUnfreezing(Triangular)),
        4,
        "`Triangular` for `Triangular()`",
    ),
    (_with(extra_loss=one_a_text), 5, "shape (16,); expected one number"),
    (_with(extra_loss=lambda classifier: None), 5, "gave None (is a `return` missing?)"),
    (_with(extra_loss=lambda classifier: torch.ones(())), 5, "gave tensor(1.); expected a func"),
    (_with(extra_loss=lambda classifier: lambda model: 1.0), 5, "of the classifier and a batch"),
    (_with(extra_loss=lambda classifier: lambda model, batch: None), 5, "expected a Tensor"),
    (_with(groups=slowly), 6, "the factor 1e-06: steps as small as that vanish"),
    (_with(edit=both_zero, groups=AddedOnly()), 6, "both at zero give each other no"),
    (_with(edit=unused, groups=AddedOnly()), 6, "'extra.bias' first"),
    (_with(extra_loss=unlearns), 6, "of the wrong sign"),
    (_with(extra_loss=never_finite), 6, "does the extra loss divide by 0?"),
)
