import pytest
import torch

from tests.evaluation.test_scoring import PLAIN, TOKENIZER, by_hand, model_of
from tlcourse.bpe import EOS, MASK
from tlcourse.evaluation import pronouns, samples


def test_continuations_are_the_same_each_time_and_never_chosen():
    model = model_of(True)
    found = samples.continuations(model, TOKENIZER, compute=PLAIN)
    torch.rand(3)
    assert found == samples.continuations(model, TOKENIZER, compute=PLAIN)
    assert [each["prompt"] for each in found] == list(samples.PROMPTS)
    assert len({each["continuation"] for each in found}) == len(found)
    with pytest.raises(ValueError, match="read it as masked"):
        samples.continuations(model_of(False), TOKENIZER, compute=PLAIN)


@torch.no_grad()
@pytest.mark.parametrize("causal", [False, True])
def test_fillings_are_the_likeliest_tokens_where_the_mask_stands(causal):
    model = model_of(causal)
    found = samples.fillings(model, TOKENIZER, compute=PLAIN)
    assert [each["text"] for each in found] == list(samples.TO_FILL)
    ids = [EOS, *TOKENIZER.encode(" The capital of France is"), MASK, *TOKENIZER.encode(".")]
    hidden = model.hidden(torch.tensor([ids]), causal=torch.tensor([False]))
    place = ids.index(MASK) - causal
    shares = (hidden @ model.embedding.weight.T)[0, place].softmax(-1)
    shares = shares[: TOKENIZER.vocabulary_size]
    for text, share in found[0]["likeliest"]:
        assert share == pytest.approx(shares.max().item(), rel=1e-4)
        assert text == TOKENIZER.decode([int(shares.argmax())])
        shares[shares.argmax()] = 0.0


@pytest.mark.parametrize(("causal", "reading"), [(True, "causal"), (False, "masked")])
def test_the_share_of_she_is_a_mean_over_templates(causal, reading):
    model = model_of(causal)
    shares = pronouns.share_of_she(model, TOKENIZER, reading=reading, compute=PLAIN)
    assert list(shares) == list(pronouns.PEOPLE)
    expected = []
    for template in pronouns.TEMPLATES:
        she, he = (
            torch.tensor(by_hand(model, template.format("nurse", word), reading)).double().exp()
            for word in ("she", "he")
        )
        expected.append((she / (she + he)).item())
    assert shares["nurse"] == pytest.approx(sum(expected) / len(expected), rel=1e-4)


def test_a_model_that_cannot_tell_words_apart_goes_by_length():
    model = model_of(True)
    torch.nn.init.zeros_(model.embedding.weight)
    longer = len(TOKENIZER.encode(" she")) - len(TOKENIZER.encode(" he"))
    share = 1 / (1 + TOKENIZER.vocabulary_size**longer)
    shares = pronouns.share_of_she(model, TOKENIZER, compute=PLAIN)
    assert shares == pytest.approx(dict.fromkeys(pronouns.PEOPLE, share), rel=1e-3)
