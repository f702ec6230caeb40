"""Pretraining: corpus to token file, token file to a decayed model, model to perplexities."""

from tlcourse.pretraining.corpus import encode_articles, prepare, training_articles, write_corpus
from tlcourse.pretraining.evaluation import Evaluation, evaluate
from tlcourse.pretraining.masked_evaluation import evaluate_masked
from tlcourse.pretraining.minimal_pairs import minimal_pairs
from tlcourse.pretraining.run import (
    OBJECTIVES,
    Recipe,
    batches,
    compile_blocks,
    loss_of,
    optimizers_for,
    pretrain,
    pretrain_for,
)
from tlcourse.pretraining.scoring import sentence_scores

__all__ = [
    "OBJECTIVES",
    "Evaluation",
    "Recipe",
    "batches",
    "compile_blocks",
    "encode_articles",
    "evaluate",
    "evaluate_masked",
    "loss_of",
    "minimal_pairs",
    "optimizers_for",
    "prepare",
    "pretrain",
    "pretrain_for",
    "sentence_scores",
    "training_articles",
    "write_corpus",
]
