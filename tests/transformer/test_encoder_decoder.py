"""The encoder-decoder against BART, and on tasks that no model solves without its source."""

from dataclasses import replace

import pytest
import torch
from transformers import BartConfig, BartForConditionalGeneration

from tlcourse.bpe import EOS, PAD, SPECIALS
from tlcourse.generation import generate
from tlcourse.objectives import sequence_to_sequence_loss
from tlcourse.pretraining import PretrainingRecipe, optimizers_for
from tlcourse.training import train, warmup_stable_decay
from tlcourse.transformer import Config, EncoderDecoder, Transformer, count_parameters, record

SHAPE = Config(60, width=32, layers=2, heads=4, feed_forward=64, max_length=20)
BARTS = dict(rotary=False, norm_first=False, qk_norm=False, activation="gelu", head_bias=True)
BART = replace(SHAPE, **BARTS)
LAYERS = {  # theirs → ours
    "self_attn.q_proj": "attention.query",
    "self_attn.k_proj": "attention.key",
    "self_attn.v_proj": "attention.value",
    "self_attn.out_proj": "attention.output",
    "self_attn_layer_norm": "attention_norm",
    "encoder_attn.q_proj": "cross_attention.query",
    "encoder_attn.k_proj": "cross_attention.key",
    "encoder_attn.v_proj": "cross_attention.value",
    "encoder_attn.out_proj": "cross_attention.output",
    "encoder_attn_layer_norm": "cross_attention_norm",
    "fc1": "up",
    "fc2": "down",
    "final_layer_norm": "feed_forward_norm",
}


def ids(*shape: int, seed: int = 0, size: int = 60) -> torch.Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(len(SPECIALS), size, shape, generator=draw)


@pytest.fixture(scope="module")
def bart():
    torch.manual_seed(0)
    shape = dict(vocab_size=60, d_model=32, max_position_embeddings=20, dropout=0.0, init_std=0.2)
    for stack in ("encoder", "decoder"):
        shape |= {f"{stack}_layers": 2, f"{stack}_attention_heads": 4, f"{stack}_ffn_dim": 64}
    config = BartConfig(**shape, attn_implementation="eager")
    model = BartForConditionalGeneration(config).eval()
    model.final_logits_bias.normal_()
    return model


@pytest.fixture(scope="module")
def converted(bart):
    """Our model with the weights of theirs."""
    ours = EncoderDecoder(BART).eval()
    theirs, found = bart.state_dict(), {}
    for stack in ("encoder", "decoder"):
        prefix = f"model.{stack}."
        found[f"{stack}.embedding.weight"] = theirs["model.shared.weight"]
        # BART's positions are counted from 2.
        found[f"{stack}.positions.weight"] = theirs[f"{prefix}embed_positions.weight"][2:]
        for kind in ("weight", "bias"):
            found[f"{stack}.norm.{kind}"] = theirs[f"{prefix}layernorm_embedding.{kind}"]
            for layer in range(2):
                for name, own in LAYERS.items():
                    key = f"{prefix}layers.{layer}.{name}.{kind}"
                    if key in theirs:
                        found[f"{stack}.blocks.{layer}.{own}.{kind}"] = theirs[key]
    found["decoder.head_bias"] = theirs["final_logits_bias"][0]
    ours.load_state_dict(found)
    return ours


@torch.no_grad()
@pytest.mark.parametrize("kernel", ["sdpa", "explicit"])
def test_it_is_bart(bart, converted, kernel):
    source, target = ids(3, 9), ids(3, 7, seed=1)
    source_mask = torch.arange(9) < torch.tensor([[9], [4], [1]])
    source = source.masked_fill(~source_mask, PAD)
    expected = bart(source, attention_mask=source_mask, decoder_input_ids=target).logits
    converted.set_attention(kernel)
    logits = converted(target, source=source, source_mask=source_mask)
    assert torch.allclose(logits, expected, atol=1e-5)


@torch.no_grad()
def test_it_writes_what_bart_writes(bart, converted):
    source = ids(1, 9, seed=3)
    start = torch.tensor([[bart.config.decoder_start_token_id]])
    options = dict(num_beams=1, do_sample=False, max_new_tokens=12, eos_token_id=None)
    options |= dict(forced_eos_token_id=None, forced_bos_token_id=None, pad_token_id=PAD)
    options |= dict(repetition_penalty=1.5)  # else the same token would be written each time
    expected = bart.generate(source, decoder_input_ids=start, **options)[0, 1:]
    options = dict(source=source[0].tolist(), temperature=0, stop=(), never=())
    options |= dict(repetition_penalty=1.5)
    found = generate(converted, start[0].tolist(), 12, **options)
    assert found == expected.tolist() and len(set(found)) > 1


