"""Words read by their characters, and the states of words, against each sentence alone."""

import pytest
import torch

from tests.models import PLAIN
from tlcourse.adaptation import AddedOnly, LayerMix, Recipe, Scheme, Tagger, adapt
from tlcourse.batching import TokenFile, write_tokens
from tlcourse.objectives import BidirectionalLM
from tlcourse.pretraining import PretrainingRecipe, pretrain
from tlcourse.recurrent import (
    BORDER,
    UNKNOWN,
    VOCABULARY,
    BiLSTM,
    BiLSTMConfig,
    CharacterEmbedding,
    border_states,
    byte_ids,
    character_ids,
    elmo,
    word_states,
    word_vocabulary,
)

KNOWN = [UNKNOWN, BORDER, "it", "rains", "café"]
SENTENCES = [["it", "snows"], ["café", "it", "rains", "Raindrops", "!"], ["it"]]


def model() -> BiLSTM:
    torch.manual_seed(0)
    return elmo(KNOWN, width=12, filters={1: 4, 3: 5}).eval()


def test_a_vocabulary_has_its_marks_and_the_most_frequent_words():
    counts = {"a": 2, "c": 5, "b": 2, BORDER: 9, UNKNOWN: 1}
    assert word_vocabulary(counts, 4) == [UNKNOWN, BORDER, "c", "a"]
    assert word_vocabulary(counts, 9) == [UNKNOWN, BORDER, "c", "a", "b"]


@torch.no_grad()
def test_a_word_is_encoded_from_its_characters_wherever_it_stands():
    embedding = model().embedding
    found = embedding(torch.tensor([[3, 4], [3, 2]]))
    for vector, word in ((found[0, 0], "rains"), (found[1, 0], "rains"), (found[0, 1], "café")):
        expected = embedding.encoder(character_ids([word]))[0] * 6**-0.5
        torch.testing.assert_close(vector, expected)


@torch.no_grad()
def test_new_words_get_ids_once_and_known_ones_keep_theirs():
    embedding = model().embedding
    before = embedding(torch.arange(5))
    embedding.add(["snows", "it", "snows", "x" * 99])
    embedding.add(["snows"])
    assert embedding.ids["snows"] == 5 and len(embedding.ids) == embedding.num_embeddings == 7
    assert embedding.weight.shape == (5, 6)  # what is predicted
    torch.testing.assert_close(embedding(torch.arange(5)), before)
    longest = embedding.encoder(character_ids(["x" * 30])) * 6**-0.5
    torch.testing.assert_close(embedding(torch.tensor([6])), longest)


def test_another_vocabulary_is_refused():
    for words in (["it", "rains"], [UNKNOWN, BORDER, "it", "it"], []):
        with pytest.raises(ValueError, match="expected different words, first <unk> and </s>"):
            CharacterEmbedding(words, 4)


def test_words_outside_the_vocabulary_are_read_and_predicted_as_unknown():
    lm, objective = model(), BidirectionalLM()
    lm.embedding.add(["snows"])
    tokens = torch.tensor([[1, 2, 5, 1]])
    nats, targets = objective.loss(lm, (tokens,))
    logits = [each[0].log_softmax(-1) for each in lm(tokens)]
    ahead = [-logits[0][place, due] for place, due in enumerate((2, 0, 1))]
    behind = [-logits[1][place, due] for place, due in zip((1, 2, 3), (1, 2, 0), strict=True)]
    assert targets == 6
    torch.testing.assert_close(nats, sum(ahead + behind))


def test_it_is_pretrained_by_the_engine(tmp_path):
    lm = model()
    lm.embedding.add(["snows"])
    write_tokens(tmp_path / "tokens.bin", [500 * [1, 2, 5, 1, 2, 3]])
    recipe = PretrainingRecipe(
        batch_size=4, length=12, warmup=2, learning_rate=3e-2, muon_learning_rate=None
    )
    before = {name: p.clone() for name, p in lm.named_parameters()}
    history = pretrain(
        lm, TokenFile(tmp_path / "tokens.bin"), 60 * 48, recipe=recipe, compute=PLAIN,
        objective=BidirectionalLM(),
    )  # fmt: skip
    assert history[-1]["loss"] < 0.7 * history[0]["loss"]
    assert not [name for name, p in lm.named_parameters() if torch.equal(p, before[name])]


@torch.no_grad()
def test_the_states_of_words_are_those_of_each_sentence_between_borders():
    lm = model()
    found = word_states(lm, SENTENCES)
    for words, states in zip(SENTENCES, found, strict=True):
        ids = [lm.embedding.ids[word] for word in (BORDER, *words, BORDER)]
        layers = lm.hidden_states(torch.tensor([ids]))
        torch.testing.assert_close(states, torch.cat(layers)[:, 1:-1])
    ordinary = BiLSTM(BiLSTMConfig(9, 4, (2,)))
    with pytest.raises(ValueError, match="a model that reads characters, got one with a Embedding"):
        word_states(ordinary, SENTENCES)


@torch.no_grad()
def test_a_word_of_a_string_has_the_states_at_its_borders():
    torch.manual_seed(0)
    lm = BiLSTM(BiLSTMConfig(VOCABULARY, 12, (6,))).eval()
    found = border_states(lm, SENTENCES)
    for words, states in zip(SENTENCES, found, strict=True):
        assert states.shape == (1, len(words), 12)
        text = "\n" + " ".join(words) + "\n"
        for number, word in enumerate(words):
            until = "\n" + " ".join(words[: number + 1])
            read = lm.hidden(torch.tensor([byte_ids(until)]))[0, -1, :6]
            behind = text[len(until) - len(word) :]
            backward = lm.hidden(torch.tensor([byte_ids(behind)]))[0, 0, 6:]
            torch.testing.assert_close(states[0, number], torch.cat([read, backward]))


class Reading:
    """The least that a tagger needs of a tokenizer."""

    pad = 0

    def __init__(self, ids):
        self.ids = ids

    def read(self, word):
        return [self.ids[word]]


def test_a_tagger_mixes_its_layers():
    lm = model()
    lm.embedding.add(word for sentence in SENTENCES for word in sentence)
    lm.embedding.add(["x"] * 9 + [str(number) for number in range(9)])  # ids of special tokens
    start = Tagger(lm, Reading(lm.embedding.ids), ["O", "B-X"])
    scheme = Scheme(edit=LayerMix(), groups=AddedOnly())
    gold = [["O"] * len(words) for words in SENTENCES]
    done = adapt(start, SENTENCES, gold, scheme=scheme, recipe=Recipe(epochs=9), compute=PLAIN)
    assert {name.split(".")[0] for name in done.report.moved} == {"mix", "head"}
    assert done.predict(SENTENCES, compute=PLAIN) == gold
