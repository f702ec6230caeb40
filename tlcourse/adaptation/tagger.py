"""A label for each word of a sentence: a body, and a linear layer on the first piece of a word.

Devlin et al. (2019, section 5.3) label a word at its first piece, too.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import checkpoints, device
from tlcourse.adaptation.examples import by_length, label_names, listed
from tlcourse.adaptation.knobs import short
from tlcourse.adaptation.task_model import TaskModel
from tlcourse.bpe import normalise
from tlcourse.checkpoints import AnyTokenizer, Body
from tlcourse.device import Compute
from tlcourse.spans import to_bio

IGNORED = -100  # the target of a token that is not the first piece of a word
Words = Sequence[str]


class Tagger(TaskModel):
    """A Transformer that gives each word of a sentence one of `tags`.

    A sentence is a list of words. One that is longer than the body's maximum is read in parts. If
    all tags are O, B-TYPE or I-TYPE, an I- tag that continues nothing is predicted as B-. Raises
    ValueError unless `tags` is a list of at least two different names.
    """

    task, SETTINGS = "tags", ("tags",)

    def __init__(
        self,
        body: Body,
        tokenizer: AnyTokenizer,
        tags: Sequence[str],
        *,
        dropout: float = 0.1,
    ):
        names = label_names(tags)
        super().__init__(body, tokenizer, outputs=len(names), dropout=dropout)
        self.tags = names
        self.of_entities = all(tag == "O" or tag[:2] in ("B-", "I-") for tag in names)

    def align(self, sentence: Words) -> list[tuple[list[int], list[int]]]:
        """Returns the parts of a sentence: the ids of each, and where its words begin among them.

        Raises UnicodeEncodeError for half a character (a surrogate).
        """
        read = getattr(self.tokenizer, "read", lambda word: self.tokenizer.encode(normalise(word)))
        room = self.body.config.max_length - self.frame.size
        parts: list[tuple[list[int], list[int]]] = [([], [])]
        for word in sentence:
            pieces = (read(word) or read("?"))[:room]  # a word of invisible characters is "?"
            if len(parts[-1][0]) + len(pieces) > room:
                parts.append(([], []))
            ids, places = parts[-1]
            places.append(len(self.frame.before) + len(ids))
            ids += pieces
        return [(self.frame.around(ids), places) for ids, places in parts]

    def _aligned(self, sentences: Iterable[Words]) -> list[list[tuple[list[int], list[int]]]]:
        parts = []
        for row, sentence in enumerate(listed(sentences, "sentences")):
            words = sentence if isinstance(sentence, list | tuple) else ()
            if not words or not all(isinstance(word, str) and word.strip() for word in words):
                raise ValueError(
                    f"expected a list of words in row {row}, got {short(sentence)}; remove or fill "
                    "that row"
                )
            try:
                parts.append(self.align(words))
            except UnicodeEncodeError:
                raise ValueError(
                    f"expected text in row {row}, got {short(sentence)}, which contains half a "
                    "character (a surrogate); read the file as UTF-8"
                ) from None
        return parts

    def examples(
        self, texts: Iterable[Words], answers: Iterable[Sequence[str]]
    ) -> tuple[list[list[int]], Tensor]:
        """Returns the ids of each part of a sentence, and the number of the tag of each token.

        `texts` are lists of words, `answers` their tags. The targets are (parts, longest), IGNORED
        where no word begins. Raises ValueError, naming the row, for an empty sentence, for more or
        fewer tags than words, and for a tag that is not one of the model's.
        """
        aligned, tags = self._aligned(texts), listed(answers, "tags")
        sequences, targets = [], []
        if len(aligned) != len(tags):
            raise ValueError(
                f"expected the tags of {len(aligned)} sentences, got those of {len(tags)}"
            )
        for row, (parts, of_words) in enumerate(zip(aligned, tags, strict=True)):
            numbers = self._numbers(row, of_words, sum(len(places) for _, places in parts))
            for ids, places in parts:
                sequences.append(ids)
                target = torch.full((len(ids),), IGNORED)
                target[places] = torch.tensor([numbers.pop(0) for _ in places])
                targets.append(target)
        return sequences, torch.nn.utils.rnn.pad_sequence(
            targets, batch_first=True, padding_value=IGNORED
        )

    def _numbers(self, row: int, tags: Sequence[str], count: int) -> list[int]:
        if isinstance(tags, str) or len(tags) != count:
            raise ValueError(f"expected {count} tags in row {row}, one a word, got {short(tags)}")
        unknown = [tag for tag in tags if tag not in self.tags]
        if unknown:
            raise ValueError(
                f"expected tags out of {self.tags}, got {short(unknown[0])} in row {row}"
            )
        return [self.tags.index(tag) for tag in tags]

    def loss(self, scores: Tensor, targets: Tensor) -> tuple[Tensor, int]:
        """Returns the sum of nats over the words of a batch, and their number.

        `scores` are (batch, length, tags), `targets` (batch, at least length).
        """
        targets = targets[:, : scores.shape[1]].flatten()
        nats = F.cross_entropy(scores.flatten(0, 1), targets, reduction="sum", ignore_index=IGNORED)
        return nats, int((targets != IGNORED).sum())

    @torch.no_grad()
    def probabilities(
        self, sentences: Iterable[Words], *, compute: Compute | None = None, batch_size: int = 64
    ) -> list[Tensor]:
        """Returns (words, tags) probabilities for each sentence.

        The model is in evaluation mode afterwards. Raises ValueError, see `examples`, and
        FloatingPointError if a probability is not finite.
        """
        compute = compute or device.choose()
        self.to(compute.device).eval()
        aligned = self._aligned(sentences)
        parts = [part for of_one in aligned for part in of_one]
        longest = max((len(ids) for ids, _ in parts), default=0)

        def read(tokens: Tensor, mask: Tensor) -> Tensor:
            return F.pad(self(tokens, mask), (0, 0, 0, longest - tokens.shape[1]))

        if not parts:
            return []
        logits = by_length(
            [ids for ids, _ in parts], read, pad_id=self.pad, compute=compute, batch_size=batch_size
        ).cpu()
        of_words = [row[places] for row, (_, places) in zip(logits, parts, strict=True)]
        ends = [0, *torch.tensor([len(of_one) for of_one in aligned]).cumsum(0).tolist()]
        return [
            checkpoints.refuse_nan(torch.cat(of_words[a:b]).softmax(-1), "probabilities")
            for a, b in pairwise(ends)
        ]

    def predict(
        self, sentences: Iterable[Words], *, compute: Compute | None = None
    ) -> list[list[str]]:
        """Returns the likeliest tag of each word of each sentence; see the class on BIO."""
        tags = [
            [self.tags[number] for number in rows.argmax(dim=-1).tolist()]
            for rows in self.probabilities(sentences, compute=compute)
        ]
        return [to_bio(row) for row in tags] if self.of_entities else tags
