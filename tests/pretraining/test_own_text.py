"""Text files of one's own: documents, and what is refused."""

import os
import re
import socket

import pytest

from tlcourse import files
from tlcourse.batching import TokenFile, encode_articles
from tlcourse.bpe import Tokenizer
from tlcourse.corpora import DataError
from tlcourse.pretraining import corpus, held_out, prepare, training_articles
from tlcourse.pretraining.own_text import OwnText, TextFiles, documents


def write(path, text: str | bytes):
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def test_two_empty_lines_and_the_end_of_a_file_end_a_document(tmp_path):
    write(tmp_path / "b.txt", "One  line.\r\nTwo — lines.\n\nStill one.\n\n\n\nAnother")
    write(tmp_path / "a.txt", "\n\n\nFirst.\n")
    write(tmp_path / "notes.md", "not a text file")
    got = list(documents(TextFiles.of(tmp_path).digests))
    assert got == [" First.\n", " One line.\n Two - lines.\n\n Still one.\n", " Another\n"]
    assert list(documents([tmp_path / "b.txt"])) == got[1:]


def test_special_tokens_in_a_text_are_text(tmp_path):
    path = write(tmp_path / "a.txt", "A <mask> and an <eos>, an <unknown>.")
    (text,) = documents([path])
    assert text == " A < mask > and an < eos >, an <unknown>.\n"
    tokenizer = Tokenizer.train([text], 262)
    (ids,) = encode_articles([text], tokenizer)
    assert min(ids[:-1]) >= 6


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "expected words in .*a.txt, found none"),
        (b" \n\n\t\n", "expected words in .*a.txt, found none"),
        ("naïve\n".encode("latin-1"), "UTF-8 text in .*, but in line 1 stands a byte 0xef "),
        (b"long\n" * 9000 + b"\xfc\nend\n" * 9000, "in line 9001 stands a byte 0xfc "),
        (b"fine\n" + "naïve".encode("latin-1"), "UTF-8 text in .*a.txt, .* 0xef .*save the file"),
        ("both".encode("utf-16"), "expected UTF-8 text"),
        (b"a line\nzero\0byte\n", "line 2 has a zero byte"),
    ],
)
def test_what_is_no_text_is_refused_with_the_file_named(tmp_path, content, said):
    with pytest.raises(DataError, match=said):
        list(documents([write(tmp_path / "a.txt", content)]))


def test_a_path_that_is_not_there_and_a_folder_without_texts_are_refused(tmp_path):
    for name in ("nowhere.txt", ""):
        with pytest.raises(DataError, match=f"or a text file or folder, got '{name}', and no such"):
            training_articles([name])
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
    with pytest.raises(
        ValueError, match="since; use another --out or --prepared, or remove this one"
    ):
        prepare(folder, [str(path)], tokens=1e6, vocabulary_size=270)
    with pytest.raises(ValueError, match="not from b c.txt, not with one of 280; use another"):
        prepare(folder, [str(write(tmp_path / "b c.txt", "the rain"))], vocabulary_size=280)


def test_fewer_tokens_than_asked_for_and_another_vocabulary_are_refused(tmp_path):
    path = write(tmp_path / "a.txt", "the rain on the train\n\n\n" * 50)
    folder = tmp_path / "prepared"
    prepare(folder, [str(path)], tokens=20, vocabulary_size=270)
    with pytest.raises(ValueError, match="from a.txt with a vocabulary of 270 .*: not for 500 tok"):
        prepare(folder, [str(path)], tokens=500, vocabulary_size=270)
    other = Tokenizer.train(["a plain plane on a plain plan"], 270)
    with pytest.raises(ValueError, match="with another vocabulary than that of the start"):
        prepare(folder, [str(path)], tokens=20, vocabulary_size=270, tokenizer=other)
    kept = prepare(tmp_path / "q", [str(path)], vocabulary_size=300, tokenizer=other)
    assert kept.merges == other.merges


