"""Prompts as text, label probabilities by reading whole texts, and calibration by hand."""

from dataclasses import replace

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from tests.models import noisy
from tlcourse.bpe import Tokenizer
from tlcourse.evaluation import PromptFormat, calibrate, label_log_probabilities
from tlcourse.transformer import Config

FORMAT = PromptFormat("Q: {text}\nType: {label}", {"NUM": "number", "HUM": "person"}, "Classify.")
EXAMPLES = [("How many?", "NUM"), ("Who sang?", "HUM")]


def test_a_prompt_is_the_instruction_the_solved_examples_and_the_text():
    assert FORMAT.render("Who?") == "Classify.\n\nQ: Who?\nType:"
    two = "Classify.\n\nQ: How many?\nType: number\n\nQ: Who sang?\nType: person\n\nQ: Who?\nType:"
    assert FORMAT.render("Who?", EXAMPLES) == two
    assert FORMAT.render("Who?", EXAMPLES[::-1]) != two
    plain = PromptFormat("{text} It was {label}", {"0": "bad", "1": "good"}, separator=" ")
    assert plain.render("Fun {label}.", [("Dull.", "0")]) == "Dull. It was bad Fun {label}. It was"
    assert plain.content_free() == ["N/A It was", "[MASK] It was", " It was"]


def test_formats_and_labels_that_do_not_fit_are_refused():
    for template in ("{text}: {label}.", "{label} {label}", "{text}:{label}"):
        with pytest.raises(ValueError, match="expected a template"):
            PromptFormat(template, FORMAT.words)
    with pytest.raises(ValueError, match="at least two labels, got {'a': 'b'}"):
        PromptFormat("{text} {label}", {"a": "b"})
    with pytest.raises(ValueError, match="label out of NUM, HUM, got 'LOC'"):
        FORMAT.render("Who?", [("Where?", "LOC")])


TOKENIZER = Tokenizer.train(["number person how many Type Classify"] * 3, 290)
SHAPE = Config(TOKENIZER.vocabulary_size, width=32, layers=2, heads=2)
WORDS = ["number", "person", "an unseen word"]
PROMPTS = [FORMAT.render(text, EXAMPLES) for text in ("Who?", "How many are there?", "Who?", "")]


def score(logits, ids, start):
    """The log-probability of ids[start:], of logits (1, length, vocabulary)."""
    logs = logits[0].log_softmax(-1)[start - 1 : -1]
    return logs.gather(1, torch.tensor(ids[start:])[:, None]).sum().item()


def test_a_label_is_the_sum_over_its_tokens_in_our_model():
    model = noisy(SHAPE)
    found = label_log_probabilities(model, TOKENIZER, PROMPTS, words=WORDS)
    read = TOKENIZER.reading.around
    for row, prompt in enumerate(PROMPTS):
        start = len(read(TOKENIZER.read(prompt)))
        for column, word in enumerate(WORDS):
            ids = read(TOKENIZER.read(f"{prompt} {word}"))
            with torch.no_grad():
                whole = score(model(torch.tensor([ids])), ids, start)
            assert found[row, column].item() == pytest.approx(whole, abs=1e-4)
    assert torch.equal(found[0], found[2])
    assert all(block.attention.cache is None for block in model.blocks)


@pytest.fixture(scope="module")
def theirs():
    torch.manual_seed(0)
    shape = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 256}
    specials = {"bos_token_id": None, "eos_token_id": None}
    config = GPT2Config(vocab_size=TOKENIZER.vocabulary_size, **shape, **specials)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=TOKENIZER.to_library())
    return GPT2LMHeadModel(config), tokenizer


@pytest.mark.parametrize("prompts", [PROMPTS, [PROMPTS[0]], ["Who?", "how many?"]])
def test_a_label_is_the_sum_over_its_tokens_in_a_model_of_transformers(theirs, prompts):
    model, tokenizer = theirs
    found = label_log_probabilities(model, tokenizer, prompts, words=WORDS)
    assert found.shape == (len(prompts), 3)
    for row, prompt in enumerate(prompts):
        start = len(tokenizer(prompt)["input_ids"])
        for column, word in enumerate(WORDS):
            ids = tokenizer(f"{prompt} {word}")["input_ids"]
            with torch.no_grad():
                whole = score(model(torch.tensor([ids])).logits, ids, start)
            assert found[row, column].item() == pytest.approx(whole, abs=1e-4)


def test_without_training_every_token_is_as_likely(theirs):
    model, tokenizer = theirs
    even = GPT2LMHeadModel(model.config)
    torch.nn.init.zeros_(even.lm_head.weight)
    found = label_log_probabilities(even, tokenizer, PROMPTS, words=["number"])
    tokens = len(tokenizer(" number")["input_ids"])
    wanted = -tokens * torch.tensor(float(TOKENIZER.vocabulary_size)).log()
    torch.testing.assert_close(found, wanted.expand(len(PROMPTS), 1))


def test_prompts_that_cannot_be_scored_are_refused(theirs):
    model, tokenizer = theirs
    with pytest.raises(ValueError, match=r"at most 256 tokens, .* got [0-9]+; leave examples out"):
        label_log_probabilities(model, tokenizer, [PROMPTS[1] * 8], words=WORDS)
    for prompts, words in (([], WORDS), (["Who?"], []), ([""], WORDS)):
        with pytest.raises(ValueError, match="expected prompts and words"):
            label_log_probabilities(model, tokenizer, prompts, words=words)
    masked = noisy(replace(SHAPE, causal=False))
    with pytest.raises(ValueError, match="expected a causal model"):
        label_log_probabilities(masked, TOKENIZER, ["Who?"], words=WORDS)


def test_calibration_divides_by_the_bias_and_normalises():
    content_free = torch.tensor([[0.8, 0.2], [0.6, 0.4], [0.7, 0.3]])
    found = calibrate(torch.tensor([[0.7, 0.3], [0.6, 0.4]]), content_free)
    torch.testing.assert_close(found[0], torch.tensor([0.5, 0.5]))  # it equals the bias
    assert found[1, 1] > 0.5 and found.sum(dim=1).tolist() == pytest.approx([1.0, 1.0])
    scaled = calibrate(torch.tensor([[0.7, 0.3], [0.6, 0.4]]), 0.01 * content_free)
    torch.testing.assert_close(found, scaled)
    with pytest.raises(ValueError, match="positive probability of each label"):
        calibrate(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
