"""What transfer must beat: linear models on TF-IDF of words and word pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # the values of C tried
KINDS = ("linear SVM", "logistic regression")


@dataclass(frozen=True)
class Choice:
    """A linear model and the dev error (share of texts) that chose it."""

    kind: str
    strength: float
    error: float


def linear(kind: str, strength: float) -> Pipeline:
    """TF-IDF of words and word pairs, punctuation included, into a linear model; C = `strength`.

    Raises ValueError for an unknown kind.
    """
    if kind not in KINDS:
        raise ValueError(f"expected a kind out of {', '.join(KINDS)}, got {kind!r}")
    features = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+", sublinear_tf=True)
    if kind == "linear SVM":
        return make_pipeline(features, LinearSVC(C=strength))
    return make_pipeline(features, LogisticRegression(C=strength, max_iter=2000))


def choose(
    texts: Sequence[str],
    labels: Sequence[str],
    dev_texts: Sequence[str],
    dev_labels: Sequence[str],
) -> Choice:
    """The kind and strength with the fewest errors on dev; the first among equals."""
    choices = []
    for kind in KINDS:
        for strength in STRENGTHS:
            model = linear(kind, strength).fit(texts, labels)
            choices.append(Choice(kind, strength, 1.0 - model.score(dev_texts, dev_labels)))
    return min(choices, key=lambda choice: choice.error)
