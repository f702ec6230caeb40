"""CoNLL-U: sentences with a tag, a head and a relation for every word, read, checked and written.

    sentences = list(conllu.read(path, "local mirror"))
    sentence = sentences[0]
    sentence.forms, sentence.upos, sentence.heads    # one entry a word; head 0 is the root
    sentence.text, sentence.spans                    # the text, and the span of each word in it

The format: https://universaldependencies.org/format.html (Nivre et al., 2020). Every *word* has a
head. A *multi-word token* such as "don't" is one token of the text and two words, "do" and "n't".
"""

import re
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path

from tlcourse import files
from tlcourse.corpora.checks import Counted, DataError, lines_of

_OPEN = ("ADJ", "ADV", "INTJ", "NOUN", "PROPN", "VERB")
_CLOSED = ("ADP", "AUX", "CCONJ", "DET", "NUM", "PART", "PRON", "SCONJ")
UPOS = tuple(sorted((*_OPEN, *_CLOSED, "PUNCT", "SYM", "X")))  # the 17 universal tags

UNTIDY = re.compile(r"^\s|\t\s|\s\t|\s$")  # an empty column, or one with white space at its ends


@dataclass(frozen=True)
class Multiword:
    """A token of the text that consists of the words `first` to `last`, counted from 1."""

    first: int
    last: int
    form: str
    misc: str = "_"


