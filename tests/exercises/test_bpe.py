import re
from collections import Counter, defaultdict
from itertools import pairwise

from tests.exercises.standard import accepts, rejects
from tlcourse.bpe import merge_pair
from tlcourse.exercises.bpe import encode_piece


def nothing(*arguments): ...  # your code here


# merge_pair


def by_stack(tokens, pair, new_token):
    merged, open_ = [], False
    for token in tokens:
        if open_ and (merged[-1], token) == pair:
            merged[-1], open_ = new_token, False
        else:
            merged.append(token)
            open_ = True
    return merged


def by_recursion(tokens, pair, new_token):
    if not tokens:
        return []
    if tuple(tokens[:2]) == pair:
        return [new_token, *by_recursion(tokens[2:], pair, new_token)]
    return [tokens[0], *by_recursion(tokens[1:], pair, new_token)]


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


def changes_its_input(tokens, pair, new_token):
    for i in range(len(tokens) - 1, 0, -1):
        if (tokens[i - 1], tokens[i]) == pair:
            tokens[i - 1 : i + 1] = [new_token]
    return tokens


def loses_the_last(tokens, pair, new_token):
    return [new_token if each == pair else each[0] for each in pairwise(tokens)]


def keeps_the_second_half(tokens, pair, new_token):
    after = [*tokens[1:], None]
    return [new_token if (a, b) == pair else a for a, b in zip(tokens, after, strict=False)]


def from_the_right(tokens, pair, new_token):
    return merge_pair(tokens[::-1], pair[::-1], new_token)[::-1]


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


test_merge_pair_right = accepts("bpe.merge_pair", by_stack, by_recursion, by_iterator)
test_merge_pair_wrong = rejects(
    "bpe.merge_pair",
    (nothing, 0, "Not solved yet"),
    (changes_its_input, 1, "changed argument 1"),
    (loses_the_last, 1, "lose the last token"),
    (keeps_the_second_half, 1, "kept the `i` that went into `ai`"),
    (leaves_overlaps, 2, "use no token twice"),
    (from_the_right, 2, "from left to right"),
    (merges_its_result_again, 2, "not looked at again"),
    (only_letters, 3, "TypeError: sequence item 0: expected str instance, int found, in line"),
)


# count_pairs


def by_expansion(words):
    pairs = defaultdict(int)
    for word, count in words.items():
        for i in range(len(word) - 1):
            pairs[word[i], word[i + 1]] += count
    return pairs


def by_elements(words):
    return Counter(pair for word in Counter(words).elements() for pair in pairwise(word))


def without_weights(words):
    return Counter(pair for word in words for pair in pairwise(word))


def once_a_word(words):
    pairs = Counter()
    for word, count in words.items():
        for pair in set(pairwise(word)):
            pairs[pair] += count
    return pairs


def across_words(words):
    return Counter(pairwise(token for word, n in words.items() for _ in range(n) for token in word))


def without_overlaps(words):
    pairs = Counter()
    for word, count in words.items():
        for a, b in set(pairwise(word)):
            pairs[a, b] += count * "".join(word).count(a + b)
    return pairs


def overwrites(words):
    return {
        pair: count * list(pairwise(word)).count(pair)
        for word, count in words.items()
        for pair in pairwise(word)
    }


def joined_keys(words):
    return {"".join(pair): count for pair, count in by_elements(words).items()}


def only_a_list(words):
    return list(by_elements(words).items())


test_count_pairs_right = accepts("bpe.count_pairs", by_expansion, by_elements)
test_count_pairs_wrong = rejects(
    "bpe.count_pairs",
    (nothing, 0, "Not solved yet"),
    (only_a_list, 1, "expected a Mapping"),
    (joined_keys, 1, "the keys of your result are ['ra', 'an']"),
    (without_weights, 2, "add the count, not 1"),
    (once_a_word, 2, "stands twice in a word"),
    (without_overlaps, 2, "share the middle `a`"),
    (across_words, 1, "never reach from one word into the next"),
    (overwrites, 2, "counts of different words add up"),
)


# encode_piece


def one_merge_after_the_other(tokens, merges):
    for pair, new_token in merges:
        tokens = merge_pair(tokens, pair, new_token)
    return list(tokens)


def one_place_at_a_time(tokens, merges):
    tokens, order = list(tokens), [pair for pair, _ in merges]
    while True:
        places = [
            (order.index(pair), i) for i, pair in enumerate(pairwise(tokens)) if pair in order
        ]
        if not places:
            return tokens
        rank, i = min(places)
        tokens[i : i + 2] = [merges[rank][1]]


def leftmost_first(tokens, merges):
    tokens, new = list(tokens), dict(merges)
    i = 0
    while i < len(tokens) - 1:
        pair = tuple(tokens[i : i + 2])
        if pair in new:
            tokens[i : i + 2], i = [new[pair]], 0
        else:
            i += 1
    return tokens


def latest_first(tokens, merges):
    return one_merge_after_the_other(tokens, merges[::-1])


def one_round(tokens, merges):
    known = [pair for pair, _ in merges if pair in pairwise(tokens)]
    return merge_pair(tokens, known[0], dict(merges)[known[0]]) if known else list(tokens)


def mutates(tokens, merges):
    tokens[:] = encode_piece(tokens, merges)
    return tokens


def pops_merges(tokens, merges):
    while merges:
        tokens = merge_pair(tokens, *merges.pop(0))
    return tokens


def gives_a_tuple(tokens, merges):
    return tuple(encode_piece(tokens, merges))


def never_ends(tokens, merges):
    while True:
        tokens = one_merge_after_the_other(tokens, merges)


def only_thirty_merges(tokens, merges):
    return one_merge_after_the_other(tokens, merges[:30])


test_encode_piece_right = accepts(
    "bpe.encode_piece", one_merge_after_the_other, one_place_at_a_time
)
test_encode_piece_wrong = rejects(
    "bpe.encode_piece",
    (nothing, 0, "Not solved yet"),
    (mutates, 1, "changed argument 1"),
    (pops_merges, 1, "changed argument 2"),
    (gives_a_tuple, 1, "expected a list"),
    (leftmost_first, 2, "take the one learnt earliest"),
    (latest_first, 2, "take the one learnt earliest"),
    (one_round, 2, "go on until no learnt pair is left"),
    (only_thirty_merges, 3, "merges learnt from a text gave"),
)
