"""How should the last leg of causal-small's pretraining go? Judged without a task.

The long leg before it, at a learning rate that never falls, is

    tlcourse pretrain --start causal-small --decay 0 --tokens 40e6 --out runs/causal \\
        --corpus wikitext-2 wikipedia-standin gutenberg

Every way goes on from its checkpoint for the same tokens, on its text or on another mixture. All
but one let the learning rate fall to 0 from the first step on; that one keeps it, and is the mean
of the weights of its last checkpoints (Izmailov et al., 2018). Judged by word perplexity on
WikiText-103's validation articles, each token seen with half a window before it, and by the grammar
of BLiMP. A run that was stopped goes on; finished ones lie in `runs/studies/`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from benchmarks import runner
from benchmarks.studies import pretraining_runs
from tlcourse import checkpoints, corpora, evaluation, sizes
from tlcourse.batching import TokenFile
from tlcourse.bpe import Tokenizer
from tlcourse.pretraining import PretrainingRecipe

LONG = Path("runs/causal")  # its folder
START = {"tiny": "causal-small"}  # else its checkpoint
TOKENS = {"tiny": 768, "small": 1_600_000, "full": 16_000_000}
BATCHES = {"tiny": {"batch_size": 4, "length": 32, "warmup": 2}}
PLAIN, MEAN = "as before", "mean of four checkpoints"
AVERAGED = 4  # checkpoints, over the second half of the run
RICH = 16_000_000  # tokens of a text of articles alone whose first sixth is WikiText-2
WAYS = {  # what differs from the plain recipe, and how many tokens of articles are its text, if so
    PLAIN: ({}, None),
    "windows twice as long": ({"windows": 2}, None),
    "three times the weight decay": ({"weight_decay": 0.3}, None),
    "an eighth read from both sides": (
        {"objective": "hybrid", "causal_share": 0.875, "mask_probability": 0.3},
        None,
    ),
    "no books, a sixth WikiText-2": ({}, RICH),
    MEAN: ({"decay": 0.0}, None),
}


@dataclass(frozen=True)
class Run(pretraining_runs.Run):
    """A last leg on the text of the long one, or on `of` tokens of articles."""

    of: int | None = None

    def text(self) -> tuple[TokenFile, Tokenizer]:
        """What it reads."""
        if self.of is not None or sizes.current().name in START:
            return pretraining_runs.corpus(self.of)
        folder = LONG / "corpus"
        return TokenFile(folder / "tokens.bin"), Tokenizer.load(folder / "tokenizer.json")


def run(name: str) -> Run:
    """The run of one way."""
    size = sizes.current().name
    changes, of = WAYS[name]
    plain = replace(PretrainingRecipe(decay=1.0), **BATCHES.get(size, {}))
    changes = dict(changes)
    times = changes.pop("windows", 1)
    recipe = replace(
        plain, batch_size=plain.batch_size // times, length=plain.length * times, **changes
    )
    budget = TOKENS[size]
    kept = (budget,)
    if name == MEAN:
        kept = tuple(
            budget * (AVERAGED + each) // (2 * AVERAGED) for each in range(1, AVERAGED + 1)
        )
    start = START.get(size, str(LONG / "checkpoint"))
    return Run(f"last leg, {name}", recipe, kept, start, of=None if size == "tiny" else of)


def mean_of(places: Sequence[Path], place: Path) -> Path:
    """Writes a checkpoint whose weights are the means of those of others; returns its place."""
    model, tokenizer = checkpoints.load(places[0])
    states = [checkpoints.load(each)[0].state_dict() for each in places]
    together = {name: torch.stack([s[name] for s in states]).mean(dim=0) for name in states[0]}
    model.load_state_dict(together)
    checkpoints.save(place, model, tokenizer, card="A mean of checkpoints of a study.\n")
    return place


def judged(place: str | Path, length: int) -> dict:
    """Word perplexity, in windows of so many tokens, and accuracy on minimal pairs in percent."""
    model, tokenizer = checkpoints.load(place)
    articles = list(corpora.articles(corpora.load("wikitext-103")["validation"]))
    pairs = corpora.load("blimp")["test"]
    if sizes.current().name == "tiny":
        articles, pairs = articles[:1], pairs.select(range(4))
    found = evaluation.evaluate(model, tokenizer, articles, window=length, stride=length // 2)

    def score(sentences: list[str]) -> list[float]:
        return evaluation.sentence_scores(model, tokenizer, sentences)

    grammar = evaluation.minimal_pairs(score, pairs)
    return {
        "word_perplexity": found.word_perplexity,
        "window": length,
        "blimp": 100 * grammar["accuracy"],
        "phenomena": grammar["phenomena"],
    }


def measure() -> dict:
    """One row a way, and first the long leg as it stands, its learning rate never lowered."""
    runs = {name: run(name) for name in WAYS}
    plain = runs[PLAIN]
    rows = [{"way": "none", "tokens": 0} | judged(plain.start, plain.recipe.length)]
    for name, each in runs.items():
        history = each.run()["history"]
        place = each.checkpoint()
        if name == MEAN:
            place = mean_of([each.checkpoint(kept) for kept in each.kept], each.place() / "mean")
        row = {
            "way": name,
            "tokens": each.kept[-1],
            "last_loss": pretraining_runs.tail_loss(history),
        }
        rows.append(row | judged(place, each.recipe.length))
        print(rows[-1], flush=True)
    return {
        "job": "last_leg",
        **runner.provenance("text of the long leg; WikiText-103 validation; BLiMP"),
        "recipes": {name: asdict(each.recipe) for name, each in runs.items()},
        "rows": rows,
    }
