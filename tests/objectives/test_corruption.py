"""Corruptions: shares and lengths by formula, and what each leaves intact."""

from collections import Counter

import pytest
import torch

from tlcourse import objectives
from tlcourse.batching import generator_for
from tlcourse.bpe import EOS, MASK, SPECIALS, Tokenizer

FIRST = len(SPECIALS)


def numbered(length: int, rows: int = 1) -> torch.Tensor:
    """Windows in which no id repeats, so that each token can be told from the others."""
    return torch.arange(FIRST, FIRST + rows * length).view(rows, length)


def rows_of(length: int, count: int) -> list[tuple[torch.Tensor, torch.Generator]]:
    return [(numbered(length)[0], generator_for(number, 1)) for number in range(count)]


def test_static_masks_come_back_with_the_window_and_differ_between_windows():
    tokens = torch.randint(FIRST, 60, (8, 40), generator=generator_for(1))
    corrupted, chosen = objectives.static_masks(tokens, 60)
    order = torch.tensor([3, 1, 7, 0, 2, 6, 5, 4])
    again = objectives.static_masks(tokens[order], 60)
    assert torch.equal(again[0], corrupted[order]) and torch.equal(again[1], chosen[order])
    assert len({tuple(row.tolist()) for row in chosen}) == 8
    other = objectives.static_masks(tokens, 60, seed=1)[1]
    assert not torch.equal(other, chosen)


def test_static_masks_are_15_percent_80_10_10():
    tokens = torch.randint(FIRST, 2000, (300, 300), generator=generator_for(1))
    corrupted, chosen = objectives.static_masks(tokens, 2000)
    assert chosen.float().mean().item() == pytest.approx(0.15, abs=0.004)
    assert (corrupted[chosen] == MASK).float().mean().item() == pytest.approx(0.8, abs=0.01)


def test_whole_words_are_hidden_together_or_not_at_all():
    begins_word = torch.arange(60) % 3 == 0
    tokens = torch.randint(0, 60, (400, 50), generator=generator_for(1))
    corrupted, chosen = objectives.mask_words(tokens, generator_for(2), begins_word)
    for row, hidden in zip(tokens.tolist(), chosen.tolist(), strict=True):
        for here in range(1, 50):
            joined = not begins_word[row[here]] and row[here] >= FIRST and row[here - 1] >= FIRST
            assert not joined or hidden[here] == hidden[here - 1]
    assert not chosen[tokens < FIRST].any()
    assert chosen[tokens >= FIRST].float().mean().item() == pytest.approx(0.15, abs=0.01)
    assert torch.equal(corrupted[~chosen], tokens[~chosen])
    assert (corrupted[chosen] == MASK).float().mean().item() == pytest.approx(0.8, abs=0.02)


def test_words_begin_with_white_space_and_sentences_end_with_a_stop():
    tokenizer = Tokenizer.train(["the rain. the rain! the rain? so"] * 3, vocabulary_size=272)
    starts, ends = objectives.word_starts(tokenizer), objectives.sentence_ends(tokenizer)
    assert len(starts) == len(ends) == tokenizer.vocabulary_size
    ids = tokenizer.encode(" the rain. the rain!")
    words = "".join("|" * starts[i] + tokenizer.decode([i]).strip() for i in ids)
    assert words == "|the|rain.|the|rain!"
    assert [tokenizer.decode([i]) for i in ids if ends[i]] == [".", "!"]


def runs_of(chosen: torch.Tensor) -> list[int]:
    """The lengths of the runs of True in a row, except those at its ends."""
    text = "".join("x" if hidden else " " for hidden in chosen.tolist())
    return [len(run) for run in text[1:-1].split()]


def test_spans_begin_anywhere():
    tokens = torch.full((3000, 200), FIRST)
    chosen = objectives.mask_spans(tokens, generator_for(2), 60, probability=0.005, longest=1)[1]
    assert (chosen.sum(dim=1) == 1).all()
    shares = chosen.float().mean(dim=0)
    assert shares.min() > 0 and shares.max() < 2.5 / 200


def test_spans_are_3_8_tokens_long_on_average():
    weights = [0.2 * 0.8 ** (k - 1) for k in range(1, 11)]
    expected = sum(k * w for k, w in enumerate(weights, 1)) / sum(weights)
    assert expected == pytest.approx(3.8, abs=0.01)  # as the paper says
    tokens = torch.full((60, 20_000), FIRST)
    chosen = objectives.mask_spans(tokens, generator_for(1), 60, probability=0.02)[1]
    lengths = [length for row in chosen for length in runs_of(row)]
    # Few spans touch each other at 2 %, so runs are spans, and a little longer.
    assert sum(lengths) / len(lengths) == pytest.approx(expected, rel=0.05)
    counts = Counter(lengths)
    assert counts[1] / counts[3] == pytest.approx(1 / 0.8**2, rel=0.12)


