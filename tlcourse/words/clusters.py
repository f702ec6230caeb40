"""Brown clusters: words that stand before and after the same words (Brown et al., 1992)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tlcourse.words.counts import bigrams

if TYPE_CHECKING:
    from tlcourse.words.text import Text


def nlogn(count: np.ndarray) -> np.ndarray:
    """n log n, and 0 for n = 0.

    N bigrams of clusters with the counts n(i, j) have an average mutual information of
    (Σ n(i, j) log n(i, j) - Σ n(i) log n(i) - Σ n(j) log n(j)) / N + log N.
    """
    return count * np.log(np.maximum(count, 1))


def gain(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """By how much `nlogn` of a sum exceeds that of its two parts."""
    return nlogn(first + second) - nlogn(first) - nlogn(second)


def gains(profiles: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(clusters, others): the gains of each two rows of counts, summed over the columns."""
    return gain(profiles[:, None], others).sum(axis=-1)


class Window:
    """The clusters that can be merged now, and what each merge would lose.

    `table` (words, words) holds the counts of bigrams; its first `slots` words are the clusters,
    and merges change it.
    """

    def __init__(self, table: np.ndarray, slots: int) -> None:
        self.table = table
        self.counts = table[:slots, :slots]  # a view
        profiles = self.profiles
        by_row = [gains(profile[None], profiles) for profile in profiles]  # which needs less memory
        self.profile_gains = np.concatenate(by_row)
        self.pairs = np.triu(np.ones((slots, slots), bool), 1)  # those that can be merged

    @property
    def profiles(self) -> np.ndarray:
        """(slots, 2 * slots): how often each cluster follows and precedes the one of the row."""
        return np.hstack([self.counts, self.counts.T])

    def losses(self) -> np.ndarray:
        """(slots, slots): the mutual information, in nats times N, that each merge would lose."""
        follows, precedes = self.counts.sum(axis=1), self.counts.sum(axis=0)
        margins = gain(follows[:, None], follows) + gain(precedes[:, None], precedes)
        # The counts between the two become one sum; in the profiles they are two rows, two columns.
        i_j, j_i, j_j = self.counts, self.counts.T, np.diag(self.counts)
        i_i = j_j[:, None]
        between = gain(i_i + i_j, j_i + j_j) - gain(i_i, j_i) - gain(i_j, j_j)
        return np.where(self.pairs, margins - self.profile_gains - between, np.inf)

    def merge(self, first: int, second: int, new: int | None) -> None:
        """Merges two clusters into the first; the word `new` of the table takes the second's place.

        Without a new word the place remains empty.
        """
        table, both = self.table, [first, second]
        changed = [*both, *(len(self.counts) + slot for slot in both)]  # columns of the profiles
        before = self.profiles[:, changed]
        table[first] += table[second]
        table[:, first] += table[:, second]
        if new is None:
            table[second] = table[:, second] = 0
            self.pairs[second] = self.pairs[:, second] = False
        else:
            table[second] = table[new]
            table[:, second] = table[:, new]
        profiles = self.profiles
        after = profiles[:, changed]
        self.profile_gains += gains(after, after) - gains(before, before)
        self.profile_gains[both] = gains(profiles[both], profiles)
        self.profile_gains[:, both] = self.profile_gains[both].T


def brown(text: Text, *, clusters: int = 50, words: int = 1000) -> dict[str, list[str]]:
    """Brown clusters of the `words` most frequent words, each under its path in a binary tree.

    A path is a string of bits; clusters whose paths begin alike are related. The most frequent
    words of a cluster come first.

    At first the `clusters` + 1 most frequent words are clusters of their own. The two whose merge
    loses the least average mutual information between neighbours become one, and the next word
    comes in, until no word is left; the merges after that make the tree. Raises ValueError unless
    there are two clusters or more, and more words than clusters.
    """
    names = text.vocabulary.words[:words]
    if not 2 <= clusters < len(names):
        raise ValueError(
            f"expected from 2 to {len(names) - 1} clusters of {len(names)} words, got {clusters}"
        )
    slots = clusters + 1
    window = Window(bigrams(text)[: len(names), : len(names)].toarray(), slots)
    members, waiting = [[word] for word in range(slots)], iter(range(slots, len(names)))
    paths = [""] * len(names)
    for present in range(len(names), 1, -1):  # clusters, and words that are still to come
        losses = window.losses()
        first, second = map(int, np.unravel_index(losses.argmin(), losses.shape))
        if present <= clusters:
            for bit, slot in enumerate((first, second)):
                for word in members[slot]:
                    paths[word] = f"{bit}{paths[word]}"
        new = next(waiting, None)
        window.merge(first, second, new)
        members[first] += members[second]
        members[second] = [] if new is None else [new]
    found: dict[str, list[str]] = {path: [] for path in sorted(paths)}
    for path, name in zip(paths, names, strict=True):
        found[path].append(name)
    return found
