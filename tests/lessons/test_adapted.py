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


def test_a_released_model_has_its_errors_its_price_and_what_it_forgets() -> None:
    def row(scheme, labels, mean):
        return {"scheme": scheme, "labels": labels, "mean": mean, "interval": [5.0, 9.0]} | {
            "alike": {"mean": 70.25}
        }

    entry = {"scheme": "BitFit", "labels": 500, "against": "full fine-tuning", "points": 1.0}
    entry |= {"points_interval": [0.5, 1.5], "p_holm": 0.02}
    step = {"model": "ours", "scheme": "LoRA", "trained": 6_000, "milliseconds": 81.4}
    study = {
        "model": "released", "note": "Five seeds.", "data": "TREC-6", "machine": "one thread",
        "rows": [
            row("full fine-tuning", 500, 6.0), row("BitFit", 500, 7.0), row("LoRA", 5452, 4.0),
        ],
        "alike_before": {"released": 82.04, "ours": 50.0},
        "comparisons": [entry], "steps": [step | {"mebibytes": 120.3}],
    }  # fmt: skip
    text = adapted.released_section(study)
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
        "model": "released", "data": "pairs", "machine": "one thread",
        "read": {"mrpc": "paraphrases"}, "comparisons": [entry],
        "rows": [row("released", "solved"), row("TF-IDF", "TF-IDF")],
        "sentence_pairs": {"test": {"released": 82.0, "TF-IDF": 60.04}},
    }  # fmt: skip
    text = adapted.released_tasks_section(study)
    assert "mrpc: paraphrases" in text
    assert "| mrpc | 100 | solved | 30.0 (28.0-32.0) | -3.0 (-4.0 to -2.0), p < 0.001 |" in text
    assert "| mrpc | 100 | TF-IDF: TF-IDF | 30.0 (28.0-32.0) |  |" in text
    assert text.splitlines()[-1] == "- test: released 82.0, TF-IDF 60.0"