@torch.no_grad()
def test_both_kinds_of_attention_can_be_looked_at(bart, converted):
    source, target = ids(2, 9), ids(2, 7, seed=1)
    expected = bart(source, decoder_input_ids=target, output_attentions=True)
    with record(converted.encoder) as reads, record(converted.decoder) as writes:
        converted(target, source=source)
    assert reads.cross_attention == []
    for mine, theirs in (
        (reads.attention, expected.encoder_attentions),
        (writes.attention, expected.decoder_attentions),
        (writes.cross_attention, expected.cross_attentions),
    ):
        assert len(mine) == 2
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(mine, theirs, strict=True))


def test_parameters_are_counted():
    model = EncoderDecoder(BART)
    encoder, decoder = model.encoder.config, model.decoder.config
    shared = BART.vocabulary_size * BART.width
    total = count_parameters(encoder)["total"] + count_parameters(decoder)["total"] - shared
    assert sum(each.numel() for each in model.parameters()) == total


def test_new_blocks_start_as_the_identity():
    """So the source says nothing yet; it does once training has moved the output layers."""
    model = EncoderDecoder(SHAPE)
    target, sources = ids(1, 5), (ids(1, 6, seed=1), ids(1, 6, seed=2))
    first, second = (model(target, source=source) for source in sources)
    assert torch.equal(first, second)
    for block in model.blocks:
        torch.nn.init.normal_(block.attentions()[-1].output.weight)
    first, second = (model(target, source=source) for source in sources)
    assert not torch.allclose(first, second)


def test_a_source_is_expected_where_one_is_read_and_nowhere_else():
    decoder, tokens = EncoderDecoder(SHAPE).decoder, ids(2, 5)
    with pytest.raises(ValueError, match="expected the states of a source"):
        decoder(tokens)
    with pytest.raises(ValueError, match="expected the states of a source"):
        decoder.hidden_at(tokens, at=torch.tensor([1, 2]))
    with pytest.raises(ValueError, match="expected no source"):
        Transformer(SHAPE).hidden(tokens, source=torch.zeros(2, 4, 32))
    with pytest.raises(ValueError, match=r"boolean padding mask .* of shape \(2, 4\)"):
        decoder.hidden(tokens, source=torch.zeros(2, 4, 32), source_mask=torch.ones(2, 5).bool())


def test_padding_changes_nothing():
    torch.manual_seed(0)
    model = EncoderDecoder(SHAPE)
    for each in model.parameters():
        each.data.add_(0.1 * torch.randn_like(each))
    source, target = ids(1, 6), ids(1, 5, seed=1)
    wider = [torch.nn.functional.pad(x, (0, 3), value=PAD) for x in (source, target)]
    (nats, count), (same, still) = (
        sequence_to_sequence_loss(model, *pair) for pair in ((source, target), wider)
    )
    assert (count, still) == (4, 4)
    assert torch.allclose(nats, same, atol=1e-5)


LETTERS, LENGTH = 12, 6


def pairs(turned: bool):
    """From a step to a batch: words of random letters, and the same words, perhaps reversed.

    A target begins and ends with `<eos>`, as in BART.
    """

    def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
        source = ids(32, LENGTH, seed=step, size=len(SPECIALS) + LETTERS)
        words = source.flip(1) if turned else source
        end = torch.full((len(words), 1), EOS)
        return source, torch.cat([end, words, end], dim=1)

    return batch


@torch.no_grad()
def written(model: EncoderDecoder, source: torch.Tensor) -> torch.Tensor:
    """What the model writes, the likeliest token at each step."""
    target = torch.full((len(source), 1), EOS)
    for _ in range(LENGTH + 1):
        likeliest = model(target, source=source)[:, -1:].argmax(-1)
        target = torch.cat([target, likeliest], dim=1)
    return target


