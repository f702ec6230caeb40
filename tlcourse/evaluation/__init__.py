"""Evaluating language models: perplexities, grammar, a bias, and generated text.

Functions take a model and its tokenizer. `generate`, `beam_search` and `fill_masks` work on ids,
and comparisons of two sentences take any function that scores sentences.

    from tlcourse import checkpoints, corpora, evaluation

    model, tokenizer = checkpoints.load("causal-small")
    text = corpora.load("wikitext-2", source="sample")["validation"]
    articles = list(corpora.articles(text))[:1]
    result = evaluation.evaluate(model, tokenizer, articles, window=64, stride=32)
    print(result.word_perplexity, result.bits_per_byte)
    print(evaluation.sentence_scores(model, tokenizer, ["It rained.", "It rain."]))

    def score(sentences):               # any function that scores sentences, higher is likelier
        return evaluation.sentence_scores(model, tokenizer, sentences)

    pairs = [("The dogs near the car bark.", "The dogs near the car barks.", "one attractor")]
    print(evaluation.accuracies(score, pairs)["one attractor"].share)
    counts = evaluation.NgramModel(tokenizer.encode(articles[0]), tokenizer.vocabulary_size)
    print(evaluation.evaluate_ngrams(counts, tokenizer, articles).word_perplexity)

    new = evaluation.generate(model, tokenizer.encode(" The old lighthouse"), 8)
    print(tokenizer.decode(new))       # for a bidirectional model: fill_masks
"""

from tlcourse.evaluation.masked import evaluate_masked
from tlcourse.evaluation.minimal_pairs import BLIMP_PUBLISHED, Accuracy, accuracies, minimal_pairs
from tlcourse.evaluation.ngram import NgramModel, evaluate_ngrams, ngram_scores
from tlcourse.evaluation.perplexity import Evaluation, evaluate
from tlcourse.evaluation.prompting import PromptFormat, calibrate, label_log_probabilities
from tlcourse.evaluation.pronouns import share_of_she
from tlcourse.evaluation.samples import continuations, fillings
from tlcourse.evaluation.scoring import sentence_scores
from tlcourse.generation import beam_search, fill_masks, generate

__all__ = [
    "BLIMP_PUBLISHED",
    "Accuracy",
    "Evaluation",
    "NgramModel",
    "PromptFormat",
    "accuracies",
    "beam_search",
    "calibrate",
    "continuations",
    "evaluate",
    "evaluate_masked",
    "evaluate_ngrams",
    "fill_masks",
    "fillings",
    "generate",
    "label_log_probabilities",
    "minimal_pairs",
    "ngram_scores",
    "sentence_scores",
    "share_of_she",
]
