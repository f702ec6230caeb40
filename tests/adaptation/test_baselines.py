import warnings

import pytest

from tlcourse.adaptation import baselines

QUESTIONS = ["who ran ?", "who sang ?", "where is it ?", "where was it ?", "when was that ?"] * 6
ANSWERS = ["HUM", "HUM", "LOC", "LOC", "NUM"] * 6


@pytest.mark.parametrize("kind", baselines.KINDS)
def test_each_kind_learns_what_one_word_decides(kind):
    model = baselines.linear(kind, 10.0).fit(QUESTIONS, ANSWERS)
    assert model.predict(["who fell ?", "where am I ?"]).tolist() == ["HUM", "LOC"]


def test_features_are_words_and_pairs_punctuation_included():
    model = baselines.linear("linear SVM", 1.0).fit(["who ran ?", "where ?"], ["HUM", "LOC"])
    features = set(model[0].get_feature_names_out())
    assert features == {"who", "ran", "?", "where", "who ran", "ran ?", "where ?"}


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="linear SVM, logistic regression, got 'tree'"):
        baselines.linear("tree", 1.0)


def test_choose_takes_the_fewest_errors_on_dev():
    dev = ["who fell ?", "where am I ?", "when is it ?", "who is where ?", "is that it ?"]
    labels = ["HUM", "LOC", "NUM", "HUM", "NUM"]
    chosen = baselines.choose(QUESTIONS, ANSWERS, dev, labels)
    errors = {
        (kind, strength): sum(
            guess != label
            for guess, label in zip(
                baselines.linear(kind, strength).fit(QUESTIONS, ANSWERS).predict(dev),
                labels,
                strict=True,
            )
        )
        for kind in baselines.KINDS
        for strength in baselines.STRENGTHS
    }
    assert errors[chosen.kind, chosen.strength] == min(errors.values())
    assert chosen.error == pytest.approx(min(errors.values()) / len(dev))


def test_cross_validation_needs_no_dev_and_is_silent_about_rare_labels():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = baselines.cross_validate([*QUESTIONS, "what is NATO ?"], [*ANSWERS, "ABBR"])
    assert chosen.kind in baselines.KINDS and chosen.strength in baselines.STRENGTHS
    assert chosen.error == pytest.approx(1 / 31, abs=0.01)  # nobody can guess the single ABBR


def test_few_texts_are_cut_into_as_many_folds_as_a_label_has_texts():
    texts = ["where is it ?", "where is he ?", "who is it ?", "who is that ?"]
    assert 0 <= baselines.cross_validate(texts, ["LOC", "LOC", "HUM", "HUM"]).error <= 1
    with pytest.raises(ValueError, match="two labels with at least two texts each, got {'LOC': 3"):
        baselines.cross_validate(texts, ["LOC", "LOC", "LOC", "HUM"])


def test_the_same_choice_every_time():
    assert baselines.cross_validate(QUESTIONS, ANSWERS) == baselines.cross_validate(
        QUESTIONS, ANSWERS
    )
