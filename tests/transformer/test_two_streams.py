"""XLNet: against the library's on random weights, and as a probability over every order."""

from itertools import permutations, product

import pytest
import torch
from transformers import XLNetConfig, XLNetLMHeadModel

from tlcourse.objectives import permutation_loss
from tlcourse.transformer import RelativeConfig, TransformerXL, XLNet, order_masks

SHAPE = dict(vocabulary_size=50, width=24, layers=3, heads=3, feed_forward=40)
SHAPE |= dict(activation="gelu", head_bias=True, norm_epsilon=1e-12)
LINEAR = {"q": "query", "k": "key", "v": "value", "r": "distance"}


def theirs(kind: str) -> XLNetLMHeadModel:
    """The library's model with random weights; `kind` is "bi" or "uni" (causal)."""
    torch.manual_seed(0)
    config = XLNetConfig(
        vocab_size=50, d_model=24, n_layer=3, n_head=3, d_inner=40, attn_type=kind, mem_len=64
    )
    model = XLNetLMHeadModel(config).eval()
    for parameter in model.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return model


@torch.no_grad()
def converted(model: XLNetLMHeadModel) -> TransformerXL:
    """Our model with the weights of theirs."""
    causal = model.config.attn_type == "uni"
    config = RelativeConfig(**SHAPE, causal=causal, memory_length=64)
    ours = (TransformerXL if causal else XLNet)(config).eval()
    old, found = model.state_dict(), {}
    found["embedding.weight"] = old["transformer.word_embedding.weight"]
    found["head_bias"] = old["lm_loss.bias"]
    if not causal:
        found["query_vector"] = old["transformer.mask_emb"].flatten()
    for layer in range(3):
        rel, ff = (f"transformer.layer.{layer}.{part}." for part in ("rel_attn", "ff"))
        here = f"blocks.{layer}."
        for name, own in LINEAR.items():  # theirs are (width, heads, head_dim)
            found[f"{here}attention.{own}.weight"] = old[f"{rel}{name}"].reshape(24, 24).T
        found[f"{here}attention.output.weight"] = old[f"{rel}o"].reshape(24, 24)
        found[f"{here}attention.content_bias"] = old[f"{rel}r_w_bias"][:, None]
        found[f"{here}attention.distance_bias"] = old[f"{rel}r_r_bias"][:, None]
        for kind in ("weight", "bias"):
            found[f"{here}attention_norm.{kind}"] = old[f"{rel}layer_norm.{kind}"]
            found[f"{here}feed_forward_norm.{kind}"] = old[f"{ff}layer_norm.{kind}"]
            found[f"{here}up.{kind}"] = old[f"{ff}layer_1.{kind}"]
            found[f"{here}down.{kind}"] = old[f"{ff}layer_2.{kind}"]
    ours.load_state_dict(found)
    return ours


@pytest.fixture(scope="module")
def pair():
    model = theirs("bi")
    return model, converted(model)


def draw_tokens(batch: int = 3, length: int = 9, seed: int = 1) -> torch.Tensor:
    return torch.randint(50, (batch, length), generator=torch.Generator().manual_seed(seed))


def draw_orders(batch: int = 3, length: int = 9, seed: int = 2) -> torch.Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.rand(batch, length, generator=draw).argsort(-1)


def their_arguments(order: torch.Tensor, at: torch.Tensor) -> dict[str, torch.Tensor]:
    """The library's `perm_mask` (1 = may not attend) and one-hot `target_mapping`."""
    _, query_mask = order_masks(order)
    mapping = torch.nn.functional.one_hot(at, order.shape[1]).float()
    return {"perm_mask": 1 - query_mask.float(), "target_mapping": mapping}


def all_positions(order: torch.Tensor) -> torch.Tensor:
    return torch.arange(order.shape[1]).expand_as(order)


