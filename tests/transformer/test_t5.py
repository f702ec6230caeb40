"""T5 against the library's model, its buckets against a list, and what is easily done wrong."""

from dataclasses import replace

import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import T5Attention

from tlcourse.bpe import EOS, PAD, SPECIALS
from tlcourse.generation import generate
from tlcourse.objectives import sequence_to_sequence_loss
from tlcourse.pretraining import PretrainingRecipe, optimizers_for
from tlcourse.training import train, warmup_stable_decay
from tlcourse.transformer import T5, position_buckets, record, t5_base

SHAPE = t5_base(vocabulary_size=60, width=32, layers=3, heads=4, feed_forward=48, max_length=40)
BUCKETS = dict(buckets=8, reach=12)
LAYERS = {  # theirs → ours
    "SelfAttention.q": "attention.query",
    "SelfAttention.k": "attention.key",
    "SelfAttention.v": "attention.value",
    "SelfAttention.o": "attention.output",
    "EncDecAttention.q": "cross_attention.query",
    "EncDecAttention.k": "cross_attention.key",
    "EncDecAttention.v": "cross_attention.value",
    "EncDecAttention.o": "cross_attention.output",
    "DenseReluDense.wi": "up",
    "DenseReluDense.wi_0": "gate",
    "DenseReluDense.wi_1": "up",
    "DenseReluDense.wo": "down",
}
NORMS = {
    "encoder": ("attention_norm", "feed_forward_norm"),
    "decoder": ("attention_norm", "cross_attention_norm", "feed_forward_norm"),
}
VERSIONS = pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
GATES = pytest.mark.parametrize("gated", [False, True], ids=["relu", "gated"])


def ids(*shape: int, seed: int = 0) -> torch.Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(len(SPECIALS), 60, shape, generator=draw)


def theirs(tied: bool = True, gated: bool = False) -> T5ForConditionalGeneration:
    torch.manual_seed(0)
    shape = dict(vocab_size=60, d_model=32, d_kv=8, d_ff=48, num_layers=3, num_heads=4)
    shape |= dict(relative_attention_num_buckets=8, relative_attention_max_distance=12)
    shape |= dict(feed_forward_proj="gated-gelu" if gated else "relu", pad_token_id=PAD)
    config = T5Config(**shape, tie_word_embeddings=tied, decoder_start_token_id=PAD)
    model = T5ForConditionalGeneration(config).eval()
    if not tied:  # newer versions of the library leave the matrices shared at first
        model.lm_head.weight = torch.nn.Parameter(0.2 * torch.randn(60, 32))
    for parameter in model.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    return model


def converted(model: T5ForConditionalGeneration, tied: bool = True, gated: bool = False) -> T5:
    """Our model with the weights of theirs."""
    activation = "gelu_tanh" if gated else "relu"
    ours = T5(replace(SHAPE, activation=activation), **BUCKETS, gated=gated, tied=tied).eval()
    old, found = model.state_dict(), {}
    for stack, norms in NORMS.items():
        found[f"{stack}.embedding.weight"] = old["shared.weight"]
        found[f"{stack}.norm.weight"] = old[f"{stack}.final_layer_norm.weight"]
        table = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        found[f"{stack}.distances.weight"] = old[table]
        for layer in range(3):
            for part, norm in enumerate(norms):
                there, here = f"{stack}.block.{layer}.layer.{part}.", f"{stack}.blocks.{layer}."
                found[f"{here}{norm}.weight"] = old[f"{there}layer_norm.weight"]
                for name, own in LAYERS.items():
                    if f"{there}{name}.weight" in old:
                        found[f"{here}{own}.weight"] = old[f"{there}{name}.weight"]
    if not tied:
        found["decoder.head.weight"] = old["lm_head.weight"]
    ours.load_state_dict(found)
    return ours


