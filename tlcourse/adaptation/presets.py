"""How a scheme trains where nothing else is asked for: as it was chosen on dev and then tested.

Schemes that add nothing train as they were when they read TREC-6's test set with all labels
(`python -m benchmarks schemes` and `other_schemes`), with the numbers that SCHEMES has. What is
added has its usual size there, not the larger one that was chosen (LoRA: rank 8, not 32), at the
rate that was best for that size (`screen`). With few texts, four schemes have the rate of
`few_labels`. A released model trains at the rates that all-MiniLM-L6-v2 learnt at best on the dev
split (`released`).
"""

from tlcourse.adaptation.schemes import FULL, Scheme
from tlcourse.recipes import Recipe

FEW = 1_000  # texts: with less, a scheme that is in FEW_RATES takes the rate there
MIN_STEPS = 200  # more epochs, until there are so many steps
EPOCHS = 10
HEAD_RATE = 3e-3  # of the head, where something of the body moves or is added to its layers
RELEASED_EPOCHS = 5  # of a released model: it needs fewer, and each takes longer
FROZEN = ("frozen body", "mix of layers")  # there the head follows the recipe's rate
RATES = {  # of recipes; the scheme's groups multiply it
    FULL.name: 5e-4,
    "frozen body": 8e-3,
    "mix of layers": 4e-3,
    "top 2 layers": 8e-3,
    "gradual unfreezing": 2e-3,
    "discriminative rates": 2e-3,
    "Houlsby adapters": 2e-3,
    "Pfeiffer adapters": 2e-3,
    "LoRA": 2e-3,
    "LoRA, all layers": 1e-3,
    "BitFit": 8e-3,
    "prefix tuning": 8e-3,
    "L2-SP": 5e-4,
    "with the LM loss": 1e-3,
}
FEW_RATES = {"frozen body": 16e-3, "LoRA, all layers": 5e-4}  # where few texts want others

RELEASED_RATES = {  # of a released model, as 500 labels chose them
    "full fine-tuning": 5e-05,
    "frozen body": 0.0128,
    "mix of layers": 0.0016,
    "top 2 layers": 0.0016,
    "gradual unfreezing": 0.0002,
    "discriminative rates": 0.0001,
    "Houlsby adapters": 0.0002,
    "Pfeiffer adapters": 0.0032,
    "LoRA": 0.0016,
    "LoRA, all layers": 0.0004,
    "BitFit": 0.0016,
    "prefix tuning": 0.0128,
    "L2-SP": 5e-05,
}
RELEASED_MANY = {  # and as all labels did, where they were asked
    "full fine-tuning": 5e-05,
    "frozen body": 0.0256,
    "LoRA, all layers": 0.0004,
}


def preset(scheme: Scheme, texts: int, *, released: bool = False) -> Recipe:
    """The recipe of a scheme for so many texts; one that is not in RATES has the lessons'.

    With `released` it is that of a model which others released.
    """
    if scheme.name not in RATES:
        return Recipe(min_steps=MIN_STEPS)
    if released:
        rates = RELEASED_RATES if texts < FEW else RELEASED_RATES | RELEASED_MANY
    else:
        rates = RATES | FEW_RATES if texts < FEW else RATES
    return Recipe(
        epochs=RELEASED_EPOCHS if released else EPOCHS,
        learning_rate=rates.get(scheme.name, RATES[scheme.name]),
        head_learning_rate=None if scheme.name in FROZEN else HEAD_RATE,
        min_steps=MIN_STEPS,
    )
