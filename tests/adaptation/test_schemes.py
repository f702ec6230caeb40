"""Declared = moved for every scheme at every stage, and the defining property of each."""

import copy
from dataclasses import replace
from functools import cache, partial

import pytest
import torch
from torch.nn import functional as F

from tests.adaptation import made
from tests.adaptation.made import CPU, LABELS, TOKENIZER
from tlcourse.adaptation import (
    EWC,
    FULL,
    L2SP,
    SCHEMES,
    AdapterLayer,
    ByLayer,
    ChainThaw,
    Classifier,
    GradualUnfreezing,
    Group,
    HeadOnly,
    LoRALinear,
    Mix,
    Named,
    OneCycle,
    Prefixes,
    Recipe,
    Scheme,
    SequentialUnfreezing,
    SlantedTriangular,
    TopLayers,
    Triangular,
    adapt,
    causal_nats,
    encode,
    fisher,
    merge_lora,
)
from tlcourse.batching import pad
from tlcourse.bpe import CLS, PAD
from tlcourse.transformer import Config, Transformer
from tlcourse.transformer.attention import rotary_table, rotate

TEXTS, LABELLED = 4 * made.TEXTS, 4 * made.LABELLED
make = partial(made.make, layers=4)
RECIPE = Recipe(epochs=3, batch_size=4, learning_rate=1e-3)  # 12 steps
LEARNS = Recipe(epochs=10, batch_size=4, learning_rate=1e-2)  # 40 steps


def run(scheme, classifier=None, recipe=RECIPE):
    start, how = classifier or make(), {"scheme": scheme, "recipe": recipe, "compute": CPU}
    adapted = adapt(start, TEXTS, LABELLED, **how)
    return adapted, adapted.report


@pytest.fixture(scope="module")
def trained():
    """A scheme's training, by its name, done once."""
    return cache(lambda name: run(SCHEMES[name], recipe=LEARNS))


@pytest.mark.parametrize("name", SCHEMES)
def test_each_scheme_changes_what_it_declares_alone_and_learns_the_texts(trained, name):
    classifier, found = trained(name)
    # Tokens that no text has get no gradient, but weight decay changes their rows all the same.
    assert set(found.moved) == set(found.declared)
    assert 0 < found.trained <= found.parameters
    assert found.parameters == sum(p.numel() for p in classifier.parameters())
    if name in ("mix of layers", "prefix tuning"):
        assert found.start_difference > 1e-4
    else:
        assert found.start_difference == 0.0
    losses = [record["loss"] for record in found.history]
    assert len(losses) == 40 and losses[-1] < 0.5 * losses[0]


def test_a_frozen_body_moves_again_in_the_next_adaptation_unless_it_was_frozen_before():
    classifier, _ = run(SCHEMES["frozen body"])
    names = {name for name, _ in classifier.named_parameters()}
    assert set(run(FULL, classifier)[1].moved) == names
    classifier.body.requires_grad_(False)
    for _ in range(2):
        classifier, found = run(FULL, classifier)
        assert set(found.moved) == {"head.weight", "head.bias"}
    classifier.requires_grad_(False)
    with pytest.raises(ValueError, match="expected groups"):
        run(FULL, classifier)


# Groups


def test_groups_are_the_sets_that_they_say():
    classifier = make()
    names = {name for name, _ in classifier.named_parameters()}
    layers = ByLayer(2.0)(classifier, [])
    assert list(layers) == ["embedding", "block 0", "block 1", "block 2", "block 3", "head"]
    assert [group.factor for group in layers.values()] == [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 3.0]
    together = [name for group in layers.values() for name in group.names]
    assert sorted(together) == sorted(names)
    assert layers["embedding"].names == ("body.embedding.weight",)
    assert {name for name in layers["block 3"].names if ".blocks." not in name} == {
        "body.norm.weight",
        "body.norm.bias",
    }
    post = make(norm_first=False)  # its norm stands before the blocks
    assert {name.split(".")[1] for name in ByLayer()(post, [])["block 3"].names} == {"blocks"}
    top = TopLayers(2)(classifier, [])
    assert set(top["top 2"].names) == {*layers["block 2"].names, *layers["block 3"].names}
    biases = Named("bias")(classifier, [])["bias"].names
    assert set(biases) == {n for n in names if n.endswith(".bias") and n.startswith("body.")}
    assert set(HeadOnly()(classifier, [])["head"].names) == {"head.weight", "head.bias"}


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (TopLayers(5), "1 to 4 blocks to train, got 5"),
        (Named("bais"), "found none in the body; the nearest is body.norm.bias"),
        (lambda c, a: {"a": Group(("head.wait",))}, "head.wait.*; did you mean head.weight?"),
        (lambda c, a: {"a": Group(("head.bias",) * 2)}, "twice: .'head.bias'"),
        (lambda c, a: {"a": Group(())}, "empty: .'a'"),
        (lambda c, a: {}, "expected groups"),
    ],
)
def test_groups_that_cannot_be_are_told(choice, said):
    with pytest.raises(ValueError, match=said):
        run(Scheme("wrong", groups=choice))


