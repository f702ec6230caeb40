"""Which pretraining objective teaches most in the same processor time?

Each objective of `tlcourse.objectives` trains a body of one shape from random weights, on the text
and with the vocabulary of the shipped models, by one recipe. Next-token prediction reads a fixed
number of tokens. The others read that number divided by how many times as long their steps take, as
`python -m benchmarks objective_speeds` has stored it, so that all have the same processor time.
Every learning rate falls to 0 at the end. No token is read twice. Therefore static masks are left
out: they differ from dynamic ones only where a window comes back. So is permutation LM, whose body
has no checkpoint.

What is judged is the body, without decoder and further heads: fine-tuned on questions (TREC), on
the sentiment of sentences (SST-2), on pairs (RTE) and on names (WikiANN), and read by a linear
probe for parts of speech (UD English EWT), in the layer that is best on validation sentences. One
recipe of fine-tuning, fixed beforehand, serves all bodies and tasks. Its learning rate is 1e-3: on
dev splits larger models were best at 5e-4 and 1e-3 on TREC (`screen`) and at 2e-3 on WikiANN
(`beyond_rates`). Nothing is chosen by a score. A body that learnt to read in two ways, as prefix
LM, hybrid and UniLM do, is judged in both, from left to right and from both sides; so are random
weights. The others are judged as they were trained.

For scale, two shipped models and a released one are judged alike. They are larger and have read
more; the released one takes a lower learning rate, as in the lessons.

All objectives take the learning rates of the recipe. `python -m benchmarks pretext_rates` trains
some of them, with one seed, at a half and a quarter of these rates. `python -m benchmarks
pretext_states` measures how much alike the states of a body are, for all bodies that the two have
left in `runs/pretexts/`.

A seed stands for weights, windows, corruptions, new heads, and the drawn labels of TREC, SST-2 and
RTE. Runs that were stopped go on: states and checkpoints lie in `runs/pretexts/`, with the finished
jobs, which are carried in `benchmarks/finished/`. Budgets are part of a job, so other stored speeds
are other jobs.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch.nn import functional as F

from benchmarks import clocks, markdown, runner
from benchmarks.markdown import error_cell, source
from benchmarks.speed.objectives import BODY, RECIPE, TINY, all_objectives
from benchmarks.studies import beyond, growth, pretraining_runs, released, tasks
from tlcourse import checkpoints, device, files, pretraining, results, sizes
from tlcourse.adaptation import FULL, Recipe
from tlcourse.batching import Mixture, TokenFile
from tlcourse.bpe import Tokenizer
from tlcourse.objectives import Objective
from tlcourse.objectives.objective import Model
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.transformer import Config, Transformer

SEEDS = (0, 1, 2)  # one takes about two core hours
TIMES = (0.25, 0.5, 1.0)  # the learning rates of the recipe, in `pretext_rates`
RATED = ("next token", "masked", "span corruption", "replaced tokens", "Quick Thoughts")
BESIDE = {"causal-small": 1e-3, "masked-small": 1e-3, released.MODEL: 2e-4}  # and learning rates
STATIC = "masked, the same masks"
LEFT_OUT = (STATIC, "permutation LM")
UNTRAINED = "not pretrained"
ONWARD, BOTH_SIDES = "left to right", "both sides"
TWO_WAYS = ("prefix LM", "hybrid", "UniLM", UNTRAINED)
NAMES, PROBE = "wikiann", "parts of speech"
JUDGED = {  # by task, what its figure is
    "trec": "error, TREC-6 test, after {labels:,} questions",
    "sst-2": "error, SST-2 validation, after {labels:,} sentences",
    "rte": "error, RTE validation, after {labels:,} pairs",
    NAMES: "entity F1, English WikiANN test, after {labels:,} sentences",
    PROBE: "words right in EWT's test, a linear probe of {labels:,} sentences",
}


@dataclass(frozen=True)
class Plan:
    """What is trained and how it is judged, at a size."""

    text: int = 12_000_000  # tokens in the file, more than any objective reads
    tokens: int = 6_000_000  # that next-token prediction reads
    shape: Config = BODY
    pretraining: PretrainingRecipe = RECIPE
    labels: tuple[int, ...] = (1_000, 1_000, 500, 500, 1_000)  # of the tasks in JUDGED
    adaptation: Recipe = Recipe(6, 1e-3, min_steps=100, head_learning_rate=3e-3)
    probed: int = 500  # sentences to choose a layer by, and as many to judge the probe on

    def labels_of(self) -> dict[str, int]:
        """How many examples each task is learnt from, at most."""
        return dict(zip(JUDGED, self.labels, strict=True))

    def at(self, times: float) -> "Plan":
        """The plan with its learning rates, AdamW's and Muon's, multiplied by `times`."""
        standard = self.pretraining
        muon = standard.muon_learning_rate
        rates = {
            "learning_rate": times * standard.learning_rate,
            "muon_learning_rate": None if muon is None else times * muon,
        }
        return replace(self, pretraining=replace(standard, **rates))


PLANS = {
    "tiny": Plan(4_096, 512, TINY.shape, TINY.recipe, (24,) * 5, Recipe(1), 8),
    "small": Plan(),
    "full": Plan(),
}


class Meter:
    """Counts the processor seconds of a run's steps, over all its sittings, in a file."""

    def __init__(self, path: Path):
        self.path, self.clock = path, runner.processor_clock()
        kept: list = files.read_json(path) if path.exists() else [0, 0.0]
        self.steps, self.seconds = kept
        self.last = self.clock()

    def __call__(self, record: dict) -> None:
        """Counts a step."""
        now = self.clock()
        self.steps, self.seconds, self.last = self.steps + 1, self.seconds + now - self.last, now
        files.write_json(self.path, [self.steps, self.seconds])

    def of(self, steps: int) -> float:
        """The seconds of so many steps: after a stop, some may have been done and counted twice."""
        return steps * self.seconds / self.steps


