"""Pretraining: corpus to token file, token file to a decayed model, model to perplexities.

Compute is chosen, and everything after the first three arguments has a default.

    import tempfile
    from tlcourse import checkpoints, corpora, pretraining
    from tlcourse.batching import TokenFile
    from tlcourse.pretraining import PretrainingRecipe
    from tlcourse.transformer import Config, Transformer

    _, tokenizer = checkpoints.load("causal-small")
    data = corpora.load("wikitext-2", source="sample")
    articles = list(corpora.articles(data["train"]))
    folder = tempfile.mkdtemp()
    pretraining.write_corpus(f"{folder}/tokens.bin", articles, tokenizer, tokens=4_000)
    file = TokenFile(f"{folder}/tokens.bin")

    model = Transformer(Config(tokenizer.vocabulary_size, 32, 2, 2, 128))
    recipe = PretrainingRecipe(batch_size=8, length=32)   # objective="masked", "hybrid"
    history = pretraining.pretrain(model, file, 2_000, recipe=recipe)
    print(history[-1]["loss"])                            # folder=… makes it resumable

    held_out = list(corpora.articles(data["validation"]))[:1]
    print(pretraining.evaluate(model, tokenizer, held_out, window=32, stride=16).word_perplexity)
    print(pretraining.sentence_scores(model, tokenizer, ["It rained.", "It rain."]))
"""

from tlcourse.pretraining.corpus import encode_articles, prepare, training_articles, write_corpus
from tlcourse.pretraining.evaluation import Evaluation, evaluate
from tlcourse.pretraining.masked_evaluation import evaluate_masked
from tlcourse.pretraining.minimal_pairs import minimal_pairs
from tlcourse.pretraining.pronouns import share_of_she
from tlcourse.pretraining.recipe import OBJECTIVES, Objective, PretrainingRecipe, batches
from tlcourse.pretraining.run import compile_blocks, optimizers_for, pretrain, pretrain_for
from tlcourse.pretraining.samples import continuations, fillings
from tlcourse.pretraining.scaling import Law, bootstrap, fit_law
from tlcourse.pretraining.scoring import sentence_scores

__all__ = [
    "OBJECTIVES",
    "Evaluation",
    "Law",
    "Objective",
    "PretrainingRecipe",
    "batches",
    "bootstrap",
    "compile_blocks",
    "continuations",
    "encode_articles",
    "evaluate",
    "evaluate_masked",
    "fillings",
    "fit_law",
    "minimal_pairs",
    "optimizers_for",
    "prepare",
    "pretrain",
    "pretrain_for",
    "sentence_scores",
    "share_of_she",
    "training_articles",
    "write_corpus",
]
