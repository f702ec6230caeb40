"""ALBERT: the one Transformer with two options, against the library's."""

from dataclasses import replace

import pytest
import torch
from transformers import AlbertConfig, AlbertForMaskedLM

from tlcourse.objectives import masked_loss
from tlcourse.transformer import Albert, Transformer, bert, padding_mask, record

SHAPE = dict(vocabulary_size=50, width=24, layers=3, heads=3, feed_forward=40, max_length=12)
CONFIG = bert(**SHAPE, activation="gelu_tanh")
LAYERS = {  # theirs → ours
    "attention.query": "attention.query",
    "attention.key": "attention.key",
    "attention.value": "attention.value",
    "attention.dense": "attention.output",
    "attention.LayerNorm": "attention_norm",
    "ffn": "up",
    "ffn_output": "down",
    "full_layer_layer_norm": "feed_forward_norm",
}


def draw_tokens(batch: int = 3, length: int = 9) -> torch.Tensor:
    return torch.randint(50, (batch, length), generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def theirs():
    torch.manual_seed(0)
    shape = dict(vocab_size=50, embedding_size=8, hidden_size=24, num_hidden_layers=3)
    shape |= dict(num_attention_heads=3, intermediate_size=40, max_position_embeddings=12)
    model = AlbertForMaskedLM(AlbertConfig(**shape, attn_implementation="eager")).eval()
    for parameter in model.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return model


@pytest.fixture(scope="module")
def ours(theirs):
    """Our model with the weights of theirs."""
    model, old = Albert(CONFIG, embedding_width=8).eval(), theirs.state_dict()
    before = "albert.embeddings."
    found = {
        "embedding.weight": old[f"{before}word_embeddings.weight"],
        "positions.weight": old[f"{before}position_embeddings.weight"],
        "types.weight": old[f"{before}token_type_embeddings.weight"],
        "head_bias": old["predictions.bias"],
    }
    for kind in ("weight", "bias"):
        found[f"norm.{kind}"] = old[f"{before}LayerNorm.{kind}"]
        found[f"widen.{kind}"] = old[f"albert.encoder.embedding_hidden_mapping_in.{kind}"]
        found[f"transform.{kind}"] = old[f"predictions.dense.{kind}"]
        found[f"transform_norm.{kind}"] = old[f"predictions.LayerNorm.{kind}"]
        block = "albert.encoder.albert_layer_groups.0.albert_layers.0."
        for layer in range(3):  # the same block three times
            for name, own in LAYERS.items():
                found[f"blocks.{layer}.{own}.{kind}"] = old[f"{block}{name}.{kind}"]
    model.load_state_dict(found)
    return model


@torch.no_grad()
@pytest.mark.parametrize("kernel", ["sdpa", "explicit"])
def test_it_is_theirs(theirs, ours, kernel):
    tokens, mask = draw_tokens(), padding_mask(torch.tensor([9, 4, 1]), 9)
    types = (torch.arange(9) > 2).long().expand(3, -1)
    ours.set_attention(kernel)
    given = dict(attention_mask=mask.long(), token_type_ids=types)
    for mine, other in (
        (ours.hidden(tokens, mask, types=types), theirs.albert(tokens, **given)[0]),
        (ours(tokens, mask, types=types), theirs(tokens, **given).logits),
    ):
        print(f"largest difference {(mine - other)[mask].abs().max():.1e}")
        assert torch.allclose(mine[mask], other[mask], atol=1e-5)


@torch.no_grad()
def test_a_shared_block_is_looked_at_in_every_layer(theirs, ours):
    tokens = draw_tokens()
    with record(ours) as seen:
        ours(tokens)
    for mine, other in zip(
        seen.attention, theirs(tokens, output_attentions=True).attentions, strict=True
    ):
        assert torch.allclose(mine, other, atol=1e-6)


@torch.no_grad()
def test_a_shared_block_is_a_stack_of_equal_blocks():
    torch.manual_seed(0)
    albert, stack = Albert(CONFIG, embedding_width=None), Transformer(CONFIG)
    stack.load_state_dict(albert.state_dict())  # has the block's weights under each layer's name
    assert torch.equal(albert(draw_tokens()), stack(draw_tokens()))
    assert {*albert.blocks[0].parameters()} == {*albert.blocks[2].parameters()}


def count(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_each_option_saves_what_it_says():
    with torch.device("meta"):
        plain = count(Albert(CONFIG, embedding_width=None, shared=False))
        shared = count(Albert(CONFIG, embedding_width=None))
        factorised = count(Albert(CONFIG, embedding_width=8, shared=False))
        assert plain == count(Transformer(CONFIG))
        assert plain - shared == 2 * count(Transformer(CONFIG).blocks[0])
    narrow = (50 + 12 + 2 + 2) * (24 - 8)  # tokens, positions, types, norm
    head = (24 + 1 + 2) * (24 - 8)  # transform and its norm
    assert plain - factorised == narrow + head - (8 + 1) * 24  # and the layer that widens


def test_albert_base_has_11_million_parameters():
    """Table 1 of Lan et al. (2020) says 12M; BERT base has 108M there."""
    with torch.device("meta"):
        ours = count(Albert(bert(vocabulary_size=30_000, activation="gelu_tanh")))
        shape = dict(hidden_size=768, num_attention_heads=12, intermediate_size=3072)
        assert ours == count(AlbertForMaskedLM(AlbertConfig(**shape, num_hidden_layers=12)))
    assert ours == pytest.approx(11.2e6, rel=0.01)


def test_gradients_of_all_layers_meet_in_the_block():
    torch.manual_seed(0)
    model = Albert(CONFIG, embedding_width=8)
    nats, _ = masked_loss(model, draw_tokens(), draw_tokens(), chosen=draw_tokens() > 20)
    nats.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    once = model.blocks[0].up.weight.grad.clone()
    stack = Albert(CONFIG, embedding_width=8, shared=False)
    stack.load_state_dict(model.state_dict())
    masked_loss(stack, draw_tokens(), draw_tokens(), chosen=draw_tokens() > 20)[0].backward()
    assert torch.allclose(once, sum(block.up.weight.grad for block in stack.blocks), atol=1e-4)


@pytest.mark.parametrize("change", [dict(norm_first=True), dict(head_transform=False)])
def test_what_cannot_be_factorised_is_refused(change):
    config = replace(CONFIG, **change)
    Albert(config, embedding_width=None)
    with pytest.raises(ValueError, match=f"got .*{next(iter(change))}={change.popitem()[1]}"):
        Albert(config, embedding_width=8)
