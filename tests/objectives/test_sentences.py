"""Pairs of segments: labels by counting, heads as BERT has them, and no length that tells."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F
from transformers import BertConfig, BertForMaskedLM, BertForPreTraining

from tlcourse import huggingface
from tlcourse.batching import generator_for
from tlcourse.bpe import CLS, MASK, SEP, SPECIALS
from tlcourse.objectives import NextSentence, QuickThoughts, SentenceOrder
from tlcourse.transformer import Config, bert

FIRST = len(SPECIALS)
ROWS, LENGTH, SIZE = 400, 23, 10_000
CONFIG = Config(60, 16, 2, 2, 32, 40)
WINDOWS = torch.arange(FIRST, FIRST + ROWS * LENGTH).view(ROWS, LENGTH)  # no id repeats
HALF = 10  # of a window of 23, with `<cls>` and two `<sep>`


def halves(pairs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The segments of `<cls> first <sep> second <sep>`, whose frame is checked."""
    assert pairs.shape == (ROWS, 3 + 2 * HALF)
    for place, special in ((0, CLS), (1 + HALF, SEP), (2 + 2 * HALF, SEP)):
        assert (pairs[:, place] == special).all()
    return pairs[:, 1 : 1 + HALF], pairs[:, 2 + HALF : 2 + 2 * HALF]


def test_nsp_takes_the_second_half_of_another_row_half_of_the_time():
    corrupted, pairs, chosen, labels = NextSentence().batch(WINDOWS, generator_for(1), SIZE)
    first, second = halves(pairs)
    assert torch.equal(first, WINDOWS[:, :HALF])
    follows = (second == WINDOWS[:, HALF : 2 * HALF]).all(dim=1)
    assert torch.equal(follows, labels == 0)  # never its own half under the label 1
    origin = (second[:, 0] - FIRST) // LENGTH
    assert torch.equal(second, WINDOWS[origin, HALF : 2 * HALF])
    assert labels.float().mean().item() == pytest.approx(0.5, abs=0.08)
    assert not chosen[pairs < FIRST].any() and torch.equal(corrupted[~chosen], pairs[~chosen])
    assert (corrupted[chosen] == MASK).float().mean().item() == pytest.approx(0.8, abs=0.03)


def test_nsp_needs_another_row():
    with pytest.raises(ValueError, match="expected at least 2 rows"):
        NextSentence().batch(WINDOWS[:1], generator_for(1), SIZE)


def test_sop_swaps_half_of_the_time():
    _, pairs, _, labels = SentenceOrder().batch(WINDOWS, generator_for(1), SIZE)
    first, second = halves(pairs)
    one, two = WINDOWS[:, :HALF], WINDOWS[:, HALF : 2 * HALF]
    swapped = labels.bool()
    assert torch.equal(first[~swapped], one[~swapped])
    assert torch.equal(second[~swapped], two[~swapped])
    assert torch.equal(first[swapped], two[swapped])
    assert torch.equal(second[swapped], one[swapped])
    assert labels.float().mean().item() == pytest.approx(0.5, abs=0.08)


def best_of_lengths(first: torch.Tensor, second: torch.Tensor, labels: torch.Tensor) -> float:
    """The accuracy of the best rule that sees only which segment is longer."""
    right, kinds = 0.0, (first > second).long() - (first < second).long()
    for kind in kinds.unique():
        counts = labels[kinds == kind].bincount(minlength=2)
        right += counts.max().item()
    return right / len(labels)


@pytest.mark.parametrize("length", [22, 23, 24])
def test_lengths_tell_nothing_about_the_order(length: int):
    _, pairs, _, labels = SentenceOrder().batch(WINDOWS[:, :length], generator_for(1), SIZE)
    separator = (pairs == SEP).long().argmax(dim=1)
    lengths = separator - 1, pairs.shape[1] - separator - 2
    chance = labels.bincount().max().item() / len(labels)
    assert best_of_lengths(*lengths, labels) == chance
    # Had the first segment the odd token, swapping would move it, and lengths would tell all.
    uneven = torch.where(labels.bool(), HALF, HALF + 1), torch.where(labels.bool(), HALF + 1, HALF)
    assert best_of_lengths(*uneven, labels) == 1.0


def test_a_window_that_is_too_short_is_refused():
    with pytest.raises(ValueError, match="at least 5 tokens, got 4"):
        SentenceOrder().batch(WINDOWS[:, :4], generator_for(1), SIZE)


