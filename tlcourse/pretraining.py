"""Pretraining: corpus to token file, token file to a decayed model, model to perplexities."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from tlcourse import corpora, objectives
from tlcourse.batching import TokenFile, generator_for, write_tokens
from tlcourse.bpe import SPECIALS, Tokenizer, detokenise
from tlcourse.device import Compute
from tlcourse.training import train, warmup_stable_decay
from tlcourse.transformer import Config, Transformer

EOS = SPECIALS.index("<eos>")
UNK = SPECIALS.index("<unk>")


@dataclass(frozen=True)
class Recipe:
    """How to train: what a run needs to know besides model, data and budget."""

    batch: int = 64  # windows a step
    length: int = 128  # tokens a window
    rate: float = 3e-3  # AdamW: embeddings, norms, biases
    muon_rate: float = 0.01  # Muon: matrices inside the blocks
    warmup: int = 100  # steps
    decay: float = 0.4  # the last share of the steps, linearly to 0
    seed: int = 0


def training_articles(names: Iterable[str]) -> Iterator[str]:
    """The training articles of the corpora called `names`, every second one detokenised.

    So that text in WikiText's spacing and text as people write it are both at home.
    """
    articles = itertools.chain.from_iterable(corpora.articles(name) for name in names)
    for number, article in enumerate(articles):
        if number % 2:
            article = "\n".join(map(detokenise, article.split("\n")))
        yield article


def encode_articles(articles: Iterable[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    """The ids of each article, `<unk>` as one special token, `<eos>` at the end."""
    library = tokenizer.to_library()
    library.encode_special_tokens = False
    iterator = iter(articles)
    while group := list(itertools.islice(iterator, 256)):
        for encoding in library.encode_batch_fast(group):
            yield [*encoding.ids, EOS]


def write_corpus(
    path: Path, articles: Iterable[str], tokenizer: Tokenizer, tokens: int, progress: bool = True
) -> int:
    """Encodes articles into the token file `path` until it holds `tokens`; returns the count."""

    def enough() -> Iterator[list[int]]:
        done = 0
        with tqdm(total=tokens, unit="token", unit_scale=True, disable=not progress) as bar:
            for ids in encode_articles(articles, tokenizer):
                yield ids
                bar.update(len(ids))
                done += len(ids)
                if done >= tokens:
                    return

    return write_tokens(path, enough())


def optimizers_for(model: Transformer, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the blocks, AdamW for all else (Jordan et al., 2024).

    Muon's rate is scaled by 0.2 times the root of the matrix's longer side, so that its updates
    are about as large as AdamW's (Liu et al., 2025).
    """
    matrices = [p for p in model.blocks.parameters() if p.ndim == 2]
    inside = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in inside]
    return [
        torch.optim.Muon(
            matrices, lr=recipe.muon_rate, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(others, lr=recipe.rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    ]


def batches(file: TokenFile, config: Config, recipe: Recipe) -> Callable[[int], tuple[Tensor, ...]]:
    """The function from a step to its batch; for a bidirectional model, masks included."""

    def causal(step: int) -> tuple[Tensor, ...]:
        return (file.windows(recipe.seed, step, recipe.batch, recipe.length + 1),)

    def masked(step: int) -> tuple[Tensor, ...]:
        tokens = file.windows(recipe.seed, step, recipe.batch, recipe.length)
        generator = generator_for(recipe.seed, step, 1)
        corrupted, chosen = objectives.mask_tokens(tokens, generator, config.vocabulary_size)
        return corrupted, tokens, chosen

    return causal if config.causal else masked


def loss_of(model: Transformer, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
    """The causal or the masked loss, by the model's kind."""
    if model.config.causal:
        return objectives.causal_loss(model, *batch)
    return objectives.masked_loss(model, *batch)


def pretrain(
    model: Transformer,
    file: TokenFile,
    tokens: int,
    compute: Compute,
    recipe: Recipe,
    folder: Path | None = None,
    on_step: Iterable[Callable[[dict], None]] = (),
) -> list[dict]:
    """Trains `model` in place on `tokens` tokens, ending decayed; returns the engine's history.

    With a `folder` the run is resumable. Raises ValueError if the budget is less than one step.
    """
    per_step = recipe.batch * recipe.length
    steps = tokens // per_step
    if steps < 1:
        raise ValueError(
            f"expected a budget of at least one step ({per_step} tokens), got {tokens}"
        )
    model.to(compute.device).set_attention(compute.attention)
    if compute.compiles and steps > 500:  # compilation takes about half a minute
        for block in model.blocks:
            block.compile()
    return train(
        model,
        loss_of,
        batches(file, model.config, recipe),
        steps,
        optimizers_for(model, recipe),
        warmup_stable_decay(steps, min(recipe.warmup, steps // 4 + 1), recipe.decay),
        compute,
        recipe.seed,
        folder=folder,
        settings={**asdict(model.config), **asdict(recipe), "tokens": tokens, "file": len(file)},
        on_step=on_step,
    )


@dataclass(frozen=True)
class Evaluation:
    """Sums over a text, from which every perplexity follows. `without_unk` leaves out `<unk>`."""

    nats: float
    targets: int  # predicted tokens
    words: int  # words + line ends of what was predicted
    text_bytes: int
    nats_without_unk: float
    unk: int  # `<unk>` targets

    @property
    def word_perplexity(self) -> float:
        """exp(nats / (words + line ends))."""
        return math.exp(self.nats / self.words)

    @property
    def word_perplexity_without_unk(self) -> float:
        """The same with the positions of `<unk>` left out of both sums."""
        return math.exp(self.nats_without_unk / (self.words - self.unk))

    @property
    def token_perplexity(self) -> float:
        """exp(nats / tokens): depends on the vocabulary."""
        return math.exp(self.nats / self.targets)

    @property
    def bits_per_byte(self) -> float:
        """Bits a byte of UTF-8: does not depend on any vocabulary."""
        return self.nats / math.log(2) / self.text_bytes


@torch.no_grad()
def evaluate(
    model: Transformer,
    tokenizer: Tokenizer,
    articles: list[str],
    compute: Compute,
    window: int = 256,
    stride: int = 128,
) -> Evaluation:
    """Causal evaluation in sliding windows: every token is predicted once, in float32.

    Articles follow each other, each after `<eos>`; the `<eos>` themselves are not counted, being
    no part of the text. A window moves by `stride`, so that all but the first tokens are predicted
    from at least `window - stride` tokens before them.
    """
    ids = [EOS, *itertools.chain.from_iterable(encode_articles(articles, tokenizer))]
    ids = torch.tensor(ids)
    nats, targets, unk, nats_unk = 0.0, 0, 0, 0.0
    for start in tqdm(range(0, len(ids) - 1, stride), disable=len(ids) < 20_000, leave=False):
        begin = max(0, start + stride - window)
        piece = ids[begin : start + stride + 1].to(compute.device)
        fresh = slice(start - begin, None)
        logits = model(piece[None, :-1])[0].float()[fresh]
        goal = piece[1:][fresh]
        losses = torch.nn.functional.cross_entropy(logits, goal, reduction="none")
        nats += losses[goal != EOS].sum().item()
        nats_unk += losses[goal == UNK].sum().item()
        targets += int((goal != EOS).sum())
        unk += int((goal == UNK).sum())
    words = sum(len(article.split()) + article.count("\n") for article in articles)
    size = sum(len(article.encode("utf-8")) for article in articles)
    return Evaluation(nats, targets, words, size, nats - nats_unk, unk)