@dataclass(frozen=True)
class Job(runner.Job):
    """One objective with one seed: its pretraining, and all scores of the body."""

    study = "pretexts"
    objective: str
    seed: int
    tokens: int  # that it reads
    recipe: Plan

    def weights(self) -> str:
        """Random ones."""
        return "none"

    def work(self) -> dict:
        """Pretrains, or goes on, and judges the body in each of its ways of reading."""
        file, tokenizer = pretraining_runs.corpus(self.recipe.text)
        torch.manual_seed(self.seed)
        if self.objective == UNTRAINED:
            body, facts = Transformer(self.recipe.shape), {"loss": None, "seconds": 0.0}
        else:
            body, facts = self.pretrained(file, tokenizer)
        ways = [ONWARD, BOTH_SIDES]
        if self.objective not in TWO_WAYS:
            ways = ways[:1] if body.config.causal else ways[1:]
        scores = {}
        for way in ways:
            turned = Transformer(replace(body.config, causal=way == ONWARD))
            turned.load_state_dict(body.state_dict())
            place = self.folder() / way
            checkpoints.save(place, turned, tokenizer, card=f"{self.objective}, of a study.\n")
            plan = self.recipe
            scores[way] = judged(
                place,
                plan.labels_of(),
                recipe=plan.adaptation,
                seed=self.seed,
                probed=plan.probed,
            )
        return facts | {"scores": scores}

    def pretrained(self, file: TokenFile, tokenizer: Tokenizer) -> tuple[Transformer, dict]:
        """The trained body; its last "loss", nats a target, and the "seconds" of its training."""
        objective = all_objectives(tokenizer)[self.objective]
        model = objective.model(self.recipe.shape)
        facts = pretrained(
            model,
            file,
            self.tokens,
            recipe=replace(self.recipe.pretraining, seed=self.seed),
            objective=objective,
            folder=self.folder(),
        )
        return objective.body(model), facts

    def told(self, result: dict) -> str:
        """Its first score in each way of reading."""
        scores = result["scores"].items()
        return ", ".join(f"{way} TREC {found['trec']['score']:.1f} %" for way, found in scores)


