from dataclasses import replace

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
    OneCycle,
    Recipe,
    Scheme,
    SequentialUnfreezing,
    SlantedTriangular,
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
    is_new,
    moves,
    own_scheme,
    paces,
    task,
)
from tlcourse.exercises.adaptation.set_rates import rated, rates_as_given, set_rates
from tlcourse.exercises.checking import check
from tlcourse.lessons.finding import code_cells, get, read_notebook

# set_rates


def in_single_precision(groups, decay, factor):
    shares = np.float32(decay) ** np.arange(1 - len(groups), 1, dtype=np.float32)
    for group, share in zip(groups, shares, strict=True):
        group["lr"] = np.float32(group["initial_lr"]) * share * np.float32(factor)


def from_the_top_down(groups, decay, factor):
    divided = 1.0
    for place in range(len(groups) - 1, -1, -1):
        groups[place].update(lr=factor * groups[place]["initial_lr"] / divided)
        divided *= decay


def moves_initial(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group["initial_lr"] = group["initial_lr"] / decay**depth
        group["lr"] = group["initial_lr"] * factor


def new_groups(groups, decay, factor):
    return [dict(group, lr=group["initial_lr"] * factor) for group in groups]


def rests_at_zero(groups, decay, factor):
    if factor:
        set_rates(groups, decay, factor)


test_set_rates_right = accepts("adaptation.set_rates", in_single_precision, from_the_top_down)
test_set_rates_wrong = rejects(
    "adaptation.set_rates",
    (rates_as_given, 0, "the code as it was given"),
    (new_groups, 1, "or the groups are not changed in place"),
    (moves_initial, 1, "The next step needs `initial_lr` as it is"),
    (rated(lambda g, depth, decay: g["lr"] / decay**depth), 2, "Each step starts from `initial_"),
    (lambda groups, decay, factor: set_rates(groups, decay, factor**2), 3, "each rate is half"),
    (rests_at_zero, 3, "A factor of 0 is treated like any other"),
    (rated(lambda g, depth, decay: 0.09 / decay**depth), 4, "from its own `initial_lr`"),
    (rated(lambda g, n, decay: g["initial_lr"] / decay ** min(n, 2)), 5, "The ratio of two"),
)


def test_the_rates_as_given_are_those_of_a_single_group():
    given = [{"lr": 0.1, "initial_lr": 0.1} for _ in range(4)]
    rates_as_given(given, 2.6, 0.5)
    assert {group["lr"] for group in given} == {0.05}


# own_scheme


@pytest.mark.parametrize("name", ["prefix tuning", "with the LM loss"])
def test_a_scheme_of_the_course_with_another_schedule_passes(name):
    mine = replace(SCHEMES[name], name="mine", schedule=SlantedTriangular(0.3))
    report = check(task, lambda: mine)
    assert report.passed, report.message
    assert ("does not start as the base model" in report.message) == (name == "prefix tuning")


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


def test_the_reference_is_a_value_and_gets_no_remark():
    assert Scheme.from_plain(own_scheme().to_plain(), (SmallByBlock,)) == own_scheme()
    assert "remark" not in check(task, own_scheme).message


def no_parameter(classifier):
    scale = torch.ones((), requires_grad=True)
    classifier.head.register_forward_hook(lambda module, given, out: scale * out)


def deep_head(classifier):
    width, labels = classifier.head.in_features, classifier.head.out_features
    classifier.head = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, labels))


def head_first(classifier, added):
    return dict(reversed(ByLayer()(classifier, added).items()))


def no_head(classifier, added):
    return {"all of it": Group(tuple(added), 4.0)}


def a_number(classifier):
    return lambda *given: nats(*given).item()


def live_start(classifier):
    start = dict(classifier.named_parameters())
    return lambda model, batch: sum(
        ((p - start[name]) ** 2).sum() for name, p in model.named_parameters()
    )


@pytest.mark.parametrize(
    ("stage", "knobs", "said"),
    [
        (is_new, {"groups": head_first}, "a knob that is a value to save, got head_first; write"),
        (adds, {"edit": deep_head}, "the edit replaced the head"),
        (adds, {"edit": no_parameter}, "the edit added no parameter"),
        (moves, {"edit": LoRA(), "groups": no_head}, "the head is in no group"),
        (paces, {"groups": head_first, "schedule": GradualUnfreezing()}, "the head stands still"),
        (adds_to_loss, {"extra_loss": a_number}, "the extra loss has no gradient"),
        (adds_to_loss, {"extra_loss": live_start}, "the extra loss has no gradient"),
    ],
)
def test_what_is_odd_but_no_error_is_told(stage, knobs, said):
    assert said in stage(lambda: Scheme("mine", **knobs))


