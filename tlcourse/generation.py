"""Generating text: continuations by a causal model, targets by an encoder-decoder, masked words.

Holtzman et al. (2020): top-p; Keskar et al. (2019): the penalty on repetitions.
"""

import contextlib
from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from tlcourse.bpe import EOS, MASK, SPECIALS
from tlcourse.recurrent import LSTM
from tlcourse.recurrent.model import State
from tlcourse.transformer import EncoderDecoder, Transformer, cached, reorder

NEVER = tuple(number for number in range(len(SPECIALS)) if number != EOS)


@torch.no_grad()
def generate(
    model: Transformer | EncoderDecoder | LSTM,
    tokens: list[int],
    count: int = 40,
    *,
    source: list[int] | None = None,
    generator: torch.Generator | None = None,
    temperature: float = 0.8,
    top_k: int = 50,
    top_p: float = 1.0,
    repetition_penalty: float = 1.0,
    stop: Collection[int] = (EOS,),
    never: Collection[int] = NEVER,
) -> list[int]:
    """Up to `count` new ids after `tokens`, until one of `stop`.

    Samples, with `generator` or PyTorch's own, from the `top_k` most probable ids, and of these
    from the most probable ones that together have at least the probability `top_p`;
    `temperature=0` takes the most probable id each time. The logits of ids that already occurred
    are divided by `repetition_penalty` if they are positive, else multiplied by it. Ids in `never`,
    by default the special tokens other than `<eos>`, are not written. An `EncoderDecoder` also
    needs the ids of its `source`, which are encoded once; `tokens` are the beginning of the target.
    Raises ValueError for a bidirectional model, an empty start, a source that is missing or that
    the model cannot read, and a top_p or penalty that is not positive.
    """
    if not model.config.causal:
        raise ValueError("generate needs a causal model; fill_masks is for bidirectional ones")
    if not tokens:
        raise ValueError("expected at least one token to start from")
    if top_p <= 0 or repetition_penalty <= 0:
        raise ValueError(
            f"expected a positive top_p and repetition_penalty, got {top_p}, {repetition_penalty}"
        )
    start, tokens = len(tokens), list(tokens)
    with _Reading(model, source) as reading:
        for _ in range(count):
            logits = reading.logits([tokens])[0]
            logits[list(never)] = -torch.inf
            if repetition_penalty != 1.0:
                seen = torch.tensor(sorted(set(tokens)))
                of_seen = logits[seen]
                smaller = of_seen / repetition_penalty, of_seen * repetition_penalty
                logits[seen] = torch.where(of_seen > 0, *smaller)
            if temperature == 0:
                new = int(logits.argmax())
            else:
                best, ids = (logits / temperature).topk(min(top_k, len(logits)))
                shares = best.softmax(-1)
                shares[shares.cumsum(-1) - shares >= top_p] = 0.0
                new = int(ids[torch.multinomial(shares, 1, generator=generator)])
            tokens.append(new)
            if new in stop:
                break
    return tokens[start:]


@torch.no_grad()
def beam_search(
    model: Transformer | EncoderDecoder | LSTM,
    tokens: list[int],
    count: int = 40,
    *,
    source: list[int] | None = None,
    beams: int = 4,
    length_penalty: float = 1.0,
    stop: Collection[int] = (EOS,),
    never: Collection[int] = NEVER,
) -> list[int]:
    """The most probable continuation that a beam search finds: at most `count` ids.

    At each step the `beams` most probable beginnings are kept. A continuation ends with an id of
    `stop` or has `count` ids; the best has the largest log-probability, divided by its length to
    the power of `length_penalty` (Wu et al., 2016). `source` is that of `generate`. Raises
    ValueError, see `generate`, and for fewer than one beam.
    """
    if not model.config.causal or not tokens or beams < 1:
        raise ValueError("expected a causal model, at least one token and at least one beam")
    alive, finished = [(0.0, list(tokens))], []

    def value(item: tuple[float, list[int]]) -> float:
        return item[0] / (len(item[1]) - len(tokens)) ** length_penalty

    with _Reading(model, source) as reading:
        for _ in range(count):
            logits = reading.logits([ids for _, ids in alive])
            logits[:, list(never)] = -torch.inf
            scores = logits.log_softmax(-1) + torch.tensor([score for score, _ in alive])[:, None]
            best, places = scores.flatten().topk(min(2 * beams, scores.numel()))
            grown: list[tuple[float, list[int]]] = []
            rows: list[int] = []
            for score, place in zip(best.tolist(), places.tolist(), strict=True):
                row, new = divmod(place, logits.shape[1])
                item = (score, [*alive[row][1], new])
                if new in stop:
                    finished.append(item)
                elif len(grown) < beams:
                    grown.append(item)
                    rows.append(row)
            alive = grown
            reading.follow(rows)
            if len(finished) >= beams or not alive:
                break
    return max([*finished, *alive], key=value)[1][len(tokens) :]


