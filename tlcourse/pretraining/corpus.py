"""From data sets and text files to a vocabulary and a file of token ids."""

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tlcourse import corpora, files
from tlcourse.batching import TokenFile, encode_articles, write_tokens
from tlcourse.bpe import EOS, Tokenizer, detokenise
from tlcourse.corpora.catalogue import CORPORA
from tlcourse.pretraining import own_text, prepared
from tlcourse.pretraining.own_text import HELD_OUT, OwnText, TextFiles, size_in_words
from tlcourse.pretraining.prepared import VOCABULARY
from tlcourse.wording import nearest

VOCABULARY_ARTICLES = 6_600  # the vocabulary is learnt from the first articles of the corpus
RECORD = "corpus.json"  # written last: without it the other files are incomplete
LOCK = ".prepare.lock"  # held while the other files are written
FILES = ("tokens.bin", "tokenizer.json", HELD_OUT, RECORD)


def training_articles(names: Iterable[str]) -> Iterator[str]:
    """The training articles of data sets, and the documents of text files, one after the other.

    Every second article in WikiText's form is detokenised, so that a model learns its spacing and
    that of ordinary text. A name that is not a data set is the path of a text file or of a folder
    of them, whose end is held out. Raises DataError, before the first article, for any other name.
    """
    names = list(names)
    return _articles(names, _own_texts(_text_files(names)))


def _text_files(names: Sequence[str], places: Iterable[Path] = ()) -> dict[str, TextFiles]:
    """The text files of each name that is not a data set; see `TextFiles.of`.

    Raises DataError for a name that is neither, and for a text that is given twice.
    """
    texts: dict[str, TextFiles] = {}
    for index, name in enumerate(names):
        if name in names[:index]:
            raise corpora.DataError(f"expected each text once, got {name} twice; leave one out")
        if name in CORPORA:
            continue
        if not name or not Path(name).exists():
            articles = [name for name, corpus in CORPORA.items() if [*corpus.columns] == ["text"]]
            raise corpora.DataError(
                f"expected a data set out of {', '.join(articles)}, or a text file or folder, "
                f"got {name!r}, and no such file is there{nearest(name, articles)}"
            )
        texts[name] = TextFiles.of(Path(name), places)
    own_text.refuse_duplicates(texts.values())
    return texts


def _own_texts(texts: Mapping[str, TextFiles]) -> dict[str, OwnText]:
    """The texts, each read once."""
    return {name: OwnText.read(text_files) for name, text_files in texts.items()}


def _articles(names: Iterable[str], own: Mapping[str, OwnText]) -> Iterator[str]:
    number = itertools.count()

    def articles_of(name: str) -> Iterable[str]:
        if name in own:
            return own[name].training()
        if CORPORA[name].whole_texts:
            return map(_without_specials, corpora.articles(name))
        return _half_detokenised(corpora.articles(name), number)

    return itertools.chain.from_iterable([articles_of(name) for name in names])


def _without_specials(text: str) -> str:
    return "\n".join(map(own_text.without_specials, text.split("\n")))


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

    def until_enough(bar: tqdm) -> Iterator[list[int]]:
        count = 0
        for ids in encode_articles(articles, tokenizer):
            yield ids
            bar.update(len(ids))
            count += len(ids)
            if count >= tokens:
                return

    total = tokens if tokens < math.inf else None
    with tqdm(total=total, unit="token", unit_scale=True, disable=not progress) as bar:
        return write_tokens(path, until_enough(bar))


def prepare(
    folder: str | Path,
    names: Sequence[str],
    *,
    tokens: float = math.inf,
    vocabulary_size: int | None = None,
    tokenizer: Tokenizer | None = None,
    at_least: int = 1,
    places: Iterable[Path] = (),
) -> Tokenizer:
    """Writes vocabulary and token file into `folder`, unless they are there; returns the tokenizer.

    The file holds at least `tokens` tokens, unless the corpora end before; infinity takes them
    whole. The vocabulary is that of `tokenizer`, or is learnt from the first articles: with
    `vocabulary_size` entries or, without it, with VOCABULARY or as many as the text has words for.
    The end of text files is held out and written to `held_out.txt`. Folders of text files are read
    without what is in `folder` or in one of `places`, where the run itself writes. A text file may
    be deleted after the corpus was prepared.

    Raises ValueError if the prepared corpus comes from other corpora, has another vocabulary or
    fewer tokens; DataError for a corpus that does not exist, is not text, or is too short: with
    fewer than `at_least` tokens, or with words for fewer entries. After an error or an interrupt,
    none of its files is left. Raises BlockingIOError while another process prepares a corpus in
    the same folder.
    """
    folder = Path(folder)
    wanted: dict[str, Any] = {
        "tokens": tokens,
        "vocabulary_size": vocabulary_size,
        "tokenizer": tokenizer,
        "at_least": at_least,
        "places": [folder, *places],
    }
    if (folder / RECORD).exists():
        return _reuse(folder, names, **wanted)
    busy = (
        f"expected one run at a time to prepare its corpus in {folder}, but another one is "
        "preparing it; run this command again once that one has begun to train"
    )
    with files.locked(folder / LOCK, busy):
        if (folder / RECORD).exists():  # another process has just written it
            return _reuse(folder, names, **wanted)
        return _build(folder, names, **wanted)