def _with(name="mine", **knobs):
    """A candidate that returns full fine-tuning with these knobs turned."""
    return lambda: Scheme(name, **knobs)


def _choosing(*named):
    """The second knob as groups of names, fixed beforehand."""
    return lambda classifier, added: {
        f"group {place}": Group(names) for place, names in enumerate(named)
    }


def _pace(factor):
    """The third knob from a function of (step, steps, names)."""
    return lambda steps, names: lambda step: factor(step, steps, names)


QUERY = "body.blocks.0.attention.query.weight"
SHARED = nn.Parameter(torch.zeros(3))


def shares(classifier):
    classifier.shift = SHARED


def unused(classifier):
    classifier.extra = nn.Linear(4, 4)


def nats(model, batch, reduction="mean"):
    return nn.functional.cross_entropy(model(*batch[:2]), batch[2], reduction=reduction)


def never_finite(classifier):
    return lambda model, batch: (model.head.bias - model.head.bias.detach()).norm().log()


def every_name(classifier):
    return tuple(name for name, _ in classifier.named_parameters())


test_own_scheme_right = accepts(
    "adaptation.own_scheme",
    _with(edit=Adapters(8), groups=AddedOnly(), schedule=OneCycle(), extra_loss=L2SP(0.1)),
    _with(groups=ByLayer(2.6), schedule=SequentialUnfreezing(Triangular())),
    _with(edit=deep_head),
)
test_own_scheme_wrong = rejects(
    "adaptation.own_scheme",
    (_with("LoRA", edit=LoRA()), 1, "Yours: 'LoRA'\nExpected: a name of its own"),
    (_with(edit=LoRA(layers=("value", "query")), groups=AddedOnly(4)), 1, "all as in 'LoRA'"),
    (_with(edit=LoRA), 1, "call it, `LoRA(...)`"),
    (_with(schedule=lambda step: 1.0), 1, "takes (step)\nExpected: one that takes 2"),
    (_with(edit=lambda classifier: Adapters()), 2, "Is a pair of brackets missing"),
    (_with(edit=shares), 2, "they share parameters"),
    (_with(edit=LoRA(), groups=HeadOnly()), 3, "none of them is in a group"),
    (_with(edit=LoRA(), groups=_choosing((QUERY,))), 3, f"Is it '{QUERY[:-6]}base.weight'?"),
    (_with(groups=_choosing("head.weight")), 3, "A tuple of one has a comma: `('head.bias',)`."),
    (_with(groups=_choosing(("head.bias",), ("head.bias",))), 3, "Yours: 'group 0' and 'group 1'"),
    (_with(groups=lambda classifier, added: {}), 3, "Yours: {}"),
    (_with(groups=lambda classifier, added: {"a": ("head.bias",)}), 3, "Expected: `Group("),
    (_with(groups=AddedOnly(0.0), edit=LoRA()), 3, "Expected: a number above 0"),
    (_with(schedule=_pace(lambda step, steps, names: {"head": 1.0})), 4, "no factor for the group"),
    (_with(schedule=_pace(lambda *given: torch.ones(1))), 4, "Yours: tensor([1.])"),
    (
        _with(schedule=_pace(lambda step, _, names: dict.fromkeys(names, step % 2))),
        4,
        "0 for every",
    ),
    (_with(schedule=_pace(lambda *given: {"body": 1.0, "head": 0.0})), 4, "Yours: 0 at every step"),
    (_with(schedule=GradualUnfreezing(Triangular)), 4, "`Triangular` for `Triangular()`"),
    (_with(extra_loss=lambda classifier: lambda *b: nats(*b, "none")), 5, "Expected: one number"),
    (_with(groups=lambda model, _: {"all": Group(every_name(model), 1e-6)}), 6, "at least 1e-3"),
    (_with(edit=unused, groups=AddedOnly()), 6, "'extra.bias' first"),
    (_with(extra_loss=never_finite), 6, "does the extra loss divide by 0?"),
    (_with(extra_loss=lambda classifier: lambda *b: -3 * nats(*b)), 6, "or of the wrong sign"),
)
