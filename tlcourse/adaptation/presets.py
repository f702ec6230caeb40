"""The default recipe of each scheme, as it was chosen on TREC's dev split.

A scheme that adds nothing has the recipe with which it was tested on TREC-6 with all labels
(`python -m benchmarks schemes` and `other_schemes`). For schemes that add parameters, SCHEMES has
the usual size, not the larger one that was chosen there (LoRA: rank 8, not 32), so the rate is the
best for that size (`screen`). With few texts, the schemes in FEW_RATES have the rate of
`few_labels`. Released models have the rates that were best for all-MiniLM-L6-v2 on the dev split
(`released`).
"""

from tlcourse.adaptation.schemes import FULL, Scheme
from tlcourse.recipes import Recipe

FEW = 1_000  # texts: with fewer, the rates are those of FEW_RATES
MIN_STEPS = 200  # at least; small sets get more epochs
EPOCHS = 10
HEAD_RATE = 3e-3  # of the head, if part of the body is trained or something is added to its layers
RELEASED_EPOCHS = 5  # of a released model, which needs fewer, and each takes longer
FROZEN = ("frozen body", "mix of layers")  # whose head has the recipe's rate
RATES = {  # of recipes; the groups of a scheme multiply it
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
FEW_RATES = {"frozen body": 16e-3, "LoRA, all layers": 5e-4}  # if others are best with few texts

RELEASED_RATES = {  # of a released model, chosen with 500 labels
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
RELEASED_MANY = {  # of a released model, chosen with all labels
    "full fine-tuning": 5e-05,
    "frozen body": 0.0256,
    "LoRA, all layers": 0.0004,
}


def preset(scheme: Scheme, texts: int, *, released: bool = False) -> Recipe:
    """Returns the recipe of a scheme for this number of texts.

    A scheme that is not in RATES has the default recipe of the lessons. `released`: of a released
    model instead of one of the course.
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
