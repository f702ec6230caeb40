import heapq
import re
from collections import Counter, defaultdict
from itertools import pairwise

from tests.exercises.standard import accepts, rejects
from tlcourse.bpe import byte_symbols, merge_pair, pre_tokenise
from tlcourse.exercises.bpe.best_cut import best_cut
from tlcourse.exercises.bpe.byte_symbols import PRINTABLE
from tlcourse.exercises.bpe.count_pairs import by_writing_out, count_pairs
from tlcourse.exercises.bpe.encode_pre_token import encode_pre_token, one_place_at_a_time
from tlcourse.exercises.bpe.pop_best import pop_best
from tlcourse.exercises.bpe.split_specials import letter_by_letter as splits_letter_by_letter
from tlcourse.exercises.bpe.split_specials import split_specials
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


def changes_its_input(tokens, pair, new_token):
    tokens[:] = merge_pair(tokens, pair, new_token)
    return tokens


def without_overlaps(words):
    pairs = Counter()
    for word, count in words.items():
        for a, b in set(pairwise(word)):
            pairs[a, b] += count * "".join(map(str, word)).count(f"{a}{b}")
    return pairs


def symbols_by_an_iterator():
    free = iter(range(256, 1000))
    return {b: chr(b) if b in PRINTABLE else chr(next(free)) for b in range(256)}


def ascii_only():
    free = iter(range(256, 1000))
    return {b: chr(b) if 33 <= b <= 126 else chr(next(free)) for b in range(256)}


def splits_by_search(text, specials):
    parts = []
    while places := [(text.index(each), each) for each in specials if each in text]:
        start, special = min(places)
        parts += [text[:start], special]
        text = text[start + len(special) :]
    return [part for part in [*parts, text] if part]


def keeps_empty_parts(text, specials):
    return re.split("(" + "|".join(map(re.escape, specials)) + ")", text)


def by_a_table_of_ranks(tokens, merges):
    rank_of = {pair: (rank, new) for rank, (pair, new) in enumerate(merges)}
    while known := [pair for pair in pairwise(tokens) if pair in rank_of]:
        first = min(known, key=rank_of.get)
        tokens = merge_pair(tokens, first, rank_of[first][1])
    return list(tokens)


def encodes_in_place(tokens, merges):
    tokens[:] = encode_pre_token(tokens, merges)
    return tokens


def pops_merges(tokens, merges):
    while merges:
        tokens = merge_pair(tokens, *merges.pop(0))
    return list(tokens)


def longest_first(tokens, merges):
    longest = sorted(merges, key=lambda merge: len(str(merge[1])), reverse=True)
    return encode_pre_token(tokens, longest)


def trains_on_a_list(words, steps):
    tokens = sorted({token for word in words for token in word})
    words, merges = [(list(word), count) for word, count in words.items()], []
    for _ in range(steps):
        pairs = Counter()
        for word, count in words:
            for pair in pairwise(word):
                pairs[pair] += count
        order = sorted(pairs, key=lambda p: (-pairs[p], tokens.index(p[0]), tokens.index(p[1])))
        for best in order[:1]:
            merges.append(best)
            tokens.append("".join(best))
            words = [(merge_pair(word, best, "".join(best)), count) for word, count in words]
    return merges


def trains_by_recursion(words, steps, known=()):
    known = list(known) or sorted({token for word in words for token in word})
    pairs = count_pairs(words)
    if not steps or not pairs:
        return []
    best = min(pairs, key=lambda p: (-pairs[p], *map(known.index, p)))
    after = {tuple(merge_pair(word, best, "".join(best))): n for word, n in words.items()}
    return [best, *trains_by_recursion(after, steps - 1, [*known, "".join(best)])]


class AllAtOnce(Tokenizer):
    def encode(self, text, allow_special=False):
        if allow_special:
            parts = split_specials(text, self.specials)
            each = [[self.vocabulary[p]] if p in self.specials else self.encode(p) for p in parts]
            return sum(each, [])
        words = [[self.symbols[b] for b in word.encode()] for word in pre_tokenise(text)]
        return [self.vocabulary[t] for word in words for t in encode_pre_token(word, self.merges)]


class ThroughTables(Tokenizer):
    def __init__(self, vocabulary, merges, specials):
        super().__init__(vocabulary, merges, specials)
        byte_of = {symbol: byte for byte, symbol in byte_symbols().items()}
        self.pieces = {
            number: symbol.encode() if symbol in specials else bytes(map(byte_of.get, symbol))
            for symbol, number in vocabulary.items()
        }

    def decode(self, ids):
        return b"".join(self.pieces[number] for number in ids).decode("utf-8", "replace")


