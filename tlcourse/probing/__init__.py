"""Probing: what a representation contains, measured by probes and their controls.

    import torch
    from tlcourse import checkpoints, probing
    from tlcourse.probing import tasks

    rows = [
        {"forms": ["The", "dog", "barks"], "upos": ["DET", "NOUN", "VERB"], "heads": [2, 3, 0]},
        {"forms": ["A", "cat", "sleeps"], "upos": ["DET", "NOUN", "VERB"], "heads": [2, 3, 0]},
    ]
    model, tokenizer = checkpoints.load("causal-small")
    features = probing.extract(model, tokenizer, [row["forms"] for row in rows])
    features.layers[3]                                      # (6, 256): words, width

    words = probing.examples(features, tasks.column(rows, "upos"), 3)
    probe = probing.linear_probe(words.features, words.labels)
    probe.judge(words.features, words.labels).accuracy      # and the baseline it has to beat:
    probing.word_types(words.groups, words.labels).judge(words.groups, words.labels).accuracy
    probing.selectivity(words, words).value                 # training data, test data
    probing.code_length(words.features, words.labels).compression

    heads = [row["heads"] for row in rows]
    measure = probing.distance_probe(features.sentences(3), heads)
    measure.judge(features.sentences(3), heads).uuas

    directions = probing.null_space(words.features, words.labels, rounds=2).directions

    def judge():                                            # any number: a loss, an accuracy
        return float(model(torch.tensor([tokenizer.encode(" The dog barks")])).logsumexp(-1).mean())

    def removal(rows):
        return probing.removing(model, rows, 3)

    probing.judge_removals(judge, {"tags": directions}, removal)      # against random directions

Sentences are lists of words, or texts with the spans of their words. Functions that measure a model
take the measure as an argument. `report` gives an accuracy together with all its baselines.
"""

from tlcourse.probing import tasks, trees
from tlcourse.probing.ablation import WAYS, erase_words, erasing_neurons
from tlcourse.probing.alignment import Aligned, align, covering, normalised, written
from tlcourse.probing.baselines import Guess, majority, random_encoder, word_types
from tlcourse.probing.controls import (
    FRACTIONS,
    CodeLength,
    Selectivity,
    code_length,
    control_labels,
    judge_control,
    selectivity,
    shuffled_labels,
)
from tlcourse.probing.effects import nats_per_token
from tlcourse.probing.features import POOLINGS, Features, extract
from tlcourse.probing.fitting import Judgement, Probe, Standardise
from tlcourse.probing.items import Examples, Task, examples, pair_task, sentence_task, word_task
from tlcourse.probing.neurons import SIGNALS, Neuron, correlations, find_neurons
from tlcourse.probing.probes import MixProbe, ScalarMix, hidden_probe, linear_probe, mix_probe
from tlcourse.probing.projection import (
    Draws,
    NullSpace,
    Removal,
    judge_removals,
    mean_directions,
    null_space,
    orthonormal,
    probe_directions,
    random_directions,
    remove,
    removing,
    steering,
)
from tlcourse.probing.reporting import Part, Report, report
from tlcourse.probing.structure import DepthProbe, DistanceProbe, depth_probe, distance_probe
from tlcourse.probing.tree_scores import (
    DepthScore,
    TreeScore,
    judge_depths,
    judge_distances,
    linear_distances,
)
from tlcourse.transformer import intervening

__all__ = [
    "FRACTIONS",
    "POOLINGS",
    "SIGNALS",
    "WAYS",
    "Aligned",
    "CodeLength",
    "DepthProbe",
    "DepthScore",
    "DistanceProbe",
    "Draws",
    "Examples",
    "Features",
    "Guess",
    "Judgement",
    "MixProbe",
    "Neuron",
    "NullSpace",
    "Part",
    "Probe",
    "Removal",
    "Report",
    "ScalarMix",
    "Selectivity",
    "Standardise",
    "Task",
    "TreeScore",
    "align",
    "code_length",
    "control_labels",
    "correlations",
    "covering",
    "depth_probe",
    "distance_probe",
    "erase_words",
    "erasing_neurons",
    "examples",
    "extract",
    "find_neurons",
    "hidden_probe",
    "intervening",
    "judge_control",
    "judge_depths",
    "judge_distances",
    "judge_removals",
    "linear_distances",
    "linear_probe",
    "majority",
    "mean_directions",
    "mix_probe",
    "nats_per_token",
    "normalised",
    "null_space",
    "orthonormal",
    "pair_task",
    "probe_directions",
    "random_directions",
    "random_encoder",
    "remove",
    "removing",
    "report",
    "selectivity",
    "sentence_task",
    "shuffled_labels",
    "steering",
    "tasks",
    "trees",
    "word_task",
    "word_types",
    "written",
]
