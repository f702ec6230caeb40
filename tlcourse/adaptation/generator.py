"""Text that answers: a causal body trained on replies, and a head that tells them from others.

The loss of the reply alone is that of Radford et al. (2018); the second head, which learns to find
the reply among distractors, is that of Wolf et al. (2019, TransferTransfo).
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import checkpoints, device, generation
from tlcourse.adaptation.examples import by_length, listed
from tlcourse.adaptation.knobs import short
from tlcourse.adaptation.task_model import TaskModel
from tlcourse.batching import pad
from tlcourse.bpe import normalise
from tlcourse.checkpoints import AnyTokenizer, LanguageModel
from tlcourse.device import Compute

IGNORED = -100  # the target of a position whose next token is not part of the reply
Segment = tuple[str, str]  # who speaks, one of the model's speakers or "", and the text
Prompt = str | Sequence[Segment]


class Generator(TaskModel):
    """A causal Transformer that continues a prompt with a reply.

    A prompt is a text, or segments: pairs of a speaker and a text. Each of `speakers` is a special
    token of the vocabulary, see `Tokenizer.with_specials` and `grow_vocabulary`; it stands before
    the text of its segment, and the last one before the reply. A body with one token type more than
    speakers (`grow_types`) also gets the type of the segment with every token: 0 before the first
    speaker, then 1 for the first of them, and so on. A reply ends with `<eos>`. A prompt that is
    too long loses its beginning. Raises ValueError for a body that is not causal, and for a speaker
    that is not a special token.
    """

    task, SETTINGS = "text", ("speakers", "choice_weight")
    body: LanguageModel

    def __init__(
        self,
        body: LanguageModel,
        tokenizer: AnyTokenizer,
        *,
        speakers: Sequence[str] = (),
        choice_weight: float = 1.0,
        dropout: float = 0.1,
    ):
        if not body.config.causal:
            raise ValueError("expected a causal body, since others see the reply that they predict")
        super().__init__(body, tokenizer, outputs=1, dropout=dropout)
        self.speakers, self.choice_weight = list(speakers), choice_weight
        specials = getattr(tokenizer, "special_ids", None)
        find = tokenizer.to_library().token_to_id if specials is None else specials.get
        self.ids: dict[str, int] = {}
        for name in self.speakers:
            number = find(name)
            if number is None:
                raise ValueError(
                    f"expected speakers that are special tokens of the vocabulary, got {name!r}; "
                    "add them with `tokenizer.with_specials(...)` and `grow_vocabulary(...)`"
                )
            self.ids[name] = number

    @property
    def end(self) -> int:
        """The id that ends a reply."""
        return self.tokenizer.reading.before[0]

    def read(self, prompt: Prompt) -> list[int]:
        """Returns the ids of a prompt, up to where the reply begins; all of them, cut nowhere.

        Raises ValueError for an unknown speaker, and for a prompt without text.
        """
        segments = [("", prompt)] if isinstance(prompt, str) else listed(prompt, "segments")
        ids: list[int] = []
        for segment in segments:
            pair = isinstance(segment, tuple | list) and len(segment) == 2
            name, text = segment if pair else (None, "")
            if name not in ("", *self.speakers) or not isinstance(text, str):
                raise ValueError(
                    f"expected a text, or pairs of a speaker ({', '.join(self.speakers) or 'none'})"
                    f" and a text, got {short(segment)}"
                )
            ids += ([self.ids[name]] if name else []) + self._ids(text)
        if not ids:
            raise ValueError(f"expected a prompt with a text, got {short(prompt)}")
        return ids + [self.ids[self.speakers[-1]] for _ in self.speakers[-1:]]

    def _ids(self, text: str) -> list[int]:
        read = getattr(self.tokenizer, "read", lambda text: self.tokenizer.encode(normalise(text)))
        return read(text)

    def _joined(self, prompt: list[int], reply: str) -> tuple[list[int], int]:
        """The ids of a prompt and a reply, and where the reply begins; the prompt is cut."""
        answer = [*self._ids(reply), self.end][: self.body.config.max_length - 1]
        kept = prompt[-(self.body.config.max_length - len(answer)) :]
        return [*kept, *answer], len(kept)

    def examples(
        self, texts: Iterable[Prompt], answers: Iterable[str | Sequence[str]]
    ) -> tuple[list[Any], Tensor]:
        """Returns the ids of each prompt with its replies, and the targets, (examples, longest).

        An answer is a reply, or several, of which the last is right and the others are distractors;
        all answers must have the same number. A target is the id that follows a position of the
        right reply, else IGNORED. Raises ValueError, naming the row, for what does not fit.
        """
        prompts, replies = listed(texts, "prompts"), listed(answers, "replies")
        if len(prompts) != len(replies):
            raise ValueError(f"expected the replies to {len(prompts)} prompts, got {len(replies)}")
        sequences, targets = [], []
        for row, (prompt, reply) in enumerate(zip(prompts, replies, strict=True)):
            several = [reply] if isinstance(reply, str) else list(reply)
            if not several or not all(isinstance(r, str) and r.strip() for r in several):
                raise ValueError(f"expected a reply, or several, in row {row}, got {short(reply)}")
            try:
                joined = [self._joined(self.read(prompt), text) for text in several]
            except ValueError as error:
                raise ValueError(f"row {row}: {error}") from None
            sequences.append([ids for ids, _ in joined])
            ids, start = joined[-1]
            target = torch.full((len(ids),), IGNORED)
            target[start - 1 : -1] = torch.tensor(ids[start:])
            targets.append(target)
        counts = sorted({len(candidates) for candidates in sequences})
        if len(counts) > 1:
            raise ValueError(f"expected as many replies for every prompt, got {counts}")
        return sequences, torch.nn.utils.rnn.pad_sequence(
            targets, batch_first=True, padding_value=IGNORED
        )

    def stack(self, sequences: Sequence[Any]) -> tuple[Tensor, Tensor]:
        """Returns padded tokens, (batch, replies, length), and their mask, True = token."""
        tokens, mask = pad([ids for several in sequences for ids in several], self.pad)
        shape = (len(sequences), -1, tokens.shape[1])
        return tokens.view(shape), mask.view(shape)

    def _types(self, tokens: Tensor) -> dict[str, Tensor]:
        """Returns the types of (batch, length) tokens: which speaker's token came last."""
        if not self.speakers or self.body.config.token_types < len(self.speakers) + 1:
            return {}
        kinds = torch.zeros_like(tokens)
        for kind, number in enumerate(self.ids.values(), start=1):
            kinds[tokens == number] = kind
        places = torch.arange(tokens.shape[1], device=tokens.device)
        last = torch.where(kinds > 0, places, 0).cummax(dim=1).values
        return {"types": kinds.gather(1, last)}

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Returns (batch, length, vocabulary) logits of the right reply, the last one of each row.

        `tokens` and `mask` are (batch, replies, length).
        """
        return self.body.logits(self.states(tokens[:, -1], mask[:, -1]))

    def scores(self, states: Tensor, mask: Tensor) -> Tensor:
        """Returns (batch, replies) scores of the states (batch, replies, length, width).

        The head reads the last token of a reply, which has seen all of it.
        """
        last = mask.sum(dim=-1) - 1
        at = last[..., None, None].expand(*last.shape, 1, states.shape[-1])
        return self.classify(states.gather(2, at)).flatten(2)[..., 0]

    def loss(self, scores: Tensor, targets: Tensor) -> tuple[Tensor, int]:
        """Returns the sum of nats of (tokens, vocabulary) logits of replies, and their number."""
        return F.cross_entropy(scores.float(), targets, reduction="sum"), len(targets)

    def batch_loss(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        """Returns the loss of both heads, and the number of tokens of the right replies.

        It is the nats of these tokens, plus `choice_weight` times the mean nats of the choice for
        each of them, where there are distractors.
        """
        tokens, mask, targets = batch
        states = self.states(tokens.flatten(0, 1), mask.flatten(0, 1)).unflatten(
            0, tokens.shape[:2]
        )
        targets = targets[:, : tokens.shape[2]]
        states_of_right = states[:, -1, : targets.shape[1]]  # a distractor may be longer
        chosen = targets != IGNORED  # the only positions whose logits are computed
        nats, count = self.loss(self.body.logits(states_of_right[chosen]), targets[chosen])
        if tokens.shape[1] > 1:
            scores = self.scores(states, mask)
            right = torch.full((len(scores),), scores.shape[1] - 1, device=scores.device)
            nats = nats + count * self.choice_weight * F.cross_entropy(scores, right)
        return nats, count

    @torch.no_grad()
    def choose(
        self,
        questions: Iterable[tuple[Prompt, Sequence[str]]],
        *,
        compute: Compute | None = None,
        batch_size: int = 32,
    ) -> list[int]:
        """Returns, for each pair of a prompt and replies, the number of the best reply, from 0.

        The model is in evaluation mode afterwards. Raises ValueError, see `read`.
        """
        compute = compute or device.choose()
        self.to(compute.device).eval()
        pairs = [(self.read(prompt), replies) for prompt, replies in questions]
        each = [[self._joined(ids, reply)[0]] for ids, replies in pairs for reply in replies]
        if not each:
            return []

        def score(tokens: Tensor, mask: Tensor) -> Tensor:
            return self.scores(self.states(tokens[:, 0], mask[:, 0])[:, None], mask)

        scores = by_length(each, score, stack=self.stack, compute=compute, batch_size=batch_size)
        parts = scores[:, 0].cpu().split([len(replies) for _, replies in pairs])
        return [int(checkpoints.refuse_nan(part, "scores").argmax()) for part in parts]

    def predict(
        self,
        prompts: Iterable[Prompt],
        *,
        count: int = 40,
        compute: Compute | None = None,
        **options: Any,
    ) -> list[str]:
        """Returns a reply of at most `count` tokens to each prompt.

        `options` are those of `generation.generate`; without any, the likeliest token is taken each
        time. The model is in evaluation mode afterwards. Raises ValueError, see `read`.
        """
        compute = compute or device.choose()
        self.to(compute.device).eval()
        options = {"temperature": 0} | options
        room = self.body.config.max_length - count
        if room < 1:
            raise ValueError(
                f"count: expected less than the model's {self.body.config.max_length} positions, "
                f"got {count}"
            )
        typed = bool(self._types(torch.zeros(1, 1, dtype=torch.long)))
        writer: Any = _Typed(self) if typed else self.body
        replies = []
        for prompt in prompts:
            ids = self.read(prompt)[-room:]
            written = generation.generate(writer, ids, count, stop=(self.end,), **options)
            kept = written[: written.index(self.end)] if self.end in written else written
            replies.append(self.tokenizer.decode(kept).strip())
        return replies


class _Typed(torch.nn.Module):
    """A body that gets the types of its tokens."""

    def __init__(self, model: Generator):
        super().__init__()
        self.model, self.config = model, model.body.config

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model(tokens[:, None], torch.ones_like(tokens, dtype=torch.bool)[:, None])
