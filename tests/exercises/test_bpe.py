import heapq
import re
from collections import Counter, defaultdict
from itertools import pairwise

from tests.exercises.standard import accepts, rejects
from tlcourse.bpe import merge_pair
from tlcourse.exercises.bpe.best_cut import best_cut
from tlcourse.exercises.bpe.count_pairs import count_pairs
from tlcourse.exercises.bpe.encode_pre_token import encode_pre_token
from tlcourse.exercises.bpe.tokenizer import Tokenizer
from tlcourse.exercises.bpe.train import best_of, train


def nothing(*arguments): ...  # your code here


def by_iterator(tokens, pair, new_token):
    places = iter(range(len(tokens)))
    merged = []
    for i in places:
        if i + 1 < len(tokens) and (tokens[i], tokens[i + 1]) == pair:
            merged.append(new_token)
            next(places)
        else:
            merged.append(tokens[i])
    return merged


def merges_its_result_again(tokens, pair, new_token):
    merged = []
    for token in tokens:
        merged.append(token)
        while tuple(merged[-2:]) == pair:
            merged[-2:] = [new_token]
    return merged


def leaves_overlaps(tokens, pair, new_token):
    merged, skip = [], False
    for i, token in enumerate(tokens):
        if skip and tuple(tokens[i : i + 2]) != pair:
            skip = False
            continue
        skip = tuple(tokens[i : i + 2]) == pair
        merged.append(new_token if skip else token)
    return merged


def only_letters(tokens, pair, new_token):
    text = "\0".join(tokens)
    return re.sub(re.escape("\0".join(pair)), new_token, text).split("\0") if tokens else []


def lists_only(tokens, pair, new_token):
    merged, i = [], 0
    while i < len(tokens):
        hit = tokens[i : i + 2] == list(pair)
        merged.append(new_token if hit else tokens[i])
        i += 2 if hit else 1
    return merged


def only_thirty_merges(tokens, merges):
    return encode_pre_token(tokens, merges[:30])


# Written by someone who saw only the text of the exercises.


def remembers_the_first_half(tokens, pair, new_token):
    merged, held = [], False
    for token in tokens:
        if held and token == pair[1]:
            merged[-1], held = new_token, False
        else:
            merged.append(token)
            held = token == pair[0]
    return merged


def cuts_in_a_copy(tokens, pair, new_token):
    merged, i = list(tokens), 0
    while i + 1 < len(merged):
        if merged[i] == pair[0] and merged[i + 1] == pair[1]:
            del merged[i + 1]
            merged[i] = new_token
        i += 1
    return merged


def compares_list_with_tuple(tokens, pair, new_token):
    merged, i = [], 0
    while i < len(tokens):
        hit = tokens[i : i + 2] == pair
        merged.append(new_token if hit else tokens[i])
        i += 2 if hit else 1
    return merged


def merges_nothing(tokens, pair, new_token):
    return list(tokens)


def through_a_string(tokens, pair, new_token):
    return list("".join(tokens).replace("".join(pair), new_token))


def compares_identity(tokens, pair, new_token):
    return [
        new_token if each is pair else each[0]
        for each in zip(tokens, [*tokens[1:], ""], strict=False)
    ]


def holds_what_is_true(tokens, pair, new_token):
    merged, last = [], None
    for token in tokens:
        if last and (last, token) == pair:
            merged.append(new_token)
            last = None
        else:
            if last:
                merged.append(last)
            last = token
    return [*merged, last] if last else merged


def asks_for_a_true_neighbour(tokens, pair, new_token):
    merged, skip = [], False
    for a, b in zip(tokens, [*tokens[1:], None], strict=False):
        if skip:
            skip = False
            continue
        skip = bool(b) and (a, b) == pair
        merged.append(new_token if skip else a)
    return merged


def _marks(tokens, pair, new_token):
    """Each pair replaced by the new token and None."""
    marked, i = list(tokens), 0
    while i < len(marked) - 1:
        if (marked[i], marked[i + 1]) == pair:
            marked[i : i + 2] = new_token, None
            i += 1
        i += 1
    return marked


def drops_all_that_is_false(*asked):
    return list(filter(None, _marks(*asked)))


def glues(tokens, pair, new_token):
    return merge_pair(tokens, pair, pair[0] + pair[1])


def word_by_word(words):
    counts = Counter()
    for word, n in words.items():
        once = Counter(zip(word[:-1], word[1:], strict=True))
        counts += Counter({pair: n * times for pair, times in once.items()})
    return dict(counts)


def while_walk(words):
    counts = defaultdict(int)
    for word in words:
        i = 1
        while i < len(word):
            counts[(word[i - 1], word[i])] = counts[(word[i - 1], word[i])] + words[word]
            i += 1
    return counts


def letter_by_letter(words):
    return word_by_word({"".join(map(str, word)): n for word, n in words.items()})


