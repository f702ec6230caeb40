"""Three byte-pair encoding trainers that learn the same merges (Sennrich et al., 2016).

They are the naive loop, the published loop over counted words, and an incremental one with a lazy
heap. Words are pre-tokens: usually a word and the space before it, but ` ,` and `'s` count, too.
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
    """The number of occurrences of each pre-token in `texts`, which is all that BPE training needs.

    Raises TypeError for a single string, whose characters would be taken for texts.
    """
    if isinstance(texts, str):
        raise TypeError("expected a list (or any iterable) of texts, got one string; write [text]")
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(pre_tokenise(text))
    return counts


def merge_pair(tokens: Sequence[int], pair: Pair, new_token: int) -> list[int]:
    """`tokens` with each occurrence of `pair` replaced by `new_token`, from left to right."""
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
    """The strings of the ids so far, up to `vocabulary_size`.

    Merges that spell the same string share an id, and a merge that spells a special token, in
    pre-tokens that contain one, gets its id, as in the `tokenizers` library.
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
        """The id of the token that merges `pair`, which is added if it is new."""
        string = self.strings[pair[0]] + self.strings[pair[1]]
        if string not in self.ids:
            self.ids[string] = len(self.strings)
            self.strings.append(string)
        return self.ids[string]


def _best(pair_counts: Counter[Pair]) -> Pair:
    """The most frequent pair; ties go to the smaller pair of ids."""
    return min(pair_counts, key=lambda pair: (-pair_counts[pair], pair))


def train_naive(texts: Iterable[str], vocabulary_size: int) -> list[Merge]:
    """The naive loop: every step visits every pre-token of the text, including repeated ones.

    Each merge takes a pass over the whole corpus. This is the baseline for the other trainers.
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
    """The loop of Sennrich et al. (2016) over distinct words, each weighted by its count."""
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
    """Learns merges until the vocabulary is full, with incremental pair counts and a lazy heap.

    The most frequent pair comes first; ties go to the smaller pair of ids. A merge visits only the
    words that contain the pair; a heap entry with an outdated count is corrected when it is popped.
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
        current = pair_counts[pair]
        if current != -count:
            if current > 0:
                heapq.heappush(heap, (-current, pair))
            continue
        merges.append((pair, symbols.merged(pair)))
        for grown in _merge_everywhere(words, counts, *merges[-1], pair_counts, where):
            heapq.heappush(heap, (-pair_counts[grown], grown))
    return merges


def _merge_everywhere(words, counts, pair, new_token, pair_counts, where) -> set[Pair]:
    """Merges `pair` in the words that contain it and updates the counts; returns the new pairs."""
    grown = set()
    for index in where.pop(pair):
        old = words[index]
        new = words[index] = merge_pair(old, pair, new_token)
        for old_pair in itertools.pairwise(old):
            pair_counts[old_pair] -= counts[index]
        for new_pair in itertools.pairwise(new):
            pair_counts[new_pair] += counts[index]
            if new_token in new_pair:
                where[new_pair].add(index)
                grown.add(new_pair)
    del pair_counts[pair]
    return grown
