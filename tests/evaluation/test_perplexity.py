import math

import pytest
import torch

from tests.models import PLAIN, noisy
from tlcourse.bpe import EOS, UNK, Tokenizer
from tlcourse.evaluation import evaluate
from tlcourse.transformer import Config, Transformer

ARTICLES = [
    " = The rain = \n\n The rain fell on <unk> and <unk> , 5 cafés @-@ long .\n",
    " = Trains = \n\n In the <unk> , trains .\n\n",
]
TOKENIZER = Tokenizer.train([text.replace("<unk>", "") for text in ARTICLES], 275)


def model_of(causal: bool = True) -> Transformer:
    return noisy(Config(275, 16, 2, 2, 32, 64, causal=causal))


def stream() -> list[int]:
    ids = [EOS]
    for article in ARTICLES:
        ids += [*TOKENIZER.encode(article, allow_special=True), EOS]
    return ids


def cost(model: Transformer, past: list[int], token: int) -> float:
    with torch.no_grad():
        return -model(torch.tensor([past]))[0, -1].log_softmax(-1)[token].item()


def brute_force(model: Transformer, window: int, stride: int) -> list[float]:
    """Token by token, each from the past that its window gives it."""
    ids, costs = stream(), []
    for place in range(1, len(ids)):
        # The window in which `place` is new: the first, or the one that ends next at a stride.
        end = window if place <= window else window + stride * -((window - place) // stride)
        begin = max(0, min(end, len(ids) - 1) - window)
        costs.append(cost(model, ids[begin:place], ids[place]))
    return costs


@pytest.mark.parametrize(("window", "stride"), [(64, 64), (16, 16), (16, 8), (16, 5), (10, 1)])
def test_nats_are_those_of_a_computation_token_by_token(window, stride):
    model, ids = model_of(), stream()
    costs = brute_force(model, window, stride)
    got = evaluate(model, TOKENIZER, ARTICLES, compute=PLAIN, window=window, stride=stride)
    text = [c for c, token in zip(costs, ids[1:], strict=True) if token != EOS]
    assert got.targets == len(text)
    assert got.nats == pytest.approx(sum(text), rel=1e-5)
    assert (got.window, got.stride) == (window, stride)


def test_unk_and_the_bare_space_before_it_are_left_out_of_both_sums():
    model, ids = model_of(), stream()
    costs, space = brute_force(model, 64, 64), TOKENIZER.encode(" ")[0]
    kept = 0.0
    for place, token in enumerate(ids[1:], start=1):
        following = ids[place + 1] if place + 1 < len(ids) else None
        if token not in (EOS, UNK) and not (token == space and following == UNK):
            kept += costs[place - 1]
    got = evaluate(model, TOKENIZER, ARTICLES, compute=PLAIN, window=64, stride=64)
    assert got.unk == 3
    assert got.nats_without_unk == pytest.approx(kept, rel=1e-5)
    assert got.word_perplexity_without_unk == pytest.approx(math.exp(kept / (got.words - 3)))


def test_what_the_sums_are_divided_by():
    got = evaluate(model_of(), TOKENIZER, ARTICLES, compute=PLAIN, window=64, stride=32)
    assert got.words == (4 + 13 + 3) + (3 + 6 + 4)  # words of both lines, line ends
    assert got.text_bytes == len("".join(ARTICLES)) + 1  # é has two
    assert got.word_perplexity == pytest.approx(math.exp(got.nats / got.words))
    assert got.token_perplexity == pytest.approx(math.exp(got.nats / got.targets))
    assert got.bits_per_byte == pytest.approx(got.nats / math.log(2) / got.text_bytes)
    assert got.figures()["word_perplexity"] == got.word_perplexity


@pytest.mark.parametrize(
    ("changes", "articles", "options", "said"),
    [
        ({"causal": False}, ARTICLES, {}, "a bidirectional model sees its own targets"),
        ({}, [], {}, r"expected texts in a list, got \[\]"),
        ({}, ARTICLES[0], {}, "expected texts in a list, got '"),
        ({}, ARTICLES, {"stride": 0}, r"expected a stride of 1 to 32 tokens \(the window\), got 0"),
        ({}, ARTICLES, {"stride": 33}, "got 33"),
    ],
)
def test_what_cannot_be_measured_is_refused(changes, articles, options, said):
    model = Transformer(Config(275, 16, 2, 2, 32, 64, **changes))
    with pytest.raises(ValueError, match=said):
        evaluate(model, TOKENIZER, articles, compute=PLAIN, window=32, **{"stride": 16} | options)
