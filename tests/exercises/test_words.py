"""Right and wrong answers to the exercises of lesson 11, and their agreement with Gensim."""

import math
import re

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.words.nearest_sense import by, cosines, nearest_sense
from tlcourse.exercises.words.negative_sampling_loss import (
    negative_sampling_loss,
    of_scores,
    right,
)
from tlcourse.exercises.words.ngram_buckets import by_pattern, fnv1a, ngram_buckets, of_texts
from tlcourse.exercises.words.ppmi import of_ratio, ppmi
from tlcourse.exercises.words.sampling import sampling, with_kept, with_noise
from tlcourse.exercises.words.smooth_average import (
    means_of,
    smooth_average,
    weighted,
    with_means,
    with_removal,
)

# ppmi


def by_expected_counts(counts):
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    ratio = np.divide(counts, expected, out=np.ones_like(expected), where=counts > 0)
    return np.log(ratio).clip(min=0)


def by_differences(counts):
    with np.errstate(divide="ignore", invalid="ignore"):
        logs, words, contexts = (np.log(each) for each in (counts, counts.sum(1), counts.sum(0)))
        found = logs + np.log(counts.sum()) - words[:, None] - contexts
    return np.nan_to_num(found, nan=0.0, neginf=0.0, posinf=0.0).clip(0)


def by_loops(counts):
    total, found = counts.sum(), np.zeros(counts.shape)
    for w in range(len(counts)):
        for c in range(counts.shape[1]):
            if counts[w, c] > 0:
                chance = counts[w].sum() / total * counts[:, c].sum() / total
                found[w, c] = max(0.0, math.log(counts[w, c] / total / chance))
    return found


def by_torch(counts):
    joint = torch.tensor(counts, dtype=torch.float64) / counts.sum()
    ratio = joint / (joint.sum(1, keepdim=True) * joint.sum(0)).clamp(min=1e-300)
    return ratio.clamp(min=1).log().numpy()


def by_conditional(counts):
    """p(c | w) / p(c)."""
    rows = counts.sum(axis=1, keepdims=True)
    given_word = counts / np.maximum(rows, 1)
    shares = np.maximum(counts.sum(axis=0) / counts.sum(), 1e-12)
    return np.log(np.maximum(given_word / shares, 1))


def in_place(counts):
    counts[counts == 0] = 1
    return ppmi(counts)


def changing(counts):
    counts += 1
    return ppmi(counts)


def bare(counts):
    joint = counts / counts.sum()
    return np.maximum(np.log(joint / np.outer(joint.sum(1), joint.sum(0))), 0)


def warning(counts):
    return np.nan_to_num(bare(counts))


def integral(counts):
    found = np.zeros_like(counts)
    found[:] = ppmi(counts)
    return found


def with_infinities(counts):
    return np.where(counts > 0, ppmi(counts), -np.inf)


def normalised(counts):
    """Divided by -ln p(w, c)."""
    return ppmi(counts) / -np.log(np.maximum(counts, 1) / counts.sum())


def of_rows(counts):
    return of_ratio(ratio=lambda joint, w, c, total: joint / w**2)(counts)


def without_columns(counts):
    """The sums of rows and columns are multiplied word by word."""
    joint = counts / counts.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(joint / (joint.sum(1) * joint.sum(0)))
    return np.where(counts > 0, found, 0).clip(0)


def with_epsilon(counts):
    joint = counts / counts.sum()
    chance = np.outer(joint.sum(1), joint.sum(0))
    return np.log((joint + 1e-8) / (chance + 1e-8)).clip(0)


def by_contexts(counts):
    return of_ratio(ratio=lambda joint, w, c, total: joint / (c * c.T))(counts)


