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
from tlcourse.pretraining.own_text import HELD_OUT, OwnText, TextFiles, counted
from tlcourse.pretraining.prepared import VOCABULARY
from tlcourse.wording import nearest

VOCABULARY_ARTICLES = 6_600  # the vocabulary is learnt from the first articles of the corpus
MADE = "corpus.json"  # comes last: without it the other files count for nothing
LOCK = ".prepare.lock"  # while the others are made
FILES = ("tokens.bin", "tokenizer.json", HELD_OUT, MADE)


def training_articles(names: Iterable[str]) -> Iterator[str]:
    """The training articles of data sets, and the documents of text files, one after the other.

    Every second article in WikiText's form is detokenised, so that its spacing and text as people
    write it are both at home. A name that is no data set is the path of a text file or
    of a folder of them, whose end is held out. Raises DataError, before any article is asked for,
    when a name is neither.
    """
    names = list(names)
    return _articles(names, _own_texts(_text_files(names)))


def _text_files(names: Sequence[str], places: Iterable[Path] = ()) -> dict[str, TextFiles]:
    """The files behind those of the names that are no data sets; see `TextFiles.of`.

    Raises DataError for a name that is neither, and for a text that is given twice.
    """
    found: dict[str, TextFiles] = {}
    for place, name in enumerate(names):
        if name in names[:place]:
            raise corpora.DataError(f"expected each text once, got {name} twice; leave one out")
        if name in CORPORA:
            continue
        if not name or not Path(name).exists():
            articles = [each for each, corpus in CORPORA.items() if [*corpus.columns] == ["text"]]
            raise corpora.DataError(
                f"expected a data set out of {', '.join(articles)}, or a text file or folder, "
                f"got {name!r}, and no such file is there{nearest(name, articles)}"
            )
        found[name] = TextFiles.of(Path(name), places)
    own_text.refuse_twice(found.values())
    return found


def _own_texts(found: Mapping[str, TextFiles]) -> dict[str, OwnText]:
    """Reads all of them once."""
    return {name: OwnText.read(each) for name, each in found.items()}


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
    places: Iterable[Path] = (),
) -> Tokenizer:
    """The vocabulary and, beside it, the token file in `folder`; what is there is kept.

    At least `tokens` tokens, unless the corpora end before; infinity takes them whole. The
    vocabulary is that of `tokenizer`, or learnt from the first articles: of `vocabulary_size`
    entries, without it of VOCABULARY, or of as many as the text has words for. Of text files the
    end is held out, and lies beside the others as `held_out.txt`. Of folders of text files is left
    out what lies in `folder` or in one of `places`, where the run itself writes; a text file that
    is gone since the corpus was prepared is not missed.

    Raises ValueError when what is there was made from other corpora, with another vocabulary or
    for fewer tokens; DataError for a corpus that is not there, not text, or too short: of fewer
    than `at_least` tokens, or with words for fewer entries. Then, and after an interrupt, nothing
    is left of it. BlockingIOError while another process prepares a corpus in the same folder.
    """
    folder = Path(folder)
    asked: dict[str, Any] = {
        "tokens": tokens,
        "vocabulary_size": vocabulary_size,
        "tokenizer": tokenizer,
        "at_least": at_least,
        "places": [folder, *places],
    }
    if (folder / MADE).exists():
        return _kept(folder, names, **asked)
    busy = (
        f"expected one run at a time to prepare its corpus in {folder}, but another one is "
        "preparing it; run this command again once that one has begun to train"
    )
    with files.locked(folder / LOCK, busy):
        if (folder / MADE).exists():  # since a moment ago
            return _kept(folder, names, **asked)
        return _made(folder, names, **asked)


def _kept(
    folder: Path, names: Sequence[str], *, tokens, vocabulary_size, tokenizer, at_least, places
) -> Tokenizer:
    """The vocabulary of the corpus that is there, once it is known to be the one that is wanted."""
    found = files.read_object(folder / MADE)
    gone = prepared.gone(names, found["corpus"])
    try:
        there = _text_files([name for name in names if name not in gone], places)
    except corpora.DataError as error:
        made_from = prepared.named(found["corpus"])
        raise corpora.DataError(f"{error} ({folder} was made from {made_from})") from None
    labels = gone | {name: each.label for name, each in there.items()}
    kept = prepared.checked(
        folder, found, [labels.get(name, name) for name in names],
        tokens=tokens, size=vocabulary_size, known=tokenizer,
    )  # fmt: skip
    _check_length(names, found["tokens"], at_least)
    for name in gone:
        print(f"{name} no longer exists; the run goes on with the tokens prepared in {folder}")
    return kept


def _made(
    folder: Path, names: Sequence[str], *, tokens, vocabulary_size, tokenizer, at_least, places
) -> Tokenizer:
    """Prepares the corpus; returns its vocabulary."""
    files.remove_leftovers(folder)
    found, size = _text_files(names, places), vocabulary_size
    own = _own_texts(found)
    for name, text in own.items():
        print(text)
        for told in found[name].said():
            print(f"left out of {name}: {told}")
    labels = [found[name].label if name in found else name for name in names]
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
        "held_out": sum(text.words_held_out for text in own.values()),
        "samples": [name for name in names if there.get(name) == [corpora.SAMPLE]],
        "tokens": count,
        "whole": count < tokens,
    }


def held_out(folder: str | Path) -> list[str]:
    """The documents of one's own text that were held out; none where there is no such file."""
    path = Path(folder) / HELD_OUT
    return list(own_text.documents([path])) if path.exists() else []


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
    """If the block fails, what it wrote in `folder` is removed."""
    try:
        yield
    except BaseException:
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        raise
