"""Text files of one's own: documents, and what is refused."""

import pytest

from tlcourse.batching import encode_articles
from tlcourse.bpe import Tokenizer
from tlcourse.corpora import DataError
from tlcourse.pretraining import prepare, training_articles
from tlcourse.pretraining.own_text import documents


def write(path, text: str | bytes):
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def test_two_empty_lines_and_the_end_of_a_file_end_a_document(tmp_path):
    write(tmp_path / "b.txt", "One  line.\r\nTwo — lines.\n\nStill one.\n\n\n\nAnother")
    write(tmp_path / "a.txt", "\n\n\nFirst.\n")
    write(tmp_path / "notes.md", "not a text file")
    got = list(documents(tmp_path))
    assert got == [" First.\n", " One line.\n Two - lines.\n\n Still one.\n", " Another\n"]
    assert list(documents(tmp_path / "b.txt")) == got[1:]


def test_special_tokens_in_a_text_are_text(tmp_path):
    path = write(tmp_path / "a.txt", "A <mask> and an <eos>, an <unknown>.")
    (text,) = documents(path)
    assert text == " A < mask > and an < eos >, an <unknown>.\n"
    tokenizer = Tokenizer.train([text], 262)
    (ids,) = encode_articles([text], tokenizer)
    assert min(ids[:-1]) >= 6


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "expected words in .*a.txt, found none"),
        (b" \n\n\t\n", "expected words in .*a.txt, found none"),
        (b"fine\n" + "naïve".encode("latin-1"), "UTF-8 text in .*a.txt, .* 0xef .*save the file"),
        ("both".encode("utf-16"), "expected UTF-8 text"),
        (b"a line\nzero\0byte\n", "line 2 has a zero byte"),
    ],
)
def test_what_is_no_text_is_refused_with_the_file_named(tmp_path, content, said):
    with pytest.raises(DataError, match=said):
        list(documents(write(tmp_path / "a.txt", content)))


def test_a_path_that_is_not_there_and_a_folder_without_texts_are_refused(tmp_path):
    with pytest.raises(DataError, match="or a text file or folder, got 'nowhere.txt'"):
        training_articles(["nowhere.txt"])
    with pytest.raises(DataError, match=r"a folder with \*.txt files"):
        training_articles([str(tmp_path)])


def test_a_corpus_that_is_short_is_taken_whole_and_a_changed_one_is_refused(tmp_path):
    path = write(tmp_path / "a.txt", "the rain on the train " * 50)
    folder = tmp_path / "prepared"
    first = prepare(folder, [str(path)], tokens=1e6, vocabulary_size=270)
    made = (folder / "tokens.bin").stat().st_mtime_ns
    assert prepare(folder, [str(path)], vocabulary_size=270).merges == first.merges
    assert (folder / "tokens.bin").stat().st_mtime_ns == made
    write(path, "the rain on the plain " * 50)
    with pytest.raises(ValueError, match="--prepared, or remove this one"):
        prepare(folder, [str(path)], tokens=1e6, vocabulary_size=270)


def test_fewer_tokens_than_asked_for_and_another_vocabulary_are_refused(tmp_path):
    path = write(tmp_path / "a.txt", "the rain on the train\n\n\n" * 50)
    folder = tmp_path / "prepared"
    prepare(folder, [str(path)], tokens=20, vocabulary_size=270)
    with pytest.raises(ValueError, match="'whole': False.*'tokens': 500.* is asked for"):
        prepare(folder, [str(path)], tokens=500, vocabulary_size=270)
    other = Tokenizer.train(["a plain plane on a plain plan"], 270)
    with pytest.raises(ValueError, match="another vocabulary"):
        prepare(folder, [str(path)], tokens=20, vocabulary_size=270, tokenizer=other)


def test_a_known_vocabulary_is_kept(tmp_path):
    path = write(tmp_path / "a.txt", "the rain on the train")
    known = Tokenizer.train(["a plain plane on a plain plan"], 270)
    kept = prepare(tmp_path / "p", [str(path)], tokens=10, vocabulary_size=300, tokenizer=known)
    assert kept.merges == known.merges
