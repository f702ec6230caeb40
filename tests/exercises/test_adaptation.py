import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import nn

from tests.exercises.standard import accepts, rejects
from tlcourse.adaptation import (
    L2SP,
    SCHEMES,
    Adapters,
    AddedOnly,
    ByLayer,
    Classifier,
    GradualUnfreezing,
    Group,
    HeadOnly,
    LoRA,
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
from tlcourse.exercises import exercise, solution, source, yours
from tlcourse.exercises.adaptation.own_scheme import (
    TARGETS,
    TEXTS,
    SmallByBlock,
    adds,
    adds_to_loss,
    classifier,
    own_scheme,
    paces,
    task,
)
from tlcourse.exercises.adaptation.set_rates import faulty, rates_as_given, set_rates
from tlcourse.exercises.checking import check
from tlcourse.lessons.finding import code_cells, get, read_notebook
from tlcourse.training import warmup_stable_decay


def nothing(*arguments): ...  # your code here


# set_rates


def keeps_the_first_decay(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group.setdefault("slow", group["initial_lr"] / decay**depth)
        group["lr"] = group["slow"] * factor


def in_single_precision(groups, decay, factor):
    shares = np.float32(decay) ** np.arange(1 - len(groups), 1, dtype=np.float32)
    for group, share in zip(groups, shares, strict=True):
        group["lr"] = np.float32(group["initial_lr"]) * share * np.float32(factor)


def moves_initial(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group["initial_lr"] = group["initial_lr"] / decay**depth
        group["lr"] = group["initial_lr"] * factor


def new_groups(groups, decay, factor):
    return [dict(group, lr=group["initial_lr"] * factor) for group in groups]


def turns_the_list(groups, decay, factor):
    groups.reverse()
    set_rates(groups[::-1], decay, factor)


def keeps_what_it_finds(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group.setdefault("base", group["lr"])
        group["lr"] = group["base"] / decay**depth * factor


def rests_at_zero(groups, decay, factor):
    if factor:
        set_rates(groups, decay, factor)


def keeps_the_factor(groups, decay, factor):
    if groups[-1]["lr"] == groups[-1]["initial_lr"]:
        set_rates(groups, decay, 1.0)
    for group in groups:
        group["lr"] *= factor


def one_rate_under_a_schedule(groups, decay, factor):
    set_rates(groups, decay, factor)
    for group in groups if factor < 1 else ():
        group["lr"] = groups[-1]["lr"]


def of_the_bottom(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = groups[0]["initial_lr"] / decay**depth * factor


def rounds(groups, decay, factor):
    set_rates(groups, decay, factor)
    for group in groups:
        group["lr"] = round(group["lr"], 4)


def from_the_top_down(groups, decay, factor):
    divided = 1.0
    for place in range(len(groups) - 1, -1, -1):
        groups[place].update(lr=factor * groups[place]["initial_lr"] / divided)
        divided *= decay


def by_powers(groups, decay, factor):
    shares = np.power(float(decay), np.arange(1.0 - len(groups), 1.0))
    for group, share in zip(groups, shares, strict=True):
        group["lr"] = float(group["initial_lr"] * share * factor)


def at(of_decay=lambda decay: decay, of_factor=lambda factor, decay: factor):
    """The reference at another decay and another factor."""
    return lambda groups, decay, factor: set_rates(
        groups, of_decay(decay), of_factor(factor, decay)
    )


ABOVE = "and each group below has the rate of the group above, divided by `decay`."
test_set_rates_right = accepts(
    "adaptation.set_rates", in_single_precision, from_the_top_down, by_powers
)
test_set_rates_wrong = rejects(
    "adaptation.set_rates",
    (nothing, 0, "Not solved yet"),
    (rates_as_given, 0, "the code as it was given"),
    (new_groups, 1, "or nothing is set (each group is to be changed in place)"),
    (moves_initial, 1, "Check: `initial_lr` after the call."),
    (turns_the_list, 1, "leave their order"),
    (at(of_factor=lambda factor, decay: factor / decay), 1, ABOVE),
    (at(of_decay=lambda decay: 1 / decay), 1, ABOVE),
    (at(of_decay=lambda decay: 3.0), 1, ABOVE),
    (faulty(lambda g, depth, decay, f: g["initial_lr"] / decay ** min(depth, 1) * f), 1, ABOVE),
    (keeps_the_first_decay, 2, "What an earlier step worked out is kept"),
    (at(of_factor=lambda factor, decay: factor**2), 3, "At factor 0.5 each rate is half"),
    (one_rate_under_a_schedule, 3, "At factor 0.5 each rate is half"),
    (at(of_factor=lambda factor, decay: min(factor, 1.0)), 3, "A factor above 1 is treated like"),
    (rests_at_zero, 3, "A factor of 0 is treated like any other"),
    (keeps_the_factor, 3, "the factors before, 0 included, are forgotten"),
    (
        keeps_what_it_finds,
        3,
        "Yours: [0.0, 0.0, 0.0]\nExpected: [0.01, 0.03, 0.09]\nWhy: Each step",
    ),
    (of_the_bottom, 4, "Each group starts from its own `initial_lr`."),
    (rounds, 5, "The ratio of two neighbours"),
    (
        faulty(lambda g, depth, decay, f: g["initial_lr"] / decay ** min(depth, 2) * f),
        5,
        "The ratio of two neighbours",
    ),
)


def test_the_rates_as_given_are_those_of_a_single_group():
    given = [{"lr": 0.1, "initial_lr": 0.1} for _ in range(4)]
    rates_as_given(given, 2.6, 0.5)
    assert {group["lr"] for group in given} == {0.05}


# own_scheme


@pytest.mark.parametrize("name", ["prefix tuning", "L2-SP", "with the LM loss", "BitFit"])
def test_a_scheme_of_the_course_with_another_schedule_passes(name):
    report = check(
        task,
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
    report = check(task, lambda: Scheme("deep head", edit=deep_head))
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
        report = check(task, lambda scheme=scheme: scheme)
        assert (report.passed, said in report.message) == (True, True), report.message
    assert "remark" not in check(task, own_scheme).message
    pulled = Scheme("mine", edit=LoRA(), groups=AddedOnly(), extra_loss=ToZero())
    assert "remark" not in check(task, lambda: pulled).message


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
        report = check(task, lambda mine=mine: mine)
        assert report.passed, report.message
        assert "because of its knob `extra_loss`" in report.message
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
    cells = code_cells(read_notebook(get("05b").path))
    (cell,) = [cell.source for cell in cells if "Classifier.load(" in cell.source]
    recipe = Recipe(epochs=1)
    mine = adapt(classifier(), TEXTS, TARGETS, scheme=own, recipe=recipe)
    exec(cell, {"own": own, "mine": mine, "Classifier": Classifier})
    assert said in capsys.readouterr().out


def test_the_reference_pasted_in_a_cell_is_kept_with_its_class(tmp_path, monkeypatch, capsys):
    from IPython.core.interactiveshell import InteractiveShell

    solution("adaptation.own_scheme")
    pasted = capsys.readouterr().out.rstrip("\n") + "\n"
    assert "@dataclass(frozen=True)\nclass SmallByBlock:\n" in pasted and "import" not in pasted
    shell = InteractiveShell()
    shell.run_cell(task.imports)
    shell.run_cell(f"{pasted}\nboard = own_scheme().name")
    mine = shell.user_ns["own_scheme"]
    assert source.cut(mine) == ("own_scheme", pasted)
    monkeypatch.setenv("TLCOURSE_ANSWERS", "on")
    monkeypatch.setenv("TLCOURSE_MY", str(tmp_path))
    assert exercise("adaptation.own_scheme", mine) is mine
    assert "not kept" not in capsys.readouterr().out
    kept = yours("adaptation.own_scheme")
    assert "your own" in capsys.readouterr().out
    assert kept().to_plain() == own_scheme().to_plain()


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
    report = check(task, lambda: scheme)
    assert (report.passed, report.stage) == (False, 1)
    assert "Yours: all as in 'LoRA'\n" in report.message


def test_lora_rebuilt_by_functions_is_told_by_what_it_moves():
    def edit(classifier):
        LoRA()(classifier)

    report = check(task, lambda: Scheme("mine", edit=edit, groups=AddedOnly(4.0)))
    assert report.passed and "everything moves as in 'LoRA'" in report.message


@pytest.mark.parametrize(
    ("stage", "knobs", "said"),
    [
        (adds, {"edit": new_head}, "the edit replaced the head"),
        (adds, {"edit": no_parameter}, "the edit added no parameter"),
        (adds, {"edit": forgets_words}, "Does it write over pretrained weights?"),
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


def with_zeros(classifier):
    LoRA()(classifier)
    for name, parameter in classifier.named_parameters():
        if name.endswith(".a"):
            parameter.data.zero_()


QUERY = "body.blocks.0.attention.query.weight"
SHARED = nn.Parameter(torch.zeros(3))


def shares(classifier):
    classifier.shift = SHARED


def unused(classifier):
    classifier.extra = nn.Linear(4, 4)


def explodes(classifier):
    classifier.head.weight.data.fill_(torch.inf)


def only_this_model(classifier):
    classifier.body.blocks[11].attention.output = nn.Linear(768, 768)


def the_term(classifier, batch):
    return _squares(classifier)


def nats(model, batch, reduction="mean"):
    return nn.functional.cross_entropy(model(*batch[:2]), batch[2], reduction=reduction)


def never_finite(classifier):
    return lambda model, batch: (model.head.bias - model.head.bias.detach()).norm().log()


def every_name(classifier):
    return tuple(name for name, _ in classifier.named_parameters())


# right ones


def ups_and_norms(classifier, added):
    names = every_name(classifier)
    return {
        "biases": Group(tuple(name for name in added if name.endswith("bias")), 10.0),
        "ups": Group(tuple(name for name in added if name.endswith("up.weight")), 4.0),
        "norms": Group(tuple(name for name in names if "norm" in name)),
        "head": Group(("head.weight", "head.bias"), 3.0),
    }


class Scaled(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base, self.scale = base, nn.Parameter(torch.ones(base.out_features))

    def forward(self, x):
        return self.scale * self.base(x)


def ia3(classifier):
    for block in classifier.body.blocks:
        block.up, block.attention.value = Scaled(block.up), Scaled(block.attention.value)


def hold(steps, names):
    factor = warmup_stable_decay(steps, 1, 0.5)
    return lambda step: dict.fromkeys(names, factor(step))


test_own_scheme_right = accepts(
    "adaptation.own_scheme",
    _with(edit=Adapters(8), groups=ups_and_norms, schedule=OneCycle(), extra_loss=L2SP(0.1)),
    _with(edit=ia3, groups=AddedOnly(10.0), schedule=hold),
    _with(groups=ByLayer(2.6), schedule=SequentialUnfreezing(Triangular())),
)
test_own_scheme_wrong = rejects(
    "adaptation.own_scheme",
    (nothing, 0, "Not solved yet"),
    (lambda: print(Scheme("mine", edit=LoRA())), 1, "is a `return` missing?"),
    (lambda: {"name": "mine"}, 1, "Expected: a Scheme"),
    (_with(name=""), 1, "Yours: ''"),
    (_with("LoRA", edit=LoRA()), 1, "'LoRA', a scheme of the course"),
    (_with(groups=HeadOnly()), 1, "all as in 'frozen body'"),
    (_with(edit=LoRA), 1, "call it, `LoRA(...)`"),
    (_with(groups="head"), 1, "the knob `groups` is 'head'; expected a function"),
    (_with(schedule=lambda step: 1.0), 1, "takes (step)\nExpected: one that is called with the"),
    (_with(extra_loss=the_term), 1, "takes (classifier, batch)\nExpected: one that is called with"),
    (_with(edit=lambda classifier: Adapters()), 2, "Is a pair of brackets missing"),
    (_with(edit=copy.deepcopy), 2, "it returns another model"),
    (_with(edit=shares), 2, "they share parameters"),
    (_with(edit=explodes), 2, "Yours: infinite or NaN"),
    (_with(edit=only_this_model), 2, "IndexError"),
    (_with(edit=LoRA(), groups=HeadOnly()), 3, "none of them is in a group"),
    (_with(edit=LoRA(), groups=_choosing((QUERY,))), 3, f"Is it '{QUERY[:-6]}base.weight'?"),
    (_with(groups=_choosing("head.weight")), 3, "A tuple of one has a comma: `('head.weight',)`."),
    (_with(groups=_choosing(("head.bias",), ("head.bias",))), 3, "Yours: 'group 0' and 'group 1'"),
    (_with(groups=_choosing(("head.bias",), ())), 3, "The names of group 'group 1'.\nYours: none"),
    (_with(groups=lambda model, _: {"all": Group(tuple(model.parameters()))}), 3, "their *names*"),
    (_with(groups=lambda classifier, added: {}), 3, "Yours: no group"),
    (_with(groups=lambda classifier, added: list(added)), 3, "a list\nExpected: a dict"),
    (_with(groups=lambda classifier, added: {"a": ("head.bias",)}), 3, "Expected: `Group("),
    (_with(groups=AddedOnly(0.0), edit=LoRA()), 3, "Expected: a number above 0"),
    (_with(groups=Named("gain")), 3, "found none in the body"),
    (_with(schedule=lambda steps, names: 1.0), 4, "Expected: a function of the step"),
    (_with(schedule=_pace(lambda step, steps, names: step / (steps // 10))), 4, "step 0 of 4"),
    (_with(schedule=_pace(lambda step, steps, names: {"head": 1.0})), 4, "no factor for the group"),
    (_with(schedule=_pace(lambda *given: None)), 4, "Yours: None (is a `return` missing?)"),
    (_with(schedule=_pace(lambda *given: torch.ones(1))), 4, "Yours: a tensor, tensor([1.])"),
    (_with(schedule=_pace(lambda step, steps, names: 1 - 2 * step / steps)), 4, "Below 0, a step"),
    (
        _with(schedule=_pace(lambda step, _, names: dict.fromkeys(names, step % 2))),
        4,
        "Yours: 0 for",
    ),
    (_with(schedule=_pace(lambda *given: {"body": 1.0, "head": 0.0})), 4, "Yours: 0 at every step"),
    (_with(schedule=GradualUnfreezing(Triangular)), 4, "`Triangular` for `Triangular()`"),
    (_with(extra_loss=lambda classifier: None), 5, "Yours: None (is a `return` missing?)"),
    (_with(extra_loss=lambda classifier: torch.ones(())), 5, "Yours: tensor(1.)"),
    (_with(extra_loss=lambda classifier: lambda model: 1.0), 5, "a function that takes (model)"),
    (_with(extra_loss=lambda classifier: lambda *given: None), 5, "Expected: a Tensor"),
    (_with(extra_loss=lambda classifier: lambda *b: nats(*b, "none")), 5, "shape (16,)"),
    (_with(groups=lambda model, _: {"all": Group(every_name(model), 1e-6)}), 6, "as small as that"),
    (_with(edit=unused, groups=AddedOnly()), 6, "'extra.bias' first"),
    (_with(edit=with_zeros, groups=AddedOnly()), 6, "if both are zero, neither gets a gradient"),
    (_with(extra_loss=never_finite), 6, "does the extra loss divide by 0?"),
    (_with(extra_loss=lambda classifier: lambda *b: -3 * nats(*b)), 6, "or of the wrong sign"),
)
