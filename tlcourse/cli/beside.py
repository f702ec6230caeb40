"""What stands beside a model's figures of grammar: counts of 5-grams, and what was published."""

from collections.abc import Mapping
from typing import Any

from tlcourse import results
from tlcourse.evaluation import BLIMP_PUBLISHED

NGRAM = "5-gram model"  # what it is called there, and above its column
TEXT = "wikitext-103 validation"


def ngram() -> dict[str, Any] | None:
    """The stored figures of the 5-gram model; None where none are stored."""
    try:
        models = results.stored("behaviour")["models"]
    except FileNotFoundError:
        return None
    return next((model for model in models if model["model"] == NGRAM), None)


def told(ties: Mapping[str, int], pairs: int, stored: Mapping[str, Any]) -> str:
    """A paragraph below the table; `ties` by the titles of its columns, of so many `pairs`."""
    tied = ", ".join(f"{count:,} {column}" for column, count in ties.items())
    published = ", ".join(f"{share} % ({name})" for name, share in BLIMP_PUBLISHED.items())
    return (
        f"The {NGRAM} has counted {stored['facts']['tokens']:,} tokens of the shipped models' text "
        "(modified Kneser-Ney, the same vocabulary); its word perplexity on "
        f"{TEXT} is {stored[TEXT]['word_perplexity']:.4g}. Ties: {tied}, of {pairs:,} pairs.\n\n"
        f"Published for all 67,000 pairs (Warstadt et al., 2020): {published}. Behind those scores "
        "stand other vocabularies and other text, and the pairs here are the first tenth: figures "
        "that are near to each other are not ranked by this."
    )
