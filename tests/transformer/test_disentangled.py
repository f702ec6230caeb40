"""DeBERTa: disentangled attention against its definition and the library's model."""

import math
from dataclasses import replace

import pytest
import torch
from transformers import DebertaConfig, DebertaForMaskedLM

from tlcourse.transformer import Deberta, bert, clipped_distances, padding_mask, record

SHAPE = dict(vocabulary_size=50, width=24, layers=3, heads=3, feed_forward=40, max_length=12)
CONFIG = bert(**SHAPE, norm_epsilon=1e-7)
LAYERS = {  # theirs → ours
    "attention.output.dense": "attention.output",
    "attention.output.LayerNorm": "attention_norm",
    "attention.self.pos_proj": "attention.distance_key",
    "attention.self.pos_q_proj": "attention.distance_query",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "feed_forward_norm",
}


def theirs(reach: int) -> DebertaForMaskedLM:
    torch.manual_seed(0)
    shape = dict(vocab_size=50, hidden_size=24, num_hidden_layers=3, num_attention_heads=3)
    shape |= dict(intermediate_size=40, max_position_embeddings=12, type_vocab_size=2)
    shape |= dict(position_biased_input=False, relative_attention=True)
    shape |= dict(pos_att_type="c2p|p2c", max_relative_positions=reach)
    model = DebertaForMaskedLM(DebertaConfig(**shape)).eval()
    for parameter in model.parameters():
        parameter.data.add_(0.2 * torch.randn_like(parameter))
    return model


@torch.no_grad()
def converted(model: DebertaForMaskedLM) -> Deberta:
    """Our model with the weights of theirs, which has no enhanced mask decoder."""
    ours = Deberta(CONFIG, reach=model.config.max_relative_positions).eval()
    old, found, before = model.state_dict(), {}, "deberta.embeddings."
    found["embedding.weight"] = old[f"{before}word_embeddings.weight"]
    found["types.weight"] = old[f"{before}token_type_embeddings.weight"]
    found["distances.weight"] = old["deberta.encoder.rel_embeddings.weight"]
    found["late_positions.weight"] = torch.randn(12, 24)
    found["head_bias"] = old["cls.predictions.bias"]
    for kind in ("weight", "bias"):
        found[f"norm.{kind}"] = old[f"{before}LayerNorm.{kind}"]
        found[f"transform.{kind}"] = old[f"cls.predictions.transform.dense.{kind}"]
        found[f"transform_norm.{kind}"] = old[f"cls.predictions.transform.LayerNorm.{kind}"]
    for layer in range(3):
        there, here = f"deberta.encoder.layer.{layer}.", f"blocks.{layer}."
        joint = old[f"{there}attention.self.in_proj.weight"]  # of each head: query, key, value
        parts = joint.view(3, 3, 8, 24).transpose(0, 1).reshape(3, 24, 24)
        for name, part in zip(("query", "key", "value"), parts, strict=True):
            found[f"{here}attention.{name}.weight"] = part
        for name in ("query", "value"):
            found[f"{here}attention.{name}.bias"] = old[f"{there}attention.self.{name[0]}_bias"]
        for name, own in LAYERS.items():
            for kind in ("weight", "bias"):
                if f"{there}{name}.{kind}" in old:
                    found[f"{here}{own}.{kind}"] = old[f"{there}{name}.{kind}"]
    ours.load_state_dict(found)
    return ours


@pytest.fixture(scope="module")
def ours():
    return converted(theirs(4))


