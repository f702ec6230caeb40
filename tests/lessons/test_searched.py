"""The tables of schemes that were searched alike, made of what was measured."""

from tlcourse.lessons import searched


def test_of_each_grid_the_best_point_stands_with_its_interval() -> None:
    def row(scheme, size, rate, error, forgetting):
        return {"scheme": scheme, "size": size, "rate": rate, "error": error, "of": 500} | {
            "forgetting": forgetting
        }

    screen = {
        "rows": [
            row("LoRA", 8, 1e-3, 14.0, 1.0),
            row("LoRA", 2, 2e-3, 3.6, 1.5),
            row("LoRA", 32, 2e-3, 3.6, 9.0),
            row("from scratch", None, 5e-4, 24.0, None),
        ],
        "what": {"LoRA": "rank", "from scratch": ""}, "epochs": 5, "data": "TREC-6, one dev split",
        "machine": "2 threads",
    }  # fmt: skip
    lines = searched.screen_section(screen).splitlines()
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
    return {
        "rows": [lora, full], "counting": [row("TF-IDF", [list(range(50))])], "model": "ours",
        "comparisons": [{"scheme": "LoRA", "labels": 5452, "points": 3.5, "p_holm": 0.01,
                         "points_interval": [1.0, 6.0]}],
        "what_is": list(range(10, 210)), "data": "TREC-6", "machine": "2 threads",
    }  # fmt: skip


TESTED = [  # of 20 and 30 that are wrong the first ten are others: 10 and 20 of 200
    "| full fine-tuning | 0.002 | 8.0 | 5.0 (3.0-9.0) | 7.5 | 3.3 | 1.00% | 100 | +0.50 |",
    "| LoRA | 0.002 | 8.0 | 8.5 (3.0-9.0) ↑ | 16.2 | 3.3 | 1.00% | 100 |  |",
]


def test_main_schemes_stand_by_their_test_error_with_the_shift_apart() -> None:
    lines = searched.schemes_section(_two_schemes_tested() | {"epochs": 10}).splitlines()
    assert "200 test questions" in lines[2] and "10 epochs" in lines[2]
    assert lines[-3:] == [*TESTED, "| TF-IDF |  |  | 10.0 | 20.0 | 3.3 |  |  |  |"]


def test_schemes_that_nobody_confirmed_stand_in_the_same_columns() -> None:
    others = _two_schemes_tested() | {"epochs": {"screen": 5, "test": 10}}
    lines = searched.others_section(others).splitlines()
    assert "single run of 5 epochs" in lines[0] and "10 epochs and 2 seeds" in lines[0]
    assert lines[-2:] == TESTED


def test_models_alone_together_and_their_students_are_a_row_each() -> None:
    distilled = {
        "rows": [
            {"what": "one model", "errors": [3.8, 5.0], "mean": 4.4, "interval": [3.0, 6.0]},
            {"what": "two together", "errors": [3.6], "mean": 3.6, "interval": [2.29, 5.62]},
        ],
        "comparisons": [{"what": "two together", "points": -0.9, "p_holm": 0.087}],
        "chosen": {"what": "with the LM loss"}, "data": "TREC-6", "machine": "2 threads",
    }  # fmt: skip
    lines = searched.distilled_section(distilled).splitlines()
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
        "model": "ours", "data": "TREC-6", "machine": "2 threads",
    }  # fmt: skip
    lines = searched.few_labels_section(few).splitlines()
    assert "20 draws" in lines[2]
    assert lines[4:] == [
        "| | learning rate | 100 labels | 500 labels |",
        "|---|---:|---:|---:|",
        "| full fine-tuning | 0.0005 | 7.0 (5.0-9.0) ° | 7.0 (5.0-9.0) |",
        "| frozen body | 0.008 | 7.0 (5.0-9.0) | 7.0 (5.0-9.0) ↑ ° |",
        "| TF-IDF |  | 8.0 (5.0-9.0) | 8.0 (5.0-9.0) |",
    ]


def test_what_is_put_together_stands_with_its_interval_over_all_dev_questions() -> None:
    combined = {
        "rows": [
            {"what": "gradual unfreezing", "errors": [8.0, 10.0], "mean": 9.0, "of": 250}
            | {"forgetting": 1.0},
            {"what": "with the LM loss", "errors": [3.2, 4.0], "mean": 3.6, "of": 250}
            | {"forgetting": 1.52},
        ],
        "data": "TREC-6", "machine": "2 threads",
    }  # fmt: skip
    assert searched.combined_section(combined).splitlines()[-2:] == [  # 18 of 500; 45 of 500
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
        "model": "ours", "data": "TREC-6", "machine": "2 threads",
    }  # fmt: skip
    table = [
        "|  | 100 labels, 10 draws | 5,452 labels, 5 seeds | seconds | forgets |",
        "|---|---:|---:|---:|---:|",
        "| TAPT | 5.0 (3.0-9.0) ↓ | 4.4 (3.0-9.0) | 560 | +0.50 |",
        "| full fine-tuning | 7.0 (3.0-9.0) | 4.5 (3.0-9.0) | 64 | +0.50 |",
        "| ensemble | 7.5 (3.0-9.0) |  | 190 | +0.50 |",
    ]
    timed = study | {"seconds": {"full fine-tuning": 63.6, "TAPT": 560.4, "ensemble": 190.0}}
    head, _, *rows = searched.more_signal_section(timed).splitlines()
    assert rows == table and "(TAPT: 560)" in head
    lines = searched.tapt_section(study | {"tokens": 400_000, "readings": 5}).splitlines()
    assert lines[0] == "## More signal" and lines[6] == table[2].replace(" 560 |", "")
    assert "400,000 tokens" in lines[2] and "5 readings" in lines[2]