def test_one_choice_of_endings_is_one_value():
    assert Named("bias") == Named(("bias",)) == Named(["bias"]) != Named(["bias", "weight"])
    assert str(Named(("bias",))) == "Named(endings='bias', factor=1.0)"
    assert hash(Named(["bias", "weight"])) == hash(Named(("bias", "weight")))


# Schedules


@pytest.mark.parametrize("shape", [Triangular(), SlantedTriangular(), OneCycle()])
def test_shapes_rise_to_one_and_fall(shape):
    factor = shape(100, ["head"])
    values = [factor(step) for step in range(100)]
    top = values.index(max(values))
    assert max(values) == pytest.approx(1.0)
    assert values[: top + 1] == sorted(values[: top + 1])
    assert values[top:] == sorted(values[top:], reverse=True)
    assert 0 < values[-1] < 0.06


def test_slanted_triangular_is_equation_3_of_its_paper():
    steps, cut, ratio = 200, 0.1, 32
    factor = SlantedTriangular(cut, ratio)(steps, ["head"])
    turn = int(steps * cut)
    for step in range(steps):
        p = step / turn if step < turn else 1 - (step - turn) / (turn * (1 / cut - 1))
        assert factor(step) == pytest.approx((1 + p * (ratio - 1)) / ratio)


NAMES = ["embedding", "block 0", "block 1", "head"]


def stages_of(schedule, steps=40):
    """What moves, each time that it changes."""
    factors, seen = schedule(steps, NAMES), []
    for step in range(steps):
        moving = [name for name, factor in factors(step).items() if factor > 0]
        if not seen or seen[-1] != moving:
            seen.append(moving)
    return seen


def test_stages_are_those_of_the_papers():
    flat = Triangular()
    assert stages_of(GradualUnfreezing(flat)) == [NAMES[3:], NAMES[2:], NAMES[1:], NAMES]
    assert stages_of(SequentialUnfreezing(flat)) == [NAMES[-1:], NAMES[1:], NAMES]
    assert stages_of(ChainThaw(flat)) == [["head"], *([name] for name in NAMES), NAMES]


@pytest.mark.parametrize(
    "schedule",
    [
        Triangular(),
        SlantedTriangular(),
        OneCycle(),
        GradualUnfreezing(SlantedTriangular()),
        ChainThaw(Triangular()),
        SequentialUnfreezing(Triangular()),
    ],
)
def test_the_ratio_of_two_rates_stays_whenever_both_move(schedule, monkeypatch):
    rates, original = [], torch.optim.AdamW.step

    def step(self, *arguments):
        rates.append({group["name"]: group["lr"] for group in self.param_groups})
        return original(self, *arguments)

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    run(Scheme("rates", groups=ByLayer(2.6), schedule=schedule))
    assert len(rates) == 12
    for each in rates:
        if each["embedding"] > 0 and each["head"] > 0:
            assert each["embedding"] / each["head"] == pytest.approx(2.6**-4 / 3.0)
    assert any(each["embedding"] > 0 for each in rates)


@pytest.mark.parametrize("schedule", [GradualUnfreezing, ChainThaw, SequentialUnfreezing])
def test_at_every_step_what_is_frozen_stays_with_its_optimizer_state(schedule, monkeypatch):
    built, adamw = [], torch.optim.AdamW

    class Watched(adamw):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            built.append(self)

        def step(self, *arguments):
            before = [
                [(p.clone(), copy.deepcopy(self.state.get(p, {}))) for p in group["params"]]
                for group in self.param_groups
            ]
            result = super().step(*arguments)
            for group, kept in zip(self.param_groups, before, strict=True):
                for parameter, (value, state) in zip(group["params"], kept, strict=True):
                    now = self.state.get(parameter, {})
                    same = parameter.equal(value) and all(
                        torch.equal(now[key], state[key]) for key in state
                    )
                    assert same == (group["lr"] == 0), group["name"]
                    assert group["lr"] > 0 or now.keys() == state.keys()
            return result

    monkeypatch.setattr(torch.optim, "AdamW", Watched)
    scheme = Scheme("stages", groups=ByLayer(), schedule=schedule(Triangular()))
    found = run(scheme)[1]
    assert len(built) == 1 and set(found.moved) == set(found.declared)


