"""Texts that are longer than the body reads at once."""

import pytest
import torch

from tests.adaptation.made import CPU, LABELS, TEXTS, make
from tlcourse.adaptation import (
    POOLINGS,
    WINDOWS,
    LanguageModelling,
    LayerMix,
    Recipe,
    Scheme,
    adapt,
    causal_nats,
    windows,
)
from tlcourse.batching import pad
from tlcourse.bpe import CLS, PAD, Tokenizer


def rows(*lengths):
    """Rows of so many different ids and `<cls>`."""
    return pad([[*range(10, 10 + length), CLS] for length in lengths], PAD)


def test_windows_hold_every_word_once_are_about_equally_long_and_end_with_cls():
    tokens, mask = rows(3, 30, 9, 10)
    cut, kept, owner = windows.split(tokens, mask, 10, frame=Tokenizer.frame)
    found = [ids[here].tolist() for ids, here in zip(cut, kept, strict=True)]
    assert owner.tolist() == [0, 1, 1, 1, 1, 2, 3, 3]
    assert all(len(ids) <= 10 and ids[-1] == CLS for ids in found)
    for row, length in enumerate((3, 30, 9, 10)):
        mine = [ids[:-1] for ids, of in zip(found, owner.tolist(), strict=True) if of == row]
        assert sum(mine, []) == list(range(10, 10 + length))
        assert max(map(len, mine)) - min(map(len, mine)) <= len(mine)


def test_features_are_averaged_over_the_windows_of_a_text():
    features = torch.tensor([[1.0, 2], [3, 4], [5, 6], [7, 8]])
    found = windows.averaged(features, torch.tensor([0, 1, 1, 1]))
    assert found.tolist() == [[1, 2], [5, 6]]
    mixed = features[:, None].expand(-1, 3, -1)
    assert windows.averaged(mixed, torch.tensor([0, 0, 1, 1]))[1, 2].tolist() == [6, 7]


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_long_text_is_the_mean_of_its_windows_and_a_short_one_is_as_it_was(pooling):
    classifier = make(pooling=pooling).eval()
    longest = classifier.body.config.max_length
    tokens, mask = rows(5, longest - 1, 2 * longest, 3 * (longest - 1))
    found = classifier.features(tokens % 100, mask)
    for row, count in enumerate((5, longest - 1)):
        alone = classifier.features(
            tokens[row : row + 1, : count + 1] % 100, mask[row : row + 1, : count + 1]
        )
        torch.testing.assert_close(found[row], alone[0], atol=1e-5, rtol=1e-5)
    words = tokens[3, : 3 * (longest - 1)].view(3, -1) % 100
    parts = torch.cat([words, torch.full((3, 1), CLS)], dim=1)
    mean = classifier.features(parts, torch.ones_like(parts).bool()).mean(0)
    torch.testing.assert_close(found[3], mean, atol=1e-5, rtol=1e-5)


def test_encode_reads_so_many_windows_of_a_text_and_one_of_a_pair():
    classifier = make()
    longest = classifier.body.config.max_length
    long = "Who ran ? " * 500
    single, pair = classifier.encode([long, (long, "When ?")])
    assert len(single) == WINDOWS * (longest - 1) + 1 and single[-1] == CLS
    assert len(pair) == longest
    assert len(windows.split(*pad([single], PAD), longest, frame=Tokenizer.frame)[0]) == WINDOWS


def test_what_stands_behind_the_first_window_is_learnt_and_adapt_says_how_many():
    classifier = make()
    longest = classifier.body.config.max_length
    filler = "ran ? " * (longest // 2 + 4)  # longer than a window by itself
    texts = [filler + last for last in TEXTS[:2]] * 4 + TEXTS[:2]
    labels = ["HUM", "NUM"] * 5
    recipe = Recipe(epochs=100, learning_rate=3e-3, batch_size=5)
    adapted = adapt(classifier, texts, labels, recipe=recipe, compute=CPU)
    assert adapted.predict(texts, compute=CPU) == labels
    assert adapted.report.in_windows == 8


@pytest.mark.parametrize(
    "scheme", [Scheme(extra_loss=LanguageModelling()), Scheme(edit=LayerMix())]
)
def test_other_losses_and_edits_read_windows_too(scheme):
    classifier = make()
    texts = ["Who ran ? " * 60, "When ?"]
    recipe = Recipe(epochs=1, batch_size=2)
    adapted = adapt(classifier, texts, LABELS[:2], scheme=scheme, recipe=recipe, compute=CPU)
    assert adapted.report.in_windows == 1


def test_the_language_loss_of_a_long_text_is_that_of_its_windows():
    body = make().body.eval()
    tokens, mask = rows(2 * (body.config.max_length - 1))
    tokens = tokens % 100
    tokens[0, -1] = CLS
    halves = tokens[0, :-1].view(2, -1)
    apart = torch.cat([halves, torch.full((2, 1), CLS)], dim=1)
    with torch.no_grad():
        together = causal_nats(body, tokens, mask)
        parts = causal_nats(body, apart, torch.ones_like(apart).bool())
    assert together.item() == pytest.approx(parts.item(), rel=1e-5)
