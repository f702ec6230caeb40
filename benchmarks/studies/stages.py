"""How should causal-small be pretrained further? Two studies of a next stage, from one start each.

`last_leg`: the stage that decays the learning rate, judged without a task. The long stage before
it, at a learning rate that never falls, is

    tlcourse pretrain --start causal-small --decay 0 --tokens 40e6 --out runs/causal \\
        --corpus wikitext-2 wikipedia-standin gutenberg

Every variant goes on from its checkpoint for the same tokens, on its text or on another mixture.
All but one let the learning rate fall to 0 from the first step on; that one keeps it, and is the
mean of the weights of its last checkpoints (Izmailov et al., 2018). They are judged by word
perplexity on WikiText-103's validation articles, each token after at least half a window, and by
accuracy on BLiMP.

`masked_leg`: the objective that makes of causal-small the best two-sided model: masked as in BERT
at two rates, masked next-token prediction, and the hybrid of it with the causal objective, for the
same tokens, judged by fine-tuning on TREC's dev split.

Runs that were stopped go on; finished ones lie in `runs/studies/`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks import runner
from benchmarks.studies import pretraining_runs
from benchmarks.studies.pretraining_runs import Run
from tlcourse import checkpoints, corpora, evaluation, sizes

LONG = Path("runs/causal")  # the folder of the long stage
TOKENS = {"tiny": 768, "small": 1_600_000, "full": 16_000_000}
PLAIN, MEAN = "as before", "mean of four checkpoints"
LONGER, ARTICLES = "windows twice as long", "no books, a sixth WikiText-2"
AVERAGED = 4  # checkpoints, over the second half of the run
RICH = 16_000_000  # tokens of a text of articles alone whose first sixth is WikiText-2
CHANGES = {  # from the plain recipe
    PLAIN: {},
    LONGER: {},
    "three times the weight decay": {"weight_decay": 0.3},
    "an eighth read from both sides": {
        "objective": "hybrid",
        "causal_share": 0.875,
        "mask_probability": 0.3,
    },
    ARTICLES: {},
    MEAN: {"decay": 0.0},
}

START = "causal-small"
MASKED_TOKENS = {"tiny": 768, "small": 2_500_000, "full": 2_500_000}
MASKED = {
    "masked, 15 %": {"objective": "masked"},
    "masked, 30 %": {"objective": "masked", "mask_probability": 0.3},
    "masked next token, 15 %": {"objective": "hybrid", "causal_share": 0.0},
    "hybrid, 30 %": {"objective": "hybrid", "mask_probability": 0.3},
}
LABELS, SEEDS = {"tiny": (24,)}, {"tiny": (0,)}


def last_runs() -> dict[str, Run]:
    """The run of each variant of the last stage, by its name in CHANGES."""
    size = sizes.current().name
    tiny, budget = size == "tiny", TOKENS[size]
    plain = pretraining_runs.recipe(decay=1.0, **({"warmup": 2} if tiny else {}))
    start = START if tiny else str(LONG / "checkpoint")
    averaged = tuple(
        budget * part // (2 * AVERAGED) for part in range(AVERAGED + 1, 2 * AVERAGED + 1)
    )
    runs = {}
    for name, changes in CHANGES.items():
        recipe = replace(plain, **changes)
        if name == LONGER:
            recipe = replace(recipe, batch_size=plain.batch_size // 2, length=2 * plain.length)
        text = RICH if name == ARTICLES else str(LONG / "corpus")
        kept = averaged if name == MEAN else (budget,)
        runs[name] = Run(f"last leg, {name}", recipe, kept, start, text_of=None if tiny else text)
    return runs


def mean_of(places: Sequence[Path], place: Path) -> Path:
    """Writes a checkpoint whose weights are the means of those of others; returns its place."""
    model, tokenizer = checkpoints.load(places[0])
    states = [checkpoints.load(other)[0].state_dict() for other in places]
    mean = {name: torch.stack([s[name] for s in states]).mean(dim=0) for name in states[0]}
    model.load_state_dict(mean)
    checkpoints.save(place, model, tokenizer, card="A mean of checkpoints of a study.\n")
    return place


def judged(place: str | Path, length: int) -> dict:
    """Word perplexity, in windows of so many tokens, and accuracy on minimal pairs in percent."""
    model, tokenizer = checkpoints.load(place)
    articles, pairs = pretraining_runs.articles(), corpora.load("blimp")["test"]
    if sizes.current().name == "tiny":
        pairs = pairs.select(range(4))
    figures = evaluation.evaluate(model, tokenizer, articles, window=length, stride=length // 2)

    def score(sentences: list[str]) -> list[float]:
        return evaluation.sentence_scores(model, tokenizer, sentences)

    grammar = evaluation.minimal_pairs(score, pairs)
    return {
        "word_perplexity": figures.word_perplexity,
        "window": length,
        "blimp": 100 * grammar["accuracy"],
        "phenomena": grammar["phenomena"],
    }


def last() -> dict:
    """`last_leg`: one row a variant, after that of the long stage, its learning rate still high."""
    runs = last_runs()
    histories = pretraining_runs.train_all(runs)
    plain = runs[PLAIN]
    rows = [{"way": "none", "tokens": 0} | judged(plain.start, plain.recipe.length)]
    for name, run in runs.items():
        place = run.checkpoint()
        if name == MEAN:
            place = mean_of([run.checkpoint(tokens) for tokens in run.kept], run.place() / "mean")
        row = {"way": name, "tokens": run.kept[-1]}
        row["last_loss"] = pretraining_runs.tail_loss(histories[name])
        rows.append(row | judged(place, run.recipe.length))
    data = "text of the long stage; WikiText-103 validation; BLiMP"
    return pretraining_runs.result("last_leg", runs, rows, data)


def masked() -> dict:
    """`masked_leg`: one row a checkpoint, way of reading and number of labels."""
    size = sizes.current().name
    runs = {
        name: Run(name, pretraining_runs.recipe(**changes), (MASKED_TOKENS[size],), START)
        for name, changes in MASKED.items()
    }
    histories = pretraining_runs.train_all(runs)
    models = {START: {"run": "none", "objective": "causal", "read": "causal", "tokens": 0}}
    for name, run in runs.items():
        models |= {place: {"run": name} | facts for place, facts in run.readings()}
    labels, seeds = LABELS.get(size, (100, "all")), SEEDS.get(size, (0, 1, 2))
    losses = {name: pretraining_runs.tail_loss(history) for name, history in histories.items()}
    rows = pretraining_runs.judge(models, labels, seeds)
    return pretraining_runs.result("masked_leg", runs, rows, last_losses=losses)


STUDIES = {"last_leg": runner.Measurement(last), "masked_leg": runner.Measurement(masked)}