@dataclass(frozen=True)
class Beside(runner.Job):
    """A shipped or a released model, judged as the bodies of the study are."""

    study = "pretexts"
    model: str
    seed: int
    recipe: Plan

    def work(self) -> dict:
        """Judges it."""
        plan = self.recipe
        recipe = replace(plan.adaptation, learning_rate=BESIDE[self.model])
        options = {"recipe": recipe, "seed": self.seed, "probed": plan.probed}
        return {"scores": judged(self.model, plan.labels_of(), **options)}

    def told(self, result: dict) -> str:
        """Its first score."""
        return f"TREC {result['scores']['trec']['score']:.1f} %"


def pretrained(
    model: Model,
    file: TokenFile | Mixture,
    tokens: int,
    *,
    recipe: PretrainingRecipe,
    objective: Objective,
    folder: Path,
) -> dict:
    """Trains a model, or goes on; its last "loss", nats a target, and the "seconds" of training."""
    meter = Meter(folder / "seconds.json")
    history = pretraining.pretrain(
        model,
        file,
        tokens,
        recipe=recipe,
        objective=objective,
        compute=replace(device.choose(), compiles=False),  # as the speeds were measured
        folder=folder,
        on_step=[meter],
    )
    return {"loss": pretraining_runs.tail_loss(history), "seconds": meter.of(len(history))}


def judged(
    place: str | Path, labels: Mapping[str, int], *, recipe: Recipe, seed: int, probed: int = 0
) -> dict[str, dict]:
    """By task, a checkpoint's "score", "of" how many examples, and the "seconds" it took.

    `labels` says how many examples each task is learnt from; `probed` is that of a `Plan`.
    """
    found, clock = {}, runner.processor_clock()
    for task, count in labels.items():
        (score, of), seconds = clocks.timed(
            partial(_score, str(place), task, count, recipe, seed, probed), clock
        )
        found[task] = {"score": score, "of": of, "seconds": seconds}
    return found


def _score(
    place: str, task: str, labels: int, recipe: Recipe, seed: int, probed: int
) -> tuple[float, int]:
    """The score in percent, and the number of texts, sentences or words that it is of."""
    if task == NAMES:
        found = beyond.Job(task, labels, place, seed, recipe, model=place).work()
        return found["scores"]["F1"], found["of"]
    if task == PROBE:
        read = growth.read(*checkpoints.load(place), learnt=labels, judged=probed)
        words = sum(len(row.forms) for row in read[-1][1])
        return 100 * growth.tags(*read)["part of speech"][0], words
    found = tasks.Released(task, labels, FULL.name, seed, recipe, place).work()
    return runner.error_of(found), found["of"]


def over_seeds(found: Sequence[Mapping[str, Mapping]]) -> dict[str, dict]:
    """By task, the "scores" of what `judged` found with each seed, their "mean" and "interval".

    A single seed has no interval.
    """
    over = {}
    for task, first in found[0].items():
        scores = [one[task]["score"] for one in found]
        several = runner.over_seeds if len(scores) > 1 else pretraining_runs.mean_of
        over[task] = {**several(scores), "scores": scores, "of": first["of"]}
        over[task].pop("errors", None)
    return over


def jobs(plan: Plan, speeds: Sequence[Mapping], seeds: Sequence[int]) -> list[Job]:
    """The runs, those of one seed after those of the seed before; `speeds` are stored rows."""
    per_step = plan.pretraining.batch_size * plan.pretraining.length
    budgets = {
        row["objective"]: max(1, int(plan.tokens / row["ratio"] / per_step)) * per_step
        for row in speeds
        if row["objective"] not in LEFT_OUT
    }
    budgets[UNTRAINED] = 0
    return [
        Job(objective, seed, tokens, plan)
        for seed in seeds
        for objective, tokens in budgets.items()
    ]