def test_span_masks_are_an_exact_share_and_treat_a_span_alike():
    tokens = torch.randint(FIRST, 5000, (300, 100), generator=generator_for(1))
    corrupted, chosen = objectives.mask_spans(tokens, generator_for(2), 5000)
    assert (chosen.sum(dim=1) == 15).all()
    masked = (corrupted == MASK) & chosen
    neighbours = chosen[:, 1:] & chosen[:, :-1]
    assert torch.equal(masked[:, 1:][neighbours], masked[:, :-1][neighbours])
    assert masked.sum() / chosen.sum() == pytest.approx(0.8, abs=0.03)
    assert torch.equal(corrupted[~chosen], tokens[~chosen])


def test_spans_stop_before_special_tokens():
    tokens = torch.full((200, 60), FIRST)
    tokens[:, ::7] = EOS
    chosen = objectives.mask_spans(tokens, generator_for(1), 60, probability=0.5)[1]
    assert not chosen[tokens == EOS].any()
    assert (chosen.sum(dim=1) == round(0.5 * int((tokens[0] != EOS).sum()))).all()


def test_mass_hides_one_contiguous_half():
    tokens = torch.randint(FIRST, 2000, (900, 31), generator=generator_for(1))
    corrupted, chosen = objectives.mask_half(tokens, generator_for(2), 2000)
    starts = chosen.int().argmax(dim=1)
    for row, start in zip(chosen, starts.tolist(), strict=True):
        assert row.nonzero().flatten().tolist() == list(range(start, start + 15))
    assert set(starts.tolist()) == set(range(17))  # every beginning that leaves room
    assert (corrupted[chosen] == MASK).float().mean().item() == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("length", [2, 3, 17, 128, 512])
@pytest.mark.parametrize("probability", [0.15, 0.5])
def test_span_corruption_reassembles_to_the_text(length: int, probability: float):
    tokens = torch.randint(FIRST, 60, (12, length), generator=generator_for(1))
    source, target = objectives.corrupt_spans(tokens, generator_for(2), 60, probability=probability)
    hidden, spans = objectives.span_counts(length, probability=probability)
    assert source.shape == (12, length - hidden + spans)
    assert target.shape == (12, hidden + spans + 1)
    for row, kept, written in zip(tokens, source.tolist(), target.tolist(), strict=True):
        sentinels = [token for token in kept if token >= 60]
        assert sentinels == list(range(60, 60 + spans))  # in order, none repeats
        assert [token for token in written if token >= 60] == [*sentinels, 60 + spans]
        places = [written.index(sentinel) for sentinel in [*sentinels, 60 + spans]]
        whole = []
        for token in kept:
            number = token - 60
            whole += [token] if number < 0 else written[places[number] + 1 : places[number + 1]]
        assert whole == row.tolist()


def test_span_corruption_is_15_percent_in_spans_of_3():
    assert objectives.span_counts(512) == (77, 26)  # T5's own: inputs of 461, targets of 104
    assert objectives.span_counts(128) == (19, 6)
    with pytest.raises(ValueError, match="expected at least 2 tokens"):
        objectives.span_counts(1)


def test_span_lengths_are_uniform_divisions():
    tokens = numbered(10).repeat(20_000, 1)
    source, _ = objectives.corrupt_spans(
        tokens, generator_for(1), 60, probability=0.4, mean_length=2
    )
    # 4 hidden tokens in 2 spans: 1 + 3, 2 + 2 or 3 + 1, each as probable as the others.
    ids = source.tolist()
    lengths = Counter()
    for row in ids:
        place = row.index(60)
        after = row[place + 1]
        lengths[after - row[place - 1] - 1] += 1
    assert set(lengths) == {1, 2, 3}
    assert [count / 20_000 for count in lengths.values()] == pytest.approx([1 / 3] * 3, abs=0.02)


def test_token_masking_keeps_the_places():
    for row, generator in rows_of(40, 50):
        noisy = objectives.hide_tokens(row, generator, probability=0.3)
        assert ((noisy == row) | (noisy == MASK)).all()
    noisy = objectives.hide_tokens(torch.full((50_000,), FIRST), generator_for(1), probability=0.3)
    assert (noisy == MASK).float().mean().item() == pytest.approx(0.3, abs=0.01)


