import heapq
import re
from collections import Counter, defaultdict
from functools import cache, partial
from itertools import pairwise

from tests.exercises.standard import accepts, rejects
from tlcourse.bpe import byte_symbols, merge_pair, pre_tokenise
from tlcourse.exercises.bpe.best_cut import best_cut
from tlcourse.exercises.bpe.byte_symbols import PRINTABLE, numbering
from tlcourse.exercises.bpe.count_pairs import by_writing_out, count_pairs
from tlcourse.exercises.bpe.encode_pre_token import encode_pre_token
from tlcourse.exercises.bpe.pop_best import pop_best
from tlcourse.exercises.bpe.split_specials import letter_by_letter, split_specials
from tlcourse.exercises.bpe.tokenizer import Tokenizer
from tlcourse.exercises.bpe.train import best_of, chooses, train


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


def cuts_in_a_copy(tokens, pair, new_token):
    merged, i = list(tokens), 0
    while i + 1 < len(merged):
        if merged[i] == pair[0] and merged[i + 1] == pair[1]:
            del merged[i + 1]
            merged[i] = new_token
        i += 1
    return merged


def hits(kind):
    """Compares `kind` of a slice with `kind` of the pair."""

    def merge(tokens, pair, new_token):
        merged, i = [], 0
        while i < len(tokens):
            hit = tokens[i : i + 2] == kind(pair)
            merged.append(new_token if hit else tokens[i])
            i += 2 if hit else 1
        return merged

    return merge


def by_the_joined_text(tokens, pair, new_token):
    merged = iter(range(len(tokens)))
    both = [a + b == pair[0] + pair[1] for a, b in pairwise(tokens)] + [False]
    return [new_token if both[i] and [next(merged)] else tokens[i] for i in merged]


test_merge_pair_right = accepts("bpe.merge_pair", by_iterator, cuts_in_a_copy)
test_merge_pair_wrong = rejects(
    "bpe.merge_pair",
    (lambda tokens, *rest: tokens, 1, "the list that was given"),
    (lambda tokens, pair, _: merge_pair(tokens, pair, "".join(pair)), 1, "Insert `new_token`"),
    (hits(tuple), 1, "A slice of `tokens` is a list"),
    (lambda tokens, pair, new: merge_pair(merge_pair(tokens, pair, new), pair, new), 2, ""),
    (hits(list), 3, "`tokens` may be a tuple"),
    (by_the_joined_text, 3, "it is another pair"),
    (lambda *asked: [*filter(None, merge_pair(*asked))], 3, "0 is a token like any other"),
)


def by_indices(words):
    counts = defaultdict(int)
    for word in words:
        for i in range(1, len(word)):
            counts[word[i - 1], word[i]] += words[word]
    return counts


def without_overlaps(words):
    pairs = Counter()
    for word, count in words.items():
        for a, b in set(pairwise(word)):
            pairs[a, b] += count * "".join(map(str, word)).count(f"{a}{b}")
    return pairs


test_count_pairs_right = accepts("bpe.count_pairs", by_indices, by_writing_out)
test_count_pairs_wrong = rejects(
    "bpe.count_pairs",
    (lambda words: list(count_pairs(words).items()), 1, "a list\nExpected: a dict"),
    (lambda words: count_pairs({word[:-1]: n for word, n in words.items()}), 1, "to its right"),
    (lambda words: count_pairs(dict.fromkeys(words, 1)), 2, "add the count, not 1"),
    (without_overlaps, 2, "which share the middle `a`"),
    (
        lambda words: count_pairs({"".join(map(str, word)): n for word, n in words.items()}),
        *(2, "A token may be longer than a letter"),
    ),
    (lambda words: {p: n for p, n in count_pairs(words).items() if all(p)}, 2, "the number 0"),
    (lambda words: count_pairs({word[:5]: n for word, n in words.items()}), 3, "count_pairs("),
)
test_byte_symbols_right = accepts(
    "bpe.byte_symbols", numbering(lambda byte: byte in PRINTABLE), byte_symbols
)
test_byte_symbols_wrong = rejects(
    "bpe.byte_symbols",
    (lambda: {symbol: byte for byte, symbol in byte_symbols().items()}, 1, "from 0 to 255"),
    (lambda: {byte: chr(byte) for byte in PRINTABLE}, 1, "from 0 to 255"),
    (lambda: {byte: chr(byte) for byte in range(256)}, 3, "The first of the other"),
    (lambda: byte_symbols() | {1: "Ā"}, 4, "If two bytes had the same symbol"),
)


def splits_by_search(text, specials):
    parts = []
    while places := [(text.index(each), each) for each in specials if each in text]:
        start, special = min(places)
        parts += [text[:start], special]
        text = text[start + len(special) :]
    return [part for part in [*parts, text] if part]


def once_only(text, specials):
    present = [special for special in specials if special in text]
    return [part for part in text.partition(*present[:1]) if part] if present else [text]


def by_pattern(text, specials):
    return re.split("(" + "|".join(specials) + ")", text) if specials else [text]


