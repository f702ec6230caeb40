"""What schemes train with by default is what the stored searches chose, and what was tested."""

from dataclasses import replace

import pytest

from benchmarks import runner
from benchmarks.studies.multi_stage import Task
from benchmarks.studies.search_space import SPACE
from tlcourse import results
from tlcourse.adaptation import SCHEMES, Classifier, Recipe, Scheme, preset
from tlcourse.adaptation.presets import EPOCHS, FEW, MIN_STEPS, RATES
from tlcourse.bpe import Tokenizer
from tlcourse.transformer import Config, Transformer

TASK = Task("", "", (), (), (), Recipe(), 0)
CHOICES = results.stored("other_schemes")["choices"] | results.stored("schemes")["choices"]
RELEASED = results.stored("released")
FEW_CHOICES = results.stored("few_labels")["choices"]
USUAL = {"Houlsby adapters": 32, "LoRA": 8, "LoRA, all layers": 8, "prefix tuning": 10}


def chosen(name, choices):
    """The scheme and the recipe that a search chose; with all labels, of a usual size the best."""
    name = "top layers" if name == "top 2 layers" else name
    size, recipe = choices[name]["size"], runner.recipe_of(choices[name])
    if choices is CHOICES and name in USUAL:
        size, rows = USUAL[name], results.stored("screen")["rows"]
        usual = [row for row in rows if (row["scheme"], row["size"]) == (name, size)]
        best = min(usual, key=lambda row: row["error"])
        recipe = SPACE[name].recipe(size, best["rate"], EPOCHS)
    return SPACE[name].build(size, TASK), recipe


@pytest.fixture(scope="module")
def rates():
    """The learning rate of every group, of a scheme on a body of six layers."""
    tokenizer = Tokenizer.train(["Who ran ?", "Where is the very old town ?"] * 4, 280)
    body = Transformer(Config(tokenizer.vocabulary_size, 16, 6, 2, 32, 48), "explicit")
    classifier = Classifier(body, tokenizer, ["HUM", "LOC"])

    def rates_of(scheme, recipe):
        added = [] if scheme.edit == Scheme().edit else ["added"]
        groups = scheme.groups(classifier, added)
        return {name: pytest.approx(recipe.rate_of(name, each)) for name, each in groups.items()}

    return rates_of


@pytest.mark.parametrize("name", RATES)
def test_with_many_texts_a_scheme_trains_as_it_was_chosen_and_tested(name, rates):
    mine, recipe = SCHEMES[name], preset(SCHEMES[name], FEW)
    tested, stored = chosen(name, CHOICES)
    assert replace(mine, name="", groups=tested.groups) == tested
    assert rates(mine, recipe) == rates(tested, stored)
    assert (recipe.epochs, recipe.min_steps) == (stored.epochs, MIN_STEPS)


@pytest.mark.parametrize("name", RATES)
def test_with_few_texts_at_the_rate_of_the_search_with_few_labels_where_there_was_one(name, rates):
    recipe = preset(SCHEMES[name], FEW - 1)
    if name in FEW_CHOICES:
        searched, stored = chosen(name, FEW_CHOICES)
        assert rates(SCHEMES[name], recipe) == rates(searched, stored)
        assert (recipe.epochs, recipe.min_steps) == (stored.epochs, stored.min_steps)
    else:
        assert recipe == preset(SCHEMES[name], FEW)


def test_every_scheme_of_the_course_was_searched_and_ones_own_trains_as_the_lessons_do():
    assert set(RATES) == set(SCHEMES)
    (other,) = {preset(Scheme("mine"), texts) for texts in (1, 9_999)}
    assert other == Recipe(min_steps=other.min_steps) and other.epochs != EPOCHS


@pytest.mark.parametrize("name", RELEASED["choices"])
def test_a_released_model_trains_as_its_search_chose(name):
    chosen = RELEASED["choices"][name]
    few, many = (preset(SCHEMES[name], texts, released=True) for texts in (FEW - 1, FEW))
    assert few.learning_rate == pytest.approx(chosen["500"]["rate"])
    assert many.learning_rate == pytest.approx(chosen.get("all", chosen["500"])["rate"])
    assert {few.epochs, many.epochs} == {RELEASED["epochs"]} and few.min_steps == MIN_STEPS
    for labels, best in chosen.items():
        rows = [r for r in RELEASED["rows"] if (r["scheme"], str(r["labels"])) == (name, labels)]
        assert best["error"] == min(row["error"] for row in rows)