test_ppmi_right = accepts(
    "words.ppmi", by_expected_counts, by_differences, by_loops, by_torch, by_conditional
)
test_ppmi_wrong = rejects(
    "words.ppmi",
    (lambda counts: print(), 1, "None (is a `return` missing?)"),
    (lambda counts: ppmi(counts).tolist(), 1, "('list',)"),
    (lambda counts: torch.tensor(ppmi(counts)), 1, "('Tensor',)"),
    (lambda counts: ppmi(counts).sum(1), 1, "a row for each word"),
    (integral, 1, "begin with `np.zeros(counts.shape)`"),
    (changing, 1, "Argument 1, `counts`, after the call"),
    (of_ratio(lowest=-np.inf), 2, "have negative values here"),
    (lambda counts: np.exp(ppmi(counts)), 2, "ln 1.5 = 0.405"),
    (of_ratio(np.log10), 2, "ln 1.5 = 0.405"),
    (of_ratio(lambda ratio: ratio - 1), 2, "ln 1.5 = 0.405"),
    (lambda counts: np.abs(of_ratio(lowest=-np.inf)(counts)), 2, "becomes 0"),
    (lambda counts: counts / counts.sum() * ppmi(counts), 2, "ln 1.5 = 0.405"),
    (normalised, 2, "ln 1.5 = 0.405"),
    (of_ratio(ratio=lambda joint, w, c, total: joint / w), 2, "no ratio is above 1"),
    (lambda counts: ppmi(counts) / math.log(2), 2, "to base 2"),
    (of_rows, 2, "ln 1.5 = 0.405"),
    (without_columns, 2, "if p(w) is a column and p(c) is a row"),
    (by_contexts, 3, "p(w) comes from the sum of a row"),
    (lambda counts: ppmi(counts.T), 3, "p(w) comes from the sum of a row"),
    (lambda counts: ppmi(counts + counts.T), 3, "two sides of the diagonal"),
    (in_place, 4, "Argument 1, `counts`, after the call"),
    (bare, 4, "NaN (not a number)"),
    (with_infinities, 4, "A count of 0 gives 0"),
    (with_epsilon, 4, "Do not add a small number"),
    (lambda counts: np.where(counts > 1, ppmi(counts), 0), 4, "A count of 1 counts, too"),
    (warning, 5, "'divide by zero encountered in log'"),
)


# negative_sampling_loss


def by_einsum(centre, context, negatives):
    true = torch.einsum("bw,bw->b", centre, context)
    false = torch.einsum("bw,bkw->bk", centre, negatives)
    return (F.softplus(-true) + F.softplus(false).sum(1)).mean()


def by_labels(centre, context, negatives):
    candidates = torch.cat([context[:, None], negatives], dim=1)
    scores = torch.bmm(candidates, centre.unsqueeze(2)).squeeze(2)
    labels = torch.zeros_like(scores)
    labels[:, 0] = 1
    nats = F.binary_cross_entropy_with_logits(scores, labels, reduction="sum")
    return nats / len(centre)


def row_by_row(centre, context, negatives):
    total = 0
    for i in range(len(centre)):
        total = total - F.logsigmoid(context[i] @ centre[i])
        for negative in negatives[i]:
            total = total - F.logsigmoid(-(negative @ centre[i]))
    return total / len(centre)


def by_logaddexp(centre, context, negatives):
    scores = torch.cat(
        [-(centre * context).sum(1, True), (negatives @ centre[..., None])[..., 0]], 1
    )
    return torch.logaddexp(scores, torch.zeros_like(scores)).sum(-1).mean()


def limited(centre, context, negatives):
    """Scores beyond 20 are cut off."""
    return of_scores(lambda true, false: right(true.clamp(-20, 20), false.clamp(-20, 20)))(
        centre, context, negatives
    )


def overflowing(true, false):
    """Exact in value, but the gradient of the branch that is not taken is NaN."""

    def softplus(x):
        return torch.where(x > 20, x, torch.log1p(x.exp()))

    return (softplus(-true) + softplus(false).sum(-1)).mean()


def by_exponentials(true, false):
    return (torch.log1p((-true).exp()) + torch.log1p(false.exp()).sum(-1)).mean()


def unsigned_loss(centre, context, negatives):
    true, false = centre * context, negatives * centre[:, None]
    return (F.logsigmoid(true.sum(-1)) + F.logsigmoid(-false.sum(-1)).sum(-1)).mean()