class Symbols(Tokenizer):
    def ids_of(self, word):
        return encode_pre_token([byte_symbols()[b] for b in word.encode()], self.merges)


class Uncut(Tokenizer):
    def encode(self, text, allow_special=False):
        return self.ids_of(text)


class ObeysTheUser(Tokenizer):
    def encode(self, text, allow_special=False):
        return super().encode(text, allow_special=True)


class KnowsNoSpecials(Tokenizer):
    def encode(self, text, allow_special=False):
        return super().encode(text)


class EachAlone(Tokenizer):
    def decode(self, ids):
        return "".join(super(EachAlone, self).decode([number]) for number in ids)


class Strict(ThroughTables):
    def decode(self, ids):
        return b"".join(self.pieces[number] for number in ids).decode("utf-8")


def cuts_with_whole_lists(word, scores):
    cuts = {0: (0.0, [])}
    for end in range(1, len(word) + 1):
        for start, (total, tokens) in list(cuts.items()):
            if (token := word[start:end]) in scores:
                new = total + scores[token], [*tokens, token]
                cuts[end] = max(cuts.get(end, new), new)
    return cuts[len(word)][1]


def cuts_by_recursion(word, scores, known=None):
    known = {"": (0.0, [])} if known is None else known
    if word not in known:
        options = []
        for end in range(1, len(word) + 1):
            if word[:end] in scores:
                cuts_by_recursion(word[end:], scores, known)
                total, tokens = known[word[end:]]
                options.append((total + scores[word[:end]], [word[:end], *tokens]))
        known[word] = max(options)
    return known[word][1]


def likeliest_last_token(word, scores):
    tokens, end = [], len(word)
    while end:
        start = max(
            (s for s in range(end) if word[s:end] in scores), key=lambda s: scores[word[s:end]]
        )
        tokens.insert(0, word[start:end])
        end = start
    return tokens


def pops_by_replacing(heap, pairs):
    while heap and -heap[0][0] != pairs[heap[0][1]]:
        now = pairs[heap[0][1]]
        if now > 0:
            heapq.heapreplace(heap, (-now, heap[0][1]))
        else:
            heapq.heappop(heap)
    return heapq.heappop(heap)[1] if heap else None


