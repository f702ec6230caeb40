"""The baselines that transfer must beat: linear models on TF-IDF of words and word pairs.

scikit-learn takes longer to import than the rest of this package, so it is imported where used.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import Pipeline
    from sklearn.svm import LinearSVC

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # the values of C tried
KINDS = ("linear SVM", "logistic regression")


@dataclass(frozen=True)
class Choice:
    """A linear model, by its kind and C, and the error (share of texts) that it was chosen by."""

    kind: str
    strength: float
    error: float


def linear(kind: str, strength: float) -> "Pipeline":
    """Returns a pipeline: TF-IDF of words and word pairs, then a linear model with C = `strength`.

    Punctuation marks count as words. Raises ValueError for an unknown kind.
    """
    from sklearn.pipeline import make_pipeline

    return make_pipeline(_features(), _model(kind, strength))


def _features() -> "TfidfVectorizer":
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+", sublinear_tf=True)


def _model(kind: str, strength: float) -> "LinearSVC | OneVsRestClassifier":
    """Returns a model with one linear decision per label against the rest, for both kinds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    if kind not in KINDS:
        raise ValueError(f"expected a kind out of {', '.join(KINDS)}, got {kind!r}")
    if kind == "linear SVM":
        return LinearSVC(C=strength, max_iter=20_000, random_state=0)
    return OneVsRestClassifier(
        LogisticRegression(C=strength, solver="liblinear", dual=True, random_state=0)
    )


def choose(
    texts: Sequence[str], labels: Sequence[str], dev_texts: Sequence[str], dev_labels: Sequence[str]
) -> Choice:
    """Returns the kind and strength with the fewest errors on dev; the first of equal ones."""
    features = _features()
    train, dev = features.fit_transform(texts), features.transform(dev_texts)
    choices = []
    for kind in KINDS:
        for strength in STRENGTHS:
            model = _model(kind, strength).fit(train, labels)
            choices.append(Choice(kind, strength, 1.0 - model.score(dev, dev_labels)))
    return min(choices, key=lambda choice: choice.error)


def cross_validate(texts: Sequence[str], labels: Sequence[str], folds: int = 5) -> Choice:
    """Returns the choice by cross-validation on the labelled texts alone, without a dev split.

    This suits small label budgets, which a dev split would reduce further. With all labels it
    varies less than a dev split, since every text is held out once. There are at most as many folds
    as the most frequent label has texts. Raises ValueError unless two labels have two texts each.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    counts = Counter(labels).most_common()
    if len(counts) < 2 or counts[1][1] < 2:
        raise ValueError(f"expected two labels with at least two texts each, got {dict(counts)}")
    stratified = StratifiedKFold(min(folds, counts[0][1]), shuffle=True, random_state=0)
    choices = []
    for kind in KINDS:
        for strength in STRENGTHS:
            with warnings.catch_warnings():  # a label may have fewer texts than folds
                warnings.simplefilter("ignore", UserWarning)
                scores = cross_val_score(linear(kind, strength), texts, labels, cv=stratified)
            choices.append(Choice(kind, strength, 1.0 - float(scores.mean())))
    return min(choices, key=lambda choice: choice.error)
