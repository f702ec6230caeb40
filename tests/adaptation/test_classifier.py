import math
import re

import pytest
import torch

from tlcourse.adaptation import (
    POOLINGS,
    Adapters,
    Classifier,
    LoRA,
    Prefixes,
    Recipe,
    Unchanged,
    adapt,
    classification_loss,
    encode,
    misclassified,
)
from tlcourse.batching import pad
from tlcourse.bpe import CLS, PAD, SEP, Tokenizer, normalise
from tlcourse.device import Compute
from tlcourse.transformer import Config, Transformer

LABELS = ["HUM", "LOC", "NUM"]
TEXTS = ["Who ran ?", "Where is the very old town ?", "When ?", "Who sang that song ?"] * 4
TARGETS = ["HUM", "LOC", "NUM", "HUM"] * 4
CPU = Compute(torch.device("cpu"), torch.float32, "explicit", False)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS, 280)


def make(tokenizer, pooling="mean", seed=0, causal=True, width=16, spread=0.1):
    torch.manual_seed(seed)
    body = Transformer(Config(tokenizer.vocabulary_size, width, 2, 2, 32, 48, causal), "explicit")
    for parameter in body.parameters():  # new blocks start as the identity: make them speak
        parameter.data.add_(spread * torch.randn_like(parameter))
    return Classifier(body, tokenizer, LABELS, pooling=pooling)


def state(classifier):
    return {name: value.clone() for name, value in classifier.state_dict().items()}


