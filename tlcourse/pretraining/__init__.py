"""Pretraining: from a corpus to a token file, from a token file to a decayed model.

The device is chosen, and everything after the first three arguments has a default.

    import tempfile
    from tlcourse import checkpoints, corpora, pretraining
    from tlcourse.batching import TokenFile
    from tlcourse.objectives import SpanCorruption
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

    objective = SpanCorruption()                          # any value of `tlcourse.objectives`
    model = objective.model(model.config)
    pretraining.pretrain(model, file, 2_000, recipe=recipe, objective=objective)
"""

from tlcourse.pretraining.corpus import HELD_OUT, held_out, prepare, training_articles, write_corpus
from tlcourse.pretraining.objectives import OBJECTIVES, batches
from tlcourse.pretraining.run import (
    compile_blocks,
    decay_began,
    optimizers_for,
    pretrain,
    pretrain_for,
)
from tlcourse.pretraining.scaling import Law, bootstrap, fit_law
from tlcourse.recipes import PretrainingRecipe

__all__ = [
    "HELD_OUT",
    "OBJECTIVES",
    "Law",
    "PretrainingRecipe",
    "batches",
    "bootstrap",
    "compile_blocks",
    "decay_began",
    "fit_law",
    "held_out",
    "optimizers_for",
    "prepare",
    "pretrain",
    "pretrain_for",
    "training_articles",
    "write_corpus",
]
