"""Every objective: it is a value, its batches are pure, and its loss is the plain one and falls."""

import copy
from dataclasses import FrozenInstanceError, replace

import pytest
import torch
from torch.nn import functional as F

from tests.models import PLAIN, noisy
from tlcourse import objectives
from tlcourse.batching import generator_for
from tlcourse.bpe import EOS, MASK, PAD, SPECIALS
from tlcourse.objectives import (
    MASS,
    BidirectionalLM,
    Denoising,
    Hybrid,
    Masked,
    NextSentence,
    NextToken,
    PermutationLM,
    PrefixLM,
    QuickThoughts,
    ReplacedTokens,
    SentenceOrder,
    SpanCorruption,
    SpanMasked,
    StaticMasked,
    UniLM,
    WholeWordMasked,
)
from tlcourse.pretraining import optimizers_for
from tlcourse.recipes import PretrainingRecipe
from tlcourse.recurrent import BiLSTM
from tlcourse.training import train
from tlcourse.transformer import Config, EncoderDecoder, Transformer, XLNet

SIZE = 40  # of the vocabulary
CONFIG = Config(SIZE, 32, 2, 2, 64, 40)
BEGINS = tuple(number % 2 == 0 for number in range(SIZE))
ENDS = tuple(number % 10 == 9 for number in range(SIZE))
VALUES = [
    NextToken(),
    Masked(),
    StaticMasked(),
    WholeWordMasked(begins_word=BEGINS),
    SpanMasked(),
    PrefixLM(),
    UniLM(),
    Hybrid(),
    SpanCorruption(sentinels=20),
    objectives.bart(ENDS),
    objectives.denoising_autoencoder(),
    *(Denoising((noise,), 0.3, ENDS) for noise in objectives.NOISES),
    MASS(),
    NextSentence(),
    SentenceOrder(),
    QuickThoughts(),
    ReplacedTokens(),
    PermutationLM(),
    BidirectionalLM(),
]
DEPENDS_ON_THE_BATCH = {NextSentence, SentenceOrder, QuickThoughts, ReplacedTokens}
names = [f"{type(value).__name__}-{'-'.join(getattr(value, 'noises', ()))}" for value in VALUES]
each = pytest.mark.parametrize("objective", VALUES, ids=names)
SEQUENCES = [value for value in VALUES if hasattr(value, "noises")] + [SpanCorruption(), MASS()]


def text(seed: int, rows: int = 12, length: int = 24) -> torch.Tensor:
    """A toy text: each token is, in most cases, the one before plus one; rows start anywhere."""
    start = torch.randint(SIZE, (rows, 1), generator=generator_for(seed, 7))
    ids = (start + torch.arange(length)) % (SIZE - len(SPECIALS))
    return ids + len(SPECIALS)


def batch_of(objective, seed: int = 0, **shape: int) -> tuple[torch.Tensor, ...]:
    length = shape.pop("length", 24)
    tokens = text(seed, length=length + objective.extra, **shape)
    return objective.batch(tokens, generator_for(seed, 3), SIZE)


def model_of(objective, config: Config = CONFIG, noise: float = 0.1):
    """A model whose parameters are all random, so that nothing starts as the identity."""
    torch.manual_seed(0)
    model = objective.model(config)
    for parameter in model.parameters():
        parameter.data.add_(noise * torch.randn_like(parameter))
    return model.eval()


@each
def test_an_objective_is_a_value(objective):
    same = copy.deepcopy(objective)
    assert same == objective and hash(same) == hash(objective)
    assert sum(other == objective for other in VALUES) == 1
    assert type(objective).__name__ in repr(objective) and len(repr(objective)) < 100
    with pytest.raises(FrozenInstanceError):
        objective.probability = 1.0