test_merge_pair_right = accepts(
    "bpe.merge_pair", by_iterator, remembers_the_first_half, cuts_in_a_copy
)
test_merge_pair_wrong = rejects(
    "bpe.merge_pair",
    (nothing, 0, "Not solved yet"),
    (changes_its_input, 1, "the list that was given"),
    (glues, 1, "Put in `new_token`"),
    (compares_list_with_tuple, 1, "A slice of `tokens` is a list"),
    (merges_nothing, 1, "Is the pair found?"),
    (through_a_string, 1, "Is the pair found?"),
    (compares_identity, 1, "Is the pair found?"),
    (leaves_overlaps, 2, "use no token twice"),
    (merges_its_result_again, 2, "not looked at again"),
    (lists_only, 3, "`tokens` may be a tuple"),
    (holds_what_is_true, 3, "`merge_pair([0, 7, 0, 0], (7, 0), 0)`.\nYours: [0]"),
    (asks_for_a_true_neighbour, 3, "0 is a token like any other"),
    (drops_all_that_is_false, 3, "0 is a token like any other"),
    (only_letters, 3, "TypeError: sequence item 0: expected str instance, int found, in line"),
)
test_count_pairs_right = accepts("bpe.count_pairs", word_by_word, while_walk, by_writing_out)
test_count_pairs_wrong = rejects(
    "bpe.count_pairs",
    (nothing, 0, "Not solved yet"),
    (lambda words: list(count_pairs(words).items()), 1, "a list\nExpected: a dict"),
    (lambda words: {"".join(p): n for p, n in count_pairs(words).items()}, 1, "A key is a tuple"),
    (without_overlaps, 2, "they share the middle `a`"),
    (last_pair_missing, 1, "the one directly to its right"),
    (cuts_words_in_twos, 1, "`a` is in two pairs"),
    (letter_by_letter, 2, "A token may be longer than a letter"),
    (drops_zero, 2, "A token may be the number 0"),
)
test_byte_symbols_right = accepts("bpe.byte_symbols", symbols_by_an_iterator, byte_symbols)
test_byte_symbols_wrong = rejects(
    "bpe.byte_symbols",
    (nothing, 0, "Not solved yet"),
    (lambda: {symbol: byte for byte, symbol in byte_symbols().items()}, 1, "from 0 to 255"),
    (lambda: {byte: chr(byte) for byte in PRINTABLE}, 1, "from 0 to 255"),
    (ascii_only, 2, "It can be seen"),
    (lambda: {byte: chr(byte) for byte in range(256)}, 3, "The first of the others"),
)
test_split_specials_right = accepts("bpe.split_specials", splits_by_search, splits_letter_by_letter)
test_split_specials_wrong = rejects(
    "bpe.split_specials",
    (nothing, 0, "Not solved yet"),
    (keeps_empty_parts, 2, "Leave out empty parts."),
    (lambda *asked: [p for p in split_specials(*asked) if p.strip()], 2, "A space is not nothing"),
)
test_encode_pre_token_right = accepts(
    "bpe.encode_pre_token", recursive, by_a_table_of_ranks, one_place_at_a_time
)
test_encode_pre_token_wrong = rejects(
    "bpe.encode_pre_token",
    (nothing, 0, "Not solved yet"),
    (without_the_last_merge, 1, "is every merge in the list used"),
    (without_the_first_merge, 1, "is every merge in the list used"),
    (encodes_in_place, 1, "Argument 1, `tokens`, after the call"),
    (pops_merges, 1, "Argument 2, `merges`, after the call"),
    (lambda *asked: tuple(encode_pre_token(*asked)), 1, "Expected: a list"),
    (longest_first, 2, "Not the longest token"),
    (least_of_nothing, 1, "called with tokens = ['a']"),
    (most_frequent_here, 2, "take the one learnt earliest"),
    (longest_that_is_there, 2, "Not the longest token: take the one learnt earliest"),
    (only_thirty_merges, 3, "merges learnt from a text."),
)
test_train_right = accepts("bpe.train", trains_on_a_list, trains_by_recursion)
test_train_wrong = rejects(
    "bpe.train",
    (nothing, 0, "Not solved yet"),
    (
        lambda *asked: ["".join(pair) for pair in train(*asked)],
        1,
        "the two tokens that were merged",
    ),
    (lambda words, steps: (train(words, steps), words), 1, "Return the pairs, in a list."),
    (one_too_many, 1, ""),
    (merges_in_place, 1, "Argument 1, `words`, after the call"),
    (only_what_occurs_again, 3, "ValueError: min()"),
    (younger_first, 3, "This tie went to the younger token"),
    (second_token_first, 3, ""),
    (ages_of_letters_only, 2, "KeyError"),
)
test_tokenizer_right = accepts("bpe.tokenizer", AllAtOnce, ThroughTables)
test_tokenizer_wrong = rejects(
    "bpe.tokenizer",
    (NumbersInOrder, 1, "Expected: ids: numbers that `vocabulary` gives"),
    (ForgetsTheSpace, 1, "`encode('a b')` without merges"),
    (RemembersTooMuch, 1, ""),
    (GivesATuple, 1, "Expected: a list"),
    (Symbols, 1, "Expected: ids"),
    (Uncut, 2, "Merges stay inside pre-tokens"),
    (ObeysTheUser, 3, "What a user types is text"),
    (KnowsNoSpecials, 3, "it becomes one id"),
    (EachAlone, 4, "Join the bytes of all ids first"),
    (Strict, 4, "raised UnicodeDecodeError"),
    (OnlyTheFirstSpecial, 3, "`encode('<end of text>', allow_special=True)`"),
    (DropsHalves, 4, "Half a character"),
    (DropsSpecials, 4, "A special token is its own text"),
)
test_best_cut_right = accepts("bpe.best_cut", cuts_with_whole_lists, cuts_by_recursion)
test_best_cut_wrong = rejects(
    "bpe.best_cut",
    (nothing, 0, "Not solved yet"),
    (string_joined, 1, "Expected: a list"),
    (likeliest_last_token, 2, "has 0.004"),
    (fewest_tokens, 2, "Not the longest token"),
    (best_average, 2, "`a`, `bc` has 0.004"),
)
test_pop_best_right = accepts("bpe.pop_best", corrects_all_at_once, pops_by_replacing)
test_pop_best_wrong = rejects(
    "bpe.pop_best",
    (nothing, 0, "Not solved yet"),
    (lambda heap, pairs: [pop_best(heap, pairs)], 1, "The best pair leaves the heap."),
    (recounts, 1, ""),
    (lowers_the_true_count, 2, "Only look up the true counts there."),
    (positive_again, 2, ""),
)
