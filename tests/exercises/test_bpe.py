import re
from collections import Counter, defaultdict
from itertools import combinations, pairwise

from tests.exercises.standard import accepts, rejects
from tlcourse.bpe import merge_pair
from tlcourse.exercises.bpe import encode_pre_token


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


def compares_list_with_tuple(tokens, pair, new_token):
    merged, i = [], 0
    while i < len(tokens):
        hit = tokens[i : i + 2] == pair
        merged.append(new_token if hit else tokens[i])
        i += 2 if hit else 1
    return merged


def lists_only(tokens, pair, new_token):
    merged, i = [], 0
    while i < len(tokens):
        hit = tokens[i : i + 2] == list(pair)
        merged.append(new_token if hit else tokens[i])
        i += 2 if hit else 1
    return merged


test_merge_pair_right = accepts("bpe.merge_pair", by_stack, by_recursion, by_iterator)
test_merge_pair_wrong = rejects(
    "bpe.merge_pair",
    (nothing, 0, "Not solved yet"),
    (changes_its_input, 1, "changed argument 1"),
    (loses_the_last, 1, "lose the last token"),
    (compares_list_with_tuple, 1, "They are never equal"),
    (keeps_the_second_half, 1, "kept the `i` that went into `ai`"),
    (leaves_overlaps, 2, "use no token twice"),
    (from_the_right, 2, "the last pair was merged first"),
    (merges_its_result_again, 2, "not looked at again"),
    (lists_only, 3, "`tokens` may be a tuple"),
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
    (only_a_list, 1, "a list; expected a dict"),
    (joined_keys, 1, "the keys of your result are ['ra', 'an']"),
    (without_weights, 2, "add the count, not 1"),
    (once_a_word, 2, "stands twice in a word"),
    (without_overlaps, 2, "share the middle `a`"),
    (across_words, 1, "never reach from one word into the next"),
    (overwrites, 2, "counts of different words add up"),
)


# encode_pre_token


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
    tokens[:] = encode_pre_token(tokens, merges)
    return tokens


def pops_merges(tokens, merges):
    while merges:
        tokens = merge_pair(tokens, *merges.pop(0))
    return tokens


def gives_a_tuple(tokens, merges):
    return tuple(encode_pre_token(tokens, merges))


def never_ends(tokens, merges):
    while True:
        tokens = one_merge_after_the_other(tokens, merges)


def only_thirty_merges(tokens, merges):
    return one_merge_after_the_other(tokens, merges[:30])


test_encode_pre_token_right = accepts(
    "bpe.encode_pre_token", one_merge_after_the_other, one_place_at_a_time
)
test_encode_pre_token_wrong = rejects(
    "bpe.encode_pre_token",
    (nothing, 0, "Not solved yet"),
    (mutates, 1, "changed argument 1"),
    (pops_merges, 1, "changed argument 2"),
    (gives_a_tuple, 1, "expected a list"),
    (leftmost_first, 2, "take the one learnt earliest"),
    (latest_first, 2, "take the one learnt earliest"),
    (one_round, 2, "go on until no learnt pair is left"),
    (only_thirty_merges, 3, "merges learnt from a text gave"),
)


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


def first_pair_only(tokens, pair, new_token):
    for i in range(len(tokens) - 1):
        if (tokens[i], tokens[i + 1]) == pair:
            return tokens[:i] + [new_token] + tokens[i + 2 :]
    return list(tokens)


def glues(tokens, pair, new_token):
    return merge_pair(tokens, pair, pair[0] + pair[1])


def either_order(tokens, pair, new_token):
    merged, i = [], 0
    while i < len(tokens):
        hit = i < len(tokens) - 1 and set(tokens[i : i + 2]) == set(pair)
        merged.append(new_token if hit else tokens[i])
        i += 2 if hit else 1
    return merged


def no_guard_at_the_end(tokens, pair, new_token):
    merged, i = [], 0
    while i < len(tokens):
        hit = tokens[i] == pair[0] and tokens[i + 1] == pair[1]
        merged.append(new_token if hit else tokens[i])
        i += 2 if hit else 1
    return merged


test_outside_merge_pair_right = accepts("bpe.merge_pair", remembers_the_first_half, cuts_in_a_copy)
test_outside_merge_pair_wrong = rejects(
    "bpe.merge_pair",
    (first_pair_only, 2, "Only the first pair was merged"),
    (glues, 1, "Put in `new_token`"),
    (either_order, 2, "directly to its right is a pair"),
    (no_guard_at_the_end, 2, "IndexError: list index out of range, in line"),
)


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


def not_only_neighbours(words):
    counts = Counter()
    for word, n in words.items():
        for pair in combinations(word, 2):
            counts[pair] += n
    return counts


test_outside_count_pairs_right = accepts("bpe.count_pairs", word_by_word, while_walk)
test_outside_count_pairs_wrong = rejects(
    "bpe.count_pairs",
    (last_pair_missing, 1, "the one directly to its right"),
    (cuts_words_in_twos, 1, "`a` is in two pairs"),
    (not_only_neighbours, 1, "the one directly to its right"),
)


def recursive(tokens, merges):
    for pair, new_token in merges:
        if pair in pairwise(tokens):
            return recursive(merge_pair(tokens, pair, new_token), merges)
    return [*tokens]


def stops_at_an_absent_pair(tokens, merges):
    for pair, new_token in merges:
        if pair not in pairwise(tokens):
            break
        tokens = merge_pair(tokens, pair, new_token)
    return list(tokens)


def drops_what_merge_pair_returns(tokens, merges):
    for pair, new_token in merges:
        merge_pair(tokens, pair, new_token)
    return tokens


def most_frequent_here(tokens, merges):
    new = dict(merges)
    while known := Counter(pair for pair in pairwise(tokens) if pair in new):
        pair = known.most_common(1)[0][0]
        tokens = merge_pair(tokens, pair, new[pair])
    return list(tokens)


test_outside_encode_pre_token_right = accepts(
    "bpe.encode_pre_token", recursive, one_place_at_a_time
)
test_outside_encode_pre_token_wrong = rejects(
    "bpe.encode_pre_token",
    (stops_at_an_absent_pair, 2, "is passed over; a later merge may still apply"),
    (drops_what_merge_pair_returns, 1, "it returns a new list"),
    (most_frequent_here, 2, "take the one learnt earliest"),
)
