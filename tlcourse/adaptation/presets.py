"""How a scheme trains where nothing else is asked for: at the learning rate that was best for it.

Each scheme that is here tried six learning rates or more on TREC-6's dev split with all labels
(`python -m benchmarks screen`), and four of them with 200 (`python -m benchmarks few_labels`).
"""

from tlcourse.adaptation.adapting import Recipe
from tlcourse.adaptation.schemes import FULL, Scheme

FEW = 1_000  # texts: with less, what was best with 200 labels is taken, where that was searched
MIN_STEPS = 200  # more epochs, until there are so many steps
HEAD_RATE = 3e-3  # of the head, where something else moves, too
MANY_EPOCHS, FEW_EPOCHS = 5, 10  # those of the searches
FROZEN = ("frozen body", "mix of layers")  # there the recipe's learning rate is the head's
RATES = {  # of recipes, with few texts and with many; the scheme's groups multiply it
    FULL.name: (5e-4, 5e-4),
    "frozen body": (16e-3, 8e-3),
    "mix of layers": (4e-3, 4e-3),
    "top 2 layers": (8e-3, 8e-3),
    "gradual unfreezing": (2e-3, 2e-3),
    "discriminative rates": (2e-3, 2e-3),
    "Houlsby adapters": (2e-3, 2e-3),
    "Pfeiffer adapters": (2e-3, 2e-3),
    "LoRA": (2e-3, 2e-3),
    "LoRA, all layers": (5e-4, 1e-3),
    "BitFit": (8e-3, 8e-3),
    "prefix tuning": (8e-3, 8e-3),
    "L2-SP": (2e-3, 2e-3),
    "with the LM loss": (1e-3, 1e-3),  # searched at a weight of 0.3
}


def preset(scheme: Scheme, texts: int) -> Recipe:
    """The recipe of a scheme for so many texts; one that is not in RATES has the lessons'."""
    if scheme.name not in RATES:
        return Recipe(min_steps=MIN_STEPS)
    few, many = RATES[scheme.name]
    return Recipe(
        epochs=FEW_EPOCHS if texts < FEW else MANY_EPOCHS,
        learning_rate=few if texts < FEW else many,
        head_learning_rate=None if scheme.name in FROZEN else HEAD_RATE,
        min_steps=MIN_STEPS,
    )
