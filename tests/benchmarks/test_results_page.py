"""Sections of RESULTS.md, each made of what its study measured."""

from benchmarks.studies import (
    combined,
    distilled,
    grid_search,
    reviews,
    tasks,
    tasks_released,
    transfer,
    transfer_released,
)
from benchmarks.studies.trec import STUDIES

MADE = {"job": "a-study", "data": "TREC-6", "machine": "2 threads"}
SOURCE = "TREC-6; 2 threads (`python -m benchmarks a-study`; lesson"


def test_results_are_a_table_of_methods_and_labels() -> None:
    rows = [
        {"model": "TF-IDF", "labels": 5452, "mean": 9.2, "interval": [7.0, 12.0]},
        {"model": "causal", "labels": 500, "mean": 15.94, "interval": [13.0, 19.4]},
        {"model": "causal", "labels": 5452, "mean": 6.6, "interval": [4.7, 9.1]},
    ]
    lines = transfer.section(MADE | {"rows": rows, "note": "3 seeds."}).splitlines()
    assert lines[4:12] == [
        "Test error in percent. TREC-6; 2 threads.",
        "",
        "| | 500 labels | 5,452 labels |",
        "|---|---:|---:|",
        "| TF-IDF |  | 9.2 (7.0-12.0) |",
        "| causal | 15.9 (13.0-19.4) | 6.6 (4.7-9.1) |",
        "",
        "3 seeds.",
    ]
    assert "- 3.6 (2.3-5.6): ULMFiT, two directions (Howard & Ruder, 2018)" in lines  # 18 of 500
    assert any("hand-written rules" in line for line in lines)


def test_a_task_that_lacks_a_way_to_learn_has_an_empty_cell() -> None:
    rows = [
        {"task": task, "labels": labels, "scheme": scheme, "mean": mean, "interval": [5.0, 9.0]}
        for task, labels, scheme, mean in (
            ("trec", 100, "TF-IDF", 7.0), ("imdb", 2000, "TF-IDF", 8.0),
            ("imdb", 2000, "cut texts", 6.25),
        )
    ]  # fmt: skip
    assert tasks.section(MADE | {"rows": rows, "model": "ours"}).splitlines()[4:] == [
        "| | trec, 100 | imdb, 2,000 |",
        "|---|---:|---:|",
        "| TF-IDF | 7.0 (5.0-9.0) | 8.0 (5.0-9.0) |",
        "| cut texts |  | 6.2 (5.0-9.0) |",
    ]


def test_reviews_that_were_read_first_stand_beside_their_rivals() -> None:
    def entry(labels, against, points):
        interval = [points - 1, points + 1]
        return {"labels": labels, "against": against, "points": points} | {
            "points_interval": interval, "p_holm": 0.02 if points > 0 else 1e-9,
        }  # fmt: skip

    stored = {
        "rows": [{"labels": 2000, "mean": 16.0, "interval": [15.0, 17.0]}],
        "comparisons": [entry(2000, "full fine-tuning", -2.0), entry(2000, "TF-IDF", 1.0)],
        "tokens": 2_500_000,
        "word_perplexity": {"before": 300.4, "after": 99.6},
    }
    text = reviews.section(MADE | stored)
    assert "2,500,000 tokens" in text and "300 → 100" in text and SOURCE in text
    assert text.splitlines()[2:] == [
        "| labels | error | against full fine-tuning | against TF-IDF |",
        "|---:|---:|---:|---:|",
        "| 2,000 | 16.0 (15.0-17.0) | -2.0 (-3.0 to -1.0), p < 0.001 "
        "| +1.0 (+0.0 to +2.0), p = 0.020 |",
    ]