def moved(classifier, before):
    return {name for name, now in classifier.state_dict().items() if not now.equal(before[name])}


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_pooling_is_that_of_each_text_alone(tokenizer, pooling, causal):
    classifier = make(tokenizer, pooling, causal=causal).eval()
    sequences = encode(TEXTS[:4], tokenizer, 48)
    tokens, mask = pad(sequences, PAD)
    with torch.no_grad():
        together = classifier.pool(classifier.body.hidden(tokens, mask), mask)
        for row, sequence in enumerate(sequences):
            states = classifier.body.hidden(torch.tensor([sequence]))[0]  # no padding, no mask
            alone = {
                "classification token": states[-1],
                "last token": states[-2],
                "mean": torch.stack(list(states[:-1])).mean(dim=0),
                "concatenation": torch.cat(
                    [states[-2], states[:-1].max(dim=0).values, states[:-1].mean(dim=0)]
                ),
            }[pooling]
            torch.testing.assert_close(together[row], alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("edit", [Unchanged(), LoRA(layers="all"), Adapters(4), Prefixes(3)])
@pytest.mark.parametrize("pooling", ["classification token", "last token"])
def test_what_is_not_read_is_not_needed(tokenizer, pooling, edit, causal):
    """Logits and gradients are those of all positions."""
    classifier = make(tokenizer, pooling, causal=causal)
    classifier.add(edit)
    for parameter in classifier.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    tokens, mask = pad(encode(TEXTS[:4], tokenizer, 48), PAD)
    parameters, found = list(classifier.eval().parameters()), []
    for features in (
        lambda: classifier.features(tokens, mask),
        lambda: classifier.pool(classifier.body.hidden(tokens, mask), mask),
    ):
        logits = classifier.classify(features())
        nats = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2, 0]))
        found.append([logits, *torch.autograd.grad(nats, parameters)])
    for alone, whole in zip(*found, strict=True):
        torch.testing.assert_close(alone, whole, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_more_padding_changes_nothing(tokenizer, pooling):
    classifier = make(tokenizer, pooling).eval()
    tokens, mask = pad(encode(TEXTS[:4], tokenizer, 48), PAD)
    wider = torch.nn.functional.pad(tokens, (0, 7), value=CLS)  # whatever stands in a pad
    kept = torch.nn.functional.pad(mask, (0, 7))
    with torch.no_grad():
        torch.testing.assert_close(
            classifier(wider, kept), classifier(tokens, mask), atol=1e-5, rtol=1e-5
        )


def test_encode_normalises_cuts_and_ends_with_cls(tokenizer):
    short, long = encode(["  Who\tran ? ", "Where is the very old town ?"], tokenizer, 9)
    assert short == [*tokenizer.encode(normalise("Who ran ?")), CLS][-9:]
    assert long == [*tokenizer.encode(normalise("Where is the very old town ?"))[:8], CLS]
    assert CLS not in encode(["Who wrote <cls> ?"], tokenizer, 48)[0][:-1]


def test_a_text_with_nothing_in_it_is_named(tokenizer):
    with pytest.raises(ValueError, match="row 1, got '  '"):
        encode(["Who ?", "  "], tokenizer, 48)


def test_a_pair_is_two_texts_with_sep_between_and_cls_behind(tokenizer):
    def ids(text):
        return tokenizer.encode(normalise(text))

    found = encode(["Who ran ?", ("  Who\tran ? ", "When ?")], tokenizer, 48)
    assert found == [[*ids("Who ran ?"), CLS], [*ids("Who ran ?"), SEP, *ids("When ?"), CLS]]


def test_a_pair_that_is_too_long_loses_the_end_of_its_longer_part(tokenizer):
    words = [" ".join(["Who"] * count) for count in range(1, 12)]
    for first in words:
        for second in words:
            for most in (8, 9):
                kept = [tokenizer.encode(normalise(part)) for part in (first, second)]
                while len(kept[0]) + len(kept[1]) + 2 > most:  # Devlin et al. (2019) cut like this
                    kept[len(kept[0]) <= len(kept[1])].pop()
                (found,) = encode([(first, second)], tokenizer, most)
                assert found == [*kept[0], SEP, *kept[1], CLS]


@pytest.mark.parametrize("pair", [(" ", "When ?"), ("When ?", ""), ("Who ?", "When ?", "Where ?")])
def test_a_pair_that_is_none_is_named(tokenizer, pair):
    with pytest.raises(ValueError, match="in row 1, got " + re.escape(repr(pair))):
        encode([("Who ?", "When ?"), pair], tokenizer, 48)


def test_what_only_the_second_part_tells_is_learnt(tokenizer):
    pairs = [(first, second) for first in TEXTS[:2] for second in ("Who ran ?", "When ?")] * 4
    targets = ["HUM", "NUM", "HUM", "NUM"] * 4
    recipe = Recipe(epochs=40, learning_rate=3e-3, batch_size=8)
    classifier = adapt(make(tokenizer), pairs, targets, compute=CPU, recipe=recipe)
    assert misclassified(classifier.probabilities(pairs, compute=CPU), targets, LABELS) == []
    assert classifier.predict(pairs, compute=CPU) == targets


def test_an_unknown_pooling_is_refused(tokenizer):
    with pytest.raises(ValueError, match="mean, concatenation, got 'max'"):
        make(tokenizer, "max")


@pytest.mark.parametrize(
    ("texts", "labels", "said"),
    [
        (TEXTS, TARGETS[:-1], "as many labels as texts, got 15 and 16"),
        (TEXTS, [*TARGETS[:-1], "ABBR"], r"got also \['ABBR'\]"),
        ([*TEXTS[:-1], " "], TARGETS, "row 15"),
    ],
)
def test_wrong_input_is_told_before_anything_moves(tokenizer, texts, labels, said):
    classifier = make(tokenizer)
    before = state(classifier)
    with pytest.raises(ValueError, match=said):
        adapt(classifier, texts, labels, compute=CPU, recipe=Recipe(epochs=1))
    assert moved(classifier, before) == set()


def test_full_fine_tuning_moves_every_parameter_and_learns(tokenizer):
    classifier = make(tokenizer)
    before = state(classifier)
    recipe = Recipe(epochs=30, learning_rate=3e-3, batch_size=8)
    adapted = adapt(classifier, TEXTS, TARGETS, compute=CPU, recipe=recipe)
    history = adapted.report.history
    assert moved(adapted, before) == set(before)
    assert moved(classifier, before) == set()  # what is adapted is a copy
    assert history[-1]["loss"] < 0.2 * history[0]["loss"]
    assert misclassified(adapted.probabilities(TEXTS, compute=CPU), TARGETS, LABELS) == []


def test_what_asks_for_no_gradient_stays(tokenizer):
    classifier = make(tokenizer)
    classifier.body.requires_grad_(False)
    before = state(classifier)
    adapted = adapt(classifier, TEXTS, TARGETS, compute=CPU, recipe=Recipe(epochs=2))
    assert moved(adapted, before) == {"head.weight", "head.bias"}


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tokenizer):
    def weights(seed):
        recipe = Recipe(epochs=2, batch_size=4)  # dropout is on in training
        return adapt(start, TEXTS, TARGETS, compute=CPU, recipe=recipe, seed=seed).state_dict()

    start = make(tokenizer)

    first, again, other = weights(3), weights(3), weights(4)
    assert all(first[name].equal(again[name]) for name in first)
    assert not first["head.weight"].equal(other["head.weight"])


