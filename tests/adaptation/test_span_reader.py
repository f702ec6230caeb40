"""The reader of spans: places of characters, windows, the best legal span, what is refused."""

import itertools
import random

import pytest
import torch

from tests.adaptation.made import CPU, TOKENIZER, make
from tlcourse.adaptation import Recipe, SpanReader, adapt, best_span
from tlcourse.bpe import normalise

PARAGRAPHS = ["Who sang? The old town sang.", "  “Where” is the very\told town?  ", "When? Then…"]
PAIRS = [("Who ran ?", PARAGRAPHS[0]), ("Where ?", PARAGRAPHS[1]), ("When ?", PARAGRAPHS[2])]
GOLD = [("old town", 14), ("very\told", 17), None]


def reader(**options) -> SpanReader:
    body = make(causal=False).body
    torch.manual_seed(1)
    return SpanReader(body, TOKENIZER, **options)


@pytest.mark.parametrize("text", [*PARAGRAPHS, "naïve e\u0301t\u00e9 …", "½ m² – 東京", "a", " "])
def test_pieces_are_the_ids_with_their_characters(text: str) -> None:
    pieces = TOKENIZER.pieces(text)
    assert [number for number, _, _ in pieces] == TOKENIZER.encode(normalise(text))
    for number, start, end in pieces:
        inside = TOKENIZER.decode([number])
        if "\ufffd" not in inside and text.isascii():
            assert text[start:end] == inside.strip(), (number, start, end)
    covered = set().union(*(range(start, end) for _, start, end in pieces))
    assert covered >= {i for i, character in enumerate(text) if not character.isspace()}


def test_the_best_span_is_the_best_of_all_legal_ones() -> None:
    torch.manual_seed(0)
    for length, longest in itertools.product((1, 2, 9), (1, 3, 30)):
        first, last = torch.randn(2, length)
        legal = {
            (i, j): (first[i] + last[j]).item()
            for i in range(length)
            for j in range(i, min(length, i + longest))
        }
        begin, end, score = best_span(first, last, longest=longest)
        assert (begin, end) == max(legal, key=legal.__getitem__)
        assert score == pytest.approx(max(legal.values()))


@pytest.mark.parametrize(("stride", "paragraph"), [(64, PARAGRAPHS[0]), (5, "the town ran " * 30)])
def test_the_target_is_where_the_answer_stands(stride: int, paragraph: str) -> None:
    model = reader(stride=stride)
    draw = random.Random(0)
    for _ in range(30):
        start = draw.randrange(len(paragraph) - 8)
        answer = paragraph[start : start + draw.randint(1, 8)]
        if not answer.strip():
            continue
        start += len(answer) - len(answer.lstrip())
        answer = answer.strip()
        windows = model.windows([("Who ?", paragraph)])
        _, targets = model.examples([("Who ?", paragraph)], [(answer, start)])
        found = 0
        for window, (first, last) in zip(windows, targets.tolist(), strict=True):
            if first == len(window.ids) - 1:  # the classification token
                assert last == first
                continue
            begin, end = window.characters[first - window.first][0], window.characters[
                last - window.first
            ][1]  # fmt: skip
            assert begin <= start and end >= start + len(answer)
            assert answer in paragraph[begin:end]
            found += 1
        assert found or len(windows) > 1


def test_windows_overlap_and_cover_the_paragraph() -> None:
    model = reader(stride=7)
    paragraph = "the very old town " * 30
    windows = model.windows([("Who ?", paragraph)])
    assert all(len(window.ids) <= model.body.config.max_length for window in windows)
    covered = set().union(*(range(*place) for w in windows for place in w.characters))
    assert covered >= {i for i, character in enumerate(paragraph) if character != " "}
    assert windows[1].characters[0] == windows[0].characters[7]
    wide = reader(stride=1000).windows([("Who ?", paragraph)])  # no token is left out
    assert sum(len(window.characters) for window in wide) >= len(TOKENIZER.pieces(paragraph))


def test_it_learns_answers_and_that_there_is_none(tmp_path) -> None:
    start = reader(unanswerable=True)
    recipe = Recipe(epochs=150, learning_rate=3e-3, batch_size=3)
    model = adapt(start, PAIRS, GOLD, recipe=recipe, compute=CPU)
    answers = model.answers(PAIRS, compute=CPU)
    assert [answer.text for answer in answers] == ["old town", "very\told", ""]
    assert [answer.start for answer in answers[:2]] == [14, 17]
    assert answers[0].score > 0 > answers[2].score
    model.save(tmp_path / "reader")
    again = SpanReader.load(tmp_path / "reader", compute=CPU)
    assert again.predict(PAIRS, compute=CPU) == model.predict(PAIRS, compute=CPU)
    again.unanswerable = False
    assert all(again.predict(PAIRS, compute=CPU))


def test_answers_do_not_depend_on_the_batch() -> None:
    model = reader(stride=9)
    pairs = [*PAIRS, ("Who ?", "the very old town " * 9)]
    together = model.answers(pairs, compute=CPU)
    for pair, answer in zip(pairs, together, strict=True):
        (alone,) = model.answers([pair], compute=CPU, batch_size=1)
        assert alone[:2] == answer[:2] and alone.score == pytest.approx(answer.score, abs=1e-3)


@pytest.mark.parametrize(
    ("texts", "answers", "words"),
    [
        ([("Who ?",)], [None], "a question and a paragraph in row 0"),
        (["Who ?"], [None], "a question and a paragraph in row 0"),
        ([("Who ?", " ")], [None], "a question and a paragraph in row 0"),
        ([PAIRS[0]], [], "the answers to 1 questions, got 0"),
        ([PAIRS[0]], ["old town"], "an answer and its first character, or None, in row 0"),
        ([PAIRS[0]], [("old town", 13)], "expected 'old town' at character 13 .* got ' old tow'"),
    ],
)
def test_what_does_not_fit_is_named(texts: list, answers: list, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        reader().examples(texts, answers)


@pytest.mark.parametrize("option", ["stride", "longest_answer"])
def test_sizes_that_make_no_sense_are_named(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option}: expected a number of tokens"):
        reader(**{option: 0})