def test_without_a_number_the_vocabulary_is_what_the_text_has_words_for(tmp_path, capsys):
    path = write(tmp_path / "a.txt", "the rain on the train\n" * 20)
    with pytest.raises(DataError, match=r"words for (\d+): give at most that") as refused:
        prepare(tmp_path / "p", [str(path)], vocabulary_size=8192)
    most = int(re.search(r"words for (\d+)", str(refused.value))[1])
    made = prepare(tmp_path / "p", [str(path)])
    assert made.vocabulary_size == most
    assert f"a.txt has words for {most} entries: the vocabulary has no" in capsys.readouterr().out
    for same in (None, most):
        assert prepare(tmp_path / "p", [str(path)], vocabulary_size=same).merges == made.merges
    with pytest.raises(ValueError, match="not with one of 8,192"):
        prepare(tmp_path / "p", [str(path)], vocabulary_size=8192)
    prepare(tmp_path / "q", [str(path)], vocabulary_size=265)
    with pytest.raises(ValueError, match="a vocabulary of 265 entries .*: not with one of 8,192"):
        prepare(tmp_path / "q", [str(path)])


def test_what_is_no_corpus_is_told_the_data_sets_that_are(tmp_path):
    with pytest.raises(DataError, match="no such file is there; did you mean wikitext-2?") as told:
        training_articles(["wikitex-2"])
    listed = str(told.value).split(" out of ")[1].split(", or a text")[0].split(", ")
    assert "wikitext-103" in listed and "wikipedia-standin" in listed
    assert not {"trec", "blimp", "imdb", "rte", "sst-2", "wnut17"} & {*listed}


def own(tmp_path, text: str) -> OwnText:
    return OwnText.read(TextFiles.of(write(tmp_path / "own.txt", text)))


def words_of(texts) -> list[str]:
    return " ".join(texts).split()


def test_the_end_of_a_text_is_held_out_in_whole_lines(tmp_path):
    lines = [f"line {number} of a text that goes on" for number in range(1000)]
    found = own(tmp_path, "\n".join(lines))
    assert (found.texts, found.words) == (1, 8000)
    training, held_out = list(found.training()), list(found.held_out)
    assert "".join(training + held_out) == "".join(f" {line}\n" for line in lines)
    assert held_out[0].startswith(" line 950 ") and found.words_held_out == 400  # 5 %


def test_documents_stay_whole_and_only_the_one_at_the_border_is_cut(tmp_path):
    text = "\n\n\n".join(f"{n} one two three four\n\n{n} five six seven eight" for n in range(100))
    found = own(tmp_path, text)
    assert found.words == 1000 and found.words_held_out == 200  # some, in a short text
    assert len(list(found.training())) == 80 and len(found.held_out) == 20
    text = text.replace("99 one", "99 nought one")  # 1,001 words
    training, held_out = list(own(tmp_path, text).training()), own(tmp_path, text).held_out
    assert training[-1] == " 80 one two three four\n" and held_out[0].startswith(" 80 five")
    assert words_of([*training, *held_out]) == text.split()


@pytest.mark.parametrize("head", ["", "A first line.\nAnd another.\n"])
def test_a_text_of_one_long_line_is_cut_between_words(tmp_path, head):
    text = head + " ".join(f"word{number}" for number in range(6000))
    found = own(tmp_path, text)
    assert words_of([*found.training(), *found.held_out]) == text.split()
    assert found.words_held_out == int(0.05 * found.words)


