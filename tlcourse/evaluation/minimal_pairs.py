"""Grammar without training: does a model find the good sentence of a BLiMP pair likelier?

BLiMP: Warstadt et al. (2020). Chance is 50 %.
"""

from collections import defaultdict
from statistics import fmean

import datasets

from tlcourse.bpe import Tokenizer
from tlcourse.device import Compute
from tlcourse.evaluation.scoring import sentence_scores
from tlcourse.transformer import Transformer

PAIRS = 100  # of each paradigm, the first ones


def minimal_pairs(
    model: Transformer,
    tokenizer: Tokenizer,
    pairs: datasets.Dataset,
    *,
    reading: str | None = None,
    compute: Compute | None = None,
) -> dict:
    """Accuracies, as fractions, on the first 100 pairs of each paradigm of `corpora.load("blimp")`.

    A pair is right when the good sentence scores higher (`sentence_scores`); a tie is wrong. The
    `accuracy` of all is the mean over paradigms, that of a phenomenon the mean over its own.
    """
    first = pairs.select([row for row, number in enumerate(pairs["pair"]) if number < PAIRS])
    sentences = [*first["good"], *first["bad"]]
    scores = sentence_scores(model, tokenizer, sentences, reading=reading, compute=compute)
    right, phenomena, ties = defaultdict(list), defaultdict(set), 0
    for row, good, bad in zip(first, scores[: len(first)], scores[len(first) :], strict=True):
        right[row["paradigm"]].append(good > bad)
        phenomena[row["phenomenon"]].add(row["paradigm"])
        ties += good == bad
    paradigms = {name: fmean(right[name]) for name in sorted(right)}
    return {
        "accuracy": fmean(paradigms.values()),
        "pairs": len(first),
        "ties": ties,
        "phenomena": {
            name: fmean(paradigms[each] for each in phenomena[name]) for name in sorted(phenomena)
        },
        "paradigms": paradigms,
    }
