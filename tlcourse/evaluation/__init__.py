"""What a language model has learnt: perplexities, grammar, a bias, and what it says.

Every function takes a model and its tokenizer; only `generate` and `fill_masks` work on ids.

    from tlcourse import checkpoints, corpora, evaluation

    model, tokenizer = checkpoints.load("causal-small")
    text = corpora.load("wikitext-2", source="sample")["validation"]
    articles = list(corpora.articles(text))[:1]
    found = evaluation.evaluate(model, tokenizer, articles, window=64, stride=32)
    print(found.word_perplexity, found.bits_per_byte)
    print(evaluation.sentence_scores(model, tokenizer, ["It rained.", "It rain."]))

    more = evaluation.generate(model, tokenizer.encode(" The old lighthouse"), 8)
    print(tokenizer.decode(more))      # fill_masks is for a model that sees both sides
"""

from tlcourse.evaluation.generation import fill_masks, generate
from tlcourse.evaluation.masked import evaluate_masked
from tlcourse.evaluation.minimal_pairs import minimal_pairs
from tlcourse.evaluation.perplexity import Evaluation, evaluate
from tlcourse.evaluation.pronouns import share_of_she
from tlcourse.evaluation.samples import continuations, fillings
from tlcourse.evaluation.scoring import sentence_scores

__all__ = [
    "Evaluation",
    "continuations",
    "evaluate",
    "evaluate_masked",
    "fill_masks",
    "fillings",
    "generate",
    "minimal_pairs",
    "sentence_scores",
    "share_of_she",
]
