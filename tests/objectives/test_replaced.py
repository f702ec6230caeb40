"""Replaced-token detection: ELECTRA's labels, its sampling, its loss, and the authors' own head."""

import pytest
import torch
from torch.nn import functional as F
from transformers import BertConfig, BertModel, ElectraConfig, ElectraForPreTraining

from tlcourse import huggingface, objectives
from tlcourse.batching import generator_for
from tlcourse.bpe import MASK, PAD, SPECIALS
from tlcourse.objectives import ReplacedTokens
from tlcourse.transformer import Config, bert

FIRST = len(SPECIALS)
CONFIG = Config(60, 32, 2, 4, 64, 40)


def model_of(objective: ReplacedTokens, noise: float = 0.1):
    torch.manual_seed(0)
    model = objective.model(CONFIG)
    for parameter in model.parameters():
        parameter.data.add_(noise * torch.randn_like(parameter))
    return model.eval()


def windows(rows: int = 8, length: int = 30) -> torch.Tensor:
    return torch.randint(FIRST, 60, (rows, length), generator=generator_for(1))


def test_every_chosen_token_is_masked():
    tokens = windows(300, 100)
    masked, same, chosen, draws = ReplacedTokens().batch(tokens, generator_for(2), 60)
    assert torch.equal(same, tokens) and draws.shape == tokens.shape
    assert chosen.float().mean().item() == pytest.approx(0.15, abs=0.01)
    assert (masked[chosen] == MASK).all() and torch.equal(masked[~chosen], tokens[~chosen])


def test_samples_have_the_probabilities_of_the_logits():
    logits = torch.tensor([2.0, 0.0, -1.0, 1.0, -50.0])
    draws = torch.rand(40_000, generator=generator_for(1))
    found = objectives.sample(logits.expand(40_000, -1), draws)
    shares = found.bincount(minlength=5) / 40_000
    torch.testing.assert_close(shares, logits.softmax(0), rtol=0, atol=0.01)
    edges = objectives.sample(logits.expand(2, -1), torch.tensor([0.0, 1.0 - 2**-24]))
    assert edges.tolist() == [0, 3]  # no id of probability 0 at either end


def test_a_sample_that_equals_the_original_counts_as_original():
    objective = ReplacedTokens()
    model = model_of(objective)
    tokens = windows()
    masked, _, chosen, draws = objective.batch(tokens, generator_for(2), 60)
    seen, original = {}, model.detector_logits

    def generator_logits(tokens_in, places):
        return torch.where(F.one_hot(answers[places], 60).bool(), 100.0, -100.0)

    def detector_logits(tokens_in, mask=None):
        seen["input"] = tokens_in
        return original(tokens_in, mask)

    model.generator_logits, model.detector_logits = generator_logits, detector_logits
    answers = tokens.clone()  # a generator that is always right
    nats, targets = objective.loss(model, (masked, tokens, chosen, draws))
    assert torch.equal(seen["input"], tokens)
    of_detector = F.softplus(original(tokens)).mean()  # -log p(original) everywhere
    assert targets == int(chosen.sum())
    assert (nats / targets).item() == pytest.approx(50 * of_detector.item(), rel=1e-5)

    answers = torch.where(tokens == FIRST, FIRST + 1, FIRST)  # and one that is always wrong
    nats, targets = objective.loss(model, (masked, tokens, chosen, draws))
    assert torch.equal(seen["input"], torch.where(chosen, answers, tokens))
    logits = original(seen["input"])
    of_detector = torch.where(chosen, F.softplus(-logits), F.softplus(logits)).mean()
    of_generator = 200.0  # nats of the right token
    assert (nats / targets).item() == pytest.approx(
        of_generator + 50 * of_detector.item(), rel=1e-5
    )