def mean_of_all(true, false):
    return F.softplus(torch.cat([-true[:, None], false], dim=1)).mean()


def without_logarithm(true, false):
    return -true.sigmoid().mean() - (1 - false.sigmoid()).sum() / len(true)


def with_small_number(true, false):
    nats = (true.sigmoid() + 1e-7).log() + ((-false).sigmoid() + 1e-7).log().sum(-1)
    return -nats.mean()


def all_pairs(centre, context, negatives):
    """Each centre meets the contexts and negatives of all rows."""
    true, false = centre @ context.T, centre @ negatives.flatten(0, 1).T
    return -(F.logsigmoid(true).sum(1) + F.logsigmoid(-false).sum(1)).mean()


def shared_negatives(centre, context, negatives):
    return negative_sampling_loss(centre, context, negatives[:1].expand_as(negatives))


def crossed(centre, context, negatives):
    """The scores of other rows are on the diagonal of a product, which is left out."""
    false = negatives @ centre.T
    return -(F.logsigmoid((centre * context).sum(-1)) + F.logsigmoid(-false).sum((1, 2))).mean()


def first_negative(centre, context, negatives):
    return negative_sampling_loss(centre, context, negatives[:, :1])


def detached_negatives(centre, context, negatives):
    return negative_sampling_loss(centre, context, negatives.detach())


def learning_from_true_pairs(centre, context, negatives):
    """The centre has no gradient from the negatives."""
    false = (negatives * centre.detach()[:, None]).sum(-1)
    return right((centre * context).sum(-1), false)


def squeezed(centre, context, negatives):
    false = (negatives @ centre[:, :, None]).squeeze()
    return -(F.logsigmoid((centre * context).sum(-1)) + F.logsigmoid(-false).sum(1)).mean()


def normalised_vectors(centre, context, negatives):
    return negative_sampling_loss(
        *(F.normalize(each, dim=-1) for each in (centre, context)), negatives
    )


def changing_centre(centre, context, negatives):
    centre.data += 1
    return negative_sampling_loss(centre, context, negatives)


test_negative_sampling_loss_right = accepts(
    "words.negative_sampling_loss", by_einsum, by_labels, row_by_row, by_logaddexp
)
test_negative_sampling_loss_wrong = rejects(
    "words.negative_sampling_loss",
    (lambda *given: print(), 1, "None (is a `return` missing?)"),
    (lambda *given: negative_sampling_loss(*given).item(), 1, "float"),
    (lambda *given: negative_sampling_loss(*given).detach(), 1, "which carries no gradient"),
    (lambda *given: negative_sampling_loss(*given).expand(2), 1, "One number for the whole batch"),
    (changing_centre, 1, "Argument 1, `centre`, after the call"),
    (unsigned_loss, 2, "put a minus before the whole sum"),
    (lambda *given: negative_sampling_loss(*given) / math.log(2), 2, "-ln σ(2)"),
    (of_scores(mean_of_all), 2, "the mean is that of the rows"),
    (of_scores(lambda true, false: F.softplus(-true).mean()), 2, "the true pairs alone"),
    (of_scores(without_logarithm), 2, "The loss is made of their logarithms"),
    (of_scores(lambda true, false: false.sigmoid().sum() - true.sigmoid().sum()), 2, "0.127"),
    (first_negative, 2, "A negative has a large loss if its score is large"),
    (all_pairs, 3, "Each row has negatives of its own"),
    (crossed, 3, "Each row has negatives of its own"),
    (of_scores(lambda true, false: right(-true, -false)), 2, "0.127 + 1.313"),
    (normalised_vectors, 2, "0.127 + 1.313"),
    (shared_negatives, 3, "Each row has negatives of its own"),
    (squeezed, 2, "raised IndexError"),
    (of_scores(by_exponentials), 4, "or `exp` overflows"),
    (limited, 4, "Do not limit scores"),
    (of_scores(with_small_number), 4, "Do not limit scores or probabilities"),
    (of_scores(overflowing), 5, "NaN comes from an `exp` that overflows"),
    (detached_negatives, 5, "Nothing is learned without a gradient"),
    (learning_from_true_pairs, 5, "centres from all scores"),
)


