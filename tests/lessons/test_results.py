"""The tables of the results page, made of what was measured."""

from tlcourse.lessons import results


def test_results_are_a_table_of_methods_and_labels() -> None:
    rows = [
        {"model": "TF-IDF", "labels": 5452, "mean": 9.2, "interval": [7.0, 12.0]},
        {"model": "causal", "labels": 500, "mean": 15.94, "interval": [13.0, 19.4]},
        {"model": "causal", "labels": 5452, "mean": 6.6, "interval": [4.7, 9.1]},
    ]
    transfer = {"rows": rows, "data": "TREC-6", "machine": "2 threads", "note": "3 seeds."}
    lines = results.transfer_section(transfer).splitlines()
    assert lines[-8:] == [
        "Test error in percent. TREC-6; 2 threads.",
        "",
        "| | 500 labels | 5,452 labels |",
        "|---|---:|---:|",
        "| TF-IDF |  | 9.2 (7.0-12.0) |",
        "| causal | 15.9 (13.0-19.4) | 6.6 (4.7-9.1) |",
        "",
        "3 seeds.",
    ]
