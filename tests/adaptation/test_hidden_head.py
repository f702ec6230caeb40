"""The head of two blocks: what it computes, how it is trained, that it comes back, its limits."""

import pytest
import torch
from torch.nn import functional as F

from tests.adaptation.made import CPU, LABELLED, TEXTS, TOKENIZER, make
from tlcourse.adaptation import (
    SCHEMES,
    ByLayer,
    Classifier,
    GradualUnfreezing,
    HiddenHead,
    OneCycle,
    Recipe,
    Scheme,
    Tagger,
    TwoBlocks,
    adapt,
)
from tlcourse.batching import pad

RECIPE = Recipe(epochs=12, learning_rate=1e-2, batch_size=4)
WHOLE = Scheme("ULMFiT", edit=HiddenHead(6), groups=ByLayer(2.6), schedule=GradualUnfreezing())


def adapted(scheme: Scheme = WHOLE, recipe: Recipe = RECIPE, **more) -> Classifier:
    start = make("concatenation", **more)
    texts, labels = 4 * TEXTS, 4 * LABELLED
    return adapt(start, texts, labels, scheme=scheme, recipe=recipe, compute=CPU)


def normalised(x):
    return (x - x.mean(dim=0)) / (x.var(dim=0, unbiased=False) + 1e-5).sqrt()


def test_two_blocks_compute_what_their_name_says():
    torch.manual_seed(0)
    head, x = TwoBlocks(5, 3, width=4, dropout=0.0), 3 + 2 * torch.randn(8, 5)
    into, out = head[2], head[6]
    hidden = F.relu(F.linear(normalised(x), into.weight, into.bias))
    expected = F.linear(normalised(hidden), out.weight, out.bias)
    torch.testing.assert_close(head(x), expected, atol=1e-5, rtol=1e-4)


def test_a_batch_of_one_text_is_normalised_by_earlier_ones():
    torch.manual_seed(0)
    head = TwoBlocks(5, 3, width=4, dropout=0.0)
    head(torch.randn(8, 5))
    kept = {name: buffer.clone() for name, buffer in head.named_buffers()}
    row = torch.randn(1, 5)
    torch.testing.assert_close(head(row), head.eval()(row))
    assert all(kept[name].equal(buffer) for name, buffer in head.named_buffers())


def test_dropout_stands_behind_the_norms_and_has_the_rate_of_the_classifier():
    start = make("concatenation", dropout=0.25)
    start.add(HiddenHead(6))
    assert [part.p for part in start.head if isinstance(part, torch.nn.Dropout)] == [0.25] * 2
    seen = []
    start.head[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    features = torch.randn(3, 48)
    start.train().classify(features)
    assert torch.equal(seen[0], features)


def test_it_is_trained_as_the_head_and_in_time():
    done = adapted()
    assert set(done.report.moved) == set(done.report.declared)
    heads = {name for name, _ in done.named_parameters() if name.startswith("head.")}
    assert heads == set(done.added) and len(heads) == 8
    groups = ByLayer()(done, done.added)
    assert set(groups["head"].names) == heads
    assert done.report.history[-1]["loss"] < 0.8 * done.report.history[0]["loss"]


@pytest.mark.parametrize("schedule", [OneCycle(), GradualUnfreezing(OneCycle())])
def test_it_comes_back_with_its_running_statistics(schedule, tmp_path):
    scheme = Scheme("mine", edit=HiddenHead(6), groups=ByLayer(2.6), schedule=schedule)
    done = adapted(scheme, dropout=0.2)
    assert done.head[0].running_mean.abs().max() > 0
    done.save(tmp_path / "mine")
    found = Classifier.load(tmp_path / "mine", compute=CPU)
    assert found.scheme == scheme and found.head[1].p == 0.2
    answers = [each.probabilities(TEXTS, compute=CPU) for each in (done, found)]
    assert torch.equal(*answers)
    again = adapt(found, TEXTS, LABELLED, scheme=scheme, recipe=RECIPE, compute=CPU)
    assert type(again.head) is TwoBlocks


def test_a_frozen_body_is_read_once():
    scheme = Scheme("head", edit=HiddenHead(6), groups=SCHEMES["frozen body"].groups)
    done = adapted(scheme)
    tokens, mask = pad(done.encode(TEXTS))
    with torch.no_grad():
        expected = done.eval().classify(done.features(tokens, mask)).softmax(dim=-1)
    torch.testing.assert_close(done.probabilities(TEXTS, compute=CPU), expected)


def test_what_it_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="width: expected a whole number at least 1, got 0"):
        HiddenHead(0)
    tagger = Tagger(make().body, TOKENIZER, ["O", "X"])
    with pytest.raises(ValueError, match="one vector of a text for this head, got Tagger; choose"):
        tagger.add(HiddenHead())