# sampling


def by_the_program(counts, threshold=1e-3, power=0.75):
    """As in word2vec.c."""
    scaled = threshold * counts.sum()
    kept = (np.sqrt(counts / scaled) + 1) * scaled / counts
    powers = np.power(counts, power)
    return np.where(kept > 1, 1.0, kept), powers / powers.sum()


def by_lists(counts, threshold=1e-3, power=0.75):
    total = sum(counts)
    ratios = [threshold * total / count for count in counts]
    weights = [float(count) ** power for count in counts]
    kept = [min(ratio**0.5 + ratio, 1.0) for ratio in ratios]
    return np.array(kept), np.array([weight / sum(weights) for weight in weights])


def by_shares(counts, threshold=1e-3, power=0.75):
    shares = counts / counts.sum()
    noise = shares**power
    root = np.sqrt(threshold / shares)
    return (root * (1 + root)).clip(max=1), noise / np.linalg.norm(noise, 1)


def in_tensors(counts, threshold=1e-3, power=0.75):
    counts = torch.from_numpy(counts).double()
    ratio = threshold / (counts / counts.sum())
    noise = (power * counts.log()).softmax(0)
    return [(ratio.sqrt() + ratio).clamp(max=1).numpy(), noise.numpy()]


def swapped(counts, *rest):
    return sampling(counts, *rest)[::-1]


def sampling_in_place(counts, *rest):
    counts[:] = counts[::-1].copy()
    return sampling(counts, *rest)


def most_frequent_first(counts, *rest):
    return sampling(np.sort(counts)[::-1], *rest)


def by_argsort(counts, *rest):
    return [each[np.argsort(-counts)] for each in sampling(counts, *rest)]


def only_noise_sorted(counts, *rest):
    kept, noise = sampling(counts, *rest)
    return kept, np.sort(noise)[::-1]


def only_kept_sorted(counts, *rest):
    kept, noise = sampling(counts, *rest)
    return np.sort(kept), noise


def fixed_power(counts, threshold=1e-3, power=0.75):
    return sampling(counts, threshold)


def fixed_threshold(counts, threshold=1e-3, power=0.75):
    return sampling(counts, 1e-3, power)


def other_defaults(counts, threshold=1e-5, power=0.75):
    return sampling(counts, threshold, power)


def dropping(ratio, *_):
    return 1 - np.minimum(1, np.sqrt(ratio) + ratio)


test_sampling_right = accepts("words.sampling", by_the_program, by_lists, by_shares, in_tensors)
test_sampling_wrong = rejects(
    "words.sampling",
    (lambda *given: print(), 1, "None (is a `return` missing?)"),
    (lambda *given: sampling(*given)[0], 1, "2 values, `return kept, noise`"),
    (lambda *given: np.stack(sampling(*given)), 1, "2 values, `return kept, noise`"),
    (lambda *given: [each.tolist() for each in sampling(*given)], 1, "('list',)"),
    (sampling_in_place, 1, "Argument 1, `counts`, after the call"),
    (swapped, 2, "The two arrays have changed places"),
    (fixed_threshold, 2, "With the threshold t = 0.1"),
    (with_kept(dropping), 2, "the probability of *keeping*"),
    (with_kept(lambda ratio, *_: np.minimum(1, ratio)), 2, "0.5 + 0.25 = 0.75"),
    (with_kept(lambda ratio, *_: np.minimum(1, 1 / (np.sqrt(ratio) + ratio))), 2, "not f/t"),
    (with_kept(lambda ratio, *_: np.minimum(1, np.sqrt(ratio + ratio))), 2, "sqrt(t/f) + t/f"),
    (with_kept(lambda ratio, *_: (np.sqrt(ratio) + ratio) / 2), 2, "0.5 + 0.25"),
    (most_frequent_first, 3, "Words come in any order"),
    (by_argsort, 3, "Words come in any order"),
    (only_kept_sorted, 3, "Words come in any order"),
    (only_noise_sorted, 4, "Words come in any order"),
    (with_noise(lambda counts, power: counts**power / sum(counts)), 4, "by their own sum"),
    (with_noise(lambda counts, power: np.ones(len(counts)) / len(counts)), 4, "8, 1 and 1"),
    (with_noise(lambda counts, power: counts**power), 4, "0.8, 0.1 and 0.1"),
    (with_noise(lambda counts, power: counts**power / (counts**power).max()), 4, "0.8, 0.1"),
    (with_noise(lambda counts, power: sampling(counts**2)[1]), 4, "16 to the power of 0.75"),
    (other_defaults, 5, "Their defaults are 1e-3 and 0.75"),
    (fixed_power, 5, "as they are given"),
)