def test_texts_that_tapt_reads_stand_beside_full_fine_tuning_and_the_task_s_own() -> None:
    def entry(scheme, against, points):
        interval = [points - 1, points + 1]
        return {"scheme": scheme, "against": against, "points": points, "p_holm": 0.02} | {
            "points_interval": interval
        }

    names = ("full fine-tuning", "TAPT", "TAPT on statements of reviews")
    stored = {
        "rows": [
            {"scheme": name, "labels": 500, "mean": 9.0, "interval": [8.0, 10.0]} for name in names
        ],
        "comparisons": [entry("TAPT", names[2], -2.0), entry(names[2], names[0], 0.5)],
        "tokens": 400_000,
    }
    lines = STUDIES["tapt_texts"].section(MADE | stored).splitlines()
    assert "500 labels, 400,000 tokens" in lines[0]
    assert lines[4:] == [
        "| full fine-tuning | 9.0 (8.0-10.0) |  |  |",
        "| TAPT | 9.0 (8.0-10.0) |  |  |",
        "| TAPT on statements of reviews | 9.0 (8.0-10.0) | +0.5 (-0.5 to +1.5), p = 0.020 "
        "| -2.0 (-3.0 to -1.0), p = 0.020 |",
    ]


def test_a_released_model_has_its_errors_its_price_and_what_it_forgets() -> None:
    def row(scheme, labels, mean):
        return {"scheme": scheme, "labels": labels, "mean": mean, "interval": [5.0, 9.0]} | {
            "alike": {"mean": 70.25}
        }

    entry = {"scheme": "BitFit", "labels": 500, "against": "full fine-tuning", "points": 1.0}
    entry |= {"points_interval": [0.5, 1.5], "p_holm": 0.02}
    step = {"model": "ours", "scheme": "LoRA", "trained": 6_000, "milliseconds": 81.4}
    study = {
        "model": "released", "note": "Five seeds.",
        "rows": [
            row("full fine-tuning", 500, 6.0), row("BitFit", 500, 7.0), row("LoRA", 5452, 4.0),
        ],
        "alike_before": {"released": 82.04, "ours": 50.0},
        "comparisons": [entry], "steps": [step | {"mebibytes": 120.3}],
    }  # fmt: skip
    text = transfer_released.section(MADE | study)
    assert "| full fine-tuning | 6.0 (5.0-9.0) |  |" in text
    assert "| LoRA |  | 4.0 (5.0-9.0) |" in text
    assert "82.0 for released, 50.0 for ours" in text
    assert "| BitFit | 500 | full fine-tuning | +1.0 (+0.5 to +1.5), p = 0.020 | 70.2 |" in text
    assert text.splitlines()[-1] == "| ours | LoRA | 6,000 | 81 | 120 |"


def test_a_released_model_s_tasks_name_what_it_has_read_and_who_else_was_asked() -> None:
    def row(model, scheme):
        found = {"task": "mrpc", "labels": 100, "scheme": scheme, "model": model}
        return found | {"mean": 30.0, "interval": [28.0, 32.0]}

    entry = {"task": "mrpc", "labels": 100, "scheme": "solved", "against": "TF-IDF"}
    entry |= {"points": -3.0, "points_interval": [-4.0, -2.0], "p_holm": 1e-9}
    study = {
        "model": "released",
        "read": {"mrpc": "paraphrases"}, "comparisons": [entry],
        "rows": [row("released", "solved"), row("TF-IDF", "TF-IDF")],
        "sentence_pairs": {"test": {"released": 82.0, "TF-IDF": 60.04}},
    }  # fmt: skip
    text = tasks_released.section(MADE | study)
    assert "mrpc: paraphrases" in text
    assert "| mrpc | 100 | solved | 30.0 (28.0-32.0) | -3.0 (-4.0 to -2.0), p < 0.001 |" in text
    assert "| mrpc | 100 | TF-IDF: TF-IDF | 30.0 (28.0-32.0) |  |" in text
    assert text.splitlines()[-1] == "- test: released 82.0, TF-IDF 60.0"


def test_of_each_grid_the_best_point_stands_with_its_interval() -> None:
    def row(scheme, size, rate, error, forgetting):
        return {"scheme": scheme, "size": size, "rate": rate, "error": error, "of": 500} | {
            "forgetting": forgetting
        }

    study = {
        "rows": [
            row("LoRA", 8, 1e-3, 14.0, 1.0),
            row("LoRA", 2, 2e-3, 3.6, 1.5),
            row("LoRA", 32, 2e-3, 3.6, 9.0),
            row("from scratch", None, 5e-4, 24.0, None),
        ],
        "what": {"LoRA": "rank", "from scratch": ""}, "epochs": 5,
    }  # fmt: skip
    lines = grid_search.section(MADE | study).splitlines()
    assert "500 dev questions" in lines[2] and "5 epochs" in lines[2]
    assert lines[-2:] == [  # the first of two best; 18 of 500 is 2.3 to 5.6 %
        "| LoRA | 3 | 0.002 | rank 2 | 3.6 (2.3-5.6) | +1.50 |",
        "| from scratch | 1 | 0.0005 |  | 24.0 (20.5-27.9) |  |",
    ]


