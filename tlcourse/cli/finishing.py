"""What comes after a pretraining: its leg in the log, the checkpoint, its figures and its card."""

from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tlcourse import checkpoints
from tlcourse.bpe import Tokenizer
from tlcourse.cli import cards, limits
from tlcourse.cli.evaluate import evaluate
from tlcourse.device import Compute
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.transformer import Transformer

READ = ("tokens", "held_out")  # besides texts and words; earlier versions did not count the last
HISTORY = 300  # points of the loss curve kept in training.json


def leg(
    arguments: SimpleNamespace,
    recipe: PretrainingRecipe,
    history: list[dict],
    *,
    made: dict[str, Any],
    begin: int,
    hardware: str,
) -> dict[str, Any]:
    """What the log and the card keep of this leg of training; `made` tells of its corpus."""
    samples = made.get("samples", [])
    stride = -(-len(history) // HISTORY)
    return {
        "objective": arguments.objective,
        "start": checkpoints.name_of(arguments.start) if arguments.start else "random weights",
        "corpus": [
            f"{name}{limits.SAMPLE}" if name in samples else name for name in made["corpus"]
        ],
        "read": made.get("read", {}) | {key: made[key] for key in READ if key in made},
        "tokens": len(history) * recipe.batch_size * recipe.length,
        "steps": len(history),
        "decay_began_at_step": begin,
        "seconds": history[-1]["seconds"],
        "hardware": hardware,
        "recipe": asdict(recipe),
        "history": [
            {key: record[key] for key in ("step", "loss", "seconds")}
            for record in [*history[:-1:stride], history[-1]]
        ],
    }


def was_finished(folder: Path, legs: list[dict]) -> bool:
    """Whether a checkpoint of these legs is there, and measured; if so, its card is made whole."""
    if not all((folder / name).exists() for name in ("model.safetensors", "training.json")):
        return False
    log = checkpoints.log_of(folder)
    if "samples" not in log or _told(log["legs"]) != _told(legs):
        return False
    checkpoints.rewrite(folder, cards.card(checkpoints.name_of(folder), log), log)
    return True


def _told(legs: list[dict]) -> list[tuple]:
    """What each leg started from, and how it went."""
    return [(leg.get("start"), leg.get("history")) for leg in legs]


def save(folder: Path, model: Transformer, tokenizer: Tokenizer, legs: list[dict]) -> None:
    """Writes a checkpoint that is not measured yet."""
    log = {"legs": legs, "evaluation": {}}
    card = cards.card(folder.resolve().parent.name, log)
    checkpoints.save(folder, model, tokenizer, card=card, log=log)


def measure(folder: Path, legs: list[dict], compute: Compute) -> None:
    """Measures it on text that was held out; its pronouns only if some of its text is English."""
    english = any(not limits.own_name(label) for leg in legs for label in leg["corpus"])
    evaluate(folder, on=["held-out", *["pronouns"] * english], compute=compute)
