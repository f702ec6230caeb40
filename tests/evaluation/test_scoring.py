import pytest
import torch
import transformers

from tests.evaluation.test_perplexity import model_of
from tests.models import PLAIN
from tests.released import save_bert
from tlcourse import checkpoints
from tlcourse.bpe import EOS, MASK, Tokenizer, normalise
from tlcourse.evaluation import scoring, sentence_scores
from tlcourse.transformer import Transformer

SENTENCES = [
    "The rain fell on two cafés.",
    "Rain!",
    "The rain fell on both of them, and “it’s late”.",
    "Rain!",
    "The rain fall on two cafés.",
    "a <eos> b",  # which is text
]
TOKENIZER = Tokenizer.train([" The rain fell on the trains ; it fell and fell ."], 275)


def ids_of(sentence: str) -> list[int]:
    return [EOS, *TOKENIZER.encode(normalise(sentence))]


def log_probability(logits: torch.Tensor, place: int, token: int) -> float:
    return logits[0, place].log_softmax(-1)[token].item()


@torch.no_grad()
def by_hand(model: Transformer, sentence: str, reading: str) -> float:
    """One forward pass of one row for each token."""
    ids, total = ids_of(sentence), 0.0
    for place in range(1, len(ids)):
        if reading == "causal":
            total += log_probability(model(torch.tensor([ids[:place]])), -1, ids[place])
            continue
        row = torch.tensor([ids[:place] + [MASK] + ids[place + 1 :]])
        if model.config.causal:  # the hybrid answers at the position before
            hidden = model.hidden(row, causal=torch.tensor([False]))
            logits = model.transformed(hidden) @ model.embedding.weight.T
            total += log_probability(logits, place - 1, ids[place])
        else:
            total += log_probability(model(row), place, ids[place])
    return total


@pytest.mark.parametrize(
    ("causal", "reading"), [(True, "causal"), (False, "masked"), (True, "masked")]
)
@pytest.mark.parametrize("at_a_time", [1, 40, 2048])
def test_scores_are_those_of_one_pass_a_token(causal, reading, at_a_time, monkeypatch):
    monkeypatch.setattr(scoring, "TOKENS_AT_A_TIME", at_a_time)
    model = model_of(causal)
    scores = sentence_scores(model, TOKENIZER, SENTENCES, reading=reading, compute=PLAIN)
    assert scores == pytest.approx([by_hand(model, text, reading) for text in SENTENCES], rel=1e-5)
    assert scores[1] == scores[3] and len(set(scores)) == 5


def test_text_is_read_as_people_write_it():
    typed = sentence_scores(
        model_of(True), TOKENIZER, ["It’s  “late”", 'It\'s "late"'], reading="causal", compute=PLAIN
    )
    assert typed[0] == typed[1]


@pytest.mark.parametrize(
    ("causal", "sentences", "reading", "said"),
    [
        (False, ["a"], "causal", "sees its own targets"),
        (True, ["a"], "hybrid", "expected a reading out of causal, masked"),
        (True, ["a", " \n"], "causal", "expected words in every sentence"),
    ],
)
def test_what_is_refused(causal, sentences, reading, said):
    with pytest.raises(ValueError, match=said):
        sentence_scores(model_of(causal), TOKENIZER, sentences, reading=reading, compute=PLAIN)


@torch.no_grad()
def test_a_released_model_is_asked_for_its_words_and_not_for_its_special_tokens(tmp_path):
    theirs = save_bert(tmp_path / "bert", kind="BertForMaskedLM")
    model, tokenizer = checkpoints.load(tmp_path / "bert", PLAIN)
    library = transformers.AutoTokenizer.from_pretrained(tmp_path / "bert")
    sentences = ["Who ran?", "The cat sat on the mat."]
    for sentence, score in zip(
        sentences, sentence_scores(model, tokenizer, sentences, compute=PLAIN), strict=True
    ):
        ids = library(sentence, return_tensors="pt", padding=False).input_ids
        total = 0.0
        for place in range(1, ids.shape[1] - 1):
            row = ids.clone()
            row[0, place] = library.mask_token_id
            total += log_probability(theirs(row).logits, place, ids[0, place])
        assert score == pytest.approx(total, abs=1e-4)
