"""All numbers that depend on the machine, at three sizes: tiny, small, full.

`tiny` is for continuous integration (seconds per lesson), `small` for a laptop without a GPU, and
`full` for a GPU. In lesson 03, `full` means as many parameters as the 2019 tutorial's model, 50M,
and far fewer tokens of WikiText-103; elsewhere it means more steps, seeds and texts. The size
changes numbers, never the code path. `TLCOURSE_SIZE` selects it; the default is `small`.

    size = sizes.current()
    size.adaptation_steps     # 100
"""

import functools
import os
import sys
from dataclasses import dataclass, field, fields
from typing import Any

NAMES = ("tiny", "small", "full")


def _at(tiny: Any, small: Any, full: Any) -> Any:
    """A row of the table: the values of a number at the three sizes."""
    return field(metadata=dict(zip(NAMES, (tiny, small, full), strict=True)))


@dataclass(frozen=True, kw_only=True)
class Size:
    """The table of sizes, one row per number; an instance is one of its columns."""

    name: str = _at("tiny", "small", "full")
    # Lesson 00, a first taste
    start_labels: int = _at(24, 120, 120)  # labelled questions
    start_steps: int = _at(6, 60, 80)  # optimizer steps on them
    # Lesson 01, BPE from scratch
    bpe_training_bytes: int = _at(25_000, 1_500_000, 10_000_000)  # bytes of text to learn from
    bpe_validation_bytes: int = _at(3_500, 300_000, 1_000_000)  # bytes of text to measure on
    bpe_vocabulary: int = _at(700, 4_096, 8_192)  # entries, specials and bytes included
    bpe_race_bytes: int = _at(10_000, 300_000, 300_000)  # bytes of text for the race of trainers
    bpe_race_vocabulary: int = _at(400, 512, 512)  # entries of its vocabulary
    # Lesson 02b, a Transformer, deeper
    transformer_steps: int = _at(40, 1000, 2000)  # optimizer steps of RNN and attention
    transformer_deep_steps: int = _at(20, 250, 800)  # optimizer steps of pre-norm and post-norm
    transformer_programs: int = _at(300, 5000, 20_000)  # toy programs to measure accuracy on
    transformer_library_layers: int = _at(2, 12, 12)  # layers of the library's GPT-2 and BERT
    transformer_library_width: int = _at(64, 768, 768)  # their width, a multiple of 64
    # Lesson 03, pretraining; the model that is trained in the lesson
    pretraining_corpus: str = _at("wikitext-2", "wikitext-2", "wikitext-103")  # a data set's name
    pretraining_width: int = _at(32, 128, 512)  # features per position
    pretraining_layers: int = _at(2, 4, 16)  # blocks
    pretraining_heads: int = _at(2, 4, 8)  # heads per block
    pretraining_length: int = _at(32, 128, 256)  # tokens per window
    pretraining_batch: int = _at(8, 16, 128)  # windows per step
    pretraining_tokens: int = _at(16_000, 800_000, 300_000_000)  # training tokens per objective
    pretraining_articles: int = _at(1, 6, 60)  # validation articles to measure perplexity on
    # Lesson 03b, pretraining, deeper
    pretraining_race_tokens: int = _at(12_000, 400_000, 100_000_000)  # per optimizer
    # Lesson 04, fine-tuning on TREC
    finetuning_labels: int = _at(18, 500, 500)  # labelled questions of the short live runs
    finetuning_steps: int = _at(5, 150, 320)  # optimizer steps of each short run
    finetuning_seeds: int = _at(2, 5, 10)  # short runs whose spread is shown
    finetuning_most: int = _at(24, 10_000, 10_000)  # most labelled questions of the run on all
    finetuning_epochs: int = _at(1, 5, 5)  # epochs of that run
    # Lesson 05, schemes of adaptation; lesson 06 uses the first two as well
    adaptation_labels: int = _at(18, 100, 100)  # labelled questions for each scheme
    adaptation_steps: int = _at(10, 100, 200)  # optimizer steps of each scheme
    adaptation_articles: int = _at(1, 2, 6)  # validation articles to measure forgetting on
    # Lesson 06, more signal
    signal_samples: int = _at(2, 4, 10)  # random samples of labels for paired comparisons
    tapt_tokens: int = _at(4_200, 120_000, 400_000)  # tokens of pretraining on a task's texts
    domain_texts: int = _at(20, 500, 5_000)  # film reviews for pretraining on a domain
    intermediate_texts: int = _at(16, 5_000, 67_349)  # labelled texts of the intermediate task
    # Lesson 07, probing
    probing_train: int = _at(60, 2_000, 12_543)  # training sentences of the treebank
    probing_test: int = _at(40, 600, 2_077)  # test sentences
    probing_pairs: int = _at(8, 200, 400)  # pairs of sentences that differ in agreement
    probing_draws: int = _at(2, 3, 10)  # draws of random directions
    probing_windows: int = _at(24, 160, 400)  # windows of text to search for neurons
    probing_text: int = _at(20_000, 2_000_000, 20_000_000)  # tokens to count n-grams in
    # Lesson 08, looking inside
    looking_windows: int = _at(4, 60, 400)  # windows of text for the scores of heads
    looking_judged: int = _at(2, 16, 64)  # windows to measure losses without a head on
    looking_steps: int = _at(20, 300, 600)  # optimizer steps of the birth of an induction head
    looking_dev: int = _at(20, 300, 2_000)  # questions to choose the heads to remove on
    looking_removed: int = _at(2, 12, 24)  # heads removed one after the other
    looking_draws: int = _at(1, 3, 10)  # random orders of removal for comparison
    # Lesson 09, other tasks
    tag_sentences: int = _at(24, 500, 20_000)  # sentences with tags to learn from
    tag_test: int = _at(10, 500, 10_000)  # sentences to evaluate taggers on
    task_steps: int = _at(4, 80, 300)  # least optimizer steps of a tagger
    lstm_epochs: int = _at(1, 20, 20)  # passes of the tagger without pretraining
    span_questions: int = _at(8, 450, 952)  # questions on paragraphs to learn from
    span_test: int = _at(4, 120, 238)  # questions to evaluate readers on
    span_epochs: int = _at(1, 3, 3)  # passes over them
    pair_rows: int = _at(16, 400, 5_749)  # pairs of sentences to learn from
    pair_steps: int = _at(2, 40, 1_000)  # least optimizer steps on them
    pair_test: int = _at(10, 500, 1_379)  # pairs to evaluate on
    choice_questions: int = _at(4, 200, 500)  # questions with two candidates
    nli_pairs: int = _at(16, 800, 8_000)  # pairs of sentences for the attention between two texts
    nli_test: int = _at(8, 400, 1_000)  # pairs to evaluate it on
    # Lesson 09b, text that answers
    prefix_examples: int = _at(8, 150, 2_000)  # examples of each task that a prefix names
    prefix_steps: int = _at(4, 60, 100)  # least optimizer steps on them
    prefix_test: int = _at(6, 120, 500)  # texts of each task to evaluate on
    toy_pairs: int = _at(40, 2_000, 20_000)  # sentences of a toy language with translations
    toy_test: int = _at(6, 100, 500)  # sentences to evaluate on
    toy_steps: int = _at(3, 150, 500)  # optimizer steps of an encoder-decoder on them
    translation_steps: int = _at(3, 40, 500)  # optimizer steps on German and English
    translation_test: int = _at(4, 40, 100)  # sentences to evaluate on
    dialogues: int = _at(16, 1_000, 20_000)  # persona dialogues to learn from
    dialogue_epochs: int = _at(1, 3, 3)  # passes over them
    dialogue_test: int = _at(8, 100, 1_000)  # dialogues to evaluate on
    prompt_questions: int = _at(6, 100, 500)  # questions that our model answers by a prompt
    prompt_chat: int = _at(4, 40, 500)  # questions that a released chat model answers
    prompt_orders: int = _at(2, 8, 24)  # orders of the examples in a prompt, out of 24
    # Lesson 10, other objectives
    objective_width: int = _at(32, 128, 512)  # features per position of the models
    objective_layers: int = _at(2, 4, 8)  # blocks
    objective_length: int = _at(32, 64, 256)  # tokens per window
    objective_batch: int = _at(4, 16, 64)  # windows per step
    objective_tokens: int = _at(12_000, 800_000, 100_000_000)  # tokens of text to train on
    objective_held_out: int = _at(6_000, 100_000, 200_000)  # tokens of text to evaluate on
    objective_steps: int = _at(12, 160, 5_000)  # optimizer steps of each objective
    objective_pairs: int = _at(16, 512, 1_000)  # pairs of segments to evaluate on
    objective_pairs_learnt: int = _at(24, 2_000, 10_000)  # pairs of segments to learn from
    objective_uni_steps: int = _at(3, 120, 5_000)  # optimizer steps under several masks
    objective_written: int = _at(8, 128, 200)  # most tokens to write and time
    objective_labels: int = _at(18, 300, 5_452)  # labelled questions
    objective_epochs: int = _at(1, 4, 5)  # passes over them
    # Lesson 10b, other architectures; it uses the shape and the text of lesson 10 as well
    memory_windows: int = _at(8, 512, 1_000)  # windows to measure losses on
    memory_rows: int = _at(4, 32, 64)  # texts that a model with a memory reads side by side
    memory_segment: int = _at(8, 16, 64)  # tokens that it reads at once
    memory_segments: int = _at(10, 80, 400)  # segments to measure its loss on
    memory_steps: int = _at(12, 1_000, 5_000)  # optimizer steps of it
    cities_steps: int = _at(8, 200, 300)  # optimizer steps of an XLNet on names of cities
    deberta_steps: int = _at(6, 300, 3_000)  # optimizer steps of a DeBERTa
    variant_steps: int = _at(6, 240, 3_000)  # optimizer steps of each variant
    # Lesson 11, word vectors
    words_min_count: int = _at(1, 5, 5)  # occurrences that a word needs
    words_few: int = _at(200, 3_000, 10_000)  # words of the vocabulary for what learners write
    words_steps: int = _at(8, 1_000, 5_000)  # optimizer steps of their skip-gram
    words_width: int = _at(8, 100, 300)  # numbers in a vector
    words_epochs: int = _at(1, 5, 5)  # passes over the text
    words_topics: int = _at(2, 10, 50)  # topics of the articles
    words_clusters: int = _at(4, 30, 30)  # Brown clusters
    words_clustered: int = _at(40, 1_000, 1_000)  # words that are clustered
    # Lesson 11b, sentences and recurrent models
    order_texts: int = _at(40, 1_600, 4_000)  # made-up texts to learn an order from
    order_epochs: int = _at(1, 8, 8)  # passes over them
    encoder_phrases: int = _at(40, 5_000, 60_000)  # phrases of reviews for the four encoders
    encoder_epochs: int = _at(1, 2, 4)  # passes over them
    upos_sentences: int = _at(24, 1_500, 12_000)  # sentences with parts of speech to learn from
    upos_test: int = _at(10, 500, 2_000)  # sentences to evaluate on
    upos_epochs: int = _at(1, 4, 5)  # passes over the former
    character_steps: int = _at(6, 600, 3_000)  # optimizer steps of a model of characters
    sentence_pairs: int = _at(16, 6_000, 9_842)  # pairs of SNLI for the encoder
    sentence_phrases: int = _at(16, 1_000, 10_000)  # labelled phrases of film reviews
    elmo_words: int = _at(600, 200_000, 2_000_000)  # words that a biLM reads
    elmo_held_out: int = _at(200, 20_000, 50_000)  # words to measure its loss on
    elmo_vocabulary: int = _at(60, 5_000, 20_000)  # words that it predicts
    elmo_width: int = _at(16, 256, 1_024)  # of its states, both directions together
    elmo_sentences: int = _at(20, 1_000, 3_394)  # sentences with tags to learn from
    elmo_dev: int = _at(10, 300, 1_009)  # sentences to evaluate taggers on
    elmo_epochs: int = _at(1, 6, 10)  # passes of a tagger over its sentences
    ulmfit_width: int = _at(16, 64, 400)  # features of the LSTM's embeddings
    ulmfit_units: int = _at(24, 128, 1_150)  # of each of its layers
    ulmfit_tokens: int = _at(3_000, 200_000, 100_000_000)  # tokens of general text to train on
    ulmfit_reading: int = _at(2_000, 450_000, 1_000_000)  # tokens of the task's texts to train on
    ulmfit_labels: int = _at(18, 100, 500)  # labelled questions
    ulmfit_steps: int = _at(6, 120, 300)  # optimizer steps of each classifier
    # The demonstrations of `tlcourse milestone`
    milestone_steps: int = _at(8, 100, 100)  # optimizer steps of the training loop
    milestone_epochs: int = _at(1, 12, 12)  # passes over the questions with LoRA


