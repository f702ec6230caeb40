"""What is refused, in one line that says what was expected and what came; each kind in a table."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from datasets import Dataset
from ignite.engine import Events

from tests.adaptation.made import CPU, LABELLED, LABELS, TEXTS, make
from tlcourse.adaptation import (
    EWC,
    FULL,
    L2SP,
    SCHEMES,
    Adapters,
    AddedOnly,
    ByLayer,
    Classifier,
    GradualUnfreezing,
    Group,
    HeadOnly,
    LanguageModelling,
    LayerMix,
    LoRA,
    Named,
    OneCycle,
    Prefixes,
    Recipe,
    Scheme,
    SlantedTriangular,
    TopLayers,
    Triangular,
    adapt,
    fisher,
    self_train,
)

RECIPE = Recipe(epochs=1, batch_size=4)
TABLE = Dataset.from_dict({"text": TEXTS, "label": LABELLED}).to_pandas()


@pytest.fixture
def start():
    return make(spread=0.0)


def run(start, scheme=FULL, texts=TEXTS, labels=LABELLED, recipe=RECIPE, **more):
    return adapt(start, texts, labels, scheme=scheme, recipe=recipe, compute=CPU, **more)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ("Who ran ?", r"texts in a list, or one column of a table, got 'Who ran \?'"),
        (None, "texts in a list, or one column of a table, got None"),
        (TABLE, "got a DataFrame"),
        (Dataset.from_pandas(TABLE), "got a Dataset"),
        (dict(zip(TEXTS, LABELLED, strict=True)), "got a dict"),
        (set(TEXTS), "got a set"),
        ([{"text": "Who ?", "label": "HUM"}], "a pair of texts in row 0, got {'text'"),
        (["Who ?", None], "in row 1, got None"),
        (["Who ?", float("nan")], "in row 1, got nan"),
        ([("Who ?", None)], r"in row 0, got \('Who \?', None\)"),
        (["Who ?", "caf\udce9"], r"in row 1, got 'caf\\udce9', which contains half a"),
        ([b"Who ?"], "in row 0, got b'Who"),
        (["Who ?", "  "], "in row 1, got '  '"),
        ([("Who ?", "When ?"), (" ", "When ?")], r"in row 1, got \(' ', 'When \?'\)"),
        ([("When ?", "")], r"in row 0, got \('When \?', ''\)"),
        ([("Who ?", "When ?", "Where ?")], r"in row 0, got \('Who \?', 'When \?', 'Where"),
    ],
)
def test_what_is_no_list_of_texts(start, texts, said):
    with pytest.raises(ValueError, match=said):
        start.predict(texts, compute=CPU)
    with pytest.raises(ValueError, match=said):
        run(start, texts=texts)


PROBABILITIES = [[0.5, 0.5, 0.0]] * 3


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (LABELLED[:3], "as many labels as texts, got 3 and 4"),
        ("HUM", "expected labels in a list, .* got 'HUM'"),
        ([0, 1, 2, 0], r"got also \[0, 1, 2\]; give the names: \[names\[number\] for"),
        (torch.tensor([0, 1, 2, 0]), r"got also \[0, 1, 2\]; give the names"),
        (np.array([0, 1, 2, 0]), r"got also \[0, 1, 2\]; give the names"),
        ([None, "z", "HUM", "LOC"], r"got also \['z', None\]"),
        ([*LABELLED[:3], float("nan")], r"got also \[nan\]"),
        (torch.tensor([*PROBABILITIES, [torch.nan] * 3]), r"sum to 1, got \[nan, .* in row 3"),
        (torch.tensor([*PROBABILITIES, [2.0, 0.0, -1.0]]), "sum to 1, .* in row 3"),
        (np.array([*PROBABILITIES, [1.0, 1.0, 1.0]]), "sum to 1, .* in row 3"),
        (np.ones((4, 2)), r"3 labels for each text, got a tensor of shape \(4, 2\)"),
        (np.array(PROBABILITIES), "as many labels as texts, got 3 and 4"),
    ],
)
def test_what_are_no_labels_of_the_texts(start, labels, said):
    with pytest.raises(ValueError, match=said):
        run(start, labels=labels)


@pytest.mark.parametrize(
    "label", ["", " ", "a\nb", "a\tb", "a\x1bb", "a\u2028b", "\u200b", "\ud800"]
)
def test_a_label_stands_in_one_line(label):
    with pytest.raises(ValueError, match="labels of one line, without control characters, got "):
        make(labels=["HUM", label])


def test_whatever_holds_texts_and_labels_in_order_is_taken(start):
    want = run(start).state_dict()
    one_hot = np.eye(3)[[LABELS.index(label) for label in LABELLED]]
    index = [7, 3, 9, 1]
    for texts, labels in [
        (tuple(TEXTS), iter(LABELLED)),
        (TABLE["text"].set_axis(index), TABLE["label"].set_axis(index)),
        (Dataset.from_pandas(TABLE)["text"], np.array(LABELLED)),
        ((text for text in TEXTS), one_hot),
        (np.array(TEXTS), one_hot.astype(int)),
    ]:
        found = run(start, texts=texts, labels=labels).state_dict()
        assert all(torch.allclose(found[name], want[name], atol=1e-6) for name in want)
    with pytest.raises(ValueError, match="at least one text"):
        run(start, texts=[], labels=[])


def test_of_no_text_there_is_no_answer(start):
    assert start.probabilities([], compute=CPU).shape == (0, 3)
    assert start.predict([], compute=CPU) == []


@pytest.mark.parametrize("labels", [set(LABELS), "HUM", 3, ["HUM", "HUM"], ["HUM"], [0, 1], []])
def test_what_cannot_be_the_labels_of_a_classifier(labels):
    with pytest.raises(ValueError, match="expected (labels|at least two labels).*, got"):
        make(labels=labels)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"scheme": "LoRA"}, r"scheme: expected .*SCHEMES\['LoRA'\] .*, got 'LoRA'"),
        ({"scheme": LoRA(8)}, r"scheme: expected .*Scheme\(edit=.*, got LoRA\(rank=8"),
        ({"recipe": {"epochs": 3}}, r"recipe: expected one such as Recipe\(.*, got {'epochs': 3}"),
    ],
)
def test_what_is_no_scheme_or_no_recipe(start, how, said):
    with pytest.raises(ValueError, match=said):
        run(start, **how)


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"name": LoRA(8)}, r"name: expected a text, got LoRA\(.*write Scheme\(edit="),
        ({"edit": LoRA}, r"the knob `edit` is the class `LoRA`, .*: call it, `LoRA\(...\)`"),
        ({"edit": "LoRA"}, "the knob `edit` is 'LoRA'; expected a function or a value"),
        ({"edit": None}, "the knob `edit` is None; expected a function or a value"),
        ({"groups": AddedOnly}, r"the knob `groups` .*: call it, `AddedOnly\(...\)`"),
        ({"schedule": 0.1}, "the knob `schedule` is 0.1; expected a function or a value"),
        ({"extra_loss": L2SP}, r"the knob `extra_loss` .*: call it, `L2SP\(...\)`"),
        ({"groups": LoRA(8)}, r"the knob `groups` is LoRA\(.*; write `edit=` for it"),
        ({"edit": AddedOnly(8)}, r"the knob `edit` is AddedOnly\(.*; write `groups=` for it"),
    ],
)
def test_what_cannot_be_a_choice_of_a_scheme(choices, said):
    with pytest.raises(ValueError, match=said):
        Scheme(**choices)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Recipe(epochs=-1), "epochs: expected a whole number at least 1, got -1"),
        (lambda: Recipe(epochs=True), "epochs: expected a whole number at least 1, got True"),
        (lambda: Recipe(learning_rate=-1), "learning_rate: expected a number above 0, got -1"),
        (lambda: Recipe(learning_rate=float("nan")), "learning_rate: .* got nan"),
        (lambda: Recipe(learning_rate="1e-3"), "learning_rate: .* got '1e-3'"),
        (lambda: Recipe(batch_size=0), "batch_size: expected a whole number at least 1, got 0"),
        (lambda: Recipe(batch_size=32.0), "batch_size: expected a whole number"),
        (lambda: Recipe(weight_decay=-1), "weight_decay: expected a number at least 0, got -1"),
        (lambda: Recipe(min_steps=-1), "min_steps: expected a whole number at least 0, got -1"),
        (lambda: Recipe(stop_below=-1), "stop_below: expected a number at least 0, got -1"),
        (lambda: Recipe(head_learning_rate=0), "head_learning_rate: expected a number above 0"),
        (lambda: L2SP(-5), "strength: expected a number at least 0, got -5"),
        (lambda: EWC({}, -5), "strength: expected a number at least 0, got -5"),
        (lambda: EWC(0.03, 1.0), "importance: expected what `fisher` returns, got 0.03"),
        (lambda: LanguageModelling(-1), "weight: expected a number at least 0, got -1"),
        (lambda: AddedOnly(-1), "factor: expected a number at least 0, got -1"),
        (lambda: Group((), -1), "factor: expected a number at least 0, got -1"),
        (lambda: Named("bias", -1), "factor: expected a number at least 0, got -1"),
        (lambda: Named(()), r"endings: expected at least one text, got \(\)"),
        (lambda: Named(3), "endings: expected at least one text, got 3"),
        (lambda: ByLayer(0), "decay: expected a number above 0, got 0"),
        (lambda: TopLayers(0), "count: expected a whole number at least 1, got 0"),
        (lambda: Adapters(0), "bottleneck: expected a whole number at least 1, got 0"),
        (lambda: Prefixes(0), "length: expected a whole number at least 1, got 0"),
        (lambda: LoRA(0), "rank: expected a whole number at least 1, got 0"),
        (lambda: LoRA(layers=("queries",)), "layers: expected layers out of"),
        (lambda: LoRA(8, 0), "alpha: expected a number above 0, got 0"),
        (lambda: Triangular(3), "warmup: expected a number at least 0, at most 1, got 3"),
        (lambda: SlantedTriangular(ratio=0), "ratio: expected a number at least 1, got 0"),
        (lambda: OneCycle(peak=2), "peak: expected a number at least 0, at most 1, got 2"),
        (lambda: GradualUnfreezing(share=3), "share: expected .* at most 1, got 3"),
        (
            lambda: GradualUnfreezing(OneCycle(start=0.0))(10, ["body", "head"]),
            r"a shape above 0 in the first step, .* got OneCycle\(start=0.0",
        ),
        (lambda: GradualUnfreezing(0.5), "the knob `shape` is 0.5; expected a function"),
        (lambda: make(dropout=7), "dropout"),
    ],
)
def test_what_is_outside_its_range(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        (Scheme(groups=AddedOnly(8)), r"for AddedOnly to train, got none; .*groups=HeadOnly\(\)"),
        (Scheme(edit=LoRA(), groups=HeadOnly()), "none of its 8 tensors, first body.blocks.0"),
        (Scheme(edit=LayerMix(), groups=ByLayer()), "none of its 2 tensors, first mix."),
        (Scheme(edit=LoRA(), extra_loss=EWC({}, 1.0)), "importance: expected .* of the body"),
    ],
)
def test_what_would_silently_be_left_untrained(start, scheme, said):
    with pytest.raises(ValueError, match=said):
        run(start, scheme)


def test_ewc_beside_lora_names_what_has_no_importance(start):
    importance = {name: torch.ones_like(p) for name, p in start.body.named_parameters()}
    scheme = Scheme(edit=LoRA(), groups=AddedOnly(), extra_loss=EWC(importance, 1.0))
    with pytest.raises(ValueError, match="got none for 8, first blocks.0.attention.query.a"):
        run(start, scheme)
    start.body.requires_grad_(False)
    with pytest.raises(
        ValueError, match="without frozen parameters, got .* first embedding.weight"
    ):
        fisher(start.body, lambda body: body(torch.tensor([[7, 8]])).sum((1, 2)))


def test_what_is_added_by_hand_is_known_to_whoever_goes_on(start, tmp_path):
    added = start.add(LoRA())
    assert start.edit == LoRA() and start.added == added and len(added) == 8
    with pytest.raises(ValueError, match=r"or to continue with LoRA\(.*, got Prefixes\(.* on top"):
        start.add(Prefixes())
    for scheme in (Scheme(groups=AddedOnly()), SCHEMES["LoRA"]):
        assert set(added) < set(run(start, scheme).report.declared)
    head = run(start, Scheme(groups=HeadOnly())).report  # what was there before may stay
    assert set(head.moved) == {"head.weight", "head.bias"}
    start.save(tmp_path / "mine")
    assert Classifier.load(tmp_path / "mine").scheme == Scheme(edit=LoRA())


def test_a_class_that_was_defined_anew_is_told(start):
    def cell():
        @dataclass(frozen=True)
        class MyEdit:
            n: int = 1

            def __call__(self, classifier):
                classifier.mine = torch.nn.Linear(self.n, 1)

        return Scheme(edit=MyEdit())

    adapted = run(start, cell())
    with pytest.raises(ValueError, match=r"got .*MyEdit\(n=1\), whose class was redefined, on top"):
        run(adapted, cell())


@pytest.mark.parametrize("unlabelled", [(), [], "Who ?", ["Who ?", None]])
def test_self_training_wants_texts_before_it_trains(start, unlabelled, monkeypatch):
    monkeypatch.setattr(
        "tlcourse.adaptation.more_signal.adapt", lambda *_, **__: pytest.fail("it ran")
    )
    with pytest.raises(ValueError, match="unlabelled|row 1"):
        self_train(start, TEXTS, LABELLED, unlabelled=unlabelled)


def test_self_training_goes_by_order_not_by_index(start):
    unlabelled = TABLE["text"][2:]  # whose index begins at 2
    how = {"threshold": 0.0, "recipe": RECIPE, "compute": CPU}
    found = self_train(start, TEXTS, LABELLED, unlabelled=unlabelled, **how)
    again = self_train(start, TEXTS, LABELLED, unlabelled=list(unlabelled), **how)
    assert torch.equal(found.head.weight, again.head.weight)


def test_a_handler_can_end_the_training(start):
    def once_it_is_right(engine):
        @engine.on(Events.ITERATION_COMPLETED(every=2))
        def look():
            answers = engine.model.predict(TEXTS, compute=CPU)
            engine.model.train()
            if answers == LABELLED or engine.state.iteration == 6:
                engine.terminate()

    recipe = Recipe(epochs=50, batch_size=4)
    assert len(run(start, recipe=recipe, handlers=[once_it_is_right]).report.history) in (2, 4, 6)
