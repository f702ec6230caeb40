import json
from functools import cache

import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.bpe.library import sample_lines, trained
from tests.bpe.test_text import HARD
from tlcourse.bpe import EOS, SPECIALS, Tokenizer

ANY_TEXT = st.text() | st.text(alphabet="<>/eosunkpad ")
KNOWN_TEXT = st.text(st.characters(exclude_categories=("Cs", "Cn")))  # known to every Unicode table


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.train(sample_lines(), 1_500)


@settings(deadline=None)
@given(ANY_TEXT)
@example(HARD)
@example("".join(SPECIALS))
def test_any_text_comes_back(text):
    assert tokenizer().decode(tokenizer().encode(text)) == text
    assert tokenizer().decode(tokenizer().encode(text, allow_special=True)) == text


@settings(deadline=None)
@given(KNOWN_TEXT)
@example(HARD)
@example("<eos>")
def test_encodes_as_the_library_does(text):
    assert tokenizer().encode(text) == library().encode(text).ids


@cache
def library() -> tokenizers.Tokenizer:
    """Trained by the library itself, not converted from ours."""
    theirs = trained(sample_lines(), 1_500)
    theirs.encode_special_tokens = True
    return theirs


def test_the_earliest_merge_comes_first_not_the_leftmost_or_the_longest():
    ids = {symbol: number for number, symbol in enumerate(tokenizer().strings)}
    a, b, c, d = (ids[letter] for letter in "abcd")
    small = Tokenizer([((b, c), 262), ((a, b), 263), ((263, c), 264), ((c, d), 265)])
    assert small.encode("abcd") == [a, 262, d]
    assert small.encode("abd") == [263, d]


@settings(deadline=None)
@given(ANY_TEXT)
@example("x<eos><mask>y")
def test_typed_special_tokens_are_ordinary_text(text):
    assert not set(tokenizer().encode(text)) & set(tokenizer().special_ids.values())


def test_special_tokens_when_allowed():
    ids = tokenizer().encode("a<eos><pad>b", allow_special=True)
    assert [i for i in ids if i < 6] == [5, 0]
    assert tokenizer().tokens(ids) == ["a", "<eos>", "<pad>", "b"]
    assert tokenizer().special_ids == dict(zip(SPECIALS, range(6), strict=True))


def test_half_a_character_is_shown_as_replacement():
    euro = tokenizer().encode("€")
    assert tokenizer().decode(euro[:-1]) == "\ufffd"
    assert tokenizer().decode(euro) == "€"


@pytest.mark.parametrize("unknown", [-1, 1_500])
def test_unknown_ids_are_errors(unknown):
    with pytest.raises(ValueError, match=f"expected ids from 0 to 1499, got {unknown}"):
        tokenizer().decode([unknown])


def test_half_a_surrogate_pair_is_an_error():
    with pytest.raises(ValueError, match="surrogates"):
        tokenizer().encode("\ud83d")


def test_without_merges_a_token_is_a_byte():
    bare = Tokenizer.train([], 300)
    assert bare.vocabulary_size == 262
    assert len(bare.encode("½ m²")) == len("½ m²".encode())
    assert bare.decode(bare.encode(HARD)) == HARD


def test_the_library_loads_what_we_save(tmp_path):
    tokenizer().save(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert theirs.get_vocab() == library().get_vocab()
    assert theirs.encode(HARD).ids == tokenizer().encode(HARD)
    assert theirs.decode(theirs.encode(HARD).ids, skip_special_tokens=False) == HARD
    # Its default parses special tokens that a user types; the setting is not kept in the file.
    assert theirs.encode("<eos>").ids == [EOS]
    theirs.encode_special_tokens = True
    assert theirs.encode("<eos>").ids == tokenizer().encode("<eos>")


def test_we_load_what_the_library_saves_and_what_we_do(tmp_path):
    path = tmp_path / "tokenizer.json"
    for saved in (library(), tokenizer()):
        saved.save(str(path))
        again = Tokenizer.load(path)
        assert (again.merges, again.strings) == (tokenizer().merges, tokenizer().strings)


UNIGRAM = tokenizers.models.Unigram([("a", -1.0)])
CHARACTERS = tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])


def saved(model: tokenizers.models.Model) -> str:
    return tokenizers.Tokenizer(model).to_str()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (saved(UNIGRAM), "Unigram"),
        (saved(CHARACTERS), "BPE"),
        ("{}", "no"),
        ("[]", "no"),
        ("x", "no"),
    ],
    ids=["unigram", "characters", "empty", "list", "not JSON"],
)
def test_another_kind_of_file_is_an_error(tmp_path, content, kind):
    path = tmp_path / "tokenizer.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=f"expected a byte-level BPE tokenizer .* got {kind}"):
        Tokenizer.load(path)


def test_a_file_that_was_tampered_with_is_an_error(tmp_path):
    tokenizer().save(tmp_path / "tokenizer.json")
    saved = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    del saved["model"]["merges"][7]
    (tmp_path / "tokenizer.json").write_text(json.dumps(saved), encoding="utf-8")
    with pytest.raises(ValueError, match="expected a byte-level BPE tokenizer"):
        Tokenizer.load(tmp_path / "tokenizer.json")
