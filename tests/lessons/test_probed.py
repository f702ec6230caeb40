"""The tables of the probing studies on the results page."""

from tlcourse.lessons.probed import (
    behaviour_section,
    growth_section,
    pairs_section,
    probing_released_section,
    probing_section,
)


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
    lines = probing_section(probing).splitlines()
    assert lines[4].startswith("| task | data | most frequent | word types | random | causal | ")
    assert lines[6:] == [
        "| tag | ewt | 20.0 | 50.0 | 40.0 | 80.0 (2) | +30.0 (+29.0 to +31.0) |  | 1.50 |",
        "",
        "Trees, by a distance probe, in undirected attachments that are right (UUAS, percent): "
        "causal 60.0 (59.0 to 61.0, layer 3); random 50.0; neighbours in the sentence 48.0.",
    ]


def test_growth_is_a_row_a_saved_model() -> None:
    score = [0.5, 0.4, 0.6]
    row = {"objective": "causal", "tokens": 1_000_000, "loss": 6.5, "dev error": 25.04}
    row |= {"part of speech": score, "trees": [0.3, 0.2, 0.4], "word types": 0.819}
    row |= {"agreement, 0 attractors": score, "agreement, 1 attractor": score, "linear order": 0.43}
    growth = {"rows": [row], "data": "EWT", "machine": "2 threads"}
    lines = growth_section(growth).splitlines()
    assert "Word types reach 81.9 %" in lines[2] and "43.0 % of the trees" in lines[2]
    assert lines[4].count("|") == lines[6].count("|") == 9
    assert lines[6] == (
        "| causal | 1,000,000 | 50.0 (40.0 to 60.0) | 30.0 (20.0 to 40.0) | 50.0 (40.0 to 60.0) "
        "| 50.0 (40.0 to 60.0) | 6.50 | 25.0 |"
    )


def test_pairs_are_a_row_a_task() -> None:
    rows = [
        {"task": "tag", "pair": "layers", "gain": [0.04, 0.03, 0.05]},
        {"task": "tag", "pair": "both sides", "gain": [-0.001, -0.004, 0.002]},
    ]
    lines = pairs_section({"rows": rows, "layer": 4}).splitlines()
    assert "Layer 4 for every task" in lines[2]
    assert lines[6:] == ["| tag | +4.0 (+3.0 to +5.0) | -0.1 (-0.4 to +0.2) |"]


def test_a_released_model_is_a_row_a_score_beside_one_that_has_read_nothing() -> None:
    def row(model: str, layer: int, right: float) -> dict:
        asked = {"task": "tag", "model": model, "layer": layer}
        return asked | {"accuracy": [right, right - 0.01, right + 0.01]}

    tree = {"task": "trees", "model": "bert", "layer": 0, "uuas": [0.5, 0.4, 0.6]}
    tree |= {"distance_spearman": 0.62, "root": 0.7}
    rows = [row("bert", 0, 0.8), row("bert", 1, 0.9), tree, tree | {"layer": 1, "root": 0.71}]
    rows += [row("random bert", 0, 0.6), row("random bert", 1, 0.5)]
    pairs = [
        {"task": "tag", "pair": "layers", "gain": [0.1, 0.09, 0.11]},
        {"task": "tag", "pair": "released", "gain": [-0.02, -0.03, 0.01]},
    ]
    study = {"rows": rows, "pairs": pairs, "layer": 1, "data": "EWT", "machine": "2 threads"}
    lines = probing_released_section(study).splitlines()
    assert lines[4:11] == [
        "| task | model | 0 | 1 |",
        "|---|---|---:|---:|",
        "| tag | bert | 80.0 | 90.0 |",
        "| tag | random bert | 60.0 | 50.0 |",
        "| trees, UUAS | bert | 50.0 | 50.0 |",
        "| trees, distances | bert | 62.0 | 62.0 |",
        "| trees, roots | bert | 70.0 | 71.0 |",
    ]
    assert lines[12:] == [
        "Differences in points on the same items, layer 1:",
        "",
        "- tag, released model minus its layer 0: +10.0 (+9.0 to +11.0)",
        "- tag, released model minus causal-small: -2.0 (-3.0 to +1.0)",
    ]


def test_behaviour_is_a_row_a_model_and_one_a_construction() -> None:
    kinds = {"BLiMP": ["all"], "Marvin & Linzen": ["simple_agrmt", "all"]}
    kinds |= dict.fromkeys(("attractors", "attractors, nonsense"), ["0", "1", "all"])
    right = {"causal": 0.75, "two-sided": 0.5}
    rows = [
        {"model": model, "set": kind, "group": group, "accuracy": share, "pairs": 400}
        | {"interval": [share - 0.01, share + 0.01]}
        for model, share in right.items()
        for kind, groups in kinds.items()
        for group in groups
    ]
    models = [{"model": model, "facts": {"tokens": 4_000_000}} for model in right]
    models[0]["wikitext-103 validation"] = {"word_perplexity": 123.4}
    published = {"source": "a paper, table 3", "blimp": {"a model": 61.2, "people": 96.4}}
    given = {"rows": rows, "models": models, "published": published}
    lines = behaviour_section(given | {"data": "Pairs", "machine": "2 threads"}).splitlines()
    assert lines[6:8] == [
        "| causal | 4,000,000 | 123 | 75.0 (74.0 to 76.0) | 75.0 (74.0 to 76.0) |",
        "| two-sided | 4,000,000 |  | 50.0 (49.0 to 51.0) | 50.0 (49.0 to 51.0) |",
    ]
    assert lines[9].endswith("(a paper, table 3): 61.2 (a model), 96.4 (people).")
    assert lines[13] == "| construction | pairs | causal | two-sided |"
    assert lines[15:] == [
        "| simple agrmt | 400 | 75.0 | 50.0 |",
        "| agreement, 0 | 400 | 75.0 | 50.0 |",
        "| agreement, 1 | 400 | 75.0 | 50.0 |",
        "| agreement, nonsense, 0 | 400 | 75.0 | 50.0 |",
        "| agreement, nonsense, 1 | 400 | 75.0 | 50.0 |",
    ]
