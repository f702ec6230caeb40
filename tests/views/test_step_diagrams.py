import inspect

import pytest

from tests.views.drawn import SAID, nothing_overlaps, said
from tlcourse.exercises.pretraining.chunked_loss import chunked_loss
from tlcourse.views import interrupted_run, logits_in_chunks


@pytest.mark.parametrize(
    ("targets", "chunk", "sizes"),
    [
        (8192, 1024, ("256 MiB", "32 MiB", "8 chunks")),
        (2048, 256, ("64 MiB", "8 MiB", "8 chunks")),
        (1000, 300, ("31 MiB", "9.4 MiB", "4 chunks")),
        (64, 32, ("2 MiB", "1 MiB", "2 chunks")),
    ],
)
def test_a_chunk_and_all_logits_have_their_sizes(targets, chunk, sizes):
    picture = logits_in_chunks(targets, 8192, 128, chunk=chunk, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    assert all(size in written for size in sizes), written
    assert f"{targets:,}" in written and f"{chunk:,} rows of 128" in written


def test_what_a_chunk_leaves_has_the_names_of_the_exercise():
    written = said(logits_in_chunks(40, 50, 4, chunk=8, **SAID))
    code = inspect.getsource(chunked_loss)
    for name in ("nats", "d_hidden", "d_weight", "hidden", "logits"):
        assert name in written and name in code


def test_a_chunk_is_at_most_half_of_the_targets():
    with pytest.raises(ValueError, match="a chunk of 1 to 4 targets, got 5"):
        logits_in_chunks(8, 10, 4, chunk=5, **SAID)


@pytest.mark.parametrize(("steps", "cut"), [(10, 6), (10, 1), (10, 9), (4, 2), (2, 1)])
def test_the_second_run_goes_on_where_the_first_was_cut(steps, cut):
    picture = interrupted_run(steps, cut, **SAID)
    nothing_overlaps(picture)
    numbers = [int(text) for text in said(picture) if text.isdigit()]
    assert sorted(numbers) == sorted([*range(cut + 1), *range(cut, steps)])
    assert f"saved: weights, optimizers, step {cut}" in said(picture)


def test_the_cut_is_inside_the_run():
    for cut in (0, 4):
        with pytest.raises(ValueError, match="expected a step from 1 to 3"):
            interrupted_run(4, cut, **SAID)


def test_without_an_alt_text_the_pictures_say_what_they_show():
    assert "8 by 10 logits" in logits_in_chunks(8, 10, 4, chunk=2, title="The finding.").alt
    assert "goes down in step 6" in interrupted_run(10, 6, title="The finding.").alt
    with pytest.raises(ValueError, match="title"):
        interrupted_run(10, 6)
