"""Sections of RESULTS.md, each made of what its study measured."""

import sys

from benchmarks import __main__ as command
from benchmarks import markdown, results_page
from benchmarks.studies import grid_search, tasks, transfer
from benchmarks.studies.trec import STUDIES
from tlcourse import files

MADE = {"job": "a-study", "data": "TREC-6", "machine": "2 threads"}


def scored(scheme: str, labels: int, mean: float, **more) -> dict:
    """A stored row of a scheme with so many labels."""
    row = {"scheme": scheme, "labels": labels, "mean": mean, "interval": [5.0, 9.0]}
    return row | more


def apart(scheme: str, labels: int, points: float, p: float) -> dict:
    """A stored comparison, whose interval is one point wide on each side."""
    entry = {"scheme": scheme, "labels": labels, "points": points, "p_holm": p}
    return entry | {"points_interval": [points - 1, points + 1]}


def test_the_command_writes_the_page_and_says_whether_it_changed(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(files, "root", lambda: tmp_path)
    monkeypatch.setattr(results_page, "page", lambda root: "# Results of today\n")
    monkeypatch.setattr(sys, "argv", ["benchmarks", "results"])
    assert command.main() == command.main() == 0
    assert (tmp_path / "RESULTS.md").read_text(encoding="utf-8") == "# Results of today\n"
    assert capsys.readouterr().out == "RESULTS.md written\nRESULTS.md is up to date\n"


def test_cells_show_intervals_and_what_differs() -> None:
    entry = {"points": 1.04, "points_interval": [0.0, 2.0], "p_holm": 0.02}
    assert markdown.points_cell(entry) == "+1.0 (+0.0 to +2.0), p = 0.020"
    assert markdown.points_cell(entry | {"p_holm": 1e-9}).endswith(", p < 0.001")
    assert markdown.points_cell(None) == markdown.signed(None) == ""
    assert markdown.signed(1.5) == "+1.50"
    assert markdown.error_cell({"mean": 9.25, "interval": [8.0, 10.0]}) == "9.2 (8.0-10.0)"
    assert markdown.wilson_cell(3.6, 500) == "3.6 (2.3-5.6)"  # 18 errors, as published
    source = "TREC-6; 2 threads (`python -m benchmarks a-study`; lesson 06)."
    assert markdown.source(MADE, "lesson 06") == source


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
        scored(scheme, labels, mean, task=task)
        for task, labels, scheme, mean in (
            ("trec", 100, "TF-IDF", 7.0),
            ("imdb", 2000, "TF-IDF", 8.0),
            ("imdb", 2000, "cut texts", 6.25),
        )
    ]
    assert tasks.section(MADE | {"rows": rows, "model": "ours"}).splitlines()[4:] == [
        "| | trec, 100 | imdb, 2,000 |",
        "|---|---:|---:|",
        "| TF-IDF | 7.0 (5.0-9.0) | 8.0 (5.0-9.0) |",
        "| cut texts |  | 6.2 (5.0-9.0) |",
    ]


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
        "what": {"LoRA": "rank", "from scratch": ""},
        "epochs": 5,
    }
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
        "rows": [lora, full],
        "counting": [row("TF-IDF", [list(range(50))])],
        "model": "ours",
        "comparisons": [apart("LoRA", 5452, 3.5, 0.01)],
        "what_is": list(range(10, 210)),
    }


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


def test_with_few_labels_each_stands_beside_full_fine_tuning_and_counting() -> None:
    names = {"full fine-tuning": 5e-4, "frozen body": 8e-3}
    few = {
        "rows": [
            scored(name, count, 7.0, errors=[7.0] * 20) for name in names for count in (500, 100)
        ],
        "counting": [scored("TF-IDF", count, 8.0) for count in (100, 500)],
        "choices": {name: {"recipe": {"learning_rate": rate}} for name, rate in names.items()},
        "comparisons": [apart("frozen body", 500, 3.0, 0.01), apart("frozen body", 100, 0.5, 0.01)],
        "against_counting": [
            apart("full fine-tuning", 100, -3.0, 0.2),
            apart("full fine-tuning", 500, -3.0, 0.01),
            apart("frozen body", 100, -3.0, 0.01),
            apart("frozen body", 500, 3.0, 0.01),
        ],
        "model": "ours",
    }
    lines = STUDIES["few_labels"].section(MADE | few).splitlines()
    assert "20 draws" in lines[2]
    assert lines[4:] == [
        "| | learning rate | 100 labels | 500 labels |",
        "|---|---:|---:|---:|",
        "| full fine-tuning | 0.0005 | 7.0 (5.0-9.0) ° | 7.0 (5.0-9.0) |",
        "| frozen body | 0.008 | 7.0 (5.0-9.0) | 7.0 (5.0-9.0) ↑ ° |",
        "| TF-IDF |  | 8.0 (5.0-9.0) | 8.0 (5.0-9.0) |",
    ]


def test_more_signal_is_a_row_a_way_and_a_column_a_number_of_labels() -> None:
    def row(scheme, labels, mean, draws):
        return scored(scheme, labels, mean, seeds=list(range(draws)), forgetting=0.5)

    study = {
        "rows": [
            row("full fine-tuning", 100, 7.0, 10),
            row("TAPT", 100, 5.0, 10),
            row("full fine-tuning", 5452, 4.5, 5),
            row("TAPT", 5452, 4.4, 5),
            row("ensemble", 100, 7.5, 10),
        ],
        "comparisons": [apart("TAPT", 100, -2.0, 0.01), apart("TAPT", 5452, -0.1, 0.9)],
        "model": "ours",
    }
    table = [
        "|  | 100 labels, 10 draws | 5,452 labels, 5 seeds | seconds | forgets |",
        "|---|---:|---:|---:|---:|",
        "| TAPT | 5.0 (5.0-9.0) ↓ | 4.4 (5.0-9.0) | 560 | +0.50 |",
        "| full fine-tuning | 7.0 (5.0-9.0) | 4.5 (5.0-9.0) | 64 | +0.50 |",
        "| ensemble | 7.5 (5.0-9.0) |  | 190 | +0.50 |",
    ]
    timed = study | {"seconds": {"full fine-tuning": 63.6, "TAPT": 560.4, "ensemble": 190.0}}
    head, _, *rows = STUDIES["more_signal"].section(MADE | timed).splitlines()
    assert rows == table and "(TAPT: 560)" in head
    lines = STUDIES["tapt"].section(MADE | study | {"tokens": 400_000, "readings": 5}).splitlines()
    assert lines[0] == "## More signal" and lines[6] == table[2].replace(" 560 |", "")
    assert "400,000 tokens" in lines[2] and "5 readings" in lines[2]