def _two_schemes_tested() -> dict:
    """Full fine-tuning and LoRA, which is clearly worse, as a study stores them."""

    def row(scheme, wrong, **more):
        errors = [100 * len(each) / 500 for each in wrong]
        found = {"scheme": scheme, "labels": 5452, "errors": errors, "test_wrong": wrong}
        return found | {"mean": sum(errors) / len(errors), "interval": [3.0, 9.0]} | more

    cost = {"trained_share": 0.01, "seconds": 99.6, "forgetting": 0.5, "dev_error": 8.04}
    cost["recipe"] = {"learning_rate": 0.002}
    full = row("full fine-tuning", [list(range(20)), list(range(30))], **cost)
    lora = row("LoRA", [list(range(45)), list(range(40))], **cost | {"forgetting": None})
    return MADE | {
        "rows": [lora, full], "counting": [row("TF-IDF", [list(range(50))])], "model": "ours",
        "comparisons": [{"scheme": "LoRA", "labels": 5452, "points": 3.5, "p_holm": 0.01,
                         "points_interval": [1.0, 6.0]}],
        "what_is": list(range(10, 210)),
    }  # fmt: skip


TESTED = [  # of 20 and 30 that are wrong the first ten are others: 10 and 20 of 200
    "| full fine-tuning | 0.002 | 8.0 | 5.0 (3.0-9.0) | 7.5 | 3.3 | 1.00% | 100 | +0.50 |",
    "| LoRA | 0.002 | 8.0 | 8.5 (3.0-9.0) ↑ | 16.2 | 3.3 | 1.00% | 100 |  |",
]


def test_main_schemes_stand_by_their_test_error_with_the_shift_apart() -> None:
    lines = STUDIES["schemes"].section(_two_schemes_tested() | {"epochs": 10}).splitlines()
    assert "200 test questions" in lines[2] and "10 epochs" in lines[2]
    assert lines[-3:] == [*TESTED, "| TF-IDF |  |  | 10.0 | 20.0 | 3.3 |  |  |  |"]


def test_schemes_that_nobody_confirmed_stand_in_the_same_columns() -> None:
    others = _two_schemes_tested() | {"epochs": {"screen": 5, "test": 10}}
    lines = STUDIES["other_schemes"].section(others).splitlines()
    assert "single run of 5 epochs" in lines[0] and "10 epochs and 2 seeds" in lines[0]
    assert lines[-2:] == TESTED


def test_models_alone_together_and_their_students_are_a_row_each() -> None:
    study = {
        "rows": [
            {"what": "one model", "errors": [3.8, 5.0], "mean": 4.4, "interval": [3.0, 6.0]},
            {"what": "two together", "errors": [3.6], "mean": 3.6, "interval": [2.29, 5.62]},
        ],
        "comparisons": [{"what": "two together", "points": -0.9, "p_holm": 0.087}],
        "chosen": {"what": "with the LM loss"},
    }  # fmt: skip
    lines = distilled.section(MADE | study).splitlines()
    assert "beside it (with the LM loss) and all labels" in lines[0]
    assert lines[-2:] == [  # 22 of 500; 18 of 500
        "| one model | 2 | 4.4 (2.9-6.6) |  |",
        "| two together | 1 | 3.6 (2.3-5.6) | 0.09 |",
    ]