@pytest.mark.parametrize("weight", [0.0, 1.0, 50.0])
def test_the_loss_is_two_means_and_a_weight(weight: float):
    objective = ReplacedTokens(0.3, weight)
    model = model_of(objective)
    batch = objective.batch(windows(), generator_for(2), 60)
    masked, tokens, chosen, draws = batch
    logits = model.back(model.generator.hidden(masked)) @ model.body.embedding.weight.T
    of_generator = F.cross_entropy(logits[chosen], tokens[chosen])
    replaced = tokens.clone()
    replaced[chosen] = objectives.sample(logits[chosen], draws[chosen])
    assert 0 < (replaced != tokens).sum() <= chosen.sum()
    of_detector = F.binary_cross_entropy_with_logits(
        model.detector_logits(replaced), (replaced != tokens).float()
    )
    nats, targets = objective.loss(model, batch)
    expected = of_generator + weight * of_detector
    assert targets == int(chosen.sum())
    assert (nats / targets).item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_discriminator_does_not_teach_the_generator():
    def gradients(weight: float) -> dict[str, torch.Tensor]:
        objective = ReplacedTokens(0.3, weight)
        model = model_of(objective)
        objective.loss(model, objective.batch(windows(), generator_for(2), 60))[0].backward()
        return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}

    alone, both = gradients(0.0), gradients(50.0)
    own = [name for name in alone if name.startswith(("generator.blocks", "back"))]
    assert own and all(torch.equal(alone[name], both[name]) for name in own)
    assert not torch.equal(alone["body.embedding.weight"], both["body.embedding.weight"])


def test_the_embeddings_are_shared_and_the_generator_is_small():
    model = model_of(ReplacedTokens(generator_share=0.5))
    assert model.generator.embedding[0] is model.body.embedding
    assert model.generator.config.width == 16 and model.generator.config.heads == 2
    assert model.generator.config.feed_forward == 32
    assert len(model.blocks) == 4
    names = [name for name, _ in model.named_parameters() if "embedding" in name]
    assert names == [
        "body.embedding.weight",
        "generator.embedding.1.weight",
        "generator.embedding.1.bias",
    ]


def test_head_and_loss_are_those_of_electra_for_pretraining():
    torch.manual_seed(0)
    shape = ElectraConfig(
        vocab_size=60, embedding_size=32, hidden_size=32, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=64, max_position_embeddings=40,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    theirs = ElectraForPreTraining(shape).eval()
    for parameter in theirs.parameters():
        parameter.data.add_(0.2 * torch.randn_like(parameter))
    config = bert(vocabulary_size=60, width=32, layers=2, heads=2, feed_forward=64, max_length=40)
    model = ReplacedTokens().model(config).eval()
    body = BertModel(_as_bert(shape), add_pooling_layer=False).eval()
    body.load_state_dict(theirs.electra.state_dict())
    model.body.load_state_dict(huggingface.from_huggingface(body).state_dict())
    head = theirs.discriminator_predictions
    model.dense.load_state_dict(head.dense.state_dict())
    model.detector.load_state_dict(head.dense_prediction.state_dict())

    tokens, mask = windows(), torch.ones(8, 30, dtype=torch.bool)
    mask[2, 11:], mask[5, 1:] = False, False  # so few tokens that a mean of rows is another number
    tokens[~mask] = PAD
    replaced = (torch.rand(8, 30, generator=generator_for(3)) < 0.2) & mask
    with torch.no_grad():
        found = theirs(tokens, attention_mask=mask.long(), labels=replaced.long())
        logits = model.detector_logits(tokens, mask)
    torch.testing.assert_close(logits[mask], found.logits[mask], rtol=1e-4, atol=1e-5)
    nats, targets = objectives.detection_loss(logits, replaced, padding_mask=mask)
    assert targets == int(mask.sum()) < 240
    assert (nats / targets).item() == pytest.approx(found.loss.item(), rel=1e-4)
    everywhere, count = objectives.detection_loss(logits, replaced)  # a mean over padding, too
    assert abs((everywhere / count).item() - found.loss.item()) > 1e-3


def _as_bert(shape: ElectraConfig) -> BertConfig:
    kept = {k: v for k, v in shape.to_dict().items() if k not in ("model_type", "architectures")}
    return BertConfig(**kept)