@pytest.mark.parametrize("turned", [False, True], ids=["copies", "reverses"])
def test_the_one_engine_teaches_it_to(turned):
    torch.manual_seed(0)
    model = EncoderDecoder(Config(len(SPECIALS) + LETTERS, 32, 2, 2, 64, LENGTH + 2))
    recipe, steps = PretrainingRecipe(learning_rate=1e-2), 400
    more = {"steps": steps, "schedule": warmup_stable_decay(steps, 10, 0.5)}
    more["optimizers"] = optimizers_for(model, recipe)
    train(model, lambda model, pair: sequence_to_sequence_loss(model, *pair), pairs(turned), **more)
    source, target = pairs(turned)(10_000)
    right = (written(model, source) == target).all(dim=1)
    assert right.float().mean() > 0.9


def drawn(config: Config) -> Transformer:
    """A model whose weights are all random."""
    model = Transformer(config).eval()
    for each in model.parameters():
        each.data.add_(0.3 * torch.randn_like(each))
    return model


@pytest.fixture
def two():
    """A bidirectional and a causal model of one shape."""
    torch.manual_seed(0)
    return drawn(replace(SHAPE, causal=False)), drawn(SHAPE)


@torch.no_grad()
@pytest.mark.parametrize("changes", [{}, BARTS], ids=["ours", "BART's"])
def test_a_new_one_says_what_the_causal_model_says(changes):
    """As long as cross-attention adds nothing, whatever the source."""
    torch.manual_seed(0)
    shape = replace(SHAPE, **changes)
    encoder, decoder = drawn(replace(shape, causal=False, head_bias=False)), drawn(shape)
    model, _ = EncoderDecoder.from_models(encoder, decoder)
    if not shape.norm_first:  # the new norm is between two others
        for block in model.decoder.blocks:
            block.cross_attention_norm.load_state_dict(torch.nn.LayerNorm(32).state_dict())
    tokens = ids(2, 7)
    expected = decoder(tokens)
    logits = model(tokens, source=ids(2, 5, seed=1))
    if shape.norm_first:
        assert torch.allclose(logits, expected, atol=1e-5)
    assert torch.allclose(model.decoder.embedding.weight, decoder.embedding.weight) and torch.equal(
        model.output_layer[0], model.encoder.embedding.weight
    )


@torch.no_grad()
def test_the_encoder_reads_as_before_with_the_other_embedding(two):
    encoder, decoder = two
    model, _ = EncoderDecoder.from_models(encoder, decoder)
    encoder.embedding = decoder.embedding
    assert torch.equal(model.encode(ids(2, 7)), encoder.hidden(ids(2, 7)))


def test_it_is_said_where_each_parameter_comes_from(two):
    encoder, decoder = two
    model, initialised = EncoderDecoder.from_models(encoder, decoder)
    names = dict(model.named_parameters(remove_duplicate=False))
    assert "decoder.embedding.weight" in initialised.loaded
    assert initialised.left_out == ("encoder.embedding.weight",)
    assert len(initialised.new) == 2 * (4 + 1) * 2  # blocks, layers and the norm, weight and bias
    assert all(".cross_attention" in name for name in initialised.new)
    both = {*initialised.loaded, *initialised.new}
    assert both == {*names} - {"encoder.embedding.weight"}
    count = sum(initialised.sizes[name] for name in both)
    assert count == sum(each.numel() for each in model.parameters())
    assert str(initialised).splitlines()[1].startswith("new       20 tensors")
    old = {id(each) for each in [*encoder.parameters(), *decoder.parameters()]}
    assert not old & {id(each) for each in model.parameters()}


def test_the_encoders_head_is_left_out():
    torch.manual_seed(0)
    encoder = drawn(replace(SHAPE, causal=False, head_transform=True, head_bias=True))
    _, initialised = EncoderDecoder.from_models(encoder, drawn(SHAPE))
    assert {name.split(".")[1] for name in initialised.left_out} == {
        "embedding",
        "head_bias",
        "transform",
        "transform_norm",
    }


def test_models_that_do_not_fit_together_are_refused(two):
    encoder, decoder = two
    with pytest.raises(ValueError, match="same shape, got layers 3 and 2, heads 2 and 4"):
        EncoderDecoder.from_models(drawn(replace(SHAPE, layers=3, heads=2)), decoder)
    with pytest.raises(ValueError, match="without token types and cross-attention"):
        EncoderDecoder.from_models(encoder, EncoderDecoder(SHAPE).decoder)