def drops_zero(words):
    counts = Counter()
    for word, n in words.items():
        last = None
        for token in word:
            if last:
                counts[last, token] += n
            last = token
    return counts


def last_pair_missing(words):
    counts = Counter()
    for word, n in words.items():
        for i in range(len(word) - 2):
            counts[word[i], word[i + 1]] += n
    return counts


def cuts_words_in_twos(words):
    counts = Counter()
    for word, n in words.items():
        for i in range(0, len(word) - 1, 2):
            counts[word[i], word[i + 1]] += n
    return counts


def recursive(tokens, merges):
    for pair, new_token in merges:
        if pair in pairwise(tokens):
            return recursive(merge_pair(tokens, pair, new_token), merges)
    return [*tokens]


def longest_that_is_there(tokens, merges):
    while there := [merge for merge in merges if merge[0] in pairwise(tokens)]:
        tokens = merge_pair(tokens, *max(there, key=lambda merge: len(str(merge[1]))))
    return list(tokens)


def without_the_last_merge(tokens, merges):
    return encode_pre_token(tokens, merges[:-1])


def without_the_first_merge(tokens, merges):
    return encode_pre_token(tokens, merges[1:])


def least_of_nothing(tokens, merges):
    ranks = {pair: rank for rank, (pair, _) in enumerate(merges)}
    while (pair := min(pairwise(tokens), key=lambda pair: ranks.get(pair, len(ranks)))) in ranks:
        tokens = merge_pair(tokens, *merges[ranks[pair]])
    return tokens


def most_frequent_here(tokens, merges):
    new = dict(merges)
    while known := Counter(pair for pair in pairwise(tokens) if pair in new):
        pair = known.most_common(1)[0][0]
        tokens = merge_pair(tokens, pair, new[pair])
    return list(tokens)


def _trained(words, steps, choose):
    """The trainer with another choice."""
    merges, age = [], {t: n for n, t in enumerate(sorted({t for word in words for t in word}))}
    while len(merges) < steps and (pairs := count_pairs(words)):
        merges.append(choose(pairs, age))
        age["".join(merges[-1])] = len(age)
        words = {
            tuple(merge_pair(word, merges[-1], "".join(merges[-1]))): count
            for word, count in words.items()
        }
    return merges


def only_what_occurs_again(words, steps):
    def choose(pairs, age):
        return best_of({p: n for p, n in pairs.items() if n > 1}, age)

    return _trained(words, steps, choose)


def younger_first(words, steps):
    def choose(pairs, age):
        return min(pairs, key=lambda p: (-pairs[p], -age[p[0]], -age[p[1]]))

    return _trained(words, steps, choose)


def second_token_first(words, steps):
    def choose(pairs, age):
        return min(pairs, key=lambda p: (-pairs[p], age[p[1]], age[p[0]]))

    return _trained(words, steps, choose)


def one_too_many(words, steps):
    return train(words, steps + 1)


def ages_of_letters_only(words, steps):
    age = {t: n for n, t in enumerate(sorted({t for word in words for t in word}))}
    return _trained(words, steps, lambda pairs, _: best_of(pairs, age))


def merges_in_place(words, steps):
    merges = train(words, steps)
    for pair in merges:
        for word in list(words):
            words[tuple(merge_pair(word, pair, "".join(pair)))] = words.pop(word)
    return merges


class NumbersInOrder(Tokenizer):
    def __init__(self, vocabulary, merges, specials):
        super().__init__({s: n for n, s in enumerate(vocabulary)}, merges, specials)


class ForgetsTheSpace(Tokenizer):
    def encode(self, text, allow_special=False):
        return [i for word in text.split() for i in self.ids_of(word)]


class RemembersTooMuch(Tokenizer):
    def ids_of(self, word):
        self.all = [*getattr(self, "all", []), *super().ids_of(word)]
        return self.all


class GivesATuple(Tokenizer):
    def encode(self, text, allow_special=False):
        return tuple(super().encode(text, allow_special))


class DropsHalves(Tokenizer):
    def decode(self, ids):
        return super().decode(ids).replace("\ufffd", "")


class DropsSpecials(Tokenizer):
    def decode(self, ids):
        special = [self.vocabulary[each] for each in self.specials]
        return super().decode([number for number in ids if number not in special])


class OnlyTheFirstSpecial(Tokenizer):
    def __init__(self, vocabulary, merges, specials):
        super().__init__(vocabulary, merges, specials[:1])


def fewest_tokens(word, scores):
    return best_cut(word, dict.fromkeys(scores, -1.0))


def best_average(word, scores):
    cuts = {0: [[]]}
    for end in range(1, len(word) + 1):
        cuts[end] = [
            [*cut, word[start:end]]
            for start in range(end) if word[start:end] in scores for cut in cuts[start]
        ]  # fmt: skip
    return max(cuts[len(word)], key=lambda t: sum(map(scores.get, t)) / len(t) if t else 0)