def test_steps_are_those_of_the_epochs_or_more(tokenizer):
    def steps(**recipe):
        recipe = Recipe(
            batch_size=6, **recipe
        )  # 16 texts: 3 steps an epoch, the last one of 4 texts
        seen = []
        adapted = adapt(
            make(tokenizer), TEXTS, TARGETS, compute=CPU, recipe=recipe, on_step=[seen.append]
        )
        assert seen == adapted.report.history
        return len(seen)

    assert (steps(epochs=2), steps(epochs=1, min_steps=7), steps(epochs=3, min_steps=7)) == (
        6,
        7,
        9,
    )


def test_the_head_moves_at_its_own_rate_and_the_last_step_hardly(tokenizer):
    # AdamW's first step is the rate times the sign of the gradient: rates can be read off.
    classifier = make(tokenizer)
    before = state(classifier)
    recipe = Recipe(epochs=1, batch_size=16, learning_rate=1e-3, weight_decay=0.0)
    after = adapt(classifier, TEXTS, TARGETS, compute=CPU, recipe=recipe).state_dict()
    step = {name: (value - before[name]).abs() for name, value in after.items()}
    assert step["head.weight"].max().item() == pytest.approx(3e-3, rel=1e-2)
    assert step["body.norm.weight"].max().item() == pytest.approx(1e-3, rel=1e-2)


def test_a_new_head_knows_nothing(tokenizer):
    classifier = make(tokenizer, spread=0.0).eval()
    tokens, mask = pad(encode(TEXTS, tokenizer, 48), PAD)
    targets = torch.tensor([LABELS.index(label) for label in TARGETS])
    with torch.no_grad():
        nats, count = classification_loss(classifier, (tokens, mask, targets))
    assert count == 16
    assert nats.item() / count == pytest.approx(math.log(3), abs=0.15)


def test_probabilities_keep_the_order_and_do_not_depend_on_the_batch(tokenizer):
    classifier = make(tokenizer)
    one_by_one = torch.cat([classifier.probabilities([text], compute=CPU) for text in TEXTS[:6]])
    together = classifier.probabilities(TEXTS[:6], compute=CPU, batch_size=4)
    torch.testing.assert_close(together, one_by_one, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together.sum(dim=-1), torch.ones(6))
    assert not classifier.training  # no dropout


def test_two_classifiers_on_one_body_share_its_weights_alone(tokenizer):
    first = make(tokenizer)
    second = Classifier(first.body, tokenizer, LABELS, dropout=0.4)
    rates = [{m.p for m in c.modules() if isinstance(m, torch.nn.Dropout)} for c in (first, second)]
    assert rates == [{0.1}, {0.4}]
    names = [name for name, _ in first.named_parameters()]
    second.add(LoRA())
    assert [name for name, _ in first.named_parameters()] == names
    with torch.no_grad():
        second.body.embedding.weight.zero_()
    assert not first.body.embedding.weight.any()


def test_wrong_gives_the_numbers_of_the_questions():
    probabilities = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5], [0.1, 0.8, 0.1]])
    assert misclassified(probabilities, ["HUM", "LOC", "LOC"], LABELS) == [1]
    with pytest.raises(ValueError):
        misclassified(probabilities, ["HUM"], LABELS)


def test_a_training_ends_early_once_twenty_steps_are_below_what_is_asked(tokenizer):
    def history(stop_below):
        recipe = Recipe(epochs=60, learning_rate=3e-3, batch_size=8, stop_below=stop_below)
        adapted = adapt(make(tokenizer), TEXTS, TARGETS, compute=CPU, recipe=recipe)
        return [record["loss"] for record in adapted.report.history]

    whole = history(None)
    below = sum(whole[60:80]) / 20 + 1e-6
    means = [sum(whole[end - 20 : end]) / 20 for end in range(20, len(whole) + 1)]
    first = next(end for end, mean in enumerate(means, start=20) if mean < below)
    assert len(whole) == 120 and first <= 80
    assert history(below) == whole[:first]
