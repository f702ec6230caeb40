"""The plan: what is measured and trained on the GPU, in this order; and the clock of a slice."""

import time
from dataclasses import dataclass

from ignite.engine import Events

from tlcourse import sizes
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.training import Trainer
from tlcourse.transformer import Config

MARGIN = 45.0  # seconds at the end of a slice: a last evaluation, and handing back


@dataclass(frozen=True)
class Measurement:
    """One of `measuring.MEASUREMENTS`; it runs in a process of its own, never longer than that."""

    name: str
    least: float  # seconds, without which a slice does not begin it


@dataclass(frozen=True)
class Training:
    """A model: so many `tokens`, over as many slices as it takes; or `minutes`, in one slice.

    `start` is an earlier training, from whose checkpoint it goes on with a fresh optimizer; without
    one the model is new and of the shape `config`. What is trained for minutes is not resumable and
    its weights stay where they are: only log and card are handed back. `published`: what the 2019
    tutorial says of such a model.
    """

    name: str
    recipe: PretrainingRecipe
    tokens: int = 0
    minutes: float = 0.0  # at most; less if the slice has less
    start: str = ""
    config: Config = Config()
    published: tuple[tuple[str, float], ...] = ()
    least: float = 90.0  # seconds: compiling alone takes half a minute

    @property
    def tokens_per_step(self) -> int:
        """All windows of a step."""
        return self.recipe.batch_size * self.recipe.length


# Width 410 in 10 heads of an odd width each: without rotary positions, as theirs was.
TUTORIAL = Config(width=410, layers=16, heads=10, feed_forward=2100, rotary=False)
PUBLISHED = (("word_perplexity", 29.0), ("parameters", 50e6), ("gpu_hours", 120.0))
TINY = {"batch_size": 4, "length": 32, "warmup": 4}
LITTLE = Config(width=32, layers=2, heads=2, feed_forward=64)

FULL = (
    Measurement("tests", 150.0),
    Measurement("pretraining-causal", 200.0),
    Measurement("pretraining-masked", 200.0),
    Measurement("finetuning-causal", 120.0),
    Measurement("finetuning-two-sided", 120.0),
    Training(
        "short windows",
        PretrainingRecipe("causal", batch_size=256, length=64, decay=0.0),
        540_000_000,
    ),
    Training(
        "causal",
        PretrainingRecipe("causal", length=256, decay=1.0),
        60_000_000,
        start="short windows",
    ),
    Training(
        "masked",
        PretrainingRecipe("masked", length=256, mask_probability=0.3),
        200_000_000,
        start="causal",
    ),
    Training(
        "tutorial",
        PretrainingRecipe("causal", length=256, learning_rate=1e-3, muon_learning_rate=0.005),
        minutes=60.0,
        config=TUTORIAL,
        published=PUBLISHED,
        least=300.0,
    ),
)
REHEARSAL = (
    *FULL[:5],
    Training("short windows", PretrainingRecipe("causal", **TINY), 12 * 128, config=LITTLE),
    Training("causal", PretrainingRecipe("causal", **TINY), 4 * 128, start="short windows"),
    Training("masked", PretrainingRecipe("masked", **TINY), 8 * 128, start="causal"),
    Training(
        "tutorial",
        PretrainingRecipe("causal", **TINY),
        minutes=0.005,
        config=Config(width=30, layers=2, heads=10, feed_forward=60, rotary=False),
        published=PUBLISHED,
    ),
)
PLANS = {"tiny": REHEARSAL, "small": FULL, "full": FULL}


def current() -> tuple[Measurement | Training, ...]:
    """The plan of the size that is set."""
    return PLANS[sizes.current().name]


class Clock:
    """What is left of a slice of so many minutes, MARGIN taken off."""

    def __init__(self, minutes: float):
        self.end = time.monotonic() + 60 * minutes - MARGIN

    def left(self) -> float:
        """Seconds."""
        return self.end - time.monotonic()

    def stops(self, engine: Trainer) -> None:
        """A handler for a training, which then ends after the step in which nothing is left."""

        @engine.on(Events.ITERATION_COMPLETED)
        def look() -> None:
            if self.left() <= 0:
                engine.terminate()