@torch.no_grad()
@pytest.mark.parametrize("kernel", ["sdpa", "explicit"])
@GATES
@VERSIONS
def test_it_is_theirs(tied, gated, kernel):
    model = theirs(tied, gated)
    ours = converted(model, tied, gated)
    ours.set_attention(kernel)
    source, target = ids(3, 30), ids(3, 25, seed=1)  # both reach beyond the last bucket
    mask = torch.arange(30) < torch.tensor([[30], [9], [1]])
    source = source.masked_fill(~mask, PAD)
    given = dict(attention_mask=mask.long(), decoder_input_ids=target)
    states = ours.encode(source, mask)
    expected = model.encoder(source, attention_mask=mask.long())[0]
    logits = ours(target, source=source, source_mask=mask)
    for mine, other in ((states[mask], expected[mask]), (logits, model(source, **given).logits)):
        print(f"largest difference {(mine - other).abs().max():.1e} of {other.abs().max():.1f}")
        assert torch.allclose(mine, other, atol=1e-5, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("kernel", ["sdpa", "explicit"])
def test_it_works_in_lower_precision(kernel):
    model, source, target = T5(SHAPE, kernel, **BUCKETS), ids(2, 9), ids(2, 7, seed=1)
    given = dict(source=source, source_mask=torch.arange(9) < torch.tensor([[9], [4]]))
    expected = model(target, **given)
    with torch.autocast("cpu", torch.bfloat16):
        under_autocast = model(target, **given).float()
    for found in (under_autocast, model.bfloat16()(target, **given).float()):
        assert (found - expected).abs().max() < 0.1 * expected.abs().max()


@torch.no_grad()
def test_one_position_alone_is_computed_as_in_the_text():
    model, tokens, at = converted(theirs()).encoder, ids(3, 9), torch.tensor([8, 3, 0])
    mask = torch.arange(9) < torch.tensor([[9], [4], [1]])
    expected = model.hidden(tokens, mask)[torch.arange(3), at]
    assert torch.allclose(model.hidden_at(tokens, mask, at=at), expected, atol=1e-5)


@torch.no_grad()
@VERSIONS
def test_it_writes_what_theirs_writes(tied):
    """Ours reads each token only once, so the distances to kept keys have to be right."""
    model = theirs(tied)
    ours, source = converted(model, tied), ids(1, 9, seed=3)
    options = dict(num_beams=1, do_sample=False, max_new_tokens=20, eos_token_id=None)
    options |= dict(repetition_penalty=4.0)  # else the same token would be written each time
    expected = model.generate(source, **options)[0, 1:]
    options = dict(source=source[0].tolist(), temperature=0, stop=(), never=())
    found = generate(ours, [PAD], 20, **options, repetition_penalty=4.0)
    assert found == expected.tolist() and len(set(found)) > 3


@torch.no_grad()
def test_its_attention_can_be_looked_at():
    model = theirs()
    model.set_attn_implementation("eager")
    ours, source, target = converted(model), ids(2, 9), ids(2, 7, seed=1)
    expected = model(source, decoder_input_ids=target, output_attentions=True)
    with record(ours.encoder) as reads, record(ours.decoder) as writes:
        ours(target, source=source)
    for mine, other in (
        (reads.attention, expected.encoder_attentions),
        (writes.attention, expected.decoder_attentions),
        (writes.cross_attention, expected.cross_attentions),
    ):
        assert len(mine) == 3
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(mine, other, strict=True))


@torch.no_grad()
def test_scores_are_not_scaled():
    ours, x = converted(theirs()).encoder, torch.randn(2, 6, 32)
    layer = ours.blocks[0].attention
    added = ours.position_scores(6, 6)
    weights = torch.nn.functional.linear
    query, key = (weights(x, each.weight).view(2, 6, 4, 8) for each in (layer.query, layer.key))
    scores = torch.einsum("bqhd,bkhd->bhqk", query, key) + added
    layer.kernel = "record"
    layer(x, added, None)
    assert torch.allclose(layer.weights, scores.softmax(-1), atol=1e-6)
    scaled = torch.einsum("bqhd,bkhd->bhqk", query, key) / 8**0.5 + added
    assert not torch.allclose(layer.weights, scaled.softmax(-1), atol=1e-2)


@torch.no_grad()
@VERSIONS
def test_the_head_is_scaled_only_when_it_is_tied(tied):
    model, states = T5(SHAPE, **BUCKETS, tied=tied), torch.randn(2, 5, 32)
    matrix = model.encoder.embedding.weight if tied else model.decoder.head.weight
    expected = states @ matrix.T / (32**0.5 if tied else 1)
    assert torch.allclose(model.logits(states), expected, atol=1e-5)
    assert (model.output_layer[0] is model.decoder.embedding.weight) == tied


# The first distance of each bucket but the last edge: 32 buckets, distances up to 128.
ONE_SIDED = [*range(16), 16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
TWO_SIDED = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]


@pytest.mark.parametrize("one_sided", [True, False])
def test_buckets_begin_where_they_should(one_sided):
    edges = torch.tensor(ONE_SIDED if one_sided else TWO_SIDED)
    count = len(edges)
    assert position_buckets(edges, one_sided=one_sided).tolist() == [*range(count)]
    below = position_buckets(edges[1:] - 1, one_sided=one_sided)
    assert below.tolist() == [*range(count - 1)]
    far = torch.tensor([127, 128, 129, 5000])
    assert position_buckets(far, one_sided=one_sided).tolist() == [count - 1] * 4
    after = position_buckets(-edges[1:], one_sided=one_sided)  # keys after the query
    assert after.tolist() == ([0] * (count - 1) if one_sided else [*range(count + 1, 2 * count)])


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize(("buckets", "reach"), [(32, 128), (8, 12), (4, 3), (20, 50)])
def test_buckets_are_theirs(buckets, reach, one_sided):
    distances = torch.arange(-300, 301)
    options = dict(bidirectional=not one_sided, num_buckets=buckets, max_distance=reach)
    expected = T5Attention._relative_position_bucket(-distances, **options)  # key minus query
    found = position_buckets(distances, buckets, reach=reach, one_sided=one_sided)
    assert torch.equal(found, expected)


