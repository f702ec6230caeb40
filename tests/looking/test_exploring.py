import numpy as np
import pytest
import torch

from tlcourse.bpe import EOS, Tokenizer
from tlcourse.looking import explore, exploring
from tlcourse.transformer import Config, Transformer, record
from tlcourse.views import Picture, style

TEXT = "the dog saw the cat"
SHAPE = {"vocabulary_size": 300, "width": 16, "feed_forward": 32, "max_length": 40}


def made(layers, heads, seed, **more):
    torch.manual_seed(seed)
    model = Transformer(Config(layers=layers, heads=heads, **SHAPE | more)).eval()
    with torch.no_grad():
        for block in model.blocks:  # a new block says nothing and looks nearly everywhere alike
            for layer in (block.attention.query, block.attention.key, block.attention.output):
                layer.weight.normal_()
    return model


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train([" the dog saw the cat that the dog saw"], 280)


@pytest.fixture(scope="module")
def model():
    return made(3, 4, seed=0)


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    monkeypatch.setattr(style, "DPI", 20)  # many pictures are drawn here, and nobody looks at them


@pytest.fixture
def on(monkeypatch):
    monkeypatch.delenv("TLCOURSE_WIDGETS", raising=False)


def parts(box):
    """The widgets by what they are called; the line and the picture come last."""
    *controls, said, picture, _ = box.children
    return {each.description: each for each in controls} | {"said": said, "picture": picture}


@pytest.fixture
def found(on, model, tokenizer):
    """The widgets of the text, by what they are called."""
    return parts(explore(model, tokenizer, TEXT))


def weights(model, tokenizer, text=TEXT):
    ids = torch.tensor([[EOS, *tokenizer.encode(" " + text)]])
    with torch.no_grad(), record(model) as seen:
        model(ids)
    return torch.stack(seen.attention)[:, 0].numpy()


def test_without_widgets_the_first_figure_is_drawn(model, tokenizer):
    picture = explore(model, tokenizer, TEXT)
    assert isinstance(picture, Picture)
    shown = picture.axes[0].images[0].get_array()
    np.testing.assert_allclose(shown, weights(model, tokenizer)[0, 0], atol=1e-6)
    assert "One text: " in picture.get_supxlabel()
    other = explore(model, tokenizer, TEXT, start=(1, 2)).axes[0].images[0].get_array()
    np.testing.assert_allclose(other, weights(model, tokenizer)[1, 2], atol=1e-6)


@pytest.mark.usefixtures("on")
def test_the_switches_begin_at_the_head_that_is_named(model, tokenizer):
    found = parts(explore(model, tokenizer, TEXT, start=(1, 2)))
    assert (found["block"].value, found["head"].value) == (1, 2)


@pytest.mark.usefixtures("on")
def test_what_goes_to_a_learned_prefix_is_said_and_not_drawn(tokenizer):
    model = made(2, 4, seed=5)
    for block in model.blocks:
        block.attention.prefix = torch.nn.Parameter(torch.randn(2, 4, 3, 4))
    found = parts(explore(model, tokenizer, TEXT))
    seen = weights(model, tokenizer)
    length = seen.shape[-2]
    assert seen.shape[-1] == length + 3
    share = seen[..., :3].sum(-1).mean()
    for view in exploring.VIEWS:
        found["view"].value = view
        assert found["said"].value == "", view
    text = exploring._read(model, tokenizer, TEXT)
    np.testing.assert_allclose(text.attention, seen[..., 3:], atol=1e-6)
    assert f" {share:.0%} of the attention, not drawn, goes to a learned prefix" in text.note


def test_each_switch_changes_the_picture(found):
    assert list(found) == ["text", "view", "block", "head", "token", "said", "picture"]
    assert (found["block"].max, found["head"].max) == (2, 3)
    pictures = [found["picture"].value]
    for name, value in {"block": 2, "head": 3, "text": "the cat", "view": "from one token"}.items():
        found[name].value = value
        pictures.append(found["picture"].value)
    found["token"].value = 1
    pictures.append(found["picture"].value)
    assert len(set(pictures)) == len(pictures) == 6
    assert "Head 2.3" not in pictures[0] and "head 2.3;" in pictures[2]
    found["token"].value = 2
    found["token"].value = 1
    assert found["picture"].value == pictures[-1]
    assert found["said"].value == ""


def test_the_alt_text_tells_where_the_last_token_looks(found, model, tokenizer):
    found["block"].value, found["head"].value = 1, 2
    largest = weights(model, tokenizer)[1, 2, -1].max()
    assert f", with {largest:.2f}." in found["picture"].value


def test_every_view_is_another_picture(found):
    pictures = {found["picture"].value}
    for name in found["view"].options[1:]:
        found["view"].value = name
        pictures.add(found["picture"].value)
    assert found["said"].value == "" and len(pictures) == len(found["view"].options)


def test_a_bad_text_is_one_line_and_the_picture_stays(found):
    before = found["picture"].value
    for text, said in {"  ": "type a sentence", "x" * 41: "at most 40 tokens, got 43"}.items():
        found["text"].value = text
        assert said in found["said"].value and "\n" not in found["said"].value
        found["block"].value = 1 - found["block"].value  # still there: nothing was read
        assert said in found["said"].value
        assert found["picture"].value == before
    found["text"].value = "<b>$x^$</b> & the 'dog'"
    assert found["said"].value == ""
    assert found["picture"].value != before and "<b>" not in found["picture"].value


def test_an_error_while_drawing_is_one_line(found, model, monkeypatch):
    monkeypatch.setattr(model, "hidden", lambda tokens: 1 / 0)
    found["text"].value = "the cat"
    assert "division by zero" in found["said"].value


@pytest.mark.usefixtures("on")
def test_another_model_brings_its_own_layers_heads_and_tokens(model, tokenizer):
    other, letters = made(1, 2, seed=1, causal=False), Tokenizer([])
    found = parts(explore(model, tokenizer, TEXT, beside={"masked": (other, letters)}))
    found["block"].value, found["head"].value = 2, 3
    found["model"].value = "masked"
    assert (found["block"].value, found["head"].value) == (0, 1)
    assert len(found["token"].options) == len(" " + TEXT) + 1
    largest = weights(other, letters)[0, 1, -1].max()
    assert f", with {largest:.2f}." in found["picture"].value
    found["model"].value = "this model"
    assert (found["block"].max, found["block"].value) == (2, 0)


def test_only_the_switches_that_turn_the_view_can_be_moved(found):
    assert [found[name].disabled for name in ("block", "head", "token")] == [False, False, True]
    found["view"].value = "from one token"
    assert [found[name].disabled for name in ("block", "head", "token")] == [False, True, False]


@pytest.mark.parametrize("switch", [None, "on"])
def test_a_bad_first_text_is_an_error(model, tokenizer, switch, request):
    if switch:
        request.getfixturevalue(switch)
    with pytest.raises(ValueError, match="expected a text, got none"):
        explore(model, tokenizer, " ")
    with pytest.raises(ValueError, match=r"a block and a head below .*, got \(0, 99\)"):
        explore(model, tokenizer, TEXT, start=(0, 99))


def test_looking_leaves_the_model_as_it_was(model, tokenizer):
    kernels = [block.attention.kernel for block in model.blocks]
    explore(model, tokenizer, TEXT)
    assert [block.attention.kernel for block in model.blocks] == kernels