def draw_tokens(batch: int = 3, length: int = 9) -> torch.Tensor:
    return torch.randint(1, 50, (batch, length), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
@pytest.mark.parametrize("kernel", ["sdpa", "explicit"])
@pytest.mark.parametrize("reach", [1, 4, 12])
def test_it_is_theirs(reach, kernel):
    model = theirs(reach)
    ours = converted(model)
    ours.set_attention(kernel)
    tokens, mask = draw_tokens(), padding_mask(torch.tensor([9, 4, 1]), 9)
    types = (torch.arange(9) > 2).long().expand(3, -1)
    given = dict(attention_mask=mask.float(), token_type_ids=types)
    hidden = ours.hidden(tokens, mask, types=types)
    for mine, other in (
        (hidden, model.deberta(tokens, **given)[0]),
        (ours.logits(hidden), model(tokens, **given).logits),
    ):
        print(f"largest difference {(mine - other)[mask].abs().max():.1e}")
        assert torch.allclose(mine[mask], other[mask], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_its_weights_can_be_looked_at():
    model = theirs(4)
    ours = converted(model)
    with record(ours) as seen:
        ours.hidden(draw_tokens())
    expected = model(draw_tokens(), output_attentions=True).attentions
    assert len(seen.attention) == 3
    for mine, other in zip(seen.attention, expected, strict=True):
        assert torch.allclose(mine, other, atol=1e-6)


@torch.no_grad()
def test_each_score_is_the_sum_of_three_terms(ours):
    layer, x, table = ours.blocks[0].attention, torch.randn(1, 6, 24), ours.distances.weight
    layer.kernel = "record"
    layer(x, None, table)
    weights, layer.kernel, layer.weights = layer.weights, "sdpa", None
    q, k = layer.query(x)[0], layer.key(x)[0]
    distance_key, distance_query = layer.distance_key(table), layer.distance_query(table)
    for head in range(3):
        part = slice(8 * head, 8 * head + 8)
        for i in range(6):
            scores = []
            for j in range(6):
                row = min(max(i - j + 4, 0), 7)
                terms = q[i, part] @ k[j, part] + q[i, part] @ distance_key[row, part]
                terms += distance_query[row, part] @ k[j, part]
                scores.append(terms / math.sqrt(3 * 8))
            assert torch.allclose(weights[0, head, i], torch.stack(scores).softmax(0), atol=1e-5)


def test_distances_are_clipped():
    rows = clipped_distances(6, 2)
    assert rows[:, 0].tolist() == [2, 3, 3, 3, 3, 3]  # keys before the query
    assert rows[0].tolist() == [2, 1, 0, 0, 0, 0]  # and after it
    assert torch.equal(
        clipped_distances(3, 9), 9 + torch.tensor([[0, -1, -2], [1, 0, -1], [2, 1, 0]])
    )


@torch.no_grad()
def test_only_the_decoder_knows_absolute_positions(ours):
    """The same tokens two places further on have the same states, until they are decoded."""
    tokens = draw_tokens(1, 6)
    moved = torch.nn.functional.pad(tokens, (2, 1), value=7)
    mask = torch.nn.functional.pad(torch.ones(1, 6).bool(), (2, 1))
    assert torch.allclose(ours.hidden(moved, mask)[:, 2:8], ours.hidden(tokens), atol=1e-5)
    changed = ours.decoded(moved, mask)[:, 2:8] - ours.decoded(tokens)
    assert changed.abs().amax(-1).min() > 0.01
    ours.late_positions.weight.zero_()
    changed = ours.decoded(moved, mask)[:, 2:8] - ours.decoded(tokens)
    assert changed.abs().max() < 1e-5


@torch.no_grad()
def test_without_positions_the_decoders_first_step_is_the_last_block():
    ours = converted(theirs(4))
    ours.late_positions.weight.zero_()
    tokens = draw_tokens()
    *_, before, after = ours.hidden_states(tokens)
    table = ours.distances.weight
    decoded = ours.blocks[-1](after, None, table, before)
    assert torch.allclose(ours.decoded(tokens), decoded, atol=1e-5)
    assert torch.allclose(ours(tokens), ours.logits(decoded), atol=1e-5)


def test_every_parameter_learns():
    torch.manual_seed(0)
    model = Deberta(CONFIG, reach=4)
    model(draw_tokens()).logsumexp(-1).sum().backward()
    missing = [name for name, each in model.named_parameters() if each.grad is None]
    assert missing == []


@pytest.mark.parametrize("name", ["causal", "norm_first", "rotary", "qk_norm", "cross_attention"])
def test_another_kind_of_model_is_refused(name):
    with pytest.raises(ValueError, match=f"without {name};"):
        Deberta(replace(CONFIG, **{name: True}))