@pytest.mark.parametrize(("buckets", "reach"), [(2, 128), (32, 8)])
def test_too_few_buckets_are_refused(buckets, reach):
    with pytest.raises(ValueError, match=f"got {buckets} and {reach};"):
        position_buckets(torch.arange(3), buckets, reach=reach)


@torch.no_grad()
def test_the_decoders_buckets_are_one_sided():
    """So it uses all of them for the past, and the encoder half of them for each side."""
    model = T5(SHAPE, **BUCKETS)
    for stack in (model.encoder, model.decoder):
        stack.distances.weight.copy_(torch.arange(8.0)[:, None].expand(-1, 4))
    reads, writes = model.encoder.position_scores(30, 30), model.decoder.position_scores(30, 30)
    assert reads.shape == writes.shape == (1, 4, 30, 30)
    assert {*writes[0, 0].tril().unique().tolist()} == {*map(float, range(8))}
    assert {*reads[0, 0].tril().unique().tolist()} == {0.0, 1.0, 2.0, 3.0}
    assert {*reads[0, 0].triu(1).unique().tolist()} == {0.0, 5.0, 6.0, 7.0}  # 4: a distance of 0
    assert torch.equal(model.decoder.position_scores(3, 30), writes[:, :, 27:])


def test_one_table_serves_all_layers_and_every_parameter_learns():
    torch.manual_seed(0)
    model = T5(SHAPE, **BUCKETS, tied=False, gated=True)
    sequence_to_sequence_loss(model, ids(2, 20), ids(2, 20, seed=1))[0].backward()
    missing = [name for name, each in model.named_parameters() if each.grad is None]
    assert missing == []
    tables = [name for name, each in model.named_parameters() if "distances" in name]
    assert tables == ["encoder.distances.weight", "decoder.distances.weight"]
    assert not [name for name, _ in model.named_parameters() if "bias" in name]


@pytest.mark.parametrize(
    ("changes", "options", "given"),
    [
        ({}, {}, {}),
        (
            dict(activation="gelu_tanh", feed_forward=2048),
            dict(gated=True, tied=False),
            dict(d_ff=2048, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
        ),
    ],
    ids=["1.0", "1.1"],
)
def test_t5_base_has_their_number_of_parameters(changes, options, given):
    """The paper says 220M."""
    shape = dict(vocab_size=32128, d_model=768, d_ff=3072, num_layers=12, num_heads=12)
    with torch.device("meta"):
        ours = sum(each.numel() for each in T5(t5_base(**changes), **options).parameters())
        model = T5ForConditionalGeneration(T5Config(**shape | given))
    expected = sum(each.numel() for each in model.parameters())
    if given and model.lm_head.weight is model.shared.weight:
        expected += model.lm_head.weight.numel()
    assert ours == expected
    assert ours == pytest.approx(248e6 if given else 223e6, rel=0.01)


@torch.no_grad()
def test_new_weights_give_scores_and_logits_of_size_one():
    torch.manual_seed(0)
    for tied in (True, False):
        model = T5(replace(SHAPE, width=64, feed_forward=128), tied=tied)
        x = model.encoder.norm(torch.randn(1, 200, 64))
        layer = model.encoder.blocks[0].attention
        parts = (each(x).view(200, 4, 16) for each in (layer.query, layer.key))
        scores = torch.einsum("qhd,khd->hqk", *parts) / 16**0.5  # the query is 4 times itself
        assert 0.5 < scores.std() < 2
        assert 0.5 < model(ids(4, 20), source=ids(4, 20, seed=1)).std() < 2


@pytest.mark.parametrize(
    "changes", [{"rotary": True}, {"qk_norm": True}, {"norm_first": False}, {"head_bias": True}]
)
def test_another_kind_of_model_is_refused(changes):
    with pytest.raises(ValueError, match=f"without {next(iter(changes))}"):
        T5(replace(SHAPE, **changes))


def test_the_one_engine_teaches_it_to_reverse():
    torch.manual_seed(0)
    shape = dict(vocabulary_size=len(SPECIALS) + 8, width=32, layers=2, heads=2, feed_forward=64)
    model = T5(t5_base(**shape))

    def pairs(step: int) -> tuple[torch.Tensor, torch.Tensor]:
        draw = torch.Generator().manual_seed(step)
        words = torch.randint(len(SPECIALS), len(SPECIALS) + 8, (32, 5), generator=draw)
        return words, torch.nn.functional.pad(words.flip(1), (1, 0), value=EOS)

    def loss(model: T5, pair: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, int]:
        return sequence_to_sequence_loss(model, *pair)

    more = dict(steps=200, schedule=warmup_stable_decay(200, 10, 0.5))
    more["optimizers"] = optimizers_for(model, PretrainingRecipe(learning_rate=1e-2))
    train(model, loss, pairs, **more)
    with torch.no_grad():
        nats, targets = loss(model, pairs(10_000))
    assert nats / targets < 0.5  # guessing costs 2.1
