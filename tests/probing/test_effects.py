import math

import pytest
import torch

from tests.probing.made import PLAIN, TOKENIZER, model_of
from tlcourse.probing import align, nats_per_token, removing

SENTENCES = [["The", "rain", "fell"], ["trains", "fall"]]


def test_the_loss_is_the_mean_over_all_tokens_but_the_first():
    model, nats = model_of(), []
    for each in align(TOKENIZER, SENTENCES):
        logs = model(torch.tensor([each.tokens]))[0].log_softmax(-1)
        nats += [-logs[i, token].item() for i, token in enumerate(each.tokens[1:])]
    loss = nats_per_token(model, TOKENIZER, SENTENCES, compute=PLAIN)
    assert loss == pytest.approx(sum(nats) / len(nats), rel=1e-5)


def test_a_change_of_the_model_is_measured():
    model = model_of()
    intact = nats_per_token(model, TOKENIZER, SENTENCES, compute=PLAIN)
    with removing(model, torch.eye(16).numpy(), 2):
        loss = nats_per_token(model, TOKENIZER, SENTENCES, compute=PLAIN)
    assert loss != intact and math.isfinite(loss)
    assert nats_per_token(model, TOKENIZER, SENTENCES, compute=PLAIN) == intact


def test_sentences_are_needed():
    with pytest.raises(ValueError, match="at least one sentence for the loss"):
        nats_per_token(model_of(), TOKENIZER, [], compute=PLAIN)
