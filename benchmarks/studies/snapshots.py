"""What a model is asked as it reads more: parts of speech, trees, agreement, its loss.

A layer is chosen on validation sentences and judged on test sentences, so that the best of seven is
not taken where it is reported.
"""

import math
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from tlcourse import corpora, evaluation, probing
from tlcourse.bpe import Tokenizer
from tlcourse.corpora import conllu, treebank
from tlcourse.probing import tasks
from tlcourse.transformer import Transformer
from tlcourse.wording import number_of

ATTRACTORS = (0, 1)
TEXT = "wikitext-103"

Read = tuple[probing.Features, Sequence[conllu.Sentence]]


@cache
def sentences(learnt: int, judged: int) -> list[list[conllu.Sentence]]:
    """EWT's sentences to learn from, to choose a layer by, and to judge on, shuffled once."""
    data, found = corpora.load("ud-english-ewt"), []
    for split, most in (("train", learnt), ("validation", judged), ("test", judged)):
        rows = data[split].shuffle(seed=0)
        found.append([conllu.Sentence.of(row) for row in rows.select(range(min(most, len(rows))))])
    return found


def tags(train: Read, dev: Read, test: Read) -> dict:
    """Parts of speech by layer on dev; on test those of dev's best layer, and its control task."""
    parts = [(features, tasks.column(rows, "upos")) for features, rows in (train, dev, test)]
    by_layer = []
    for layer in range(len(train[0].layers)):
        known, new, _ = (probing.examples(*part, layer) for part in parts)
        probe = probing.linear_probe(known.features, known.labels)
        by_layer.append(probe.judge(new.features, new.labels).accuracy)
    layer = int(np.argmax(by_layer))
    known, _, new = (probing.examples(*part, layer) for part in parts)
    found = probing.report(known, new, code=False)
    return {
        "part of speech": list(found.accuracy),
        "part of speech, layer": layer,
        "part of speech, dev by layer": by_layer,
        "word types": found.word_types,
        "above word types": list(found.above_word_types),
        "control": found.control,
        "selectivity": found.selectivity,
    }


def trees(train: Read, dev: Read, test: Read) -> dict:
    """UUAS by layer on dev; on test that of dev's best layer, and of joining neighbours."""
    by_layer, probes = [], []
    for layer in range(len(train[0].layers)):
        gold = [row.heads for row in train[1]]
        probes.append(probing.distance_probe(train[0].sentences(layer), gold, epochs=5))
        by_layer.append(_judged(probes[-1], dev, layer).uuas)
    layer = int(np.argmax(by_layer))
    heads = [row.heads for row in test[1]]
    order = [probing.linear_distances(len(each)) for each in heads]
    return {
        "trees": list(_judged(probes[layer], test, layer).interval()),
        "trees, layer": layer,
        "trees, dev by layer": by_layer,
        "linear order": probing.judge_distances(order, heads, keep=_keep(test[1])).uuas,
    }


def _judged(probe: probing.DistanceProbe, read: Read, layer: int) -> probing.TreeScore:
    features, rows = read
    return probe.judge(features.sentences(layer), [row.heads for row in rows], keep=_keep(rows))


def _keep(rows: Iterable[conllu.Sentence]) -> list[list[bool]]:
    """Punctuation does not count."""
    return [[tag != "PUNCT" for tag in row.upos] for row in rows]


def agreement(model: Transformer, tokenizer: Tokenizer, pairs: int) -> dict:
    """The share of pairs in which the right verb is likelier, by number of attractors."""
    asked = [
        (pair.good.text, pair.bad.text, f"agreement, {number_of(count, 'attractor')}")
        for count in ATTRACTORS
        for pair in treebank.agreement_pairs(pairs, attractors=count)
    ]

    def score(texts: Sequence[str]) -> list[float]:
        return evaluation.sentence_scores(model, tokenizer, texts)

    found = evaluation.accuracies(score, asked)
    return {group: [each.share, *each.interval] for group, each in found.items()}


def loss(model: Transformer, tokenizer: Tokenizer, articles: int) -> float:
    """On the first held-out articles, nats a token or a masked token: not to be compared."""
    texts = list(corpora.articles(corpora.load(TEXT)["validation"]))[:articles]
    if model.config.causal:
        return math.log(evaluation.evaluate(model, tokenizer, texts).token_perplexity)
    return math.log(evaluation.evaluate_masked(model, tokenizer, texts)["masked_token_perplexity"])
