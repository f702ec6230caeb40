"""Film reviews, read before they are judged: does pretraining on reviews pay on IMDB?

On long reviews `python -m benchmarks tasks` leaves full fine-tuning behind counting words. Howard &
Ruder (2018) go on pretraining on the task's own texts first. Here causal-small does so for TOKENS
tokens of IMDB's training reviews, without their labels, and is then fine-tuned as it is in `tasks`:
the same recipe, windows, samples of labels and judged reviews. Nothing is chosen. Its comparisons
with full fine-tuning alone and with counting words are corrected together (Holm). The pretraining
and finished runs are kept in `runs/reviews/`; a stopped study goes on where it was.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import runner
from benchmarks.studies import tasks
from benchmarks.studies.comparison import apart
from benchmarks.table import error_cell, line, points_cell, source
from tlcourse import checkpoints, corpora, device, results
from tlcourse.adaptation import FULL, Classifier, Recipe, adapt, wrong
from tlcourse.batching import TokenFile, write_tokens
from tlcourse.bpe import EOS, normalise
from tlcourse.evaluation import evaluate
from tlcourse.pretraining import PretrainingRecipe, pretrain

TASK, READ = "imdb", "full fine-tuning, reviews read first"
LABELS = (2_000, 100)
TOKENS = 2_000_000  # of the 8.8 million of the training reviews
READING = PretrainingRecipe(
    batch_size=32, length=128, learning_rate=1e-3, muon_learning_rate=2e-3, warmup=50
)
HELD_OUT = 200  # reviews of the test split, by which the reading is measured


@dataclass(frozen=True)
class Job(runner.Job):
    """One fine-tuning of the body that has read reviews, on one sample of labels."""

    study = "reviews"
    model: str
    labels: int
    seed: int
    recipe: Recipe = tasks.LONG

    def work(self) -> dict:
        """Learns and is judged."""
        train, judged = tasks.questions(tasks.Job(TASK, self.labels, READ, self.seed, self.recipe))
        texts, labels = train["text"][:], train["label"][:]
        start = Classifier.from_checkpoint(self.model, sorted(set(labels)), seed=self.seed)
        adapted = adapt(start, texts, labels, scheme=FULL, recipe=self.recipe, seed=self.seed)
        guessed = adapted.probabilities(judged["text"][:])
        return {"wrong": wrong(guessed, judged["label"], adapted.labels), "of": len(judged)}


def read_reviews(folder: Path) -> Path:
    """Goes on pretraining on the training reviews; the checkpoint, which is made once."""
    place = folder / "checkpoint"
    if (place / "model.safetensors").exists():
        return place
    body, tokenizer = checkpoints.load(tasks.MODEL, device.choose())
    path = folder / "tokens.bin"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        reviews = corpora.load(TASK)["train"]["text"]
        write_tokens(path, ([*tokenizer.encode(normalise(each)), EOS] for each in reviews))
    pretrain(body, TokenFile(path), TOKENS, recipe=READING, folder=folder / "state")
    checkpoints.save(place, body, tokenizer, card=__doc__)
    return place


def perplexity(model: str | Path) -> float:
    """Of a body, per word, on HELD_OUT reviews that nothing has learnt from."""
    body, tokenizer = checkpoints.load(model, device.choose())
    reviews = corpora.load(TASK)["test"].shuffle(seed=0)["text"][:HELD_OUT]
    return evaluate(body, tokenizer, list(map(normalise, reviews))).word_perplexity


def measure() -> dict:
    """One row for each number of labels, compared with the stored rows of `tasks`.

    Raises FileNotFoundError where the results of `tasks` are not stored.
    """
    beside = results.stored("tasks")["rows"]
    place = read_reviews(runner.FOLDER / "reviews")
    asked = [Job(str(place), labels, seed) for labels in LABELS for seed in tasks.SEEDS]
    runs = runner.run_all(asked)
    found = runner.groups(runs, len(tasks.SEEDS))
    rows, comparisons = [], []
    for labels, mine in zip(LABELS, found, strict=True):
        row = {"task": TASK, "labels": labels, "scheme": READ, "seeds": list(tasks.SEEDS)}
        row |= runner.over_seeds([runner.error_of(each) for each in mine])
        row |= {"judged": mine[0]["of"], "recipe": mine[0]["recipe"]}
        rows.append(row | {"wrong": [each["wrong"] for each in mine]})
        for rival in (FULL.name, tasks.TFIDF):
            theirs = next(
                each
                for each in beside
                if (each["task"], each["labels"], each["scheme"]) == (TASK, labels, rival)
            )
            pair = (
                {"test_wrong": one["wrong"], "errors": one["errors"]} for one in (rows[-1], theirs)
            )
            entry = {"labels": labels, "against": rival}
            comparisons.append(entry | apart(*pair, mine[0]["of"]))
    runner.correct(comparisons)
    return {
        "job": "reviews",
        **runner.provenance(
            "IMDB, 1,000 reviews of its test split", runs=runs, note=runner.pooled()
        ),
        "model": tasks.MODEL,
        "tokens": TOKENS,
        "reading": asdict(READING),
        "word_perplexity": {"before": perplexity(tasks.MODEL), "after": perplexity(place)},
        "rows": rows,
        "comparisons": comparisons,
    }


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row a number of labels."""
    rivals = list(dict.fromkeys(entry["against"] for entry in study["comparisons"]))
    before, after = study["word_perplexity"].values()
    lines = [
        "Full fine-tuning on reviews after the body has gone on pretraining for "
        f"{study['tokens']:,} tokens of IMDB's training reviews, without their labels (word "
        f"perplexity of other reviews {before:.0f} → {after:.0f}). Points of error against the "
        "rows above on the same samples of labels, with 95 % interval over samples; p is of a "
        f"sign-flip test over reviews, Holm-corrected. {source(study, 'lesson 06b')}",
        "",
        line("labels", "error", *(f"against {rival}" for rival in rivals)),
        "|---:|---:|" + "---:|" * len(rivals),
    ]
    for row in study["rows"]:
        beside = {e["against"]: e for e in study["comparisons"] if e["labels"] == row["labels"]}
        points = [points_cell(beside[rival]) for rival in rivals]
        lines.append(line(f"{row['labels']:,}", error_cell(row), *points))
    return "\n".join(lines)
