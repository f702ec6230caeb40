"""Texts and labels from files as people have them, and what is said of broken ones."""

import csv
import io
from pathlib import Path

import pytest

from tlcourse.adaptation import tables
from tlcourse.adaptation.tables import Columns

GOOD = "text,label\nWho ran ?,person\nWhere ?,place\n"


@pytest.fixture
def write(tmp_path):
    """Writes a file as bytes and returns its path."""

    def write(content: str | bytes, name: str = "my.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    return write


def test_texts_and_labels_of_the_named_columns(write):
    path = write("id,question, kind ,text\n1,Who ?, person,x\n2,Where ?,place ,y\n")
    found = tables.examples(path, Columns("question", None, "kind"))
    assert (found.texts, found.labels) == (["Who ?", "Where ?"], ["person", "place"])
    assert (found.lines, found.counts) == ([2, 3], {"person": 1, "place": 1})


def test_the_second_column_of_pairs(write):
    path = write("text,other,label\nWho ?,Ann.,yes\nWhere ?,Bob.,no\n")
    found = tables.examples(path, Columns(pair="other"))
    assert found.texts == [("Who ?", "Ann."), ("Where ?", "Bob.")]


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        GOOD.rstrip("\n"),
        'text,label\n"Who ran ?","person"\n"Where ?",place\n',
    ],
    ids=["plain", "byte order mark", "Windows", "old Mac", "no last line end", "quoted"],
)
def test_files_of_all_kinds_say_the_same(write, content):
    found = tables.examples(write(content))
    assert (found.texts, found.labels) == (["Who ran ?", "Where ?"], ["person", "place"])


def test_a_field_may_have_commas_quotes_and_lines_and_lines_are_those_of_the_file(write):
    path = write('text,label\n"Well, who\nsaid ""no"" ?",a\n\n   He said "no".,b\nWhere ?,a\n')
    found = tables.examples(path)
    assert found.texts == ['Well, who\nsaid "no" ?', '   He said "no".', "Where ?"]
    assert found.lines == [2, 5, 6]


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("my.tsv", 'text\tlabel\nHm\ta\n"Who\ta\nWhere\tb\nAnn."\tb\n', (3, 5)),
        ("my.csv", 'text,label\n"Who,a\nWhere,b\nAnn.",b\n', (2, 4)),
        ("my.csv", 'text,label\r\n"Who,a\r\nAnn.",b\r\n', (2, 3)),
        ("my.csv", 'text,label\nHm,a\n\n"Who,a\n\nWell, well, who,b\nAnn.",b\n', (4, 7)),
        ("my.csv", 'label,text\na,"Who\nb,Where\nb,Ann."\n', (2, 4)),
        ("my.csv", 'id,text,label\n1,"Who,a\n2,Where,b\n3,Ann.",b\n', (2, 4)),
        ("my.csv", 'text,pair,label\n"Well,\nwho","Ann,a\nWhere,Bob.",b\n', (3, 4)),
        ("my.csv", 'text, label\n"Who, a\nAnn.", b\n', (2, 3)),
    ],
)
def test_a_quote_that_swallows_rows_is_refused(write, name, content, lines):
    said = f"line {lines[0]} opens a field that only ends in line {lines[1]}, so everything"
    with pytest.raises(ValueError, match=said) as caught:
        tables.read(write(content, name))
    assert "\n" not in str(caught.value) and "remove the mark, or double it" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("my.csv", ["Nice place, loved it.\nWould come again.", "praise"]),
        ("my.csv", ["Nice, and cheap.\n\nTea, cake, scones.\nWould, perhaps, go.", "praise"]),
        ("my.csv", ["praise", "Nice.\r\nThanks, bye"]),
        ("my.csv", ["1", "Nice place, loved it.\nCame twice, at night.", "praise"]),
        ("my.csv", ["1", "a,b", "praise"]),
        ("my.csv", ["It cost me 1,000 of my good pounds\nand more", "praise"]),
        ("my.csv", ["They took me in,\nand fed me", "praise"]),
        ("my.csv", ["No comma at all\nin two lines", "praise"]),
        ("my.tsv", ["Nice place,cheap\nin two lines", "praise"]),
    ],
)
def test_a_text_of_several_lines_with_commas_in_it_is_one_text(write, name, row):
    text = io.StringIO()
    csv.writer(text, delimiter=tables.separator(Path(name))).writerows(
        [list("abc")[: len(row)], row]
    )
    assert tables.read(write(text.getvalue(), name)).rows == [row]