@each
def test_a_batch_is_a_function_of_its_arguments_and_fits_the_model(objective):
    tokens = text(1, length=24 + objective.extra)
    before = tokens.clone()
    one, two = (objective.batch(tokens, generator_for(2), SIZE) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    assert torch.equal(tokens, before)
    assert {len(part) for part in one} == {len(tokens)}  # so a batch can be cut into rows
    nats, targets = objective.loss(objective.model(replace(CONFIG, max_length=26)), one)
    assert nats.shape == () and nats.isfinite() and targets > 0


@each
def test_the_loss_falls_in_30_steps(objective):
    torch.manual_seed(1)
    model = objective.model(CONFIG)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    held_out = batch_of(objective, 100, rows=100)

    def loss() -> float:
        with torch.no_grad():
            nats, targets = objective.loss(model, held_out)
        return (nats / targets).item()

    before = loss()
    for step in range(30):
        nats, targets = objective.loss(model, batch_of(objective, step, rows=24))
        optimizer.zero_grad()
        (nats / targets).backward()
        optimizer.step()
    assert loss() < 0.97 * before


@each
def test_the_body_is_a_model_whose_weights_are_trained(objective):
    model = model_of(objective)
    body = objective.body(model)
    others = {PermutationLM: XLNet, BidirectionalLM: BiLSTM}
    assert type(body) is others.get(type(objective), Transformer)
    nats, _ = objective.loss(model, batch_of(objective))
    nats.backward()
    assert all(p.grad is not None and p.grad.any() for p in body.parameters() if p.ndim == 2)
    assert body.hidden(text(0)).shape == (12, 24, 32)


@each
def test_a_model_has_what_optimizers_and_kernels_need(objective):
    model = model_of(objective)
    optimizers = optimizers_for(model, PretrainingRecipe())
    given = {id(p) for each in optimizers for group in each.param_groups for p in group["params"]}
    assert given == {id(p) for p in model.parameters()}
    batch = batch_of(objective)
    fused = objective.loss(model, batch)[0].item()
    model.set_attention("explicit")
    assert objective.loss(model, batch)[0].item() == pytest.approx(fused, rel=1e-4)


@each
def test_the_engine_trains_it_in_micro_batches(objective):
    whole, parts = (
        train(
            model_of(objective),
            objective.loss,
            lambda step: batch_of(objective, step),
            steps=1,
            compute=PLAIN,
            accumulate=accumulate,
        )[0]
        for accumulate in (1, 2)
    )
    # Two losses with a weight, and candidates from the batch, depend on how it is cut.
    tolerance = 0.5 if type(objective) in DEPENDS_ON_THE_BATCH else 1e-5
    assert parts["loss"] == pytest.approx(whole["loss"], rel=tolerance)


def plain(logits: torch.Tensor, targets: torch.Tensor, chosen: torch.Tensor) -> tuple[float, int]:
    """The field's way: full logits, and -100 where there is nothing to predict."""
    labels = targets.masked_fill(~chosen, -100)
    return F.cross_entropy(logits.transpose(1, 2), labels, reduction="sum").item(), int(
        chosen.sum()
    )


@pytest.mark.parametrize("objective", VALUES[1:5], ids=names[1:5])
def test_masked_losses_are_those_over_full_logits(objective):
    model, (corrupted, tokens, chosen) = model_of(objective), batch_of(objective)
    nats, targets = objective.loss(model, (corrupted, tokens, chosen))
    assert (nats.item(), targets) == pytest.approx(
        plain(model(corrupted), tokens, chosen), rel=1e-5
    )


def test_the_next_token_s_loss_is_that_over_full_logits():
    objective = NextToken()
    model, (tokens,) = model_of(objective), batch_of(objective)
    everywhere = torch.ones_like(tokens[:, 1:], dtype=torch.bool)
    expected = plain(model(tokens[:, :-1]), tokens[:, 1:], everywhere)
    nats, targets = objective.loss(model, (tokens,))
    assert (nats.item(), targets) == pytest.approx(expected, rel=1e-5)


def test_both_directions_are_those_over_full_logits():
    objective = BidirectionalLM()
    model, (tokens,) = model_of(objective), batch_of(objective)
    after, before = model(tokens)
    everywhere = torch.ones_like(tokens[:, 1:], dtype=torch.bool)
    expected = plain(after[:, :-1], tokens[:, 1:], everywhere)[0]
    expected += plain(before[:, 1:], tokens[:, :-1], everywhere)[0]
    nats, targets = objective.loss(model, (tokens,))
    assert (nats.item(), targets) == pytest.approx((expected, 2 * 12 * 24), rel=1e-5)


@pytest.mark.parametrize("objective", SEQUENCES)
def test_the_losses_of_sequences_are_those_over_full_logits_without_padding(objective):
    model, (source, target) = model_of(objective), batch_of(objective)
    logits = model(target[:, :-1], source=source, source_mask=source != PAD)
    expected = plain(logits, target[:, 1:], target[:, 1:] != PAD)
    nats, targets = objective.loss(model, (source, target))
    assert (nats.item(), targets) == pytest.approx(expected, rel=1e-5)


# What a prefix may see.


def by_hand(model: Transformer, row: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Logits (length, vocabulary) of one row under a mask (length, length) that is written out."""
    hooks = [
        block.attention.register_forward_pre_hook(
            lambda _, inputs: (inputs[0], allowed[None, None], *inputs[2:])
        )
        for block in model.blocks
    ]
    try:
        return model(row[None])[0]
    finally:
        for hook in hooks:
            hook.remove()


@pytest.mark.parametrize("attention", ["sdpa", "explicit"])
@pytest.mark.parametrize("causal", [True, False])
def test_prefixes_are_masks_made_by_hand(attention: str, causal: bool):
    model = noisy(replace(CONFIG, causal=causal), 0.2, attention)
    tokens = text(0, rows=5, length=8)
    prefix = torch.tensor([0, 1, 3, 7, 8])
    logits = model.logits(model.hidden(tokens, causal=prefix))
    for row, length, found in zip(tokens, prefix.tolist(), logits, strict=True):
        allowed = torch.tensor(
            [[key <= query or key < length for key in range(8)] for query in range(8)]
        )
        torch.testing.assert_close(found, by_hand(model, row, allowed), rtol=1e-4, atol=1e-5)


def test_a_prefix_of_nothing_is_causal_and_one_of_everything_is_bidirectional():
    model, tokens = noisy(CONFIG, 0.2), text(0, rows=2, length=8)
    padded = torch.ones_like(tokens, dtype=torch.bool)
    padded[1, 5:] = False
    for mask in (None, padded):
        found = model.hidden(tokens, mask, causal=torch.tensor([0, 8]))
        expected = model.hidden(tokens, mask, causal=torch.tensor([True, False]))
        torch.testing.assert_close(found, expected)


def test_a_prefix_lm_predicts_exactly_what_it_does_not_see():
    objective = PrefixLM()
    inputs, targets, chosen, prefix = batch_of(objective, rows=500)
    assert set(prefix.tolist()) == set(range(1, 24))
    model = model_of(objective)
    few = (inputs[:6], targets[:6], chosen[:6], prefix[:6])
    expected, count = 0.0, 0
    for row, answers, length in zip(inputs[:6], targets[:6], prefix[:6].tolist(), strict=True):
        for place in range(length - 1, 24):  # the target is token `place` + 1 of the text
            seen = row[None, : place + 1]  # nothing later is even handed in
            logits = model.logits(model.hidden(seen, causal=torch.tensor([length])))
            expected -= logits[0, -1].log_softmax(-1)[answers[place]].item()
            count += 1
    nats, number = objective.loss(model, few)
    assert (nats.item(), number) == pytest.approx((expected, count), rel=1e-4)


@pytest.mark.parametrize("attention", ["sdpa", "explicit"])
@pytest.mark.parametrize("causal", [True, False])
def test_a_mask_of_any_kind_is_the_one_made_by_hand(attention: str, causal: bool):
    model = noisy(replace(CONFIG, causal=causal), 0.2, attention)
    tokens, draw = text(0, rows=3, length=8), generator_for(1)
    masks = (torch.rand(3, 8, 8, generator=draw) < 0.5) | torch.eye(8).bool()
    padding = torch.ones(3, 8).bool()
    padding[1, 5:] = False
    for mask in (None, padding):
        logits = model.logits(model.hidden(tokens, mask, causal=masks))
        for row, allowed, found, real in zip(tokens, masks, logits, padding, strict=True):
            if mask is not None:
                allowed = allowed & real
            expected = by_hand(model, row, allowed)
            torch.testing.assert_close(found[real], expected[real], rtol=1e-4, atol=1e-5)


def test_unilm_is_four_models_with_the_same_weights():
    objective = UniLM(0.4)
    model = model_of(objective)
    corrupted, tokens, chosen, masks = batch_of(objective, rows=12)
    left_to_right = Transformer(replace(CONFIG, causal=True))
    left_to_right.load_state_dict(model.state_dict())
    past, seen, expected = torch.ones(24, 24).bool().tril(), set(), 0.0
    for i, row in enumerate(corrupted):
        if i % 6 == 0:
            logits = left_to_right(row[None])[0]
        elif i % 3 == 1:
            logits = model(row[None])[0]
        elif i % 6 == 3:
            logits = by_hand(model, row, past.T)
        else:
            length = int(masks[i, 0].sum())  # what the first position sees: the prefix
            seen.add(length)
            logits = by_hand(model, row, past | (torch.arange(24) < length))
        expected += F.cross_entropy(logits[chosen[i]], tokens[i][chosen[i]], reduction="sum").item()
    nats, targets = objective.loss(model, (corrupted, tokens, chosen, masks))
    assert (nats.item(), targets) == pytest.approx((expected, int(chosen.sum())), rel=1e-4)
    assert len(seen) > 1 and all(0 < length < 24 for length in seen)


@pytest.mark.parametrize("config", [CONFIG, replace(CONFIG, rotary=False)], ids=["rotary", "table"])
def test_what_unilm_s_rows_depend_on_one_token_at_a_time(config: Config):
    """Which outputs change with a token: those at it and on the side that is read."""
    model = model_of(UniLM(), config)
    tokens, _, _, masks = batch_of(UniLM(), rows=6)
    before, places = model.hidden(tokens, causal=masks), torch.arange(24)
    prefix = masks[:, 0].sum(dim=1)
    for place in range(24):
        other = tokens.clone()
        other[:, place] = (tokens[:, place] + 1) % SIZE
        changed = (model.hidden(other, causal=masks) - before).abs().amax(-1) > 1e-6
        everywhere, later = torch.ones(24).bool(), places >= place
        assert torch.equal(changed[0], later)
        assert torch.equal(changed[3], places <= place)
        for row in (1, 4):
            assert torch.equal(changed[row], everywhere)
        for row in (2, 5):
            assert torch.equal(changed[row], everywhere if place < prefix[row] else later)


def test_from_right_to_left_a_text_has_the_distances_of_the_text():
    """Rotary distances keep their sign, so it is not the text reversed and read to the right."""
    model, tokens = model_of(UniLM()), text(0, rows=1)
    past = torch.ones(1, 24, 24).bool().tril()
    found = model.hidden(tokens, causal=past.mT)
    reversed_text = model.hidden(tokens.flip(1), causal=past).flip(1)
    assert not torch.allclose(found, reversed_text, atol=1e-3)
    assert torch.allclose(found[:, -1], model.hidden(tokens[:, -1:])[:, 0], atol=1e-5)


# Encoder-decoders.


def test_span_corruption_s_model_has_the_sentinels_and_its_targets_a_start():
    objective = SpanCorruption(sentinels=9)
    model = objective.model(CONFIG)
    assert isinstance(model, EncoderDecoder)
    assert model.config.vocabulary_size == SIZE + 9
    source, target = batch_of(objective)
    hidden, spans = objectives.span_counts(24)
    assert source.shape[1] == 24 - hidden + spans
    assert target.shape[1] == 1 + hidden + spans + 1
    assert (target[:, 0] == EOS).all() and (target[:, -1] == SIZE + spans).all()


def test_too_few_sentinels_are_noticed_before_an_embedding_fails():
    with pytest.raises(ValueError, match="expected at least 2 sentinels for 24 tokens, got 1"):
        batch_of(SpanCorruption(sentinels=1))
    batch_of(SpanCorruption(sentinels=2))


@pytest.mark.parametrize("noise", objectives.NOISES)
def test_denoising_writes_the_whole_text(noise: str):
    source, target = batch_of(Denoising((noise,), 0.3, ENDS))
    assert torch.equal(target[:, 1:], text(0)) and (target[:, 0] == EOS).all()
    assert not torch.equal(source, text(0))
    assert source.shape[1] <= 24


def test_noises_apply_in_their_order():
    source, _ = batch_of(Denoising(("masking", "deletion"), 0.5))
    assert (source == PAD).any() and (source == MASK).any()


def test_misuse_of_denoising_says_what_was_expected():
    with pytest.raises(ValueError, match="expected a noise out of masking, deletion"):
        Denoising(("typos",))
    with pytest.raises(ValueError, match="expected ends_sentence"):
        Denoising(("permutation",))
    with pytest.raises(ValueError, match="expected begins_word for 40 ids, got 0"):
        batch_of(WholeWordMasked())


def test_mass_writes_exactly_the_hidden_half():
    source, target = batch_of(MASS())
    assert target.shape == (12, 13) and (target[:, 0] == MASK).all()
    for row, hidden, answer in zip(text(0), source, target[:, 1:], strict=True):
        start = int((row == answer[0]).nonzero()[0])
        assert torch.equal(row[start : start + 12], answer)
        assert torch.equal(hidden[:start], row[:start])
        assert torch.equal(hidden[start + 12 :], row[start + 12 :])


@pytest.mark.parametrize("objective", [Masked(0.3), SpanMasked(0.3), UniLM(0.3)])
def test_the_probability_is_that_of_a_target(objective):
    chosen = batch_of(objective, rows=600)[2]
    assert chosen.float().mean().item() == pytest.approx(0.3, abs=0.02)
