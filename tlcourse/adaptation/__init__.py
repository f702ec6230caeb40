"""Adapting a pretrained model to a task: one path, four knobs, every one a value.

    from tlcourse import corpora
    from tlcourse.adaptation import AddedOnly, Classifier, LoRA, Recipe, Scheme, adapt

    train = corpora.load("trec")["train"]
    start = Classifier.from_checkpoint("causal-small", labels=corpora.TREC_LABELS)
    scheme = Scheme(edit=LoRA(rank=8, layers="all"), groups=AddedOnly(factor=8))
    adapted = adapt(start, train["text"], train["label"], scheme=scheme, recipe=Recipe(epochs=5))
    adapted.predict(["Who left the lights on?"])
    adapted.report
    adapted.save("lora-trec")

`start` is left unchanged. A scheme's four choices are an edit (what is added), groups (what is
trained), a schedule (how fast, and when) and an extra loss. SCHEMES has the course's schemes by
name; a choice of your own is a frozen dataclass with `__call__`.
"""

from tlcourse.adaptation import baselines, leaderboard
from tlcourse.adaptation.adapting import adapt, classification_loss, prepare
from tlcourse.adaptation.bi_encoder import BiEncoder
from tlcourse.adaptation.chooser import Chooser
from tlcourse.adaptation.classifier import Classifier, misclassified
from tlcourse.adaptation.edits import (
    AdapterLayer,
    Adapters,
    HiddenHead,
    LayerMix,
    LoRA,
    LoRALinear,
    Mix,
    Prefixes,
    TwoBlocks,
    Unchanged,
    merge_lora,
)
from tlcourse.adaptation.examples import Batches, by_length, encode
from tlcourse.adaptation.extra_losses import EWC, L2SP, LanguageModelling, causal_nats, fisher
from tlcourse.adaptation.feature_tagger import FeatureTagger
from tlcourse.adaptation.generator import Generator
from tlcourse.adaptation.groups import (
    HEAD_FACTOR,
    AddedOnly,
    ByLayer,
    Everything,
    Group,
    HeadOnly,
    Named,
    TopLayers,
    head_names,
)
from tlcourse.adaptation.knobs import Record, Tensors
from tlcourse.adaptation.more_signal import pretrain_on_texts, self_train
from tlcourse.adaptation.pooled import POOLINGS
from tlcourse.adaptation.presets import preset
from tlcourse.adaptation.report import Report
from tlcourse.adaptation.schedules import (
    ChainThaw,
    GradualUnfreezing,
    OneCycle,
    SequentialUnfreezing,
    SlantedTriangular,
    Triangular,
)
from tlcourse.adaptation.schemes import FULL, SCHEMES, Scheme
from tlcourse.adaptation.similarity import Similarity
from tlcourse.adaptation.span_reader import SpanReader, best_span
from tlcourse.adaptation.tagger import Tagger
from tlcourse.adaptation.task_model import TaskModel
from tlcourse.adaptation.windows import WINDOWS
from tlcourse.recipes import Recipe

__all__ = [
    "EWC",
    "FULL",
    "HEAD_FACTOR",
    "L2SP",
    "POOLINGS",
    "SCHEMES",
    "WINDOWS",
    "AdapterLayer",
    "Adapters",
    "AddedOnly",
    "Batches",
    "BiEncoder",
    "ByLayer",
    "ChainThaw",
    "Chooser",
    "Classifier",
    "Everything",
    "FeatureTagger",
    "Generator",
    "GradualUnfreezing",
    "Group",
    "HeadOnly",
    "HiddenHead",
    "LanguageModelling",
    "LayerMix",
    "LoRA",
    "LoRALinear",
    "Mix",
    "Named",
    "OneCycle",
    "Prefixes",
    "Recipe",
    "Record",
    "Report",
    "Scheme",
    "SequentialUnfreezing",
    "Similarity",
    "SlantedTriangular",
    "SpanReader",
    "Tagger",
    "TaskModel",
    "Tensors",
    "TopLayers",
    "Triangular",
    "TwoBlocks",
    "Unchanged",
    "adapt",
    "baselines",
    "best_span",
    "by_length",
    "causal_nats",
    "classification_loss",
    "encode",
    "fisher",
    "head_names",
    "leaderboard",
    "merge_lora",
    "misclassified",
    "prepare",
    "preset",
    "pretrain_on_texts",
    "self_train",
]