def close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    print(f"largest difference {(found - expected).abs().max():.1e}")
    return torch.allclose(found, expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_without_an_order_it_is_theirs(pair):
    model, ours = pair
    assert close(ours(draw_tokens())[0], model(draw_tokens()).logits)


@torch.no_grad()
def test_padding_is_theirs(pair):
    model, ours = pair
    tokens, mask = draw_tokens(), torch.arange(9) >= torch.tensor([[0], [3], [7]])
    expected = model(tokens, attention_mask=mask.float()).logits
    found, _ = ours(tokens, mask)
    assert close(found[mask], expected[mask])


@torch.no_grad()
def test_with_an_order_it_is_theirs_except_first(pair):
    """All targets but the first of each order, which has nothing to attend to: see below."""
    model, ours = pair
    tokens, order = draw_tokens(), draw_orders()
    expected = model(tokens, **their_arguments(order, all_positions(order))).logits
    found, _ = ours(tokens, order=order)
    later = all_positions(order) != order[:, :1]
    assert close(found[later], expected[later])
    assert (found - expected)[~later].abs().max() > 0.01


@torch.no_grad()
def test_theirs_leaks_what_is_first_in_the_order(pair):
    """A softmax over equally masked scores is uniform, so their first target sees all tokens.

    Predicted from nothing, it must be the same for every text; only ours is.
    """
    model, ours = pair
    order = draw_orders()
    first = order[:, :1]
    texts = draw_tokens(), draw_tokens(seed=3)
    one, other = (ours(tokens, order=order, at=first)[0] for tokens in texts)
    assert torch.equal(one, other)
    one, other = (model(tokens, **their_arguments(order, first)).logits for tokens in texts)
    assert (one - other).abs().max() > 0.01


@torch.no_grad()
@pytest.mark.parametrize("count", [1, 3])
def test_chosen_positions_are_theirs(pair, count):
    model, ours = pair
    tokens, order = draw_tokens(), draw_orders()
    at = order[:, -count:]
    expected = model(tokens, **their_arguments(order, at)).logits
    found, _ = ours(tokens, order=order, at=at)
    assert found.shape == (3, count, 50) and close(found, expected)
    every, _ = ours(tokens, order=order)
    assert torch.allclose(every.gather(1, at[..., None].expand(-1, -1, 50)), found, atol=1e-5)


@torch.no_grad()
def test_the_first_row_of_the_mapping_alone_is_theirs(pair):
    """The first place of the text, wherever it is in the order."""
    model, ours = pair
    tokens, order = draw_tokens(), draw_orders(seed=4)
    assert (order[:, 0] != 0).all()
    at = torch.zeros(3, 1, dtype=torch.long)
    expected = model(tokens, **their_arguments(order, at)).logits
    assert close(ours(tokens, order=order, at=at)[0], expected)


@torch.no_grad()
@pytest.mark.parametrize("ordered", [True, False])
def test_with_a_memory_it_is_theirs_at_every_position(pair, ordered):
    """The first of an order attends to the memory, so it agrees as well."""
    model, ours = pair
    before, tokens, order = draw_tokens(length=5), draw_tokens(seed=3), draw_orders()
    their_options, our_options = {}, {}
    if ordered:
        their_options = their_arguments(order, all_positions(order))
        our_options = {"order": order}
    mems, (_, memory) = model(before).mems, ours(before)
    for _ in range(2):  # the second memory is made from the first
        expected = model(tokens, mems=mems, **their_options)
        found, memory = ours(tokens, memory=memory, **our_options)
        mems = expected.mems
        assert close(found, expected.logits)
        assert len(mems) == len(memory) == 3
        for mine, other in zip(memory, mems, strict=True):
            assert close(mine, other.transpose(0, 1))
    assert memory[0].shape == (3, 5 + 9 + 9, 24)


@torch.no_grad()
@pytest.mark.parametrize("past", [0, 5])
def test_transformer_xl_is_their_causal_model(past):
    model = theirs("uni")
    ours, tokens = converted(model), draw_tokens()
    mems = memory = None
    if past:
        mems, (_, memory) = model(tokens[:, :past]).mems, ours(tokens[:, :past])
    expected = model(tokens[:, past:], mems=mems)
    found, memory = ours(tokens[:, past:], memory=memory)
    assert close(found, expected.logits)
    assert all(
        close(mine, other.transpose(0, 1))
        for mine, other in zip(memory, expected.mems, strict=True)
    )


@torch.no_grad()
def test_left_to_right_its_content_stream_is_a_transformer_xl(pair):
    """Same weights, same signs of the distances; only the mask differs."""
    _, ours = pair
    causal = TransformerXL(RelativeConfig(**SHAPE, causal=True)).eval()
    causal.load_state_dict(ours.state_dict(), strict=False)
    tokens = draw_tokens()
    order = torch.arange(9).expand(3, -1)
    contents, _ = ours.streams(tokens, order)
    for mine, other in zip(contents, causal.hidden_states(tokens), strict=True):
        assert close(mine, other)


def test_the_masks_of_an_order():
    content, query = order_masks(torch.tensor([[2, 0, 1]]))
    assert content[0].tolist() == [[True, False, True], [True, True, True], [False, False, True]]
    assert query[0].tolist() == [[False, False, True], [True, False, True], [False, False, False]]
    for order in (draw_orders(), torch.arange(9).expand(2, -1)):
        content, query = order_masks(order)
        itself = torch.eye(9, dtype=torch.bool)
        assert content[:, itself].all() and not query[:, itself].any()
        assert torch.equal(content & ~itself, query)
    causal, _ = order_masks(torch.arange(4)[None])
    assert torch.equal(causal[0], torch.ones(4, 4).bool().tril())


@torch.no_grad()
def test_content_sees_itself_and_a_query_does_not(pair):
    """Which of the last states changes with a token: at its own place, and at later steps."""
    _, ours = pair
    tokens, order = draw_tokens(1), draw_orders(1)
    contents, queries = ours.streams(tokens, order)
    for step in range(9):
        other = tokens.clone()
        place = order[0, step]
        other[0, place] = (other[0, place] + 1) % 50
        states = zip(ours.streams(other, order), (contents, queries), strict=True)
        content, query = (
            (found[-1] - before[-1])[0, order[0]].abs().amax(-1) > 1e-6 for found, before in states
        )
        assert content.tolist() == [t >= step for t in range(9)]
        assert query.tolist() == [t > step for t in range(9)]


def tiny(words: int = 3, length: int = 4, **changes) -> XLNet:
    """A model with few words, in double precision."""
    torch.manual_seed(0)
    model = XLNet(RelativeConfig(words, 8, 2, 2, 12, causal=False, head_bias=True, **changes))
    for parameter in model.parameters():
        parameter.data.add_(0.5 * torch.randn_like(parameter))
    return model.double().eval()


def all_orders(length: int) -> torch.Tensor:
    return torch.tensor(list(permutations(range(length))))


@torch.no_grad()
@pytest.mark.parametrize(("words", "length"), [(2, 5), (3, 4), (4, 3), (5, 1)])
@pytest.mark.parametrize("remembered", [0, 3])
def test_every_order_gives_a_distribution_over_texts(words, length, remembered):
    """The probabilities of all texts sum to 1, under each order by itself."""
    model = tiny(words)
    texts = torch.tensor(list(product(range(words), repeat=length)))
    memory = None
    if remembered:
        _, memory = model(torch.arange(remembered)[None] % words)
        memory = [kept.expand(len(texts), -1, -1) for kept in memory]
    sums, chances = [], []
    for order in all_orders(length):
        logits, _ = model(texts, order=order.expand(len(texts), -1), memory=memory)
        each = logits.log_softmax(-1).gather(-1, texts[..., None]).sum((1, 2)).exp()
        sums.append(each.sum())
        chances.append(each)
    assert torch.allclose(torch.stack(sums), torch.ones(len(sums)).double(), atol=1e-12)
    if length > 1:  # the orders are different models of the same texts
        assert torch.stack(chances).std(0).max() > 1e-3


@torch.no_grad()
def step_by_step(model: XLNet, text: torch.Tensor, order: torch.Tensor, first: int) -> float:
    """The nats of one text from step `first` on, each token predicted by a pass of its own in
    which all tokens that must not be seen are replaced by others.
    """
    nats = 0.0
    for step in range(first, len(text)):
        place = order[step]
        hidden = text.clone()
        unseen = order[step:]
        hidden[unseen] = (text[unseen] + 1) % model.config.vocabulary_size
        logits, _ = model(hidden[None], order=order[None])
        nats -= logits[0, place].log_softmax(-1)[text[place]].item()
    return nats


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_the_loss_over_all_orders_is_the_mean_over_factorisations(length):
    model, orders = tiny(), all_orders(length)
    text = torch.randint(3, (length,), generator=torch.Generator().manual_seed(1))
    for predicted in {1, length}:
        nats, count = permutation_loss(
            model, text.expand(len(orders), -1), orders, predicted=predicted
        )
        assert count == len(orders) * predicted
        each = [step_by_step(model, text, order, length - predicted) for order in orders]
        assert nats.item() / len(orders) == pytest.approx(sum(each) / len(each), abs=1e-10)


def test_a_sixth_is_predicted():
    model, counts = tiny(), []
    for length in (1, 5, 6, 11, 12, 13):
        tokens, order = torch.zeros(2, length).long(), draw_orders(2, length)
        counts.append(permutation_loss(model, tokens, order)[1])
    assert counts == [2, 2, 2, 2, 4, 4]
    with pytest.raises(ValueError, match="1 to 13 predicted positions, got 14"):
        permutation_loss(model, tokens, order, predicted=14)
    with pytest.raises(ValueError, match="1 to 13 predicted positions, got 0"):
        permutation_loss(model, tokens, order, predicted=0)


def test_the_loss_reaches_every_parameter():
    model = tiny()
    tokens, order = torch.randint(3, (4, 6)), draw_orders(4, 6)
    nats, _ = permutation_loss(model, tokens, order, predicted=3)
    nats.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert all(p.grad.any() for p in model.parameters())


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="causal=False, got causal=True"):
        XLNet(RelativeConfig(**SHAPE))
    model, tokens = tiny(), torch.zeros(1, 3).long()
    with pytest.raises(ValueError, match=r"permutations .* got \[\[0, 2, 2\]\]"):
        model(tokens, order=torch.tensor([[0, 2, 2]]))
    with pytest.raises(ValueError, match="permutations"):
        order_masks(torch.arange(3))
    with pytest.raises(ValueError, match="an order with `at`"):
        model(tokens, at=tokens)