@torch.no_grad()
def fill_masks(
    model: Transformer, tokens: list[int], *, top: int = 5
) -> list[list[tuple[int, float]]]:
    """For each `<mask>` in `tokens`, the `top` most probable ids with their probabilities.

    Raises ValueError for a causal model and for tokens without a mask.
    """
    if model.config.causal:
        raise ValueError("fill_masks needs a bidirectional model; generate is for causal ones")
    positions = [position for position, token in enumerate(tokens) if token == MASK]
    if not positions:
        raise ValueError("expected at least one <mask> among the tokens")
    device = next(model.parameters()).device
    logits = model(torch.tensor([tokens], device=device))[0, positions]
    best = logits.float().softmax(-1).topk(top, dim=-1)
    return [
        list(zip(ids, values, strict=True))
        for ids, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


class _Reading(contextlib.ExitStack):
    """A context that reads the next logits of texts, and reads no token twice if it can.

    It can as long as the texts fit into a `Transformer`; later, and for other models, the last
    `max_length` tokens are read each time. An `LSTM` keeps its state, however long the texts are.
    The source of an `EncoderDecoder` is encoded once.
    """

    def __init__(self, model: Transformer | EncoderDecoder | LSTM, source: list[int] | None):
        super().__init__()
        self.read, self.device = 0, next(model.parameters()).device
        self.states: Tensor | None = None  # of the source
        self.state: State | None = None  # of an LSTM
        if isinstance(model, EncoderDecoder):
            if not source:
                raise ValueError("expected the ids of a source for an encoder-decoder, got none")
            self.states = model.encode(torch.tensor([source], device=self.device))
            model = model.decoder
        elif source is not None:
            raise ValueError("expected no source: this model is no encoder-decoder; leave it out")
        self.model = model
        self.keeps = isinstance(model, Transformer)
        if isinstance(model, Transformer):  # which is what keeps keys and values
            self.enter_context(cached(model))

    def logits(self, texts: Sequence[list[int]]) -> Tensor:
        """(texts, vocabulary) logits, on the CPU, of the ids after texts of equal length."""
        if isinstance(self.model, LSTM):
            rows = torch.tensor([ids[self.read :] for ids in texts], device=self.device)
            self.read = len(texts[0])
            hidden, self.state = self.model.read(rows, state=self.state)
            return self.model.logits(hidden[:, -1]).float().cpu()
        longest = self.model.config.max_length
        if self.keeps and len(texts[0]) > longest:
            self.close()  # removes the keys and values: all positions change from now on
            self.keeps, self.read = False, 0
        rows = torch.tensor([ids[self.read :][-longest:] for ids in texts], device=self.device)
        if self.keeps:
            self.read = len(texts[0])
        if self.states is None:
            return self.model(rows)[:, -1].float().cpu()
        hidden = self.model.hidden(rows, source=self.states.expand(len(rows), -1, -1))
        return self.model.logits(hidden[:, -1]).float().cpu()

    def follow(self, rows: list[int]) -> None:
        """Row i of the texts continues what row `rows[i]` was."""
        if self.state is not None:
            self.state = [(hidden[:, rows], cell[:, rows]) for hidden, cell in self.state]
        elif self.keeps and rows and isinstance(self.model, Transformer):
            reorder(self.model, torch.tensor(rows, device=self.device))
