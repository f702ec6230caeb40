"""Where in a paragraph the answer stands: a body, and a score for its first and its last token.

Devlin et al. (2019, section 4.2); paragraphs without the answer as in their section 4.3.
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import checkpoints, device
from tlcourse.adaptation.examples import listed
from tlcourse.adaptation.knobs import short
from tlcourse.adaptation.task_model import TaskModel
from tlcourse.checkpoints import AnyTokenizer, Body
from tlcourse.device import Compute

Question = tuple[str, str]  # a question and a paragraph
Gold = tuple[str, int] | None  # an answer and its first character in the paragraph; None: no answer
OUTSIDE = -1e4  # the score of a token that no answer can begin or end with


class Answer(NamedTuple):
    """An answer: its text, "" for none, its first character, and its score, a difference of logits.

    The score is that of the span minus that of *no answer*.
    """

    text: str
    start: int
    score: float


class Window(NamedTuple):
    """A part of a paragraph behind its question: ids, and the characters of each of its tokens."""

    question: int  # its number
    ids: list[int]
    first: int  # the place in `ids` of the part's first token
    characters: list[tuple[int, int]]  # (start, end) in the paragraph


class SpanReader(TaskModel):
    """A Transformer that marks the answer to a question in a paragraph.

    A question and its paragraph are read as a pair. Of a long paragraph windows are read, each
    `stride` tokens further; the answer is the best one in any window. The classification token
    stands for *no answer*, which is predicted only if `unanswerable` is True. An answer has at most
    `longest_answer` tokens. Raises ValueError for a stride or a longest answer below 1.
    """

    task, SETTINGS = "spans", ("stride", "longest_answer", "unanswerable")

    def __init__(
        self,
        body: Body,
        tokenizer: AnyTokenizer,
        *,
        stride: int = 64,
        longest_answer: int = 30,
        unanswerable: bool = False,
        dropout: float = 0.1,
    ):
        for name, value in (("stride", stride), ("longest_answer", longest_answer)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}: expected a number of tokens, at least 1, got {value!r}")
        super().__init__(body, tokenizer, outputs=2, dropout=dropout)
        self.stride, self.longest_answer = stride, longest_answer
        self.unanswerable = unanswerable

    def windows(self, questions: Iterable[Question]) -> list[Window]:
        """Returns the windows of all questions, in order.

        A question that needs more than half of a window is cut. Raises ValueError, naming the row,
        for anything but a pair of texts.
        """
        found: list[Window] = []
        longest = self.body.config.max_length - self.frame.size - len(self.frame.between)
        for row, pair in enumerate(listed(questions, "questions")):
            valid = isinstance(pair, tuple | list) and len(pair) == 2
            if not valid or not all(isinstance(text, str) and text.strip() for text in pair):
                raise ValueError(
                    f"expected a question and a paragraph in row {row}, got {short(pair)}; remove "
                    "or fill that row"
                )
            question = self.tokenizer.pieces(pair[0])[: longest // 2]
            asked = [number for number, _, _ in question]
            pieces = self.tokenizer.pieces(pair[1])
            room = longest - len(asked)
            stride = min(self.stride, room)
            first = len(self.frame.before) + len(asked) + len(self.frame.between)
            for start in range(0, max(1, len(pieces) - room + stride), stride):
                part = pieces[start : start + room]
                ids = self.frame.around(asked, [number for number, _, _ in part])
                found.append(Window(row, ids, first, [(a, b) for _, a, b in part]))
        return found

    def examples(
        self, texts: Iterable[Question], answers: Iterable[Gold]
    ) -> tuple[list[list[int]], Tensor]:
        """Returns the ids of each window, and the places of its answer's ends, (windows, 2).

        `texts` are pairs of a question and a paragraph; `answers` pairs of the answer's text and
        its first character, or None. In a window without the answer, both places are those of the
        classification token. Raises ValueError, naming the row, for an answer that is not in its
        paragraph at this place.
        """
        texts, gold = listed(texts, "questions"), listed(answers, "answers")
        if len(texts) != len(gold):
            raise ValueError(f"expected the answers to {len(texts)} questions, got {len(gold)}")
        windows = self.windows(texts)
        for row, (pair, answer) in enumerate(zip(texts, gold, strict=True)):
            _check(row, pair[1], answer)
        targets = [self._target(window, gold[window.question]) for window in windows]
        return [window.ids for window in windows], torch.tensor(targets)

    def _target(self, window: Window, answer: Gold) -> list[int]:
        none = self._nowhere(len(window.ids))
        if answer is None or not answer[0].strip():
            return [none, none]
        begin, end = answer[1], answer[1] + len(answer[0])
        inside = [i for i, (a, b) in enumerate(window.characters) if b > begin and a < end]
        if not inside:
            return [none, none]
        whole = window.characters[inside[0]][0] <= begin and window.characters[inside[-1]][1] >= end
        return [window.first + inside[0], window.first + inside[-1]] if whole else [none, none]

    def _nowhere(self, length: int) -> int:
        """The place of the classification token in a window of `length` ids."""
        return 0 if self.frame.before else length - len(self.frame.behind)

    def loss(self, scores: Tensor, targets: Tensor) -> tuple[Tensor, int]:
        """Returns the sum over windows of the mean nats of both ends, and the number of windows.

        `scores` are (batch, length, 2), `targets` (batch, 2) places.
        """
        return F.cross_entropy(scores, targets, reduction="sum") / 2, len(targets)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Returns (batch, length, 2) scores as first and as last token; pads have OUTSIDE."""
        return super().forward(tokens, mask).masked_fill(~mask[:, :, None], OUTSIDE)

    @torch.no_grad()
    def answers(
        self, questions: Iterable[Question], *, compute: Compute | None = None, batch_size: int = 32
    ) -> list[Answer]:
        """Returns the best answer to each question, see the class.

        The model is in evaluation mode afterwards. Raises ValueError, see `windows`, and
        FloatingPointError if a score is not finite.
        """
        compute = compute or device.choose()
        self.to(compute.device).eval()
        questions = listed(questions, "questions")
        best: dict[int, tuple[Answer, float]] = {}
        windows = self.windows(questions)
        for start in range(0, len(windows), batch_size):
            batch = windows[start : start + batch_size]
            tokens, mask = self.stack([window.ids for window in batch])
            with compute.autocast():
                scores = self(tokens.to(compute.device), mask.to(compute.device)).float().cpu()
            checkpoints.refuse_nan(scores, "scores")
            for window, of_one in zip(batch, scores, strict=True):
                found = self._best(window, of_one, questions[window.question][1])
                known = best.get(window.question)
                best[window.question] = found if known is None else _better(known, found)
        return [self._chosen(*best[row]) for row in range(len(questions))]

    def _best(self, window: Window, scores: Tensor, paragraph: str) -> tuple[Answer, float]:
        """The best span of a window with its score, and the score of *no answer*."""
        of_none = scores[self._nowhere(len(window.ids))].sum().item()
        part = scores[window.first : window.first + len(window.characters)]
        if not len(part):
            return Answer("", 0, -torch.inf), of_none
        first, last, score = best_span(part[:, 0], part[:, 1], longest=self.longest_answer)
        start, end = window.characters[first][0], window.characters[last][1]
        text = paragraph[start:end]
        return Answer(text.strip(), start + len(text) - len(text.lstrip()), score), of_none

    def _chosen(self, answer: Answer, of_none: float) -> Answer:
        margin = answer.score - of_none
        if self.unanswerable and margin < 0:
            return Answer("", 0, margin)
        return answer._replace(score=margin)

    def predict(
        self, questions: Iterable[Question], *, compute: Compute | None = None
    ) -> list[str]:
        """Returns the text of the best answer to each question; "" for none."""
        return [answer.text for answer in self.answers(questions, compute=compute)]


