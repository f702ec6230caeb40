"""From data sets and text files to a vocabulary and a file of token ids."""

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tqdm import tqdm

from tlcourse import corpora, files
from tlcourse.batching import TokenFile, encode_articles, write_tokens
from tlcourse.bpe import EOS, Tokenizer, detokenise
from tlcourse.corpora.catalogue import CORPORA
from tlcourse.pretraining import own_text, prepared
from tlcourse.pretraining.own_text import OwnText, counted
from tlcourse.pretraining.prepared import VOCABULARY
from tlcourse.wording import nearest

VOCABULARY_ARTICLES = 6_600  # the vocabulary is learnt from the first articles of the corpus
HELD_OUT = "held_out.txt"  # what of one's own text is not trained on
MADE = "corpus.json"  # comes last: without it the other files count for nothing
FILES = ("tokens.bin", "tokenizer.json", HELD_OUT, MADE)


def training_articles(names: Iterable[str]) -> Iterator[str]:
    """The training articles of data sets, and the documents of text files, one after the other.

    Every second article in WikiText's form is detokenised, so that its spacing and text as people
    write it are both at home. A name that is no data set is the path of a text file or
    of a folder of them, whose end is held out. Raises DataError, before any article is asked for,
    when a name is neither.
    """
    names = list(names)
    return _articles(names, _own_texts(names))


def _own_texts(names: Iterable[str]) -> dict[str, OwnText]:
    """Those of the names that are no data sets, read once."""
    found = {}
    for name in names:
        if name not in CORPORA:
            if not Path(name).exists():
                articles = [
                    each for each, corpus in CORPORA.items() if [*corpus.columns] == ["text"]
                ]
                raise corpora.DataError(
                    f"expected a data set out of {', '.join(articles)}, or a text file or folder, "
                    f"got {name!r}, and no such file is there{nearest(name, articles)}"
                )
            found[name] = OwnText.read(Path(name))
    return found


def _articles(names: Iterable[str], own: Mapping[str, OwnText]) -> Iterator[str]:
    number = itertools.count()

    def part(name: str) -> Iterable[str]:
        if name in own:
            return own[name].training()
        if CORPORA[name].whole_texts:
            return map(_written, corpora.articles(name))
        return _half_detokenised(corpora.articles(name), number)

    return itertools.chain.from_iterable([part(name) for name in names])


def _written(text: str) -> str:
    return "\n".join(map(own_text.written, text.split("\n")))


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

    def enough(bar: tqdm) -> Iterator[list[int]]:
        done = 0
        for ids in encode_articles(articles, tokenizer):
            yield ids
            bar.update(len(ids))
            done += len(ids)
            if done >= tokens:
                return

    total = tokens if tokens < math.inf else None
    with tqdm(total=total, unit="token", unit_scale=True, disable=not progress) as bar:
        return write_tokens(path, enough(bar))


def prepare(
    folder: str | Path,
    names: Sequence[str],
    *,
    tokens: float = math.inf,
    vocabulary_size: int | None = None,
    tokenizer: Tokenizer | None = None,
    at_least: int = 1,
) -> Tokenizer:
    """The vocabulary and, beside it, the token file in `folder`; what is there is kept.

    At least `tokens` tokens, unless the corpora end before; infinity takes them whole. The
    vocabulary is that of `tokenizer`, or learnt from the first articles: of `vocabulary_size`
    entries, without it of VOCABULARY, or of as many as the text has words for. Of text files the
    end is held out, and lies beside the others as `held_out.txt`.

    Raises ValueError when what is there was made from other corpora, with another vocabulary or
    for fewer tokens; DataError for a corpus that is not there, not text, or too short: of fewer
    than `at_least` tokens, or with words for fewer entries. Then, and after an interrupt, nothing
    is left of it.
    """
    folder = Path(folder)
    labels, size = [prepared.label(name) for name in names], vocabulary_size
    if (folder / MADE).exists():
        found = files.read_json(folder / MADE)
        there = prepared.checked(folder, found, labels, tokens=tokens, size=size, known=tokenizer)
        _check_length(names, found["tokens"], at_least)
        return there
    own = _own_texts(names)
    for text in own.values():
        print(text)
    if tokenizer is None:
        tokenizer = _vocabulary(_articles(names, own), names, size)
    made = {"corpus": labels, "vocabulary": size or tokenizer.vocabulary_size}
    if size is None:
        made["at_most"] = VOCABULARY
    with _all_or_nothing(folder):
        made |= _write(folder, names, own, tokenizer, tokens)
        _check_length(names, made["tokens"], at_least)
        files.write_json(folder / MADE, made)
    print(f"to learn from: {counted(**made['read'])}, {made['tokens']:,} tokens")
    return Tokenizer.load(folder / "tokenizer.json")


def _write(
    folder: Path,
    names: Sequence[str],
    own: Mapping[str, OwnText],
    tokenizer: Tokenizer,
    tokens: float,
) -> dict:
    """Writes tokens, vocabulary and what is held out; returns what was read."""
    lengths: list[int] = []

    def noted(articles: Iterable[str]) -> Iterator[str]:
        for article in articles:
            lengths.append(len(article.split()))
            yield article

    path = folder / "tokens.bin"
    count = write_corpus(path, noted(_articles(names, own)), tokenizer, tokens=tokens)
    with files.atomic(folder / "tokenizer.json") as temporary:
        tokenizer.save(temporary)
    parts = [part for text in own.values() for part in text.held_out]
    if parts:
        own_text.write_documents(folder / HELD_OUT, parts)
    texts = int((TokenFile(path).ids == EOS).sum())  # more were looked at
    there = corpora.available()
    return {
        "read": {"texts": texts, "words": sum(lengths[:texts])},
        "samples": [name for name in names if there.get(name) == [corpora.SAMPLE]],
        "tokens": count,
        "whole": count < tokens,
    }


def held_out(folder: str | Path) -> list[str]:
    """The documents of one's own text that were held out; none where there is no such file."""
    path = Path(folder) / HELD_OUT
    return list(own_text.documents(path)) if path.exists() else []


def _check_length(names: Sequence[str], count: int, at_least: int) -> None:
    if count < at_least:
        raise corpora.DataError(
            f"expected at least {at_least:,} tokens to learn from, for two windows, got {count:,} "
            f"in {' '.join(names)}; give more text, or shorter windows with --length"
        )


def _vocabulary(articles: Iterator[str], names: Sequence[str], size: int | None) -> Tokenizer:
    """Learnt from the first articles; DataError where they have no words for `size` entries."""
    wanted = VOCABULARY if size is None else size
    print(f"learning a vocabulary of {wanted:,} entries")
    first = itertools.islice(articles, VOCABULARY_ARTICLES)
    tokenizer = Tokenizer.train((article.replace("<unk>", "") for article in first), wanted)
    entries = tokenizer.vocabulary_size
    if entries < wanted and size is None:
        print(f"{' '.join(names)} has words for {entries:,} entries: the vocabulary has no more")
    elif entries < wanted:
        raise corpora.DataError(
            f"expected text for a vocabulary of {size:,} entries, but {' '.join(names)} has words "
            f"for {entries:,}: give at most that with --vocabulary, or more text"
        )
    return tokenizer


@contextlib.contextmanager
def _all_or_nothing(folder: Path) -> Iterator[None]:
    """If the block fails, what it wrote in `folder` is removed, and folders made for it."""
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            for place in new:
                place.rmdir()
        raise