def measure() -> dict:
    """A row an objective and way of reading, over its seeds.

    Raises FileNotFoundError where the results of `objective_speeds` are not stored.
    """
    found = _study("pretexts", {1.0: SEEDS})
    plan = PLANS[sizes.current().name]
    runs = runner.run_all(Beside(model, seed, plan) for model in BESIDE for seed in SEEDS)
    beside = [
        {"model": model, "scores": over_seeds([run["scores"] for run in mine])}
        for model, mine in zip(BESIDE, runner.groups(runs, len(SEEDS)), strict=True)
    ]
    return found | {"beside": beside}


def measure_rates() -> dict:
    """As `measure`, for the objectives RATED and each of TIMES, with the first seed."""
    return _study("pretext_rates", dict.fromkeys(TIMES, SEEDS[:1]), RATED)


def measure_states() -> dict:
    """How much alike states are: a row for each rate, objective and way of reading that was kept.

    "cosines", one for each of its "seeds", are means over all pairs of states of the beginnings of
    held-out articles, each as long as a window of pretraining. Raises FileNotFoundError where the
    results of `objective_speeds` are not stored, and where no body is kept.
    """
    plan, speeds = PLANS[sizes.current().name], results.stored("objective_speeds")["rows"]
    texts, rows = pretraining_runs.articles(), []
    for times in TIMES:
        kept = defaultdict(list)
        for job in jobs(plan.at(times), speeds, SEEDS):
            if times == 1 or job.objective in RATED:
                for way in (ONWARD, BOTH_SIDES):
                    if (job.folder() / way).exists():
                        kept[job.objective, way].append(job)
        for (objective, way), mine in kept.items():
            found = [_cosine(job.folder() / way, texts, plan) for job in mine]
            seeds = [job.seed for job in mine]
            row = {"times": times, "objective": objective, "reads": way, "seeds": seeds}
            rows.append(row | {"cosines": found})
    if not rows:
        raise FileNotFoundError(
            f"expected bodies in {runner.FOLDER / Job.study}, found none; `python -m benchmarks "
            "pretexts` leaves them there, unless their finished runs were put back"
        )
    return {
        "job": "pretext_states",
        **runner.provenance(f"validation articles of {pretraining_runs.HELD_OUT}"),
        "rows": rows,
    }


def _cosine(place: Path, texts: Sequence[str], plan: Plan) -> float:
    """The mean cosine of all pairs of states that a body has in texts."""
    body, tokenizer = checkpoints.load(place)
    ids = [tokenizer.encode(text)[: plan.pretraining.length] for text in texts]
    with torch.no_grad():
        states = [body.eval().hidden(torch.tensor([row]))[0] for row in ids]
    return float(F.normalize(torch.cat(states), dim=-1).mean(dim=0).square().sum())


def _study(name: str, seeds: Mapping[float, Sequence[int]], objectives: Sequence[str] = ()) -> dict:
    """The rows of some objectives, or of all, for each multiple of the learning rates."""
    plan, speeds = PLANS[sizes.current().name], results.stored("objective_speeds")["rows"]
    targets = {row["objective"]: row["targets_per_token"] for row in speeds} | {UNTRAINED: 0.0}
    pretraining_runs.corpus(plan.text)  # written once, before several processes want it
    every = [
        (times, job)
        for times, own in seeds.items()
        for job in jobs(plan.at(times), speeds, own)
        if not objectives or job.objective in objectives
    ]
    found = runner.run_all(job for _, job in every)
    groups: dict[tuple[float, str], list[dict]] = defaultdict(list)
    for (times, job), run in zip(every, found, strict=True):
        groups[times, job.objective].append(run)
    rows = [
        {"times": times} | _row(mine, way, targets[objective])
        for (times, objective), mine in groups.items()
        for way in mine[0]["scores"]
    ]
    return {
        "job": name,
        **runner.provenance(
            f"{', '.join(pretraining_runs.names())}; TREC-6, SST-2, RTE, WikiANN (English), UD "
            "English EWT",
            runs=found,
            note=runner.pooled(),
        ),
        "plan": asdict(plan),
        "judged": {
            task: text.format(labels=plan.labels_of()[task]) for task, text in JUDGED.items()
        },
        "rows": rows,
    }