def _better(one: tuple[Answer, float], other: tuple[Answer, float]) -> tuple[Answer, float]:
    """The better answer of two windows; nothing is answered only if no window has an answer."""
    answer = max(one[0], other[0], key=lambda answer: answer.score)
    return answer, min(one[1], other[1])


def best_span(first: Tensor, last: Tensor, *, longest: int = 30) -> tuple[int, int, float]:
    """Returns the first and last place of the best legal span, and the sum of its two scores.

    `first` and `last` are the scores (length,) of every place as first and as last token. A legal
    span does not end before it begins, and has at most `longest` tokens.
    """
    sums = first[:, None] + last[None, :]
    legal = torch.ones_like(sums, dtype=torch.bool).triu().tril(longest - 1)
    place = int(sums.masked_fill(~legal, -torch.inf).argmax())
    begin, end = divmod(place, len(first))
    return begin, end, sums[begin, end].item()


def _check(row: int, paragraph: str, answer: Gold) -> None:
    if answer is None:
        return
    text, start = answer if isinstance(answer, tuple | list) and len(answer) == 2 else (None, None)
    if not isinstance(text, str) or not isinstance(start, int):
        raise ValueError(
            f"expected an answer and its first character, or None, in row {row}, got "
            f"{short(answer)}"
        )
    if paragraph[start : start + len(text)] != text:
        raise ValueError(
            f"expected {text!r} at character {start} of the paragraph in row {row}, got "
            f"{paragraph[start : start + len(text)]!r}; count characters from 0"
        )
