"""Recurrent language models that train, adapt and are probed as a `Transformer` is.

    import torch
    from tlcourse.recurrent import LSTM, BiLSTM, BiLSTMConfig, LSTMConfig

    model = LSTM(LSTMConfig(vocabulary_size=300, width=32, units=(48, 48)))
    tokens = torch.randint(300, (2, 9))
    logits = model(tokens)                              # (2, 9, 300)
    hidden, state = model.read(tokens)                  # (2, 9, 32), and the state after the rows
    hidden, state = model.read(tokens, state=state)     # the next piece of the same texts

The dropout rates of the configuration make it AWD-LSTM, the model of ULMFiT. A `BiLSTM` is ELMo's
pair of language models, whose states are those of both directions:

    both = BiLSTM(BiLSTMConfig(vocabulary_size=300, width=64, units=(32, 32)))
    both.hidden_states(tokens)                          # embeddings and 2 layers: (2, 9, 64) each

`objectives.BidirectionalLM` is its loss. ELMo's words are encoded from their characters:

    from tlcourse.recurrent import CharacterEncoder, character_ids

    CharacterEncoder(width=32)(character_ids(["rain", "trains"]))           # (2, 32)

`elmo` makes a `BiLSTM` that reads any word so, and predicts the words of a vocabulary:

    from tlcourse.recurrent import elmo, word_states, word_vocabulary

    model = elmo(word_vocabulary({"it": 9, "rains": 4}, size=4), width=32)
    word_states(model, [["it", "snows"]])[0].shape                          # (3, 2, 32)

A `SentenceEncoder` turns each sentence into one vector, and a `PairClassifier` trains it on pairs.
"""

from tlcourse.recurrent.bidirectional import BiLSTM, BiLSTMLayer, mirrored
from tlcourse.recurrent.characters import (
    VOCABULARY,
    CharacterEncoder,
    Highway,
    byte_ids,
    character_ids,
)
from tlcourse.recurrent.config import BiLSTMConfig, LSTMConfig, awd_lstm
from tlcourse.recurrent.model import LSTM, LockedDropout, LSTMLayer
from tlcourse.recurrent.sentences import PairClassifier, SentenceEncoder
from tlcourse.recurrent.words import (
    BORDER,
    UNKNOWN,
    CharacterEmbedding,
    border_states,
    elmo,
    word_states,
    word_vocabulary,
)

__all__ = [
    "BORDER",
    "LSTM",
    "UNKNOWN",
    "VOCABULARY",
    "BiLSTM",
    "BiLSTMConfig",
    "BiLSTMLayer",
    "CharacterEmbedding",
    "CharacterEncoder",
    "Highway",
    "LSTMConfig",
    "LSTMLayer",
    "LockedDropout",
    "PairClassifier",
    "SentenceEncoder",
    "awd_lstm",
    "border_states",
    "byte_ids",
    "character_ids",
    "elmo",
    "mirrored",
    "word_states",
    "word_vocabulary",
]