def _row(mine: Sequence[dict], way: str, targets_per_token: float) -> dict:
    """An objective whose body reads in one way; the intervals are over seeds."""
    losses = [run["loss"] for run in mine if run["loss"] is not None]
    tokens = mine[0]["tokens"]
    return {
        "objective": mine[0]["objective"],
        "reads": way,
        "seeds": [run["seed"] for run in mine],
        "tokens": tokens,
        "targets": round(tokens * targets_per_token),
        "seconds": mean(run["seconds"] for run in mine),
        "loss": mean(losses) if losses else None,
        "scores": over_seeds([run["scores"][way] for run in mine]),
    }


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row an objective and way of reading."""
    rows = [
        [
            row["objective"],
            row["reads"],
            f"{row['tokens'] / 1e6:.2f}M",
            f"{row['targets'] / 1e6:.2f}M",
            "" if row["loss"] is None else f"{row['loss']:.2f}",
            *(error_cell(row["scores"][task]) for task in study["judged"]),
        ]
        for row in study["rows"]
    ]
    rows += [
        [each["model"], *[""] * 4, *(error_cell(each["scores"][task]) for task in study["judged"])]
        for each in study["beside"]
    ]
    first, shape = study["rows"][0], study["plan"]["shape"]
    counts = {task: f"{first['scores'][task]['of']:,}" for task in study["judged"]}
    judged = "; ".join(
        f"{task}: {text}, of {counts[task]}" for task, text in study["judged"].items()
    )
    seconds = max(row["seconds"] for row in study["rows"])
    head = ["", "reads", "tokens", "targets", "loss", *study["judged"]]
    return markdown.section(
        "## Pretraining objectives in the same time",
        f"Bodies of {shape['layers']} layers and width {shape['width']}, pretrained for at most "
        f"{seconds:,.0f} s of processor time each, then judged alike with one recipe. The figures "
        f"are in percent, {markdown.over(first['seeds'])} ({judged}). "
        "Losses are in nats a target, and only compare runs of one objective. Of replaced tokens, "
        "the targets are the generator's; the discriminator has one at every token. The last rows "
        "are larger models that have read more, for scale. "
        f"{source(study, 'lesson 10')}",
        markdown.table(head, rows, left=(0, 1)),
    )


def rates_section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row an objective and way of reading, with the scores at each rate."""
    cells: dict[tuple[str, str], list[str]] = defaultdict(list)
    shown = ("trec", NAMES)
    for row in study["rows"]:
        scores = [f"{row['scores'][task]['mean']:.1f}" for task in shown]
        cells[row["objective"], row["reads"]] += [f"{row['loss']:.2f}", *scores]
    head = [f"{what}, × {times:g}" for times in TIMES for what in ("loss", *shown)]
    return markdown.section(
        "### Other learning rates",
        "As above, with so many times the learning rates, of one seed. "
        f"{source(study, 'lesson 10')}",
        markdown.table(
            ["", "reads", *head], [[*of, *own] for of, own in cells.items()], left=(0, 1)
        ),
    )


def states_section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row an objective and way of reading, and a column a rate."""
    cells: dict[tuple[str, str], dict[float, str]] = defaultdict(dict)
    for row in study["rows"]:
        told = ", ".join(f"{cosine:.2f}" for cosine in row["cosines"])
        cells[row["objective"], row["reads"]][row["times"]] = told
    table = [[*of, *(own.get(times, "") for times in TIMES)] for of, own in cells.items()]
    return markdown.section(
        "### How much alike the states are",
        "The mean cosine of two states of a body on held-out articles; a figure for each seed "
        f"whose body was kept, with so many times the learning rates. {source(study, 'lesson 10')}",
        markdown.table(["", "reads", *(f"× {times:g}" for times in TIMES)], table, left=(0, 1)),
    )


STUDIES = {
    "pretexts": runner.Measurement(measure, section),
    "pretext_rates": runner.Measurement(measure_rates, rates_section),
    "pretext_states": runner.Measurement(measure_states, states_section),
}
