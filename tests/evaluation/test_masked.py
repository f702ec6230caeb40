import itertools
import math

import pytest
import torch

from tests.evaluation.test_perplexity import ARTICLES, PLAIN, TOKENIZER, model_of
from tlcourse.batching import encode_articles, generator_for
from tlcourse.bpe import MASK, SPECIALS, UNK
from tlcourse.evaluation import evaluate_masked
from tlcourse.evaluation.masked import MASK_SEED, choose_words
from tlcourse.metrics import words_and_line_ends

LONG = [" ".join(ARTICLES * 10)]
STREAM = [token for ids in encode_articles(LONG, TOKENIZER) for token in ids]


def rows_of(window: int) -> torch.Tensor:
    return torch.tensor(STREAM[: len(STREAM) // window * window]).view(-1, window)


def test_masks_are_fixed_and_only_they_are_scored():
    model = model_of(causal=False)
    one = evaluate_masked(model, TOKENIZER, LONG, compute=PLAIN, window=16)
    torch.rand(5)
    assert one == evaluate_masked(model, TOKENIZER, LONG, compute=PLAIN, window=16)
    ordinary = sum(token >= len(SPECIALS) for token in STREAM)
    assert one["masked_tokens"] / ordinary == pytest.approx(0.15 * 15 / 16, abs=0.03)
    assert (one["window"], one["mask_probability"]) == (16, 0.15)


def test_an_even_guess_gives_what_follows_from_the_counts():
    model = model_of(causal=False)
    torch.nn.init.zeros_(model.embedding.weight)
    found = evaluate_masked(model, TOKENIZER, LONG, compute=PLAIN, window=16)
    assert found["masked_token_perplexity"] == pytest.approx(275, rel=1e-5)
    words = words_and_line_ends(LONG[0]) - STREAM.count(UNK)
    tokens_a_word = sum(token >= len(SPECIALS) for token in STREAM) / words
    assert found["masked_word_perplexity"] == pytest.approx(275**tokens_a_word, rel=1e-4)
    chosen, count = choose_words(
        rows_of(16), TOKENIZER, generator_for(MASK_SEED, 1), probability=0.15
    )
    assert found["masked_words"] == count
    assert found["whole_word_perplexity"] == pytest.approx(
        275 ** (int(chosen.sum()) / count), rel=1e-4
    )


def test_a_text_shorter_than_a_window_is_one_window():
    short = [LONG[0][:120]]
    length = len(next(encode_articles(short, TOKENIZER)))
    given = {"compute": PLAIN, "probability": 0.5}
    found = evaluate_masked(model_of(causal=False), TOKENIZER, short, window=length, **given)
    more = evaluate_masked(model_of(causal=False), TOKENIZER, short, window=128, **given)
    assert found == more and found["window"] == length < 64


@torch.no_grad()
@pytest.mark.parametrize("causal", [False, True])
def test_whole_words_are_predicted_from_what_is_left(causal):
    """One window after the other; the model that is causal, too, answers one position before."""
    model = model_of(causal)
    rows = rows_of(16)
    chosen, words = choose_words(rows, TOKENIZER, generator_for(MASK_SEED, 1), probability=0.15)
    nats = 0.0
    for row, places in zip(rows, chosen, strict=True):
        corrupted = torch.where(places, MASK, row)[None]
        hidden = model.hidden(corrupted, causal=torch.tensor([False]))
        logits = (model.transformed(hidden) @ model.embedding.weight.T).log_softmax(-1)[0]
        for place in places.nonzero().flatten().tolist():
            nats -= logits[place - causal, row[place]].item()
    found = evaluate_masked(model, TOKENIZER, LONG, compute=PLAIN, window=16)
    assert found["whole_word_perplexity"] == pytest.approx(math.exp(nats / words), rel=1e-4)


def words_of(rows: torch.Tensor, chosen: torch.Tensor) -> list[str]:
    """What is chosen, cut at white space and at what is not chosen."""
    words = []
    for row, places in zip(rows.tolist(), chosen.tolist(), strict=True):
        pairs = zip(row, places, strict=True)
        for is_chosen, run in itertools.groupby(pairs, key=lambda pair: pair[1]):
            if is_chosen:
                words += TOKENIZER.decode([token for token, _ in run]).split()
    return words


@pytest.mark.parametrize("window", [8, 16, 50])
def test_words_are_masked_whole_or_not_at_all(window):
    rows = rows_of(window)
    everything, total = choose_words(rows, TOKENIZER, generator_for(0), probability=1.0)
    chosen, count = choose_words(rows, TOKENIZER, generator_for(0), probability=0.4)
    assert count / total == pytest.approx(0.4, abs=0.06)
    assert not everything[:, 0].any() and not (chosen & ~everything).any()
    masked, some = words_of(rows, everything), words_of(rows, chosen)
    assert (len(masked), len(some)) == (total, count)
    assert set(some) <= set(masked) <= set(LONG[0].replace("<unk>", " ").split())