def string_joined(word, scores):
    return " ".join(best_cut(word, scores))


def recounts(heap, pairs):
    """Right in what it returns, but the heap is not used."""
    best = min(pairs, key=lambda pair: (-pairs[pair], pair))
    return best if pairs[best] else None


def corrects_all_at_once(heap, pairs):
    heap[:] = [(-pairs[pair], pair) for _, pair in heap if pairs[pair]]
    heap.sort()
    return heap.pop(0)[1] if heap else None


def lowers_the_true_count(heap, pairs):
    while heap:
        count, pair = heapq.heappop(heap)
        if pairs[pair] >= -count:
            return pair
        pairs[pair] = max(0, pairs[pair] - 1)
    return None


def positive_again(heap, pairs):
    while heap:
        count, pair = heapq.heappop(heap)
        if pairs[pair] == -count:
            return pair
        if pairs[pair] > 0:
            heapq.heappush(heap, (pairs[pair], pair))
    return None


test_merge_pair_right = accepts(
    "bpe.merge_pair", by_iterator, remembers_the_first_half, cuts_in_a_copy
)
test_merge_pair_wrong = rejects(
    "bpe.merge_pair",
    (nothing, 0, "Not solved yet"),
    (glues, 1, "Put in `new_token`"),
    (compares_list_with_tuple, 1, "Do you compare a slice of `tokens`, a list, with `pair`"),
    (merges_nothing, 1, "Nothing was merged"),
    (through_a_string, 1, "Nothing was merged"),
    (compares_identity, 1, "Nothing was merged"),
    (leaves_overlaps, 2, "use no token twice"),
    (merges_its_result_again, 2, "not looked at again"),
    (lists_only, 3, "`tokens` may be a tuple"),
    (holds_what_is_true, 3, "the tokens [0, 7, 0, 0] with pair (7, 0) and new token 0 gave [0]"),
    (asks_for_a_true_neighbour, 3, "0 is a token like any other"),
    (drops_all_that_is_false, 3, "0 is a token like any other"),
    (only_letters, 3, "TypeError: sequence item 0: expected str instance, int found, in line"),
)
test_count_pairs_right = accepts("bpe.count_pairs", word_by_word, while_walk)
test_count_pairs_wrong = rejects(
    "bpe.count_pairs",
    (nothing, 0, "Not solved yet"),
    (last_pair_missing, 1, "the one directly to its right"),
    (cuts_words_in_twos, 1, "`a` is in two pairs"),
    (letter_by_letter, 2, "A token may be longer than a letter"),
    (drops_zero, 2, "A token may be the number 0"),
)
test_encode_pre_token_right = accepts("bpe.encode_pre_token", recursive)
test_encode_pre_token_wrong = rejects(
    "bpe.encode_pre_token",
    (nothing, 0, "Not solved yet"),
    (without_the_last_merge, 1, "is every merge in the list used"),
    (without_the_first_merge, 1, "is every merge in the list used"),
    (least_of_nothing, 1, "It was called with tokens = ['a']"),
    (most_frequent_here, 2, "take the one learnt earliest"),
    (longest_that_is_there, 2, "Not the longest token: take the one learnt earliest"),
    (only_thirty_merges, 3, "merges learnt from a text gave"),
)
test_train_wrong = rejects(
    "bpe.train",
    (nothing, 0, "Not solved yet"),
    (one_too_many, 1, ""),
    (merges_in_place, 1, "your function changed argument 1"),
    (only_what_occurs_again, 3, "ValueError: min()"),
    (younger_first, 3, "This tie went to the younger token"),
    (second_token_first, 3, ""),
    (ages_of_letters_only, 2, "KeyError"),
)
test_tokenizer_wrong = rejects(
    "bpe.tokenizer",
    (NumbersInOrder, 1, "expected ids: numbers that `vocabulary` gives"),
    (ForgetsTheSpace, 1, "`encode('a b')` without merges"),
    (RemembersTooMuch, 1, ""),
    (GivesATuple, 1, "expected a list"),
    (OnlyTheFirstSpecial, 3, "`encode('<end of text>', allow_special=True)`"),
    (DropsHalves, 4, "Half a character"),
    (DropsSpecials, 4, "A special token is its own text"),
)
test_best_cut_wrong = rejects(
    "bpe.best_cut",
    (nothing, 0, "Not solved yet"),
    (string_joined, 1, "expected a list"),
    (fewest_tokens, 2, "Not the longest token"),
    (best_average, 2, "a, bc has 0.004"),
)
test_pop_best_right = accepts("bpe.pop_best", corrects_all_at_once)
test_pop_best_wrong = rejects(
    "bpe.pop_best",
    (nothing, 0, "Not solved yet"),
    (recounts, 1, ""),
    (lowers_the_true_count, 2, "it only asks it for the true counts"),
    (positive_again, 2, ""),
)
