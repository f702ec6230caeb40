"""Every number that depends on the machine, at three sizes: tiny, small, full.

`tiny` is what continuous integration runs (seconds a lesson), `small` is a laptop without a GPU,
`full` is the scale of the 2019 tutorial on a real GPU. The size changes numbers, never the code
path. `TLCOURSE_SIZE` chooses; `small` is the default.
"""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """One column of the table of sizes; every field says its unit."""

    name: str
    finetuning_labels: int  # labelled questions of the short live runs
    finetuning_steps: int  # optimizer steps of each of them
    finetuning_most: int  # labelled questions of the run on all, at most
    finetuning_epochs: int  # times through them
    adaptation_labels: int  # labelled questions that each scheme learns from, live
    adaptation_steps: int  # optimizer steps of each scheme
    adaptation_articles: int  # validation articles that forgetting is measured on
    tapt_tokens: int  # tokens of further pretraining on a task's texts
    domain_texts: int  # film reviews of the further pretraining on a domain
    intermediate_texts: int  # labelled texts of the task on the way
    adaptation_pairs: int  # labelled pairs of texts
    finetuning_seeds: int  # short runs whose spread is shown
    start_labels: int  # labelled questions of the first taste in lesson 00
    start_steps: int  # optimizer steps on them
    # Lesson 01: text to learn from, to measure on, and for the race of the trainers (bytes), and
    # how many entries the vocabularies have, specials and bytes included.
    bpe_training_bytes: int
    bpe_validation_bytes: int
    bpe_vocabulary: int
    bpe_race_bytes: int
    bpe_race_vocabulary: int
    transformer_steps: int  # optimizer steps of RNN and attention on the toy programs
    transformer_programs: int  # toy programs on which accuracy is measured
    transformer_library_layers: int  # layers of the GPT-2 and BERT that ours is compared with
    transformer_library_width: int  # their width, features; a multiple of 64
    pretraining_corpus: str  # the data set that is read
    pretraining_width: int  # of the model that is trained live, features
    pretraining_layers: int
    pretraining_heads: int
    pretraining_length: int  # tokens a window
    pretraining_batch: int  # windows a step
    pretraining_tokens: int  # tokens that each objective reads
    pretraining_articles: int  # validation articles that perplexities are measured on


TINY = Size(
    name="tiny",
    finetuning_labels=48,
    finetuning_steps=8,
    finetuning_most=64,
    finetuning_epochs=1,
    adaptation_labels=24,
    adaptation_steps=10,
    adaptation_articles=1,
    tapt_tokens=6_000,
    domain_texts=40,
    intermediate_texts=60,
    adaptation_pairs=24,
    finetuning_seeds=2,
    start_labels=24,
    start_steps=6,
    pretraining_corpus="wikitext-2",
    pretraining_width=32,
    pretraining_layers=2,
    pretraining_heads=2,
    pretraining_length=32,
    pretraining_batch=8,
    pretraining_tokens=16_000,
    pretraining_articles=1,
    bpe_training_bytes=25_000,
    bpe_validation_bytes=3_500,
    bpe_vocabulary=700,
    bpe_race_bytes=10_000,
    bpe_race_vocabulary=400,
    transformer_steps=150,
    transformer_programs=500,
    transformer_library_layers=2,
    transformer_library_width=64,
)
SMALL = Size(
    name="small",
    finetuning_labels=500,
    finetuning_steps=150,
    finetuning_most=10_000,
    finetuning_epochs=5,
    adaptation_labels=100,
    adaptation_steps=100,
    adaptation_articles=2,
    tapt_tokens=120_000,
    domain_texts=500,
    intermediate_texts=5_000,
    adaptation_pairs=300,
    finetuning_seeds=5,
    start_labels=120,
    start_steps=60,
    pretraining_corpus="wikitext-2",
    pretraining_width=128,
    pretraining_layers=4,
    pretraining_heads=4,
    pretraining_length=128,
    pretraining_batch=16,
    pretraining_tokens=800_000,
    pretraining_articles=6,
    bpe_training_bytes=1_500_000,
    bpe_validation_bytes=300_000,
    bpe_vocabulary=4_096,
    bpe_race_bytes=300_000,
    bpe_race_vocabulary=512,
    transformer_steps=1000,
    transformer_programs=5000,
    transformer_library_layers=12,
    transformer_library_width=768,
)
FULL = Size(
    name="full",
    finetuning_labels=500,
    finetuning_steps=320,
    finetuning_most=10_000,
    finetuning_epochs=5,
    adaptation_labels=100,
    adaptation_steps=200,
    adaptation_articles=6,
    tapt_tokens=400_000,
    domain_texts=5_000,
    intermediate_texts=67_349,
    adaptation_pairs=2_490,
    finetuning_seeds=10,
    start_labels=120,
    start_steps=80,
    pretraining_corpus="wikitext-103",
    pretraining_width=512,
    pretraining_layers=16,
    pretraining_heads=8,
    pretraining_length=256,
    pretraining_batch=128,
    pretraining_tokens=300_000_000,
    pretraining_articles=60,
    bpe_training_bytes=10_000_000,
    bpe_validation_bytes=1_000_000,
    bpe_vocabulary=8_192,
    bpe_race_bytes=300_000,
    bpe_race_vocabulary=512,
    transformer_steps=2000,
    transformer_programs=20_000,
    transformer_library_layers=12,
    transformer_library_width=768,
)
SIZES = {size.name: size for size in (TINY, SMALL, FULL)}


def get(name: str) -> Size:
    """The size called `name`; raises ValueError that lists the sizes there are."""
    if name not in SIZES:
        raise ValueError(f"expected a size out of {', '.join(SIZES)}, got {name!r}")
    return SIZES[name]


def current() -> Size:
    """The size named by `TLCOURSE_SIZE` (`small` where it is not set)."""
    return get(os.environ.get("TLCOURSE_SIZE") or "small")


def cap(wanted: int, available: int, what: str) -> int:
    """`wanted`, or `available` if that is less; then one printed line says so.

    A size is a ceiling: the bundled samples are smaller than the real data.
    """
    if wanted <= available:
        return wanted
    print(f"[size] {wanted:,} {what} wanted, {available:,} there: using {available:,}")
    return available
