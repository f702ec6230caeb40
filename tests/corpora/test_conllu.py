"""Reading CoNLL-U: what a sentence is, where its words stand, and what is refused."""

import re
from pathlib import Path

import pytest

from tlcourse.corpora import DataError, conllu

COLUMNS = ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"]
TEXT = """\
# sent_id = made-1
# text = "I don't know 3-D," she'd said – fine.
1\t"\t"\tPUNCT\t``\t_\t5\tpunct\t_\tSpaceAfter=No
2\tI\tI\tPRON\tPRP\tNumber=Sing|Person=1\t5\tnsubj\t5:nsubj\t_
3-4\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
3\tdo\tdo\tAUX\tVBP\t_\t5\taux\t_\t_
4\tn't\tnot\tPART\tRB\tPolarity=Neg\t5\tadvmod\t_\t_
5\tknow\tknow\tVERB\tVB\tVerbForm=Inf\t10\tccomp\t_\t_
5.1\tit\tit\tPRON\tPRP\t_\t_\t_\t5:obj\t_
6\t3-D\t3-D\tNOUN\tNN\t_\t5\tobj\t_\tSpaceAfter=No
7\t,"\t,"\tPUNCT\t,\t_\t5\tpunct\t_\t_
8-9\tshe'd\t_\t_\t_\t_\t_\t_\t_\t_
8\tshe\tshe\tPRON\tPRP\t_\t10\tnsubj\t_\t_
9\thad\thave\tAUX\tVBD\t_\t10\taux\t_\t_
10\tsaid\tsay\tVERB\tVBD\t_\t0\troot\t_\t_
11\t–\t–\tPUNCT\t,\t_\t10\tpunct\t_\t_
12\tfine\tfine\tADJ\tJJ\tDegree=Pos\t10\tccomp\t_\tSpaceAfter=No|Note=a
13\t.\t.\tPUNCT\t.\t_\t10\tpunct\t_\t_

"""


def read(tmp_path: Path, text: str) -> list[conllu.Sentence]:
    path = tmp_path / "made.conllu"
    path.write_bytes(text.encode("utf-8"))
    return list(conllu.read(path, "local mirror"))


def test_a_sentence_with_all_that_is_hard(tmp_path: Path) -> None:
    (sentence,) = read(tmp_path, TEXT)
    assert sentence.heads == (5, 5, 5, 5, 10, 5, 5, 10, 10, 0, 10, 10, 10)
    assert sentence.forms[2:4] == ("do", "n't") and sentence.lemmas[3] == "not"
    assert sentence.multiwords == (conllu.Multiword(3, 4, "don't"), conllu.Multiword(8, 9, "she'd"))
    assert sentence.empty_nodes == 1 and sentence.comments[0] == "sent_id = made-1"
    assert sentence.text == "\"I don't know 3-D,\" she'd said – fine."
    assert [token.form for token in sentence.tokens][1:4] == ["I", "don't", "know"]
    assert [sentence.text[start:end] for start, end in sentence.spans] == [
        *['"', "I", "do", "n't", "know", "3-D", ',"'],
        *["she'd", "she'd", "said", "–", "fine", "."],  # "she" + "had" do not spell "she'd"
    ]
    assert conllu.key_of(sentence.feats[1], "Person") == "1"
    assert conllu.key_of(sentence.feats[1], "Case") is None
    assert conllu.key_of(sentence.misc[11], "Note") == "a"


def test_a_sentence_goes_to_a_row_and_a_file_and_back(tmp_path: Path) -> None:
    sentences = read(tmp_path, TEXT + TEXT.replace("made-1", "made-2"))
    assert [conllu.Sentence.of(each.row) for each in sentences] == sentences
    assert tuple(sentences[0].row) == conllu.COLUMNS
    conllu.write(tmp_path / "again.conllu", sentences)
    lines = (tmp_path / "again.conllu").read_text(encoding="utf-8").split("\n")
    plain = [re.sub(r"\t5:nsubj\t", "\t_\t", line) for line in TEXT.split("\n")]
    assert lines[: len(plain) - 1] == [line for line in plain if not line.startswith("5.1")][
        :-1
    ] + ["# sent_id = made-2"]
    again = list(conllu.read(tmp_path / "again.conllu", "local mirror"))
    assert [each.lines for each in again] == [each.lines for each in sentences]


def line(number: int, **cells: str) -> str:
    """TEXT with other cells in a line, counted from 1."""
    lines = TEXT.split("\n")
    found = dict(zip(COLUMNS, lines[number - 1].split("\t"), strict=True)) | cells
    lines[number - 1] = "\t".join(found.values())
    return "\n".join(lines)


def without(number: int) -> str:
    return "\n".join(text for n, text in enumerate(TEXT.split("\n"), start=1) if n != number)


REFUSED = {
    "nine columns": (TEXT.replace("\t_\tSpaceAfter=No\n", "\t_\n", 1), 3, "ten columns"),
    "an empty column": (line(4, LEMMA=""), 4, "none empty"),
    "an unknown tag": (line(4, UPOS="PRP"), 4, "a universal tag out of ADJ, ADP.*got PRP"),
    "features": (line(4, FEATS="Number"), 4, "features such as Number=Sing"),
    "a negative head": (line(4, HEAD="-1"), 4, "the number of the head.*got -1"),
    "a head that is no word": (line(4, HEAD="14"), 4, "a head from 0 to 13, got 14"),
    "two roots": (line(4, HEAD="0", DEPREL="root"), 15, "one root.*beside line 4"),
    "a root by name": (line(4, DEPREL="root"), 4, "the head 0 for the relation root"),
    "a root by head": (line(4, HEAD="0"), 4, "the head 0 for the relation root"),
    "no root": (line(15, HEAD="8", DEPREL="conj"), 3, "a path from every word up to the root"),
    "its own head": (line(4, HEAD="2"), 4, "a path from every word up to the root"),
    "a cycle": (line(8, HEAD="6"), 3, "heads that form a cycle"),
    "an id left out": (without(4), 4, "the id 2, or a span.*got 3-4"),
    "an id twice": (line(6, ID="2"), 6, "the id 3, or a span.*got 2"),
    "a span back": (line(5, ID="3-2"), 5, "the id 3.*got 3-2"),
    "a span over a span": (line(5, ID="3-9"), 12, "got 8-9"),
    "a span out of the sentence": (line(12, ID="8-19"), 18, 'the words of "she\'d", got 13 words'),
    "an empty node elsewhere": (line(9, ID="7.1"), 9, "the id 6.*got 7.1"),
    "another text": (TEXT.replace("know 3-D", "know 4-D", 1), 1, "tokens that make the text"),
    "only comments": ("# sent_id = 1\n\n" + TEXT, 1, "a sentence with words, got none"),
    "a comment inside": (without(2).replace("3-4", "# 3-4"), 4, "the id 3.*got # 3-4"),
    "no blank line": (TEXT[:-1], 18, "a blank line after the last sentence"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_by_file_and_line(case: str, tmp_path: Path) -> None:
    text, number, message = REFUSED[case]
    for before in (0, 2):
        with pytest.raises(DataError) as error:
            read(tmp_path, before * TEXT + text)
        said = str(error.value)
        place = number + before * TEXT.count("\n")
        assert re.match(rf"made\.conllu, line {place}: expected .*{message}", said), said
        assert said.endswith("; correct the line, or take the published file")
        assert "\n" not in said


def test_an_empty_file_has_no_sentence_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    assert read(tmp_path, "") == []
    assert len(read(tmp_path, "\n" + TEXT + "\n\n" + TEXT.replace("\n", "\r\n"))) == 2
