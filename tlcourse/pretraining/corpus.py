"""From data sets and text files to a vocabulary and a file of token ids."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

from tlcourse import corpora, files
from tlcourse.batching import encode_articles, write_tokens
from tlcourse.bpe import Tokenizer, detokenise
from tlcourse.corpora.catalogue import CORPORA
from tlcourse.pretraining import own_text

VOCABULARY_ARTICLES = 6_600  # the vocabulary is learnt from the first articles of the corpus


def training_articles(names: Iterable[str]) -> Iterator[str]:
    """The training articles of data sets, and the documents of text files, one after the other.

    Every second article of a data set is detokenised, so that text in WikiText's spacing and text
    as people write it are both at home. A name that is no data set is the path of a text file or
    of a folder of them. Raises DataError, before any article is asked for, when a name is neither.
    """
    number = itertools.count()
    return itertools.chain.from_iterable([_articles(name, number) for name in names])


def _articles(name: str, number: Iterator[int]) -> Iterator[str]:
    if name in CORPORA:
        return _half_detokenised(corpora.articles(name), number)
    if not Path(name).exists():
        raise corpora.DataError(
            f"expected a data set out of {', '.join(CORPORA)}, or a text file or folder, "
            f"got {name!r}"
        )
    own_text.text_files(Path(name))
    return own_text.documents(Path(name))


def _half_detokenised(articles: Iterable[str], number: Iterator[int]) -> Iterator[str]:
    for article in articles:
        if next(number) % 2:
            article = "\n".join(map(detokenise, article.split("\n")))
        yield article


def write_corpus(
    path: str | Path,
    articles: Iterable[str],
    tokenizer: Tokenizer,
    *,
    tokens: float = math.inf,
    progress: bool = True,
) -> int:
    """Encodes articles into the token file `path` until it holds `tokens`; returns the count."""

    def enough() -> Iterator[list[int]]:
        done = 0
        total = tokens if tokens < math.inf else None
        with tqdm(total=total, unit="token", unit_scale=True, disable=not progress) as bar:
            for ids in encode_articles(articles, tokenizer):
                yield ids
                bar.update(len(ids))
                done += len(ids)
                if done >= tokens:
                    return

    return write_tokens(path, enough())


def prepare(
    folder: str | Path,
    names: Sequence[str],
    *,
    tokens: float = math.inf,
    vocabulary_size: int = 8192,
    tokenizer: Tokenizer | None = None,
) -> Tokenizer:
    """The vocabulary and, beside it, the token file in `folder`; what is there is kept.

    At least `tokens` tokens, unless the corpora end before; infinity takes them whole. The
    vocabulary is that of `tokenizer`, or learnt from the first articles. Raises ValueError when
    what is there was made from other corpora, with another vocabulary or for fewer tokens;
    DataError for a corpus that is not there or not text.
    """
    folder, known = Path(folder), tokenizer
    wanted = {"corpus": [_label(name) for name in names], "vocabulary": vocabulary_size}
    made = folder / "corpus.json"
    if made.exists():
        found = files.read_json(made)
        short = found["tokens"] < tokens and not found["whole"]
        tokenizer = Tokenizer.load(folder / "tokenizer.json")
        other = known is not None and known.merges != tokenizer.merges
        if short or other or any(found[key] != wanted[key] for key in wanted):
            raise ValueError(
                f"{folder} holds {found}{', another vocabulary' * other}, but "
                f"{wanted | {'tokens': tokens}} is asked for; name another folder with --prepared, "
                "or remove this one"
            )
        return tokenizer
    articles = training_articles(names)
    folder.mkdir(parents=True, exist_ok=True)
    if known is None and not (folder / "tokenizer.json").exists():
        print(f"learning a vocabulary of {vocabulary_size:,} entries")
        first = itertools.islice(training_articles(names), VOCABULARY_ARTICLES)
        texts = (article.replace("<unk>", "") for article in first)
        known = Tokenizer.train(texts, vocabulary_size)
    if known is not None:
        with files.atomic(folder / "tokenizer.json") as temporary:
            known.save(temporary)
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    count = write_corpus(folder / "tokens.bin", articles, tokenizer, tokens=tokens)
    files.write_json(made, wanted | {"tokens": count, "whole": count < tokens})
    return tokenizer


def _label(name: str) -> str:
    """A data set's name, or a file's with the digest of what it holds."""
    if name in CORPORA or not Path(name).exists():
        return name
    return f"{Path(name).name} {own_text.digest(Path(name))}"
