"""The shipped cards say what their logs say."""

import pytest

from tlcourse import checkpoints, files, metrics
from tlcourse.evaluation import model_card


@pytest.mark.parametrize("name", checkpoints.names())
def test_a_shipped_card_is_written_from_its_log(name):
    log = checkpoints.log_of(name)
    path = files.bundled(f"{checkpoints.FOLDER}/{name}/README.md")
    text = path.read_text(encoding="utf-8")
    assert text == model_card.card(name, log)
    for number, leg in enumerate(log["legs"], start=1):
        assert f"\n| {number} | {leg['objective']} | {leg['start']} |" in text
        assert f"{leg['objective']} on {leg['tokens']:,} tokens" in text


def test_the_two_shipped_models_are_small_enough_for_git():
    assert set(checkpoints.names()) == {"causal-small", "masked-small"}
    for name in checkpoints.names():
        folder = files.bundled(f"{checkpoints.FOLDER}/{name}")
        assert sum(path.stat().st_size for path in folder.iterdir()) <= 15 * 2**20


def leg(objective: str = "causal", corpus: str = "wikitext-2") -> dict:
    return {
        "objective": objective,
        "start": "random weights",
        "corpus": [corpus],
        "tokens": 8192,
        "steps": 1,
        "seconds": 90.0,
        "hardware": "an abacus",
        "recipe": {"objective": objective, "length": 64, "rate": 0.003},
        "history": [{"step": 0, "loss": 5.5, "seconds": 90.0}],
    }


LOG = {
    "legs": [leg("hybrid")],
    "evaluation": {
        "a text": {
            "word_perplexity": 123.456,
            "bits_per_byte": 1.25,
            "words": 217646,
            "window": 128,
            "stride": 64,
            "masked_token_perplexity": 20.0,
        },
        "an old one": {"masked_token_perplexity": 22.8, "targets": 42476},
    },
    "minimal_pairs": {
        reading: {
            "accuracy": accuracy,
            "pairs": 400,
            "ties": 0,
            "phenomena": {"island_effects": 0.5, "s-selection": 2 * accuracy - 0.5},
            "paradigms": dict.fromkeys(("wh_island", "b", "c", "d"), accuracy),
        }
        for reading, accuracy in (("causal", 0.75), ("masked", 0.5))
    },
    "pronouns": {"causal": {"person": 0.25, "nurse": 0.901}, "masked": {"person": 0.5, "nurse": 1}},
    "samples": {
        "causal": [{"prompt": "Bread is", "continuation": " old .\n\n = `So` =\r\x85"}],
        "masked": [{"text": "A <mask>.", "likeliest": [[" dog", 0.5], ["\n", 0.25]]}],
    },
}


NONE: dict = {"evaluation": {}}