def test_gensim_keeps_and_draws_words_with_these_probabilities():
    models = pytest.importorskip("gensim.models")
    counts = np.array([5000, 800, 90, 40, 9, 1])
    model = models.Word2Vec(vector_size=2, min_count=1, sample=2e-3, ns_exponent=0.6)
    model.build_vocab_from_freq({f"word {place}": n for place, n in enumerate(counts.tolist())})
    kept, noise = sampling(counts, 2e-3, 0.6)
    found = [model.wv.get_vecattr(word, "sample_int") / 2**32 for word in model.wv.index_to_key]
    np.testing.assert_allclose(kept, found, atol=1e-8)
    np.testing.assert_allclose(noise.cumsum(), model.cum_table / 2**31, atol=1e-8)


# ngram_buckets


def start_by_start(word, shortest=3, longest=6, buckets=200_000):
    marked, found = "<" + word + ">", []
    for start in range(len(marked)):
        for end in range(start + shortest, min(start + longest, len(marked)) + 1):
            found += [fnv1a(marked[start:end]) % buckets]
    return found


def by_windows(word, shortest=3, longest=6, buckets=200_000):
    letters = ["<", *word, ">"]
    found = []
    for n in range(longest, shortest - 1, -1):
        found += ["".join(window) for window in zip(*(letters[i:] for i in range(n)), strict=False)]
    return (np.array([fnv1a(ngram) for ngram in found], np.int64) % buckets).tolist()


def hash_of_bytes(text):
    number = 0x811C9DC5
    for byte in np.frombuffer(text.encode("utf-8"), dtype=np.int8).tolist():
        number = ((number ^ (byte & 0xFFFFFFFF)) * 0x01000193) & 0xFFFFFFFF
    return number


def by_an_own_hash(word, shortest=3, longest=6, buckets=200_000):
    marked = f"<{word}>"
    ends = [(i, i + n) for n in range(shortest, longest + 1) for i in range(len(marked))]
    return [np.int64(hash_of_bytes(marked[i:j]) % buckets) for i, j in ends if j <= len(marked)]


def unsigned(text):
    number = 2166136261
    for byte in text.encode():
        number = (number ^ byte) * 16777619 % 2**32
    return number


def padded(word, *lengths):
    return by_pattern(f"<{word}>", *lengths)


def of_bytes(word, shortest, longest):
    return by_pattern(word.encode().decode("latin-1"), shortest, longest)


def only_starts(word, shortest, longest):
    return [f"<{word}>"[:n] for n in range(shortest, longest + 1) if n <= len(word) + 2]


def unique_buckets(word, shortest=3, longest=6, buckets=200_000):
    ngrams = by_pattern(word, shortest, longest)
    return (
        [*dict.fromkeys(fnv1a(ngram) % buckets for ngram in ngrams)]
        if buckets < 60
        else [fnv1a(ngram) % buckets for ngram in ngrams]
    )


def without_end(word, shortest, longest):
    return [ngram for ngram in by_pattern(word, shortest, longest) if ">" not in ngram]


def marked_once(word, shortest, longest):
    return by_pattern(word[1:-1] if word.startswith("<") else word, shortest, longest)


def fixed_buckets(word, shortest=3, longest=6, buckets=200_000):
    return ngram_buckets(word, shortest, longest)


