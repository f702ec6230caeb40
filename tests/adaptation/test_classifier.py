import math

import pytest
import torch

from tests.adaptation import made
from tests.adaptation.made import CPU, LABELS, TOKENIZER, make
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
from tlcourse.bpe import CLS, PAD, SEP, normalise

TEXTS, TARGETS = 4 * made.TEXTS, 4 * made.LABELLED


def state(classifier):
    return {name: value.clone() for name, value in classifier.state_dict().items()}


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_pooling_is_that_of_each_text_alone(pooling, causal):
    classifier = make(pooling, causal=causal).eval()
    sequences = encode(TEXTS[:4], TOKENIZER, 48)
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
def test_what_is_not_read_is_not_needed(pooling, edit, causal):
    """Logits and gradients are those of all positions."""
    classifier = make(pooling, causal=causal)
    classifier.add(edit)
    for parameter in classifier.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    tokens, mask = pad(encode(TEXTS[:4], TOKENIZER, 48), PAD)
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
def test_more_padding_changes_nothing(pooling):
    classifier = make(pooling).eval()
    tokens, mask = pad(encode(TEXTS[:4], TOKENIZER, 48), PAD)
    wider = torch.nn.functional.pad(tokens, (0, 7), value=CLS)  # whatever stands in a pad
    kept = torch.nn.functional.pad(mask, (0, 7))
    with torch.no_grad():
        torch.testing.assert_close(
            classifier(wider, kept), classifier(tokens, mask), atol=1e-5, rtol=1e-5
        )


def test_encode_normalises_cuts_and_ends_with_cls():
    short, long = encode(["  Who\tran ? ", "Where is the very old town ?"], TOKENIZER, 9)
    assert short == [*TOKENIZER.encode(normalise("Who ran ?")), CLS][-9:]
    assert long == [*TOKENIZER.encode(normalise("Where is the very old town ?"))[:8], CLS]
    assert CLS not in encode(["Who wrote <cls> ?"], TOKENIZER, 48)[0][:-1]


def test_a_pair_is_two_texts_with_sep_between_and_cls_behind():
    def ids(text):
        return TOKENIZER.encode(normalise(text))

    found = encode(["Who ran ?", ("  Who\tran ? ", "When ?")], TOKENIZER, 48)
    assert found == [[*ids("Who ran ?"), CLS], [*ids("Who ran ?"), SEP, *ids("When ?"), CLS]]


def test_a_pair_that_is_too_long_loses_the_end_of_its_longer_part():
    words = [" ".join(["Who"] * count) for count in range(1, 12)]
    for first in words:
        for second in words:
            for most in (8, 9):
                kept = [TOKENIZER.encode(normalise(part)) for part in (first, second)]
                while len(kept[0]) + len(kept[1]) + 2 > most:  # Devlin et al. (2019) cut like this
                    kept[len(kept[0]) <= len(kept[1])].pop()
                (found,) = encode([(first, second)], TOKENIZER, most)
                assert found == [*kept[0], SEP, *kept[1], CLS]


def test_what_only_the_second_part_tells_is_learnt():
    pairs = [(first, second) for first in TEXTS[:2] for second in ("Who ran ?", "When ?")] * 4
    targets = ["HUM", "NUM", "HUM", "NUM"] * 4
    recipe = Recipe(epochs=40, learning_rate=3e-3, batch_size=8)
    classifier = adapt(make(), pairs, targets, compute=CPU, recipe=recipe)
    assert misclassified(classifier.probabilities(pairs, compute=CPU), targets, LABELS) == []
    assert classifier.predict(pairs, compute=CPU) == targets


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    def weights(seed):
        recipe = Recipe(epochs=2, batch_size=4)  # dropout is on in training
        return adapt(start, TEXTS, TARGETS, compute=CPU, recipe=recipe, seed=seed).state_dict()

    start = make()

    first, again, other = weights(3), weights(3), weights(4)
    assert all(first[name].equal(again[name]) for name in first)
    assert not first["head.weight"].equal(other["head.weight"])


def test_steps_are_those_of_the_epochs_or_more():
    def steps(**recipe):
        how = {"compute": CPU, "recipe": Recipe(batch_size=6, **recipe)}  # 3 steps an epoch
        seen = []
        adapted = adapt(make(), TEXTS, TARGETS, on_step=[seen.append], **how)
        assert seen == adapted.report.history
        return len(seen)

    assert [steps(epochs=2), steps(epochs=3, min_steps=7)] == [6, 9]
    assert steps(epochs=1, min_steps=7) == 7


def test_the_head_moves_at_its_own_rate_and_the_last_step_hardly():
    # AdamW's first step is the rate times the sign of the gradient: rates can be read off.
    classifier = make()
    before = state(classifier)
    recipe = Recipe(epochs=1, batch_size=16, learning_rate=1e-3, weight_decay=0.0)
    after = adapt(classifier, TEXTS, TARGETS, compute=CPU, recipe=recipe).state_dict()
    step = {name: (value - before[name]).abs() for name, value in after.items()}
    assert step["head.weight"].max().item() == pytest.approx(3e-3, rel=1e-2)
    assert step["body.norm.weight"].max().item() == pytest.approx(1e-3, rel=1e-2)


def test_a_new_head_knows_nothing():
    classifier = make(spread=0.0).eval()
    tokens, mask = pad(encode(TEXTS, TOKENIZER, 48), PAD)
    targets = torch.tensor([LABELS.index(label) for label in TARGETS])
    with torch.no_grad():
        nats, count = classification_loss(classifier, (tokens, mask, targets))
    assert count == 16
    assert nats.item() / count == pytest.approx(math.log(3), abs=0.15)


def test_probabilities_keep_the_order_and_do_not_depend_on_the_batch():
    classifier = make()
    one_by_one = torch.cat([classifier.probabilities([text], compute=CPU) for text in TEXTS[:6]])
    together = classifier.probabilities(TEXTS[:6], compute=CPU, batch_size=4)
    torch.testing.assert_close(together, one_by_one, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together.sum(dim=-1), torch.ones(6))
    assert not classifier.training  # no dropout


def test_two_classifiers_on_one_body_share_its_weights_alone():
    first = make()
    second = Classifier(first.body, TOKENIZER, LABELS, dropout=0.4)
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


def test_a_training_ends_early_once_twenty_steps_are_below_what_is_asked():
    def history(stop_below):
        recipe = Recipe(epochs=60, learning_rate=3e-3, batch_size=8, stop_below=stop_below)
        adapted = adapt(make(), TEXTS, TARGETS, compute=CPU, recipe=recipe)
        return [record["loss"] for record in adapted.report.history]

    whole = history(None)
    below = sum(whole[60:80]) / 20 + 1e-6
    means = [sum(whole[end - 20 : end]) / 20 for end in range(20, len(whole) + 1)]
    first = next(end for end, mean in enumerate(means, start=20) if mean < below)
    assert len(whole) == 120 and first <= 80
    assert history(below) == whole[:first]
