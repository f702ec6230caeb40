"""Classification by a prompt alone: no weight changes, and the label is the likeliest word.

Brown et al. (2020): a causal model reads an instruction, some solved examples and a new input, and
the probabilities of the label words are compared. Zhao et al. (2021) calibrate them: what the model
answers to an input without content is its bias, and they divide by it.
"""

import copy
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from tlcourse.checkpoints import AnyTokenizer
from tlcourse.transformer import Transformer, cached

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CONTENT_FREE = ("N/A", "[MASK]", "")  # inputs of Zhao et al. (2021) that say nothing
TOKENS_AT_A_TIME = 4096


@dataclass(frozen=True)
class PromptFormat:
    """The form of a prompt: a template for examples, a word for each label, an instruction.

    `template` contains {text} and ends with " {label}"; `words` has the word of each label. The
    parts of a prompt are joined by `separator`. Raises ValueError for another template, and for
    fewer than two labels.
    """

    template: str
    words: Mapping[str, str]
    instruction: str = ""
    separator: str = "\n\n"

    def __post_init__(self) -> None:
        if "{text}" not in self.template or not self.template.endswith(" {label}"):
            raise ValueError(
                "expected a template with {text} that ends with ' {label}', "
                f"got {self.template!r}"
            )
        if len(self.words) < 2:
            raise ValueError(f"expected words of at least two labels, got {dict(self.words)}")

    def render(self, text: str, examples: Sequence[tuple[str, str]] = ()) -> str:
        """The prompt that ends where the label word of `text` would follow.

        `examples` are pairs of a text and its label, in the order in which they stand in the
        prompt; none make a zero-shot prompt, k of them a k-shot prompt. Raises ValueError for a
        label without a word.
        """
        unknown = next((label for _, label in examples if label not in self.words), None)
        if unknown is not None:
            raise ValueError(f"expected a label out of {', '.join(self.words)}, got {unknown!r}")
        solved = [self._filled(each, f" {self.words[label]}") for each, label in examples]
        parts = [self.instruction] * bool(self.instruction) + solved + [self._filled(text)]
        return self.separator.join(parts)

    def content_free(self, examples: Sequence[tuple[str, str]] = ()) -> list[str]:
        """The prompts whose texts are CONTENT_FREE, behind the same examples."""
        return [self.render(text, examples) for text in CONTENT_FREE]

    def _filled(self, text: str, word: str = "") -> str:
        return self.template.removesuffix(" {label}").replace("{text}", text) + word


@torch.no_grad()
def label_log_probabilities(
    model: "Transformer | PreTrainedModel",
    tokenizer: Any,
    prompts: Sequence[str],
    *,
    words: Sequence[str] = ("yes", "no"),
) -> Tensor:
    """The log-probability of each word behind each prompt, (prompts, words) in nats, float32.

    That of a word is the sum over its tokens. The model is a causal one of ours or of Transformers,
    with its own tokenizer; a space separates prompt and word. Our vocabulary reads a line break as
    a space. A softmax over the last dimension makes probabilities of labels. The tokens with which
    all prompts begin are read once. Raises ValueError if there is no prompt or word, for a prompt
    without tokens, for one that is too long, and for a model that is not causal.
    """
    read = _read_ours if isinstance(model, Transformer) else _read_theirs
    rows, of_words = read(tokenizer, prompts, words)
    if not rows or not of_words or not all([*rows, *of_words]):
        raise ValueError(f"expected prompts and words, got {list(prompts)[:2]}, {list(words)}")
    config: Any = model.config
    room = config.max_length if isinstance(model, Transformer) else config.max_position_embeddings
    longest = max(map(len, rows)) + max(map(len, of_words)) - 1
    if longest > room:
        raise ValueError(
            f"expected prompts of at most {room} tokens, label word included, got {longest}; "
            "leave examples out"
        )
    same = itertools.takewhile(lambda column: len({*column}) == 1, zip(*rows, strict=False))
    shared = [column[0] for column in same][: min(map(len, rows)) - 1]  # each keeps a token
    found = torch.empty(len(rows), len(of_words))
    with _continuing(model.eval(), shared) as logits:
        for head, numbers in _by_head(of_words).items():
            for places, tokens in _batches(rows, len(shared), head):
                logs = logits(tokens, len(head) + 1).float().log_softmax(-1).cpu()
                for number in numbers:
                    targets = torch.tensor(of_words[number])
                    each = logs[:, torch.arange(len(targets)), targets]
                    found[places, number] = each.sum(dim=1)
    return found