def escapes_by_hand(text, specials):
    pattern = re.sub(r"([|[\]])", r"\\\1", "(" + "\0".join(specials) + ")").replace("\0", "|")
    return [part for part in re.split(pattern if specials else "^$", text) if part]


test_split_specials_right = accepts("bpe.split_specials", splits_by_search, letter_by_letter)
test_split_specials_wrong = rejects(
    "bpe.split_specials",
    (once_only, 1, "It occurs twice"),
    (by_pattern, 2, "remove only the parts that are empty"),
    (lambda *asked: [p for p in split_specials(*asked) if p.strip()], 2, "A space is not empty"),
    (lambda text, specials: split_specials(text, specials[1:] or specials), 3, "letter by letter"),
    (lambda *asked: [p.rstrip("\n") for p in split_specials(*asked)], 4, "split_specials("),
    (lambda text, _: [p for p in re.split("(<[^>]*>)", text) if p], 3, "Each of the specials"),
    (escapes_by_hand, 3, "letter by letter"),
)


def recursive(tokens, merges):
    for pair, new_token in merges:
        if pair in pairwise(tokens):
            return recursive(merge_pair(tokens, pair, new_token), merges)
    return [*tokens]


def by_a_table_of_ranks(tokens, merges):
    rank_of = {pair: (rank, new) for rank, (pair, new) in enumerate(merges)}
    while known := [pair for pair in pairwise(tokens) if pair in rank_of]:
        first = min(known, key=rank_of.get)
        tokens = merge_pair(tokens, first, rank_of[first][1])
    return list(tokens)


def longest_that_is_there(tokens, merges):
    while there := [merge for merge in merges if merge[0] in pairwise(tokens)]:
        tokens = merge_pair(tokens, *max(there, key=lambda merge: len(str(merge[1]))))
    return list(tokens)


def longest_from_the_left(tokens, merges):
    known = sorted([*tokens, *(new for _, new in merges)], key=lambda token: -len(str(token)))
    return re.findall("|".join(map(str, known)), "".join(map(str, tokens)))


test_encode_pre_token_right = accepts("bpe.encode_pre_token", recursive, by_a_table_of_ranks)
test_encode_pre_token_wrong = rejects(
    "bpe.encode_pre_token",
    (lambda tokens, merges: merges.clear() or tokens, 1, "Argument 2, `merges`, after the call"),
    (lambda tokens, merges: tuple(recursive(tokens, merges)), 1, "(a tuple)"),
    (longest_that_is_there, 2, "Do not take the longest token"),
    (longest_from_the_left, 2, "`b c` was learnt first, so"),
    (lambda tokens, merges: recursive(tokens, merges[:30]), 3, "merges from a text."),
)


def on_a_list(words, steps):
    tokens = sorted({token for word in words for token in word})
    words, merges = [(word, count) for word, count in words.items()], []
    while len(merges) < steps and any(len(word) > 1 for word, _ in words):
        pairs = Counter()
        for word, count in words:
            pairs.update(count * [*pairwise(word)])
        best = min(pairs, key=lambda p: (-pairs[p], tokens.index(p[0]), tokens.index(p[1])))
        merges.append(best)
        tokens.append("".join(best))
        words = [(merge_pair(word, best, "".join(best)), count) for word, count in words]
    return merges


def by_recursion(words, steps, known=()):
    known = list(known) or sorted({token for word in words for token in word})
    pairs = count_pairs(words)
    if not steps or not pairs:
        return []
    best = min(pairs, key=lambda p: (-pairs[p], *map(known.index, p)))
    after = {tuple(merge_pair(word, best, "".join(best))): n for word, n in words.items()}
    return [best, *by_recursion(after, steps - 1, [*known, "".join(best)])]


def counts_once(words, steps):
    pairs = count_pairs(words)
    return sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:steps]


def with_the_letters_ages(pairs, age):
    return best_of(pairs, {token: n for token, n in age.items() if len(token) == 1})


def second_token_first(pairs, age):
    return min(pairs, key=lambda pair: (-pairs[pair], age[pair[1]], age[pair[0]]))


test_train_right = accepts("bpe.train", on_a_list, by_recursion)
test_train_wrong = rejects(
    "bpe.train",
    (lambda words, steps: train(words, steps + 1), 1, "One step gives one merge"),
    (lambda words, steps: [train(words, steps), words.clear()][0], 1, "Argument 1, `words`, after"),
    (counts_once, 2, "in all words before you count again"),
    (chooses(with_the_letters_ages), 2, "KeyError"),
    (chooses(second_token_first), 3, "call `best_of"),
    (lambda words, steps: train(words, min(steps, 20)), 4, "Yours: 20"),
)


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


def encodes(change):
    """A tokenizer whose `encode` is `change(self, right, text, allow_special)`."""

    def encode(self, text, allow_special=False):
        return change(self, partial(Tokenizer.encode, self), text, allow_special)

    return type("Faulty", (Tokenizer,), {"encode": encode})