def from_one(word, shortest=3, longest=6, buckets=200_000):
    return [1 + each for each in ngram_buckets(word, shortest, longest, buckets)]


def other_defaults_of_ngrams(word, shortest=2, longest=6, buckets=200_000):
    return ngram_buckets(word, shortest, longest, buckets)


test_ngram_buckets_right = accepts(
    "words.ngram_buckets", start_by_start, by_windows, by_an_own_hash
)
test_ngram_buckets_wrong = rejects(
    "words.ngram_buckets",
    (lambda word, *rest: print(), 1, "None (is a `return` missing?)"),
    (lambda word, *rest: by_pattern(word, *rest[:2]), 1, "not the n-grams themselves"),
    (lambda *given: set(ngram_buckets(*given)), 1, "Expected: a list"),
    (lambda *given: np.array(ngram_buckets(*given)), 1, "Expected: a list"),
    (lambda *given: [each / 2 for each in ngram_buckets(*given)], 1, "return integers"),
    (of_texts(only_starts), 2, "all slices of 3 characters"),
    (of_texts(padded), 2, "The word stands between"),
    (of_texts(lambda word, shortest, longest: by_pattern(word, shortest, shortest)), 2, "all of 4"),
    (of_texts(lambda word, *lengths: by_pattern(word[:-1], *lengths)), 2, "Expected: ['<wh'"),
    (of_texts(lambda word, *lengths: by_pattern(word.lower(), *lengths)), 2, "stay capital"),
    (of_texts(lambda word, *rest: by_pattern(re.sub(r"\W", "", word), *rest)), 2, "an apostrophe"),
    (of_texts(marked_once), 2, "Every word gets its marks"),
    (of_texts(lambda word, n, m: by_pattern(word, n, min(m, 6))), 2, "use `longest` as it is"),
    (of_texts(without_end), 2, "Either the word has no mark at its end"),
    (fixed_buckets, 2, "for 200,000 buckets"),
    (from_one, 2, "the hash of something else"),
    (lambda word, *rest: ngram_buckets(word, *rest[:2], 1000), 2, "of something else"),
    (of_texts(of_bytes), 4, "n counts characters, not bytes"),
    (of_texts(by_pattern, lambda ngram, buckets: unsigned(ngram) % buckets), 4, "use it as it is"),
    (unique_buckets, 5, "give its number twice"),
    (other_defaults_of_ngrams, 5, "The defaults are `shortest=3`"),
)


WORDS = ("where", "a", "banana", "über", "naïveté", "日本語", "co-operate")


@pytest.mark.parametrize("word", WORDS)
def test_the_buckets_are_those_of_gensim(word):
    fasttext = pytest.importorskip("gensim.models.fasttext")
    due = fasttext.ft_ngram_hashes(word, 3, 6, 200_000)
    assert sorted(ngram_buckets(word)) == sorted(due) and due


def test_the_hash_is_that_of_fasttext():
    assert fnv1a("") == 2166136261  # the offset of FNV
    assert fnv1a("a") == 0xE40C292C  # of the list of test vectors of FNV-1a
    assert fnv1a("foobar") == 0xBF9CF968
    assert fnv1a("über") == 238904527  # as Gensim's `ft_hash_bytes` computes it


# nearest_sense


def by_dictionary(states, senses, query):
    sums = {}
    for state, sense in zip(states, senses, strict=True):
        sums[sense] = sums.get(sense, 0) + state  # the direction of a sum is that of the mean
    found = []
    for each in query:
        scores = {name: F.cosine_similarity(each, mean, dim=0) for name, mean in sums.items()}
        found.append(max(scores, key=lambda name: scores[name].item()))
    return found


def by_numbers(states, senses, query):
    names, numbers = np.unique(senses, return_inverse=True)
    member = F.one_hot(torch.from_numpy(numbers), len(names)).float()
    means = (member.T @ states) / member.sum(0)[:, None]
    scores = F.cosine_similarity(query[:, None], means[None], dim=-1)
    return names[scores.argmax(1).numpy()].tolist()


