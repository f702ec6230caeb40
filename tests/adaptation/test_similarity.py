"""Similarity of pairs and choice among candidates: orders, scales, candidates, what is refused."""

import pytest
import torch

from tests.adaptation.made import CPU, TEXTS, TOKENIZER, make
from tlcourse.adaptation import SCHEMES, BiEncoder, Chooser, Recipe, Similarity, adapt

PAIRS = [(TEXTS[0], TEXTS[3]), (TEXTS[0], TEXTS[1]), (TEXTS[2], TEXTS[2]), (TEXTS[1], TEXTS[2])]
SCORES = [4.0, 1.0, 5, 0.0]
QUESTIONS = [("Who ?", ["ran", "town", "old"]), ("Where ?", ["town", "sang", "ran"])] * 2
RIGHT = [0, 0, 0, 0]


def similarity(**options) -> Similarity:
    return Similarity(make().body, TOKENIZER, **options)


def chooser() -> Chooser:
    return Chooser(make().body, TOKENIZER)


def test_similarity_is_the_same_in_both_orders() -> None:
    model = similarity(low=0.0, high=5.0)
    swapped = [pair[::-1] for pair in PAIRS]
    assert model.predict(PAIRS, compute=CPU) == pytest.approx(model.predict(swapped, compute=CPU))
    sequences, targets = model.examples(PAIRS, SCORES)
    assert sequences[1] == model.encode(swapped)[0]
    assert targets.tolist() == pytest.approx([0.8, 0.8, 0.2, 0.2, 1, 1, 0, 0])


@pytest.mark.parametrize("scheme", ["full fine-tuning", "frozen body"])
def test_similarity_learns_the_scale_and_comes_back(scheme: str, tmp_path) -> None:
    recipe = Recipe(epochs=150, learning_rate=3e-3, batch_size=4)
    start = similarity(low=0.0, high=5.0)
    model = adapt(start, PAIRS, SCORES, scheme=SCHEMES[scheme], recipe=recipe, compute=CPU)
    losses = [record["loss"] for record in model.report.history]
    assert losses[-1] < losses[0]
    found = model.predict(PAIRS, compute=CPU)
    if scheme == "full fine-tuning":
        assert found == pytest.approx(SCORES, abs=0.5)
    model.save(tmp_path / "pairs")
    again = Similarity.load(tmp_path / "pairs", compute=CPU)
    assert (again.low, again.high, again.pooling) == (0.0, 5.0, "mean")
    assert again.predict(PAIRS, compute=CPU) == pytest.approx(found)


def bi_encoder(**options) -> BiEncoder:
    return BiEncoder(make().body, TOKENIZER, **options)


def test_an_untrained_bi_encoder_returns_cosines_of_mean_states() -> None:
    model = bi_encoder()
    found, means = model.predict(PAIRS, compute=CPU), []
    for text in [text for pair in PAIRS for text in pair]:
        ids = TOKENIZER.read(text)
        tokens = torch.tensor([model.frame.around(ids)])
        with torch.no_grad():
            means.append(model.body.hidden(tokens, torch.ones_like(tokens).bool())[0, : len(ids)])
    means = [each.mean(dim=0) for each in means]
    cosines = [
        (a @ b / a.norm() / b.norm()).item() for a, b in zip(means[::2], means[1::2], strict=True)
    ]
    assert found == pytest.approx([max(0.0, each) for each in cosines], abs=1e-5)
    assert found[2] == pytest.approx(1)  # of a text and itself
    swapped = [pair[::-1] for pair in PAIRS]
    assert model.predict(swapped, compute=CPU) == pytest.approx(found)


def test_an_embedding_does_not_depend_on_what_is_read_beside_it() -> None:
    model = bi_encoder()
    together = model.embed(TEXTS, compute=CPU, batch_size=3)
    alone = torch.cat([model.embed([text], compute=CPU) for text in TEXTS])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)
    assert together.norm(dim=1).tolist() == pytest.approx([1.0] * len(TEXTS))
    assert model.embed([], compute=CPU).shape == (0, together.shape[1])
    with pytest.raises(ValueError, match="text in row 1"):
        model.embed(["Who ?", ""], compute=CPU)