@dataclass(frozen=True)
class Sentence:
    """A sentence, its words in order: n entries in each of the first eight fields.

    `feats` and `misc` are as in the file, such as "Number=Sing|Person=3" or "_"; `key_of` reads
    them. `heads` are word numbers, counted from 1; the root's head is 0.
    """

    forms: tuple[str, ...]
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    misc: tuple[str, ...]
    multiwords: tuple[Multiword, ...] = ()
    comments: tuple[str, ...] = ()  # without "# "
    empty_nodes: int = 0  # the number of those left out

    @classmethod
    def of(cls, row: dict) -> "Sentence":
        """The sentence in a row of a data set."""
        values = {field.name: row[field.name] for field in fields(cls)}
        values["multiwords"] = [Multiword(**token) for token in values["multiwords"]]
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})

    @property
    def row(self) -> dict:
        """The sentence as a row of COLUMNS, with lists instead of tuples."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        lists = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        multiwords = [asdict(token) for token in self.multiwords]
        return {"text": self.text, **lists, "multiwords": multiwords}

    @cached_property
    def tokens(self) -> tuple[Multiword, ...]:
        """The tokens of the text; a word outside all multi-word tokens is a token of its own."""
        starts, tokens, word = {token.first: token for token in self.multiwords}, [], 1
        while word <= len(self.forms):
            single = Multiword(word, word, self.forms[word - 1], self.misc[word - 1])
            tokens.append(starts.get(word, single))
            word = tokens[-1].last + 1
        return tuple(tokens)

    @cached_property
    def text(self) -> str:
        """The text: the tokens, each followed by a space unless it has SpaceAfter=No."""
        return "".join(
            token.form + " " * (key_of(token.misc, "SpaceAfter") != "No") for token in self.tokens
        ).rstrip(" ")

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """For each word, the characters of `text` that it covers: (start, end), end exclusive.

        The words of a multi-word token divide its span if together they spell it ("do" + "n't");
        otherwise each has the whole span.
        """
        spans, start = [], 0
        for token in self.tokens:
            words, end = self.forms[token.first - 1 : token.last], start + len(token.form)
            if "".join(words) == token.form:
                ends = [start + len("".join(words[: n + 1])) for n in range(len(words))]
                spans += zip([start, *ends[:-1]], ends, strict=True)
            else:
                spans += [(start, end)] * len(words)
            start = end + (key_of(token.misc, "SpaceAfter") != "No")
        return tuple(spans)

    @property
    def lines(self) -> list[str]:
        """The lines of the sentence in CoNLL-U, a blank one last; no enhanced dependencies."""
        starts = {token.first: token for token in self.multiwords}
        lines = [f"# {comment}" for comment in self.comments]
        columns = (self.forms, self.lemmas, self.upos, self.xpos, self.feats)
        arcs = (map(str, self.heads), self.deprels, "_" * len(self.forms), self.misc)
        for word, cells in enumerate(zip(*columns, *arcs, strict=True), start=1):
            if word in starts:
                token = starts[word]
                span = f"{token.first}-{token.last}"
                lines.append("\t".join([span, token.form, *"_" * 7, token.misc]))
            lines.append("\t".join([str(word), *cells]))
        return [*lines, ""]


COLUMNS = ("text", *(field.name for field in fields(Sentence)))


def key_of(cell: str, key: str) -> str | None:
    """The value of `key` in a cell of FEATS or MISC such as "A=x|B=y"; None if it is absent."""
    for pair in cell.split("|"):
        name, _, value = pair.partition("=")
        if name == key:
            return value
    return None


def parse(path: Path, source: str) -> Iterator[dict]:
    """The rows of a file, packed (.xz) or not, with COLUMNS; raises DataError as `read` does."""
    return (sentence.row for sentence in read(path, source))


def count(*values: object) -> Counted:
    """The words of a row, its lines without comments as the text to digest, and its tags."""
    sentence = Sentence.of(dict(zip(COLUMNS, values, strict=True)))
    lines = [line for line in sentence.lines if not line.startswith("# ")]
    return Counted(len(sentence.forms), "\n".join(lines), sentence.upos)


def read(path: Path, source: str) -> Iterator[Sentence]:
    """The sentences of a file, packed (.xz) or not; empty nodes are left out and counted.

    Raises DataError, naming file and line, for a line that is not CoNLL-U, a head that is not a
    word of the sentence, no root or several, a cycle, or a text that differs from the tokens.
    """
    block: list[str] = []
    number = 0
    for number, line in enumerate(lines_of(path, source), start=1):
        line = line.rstrip("\r\n")
        if line:
            block.append(line)
        elif block:
            yield _sentence(block, path.name, number - len(block))
            block = []
    if block:
        _refuse(path.name, number, "a blank line after the last sentence", "the end of the file")


def write(path: str | Path, sentences: Iterable[Sentence]) -> None:
    """Writes sentences into a file, completely or not at all."""
    with files.atomic(path) as temporary:
        text = "".join(f"{line}\n" for sentence in sentences for line in sentence.lines)
        temporary.write_bytes(text.encode("utf-8"))


def _refuse(name: str, line: int, expected: str, got: object) -> None:
    shown = got if isinstance(got, str) and len(got) < 60 else reprlib.repr(got)
    raise DataError(
        f"{name}, line {line}: expected {expected}, got {shown}; correct the line, or take the "
        "published file"
    )


def _sentence(block: Sequence[str], name: str, first: int) -> Sentence:
    """The sentence of a block of lines, the first of which is line `first` of the file."""
    comments, words, multiwords, empty, lines = [], [], [], 0, []
    for number, line in enumerate(block, start=first):
        if line.startswith("#") and not words and not multiwords:
            comments.append(line.removeprefix("#").strip())
            continue
        cells = line.split("\t")
        if len(cells) != 10 or UNTIDY.search(line):
            _refuse(name, number, "ten columns separated by tabs, none empty", line)
        if cells[0] == str(len(words) + 1):
            words.append(_checked(cells, name, number))
            lines.append(number)
        elif cells[0].startswith(f"{len(words)}.") and cells[0].split(".")[1].isdecimal():
            empty += 1
        else:
            free = multiwords[-1].last if multiwords else 0
            multiwords.append(_multiword(cells, max(free, len(words)), len(words), name, number))
    if multiwords and multiwords[-1].last > len(words):
        _refuse(name, number, f"the words of {multiwords[-1].form!r}", f"{len(words)} words")
    if not words:
        _refuse(name, first, "a sentence with words", "none")
    _check_tree(words, name, lines)
    columns = list(zip(*words, strict=True))
    columns[5] = tuple(map(int, columns[5]))
    sentence = Sentence(*columns, tuple(multiwords), tuple(comments), empty)
    texts = [text.removeprefix("text = ") for text in comments if text.startswith("text = ")]
    if texts and texts[0].split() != sentence.text.split():  # at any kind of space
        _refuse(name, first, f"tokens that make the text {texts[0]!r}", sentence.text)
    return sentence


def _multiword(cells: list[str], after: int, words: int, name: str, number: int) -> Multiword:
    """The multi-word token of a line; it must begin at the next word and overlap no other."""
    first, _, last = cells[0].partition("-")
    if after > words or first != str(words + 1) or not last.isdecimal() or int(last) <= int(first):
        _refuse(name, number, f"the id {words + 1}, or a span or an empty node there", cells[0])
    return Multiword(int(first), int(last), cells[1], cells[9])


def _checked(cells: list[str], name: str, number: int) -> tuple[str, ...]:
    """A word's columns, each checked on its own, without the id and enhanced dependencies."""
    _, form, lemma, upos, xpos, feats, head, deprel, _, misc = cells
    if upos not in UPOS:
        _refuse(name, number, f"a universal tag out of {', '.join(UPOS)}", upos)
    if feats != "_" and not all(pair.partition("=")[2] for pair in feats.split("|")):
        _refuse(name, number, "features such as Number=Sing|Person=3, or _", feats)
    if not head.isdecimal():
        _refuse(name, number, "the number of the head, 0 for the root", head)
    if (head == "0") != (deprel == "root"):
        _refuse(name, number, "the head 0 for the relation root and no other", f"{head} {deprel}")
    return form, lemma, upos, xpos, feats, head, deprel, misc


def _check_tree(words: Iterable[tuple[str, ...]], name: str, lines: Sequence[int]) -> None:
    """Raises DataError unless the heads make one tree with one root."""
    heads = [int(word[5]) for word in words]
    for line, head in zip(lines, heads, strict=True):
        if head > len(heads):
            _refuse(name, line, f"a head from 0 to {len(heads)}", str(head))
    roots = [line for line, head in zip(lines, heads, strict=True) if head == 0]
    if len(roots) > 1:
        _refuse(name, roots[1], "one root in a sentence", f"a second beside line {roots[0]}")
    for line, head in zip(lines, heads, strict=True):
        above, steps = head, 0
        while above and steps < len(heads):
            above, steps = heads[above - 1], steps + 1
        if above:
            _refuse(name, line, "a path from every word up to the root", "heads that form a cycle")
