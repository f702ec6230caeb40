"""Words that are read by their characters, and the states of words (Peters et al., 2018, ELMo).

Akbik et al. (2018) read a sentence as one string of characters, without words; its words then have
the states at their borders.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn

from tlcourse.recurrent.bidirectional import BiLSTM, padded_batches
from tlcourse.recurrent.characters import PAD, CharacterEncoder, byte_ids, character_ids
from tlcourse.recurrent.config import BiLSTMConfig

UNKNOWN, BORDER = "<unk>", "</s>"  # words 0 and 1 of every vocabulary
LONGEST = 30  # bytes of a word that are read


class CharacterEmbedding(nn.Embedding):
    """Vectors of words from their characters; it is called with ids, as every embedding.

    The model predicts the `vocabulary`, whose first two words are UNKNOWN and BORDER, with the
    matrix `weight` (vocabulary, width). It can read further words, which `add` gives ids. Raises
    ValueError for another vocabulary.
    """

    def __init__(self, vocabulary: Sequence[str], width: int, **settings: Mapping[int, int] | int):
        super().__init__(len(vocabulary), width)
        if [*vocabulary[:2]] != [UNKNOWN, BORDER] or len({*vocabulary}) != len(vocabulary):
            raise ValueError(
                f"expected different words, first {UNKNOWN} and {BORDER}, got "
                f"{[*vocabulary[:3]]}, of {len(vocabulary)} words; see `word_vocabulary`"
            )
        nn.init.normal_(self.weight, std=width**-0.5)
        self.encoder = CharacterEncoder(width, **settings)  # type: ignore[arg-type]
        self.ids: dict[str, int] = {}
        self.characters: Tensor
        self.register_buffer("characters", torch.zeros(0, LONGEST + 2).short(), persistent=False)
        self.add(vocabulary)

    def add(self, words: Iterable[str]) -> None:
        """Gives ids to those of the words that have none."""
        new = [word for word in dict.fromkeys(words) if word not in self.ids]
        if new:
            ids = character_ids(new, longest=LONGEST).to(self.characters)
            ids = nn.functional.pad(ids, (0, LONGEST + 2 - ids.shape[1]), value=PAD)
            self.characters = torch.cat([self.characters, ids])
            self.ids |= {word: len(self.ids) + number for number, word in enumerate(new)}
        self.num_embeddings = len(self.ids)

    def forward(self, tokens: Tensor) -> Tensor:
        """(...) ids to (..., width); each word of a batch is encoded once."""
        distinct, places = tokens.unique(return_inverse=True)
        characters = self.characters[distinct].long()
        longest = int((characters != PAD).sum(dim=1).max())
        return self.encoder(characters[:, :longest])[places] * self.embedding_dim**-0.5


def word_vocabulary(counts: Mapping[str, int], size: int) -> list[str]:
    """UNKNOWN, BORDER and the most frequent words, `size` together; ties are alphabetical."""
    others = [word for word in counts if word not in (UNKNOWN, BORDER)]
    return [UNKNOWN, BORDER, *sorted(others, key=lambda word: (-counts[word], word))][:size]


def elmo(
    vocabulary: Sequence[str],
    *,
    width: int = 384,
    layers: int = 2,
    filters: Mapping[int, int] | None = None,
) -> BiLSTM:
    """A new `BiLSTM` that reads words by their characters and predicts those of the vocabulary.

    `objectives.BidirectionalLM` trains it. All its layers have the same width, so that they can be
    mixed; `filters` are those of the `CharacterEncoder`.
    """
    config = BiLSTMConfig(len(vocabulary), width, units=layers * (width // 2,))
    model, settings = BiLSTM(config), {} if filters is None else {"filters": filters}
    shared = CharacterEmbedding(vocabulary, width // 2, **settings)
    model.forward_lm.embedding = model.backward_lm.embedding = shared
    return model


@torch.no_grad()
def word_states(model: BiLSTM, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
    """The states of words in all layers, (layers, words, width) for each sentence, a list of words.

    Layer 0 is the encoded characters, once for each direction. Each sentence stands between two
    BORDER. The model's embedding must be a `CharacterEmbedding`, which gets the new words; the
    model is in evaluation mode afterwards. Raises ValueError for another embedding.
    """
    embedding = model.embedding
    if not isinstance(embedding, CharacterEmbedding):
        raise ValueError(
            f"expected a model that reads characters, got one with a {type(embedding).__name__}; "
            "make it by `recurrent.elmo`"
        )
    embedding.add(word for sentence in sentences for word in sentence)
    rows = [[embedding.ids[word] for word in (BORDER, *each, BORDER)] for each in sentences]
    return [states[:, 1:-1] for states in _states(model, rows)]


@torch.no_grad()
def border_states(model: BiLSTM, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
    """Contextual string embeddings (Akbik et al., 2018), (1, words, width) for each sentence.

    The model reads `byte_ids`. A sentence is its words with spaces between them, between two line
    ends. A word has the forward state behind its last character, which has read the sentence up to
    there, and the backward state at its first one. The states are those of the last layer; the
    model is in evaluation mode afterwards.
    """
    rows = [byte_ids("\n" + " ".join(words) + "\n") for words in sentences]
    found = []
    for words, states in zip(sentences, _states(model, rows, last=True), strict=True):
        lengths = [len(word.encode()) for word in words]
        after = torch.tensor([*accumulate(length + 1 for length in lengths)])  # the spaces
        forward, backward = states.chunk(2, dim=-1)
        first = after - torch.tensor(lengths)
        found.append(torch.cat([forward[:, after - 1], backward[:, first]], dim=-1))
    return found


def _states(
    model: BiLSTM, rows: Sequence[Sequence[int]], *, last: bool = False, at_once: int = 64
) -> list[Tensor]:
    """For each row of ids (layers, length, width), or only the `last` layer, on the CPU."""
    model.eval()
    device = model.embedding.weight.device
    found: list[Tensor] = [torch.empty(0)] * len(rows)
    for numbers, tokens, mask in padded_batches(rows, at_once):
        layers = model.hidden_states(tokens.to(device), mask.to(device))
        states = torch.stack(layers[-1:] if last else layers).cpu()
        for place, number in enumerate(numbers):
            found[number] = states[:, place, : len(rows[number])].clone()
    return found