def in_numpy(states, senses, query):
    names = list(dict.fromkeys(senses))
    senses, states = np.array(senses), states.numpy()
    means = np.stack([states[senses == name].mean(0) for name in names])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    return [names[np.argmax(means @ each)] for each in query.numpy()]


def by_median(states, senses, query):
    return by(mean=lambda rows: rows.median(0).values)(states, senses, query)


def of_first_state(states, senses, query):
    return by(mean=lambda rows: rows[0])(states, senses, query)


def one_answer(states, senses, query):
    return nearest_sense(states, senses, query.mean(0, keepdim=True)) * len(query)


def most_frequent(states, senses, query):
    return [max(sorted(set(senses)), key=senses.count)] * len(query)


def three_neighbours(states, senses, query):
    found = []
    for row in cosines(query, states):
        votes = [senses[place] for place in row.topk(min(3, len(senses))).indices]
        found.append(max(votes, key=votes.count))
    return found


def sorting(states, senses, query):
    senses.sort()
    return nearest_sense(states, senses, query)


def centred(states, senses, query):
    return nearest_sense(states - states.mean(0), senses, query - states.mean(0))


def by_first_seen_means(states, senses, query):
    """The means in the order of the text, the names sorted."""
    rows = [states[[sense == name for sense in senses]] for name in dict.fromkeys(senses)]
    best = cosines(query, torch.stack([each.mean(0) for each in rows])).argmax(-1)
    return [sorted({*senses})[place] for place in best]


def half_normalised(states, senses, query):
    """Only the queries are of length one."""
    return by(lambda query, means: F.normalize(query, dim=-1) @ means.T)(states, senses, query)


def columns(query, means):
    return F.normalize(query, dim=0) @ F.normalize(means, dim=0).T


def clipped(query, means):
    return cosines(query, means).clamp(min=0)


def absolute(query, means):
    return cosines(query, means).abs()


test_nearest_sense_right = accepts("words.nearest_sense", by_dictionary, by_numbers, in_numpy)
test_nearest_sense_wrong = rejects(
    "words.nearest_sense",
    (lambda *given: print(), 1, "None (is a `return` missing?)"),
    (lambda *given: nearest_sense(*given)[0], 1, "Expected: a list"),
    (lambda *given: np.array(nearest_sense(*given)), 1, "Expected: a list"),
    (lambda *given: [*map(given[1].index, nearest_sense(*given))], 1, "not their places"),
    (one_answer, 1, "[-1, 2] as the second"),
    (most_frequent, 1, "[-1, 2] as the second"),
    (lambda states, senses, query: nearest_sense(states, senses, query[:1]), 1, "as the second"),
    (centred, 2, "Expected: ['money']"),
    (half_normalised, 2, "favour a sense whose mean is long"),
    (three_neighbours, 1, "as the second"),
    (by_first_seen_means, 4, "Use the same list of names"),
    (by(absolute), 2, "no `abs`, and no limit at 0"),
    (by(clipped), 2, "The larger one wins, which is -0.32"),
    (by_median, 3, "The mean of *money* is [4, 1]"),
    (of_first_state, 3, "The mean of *money* is [4, 1]"),
    (sorting, 4, "Argument 2, `senses`, after the call"),
)


# smooth_average


def without_direction(means, direction):
    return means - means @ np.outer(direction, direction)


def by_eigenvectors(sentences, matrix, shares, a=1e-3):
    means = means_of(sentences, matrix, shares, a)
    return without_direction(means, np.linalg.eigh(means.T @ means)[1][:, -1])


def in_torch(sentences, matrix, shares, a=1e-3):
    rows = []
    for ids in sentences:
        total = torch.zeros(matrix.shape[1], dtype=torch.float64)
        for id in ids:
            total += torch.from_numpy(matrix[id]) / (1 + shares[id] / a)
        rows.append(total / max(len(ids), 1))
    means = torch.stack(rows)
    direction = torch.linalg.svd(means, full_matrices=False).Vh[:1]
    return (means - means @ direction.T @ direction).numpy()