def decodes(change):
    """A tokenizer whose `decode` is `change(right, ids)`."""
    return type(
        "Faulty", (Tokenizer,), {"decode": lambda s, ids: change(partial(Tokenizer.decode, s), ids)}
    )


def remembers_the_text_before(self, right, *asked):
    self.all = [*getattr(self, "all", []), *right(*asked)]
    return self.all


def any_part_in_the_vocabulary(self, right, text, allowed):
    parts = split_specials(text, self.specials) if allowed else [text]
    known = self.vocabulary if allowed else {}
    return [i for part in parts for i in ([known[part]] if part in known else right(part))]


class AngleBracketsAreSpecial(Tokenizer):
    def decode(self, ids):
        self.specials = [token for token in self.vocabulary if token.startswith("<")]
        return super().decode(ids)


test_tokenizer_right = accepts("bpe.tokenizer", AllAtOnce, ThroughTables)
test_tokenizer_wrong = rejects(
    "bpe.tokenizer",
    (encodes(lambda self, right, *asked: [str(n) for n in right(*asked)]), 1, "which is no id"),
    (encodes(lambda self, right, *asked: tuple(right(*asked))), 1, "Expected: a list"),
    (encodes(lambda self, right, text, _: self.ids_of(text)), 2, "No merge crosses two pre-tokens"),
    (encodes(any_part_in_the_vocabulary), 3, "¼ is the symbol of one byte"),
    (AngleBracketsAreSpecial, 4, "KeyError: ' '"),
    (decodes(lambda right, ids: right(ids).replace("\ufffd", "")), 4, "Part of a character"),
    (encodes(remembers_the_text_before), 5, "`encode("),
)


def with_whole_lists(word, scores):
    cuts = {0: (0.0, [])}
    for end in range(1, len(word) + 1):
        for start, (total, tokens) in list(cuts.items()):
            if (token := word[start:end]) in scores:
                new = total + scores[token], [*tokens, token]
                cuts[end] = max(cuts.get(end, new), new)
    return cuts[len(word)][1]


def from_the_end(word, scores):
    @cache
    def best(rest):
        ends = [end for end in range(1, len(rest) + 1) if rest[:end] in scores]
        cuts = [(rest[:end], *best(rest[end:])) for end in ends]
        options = ((scores[token] + total, [token, *tokens]) for token, total, tokens in cuts)
        return max(options, default=(0.0, []))

    return best(word)[1]


def likeliest_last_token(word, scores):
    ends = (word[start:] for start in range(len(word)) if word[start:] in scores)
    last = max(ends, key=scores.get, default="")
    return [*likeliest_last_token(word[: -len(last)], scores), last] if last else []


test_best_cut_right = accepts("bpe.best_cut", with_whole_lists, from_the_end)
test_best_cut_wrong = rejects(
    "bpe.best_cut",
    (lambda *asked: " ".join(best_cut(*asked)), 1, "(a str)"),
    (likeliest_last_token, 2, "has probability 0.004"),
    (
        lambda word, scores: best_cut(word, {t: s for t, s in scores.items() if len(t) < 4}),
        *(3, "The sorted tokens"),
    ),
    (lambda word, scores: best_cut(word[:50], scores), 4, "60 times a"),
    (
        lambda word, scores: best_cut(word, {t: s for t, s in scores.items() if len(t) < 9}),
        *(4, "A token may have any length"),
    ),
)


def corrects_all_at_once(heap, pairs):
    heap[:] = [(-pairs[pair], pair) for _, pair in heap if pairs[pair]]
    heap.sort()
    return heap.pop(0)[1] if heap else None


def pops_by_replacing(heap, pairs):
    while heap and -heap[0][0] != pairs[heap[0][1]]:
        now = pairs[heap[0][1]]
        if now > 0:
            heapq.heapreplace(heap, (-now, heap[0][1]))
        else:
            heapq.heappop(heap)
    return heapq.heappop(heap)[1] if heap else None


def correcting(stale, times=1000):
    """Calls `stale(heap, pairs, pair)` for an entry that is too high; gives up after `times`."""

    def pop(heap, pairs):
        for _ in range(times):
            if not heap:
                return None
            count, pair = heapq.heappop(heap)
            if pairs[pair] == -count:
                return pair if count else None
            stale(heap, pairs, pair)

    return pop


def back(heap, pairs, pair):
    heapq.heappush(heap, (-pairs[pair], pair))


test_pop_best_right = accepts("bpe.pop_best", corrects_all_at_once, pops_by_replacing)
test_pop_best_wrong = rejects(
    "bpe.pop_best",
    (lambda heap, pairs: [pop_best(heap, pairs)], 1, "Expected: ([('b', 'c')"),
    (correcting(back), 2, "throw the entry away"),
    (correcting(lambda heap, pairs, pair: pairs.update({pair: 0})), 2, "after the call"),
    (correcting(lambda *given: given[1][given[2]] and back(*given), times=3), 3, "comes out later"),
)
