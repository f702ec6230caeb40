"""Three byte-pair encoding trainers that learn the same merges (Sennrich et al., 2016).

The naive loop, the published one over counted words, and the incremental one with a lazy heap.
Words are pre-tokens: most are one, with the space in front, but ` ,` and `'s` are words here, too.
Ties go to the smaller pair of ids, as in the `tokenizers` library. Each trainer stops early when no
pair is left, and raises ValueError if the vocabulary has no room for the specials and the bytes.
"""

import heapq
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tlcourse.bpe.text import SPECIALS, base_symbols, pre_tokenise, to_ids

Pair = tuple[int, int]
Merge = tuple[Pair, int]  # the pair, and the id of the merged token


def count_words(texts: Iterable[str]) -> Counter[str]:
    """How often each pre-token occurs in `texts`; all that BPE training needs to know of a corpus.

    Raises TypeError for a single string, whose letters would pass for texts.
    """
    if isinstance(texts, str):
        raise TypeError("expected a list (or any iterable) of texts, got one string; write [text]")
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(pre_tokenise(text))
    return counts


def merge_pair(tokens: Sequence[int], pair: Pair, new_token: int) -> list[int]:
    """`tokens` with each occurrence of `pair` replaced, left to right, no token used twice."""
    merged, i = [], 0
    while i < len(tokens):
        if tokens[i] == pair[0] and tuple(tokens[i : i + 2]) == pair:
            merged.append(new_token)
            i += 2
        else:
            merged.append(tokens[i])
            i += 1
    return merged


class _Symbols:
    """The string of each id so far, up to `vocabulary_size`.

    Two different merges never spell the same string; a merge that spells a special token, in
    pre-tokens that hold one, takes its id, as in the `tokenizers` library.
    """

    def __init__(self, vocabulary_size: int) -> None:
        self.strings = base_symbols()
        self.ids = {string: number for number, string in enumerate(self.strings)}
        self.vocabulary_size = vocabulary_size
        if vocabulary_size < len(self.strings):
            raise ValueError(
                f"expected a vocabulary of at least {len(self.strings)} entries "
                f"({len(SPECIALS)} specials and 256 bytes), got {vocabulary_size}"
            )

    @property
    def full(self) -> bool:
        return len(self.strings) >= self.vocabulary_size

    def merged(self, pair: Pair) -> int:
        """The id of the token that `pair` makes, new or known."""
        string = self.strings[pair[0]] + self.strings[pair[1]]
        if string not in self.ids:
            self.ids[string] = len(self.strings)
            self.strings.append(string)
        return self.ids[string]


def _best(pair_counts: Counter[Pair]) -> Pair:
    """The most frequent pair; among equals the one with the smaller ids."""
    return min(pair_counts, key=lambda pair: (-pair_counts[pair], pair))


def train_naive(texts: Iterable[str], vocabulary_size: int) -> list[Merge]:
    """The naive loop: every step walks through every pre-token of the text, repeated or not.

    Quadratic: it walks the whole corpus once for each merge. Here to be beaten.
    """
    words = [to_ids(word) for text in texts for word in pre_tokenise(text)]
    symbols, merges = _Symbols(vocabulary_size), []
    while not symbols.full:
        pair_counts = Counter(pair for word in words for pair in itertools.pairwise(word))
        if not pair_counts:
            break
        pair = _best(pair_counts)
        merges.append((pair, symbols.merged(pair)))
        words = [merge_pair(word, *merges[-1]) for word in words]
    return merges


def train_counted(word_counts: Counter[str], vocabulary_size: int) -> list[Merge]:
    """The loop of Sennrich et al. (2016): distinct words, each weighed by how often it occurs."""
    words = [(to_ids(word), count) for word, count in word_counts.items()]
    symbols, merges = _Symbols(vocabulary_size), []
    while not symbols.full:
        pair_counts: Counter[Pair] = Counter()
        for word, count in words:
            for pair in itertools.pairwise(word):
                pair_counts[pair] += count
        if not pair_counts:
            break
        pair = _best(pair_counts)
        merges.append((pair, symbols.merged(pair)))
        words = [(merge_pair(word, *merges[-1]), count) for word, count in words]
    return merges


def train(word_counts: Counter[str], vocabulary_size: int) -> list[Merge]:
    """Learns merges until the vocabulary is full, with pair counts kept up to date and a lazy heap.

    Most frequent pair first; ties go to the smaller pair of ids. After a merge only the words that
    hold the pair are touched; a heap entry whose count has changed is corrected when it surfaces.
    """
    symbols = _Symbols(vocabulary_size)
    counts = list(word_counts.values())
    words = [to_ids(word) for word in word_counts]
    pair_counts: Counter[Pair] = Counter()
    where: defaultdict[Pair, set[int]] = defaultdict(set)
    for index, (word, count) in enumerate(zip(words, counts, strict=True)):
        for pair in itertools.pairwise(word):
            pair_counts[pair] += count
            where[pair].add(index)
    heap = [(-count, pair) for pair, count in pair_counts.items()]
    heapq.heapify(heap)
    merges: list[Merge] = []
    while heap and not symbols.full:
        count, pair = heapq.heappop(heap)
        now = pair_counts[pair]
        if now != -count:
            if now > 0:
                heapq.heappush(heap, (-now, pair))
            continue
        merges.append((pair, symbols.merged(pair)))
        for grown in _merge_everywhere(words, counts, *merges[-1], pair_counts, where):
            heapq.heappush(heap, (-pair_counts[grown], grown))
    return merges


def _merge_everywhere(words, counts, pair, new_token, pair_counts, where) -> set[Pair]:
    """Merges `pair` in the words that hold it, keeps the counts, returns the pairs that grew."""
    grown = set()
    for index in where.pop(pair):
        old = words[index]
        new = words[index] = merge_pair(old, pair, new_token)
        for gone in itertools.pairwise(old):
            pair_counts[gone] -= counts[index]
        for come in itertools.pairwise(new):
            pair_counts[come] += counts[index]
            if new_token in come:
                where[come].add(index)
                grown.add(come)
    del pair_counts[pair]
    return grown
