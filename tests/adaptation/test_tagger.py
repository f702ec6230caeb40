"""The tagger: words and pieces, what it learns, what it refuses."""

import pytest
import torch
from torch.nn import functional as F

from tests.adaptation.made import CPU, TOKENIZER, make
from tlcourse.adaptation import SCHEMES, Recipe, Tagger, adapt
from tlcourse.adaptation.tagger import IGNORED
from tlcourse.bpe import CLS, normalise

TAGS = ["O", "B-PER", "I-PER"]
SENTENCES = [["Who", "ran", "?"], ["Where", "is", "the", "very", "old", "town", "?"], ["When", "?"]]
GOLD = [["B-PER", "I-PER", "O"], ["O", "O", "O", "B-PER", "I-PER", "I-PER", "O"], ["B-PER", "O"]]


def tagger(tags=TAGS, **shape) -> Tagger:
    body = make(**shape).body
    torch.manual_seed(1)
    return Tagger(body, TOKENIZER, tags)


def test_a_word_is_labelled_at_its_first_piece() -> None:
    model = tagger()
    sequences, targets = model.examples(SENTENCES, GOLD)
    for sentence, gold, ids, target in zip(SENTENCES, GOLD, sequences, targets, strict=True):
        pieces = [TOKENIZER.encode(normalise(word)) for word in sentence]
        assert ids == [*sum(pieces, []), CLS]
        labelled = sum(([TAGS.index(tag)] + [IGNORED] * (len(p) - 1) for p, tag in
                        zip(pieces, gold, strict=True)), [])  # fmt: skip
        assert target[: len(ids)].tolist() == [*labelled, IGNORED]
        assert set(target[len(ids) :].tolist()) <= {IGNORED}
    text = " ".join(SENTENCES[1])  # cut word by word or as a text: the same ids
    assert sequences[1] == [*TOKENIZER.encode(normalise(text)), CLS]


def test_the_loss_is_the_mean_over_words() -> None:
    model = tagger().eval()
    sequences, targets = model.examples(SENTENCES, GOLD)
    nats, count = model.loss(model(*model.stack(sequences)), targets)
    alone = []
    for ids, target in zip(sequences, targets, strict=True):
        scores = model(*model.stack([ids]))[0]
        alone += [F.cross_entropy(scores[i], target[i]) for i in range(len(ids)) if target[i] >= 0]
    assert count == len(alone) == sum(map(len, GOLD))
    torch.testing.assert_close(nats, torch.stack(alone).sum(), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("scheme", ["full fine-tuning", "LoRA", "frozen body", "mix of layers"])
def test_it_learns_by_every_kind_of_scheme(scheme: str, tmp_path) -> None:
    recipe = Recipe(epochs=80, learning_rate=3e-3, batch_size=3)
    start = tagger(causal=False)
    model = adapt(start, SENTENCES, GOLD, scheme=SCHEMES[scheme], recipe=recipe, compute=CPU)
    losses = [record["loss"] for record in model.report.history]
    assert losses[-1] < 0.8 * losses[0]
    if scheme == "full fine-tuning":
        assert model.predict(SENTENCES, compute=CPU) == GOLD
    model.save(tmp_path / "tagger")
    again = Tagger.load(tmp_path / "tagger", compute=CPU)
    assert again.tags == TAGS and again.scheme == model.scheme
    for one, other in zip(
        *(m.probabilities(SENTENCES, compute=CPU) for m in (model, again)), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_a_long_sentence_is_read_in_parts_and_every_word_gets_a_tag() -> None:
    model = tagger()
    long = SENTENCES[1] * 20
    parts = model.align(long)
    assert len(parts) > 1 and all(len(ids) <= model.body.config.max_length for ids, _ in parts)
    assert sum(len(places) for _, places in parts) == len(long)
    first, second = model.predict([long, SENTENCES[0]], compute=CPU)
    assert len(first) == len(long) and second == model.predict(SENTENCES[:1], compute=CPU)[0]
    assert len(model.predict([["\u200b" * 3, "ran", "W" * 500]], compute=CPU)[0]) == 3


def test_predictions_are_bio_only_where_the_tags_are() -> None:
    for tags, expected in ((["O", "I-PER"], "B-PER"), (["NOUN", "I-"], "I-")):
        model = tagger(tags)
        model.head.weight.data.zero_()
        model.head.bias.data = torch.tensor([0.0, 5.0])
        assert model.predict([["ran"]], compute=CPU) == [[expected]]
    assert tagger().predict([], compute=CPU) == []


@pytest.mark.parametrize(
    ("texts", "tags", "words"),
    [
        (["Who ran"], [["O"]], "a list of words in row 0, got 'Who ran'"),
        ([["Who"], []], [["O"], []], "a list of words in row 1"),
        ([["Who", " "]], [["O", "O"]], "a list of words in row 0"),
        ([["Who", "ran"]], [["O"]], "expected 2 tags in row 0, one a word"),
        ([["Who"]], [["B-LOC"]], "got 'B-LOC' in row 0"),
        ([["Who"]], [], "the tags of 1 sentences, got those of 0"),
        ([["\ud800"]], [["O"]], "half a character"),
    ],
)
def test_what_does_not_fit_is_named(texts: list, tags: list, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tagger().examples(texts, tags)


def test_another_task_is_not_loaded(tmp_path) -> None:
    tagger().save(tmp_path / "tagger")
    with pytest.raises(ValueError, match="'labels' in .*, got one for 'tags'"):
        make().load(tmp_path / "tagger")