# Edits


def test_merged_lora_gives_the_same_logits_from_a_plain_model():
    classifier, _ = run(SCHEMES["LoRA"], recipe=replace(RECIPE, learning_rate=1e-2))
    tokens, mask = pad(encode(TEXTS, TOKENIZER, 48), PAD)
    plain = [name for name, _ in make().named_parameters()]
    with torch.no_grad():
        before = classifier.eval()(tokens, mask)
        merged = merge_lora(classifier)
        after = merged.eval()(tokens, mask)
        assert torch.equal(classifier(tokens, mask), before)
        for module in classifier.modules():
            if isinstance(module, LoRALinear):
                module.b.zero_()
        without = classifier(tokens, mask)
    assert [name for name, _ in merged.named_parameters()] == plain
    assert merged.scheme is None
    torch.testing.assert_close(after, before, atol=1e-5, rtol=1e-5)
    assert (without - before).abs().max() > 1e-3


@pytest.mark.parametrize("rotary", [False, True])
def test_a_prefix_is_what_an_explicit_mask_over_longer_keys_gives(rotary):
    classifier = make()
    torch.manual_seed(3)
    Prefixes(3)(classifier)
    attention = classifier.body.blocks[0].attention
    attention.prefix.data.normal_()
    x = torch.randn(2, 5, 16)
    real = torch.tensor([[True] * 5, [True, True, True, False, False]])
    mask = torch.ones(5, 5, dtype=torch.bool).tril() & real[:, None, None, :]
    query, key, value = (
        layer(x).view(2, 5, 2, 8).transpose(1, 2)
        for layer in (attention.query, attention.key, attention.value)
    )
    if attention.config.qk_norm:
        query, key = (F.rms_norm(part, (8,)) for part in (query, key))
    table = rotary_table(5, 8) if rotary else None
    if rotary:  # a prefix has no place, and is not turned
        query, key = (rotate(part, table) for part in (query, key))
    expected = torch.zeros(2, 2, 5, 8)
    for row in range(2):
        for head in range(2):
            for place in range(5):
                keys = [attention.prefix[0, head, i] for i in range(3)]
                values = [attention.prefix[1, head, i] for i in range(3)]
                for other in range(place + 1):
                    if real[row, other]:
                        keys.append(key[row, head, other])
                        values.append(value[row, head, other])
                scores = torch.stack(keys) @ query[row, head, place] / 8**0.5
                expected[row, head, place] = scores.softmax(0) @ torch.stack(values)
    expected = attention.output(expected.transpose(1, 2).reshape(2, 5, 16))
    for kernel in ("explicit", "sdpa"):
        attention.kernel = kernel
        found = attention.eval()(x, mask, table)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_adapters_stand_where_the_papers_put_them():
    for name, count in (("Houlsby adapters", 8), ("Pfeiffer adapters", 4)):
        classifier = make()
        SCHEMES[name].edit(classifier)
        found = [n for n, m in classifier.named_modules() if isinstance(m, AdapterLayer)]
        assert len(found) == count
        assert sum(n.endswith("attention.output") for n in found) == count - 4


def test_a_mix_begins_as_the_mean_of_the_layers():
    states = torch.randn(3, 2, 4)
    mix = Mix(3)
    torch.testing.assert_close(mix(states), states.mean(0))
    mix.weights.data = torch.tensor([0.0, 50.0, 0.0])
    mix.scale.data = torch.tensor(2.0)
    torch.testing.assert_close(mix(states), 2 * states[1])


@pytest.mark.parametrize("name", ["frozen body", "mix of layers"])
def test_features_that_are_computed_once_train_the_same_head(name):
    """Against a scheme whose extra loss of zero makes it read every batch anew."""
    scheme = SCHEMES[name]
    anew = replace(scheme, extra_loss=lambda start: lambda model, batch: torch.zeros(()))
    once, _ = run(scheme, make(dropout=0.0))
    again, _ = run(anew, make(dropout=0.0))
    for (name, a), (_, b) in zip(once.named_parameters(), again.named_parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4, msg=name)


