"""The tables of the results page, made of what was measured."""

from tlcourse.lessons import adapted


def test_results_are_a_table_of_methods_and_labels() -> None:
    rows = [
        {"model": "TF-IDF", "labels": 5452, "mean": 9.2, "interval": [7.0, 12.0]},
        {"model": "causal", "labels": 500, "mean": 15.94, "interval": [13.0, 19.4]},
        {"model": "causal", "labels": 5452, "mean": 6.6, "interval": [4.7, 9.1]},
    ]
    transfer = {"rows": rows, "data": "TREC-6", "machine": "2 threads", "note": "3 seeds."}
    lines = adapted.transfer_section(transfer).splitlines()
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
    tasks = {"rows": rows, "model": "ours", "data": "some data", "machine": "2 threads"}
    assert adapted.tasks_section(tasks).splitlines()[4:] == [
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
        "tokens": 2_500_000, "word_perplexity": {"before": 300.4, "after": 99.6},
        "data": "reviews", "machine": "two threads",
    }  # fmt: skip
    text = adapted.reviews_section(stored)
    assert "2,500,000 tokens" in text and "300 → 100" in text and "two threads" in text
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
        "tokens": 400_000, "data": "TREC-6", "machine": "two threads",
    }  # fmt: skip
    lines = adapted.texts_section(stored).splitlines()
    assert "500 labels, 400,000 tokens" in lines[0]
    assert lines[4:] == [
        "| full fine-tuning | 9.0 (8.0-10.0) |  |  |",
        "| TAPT | 9.0 (8.0-10.0) |  |  |",
        "| TAPT on statements of reviews | 9.0 (8.0-10.0) | +0.5 (-0.5 to +1.5), p = 0.020 "
        "| -2.0 (-3.0 to -1.0), p = 0.020 |",
    ]
