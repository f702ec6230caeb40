"""The models of the plan: trained until the clock of a slice ends them, saved, measured."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks import runner
from benchmarks.gpu import place
from benchmarks.gpu.plan import MARGIN, Clock, Training
from benchmarks.studies import pretraining_runs
from tlcourse import checkpoints, corpora, device, evaluation, files, pretraining
from tlcourse.batching import TokenFile
from tlcourse.bpe import Tokenizer
from tlcourse.corpora.catalogue import BUNDLED
from tlcourse.evaluation import model_card
from tlcourse.pretraining import logs
from tlcourse.transformer import Transformer, count_parameters

SAY_EVERY = 15.0  # seconds between two lines on how it goes


def train(leg: Training, clock: Clock) -> bool:
    """Trains from where it was until it is finished (True) or nothing is left (False).

    A finished one is saved, measured and noted. What is trained for minutes is always finished.
    """
    data, folder = place.data(), place.folder() / "training" / leg.name
    file, model = TokenFile(data / "tokens.bin"), _model(leg)
    more = {"recipe": leg.recipe, "compute": device.choose()}
    more["on_step"] = [logs.JsonLog(folder, leg.tokens_per_step), Said(leg)]
    if leg.minutes:
        minutes = min(leg.minutes, max(clock.left() - MARGIN, 0.0) / 60)
        history, begin = pretraining.pretrain_for(model, file, minutes, **more)
    else:
        more |= {"folder": folder, "handlers": [clock.stops]}
        history = pretraining.pretrain(model, file, leg.tokens, **more)
        if len(history) < leg.tokens // leg.tokens_per_step:
            return False
        begin = pretraining.decay_began(history, leg.recipe)
    _finish(leg, model, history, begin)
    return True


class Said:
    """Prints a line on how a training goes, now and then."""

    def __init__(self, leg: Training):
        self.leg, self.first, self.at = leg, None, 0.0

    def __call__(self, record: dict) -> None:
        if self.first is None:
            self.first, self.at = record, record["seconds"]
        elif record["seconds"] - self.at >= SAY_EVERY:
            self.at = record["seconds"]
            steps, seconds = (record[key] - self.first[key] for key in ("step", "seconds"))
            tokens = (record["step"] + 1) * self.leg.tokens_per_step
            print(
                f"[gpu] {self.leg.name}: {tokens / 1e6:,.1f}M tokens, loss {record['loss']:.3f}, "
                f"{steps * self.leg.tokens_per_step / seconds:,.0f} tokens/s",
                flush=True,
            )


def _model(leg: Training) -> Transformer:
    """The model before the first step."""
    start = str(place.folder() / "checkpoints" / leg.start) if leg.start else ""
    entries = Tokenizer.load(place.data() / "tokenizer.json").vocabulary_size
    config = replace(leg.config, vocabulary_size=entries)
    run = pretraining_runs.Run(leg.name, leg.recipe, (leg.tokens,), start, config)
    return run.model_at_start()


def _finish(leg: Training, model: Transformer, history: list[dict], begin: int) -> None:
    """Checkpoint, figures, card, row; the state is not needed any more."""
    data, done = place.data(), place.folder()
    made, compute = files.read_json(data / "corpus.json"), device.choose()
    start = done / "checkpoints" / leg.start if leg.start else ""
    legs = checkpoints.log_of(start)["legs"] if leg.start else []
    legs += [
        logs.leg(
            leg.recipe,
            history,
            start=checkpoints.name_of(start) if start else "",
            made=made,
            begin=begin,
            hardware=device.describe(compute),
        )
    ]
    log = {"legs": legs, "evaluation": {}}
    tokenizer = Tokenizer.load(data / "tokenizer.json")
    with _checkpoint_of(leg) as folder:
        checkpoints.save(folder, model, tokenizer, card=model_card.card(leg.name, log), log=log)
        text, figures = _figures(leg, folder)
        log["evaluation"][text] = figures
        checkpoints.rewrite(folder, model_card.card(leg.name, log), log)
    seconds, tokens = history[-1]["seconds"], len(history) * leg.tokens_per_step
    row = {
        "job": f"training, {leg.name}",
        "tokens": tokens,
        "seconds": seconds,
        "tokens_per_second": round(tokens / seconds),
        "parameters": count_parameters(model.config)["total"],
        "last_loss": pretraining_runs.tail_loss(history),
        "evaluation": {text: figures},
        "published": dict(leg.published),
    }
    training = done / "training" / leg.name
    lines = (training / logs.LOG).read_text(encoding="utf-8")
    files.write_text(done / "logs" / leg.name / logs.LOG, lines)
    place.note(leg.name, {**runner.provenance(", ".join(made["corpus"])), "rows": [row]})
    shutil.rmtree(training)


@contextmanager
def _checkpoint_of(leg: Training) -> Iterator[Path]:
    """Where the checkpoint goes; where only log and card are kept, weights are gone afterwards."""
    if not leg.minutes:
        yield place.folder() / "checkpoints" / leg.name
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / leg.name
        yield folder
        for name in ("README.md", "training.json"):
            text = (folder / name).read_text(encoding="utf-8")
            files.write_text(place.folder() / "logs" / leg.name / name, text)


def _figures(leg: Training, folder: Path) -> tuple[str, dict[str, float]]:
    """What text was read, and its perplexities as the weights lie there, in windows of training."""
    texts = files.read_json(place.data() / place.TEXTS)
    model, tokenizer = checkpoints.load(folder)
    window = leg.recipe.length
    if leg.recipe.objective == "masked":
        found = evaluation.evaluate_masked(model, tokenizer, texts["articles"], window=window)
    else:
        found = evaluation.evaluate(
            model, tokenizer, texts["articles"], window=window, stride=window // 2
        ).figures()
    sample = BUNDLED if texts["articles_source"] == corpora.SAMPLE else ""
    return f"{place.VALIDATION} validation{sample}", found