def test_token_deletion_keeps_the_order_and_at_least_one_token():
    total = 0
    for row, generator in rows_of(40, 500):
        left = objectives.delete_tokens(row, generator, probability=0.3).tolist()
        assert left == sorted(left) and set(left) <= set(row.tolist())
        total += len(left)
    assert total / (40 * 500) == pytest.approx(0.7, abs=0.02)
    for row, generator in rows_of(5, 20):
        assert len(objectives.delete_tokens(row, generator, probability=1.0)) == 1


def test_infilling_hides_an_exact_share_in_spans_of_unknown_length():
    hidden, spans = round(0.3 * 100), 0
    for row, generator in rows_of(100, 400):
        filled = objectives.infill(row, generator)
        kept = filled[filled != MASK].tolist()
        masks = len(filled) - len(kept)
        assert kept == sorted(kept) and len(kept) == 100 - hidden
        assert len(filled) == 100 - hidden + masks <= 100
        spans += masks
    # 30 / 3 spans would just fill the budget; the last, which is cut, adds some.
    assert 10 < spans / 400 < 11


def test_infilling_inserts_masks_where_nothing_is_missing():
    inserted = 0
    for row, generator in rows_of(100, 400):
        filled = objectives.infill(row, generator).tolist()
        for before, here, after in zip(filled, filled[1:], filled[2:], strict=False):
            inserted += here == MASK and MASK not in (before, after) and after == before + 1
    assert 100 < inserted < 400 * 11 * 0.1  # e^-3 = 5 % of the spans have length 0


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_infilling_of_short_texts_is_never_longer(length: int):
    for row, generator in rows_of(length, 300):
        for probability in (0.1, 0.5, 1.0):
            filled = objectives.infill(row, generator, probability=probability)
            hidden = round(probability * length)
            assert (filled != MASK).sum() == length - hidden
            assert len(filled) <= length


def test_permuted_sentences_are_the_sentences():
    ends = torch.zeros(60, dtype=torch.bool)
    ends[[10, 20]] = True
    row = torch.tensor([7, 8, 10, 9, 20, 10, 30, 31, 32])
    sentences = [(7, 8, 10), (9, 20), (10,), (30, 31, 32)]
    orders = set()
    for number in range(300):
        ids = objectives.permute_sentences(row, generator_for(number, 1), ends).tolist()
        found, order = ids, []
        while found:
            place = next(i for i, s in enumerate(sentences) if tuple(found[: len(s)]) == s)
            order.append(place)
            found = found[len(sentences[place]) :]
        assert sorted(order) == [0, 1, 2, 3]
        orders.add(tuple(order))
    assert len(orders) == 24  # all of 4!
    assert torch.equal(objectives.permute_sentences(row[:2], generator_for(1), ends), row[:2])


def test_a_rotated_text_turns_back():
    beginnings = set()
    for row, generator in rows_of(12, 200):
        rotated = objectives.rotate_text(row, generator)
        beginnings.add(int(rotated[0]))
        back = rotated.roll(int(rotated[0]) - FIRST)
        assert torch.equal(back, row)
    assert beginnings == set(numbered(12)[0].tolist())


@pytest.mark.parametrize("distance", [0, 1, 3])
def test_a_local_shuffle_moves_no_token_far(distance: int):
    farthest = 0
    for row, generator in rows_of(40, 200):
        shuffled = objectives.shuffle_locally(row, generator, distance=distance)
        assert torch.equal(shuffled.sort().values, row)
        farthest = max(farthest, int((shuffled - row).abs().max()))
    assert farthest == distance


@pytest.mark.parametrize(
    "corrupt",
    [
        lambda tokens, generator: objectives.mask_spans(tokens, generator, 60),
        lambda tokens, generator: objectives.mask_half(tokens, generator, 60),
        lambda tokens, generator: objectives.mask_words(
            tokens, generator, torch.ones(60, dtype=torch.bool)
        ),
        lambda tokens, generator: objectives.corrupt_spans(tokens, generator, 60),
        lambda tokens, generator: (objectives.infill(tokens[0], generator),),
        lambda tokens, generator: (objectives.shuffle_locally(tokens[0], generator),),
    ],
)
def test_corruptions_are_functions_of_their_arguments(corrupt):
    tokens = torch.randint(FIRST, 60, (4, 30), generator=generator_for(1))
    before = tokens.clone()
    one, two = (corrupt(tokens, generator_for(2)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    assert torch.equal(tokens, before)