def rows(text: str) -> list[list[str]]:
    """The cells of every table, rules left out."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """No stored result of `python -m benchmarks behaviour`."""
    monkeypatch.setattr(files, "root", lambda: tmp_path)


def test_what_was_measured_is_in_tables(alone):
    text = model_card.card("mine", LOG)
    found = rows(text)
    assert "5-gram" not in text and "Published" not in text
    assert ["a text", "123.5", "", "", "1.25", "217,646", "", "128", "64"] in found
    assert ["a text", "20", "", "", "", "", "128"] in found
    assert ["an old one", "22.8", "", "", "", "", ""] in found
    assert ["phenomenon", "accuracy, read causally", "accuracy, read from both sides"] in found
    assert ["island effects", "50.0 %", "50.0 %"] in found
    assert ["s-selection", "100.0 %", "50.0 %"] in found
    low, high = (f"{100 * end:.1f}" for end in metrics.wilson_interval(300, 400))
    assert next(row for row in found if row[0] == "**all**")[1] == f"**75.0 % ({low}-{high})**"
    assert ["read causally", "25.0 %", "90.1 %"] in found
    assert {len(row) for row in found if row[0] in ("text", "a text")} == {7, 9}


STORED = {
    "models": [
        {"model": "LSTM", "facts": {"tokens": 7}},
        {
            "model": "5-gram model",
            "facts": {"tokens": 20_000_000, "n-grams": 9},
            "blimp": LOG["minimal_pairs"]["causal"]
            | {
                "accuracy": 0.25,
                "ties": 12,
                "phenomena": {"island_effects": 0.2, "s-selection": 0},
            },
            "wikitext-103 validation": {"word_perplexity": 386.24},
        },
    ]
}


@pytest.fixture
def stored(monkeypatch, tmp_path):
    """The result of `python -m benchmarks behaviour`, where it is looked for."""
    files.write_json(tmp_path / "benchmarks" / "results" / "behaviour.json", STORED)
    monkeypatch.setattr(files, "root", lambda: tmp_path)


def test_counts_of_5_grams_and_published_figures_stand_beside_if_they_are_stored(stored):
    text = model_card.card("mine", LOG)
    found = rows(text)
    assert next(row for row in found if row[0] == "phenomenon")[3] == "5-gram model"
    assert ["island effects", "50.0 %", "50.0 %", "20.0 %"] in found
    assert next(row for row in found if row[0] == "**all**")[3].startswith("**25.0 % (")
    assert "has counted 20,000,000 tokens" in text and "wikitext-103 validation is 386.2." in text
    ties = "0 read causally, 0 read from both sides, 12 of the 5-gram model, of 400 pairs"
    assert f"Ties: {ties}." in text and "the first 100 pairs of each of 4 paradigms" in text
    for share in ("61.2", "69.8", "69.6", "83.0", "96.4"):
        assert f"{share} % (" in text
    assert "Warstadt et al., 2020" in text


def test_a_card_without_minimal_pairs_has_nothing_beside_them(stored):
    text = model_card.card("mine", LOG | {"minimal_pairs": {}})
    assert "5-gram" not in text and "Published" not in text


def test_samples_stay_inside_their_block():
    text = model_card.card("mine", LOG)
    assert (
        "\n[Bread is] old . ⏎  ⏎  = 'So' =\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\n"
        in text
    )
    assert "\nA <mask>.  dog 50.0 %, ⏎ 25.0 %\n" in text
    assert text.count("```") == 4


@pytest.mark.parametrize(
    ("reading", "there", "absent"),
    [("causal", "read causally", "read from both"), ("masked", "read from both", "read causally")],
)
def test_a_card_says_how_its_model_reads(reading, there, absent, alone):
    pairs = {reading: LOG["minimal_pairs"][reading]}
    found = rows(model_card.card("mine", LOG | {"minimal_pairs": pairs, "pronouns": {}}))
    titles = next(row for row in found if row[0] == "phenomenon")
    assert len(titles) == 2 and there in titles[1] and absent not in titles[1]


def test_what_was_not_measured_is_left_out():
    text = model_card.card("mine", {"legs": [leg(corpus="my/diary.txt")], "evaluation": {}})
    assert "None: no held-out text" in text and "BLiMP" not in text and "Samples" not in text
    assert "windows of 64 tokens" in text and "CC BY-SA" not in text and "standin" not in text
    assert "CC BY-SA" in model_card.card("mine", LOG)


def own_leg(words: int, tokens: int) -> dict:
    """A leg on a file of 1,000 tokens."""
    return leg(corpus="my diary.txt 0123456789abcdef") | {
        "read": {"texts": 1, "words": words, "tokens": 1000},
        "tokens": tokens,
        "seconds": 3.0,
    }


def test_a_card_of_one_s_own_text_says_only_what_is_true_of_it():
    figures = {"evaluation": {"my diary.txt, held out": {"word_perplexity": 9.5, "words": 290}}}
    log = {"legs": [own_leg(5522, 1400)], "held_out": ["my diary.txt, held out"], **figures}
    text = model_card.card("mine", log)
    assert "- It learnt from 5,522 words of my diary.txt, read 1.4 times, and knows nothing" in text
    others = ("ncyclopaedia", "English only", "WikiText", "0123456789abcdef", "CC BY-SA", "unk")
    for wrong in others:
        assert wrong not in text.replace("`<unk>`", ""), wrong
    row = next(row for row in rows(text) if row[0] == "1")
    assert row[3] == "my diary.txt" and row[6] == "under 0.1"
    assert "my diary.txt, held out: the end of the text, kept back from the training." in text
    assert "which language its text is in is not known" in text and "it depends on the te" in text
    assert "of which it read 30 %, and" in model_card.card(
        "mine", log | {"legs": [own_leg(5522, 300)]}
    )


def test_a_card_of_several_legs_speaks_of_all_their_texts():
    first = leg() | {"tokens": 10**7, "seconds": 900.0}
    text = model_card.card("mine", {"legs": [first, own_leg(5522, 1400)], "evaluation": {}})
    assert "from an encyclopaedia, and from 5,522 words of my diary.txt, read 1.4 times" in text
    assert "knows nothing else" not in text and "which language" not in text
    assert "Hardly trained" not in text and "| 15 |" in text
    assert "Hardly trained: it has read 8,192 tokens" in model_card.card("mine", LOG)


def test_a_card_of_articles_and_books_names_both_and_what_they_bring_along():
    read = leg() | {"corpus": ["wikitext-2", "gutenberg"], "tokens": 10**7}
    text = model_card.card("mine", {"legs": [leg() | {"tokens": 10**7}, read], "evaluation": {}})
    assert "the style of an encyclopaedia and old books, few facts" in text
    assert "What its articles and books say wrongly" in text and "Dialogue" not in text
    assert "CC BY-SA 3.0" in text and "public domain in the USA" in text
    assert text.count("Project Gutenberg") == 1

    both = model_card.card("mine", {"legs": [read, own_leg(5522, 1400)], "evaluation": {}})
    assert "from an encyclopaedia and old books, and from 5,522 words of my diary.txt" in both
    assert "it depends on the texts" in both

    alone = model_card.card("mine", {"legs": [leg(corpus="gutenberg")], "evaluation": {}})
    assert "It learnt from gutenberg, and knows nothing else" in alone
    assert "ncyclopaedia" not in alone and "CC BY-SA" not in alone


def test_a_recipe_on_a_card_has_what_was_used():
    recipe = {"length": 64, "mask_probability": 0.15, "causal_share": 0.5}
    used = {"causal": "", "masked": ", mask probability 0.15"}
    used["hybrid"] = f"{used['masked']}, causal share 0.5"
    for objective, more in used.items():
        text = model_card.card("mine", {"legs": [leg(objective) | {"recipe": recipe}]} | NONE)
        assert f"last leg: length 64{more}." in text
