import numpy as np
import pytest
import torch

from tlcourse.batching import (
    TokenFile,
    bucket_batches,
    encode_articles,
    generator_for,
    pad,
    write_tokens,
)
from tlcourse.bpe import EOS, UNK, Tokenizer


@pytest.fixture
def file(tmp_path) -> TokenFile:
    write_tokens(tmp_path / "tokens.bin", [range(100), [], range(100, 1000)])
    return TokenFile(tmp_path / "tokens.bin")


def test_token_file_holds_what_was_written(tmp_path):
    path = tmp_path / "tokens.bin"
    assert write_tokens(path, [[1, 65_535], [], [7]]) == 3
    assert np.fromfile(path, dtype="<u2").tolist() == [1, 65_535, 7]
    assert len(TokenFile(path)) == 3


@pytest.mark.parametrize(
    ("documents", "said"),
    [([[65_536]], "0 to 65535"), ([[-1]], "0 to 65535"), ([[]], "got none; use another corpus")],
)
def test_a_failed_write_leaves_the_old_file(tmp_path, documents, said):
    path = tmp_path / "tokens.bin"
    write_tokens(path, [[1, 2]])
    with pytest.raises(ValueError, match=said):
        write_tokens(path, documents)
    assert TokenFile(path).ids.tolist() == [1, 2]
    assert list(tmp_path.iterdir()) == [path]


def test_windows_are_slices_of_the_file_and_a_function_of_seed_and_step(file):
    batch = file.windows(5, batch_size=4, length=16, seed=3)
    assert (batch.shape, batch.dtype) == ((4, 16), torch.int64)
    assert (batch.diff(dim=1) == 1).all()  # the file counts up
    assert torch.equal(batch, file.windows(5, batch_size=4, length=16, seed=3))
    assert not torch.equal(batch, file.windows(6, batch_size=4, length=16, seed=3))
    assert not torch.equal(batch, file.windows(5, batch_size=4, length=16, seed=4))


def test_an_epoch_shows_every_window_once_and_the_next_another_order(file):
    per_epoch = (1000 - 16) // 16
    rows = torch.cat([file.windows(step, batch_size=1, length=16) for step in range(2 * per_epoch)])
    first, second = rows[:per_epoch], rows[per_epoch:]
    for epoch in (first, second):
        assert len(set(epoch.flatten().tolist())) == per_epoch * 16  # no token twice
    assert not torch.equal(first, second)


def test_the_batch_size_only_cuts_the_same_stream(file):
    one = torch.cat([file.windows(step, batch_size=2, length=16) for step in range(6)])
    assert torch.equal(
        one, torch.cat([file.windows(step, batch_size=4, length=16) for step in range(3)])
    )


def test_too_short_a_file_says_so(file):
    with pytest.raises(ValueError, match="at least 1200 tokens for windows of 600, got 1000"):
        file.windows(0, batch_size=1, length=600)


def test_pad():
    tokens, mask = pad([[7, 8, 9], [5]], pad_id=1)
    assert tokens.tolist() == [[7, 8, 9], [5, 1, 1]]
    assert mask.tolist() == [[True, True, True], [True, False, False]]
    for empty in ([], [[1], []]):
        with pytest.raises(ValueError, match="at least one token in every sequence"):
            pad(empty)


def test_buckets_hold_everything_once_with_little_padding():
    lengths = torch.randint(1, 50, (1000,), generator=generator_for(0)).tolist()
    batches = bucket_batches(lengths, 16, 1, 2)
    assert sorted(i for batch in batches for i in batch) == list(range(1000))
    padded = sum(max(lengths[i] for i in batch) * len(batch) for batch in batches)
    assert padded < 1.1 * sum(lengths)
    assert batches == bucket_batches(lengths, 16, 1, 2)
    assert batches != bucket_batches(lengths, 16, 1, 3)


def test_generators_depend_on_all_their_numbers_and_their_order():
    numbers = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 1), (2, 0, 0)]
    drawn = {torch.rand(2, generator=generator_for(*each)).numpy().tobytes() for each in numbers}
    assert len(drawn) == len(numbers)


def test_articles_become_ids_with_unk_and_eos():
    tokenizer = Tokenizer.train(["the rain on the trains"] * 2, 270)
    texts = ["the <unk> rain\n", "on <mask> trains"]
    for ids, text in zip(encode_articles(texts, tokenizer), texts, strict=True):
        assert ids == [*tokenizer.encode(text, allow_special=True), EOS]
    assert UNK in next(encode_articles(texts, tokenizer))
