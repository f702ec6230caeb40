"""Which module measures what, by the name that `python -m benchmarks NAME` takes."""

import importlib
from typing import Any

SPEED = ("pretraining", "finetuning", "bpe", "lora")  # what `all` runs
STUDIES = {  # by module of `studies`, the names of what it measures
    "transfer": ("transfer",),
    "released": ("released", "transfer_released"),
    "tasks": ("tasks", "reviews", "tasks_released"),
    "beyond": ("beyond_rates", "tasks_beyond"),
    "prompting": ("prompting",),
    "summaries": ("summaries",),
    "grid_search": ("screen",),
    "trec": ("schemes", "other_schemes", "few_labels", "tapt", "tapt_texts", "more_signal"),
    "combined": ("combined", "distilled"),
    "tutorial": ("tutorial",),
    "behaviour": ("behaviour",),
    "probing": ("probing", "probing_pairs", "probing_released"),
    "growth": ("growth",),
    "objectives": ("objectives",),
    "pretexts": ("pretexts", "pretext_rates", "pretext_states"),
    "pretraining_choices": ("pretraining_choices",),
    "word_vectors": ("word_vectors",),
    "sentence_vectors": ("sentence_vectors",),
    "elmo": ("elmo",),
    "ulmfit": ("ulmfit",),
    "encoders": ("encoders",),
    "scaling": ("scaling",),
    "ablation": ("ablation",),
    "eight_bits": ("eight_bits",),
    "stages": ("last_leg", "masked_leg"),
    "interruptions": ("interruptions",),
}
MODULES = {name: f"speed.{name}" for name in (*SPEED, "page", "looking", "graders")}
# There are studies of these names, too.
MODULES |= {
    "objective_speeds": "speed.objectives",
    "word_vector_speeds": "speed.word_vectors",
    "encoder_speeds": "speed.encoders",
}
MODULES |= {name: f"studies.{module}" for module, names in STUDIES.items() for name in names}


def study_of(name: str) -> Any:
    """Returns what has the `measure` of that name: a module, or a value of its table STUDIES."""
    module = importlib.import_module(f"benchmarks.{MODULES[name]}")
    return getattr(module, "STUDIES", {}).get(name, module)
