import itertools
import math
from collections import Counter

import numpy as np
import pytest

from tests.evaluation.test_perplexity import ARTICLES, TOKENIZER, stream
from tlcourse.bpe import EOS, normalise
from tlcourse.evaluation import NgramModel, evaluate_ngrams, ngram_scores
from tlcourse.evaluation.ngram import FALLBACK, discounts_of

VOCABULARY = 9  # the specials stand for words here, but for <eos>


def corpus(length: int = 3000, seed: int = 0) -> list[int]:
    """Ids of which some are frequent and some rare, in documents."""
    generator = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, VOCABULARY) ** 1.5
    words = [number for number in range(VOCABULARY) if number != EOS]
    ids = generator.choice(words, size=length, p=shares / shares.sum())
    ids[generator.random(length) < 0.05] = EOS
    return ids.tolist()


class ByDictionaries:
    """Chen & Goodman's equations as they stand, n-gram by n-gram."""

    def __init__(self, ids: list[int], vocabulary_size: int, order: int):
        self.size, self.order = vocabulary_size, order
        there = [Counter() for _ in range(order + 1)]
        documents = [[]]
        for token in ids:
            documents[-1].append(token)
            if token == EOS:
                documents.append([])
        for document in documents:
            text = [EOS, *document]
            for length in range(1, order + 1):
                # The <eos> at the beginning is never predicted.
                for start in range(1 if length == 1 else 0, len(text) - length + 1):
                    there[length][tuple(text[start : start + length])] += 1
        self.counts = [Counter() for _ in range(order + 1)]
        self.counts[order] = there[order]
        for length in range(1, order):
            various = Counter(gram[1:] for gram in there[length + 1])
            for gram in there[length]:
                first = length > 1 and gram[0] == EOS
                self.counts[length][gram] = there[length][gram] if first else various[gram]
        self.discounts = [discounts_of(np.array([*counts.values(), 0])) for counts in self.counts]

    def probability(self, context: tuple, token: int) -> float:
        if EOS in context:
            last = len(context) - 1 - context[::-1].index(EOS)
            context = context[last:]
        context = context[max(0, len(context) - self.order + 1) :]
        return self._of(context, token)

    def _of(self, context: tuple, token: int) -> float:
        length = len(context) + 1
        lower = self._of(context[1:], token) if context else 1 / self.size
        after = {g: c for g, c in self.counts[length].items() if g[:-1] == context}
        total = sum(after.values())
        if total == 0:
            return lower
        taken = self.discounts[length]
        count = after.get((*context, token), 0)
        share = sum(taken[min(c, 3)] for c in after.values()) / total
        return max(count - taken[min(count, 3)], 0) / total + share * lower


def distribution(model: NgramModel, context: tuple) -> np.ndarray:
    """(vocabulary,) probabilities of what comes next."""
    rows = [[*context, token] for token in range(model.vocabulary_size)]
    return np.exp([model.log_probabilities(row)[-1] for row in rows])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("length", [40, 3000])
def test_probabilities_sum_to_one_after_every_context(order, length):
    model = NgramModel(corpus(length), VOCABULARY, order=order)
    for size in range(min(order, 3)):
        for context in itertools.product(range(VOCABULARY), repeat=size):
            found = distribution(model, context)
            assert found.sum() == pytest.approx(1.0, abs=1e-12) and (found > 0).all()


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("length", [60, 3000])
def test_probabilities_are_those_of_the_equations(order, length):
    ids, new = corpus(length), corpus(80, seed=1)
    model, right = NgramModel(ids, VOCABULARY, order=order), ByDictionaries(ids, VOCABULARY, order)
    found = np.exp(model.log_probabilities(new))
    # The first one stands after nothing, not even <eos>.
    expected = [right.probability(tuple(new[:place]), token) for place, token in enumerate(new)]
    assert found == pytest.approx(expected, rel=1e-12)