@pytest.mark.parametrize("scheme", ["full fine-tuning", "frozen body", "mix of layers"])
def test_a_bi_encoder_learns_and_comes_back(scheme: str, tmp_path) -> None:
    recipe = Recipe(epochs=150, learning_rate=3e-3, batch_size=4)
    start, scores = bi_encoder(high=5.0), [4.0, 1.0, 5, 2.0]
    model = adapt(start, PAIRS, scores, scheme=SCHEMES[scheme], recipe=recipe, compute=CPU)
    losses = [record["loss"] for record in model.report.history]
    assert losses[-1] < losses[0]
    found = model.predict(PAIRS, compute=CPU)
    if scheme == "full fine-tuning":
        assert found == pytest.approx(scores, abs=0.5)
    model.save(tmp_path / "vectors")
    again = BiEncoder.load(tmp_path / "vectors", compute=CPU)
    assert (again.low, again.high) == (0.0, 5.0)
    assert again.predict(PAIRS, compute=CPU) == pytest.approx(found)


def test_candidates_are_scored_alone() -> None:
    model = chooser().eval()
    first, second = model.probabilities([QUESTIONS[0], ("Who ?", ["town", "ran"])], compute=CPU)
    assert first.sum().item() == pytest.approx(1) and second.shape == (2,)
    assert (second[1] / second[0]).item() == pytest.approx((first[0] / first[1]).item(), rel=1e-4)
    sequences, _ = model.examples(QUESTIONS, RIGHT)
    tokens, mask = model.stack(sequences)
    assert tokens.shape == mask.shape == (4, 3, tokens.shape[2])
    scores = model(tokens, mask)
    torch.testing.assert_close(scores[0].softmax(0), first, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("scheme", ["full fine-tuning", "frozen body", "mix of layers"])
def test_a_choice_is_learnt_and_comes_back(scheme: str, tmp_path) -> None:
    recipe = Recipe(epochs=60, learning_rate=3e-3, batch_size=2)
    model = adapt(chooser(), QUESTIONS, RIGHT, scheme=SCHEMES[scheme], recipe=recipe, compute=CPU)
    if scheme == "full fine-tuning":
        assert model.predict(QUESTIONS, compute=CPU) == RIGHT
    model.save(tmp_path / "choice")
    again = Chooser.load(tmp_path / "choice", compute=CPU)
    assert again.predict(QUESTIONS, compute=CPU) == model.predict(QUESTIONS, compute=CPU)


@pytest.mark.parametrize(
    ("texts", "scores", "words"),
    [
        (PAIRS[:1], [6.0], "a number from 0.0 to 5.0 in row 0, got 6.0"),
        (PAIRS[:1], ["4"], "a number from 0.0 to 5.0 in row 0"),
        (PAIRS[:1], [float("nan")], "a number from 0.0 to 5.0 in row 0"),
        ([PAIRS[0], "Who ?"], [1.0, 2.0], "a pair of texts in row 1"),
        ([PAIRS[0], ("Who ?", "")], [1.0, 2.0], "text in row 1"),
    ],
)
def test_what_does_not_fit_similarity_is_named(texts: list, scores: list, words: str) -> None:
    for model in (similarity(high=5.0), bi_encoder(high=5.0)):
        with pytest.raises(ValueError, match=words):
            model.examples(texts, scores)


@pytest.mark.parametrize(
    ("texts", "numbers", "words"),
    [
        ([("Who ?", ["ran"])], [0], "at least two candidates in row 0"),
        ([("Who ?", "ran")], [0], "at least two candidates in row 0"),
        (["Who ?"], [0], "at least two candidates in row 0"),
        ([("Who ?", ["ran", ""])], [0], "question 0: expected text in row 1"),
        ([QUESTIONS[0], ("Who ?", ["ran", "old"])], [0, 0], r"every question, got \[2, 3\]"),
        (QUESTIONS[:1], [3], "the number of a candidate, 0 to 2, in row 0, got 3"),
        (QUESTIONS[:1], ["ran"], "the number of a candidate"),
    ],
)
def test_what_does_not_fit_a_choice_is_named(texts: list, numbers: list, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        chooser().examples(texts, numbers)


def test_a_scale_must_have_two_ends() -> None:
    for model in (similarity, bi_encoder):
        with pytest.raises(ValueError, match="low number below the high one, got 1 and 1"):
            model(low=1, high=1)
