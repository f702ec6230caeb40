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


def test_probes_are_a_table_of_best_layers_and_trees_a_sentence() -> None:
    def row(model: str, layer: int, right: float, draw: int = 0) -> dict:
        known = {"majority": 0.2, "word_types": 0.5, "selectivity": None, "compression": 1.5}
        above = [right - 0.5, right - 0.51, right - 0.49]
        found = {"accuracy": [right, right, right], "above_word_types": above}
        return {"task": "tag", "model": model, "layer": layer, "draw": draw} | known | found

    def tree(model: str, right: float) -> dict:
        found = {"uuas": [right, right - 0.01, right + 0.01], "linear_order": 0.48}
        return {"task": "distance", "model": model, "layer": 3, "draw": 0} | found

    rows = [row("causal", 1, 0.7), row("causal", 2, 0.8), row("causal", 3, 0.6)]
    rows += [row("random", 1, 0.4), row("random", 2, 0.5), row("random", 1, 0.3, draw=1)]
    rows += [tree("causal", 0.6), tree("random", 0.5)]
    kinds = {"tag": ["ewt", "syntax"]}
    probing = {"rows": rows, "kinds": kinds, "data": "EWT", "machine": "2 threads"}
    lines = results.probing_section(probing).splitlines()
    assert lines[4].startswith("| task | data | most frequent | word types | random | causal | ")
    assert lines[6:] == [
        "| tag | ewt | 20.0 | 50.0 | 40.0 | 80.0 (2) | +30.0 (+29.0 to +31.0) |  | 1.50 |",
        "",
        "Trees, by a distance probe, in undirected attachments that are right (UUAS, percent): "
        "causal 60.0 (59.0 to 61.0, layer 3); random 50.0; neighbours in the sentence 48.0.",
    ]