# Losses


def test_l2_sp_is_half_the_strength_times_the_squared_distance():
    classifier = make()
    term = L2SP(0.5)(classifier)
    assert term(classifier, ()).item() == 0.0
    with torch.no_grad():
        classifier.body.norm.bias += 2.0  # 16 numbers
        classifier.head.bias += 7.0  # was never pretrained
    assert term(classifier, ()).item() == pytest.approx(0.25 * 16 * 4.0)


def test_l2_sp_keeps_the_body_nearer_to_where_it_was():
    def distance(scheme):
        start = make()
        classifier, _ = run(scheme, recipe=replace(RECIPE, epochs=10))
        return sum(
            (a - b).pow(2).sum().item()
            for a, b in zip(start.body.parameters(), classifier.body.parameters(), strict=True)
        )

    strong = Scheme("L2-SP", extra_loss=L2SP(10.0))
    assert distance(strong) < 0.5 * distance(FULL)


def test_the_fisher_information_of_a_logistic_regression_has_a_closed_form():
    torch.manual_seed(0)
    x, targets = torch.randn(40, 3), torch.randint(2, (40,)).float()
    model = torch.nn.Linear(3, 1)
    found = fisher(
        model, lambda m: -F.binary_cross_entropy_with_logits(m(x)[:, 0], targets, reduction="none")
    )
    off = targets - model(x)[:, 0].sigmoid()
    torch.testing.assert_close(found["weight"], (off[:, None] * x).pow(2).mean(0)[None].detach())
    torch.testing.assert_close(found["bias"], off.pow(2).mean()[None].detach())


def test_ewc_weighs_each_distance_by_its_importance():
    classifier = make()
    importance = {n: torch.full_like(p, 3.0) for n, p in classifier.body.named_parameters()}
    term = EWC(importance, 2.0)(classifier)
    with torch.no_grad():
        classifier.body.norm.bias += 1.0
    assert term(classifier, ()).item() == pytest.approx(3.0 * 16)


def test_the_lm_loss_counts_no_pad():
    classifier = make(dropout=0.0).eval()
    sequences = encode(TEXTS[:3], TOKENIZER, 48)
    tokens, mask = pad(sequences, PAD)
    nats, count = 0.0, 0
    with torch.no_grad():
        for sequence in sequences:
            row = torch.tensor([sequence])
            scores = classifier.body(row).log_softmax(-1)[0]
            for place, token in enumerate(sequence[1:-1]):  # <cls>, at the end, is no text
                nats, count = nats - scores[place, token].item(), count + 1
        found = causal_nats(classifier.body, tokens, mask)
        none = causal_nats(classifier.body, torch.tensor([[7, CLS]] * 2), mask[:2, :2])
    assert found.item() == pytest.approx(nats / count, rel=1e-5)
    assert none.item() == 0.0  # one token before <cls>: there is nothing to predict


def test_a_two_sided_body_has_no_causal_loss():
    body = Transformer(Config(TOKENIZER.vocabulary_size, 16, 1, 2, 32, 48, causal=False))
    with pytest.raises(ValueError, match="causal body"):
        run(SCHEMES["with the LM loss"], Classifier(body, TOKENIZER, LABELS))


def test_certain_probabilities_teach_what_labels_teach():
    targets = torch.tensor([LABELS.index(label) for label in LABELLED])
    certain = F.one_hot(targets, len(LABELS)).float()
    taught = []
    for labels in (LABELLED, certain):
        adapted = adapt(make(), TEXTS, labels, compute=CPU, recipe=RECIPE)
        taught.append(adapted.state_dict())
    for name, value in taught[0].items():
        torch.testing.assert_close(value, taught[1][name], atol=1e-5, rtol=1e-4)
    with pytest.raises(ValueError, match="3 labels for each text"):
        adapt(make(), TEXTS, certain[:, :2], compute=CPU, recipe=RECIPE)


def test_the_rates_of_a_scheme_are_the_groups_factors_times_the_schedule():
    start = made.make()
    names, rows = Scheme(groups=ByLayer(), schedule=GradualUnfreezing()).rates(start, 20)
    assert names[-1] == "head" and len(rows) == len(names) and {len(row) for row in rows} == {20}
    assert rows[0][0] == 0 < rows[0][-1] and rows[-1][0] > 0
    (body, head), (slow, fast) = FULL.rates(start, 20)
    assert (body, head) == ("body", "head") and fast == [pytest.approx(3 * each) for each in slow]