@pytest.mark.parametrize("objective", [NextSentence, SentenceOrder])
def test_the_loss_is_a_mean_of_tokens_plus_a_mean_of_labels(objective):
    tokens = torch.randint(FIRST, 60, (8, 30), generator=generator_for(1))
    torch.manual_seed(0)
    model = objective(0.3).model(CONFIG)
    for parameter in model.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    batch = objective(0.3).batch(tokens, generator_for(2), 60)
    corrupted, pairs, chosen, labels = batch
    hidden = model.body.hidden(corrupted)
    of_tokens = F.cross_entropy(model.body.logits(hidden)[chosen], pairs[chosen])
    of_labels = F.cross_entropy(model.pair_logits(hidden), labels)
    nats, targets = objective(0.3).loss(model, batch)
    assert targets == int(chosen.sum())
    assert (nats / targets).item() == pytest.approx((of_tokens + of_labels).item(), rel=1e-5)
    nats, targets = objective(0.0).loss(model, batch)
    assert targets == 8
    assert (nats / targets).item() == pytest.approx(of_labels.item(), rel=1e-5)


def test_heads_and_loss_are_those_of_bert_for_pretraining():
    torch.manual_seed(0)
    shape = BertConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=40,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    theirs = BertForPreTraining(shape).eval()
    for parameter in theirs.parameters():
        parameter.data.add_(0.2 * torch.randn_like(parameter))
    config = bert(vocabulary_size=60, width=32, layers=2, heads=2, feed_forward=64, max_length=40)
    model = NextSentence().model(config).eval()
    masked = BertForMaskedLM(shape)
    left = masked.load_state_dict(theirs.state_dict(), strict=False)
    assert not left.missing_keys
    model.body.load_state_dict(huggingface.from_huggingface(masked.eval()).state_dict())
    model.pooler.load_state_dict(theirs.bert.pooler.dense.state_dict())
    model.classifier.load_state_dict(theirs.cls.seq_relationship.state_dict())

    tokens = torch.randint(FIRST, 60, (6, 30), generator=generator_for(1))
    batch = NextSentence(0.4).batch(tokens, generator_for(2), 60)
    corrupted, pairs, chosen, labels = batch
    first = torch.zeros_like(pairs)
    first[:, pairs.shape[1] // 2 + 1 :] = 1  # after the first `<sep>`
    with torch.no_grad():
        found = theirs(
            corrupted, token_type_ids=first, labels=pairs.masked_fill(~chosen, -100),
            next_sentence_label=labels,
        )  # fmt: skip
        hidden = model.hidden(corrupted)
        logits = model.pair_logits(hidden)
        nats, targets = NextSentence(0.4).loss(model, batch)
    torch.testing.assert_close(logits, found.seq_relationship_logits, rtol=1e-4, atol=1e-5)
    assert (nats / targets).item() == pytest.approx(found.loss.item(), rel=1e-4)


def test_types_change_after_the_first_separator():
    model = NextSentence().model(replace(CONFIG, token_types=2))
    seen = []
    model.body.types.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model.hidden(torch.tensor([[CLS, 9, 9, SEP, 9, 9, SEP]]))
    assert seen[0].tolist() == [[0, 0, 0, 0, 1, 1, 1]]


def test_quick_thoughts_chooses_among_the_second_halves_of_the_batch():
    objective = QuickThoughts()
    first, second = objective.batch(WINDOWS, generator_for(1), SIZE)
    assert torch.equal(torch.cat([first, second], dim=1), WINDOWS[:, :22])
    tokens = torch.randint(FIRST, 60, (5, 16), generator=generator_for(1))
    torch.manual_seed(0)
    model = objective.model(CONFIG).eval()
    for parameter in model.parameters():
        parameter.data.add_(0.2 * torch.randn_like(parameter))
    expected = 0.0
    for row in range(5):
        vector = model.first(model.body.hidden(tokens[row, None, :8]).mean(dim=1))[0]
        scores = torch.stack(
            [
                vector @ model.second(model.body.hidden(tokens[other, None, 8:]).mean(dim=1))[0]
                for other in range(5)
            ]
        )
        expected -= scores.log_softmax(0)[row].item()
    nats, targets = objective.loss(model, objective.batch(tokens, generator_for(1), 60))
    assert (nats.item(), targets) == pytest.approx((expected, 5), rel=1e-4)