def _reuse(
    folder: Path, names: Sequence[str], *, tokens, vocabulary_size, tokenizer, at_least, places
) -> Tokenizer:
    """The tokenizer of the prepared corpus, which is checked to be the one that is wanted."""
    record = files.read_object(folder / RECORD)
    deleted = prepared.deleted(names, record["corpus"])
    try:
        texts = _text_files([name for name in names if name not in deleted], places)
    except corpora.DataError as error:
        made_from = prepared.without_digests(record["corpus"])
        raise corpora.DataError(f"{error} ({folder} was made from {made_from})") from None
    labels = deleted | {name: text_files.label for name, text_files in texts.items()}
    prepared_tokenizer = prepared.checked_tokenizer(
        folder, record, [labels.get(name, name) for name in names],
        tokens=tokens, size=vocabulary_size, required=tokenizer,
    )  # fmt: skip
    _check_length(names, record["tokens"], at_least)
    for name in deleted:
        print(f"{name} no longer exists; the run goes on with the tokens prepared in {folder}")
    return prepared_tokenizer


def _build(
    folder: Path, names: Sequence[str], *, tokens, vocabulary_size, tokenizer, at_least, places
) -> Tokenizer:
    """Prepares the corpus; returns its tokenizer."""
    files.remove_leftovers(folder)
    text_files, size = _text_files(names, places), vocabulary_size
    own = _own_texts(text_files)
    for name, text in own.items():
        print(text)
        for omission in text_files[name].omissions():
            print(f"left out of {name}: {omission}")
    labels = [text_files[name].label if name in text_files else name for name in names]
    if tokenizer is None:
        tokenizer = _vocabulary(_articles(names, own), names, size)
    record = {"corpus": labels, "vocabulary": size or tokenizer.vocabulary_size}
    if size is None:
        record["at_most"] = VOCABULARY
    with _all_or_nothing(folder):
        record |= _write(folder, names, own, tokenizer, tokens)
        _check_length(names, record["tokens"], at_least)
        files.write_json(folder / RECORD, record)
    print(f"to learn from: {size_in_words(**record['read'])}, {record['tokens']:,} tokens")
    return Tokenizer.load(folder / "tokenizer.json")


def _write(
    folder: Path,
    names: Sequence[str],
    own: Mapping[str, OwnText],
    tokenizer: Tokenizer,
    tokens: float,
) -> dict:
    """Writes tokens, vocabulary and held-out text; returns the counts for the record."""
    lengths: list[int] = []

    def measured(articles: Iterable[str]) -> Iterator[str]:
        for article in articles:
            lengths.append(len(article.split()))
            yield article

    path = folder / "tokens.bin"
    count = write_corpus(path, measured(_articles(names, own)), tokenizer, tokens=tokens)
    with files.atomic(folder / "tokenizer.json") as temporary:
        tokenizer.save(temporary)
    parts = [part for text in own.values() for part in text.held_out]
    if parts:
        own_text.write_documents(folder / HELD_OUT, parts)
    texts = int((TokenFile(path).ids == EOS).sum())  # more may have been read
    sources = corpora.available()
    return {
        "read": {"texts": texts, "words": sum(lengths[:texts])},
        "held_out": sum(text.words_held_out for text in own.values()),
        "samples": [name for name in names if sources.get(name) == [corpora.SAMPLE]],
        "tokens": count,
        "whole": count < tokens,
    }


def held_out(folder: str | Path) -> list[str]:
    """The documents of the user's text that were held out; [] if there is no such file."""
    path = Path(folder) / HELD_OUT
    return list(own_text.documents([path])) if path.exists() else []


def _check_length(names: Sequence[str], count: int, at_least: int) -> None:
    if count < at_least:
        raise corpora.DataError(
            f"expected at least {at_least:,} tokens to learn from, for two windows, got {count:,} "
            f"in {' '.join(names)}; give more text, or shorter windows with --length"
        )


def _vocabulary(articles: Iterator[str], names: Sequence[str], size: int | None) -> Tokenizer:
    """A tokenizer learnt from the first articles; DataError for fewer entries than `size`."""
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
    """Removes the files of a corpus from `folder` if the block raises."""
    try:
        yield
    except BaseException:
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        raise
