"""More ids for a trained model: nothing old changes, and what is new looks like the old."""

import pytest
import torch

from tlcourse import checkpoints
from tlcourse.bpe import EOS, Tokenizer
from tlcourse.transformer import Config, Transformer, bert, grow_types, grow_vocabulary

TEXTS = ["the rain on the trains", "in the rain"]
MORE = ("<speaker1>", "<speaker2>")


def model(config: Config) -> Transformer:
    torch.manual_seed(0)
    made = Transformer(config, "explicit").eval()
    for parameter in made.parameters():
        parameter.data.add_(0.2 * torch.randn_like(parameter))
    return made


SMALL = {"vocabulary_size": 400, "width": 16, "layers": 2, "heads": 2, "feed_forward": 32}


@pytest.mark.parametrize("config", [Config(**SMALL), bert(**SMALL)], ids=["ours", "bert"])
@torch.no_grad()
def test_old_logits_are_the_same_and_new_ids_are_as_probable_as_others(config: Config) -> None:
    old = model(config)
    grown = grow_vocabulary(old, 50)
    tokens = torch.randint(400, (4, 9))
    before, after = old(tokens), grown(tokens)
    assert after.shape[-1] == grown.config.vocabulary_size == 450
    torch.testing.assert_close(after[..., :400], before, atol=0, rtol=0)
    new = after.softmax(-1)[..., 400:].mean()
    assert new.item() == pytest.approx(1 / 450, rel=0.5)
    assert grown(tokens + 50).isfinite().all()  # which reads new ids, too
    assert old.embedding.weight.shape == (400, 16)


def test_the_head_is_still_the_embedding() -> None:
    grown = grow_vocabulary(model(Config(**SMALL)), 2)
    grown(torch.tensor([[1, 401]])).sum().backward()
    assert grown.embedding.weight.grad[401].abs().sum() > 0
    assert grown.output_layer[0] is grown.embedding.weight


def test_a_tokenizer_with_more_specials_comes_back_from_its_file(tmp_path) -> None:
    plain = Tokenizer.train(TEXTS, 280)
    more = plain.with_specials(*MORE)
    text = "the rain<speaker1> <eos>"
    assert more.encode(text) == plain.encode(text)  # a user who types one gets its characters
    ids = more.encode(text, allow_special=True)
    assert plain.vocabulary_size in ids and EOS in ids
    assert more.decode(ids) == text and more.vocabulary_size == plain.vocabulary_size + 2
    more.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (again.strings, again.more_specials) == (more.strings, MORE)
    library = more.to_library()
    library.encode_special_tokens = False
    assert library.encode(text).ids == ids
    assert more.with_specials("<a>").special_ids["<a>"] == more.vocabulary_size


@pytest.mark.parametrize("names", [("<eos>",), ("",), ("<a>", "<a>")])
def test_a_special_token_that_exists_is_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="expected new special tokens"):
        Tokenizer.train(TEXTS, 280).with_specials(*names)


def test_model_and_tokenizer_are_saved_together(tmp_path) -> None:
    tokenizer = Tokenizer.train(TEXTS, 280)
    old = model(Config(**SMALL | {"vocabulary_size": tokenizer.vocabulary_size}))
    grown = grow_vocabulary(old, len(MORE))
    checkpoints.save(tmp_path / "grown", grown, tokenizer.with_specials(*MORE))
    again, read = checkpoints.load(tmp_path / "grown")
    assert read.more_specials == MORE
    half = grown.embedding.weight.half().float()  # as checkpoints are stored
    torch.testing.assert_close(again.embedding.weight, half, atol=0, rtol=0)
    with pytest.raises(ValueError, match="at least one more id"):
        grow_vocabulary(old, 0)


@torch.no_grad()
def test_new_types_change_nothing_until_they_are_trained() -> None:
    old = model(Config(**SMALL))
    grown = grow_types(old, 3)
    tokens, types = torch.randint(400, (2, 7)), torch.randint(3, (2, 7))
    torch.testing.assert_close(grown(tokens, types=types), old(tokens), atol=0, rtol=0)
    grown.types.weight[2] = 1.0
    assert not torch.allclose(grown(tokens, types=torch.full_like(tokens, 2)), old(tokens))
    for made, count in ((grown, 3), (old, 1)):
        with pytest.raises(ValueError, match="without token types and at least two"):
            grow_types(made, count)