def test_of_a_long_text_no_more_is_held_out_than_is_enough_and_of_a_short_one_nothing(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tlcourse.pretraining.own_text.ENOUGH", 500)
    lines = "".join(f"{number} a line of seven words or so\n" for number in range(1000))
    for between in ("", "\n\n"):
        found = own(tmp_path, lines + between + lines)
        assert found.words == 16_000 and 490 < found.words_held_out <= 500
        assert words_of([*found.training(), *found.held_out]) == (lines + lines).split()
    short = own(tmp_path, "too few words\n" * 160)
    assert short.held_out == () and words_of(short.training()) == ["too", "few", "words"] * 160
    assert "160" not in str(short) and "480 words; too few to hold any out" in str(short)
    said = "own.txt: 1 text, 1,000 words; the last 200 are held out, to measure the model on"
    assert str(own(tmp_path, "word " * 1000)).endswith(said)


def test_what_is_held_out_is_kept_as_text_and_is_not_in_the_token_file(tmp_path, capsys):
    path = write(
        tmp_path / "a.txt", "".join(f"the rain on the train {n}\n\n\n" for n in range(100))
    )
    prepare(tmp_path / "p", [str(path)], vocabulary_size=270)
    texts = held_out(tmp_path / "p")
    assert texts == list(OwnText.read(TextFiles.of(path)).held_out) and len(texts) == 20
    tokenizer = Tokenizer.load(tmp_path / "p" / "tokenizer.json")
    learnt = tokenizer.decode(TokenFile(tmp_path / "p" / "tokens.bin").ids.tolist())
    assert learnt.count("<eos>") == 80 and "train 79\n" in learnt and "train 80\n" not in learnt
    said = capsys.readouterr().out
    assert "a.txt: 100 texts, 600 words; the last 120 are held out" in said
    assert "to learn from: 80 texts, 480 words, " in said
    assert held_out(tmp_path) == []


def test_after_a_refusal_nothing_is_left(tmp_path):
    path = write(tmp_path / "a.txt", "the rain on the train " * 20)
    for more, said in (
        ({"vocabulary_size": 400}, r"words for 27\d: give at most that with --vocabulary"),
        ({"vocabulary_size": 265, "at_least": 500}, "at least 500 tokens to learn from, .*, got "),
    ):
        with pytest.raises(DataError, match=said):
            prepare(tmp_path / "new" / "p", [str(path)], **more)
        assert [found.name for found in tmp_path.iterdir()] == ["a.txt"]
    prepare(tmp_path / "p", [str(path)], vocabulary_size=265)
    with pytest.raises(DataError, match="or shorter windows with --length"):
        prepare(tmp_path / "p", [str(path)], vocabulary_size=265, at_least=500)
    assert (tmp_path / "p" / "tokens.bin").exists()  # of an earlier one, which was good


def test_a_vocabulary_without_its_corpus_is_not_taken_for_that_of_another(tmp_path):
    (tmp_path / "p").mkdir()
    write(tmp_path / "p" / "tokenizer.json", "half of something")
    path = write(tmp_path / "a.txt", "the rain on the train " * 20)
    assert prepare(tmp_path / "p", [str(path)], vocabulary_size=265).vocabulary_size == 265


def test_of_a_folder_only_what_people_wrote_is_read(tmp_path, capsys):
    write(tmp_path / "a.txt", "the rain on the train\n" * 60)
    label = TextFiles.of(tmp_path).label
    (tmp_path / "folder.txt").mkdir()
    for name in ("mine/log.txt", "mine/corpus/held_out.txt", "runs/x/held_out.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write(tmp_path / name, "what was held out of it\n")
    (tmp_path / ".ipynb_checkpoints").mkdir()
    for name in ("a-checkpoint", "b-checkpoint"):
        write(tmp_path / ".ipynb_checkpoints" / f"{name}.txt", "the rain on\n")
    (tmp_path / "gone.txt").symlink_to("nowhere")
    places = [tmp_path / "mine", tmp_path.parent, tmp_path]  # the latter two hold it themselves
    text_files = TextFiles.of(tmp_path, places)
    assert [*text_files.digests] == [tmp_path / "a.txt"] and text_files.label == label
    omissions = (line.replace(f"{tmp_path}/", "") for line in text_files.omissions())
    assert sorted(omissions) == [
        ".ipynb_checkpoints/a-checkpoint.txt and 1 more (hidden)",
        "gone.txt (not a regular file)",
        "mine/corpus/held_out.txt and 1 more (in the folder of this run)",
        "runs/x/held_out.txt (held out by a run)",
    ]
    prepare(tmp_path / "mine", [str(tmp_path)], vocabulary_size=265, places=[tmp_path / "runs"])
    said = capsys.readouterr().out
    assert f"left out of {tmp_path}: {tmp_path}/gone.txt (not a regular file)\n" in said
    assert f"{tmp_path}: 1 text, 300 words; too few to hold any out" in said
    alone = [*TextFiles.of(tmp_path / "mine" / "corpus" / "held_out.txt").digests]
    assert len(alone) == 1  # named by itself it is asked for
    with pytest.raises(DataError, match=r"got .*runs; left out: .*x/held_out.txt \(held out by"):
        training_articles([str(tmp_path / "runs")])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_or_a_socket_is_never_waited_for(tmp_path):
    write(tmp_path / "a.txt", "the rain on the train\n")
    os.mkfifo(tmp_path / "b.txt")
    with socket.socket(socket.AF_UNIX) as door:
        before = os.getcwd()
        os.chdir(tmp_path)  # the path of a socket may not be long
        try:
            door.bind("c.txt")
        finally:
            os.chdir(before)
    assert list(training_articles([str(tmp_path)])) == [" the rain on the train\n"]
    omissions = [*TextFiles.of(tmp_path).omissions()]
    assert omissions == [f"{tmp_path}/b.txt and 1 more (not a regular file)"]
    for name in ("b.txt", "c.txt", os.devnull):
        with pytest.raises(DataError, match="a text file or a folder .*, a socket or a device; wr"):
            training_articles([str(tmp_path / name)])


def test_a_text_that_is_given_twice_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "one.txt", "the rain on the train\n")
    write(tmp_path / "copy.txt", "the rain on the train\n")
    write(tmp_path / "other.txt", "the rain on the plain\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link.txt").symlink_to("../other.txt")
    absolute = str(tmp_path / "one.txt")
    for names, said in (
        (["one.txt", "one.txt"], "got one.txt twice"),
        (["one.txt", "./one.txt"], "got one.txt twice"),
        (["one.txt", absolute], f"but one.txt and {absolute} are the same"),
        (["one.txt", "copy.txt"], "but one.txt and copy.txt are the same"),
        (["other.txt", "folder"], "but other.txt and folder/link.txt are the same"),
        (["folder", "wikitext-2", "wikitext-2"], "got wikitext-2 twice"),
        (["."], "but copy.txt and one.txt are the same"),
    ):
        for ask in (training_articles, lambda names: prepare(tmp_path / "p", names)):
            with pytest.raises(DataError, match=f"expected each text once, {re.escape(said)}; lea"):
                ask(names)
    assert len(list(training_articles(["one.txt", "folder"]))) == 2


def test_a_text_that_is_gone_since_is_not_missed_and_another_one_is(tmp_path, capsys):
    path, folder = write(tmp_path / "a.txt", "the rain on the train " * 50), tmp_path / "p"
    kept = write(tmp_path / "b.txt", "the rain on the plain " * 50)
    first = prepare(folder, [str(path), str(kept)], vocabulary_size=270)
    made = (folder / "tokens.bin").read_bytes()
    path.unlink()
    capsys.readouterr()
    again = prepare(folder, [str(path), str(kept)], vocabulary_size=270)
    assert again.merges == first.merges and (folder / "tokens.bin").read_bytes() == made
    said = capsys.readouterr().out
    assert (
        said == f"{path} no longer exists; the run goes on with the tokens prepared in {folder}\n"
    )
    with pytest.raises(
        DataError, match="got '.*c.txt', and no such file .*p was made from a.txt, b.txt"
    ):
        prepare(folder, [str(tmp_path / "c.txt"), str(kept)], vocabulary_size=270)
    write(kept, "something else")
    with pytest.raises(ValueError, match="p was made from a.txt, b.txt .*: which has changed"):
        prepare(folder, [str(path), str(kept)], vocabulary_size=270)
    with pytest.raises(DataError, match="got '.*a.txt', and no such file is there$"):
        prepare(tmp_path / "q", [str(path)], vocabulary_size=270)  # nothing was prepared there


def test_one_process_at_a_time_prepares_a_folder_and_many_may_read_it(tmp_path):
    path, folder = write(tmp_path / "a.txt", "the rain on the train " * 50), tmp_path / "p"
    with files.locked(folder / corpus.LOCK, "in use"):
        with pytest.raises(BlockingIOError, match="one run at a time to prepare its corpus in "):
            prepare(folder, [str(path)], vocabulary_size=270)
        assert [found.name for found in folder.iterdir()] == [corpus.LOCK]
    prepare(folder, [str(path)], vocabulary_size=270)
    with files.locked(folder / corpus.LOCK, "in use"):
        prepare(folder, [str(path)], vocabulary_size=270)


@pytest.mark.parametrize("change", ["\r\n".join, "\n\n".join, lambda lines: "\n".join(lines) + " "])
def test_a_text_that_differs_in_line_ends_and_blanks_alone_is_the_same(tmp_path, change):
    lines = ["The rain fell on the trains.", "It fell and fell."]
    (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbf" + change(lines).encode())
    with pytest.raises(DataError, match="expected each text once, but .*a.txt and .*b.txt are the"):
        list(training_articles([str(tmp_path)]))