def by_rank_one(sentences, matrix, shares, a=1e-3):
    """Without the first term of U Σ Vᵀ."""
    left, values, rows = np.linalg.svd(means_of(sentences, matrix, shares, a), full_matrices=False)
    values[0] = 0
    return left * values @ rows


def weights_in_place(sentences, matrix, shares, a=1e-3):
    matrix *= (a / (a + shares))[:, None]
    return smooth_average(sentences, matrix, np.zeros(len(shares)), a)


def fixed_smoothing(sentences, matrix, shares, a=1e-3):
    return smooth_average(sentences, matrix, shares)


def two_directions(means):
    found = np.linalg.svd(means, full_matrices=False)[2][:2]
    return means - means @ found.T @ found


def of_length_one(means):
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    means = means / np.where(lengths == 0, 1, lengths)
    return without_direction(means, np.linalg.svd(means, full_matrices=False)[2][0])


def known_once(sentences, *rest):
    return smooth_average([[*dict.fromkeys(each)] for each in sentences], *rest)


def first_of_each(sentences, *rest):
    return smooth_average([each[:1] for each in sentences], *rest)


def without_care(sentences, matrix, shares, a=1e-3):
    """The mean of an empty list is NaN, and so is then everything."""
    weights = a / (a + shares)
    with np.errstate(invalid="ignore"):
        rows = [
            (weights[ids, None] * matrix[ids]).sum(0) / np.float64(len(ids)) if ids else np.nan
            for ids in sentences
        ]
        means = np.array([np.full(matrix.shape[1], row) for row in rows])
    return without_direction(means, np.linalg.svd(means, full_matrices=False)[2][0])


def like_the_matrix(sentences, matrix, *rest):
    """The means are of the type of the matrix."""
    rule = with_means(lambda *given: means_of(*given).astype(matrix.dtype))
    return rule(sentences, matrix, *rest)


def by_quotient(sentences, matrix, shares, a=1e-3):
    with np.errstate(divide="ignore", invalid="ignore"):
        found = weighted(lambda p, a: a / p)(sentences, matrix, shares, a)
    return without_direction(found, np.linalg.svd(found, full_matrices=False)[2][0])


def by_powers(sentences, matrix, shares, a=1e-3):
    """The direction is divided by its length, which is 0 if all means are."""
    means = means_of(sentences, matrix, shares, a)
    direction = np.linalg.matrix_power(means.T @ means, 40) @ np.ones(matrix.shape[1])
    with np.errstate(invalid="ignore"):
        return without_direction(means, direction / np.linalg.norm(direction))


def left_out(sentences, *rest):
    return smooth_average([each for each in sentences if each], *rest)


test_smooth_average_right = accepts("words.smooth_average", by_eigenvectors, in_torch, by_rank_one)
test_smooth_average_wrong = rejects(
    "words.smooth_average",
    (lambda *given: print(), 1, "a row for each sentence"),
    (lambda *given: smooth_average(*given)[0], 1, "a row for each sentence"),
    (lambda *given: smooth_average(*given).tolist(), 1, "Yours: a list"),
    (lambda *given: smooth_average(*given).astype(int), 1, "Yours: an array of integers, shape"),
    (lambda *given: smooth_average(*given).T, 1, "a row for each sentence"),
    (weights_in_place, 1, "Argument 2, `matrix`, after the call"),
    (with_removal(two_directions), 2, "What is left of [3, 0, 0]"),
    (with_removal(of_length_one), 2, "What is left of [3, 0, 0]"),
    (first_of_each, 2, "What is left of [3, 0, 0]"),
    (with_means(weighted(lambda p, a: (a / (a + p)) ** 0.5)), 3, "counts half"),
    (with_means(weighted(lambda p, a: 1 - p)), 3, "counts half"),
    (known_once, 3, "A word that occurs twice"),
    (fixed_smoothing, 3, "does not depend on `a`"),
    (like_the_matrix, 2, "collect them in an array of floats"),
    (by_quotient, 2, "The means hold a NaN or an infinity"),
    (without_care, 4, "The means hold a NaN or an infinity"),
    (by_powers, 4, "they stay zero"),
    (left_out, 4, "a row of zeros"),
)
