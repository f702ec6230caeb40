import math

import pytest
import torch

from tests.probing.made import PLAIN, TOKENIZER, model_of
from tlcourse.evaluation import sentence_scores
from tlcourse.probing import agreement_and_loss, align, removing

SENTENCES = [["The", "rain", "fell"], ["trains", "fall"]]
GOOD, BAD = "The trains fall", "The trains fell"


def measured(model, pairs=((GOOD, BAD),)):
    return agreement_and_loss(model, TOKENIZER, pairs, SENTENCES, compute=PLAIN)


def test_agreement_counts_the_pairs_whose_first_sentence_is_likelier():
    model = model_of()
    one, other = sentence_scores(model, TOKENIZER, [GOOD, BAD], compute=PLAIN)
    likely, unlikely = (GOOD, BAD) if one > other else (BAD, GOOD)
    assert measured(model, [(likely, unlikely), (unlikely, likely), (GOOD, GOOD)])[0] == 1 / 3


def test_the_loss_is_the_mean_over_all_tokens_but_the_first():
    model, nats = model_of(), []
    for each in align(TOKENIZER, SENTENCES):
        logs = model(torch.tensor([each.tokens]))[0].log_softmax(-1)
        nats += [-logs[i, token].item() for i, token in enumerate(each.tokens[1:])]
    assert measured(model)[1] == pytest.approx(sum(nats) / len(nats), rel=1e-5)


def test_a_change_of_the_model_is_measured():
    model = model_of()
    with removing(model, torch.eye(16).numpy(), 2):
        loss = measured(model)[1]
    assert loss != measured(model)[1] and math.isfinite(loss)


def test_pairs_and_sentences_are_needed():
    with pytest.raises(ValueError, match="at least one sentence for the loss"):
        agreement_and_loss(model_of(), TOKENIZER, [(GOOD, BAD)], [], compute=PLAIN)
    with pytest.raises(ValueError, match="at least one pair"):
        measured(model_of(), [])