SIZES = {
    name: Size(**{row.name: row.metadata[name] for row in fields(Size)})  # one column
    for name in NAMES
}


def get(name: str) -> Size:
    """The size of that name; raises ValueError, with the names of all sizes, for another."""
    if name not in SIZES:
        raise ValueError(f"expected a size out of {', '.join(SIZES)}, got {name!r}")
    return SIZES[name]


def current() -> Size:
    """The size named by `TLCOURSE_SIZE`, by default `small`.

    At `tiny`, a note is printed once in a notebook that its text describes another run.
    """
    size = get(os.environ.get("TLCOURSE_SIZE") or "small")
    if size.name == "tiny" and _in_a_notebook():
        _print_note_on_tiny()
    return size


def _in_a_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")


@functools.cache  # once per kernel
def _print_note_on_tiny() -> None:
    print(
        "[size] tiny: this run only shows that the code works. The text speaks of the stored run "
        "at size small; the numbers here will differ."
    )


def cap(wanted: int, available: int, what: str) -> int:
    """The smaller of `wanted` and `available`; prints a line if that is `available`.

    Sizes are upper limits, because the bundled samples are smaller than the real data.
    """
    if wanted <= available:
        return wanted
    print(f"[size] {wanted:,} {what} wanted, {available:,} there: using {available:,}")
    return available