def calibrate(probabilities: Tensor, content_free: Tensor) -> Tensor:
    """Label probabilities (texts, labels) divided by those of inputs without content, normalised.

    `content_free` is (inputs, labels); its mean over the inputs is the bias (Zhao et al., 2021).
    Rows of both sum to 1, and so do those of the result. Raises ValueError where a label has no
    probability on any content-free input.
    """
    bias = (content_free / content_free.sum(dim=1, keepdim=True)).mean(dim=0)
    if not (bias > 0).all():
        raise ValueError(f"expected a positive probability of each label, got {bias.tolist()}")
    ratios = probabilities / bias
    return ratios / ratios.sum(dim=1, keepdim=True)


def _read_ours(
    tokenizer: AnyTokenizer, prompts: Sequence[str], words: Sequence[str]
) -> tuple[list[list[int]], list[list[int]]]:
    """The ids of prompts, framed as in the training text, and of words."""
    rows = [tokenizer.reading.around(tokenizer.read(prompt)) for prompt in prompts]
    return rows, [tokenizer.read(f" {word}") for word in words]


def _read_theirs(
    tokenizer: Any, prompts: Sequence[str], words: Sequence[str]
) -> tuple[list[list[int]], list[list[int]]]:
    """The ids of prompts, with the special tokens of their tokenizer, and of words."""
    of_words = [tokenizer(f" {word}", add_special_tokens=False)["input_ids"] for word in words]
    return [tokenizer(prompt)["input_ids"] for prompt in prompts], of_words


def _by_head(of_words: Sequence[Sequence[int]]) -> dict[tuple[int, ...], list[int]]:
    """The numbers of the words by all their ids but the last, which a model has to read."""
    heads: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, ids in enumerate(of_words):
        heads[tuple(ids[:-1])].append(number)
    return heads


def _batches(
    rows: Sequence[Sequence[int]], shared: int, head: Sequence[int]
) -> Iterator[tuple[list[int], Tensor]]:
    """Numbers of rows, and their ids without the shared ones, with `head` behind: of one length."""
    of_length: dict[int, list[int]] = defaultdict(list)
    for number, ids in enumerate(rows):
        of_length[len(ids)].append(number)
    for length, numbers in sorted(of_length.items()):  # without padding
        at_once = TOKENS_AT_A_TIME // (length + len(head)) + 1
        for start in range(0, len(numbers), at_once):
            part = numbers[start : start + at_once]
            yield part, torch.tensor([[*rows[number][shared:], *head] for number in part])


class _Logits(Protocol):
    def __call__(self, tokens: Tensor, keep: int) -> Tensor:
        """The logits (batch, keep, vocabulary) of the last positions of (batch, length) ids."""


@contextmanager
def _continuing(model: Any, shared: Sequence[int]) -> Iterator[_Logits]:
    """A function that gives the logits of rows that continue the shared ids."""
    place = next(model.parameters()).device
    start = torch.tensor([shared], dtype=torch.long, device=place)
    if not isinstance(model, Transformer):
        past = model(start, use_cache=True, logits_to_keep=1).past_key_values if shared else None

        def of_theirs(tokens: Tensor, keep: int) -> Tensor:
            kept = copy.deepcopy(past)
            if kept is not None:
                kept.batch_repeat_interleave(len(tokens))
            options = {"past_key_values": kept, "logits_to_keep": keep}
            return model(tokens.to(place), **options).logits

        yield of_theirs
        return
    with cached(model):
        if shared:
            model.hidden(start)
        layers = [block.attention for block in model.blocks]
        parts = [layer.cache or () for layer in layers]  # none if nothing is shared

        def of_ours(tokens: Tensor, keep: int) -> Tensor:
            for layer, kept in zip(layers, parts, strict=True):
                layer.cache = tuple(each.expand(len(tokens), *each.shape[1:]) for each in kept)
            return model.logits(model.hidden(tokens.to(place))[:, -keep:])

        yield of_ours