def test_with_few_labels_each_stands_beside_full_fine_tuning_and_counting() -> None:
    def row(scheme, labels, mean):
        return {"scheme": scheme, "labels": labels, "mean": mean, "interval": [5.0, 9.0]} | {
            "errors": [mean] * 20
        }

    def apart(scheme, labels, points, p):
        span = [points - 1, points + 1]
        return {"scheme": scheme, "labels": labels, "points": points} | {
            "points_interval": span, "p_holm": p,
        }  # fmt: skip

    names = {"full fine-tuning": 5e-4, "frozen body": 8e-3}
    few = {
        "rows": [row(name, count, 7.0) for name in names for count in (500, 100)],
        "counting": [row("TF-IDF", count, 8.0) for count in (100, 500)],
        "choices": {name: {"recipe": {"learning_rate": rate}} for name, rate in names.items()},
        "comparisons": [apart("frozen body", 500, 3.0, 0.01), apart("frozen body", 100, 0.5, 0.01)],
        "against_counting": [
            apart("full fine-tuning", 100, -3.0, 0.2), apart("full fine-tuning", 500, -3.0, 0.01),
            apart("frozen body", 100, -3.0, 0.01), apart("frozen body", 500, 3.0, 0.01),
        ],
        "model": "ours",
    }  # fmt: skip
    lines = STUDIES["few_labels"].section(MADE | few).splitlines()
    assert "20 draws" in lines[2]
    assert lines[4:] == [
        "| | learning rate | 100 labels | 500 labels |",
        "|---|---:|---:|---:|",
        "| full fine-tuning | 0.0005 | 7.0 (5.0-9.0) ° | 7.0 (5.0-9.0) |",
        "| frozen body | 0.008 | 7.0 (5.0-9.0) | 7.0 (5.0-9.0) ↑ ° |",
        "| TF-IDF |  | 8.0 (5.0-9.0) | 8.0 (5.0-9.0) |",
    ]


def test_what_is_put_together_stands_with_its_interval_over_all_dev_questions() -> None:
    study = {
        "rows": [
            {"what": "gradual unfreezing", "errors": [8.0, 10.0], "mean": 9.0, "of": 250}
            | {"forgetting": 1.0},
            {"what": "with the LM loss", "errors": [3.2, 4.0], "mean": 3.6, "of": 250}
            | {"forgetting": 1.52},
        ],
    }  # fmt: skip
    assert combined.section(MADE | study).splitlines()[-2:] == [  # 18 of 500; 45 of 500
        "| with the LM loss | 3.6 (2.3-5.6) | +1.52 |",
        "| nothing | 9.0 (6.8-11.8) | +1.00 |",
    ]


def test_more_signal_is_a_row_a_way_and_a_column_a_number_of_labels() -> None:
    def row(scheme, labels, mean, draws):
        found = {"scheme": scheme, "labels": labels, "mean": mean, "interval": [3.0, 9.0]}
        return found | {"seeds": list(range(draws)), "forgetting": 0.5}

    def entry(labels, points, p):
        interval = [points - 1, points + 1]
        return {"scheme": "TAPT", "labels": labels, "points": points, "p_holm": p} | {
            "points_interval": interval
        }

    study = {
        "rows": [
            row("full fine-tuning", 100, 7.0, 10), row("TAPT", 100, 5.0, 10),
            row("full fine-tuning", 5452, 4.5, 5), row("TAPT", 5452, 4.4, 5),
            row("ensemble", 100, 7.5, 10),
        ],
        "comparisons": [entry(100, -2.0, 0.01), entry(5452, -0.1, 0.9)],
        "model": "ours",
    }  # fmt: skip
    table = [
        "|  | 100 labels, 10 draws | 5,452 labels, 5 seeds | seconds | forgets |",
        "|---|---:|---:|---:|---:|",
        "| TAPT | 5.0 (3.0-9.0) ↓ | 4.4 (3.0-9.0) | 560 | +0.50 |",
        "| full fine-tuning | 7.0 (3.0-9.0) | 4.5 (3.0-9.0) | 64 | +0.50 |",
        "| ensemble | 7.5 (3.0-9.0) |  | 190 | +0.50 |",
    ]
    timed = study | {"seconds": {"full fine-tuning": 63.6, "TAPT": 560.4, "ensemble": 190.0}}
    head, _, *rows = STUDIES["more_signal"].section(MADE | timed).splitlines()
    assert rows == table and "(TAPT: 560)" in head
    lines = STUDIES["tapt"].section(MADE | study | {"tokens": 400_000, "readings": 5}).splitlines()
    assert lines[0] == "## More signal" and lines[6] == table[2].replace(" 560 |", "")
    assert "400,000 tokens" in lines[2] and "5 readings" in lines[2]