def test_white_space_in_a_label_is_one_space(write):
    found = tables.examples(write('text,label\nWho ?,"a\n b"\nWhere ?,a\u00a0b\nHm,a\tb\nSo,c\n'))
    assert found.labels == ["a b", "a b", "a b", "c"]


def test_a_label_that_looks_like_one_that_was_learnt_is_told_from_it(write):
    with pytest.raises(ValueError, match=r"'caf\\xe9' and 'cafe\\u0301' look alike, but one has U"):
        tables.examples(write("text,label\nHm,cafe\u0301\n"), known=["caf\xe9", "bar"])


def test_a_text_may_be_as_long_as_a_book(write):
    book = "word " * 30_000
    assert tables.examples(write(f"text,label\n{book},a\nWho ?,b\n")).texts == [book, "Who ?"]


def test_tsv_has_tabs(write):
    found = tables.examples(write("text\tlabel\nWell, who ?\ta\nWhere ?\tb\n", "my.TSV"))
    assert found.texts == ["Well, who ?", "Where ?"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "a line of column names and rows below it"),
        ("text,label\n", "a line of column names and rows below it"),
        ("text,label\n\n\n", "a line of column names and rows below it"),
        ("sentence,kind\nWho ?,a\n", r"a column 'text' in .*, got sentence, kind; its first line"),
        ("text,kind\nWho ?,a\n", r"a column 'label' in .*, got text, kind; its first line"),
        ("text;label\nWho ?;a\n", r"columns with ',' between them in .*first line uses ';'"),
        ("text;label\nWho, me ?;a\n", r"columns with ',' between them in .*first line uses ';'"),
        ("text|label\nWho ?|a\n", r"columns with ',' between them in .*first line uses '\|'"),
        ("\ufeff\ufeff" + GOOD, r"'\\ufefftext' and 'text' look alike, but one has U\+FEFF ZERO"),
        ("\u200b" + GOOD, r"alike, but one has U\+200B ZERO WIDTH SPACE in it; its first line"),
        ("text,label\nWho ?,a\nMe ?,b\0b\n", r"control characters in .*, line 3, got 'b\\x00b'"),
        ("text,label\nWho ?,a\nMe ?,\u200b\n", r"line 3, got '\\u200b'; write it without"),
        ("text\tlabel\nWho ?\ta\n", r"columns with ',' .*, or as .tsv with tabs"),
        ("text,text,label\nWho ?,When ?,a\n", "got 'text' twice"),
        ("text,label\nWho ?,a\nWho, me ?,b\n", r"expected 2 fields in .*, line 3, .* got 3;"),
        ("text,label\nWho ?,a\nWho\n", r"expected 2 fields in .*, line 3, .* got 1;"),
        ('text,label\nWho ?,a\n"Who,b\nMe ?,b\n', "from line 3 on: unexpected end of data"),
        ('text,label\n"Who" ran ?,b\n', "from line 2 on: ',' expected after '\"'"),
        ("text,label\nWho ?,a\n ,b\n", r"in column 'text' of .*, line 3, got ' '"),
        ("text,label\nWho ?,a\nMe ?,\n", r"in column 'label' of .*, line 3, got ''"),
        ("text,label\nWho ?,a\nMe ?,a \n", "at least two labels in .* got only 'a'"),
        ("text,label\nWho é ?,a\n".encode("latin-1"), r"byte 16, in line 2, is 0xe9;"),
        ("\ufefftext,label\nWho ?,a\né,b\n".encode() + b"\xff,a\n", "byte 28, in line 4, is 0xff"),
        (GOOD.encode("utf-16"), r"byte 1, in line 1, is 0xff; .* \(in a spreadsheet: CSV UTF-8\)"),
    ],
)
def test_what_is_wrong_is_one_line_that_says_where(write, content, said):
    with pytest.raises(ValueError, match=said) as caught:
        tables.examples(write(content))
    assert "\n" not in str(caught.value) and "my.csv" in str(caught.value)


def test_an_empty_second_part_is_named(write):
    path = write("text,other,label\nWho ?,Ann.,yes\nWhere ?,,no\n")
    with pytest.raises(ValueError, match="'other' of .*, line 3"):
        tables.examples(path, Columns(pair="other"))


def test_a_label_that_was_not_learnt_is_named_and_one_label_is_enough_for_a_test(write):
    path = write("text,label\nWho ?,a\nWhere ?,c\n")
    with pytest.raises(ValueError, match="a label out of a, b in .*, line 3, got 'c'"):
        tables.examples(path, known=["a", "b"])
    assert tables.examples(write("text,label\nWho ?,a\n"), known=["a", "b"]).labels == ["a"]


def test_a_file_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(ValueError, match=f"expected a table in {path}: "):
            tables.read(path)
