import math
from collections import Counter

import numpy as np
import pytest
import torch

from tlcourse.batching import (
    Mixture,
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


def mixture(tmp_path, weights: dict[str, float], lengths: tuple[int, ...] = ()) -> Mixture:
    """Files of 400, 800, ... tokens, or of those lengths; the ids of file i begin at 10,000 i."""
    files = {}
    for i, name in enumerate(weights):
        length = lengths[i] if lengths else 400 * (i + 1)
        write_tokens(tmp_path / name, [range(10_000 * i, 10_000 * i + length)])
        files[name] = TokenFile(tmp_path / name)
    return Mixture(files, weights)


@pytest.mark.parametrize(
    "weights",
    [
        {"a": 1.0},
        {"a": 3, "b": 1},
        {"a": 0.6, "b": 0.3, "c": 0.1},
        {"a": 0.6, "b": 0.22, "c": 0.08, "d": 0.08, "e": 0.03},  # GPT-3's, which sum to 1.01
        {"a": 1, "b": math.pi, "c": 0.02},
        {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3},
    ],
)
def test_the_shares_of_a_mixture_are_exact_after_each_block(tmp_path, weights):
    mixed, total, counts = mixture(tmp_path, weights), sum(weights.values()), Counter()
    assert len(mixed) == sum(400 * (i + 1) for i in range(len(weights)))
    assert sum(mixed.shares.values()) == pytest.approx(1)
    rows = 0
    while rows < 3000:
        for _ in range(mixed.block):
            name, number = mixed.source(rows)
            assert number == counts[name]  # its rows come in its own order, and none is left out
            counts[name] += 1
            rows += 1
        for name, weight in weights.items():
            assert abs(counts[name] - rows * weight / total) < 1 + 1e-9
    for name, weight in weights.items():
        assert counts[name] / rows == pytest.approx(weight / total, abs=1e-3)


def test_exact_shares_stay_exact(tmp_path):
    mixed = mixture(tmp_path, {"a": 0.6, "b": 0.3, "c": 0.1})
    assert mixed.block == 20
    for block in (0, 1, 7, 10**7):
        owners = Counter(mixed.source(20 * block + place)[0] for place in range(20))
        assert owners == {"a": 12, "b": 6, "c": 2}


def test_a_file_in_a_mixture_gives_the_rows_that_it_gives_alone(tmp_path):
    mixed = mixture(tmp_path, {"a": 3, "b": 1})
    rows = torch.cat([mixed.windows(step, batch_size=5, length=16, seed=4) for step in range(40)])
    assert rows.dtype == torch.int64 and rows.shape == (200, 16)
    for i, (name, count) in enumerate((("a", 150), ("b", 50))):
        own = rows[rows[:, 0] // 10_000 == i]
        assert torch.equal(own, mixed.files[name].windows(0, batch_size=count, length=16, seed=4))


def test_no_window_comes_back_before_its_file_s_epoch_ends(tmp_path):
    mixed = mixture(tmp_path, {"a": 3, "b": 1})  # a has 24 windows of 16 tokens, b has 49
    rows = torch.cat([mixed.windows(step, batch_size=4, length=16) for step in range(50)])
    for i, per_epoch in ((0, 24), (1, 49)):
        starts = rows[rows[:, 0] // 10_000 == i][:, 0].tolist()
        epochs = [starts[k : k + per_epoch] for k in range(0, len(starts), per_epoch)]
        assert all(len({*epoch}) == len(epoch) for epoch in epochs)
    epochs = mixed.epochs(200, length=16)
    assert epochs == pytest.approx({"a": 150 / 24, "b": 50 / 49})


def test_a_mixture_is_a_function_of_seed_and_step(tmp_path):
    mixed = mixture(tmp_path, {"a": 2, "b": 1})
    more = {"batch_size": 8, "length": 16}
    batch = mixed.windows(5, seed=3, **more)
    mixed.windows(77, seed=3, **more)
    assert torch.equal(batch, mixed.windows(5, seed=3, **more))
    assert torch.equal(batch, mixture(tmp_path, {"a": 4, "b": 2}).windows(5, seed=3, **more))
    for step, seed in ((6, 3), (5, 4)):
        assert not torch.equal(batch, mixed.windows(step, seed=seed, **more))
    halves = [mixed.windows(step, batch_size=4, length=16, seed=3) for step in (10, 11)]
    assert torch.equal(batch, torch.cat(halves))  # the batch size only cuts the same stream


def test_whose_a_row_is_does_not_follow_a_pattern(tmp_path):
    mixed = mixture(tmp_path, {"a": 1, "b": 1})
    assert mixed.block == 4
    owners = "".join(mixed.source(row)[0] for row in range(4000))
    blocks = Counter(owners[k : k + 4] for k in range(0, 4000, 4))
    assert len(blocks) == 6  # every order of two a and two b
    assert max(blocks.values()) < 1.4 * min(blocks.values())
    assert owners != "".join(mixed.source(row, seed=1)[0] for row in range(4000))


def test_mixtures_of_one_text_with_other_shares_are_told_apart(tmp_path):
    digests = [
        mixture(tmp_path, weights).digest()
        for weights in ({"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 2, "b": 1}, {"a": 1, "c": 1})
    ]
    assert digests[0] == digests[1] and len({*digests}) == 3


def test_weights_that_do_not_fit_are_refused(tmp_path, file):
    for files, weights in (({}, {}), ({"a": file}, {}), ({"a": file}, {"a": 1, "b": 1})):
        with pytest.raises(ValueError, match="a weight for each of the files"):
            Mixture(files, weights)
    for weight in (0, -1, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"positive and finite, got \{'b': "):
            Mixture({"a": file, "b": file}, {"a": 1, "b": weight})
    with pytest.raises(ValueError, match=r"one row in 1,000,000 .* a share of 1.0e-07 for b"):
        Mixture({"a": file, "b": file}, {"a": 1, "b": 1e-7})
    mixed = mixture(tmp_path, {"a": 1, "short": 1}, (400, 30))
    with pytest.raises(ValueError, match="short: expected at least 32 tokens for windows of 16"):
        mixed.windows(0, batch_size=4, length=16)


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