def test_discounts_are_the_closed_form_by_hand():
    # 5 n-grams seen once, 3 twice, 2 three times, 1 four times: Y = 5 / (5 + 6).
    counts = np.array([0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 9])
    y = 5 / 11
    by_hand = [0, 1 - 2 * y * 3 / 5, 2 - 3 * y * 2 / 3, 3 - 4 * y * 1 / 2]
    assert discounts_of(counts) == pytest.approx(by_hand)
    assert by_hand == pytest.approx([0, 0.454545, 1.090909, 2.090909], abs=1e-6)


@pytest.mark.parametrize("counts", [[], [4, 5, 6], [1, 1, 1, 3], [1, 2, 3, 4, 4, 4, 4, 4, 4, 4]])
def test_where_the_closed_form_has_no_answer_the_discounts_are_fixed(counts):
    assert discounts_of(np.array(counts, dtype=int)).tolist() == [0, *FALLBACK]


def test_a_tiny_corpus_by_hand():
    """a b a c b (5 6 5 7 6 here), bigrams: fixed discounts, for no bigram is there three times."""
    a, b, c, size = 6, 7, 8, 9
    model = NgramModel([a, b, a, c, b], size, order=2)
    # Before single tokens: a after <eos> and b; b after a and c; c after a. None for the others.
    single = {a: (2 - 1) / 5, b: (2 - 1) / 5, c: (1 - 0.5) / 5}
    left = (1 + 1 + 0.5) / 5 / size
    # After a stand b and c, once each: each gives up 0.5.
    after_a = np.full(size, (0.5 + 0.5) / 2 * left)
    for token, share in single.items():
        after_a[token] = (token != a) * 0.5 / 2 + 0.5 * (share + left)
    assert distribution(model, (a,)) == pytest.approx(after_a)


def test_what_stands_before_the_end_of_a_document_tells_nothing_of_the_next():
    model = NgramModel(corpus(), VOCABULARY, order=4)
    fresh, after = distribution(model, (EOS,)), distribution(model, (1, 2, EOS))
    assert after == pytest.approx(fresh) and fresh != pytest.approx(distribution(model, ()))


@pytest.mark.parametrize(
    ("ids", "order", "said"),
    [
        ([1, 9], 2, "expected ids from 0 to 8, got 1 to 9"),
        ([], 2, "got 2 and 0"),
        ([1], 0, "0 and"),
    ],
)
def test_what_is_refused(ids, order, said):
    with pytest.raises(ValueError, match=said):
        NgramModel(ids, VOCABULARY, order=order)


@pytest.fixture(scope="module")
def counted() -> NgramModel:
    return NgramModel(stream(), TOKENIZER.vocabulary_size, order=3)


def test_scores_of_sentences_are_sums_after_the_beginning(counted):
    texts = ["The rain fell.", "The train fell.", "The rain fell.", "In the trains"]
    found = ngram_scores(counted, TOKENIZER, texts)
    by_hand = [counted.log_probabilities(ids_of_text(text))[1:].sum() for text in texts]
    assert found == pytest.approx(by_hand) and len(set(found)) == 3
    assert found[0] > found[1]  # it has read of rain
    assert ngram_scores(counted, TOKENIZER, []) == []
    with pytest.raises(ValueError, match="expected words in every sentence"):
        ngram_scores(counted, TOKENIZER, [" "])


def ids_of_text(text: str) -> list[int]:
    return [EOS, *TOKENIZER.encode(normalise(text))]


def test_perplexity_has_the_conventions_of_the_other_models(counted):
    found = evaluate_ngrams(counted, TOKENIZER, ARTICLES)
    ids = stream()
    nats = -counted.log_probabilities(ids)
    kept = [place for place in range(1, len(ids)) if ids[place] != EOS]
    assert found.nats == pytest.approx(nats[kept].sum()) and found.targets == len(kept)
    assert found.words == (4 + 13 + 3) + (3 + 6 + 4) and found.unk == 3
    assert found.word_perplexity == pytest.approx(math.exp(found.nats / found.words))
    assert (found.window, found.stride) == (3, 1)
    with pytest.raises(ValueError, match="expected texts in a list"):
        evaluate_ngrams(counted, TOKENIZER, "a text")
