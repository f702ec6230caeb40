"""Texts and labels from files as people have them, and what is said of broken ones."""

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
        ("text;label\nWho ?;a\n", r"columns with ',' between them in .*first line stands ';'"),
        ("text;label\nWho, me ?;a\n", r"columns with ',' between them in .*first line stands ';'"),
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
