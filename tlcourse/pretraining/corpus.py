"""From articles to a file of token ids."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from tqdm import tqdm

from tlcourse import corpora
from tlcourse.batching import write_tokens
from tlcourse.bpe import SPECIALS, Tokenizer, detokenise

EOS = SPECIALS.index("<eos>")


def training_articles(names: Iterable[str]) -> Iterator[str]:
    """The training articles of the corpora called `names`, every second one detokenised.

    So that text in WikiText's spacing and text as people write it are both at home. Raises
    DataError, before any article is asked for, when a name is none of a text with a train split.
    """
    return _half_detokenised([corpora.articles(name) for name in names])


def _half_detokenised(texts: list[Iterator[str]]) -> Iterator[str]:
    for number, article in enumerate(itertools.chain.from_iterable(texts)):
        if number % 2:
            article = "\n".join(map(detokenise, article.split("\n")))
        yield article


def encode_articles(articles: Iterable[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    """The ids of each article, `<unk>` as one special token, `<eos>` at the end."""
    library = tokenizer.to_library()
    library.encode_special_tokens = False
    iterator = iter(articles)
    while group := list(itertools.islice(iterator, 256)):
        for encoding in library.encode_batch_fast(group):
            yield [*encoding.ids, EOS]


def write_corpus(
    path: Path, articles: Iterable[str], tokenizer: Tokenizer, tokens: int, progress: bool = True
) -> int:
    """Encodes articles into the token file `path` until it holds `tokens`; returns the count."""

    def enough() -> Iterator[list[int]]:
        done = 0
        with tqdm(total=tokens, unit="token", unit_scale=True, disable=not progress) as bar:
            for ids in encode_articles(articles, tokenizer):
                yield ids
                bar.update(len(ids))
                done += len(ids)
                if done >= tokens:
                    return

    return write_tokens(path, enough())
