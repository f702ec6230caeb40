"""Sections of the results page: what probes read in representations, and when it comes."""

from statistics import mean
from typing import Any

PERPLEXITY = "wikitext-103 validation"  # where models that read from left to right are measured


def probing_section(probing: dict[str, Any]) -> str:
    """What probes read: a row a task, of each model the layer that does best.

    `probing` is what `python -m benchmarks probing` wrote. Of the random encoders, which are drawn
    several times, the mean of their best layers.
    """
    kinds = probing["kinds"]
    best: dict[str, dict[str, dict]] = {}  # of a task and a reader, the row of its best layer
    for row in probing["rows"]:
        readers = best.setdefault(row["task"], {})
        name = row["model"] + (f" {row['draw']}" if row["model"] == "random" else "")
        readers[name] = max(readers.get(name, row), row, key=_right)
    models = sorted({row["model"] for row in probing["rows"]} - {"random"})
    lines = [
        "## What is in a representation?",
        "",
        "Linear probes on frozen hidden states, accuracy in percent, of each model the layer that "
        "does best on the judged sentences (the number in brackets; 0 is the embedding). *Word "
        "types* answers the most frequent label of each word; *random* has the same shape and has "
        "read nothing. The last columns are of the first model: points above word types with a "
        "95 % interval over sentences; selectivity, which is accuracy minus that of a control "
        "task; and how many times shorter the online code is than a uniform one "
        f"(`python -m benchmarks probing`; lesson 07). {probing['data']}. {probing['machine']}.",
        "",
        "| task | data | most frequent | word types | random | "
        + " | ".join(models)
        + " | above word types | selectivity | code |",
        "|---|---|" + "---:|" * (len(models) + 6),
    ]
    for task, readers in best.items():
        if task not in kinds:
            continue
        row = readers[models[0]]
        above = "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * x for x in row["above_word_types"]))
        selectivity = "" if row["selectivity"] is None else f"{100 * row['selectivity']:+.1f}"
        cells = [task, kinds[task][0], f"{100 * row['majority']:.1f}"]
        cells += [f"{100 * row['word_types']:.1f}", f"{_untaught(readers):.1f}"]
        cells += [f"{100 * _right(readers[m]):.1f} ({readers[m]['layer']})" for m in models]
        lines.append(f"| {' | '.join([*cells, above, selectivity])} | {row['compression']:.2f} |")
    for readers in (best[task] for task in best if task not in kinds):
        order = 100 * readers[models[0]]["linear_order"]
        found = [
            "{} {:.1f} ({:.1f} to {:.1f}, layer {})".format(
                name, *(100 * x for x in readers[name]["uuas"]), readers[name]["layer"]
            )
            for name in models
        ]
        lines += [
            "",
            "Trees, by a distance probe, in undirected attachments that are right (UUAS, percent): "
            f"{', '.join(found)}; random {_untaught(readers):.1f}; neighbours in the sentence "
            f"{order:.1f}.",
        ]
    return "\n".join(lines)


def pairs_section(pairs: dict[str, Any]) -> str:
    """What layers add to the embeddings, and both sides to one: a row a task.

    `pairs` is what `python -m benchmarks probing_pairs` wrote.
    """
    gains: dict[str, dict[str, str]] = {}
    for row in pairs["rows"]:
        told = "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * value for value in row["gain"]))
        gains.setdefault(row["task"], {})[row["pair"]] = told
    lines = [
        "### In pairs",
        "",
        "Two probes on the same test items: by how many points the first is right more often, with "
        f"a 95 % interval over sentences. Layer {pairs['layer']} for every task (`python -m "
        "benchmarks probing_pairs`; lesson 07b).",
        "",
        "| task | layer against embeddings, causal | masked against causal, same layer |",
        "|---|---:|---:|",
    ]
    lines += [f"| {task} | {two['layers']} | {two['both sides']} |" for task, two in gains.items()]
    return "\n".join(lines)


def probing_released_section(study: dict[str, Any]) -> str:
    """A released model and one of its shape that has read nothing, layer by layer.

    `study` is what `python -m benchmarks probing_released` wrote.
    """
    layers = sorted({row["layer"] for row in study["rows"]})
    scores: dict[str, dict[str, list[str]]] = {}
    for row in study["rows"]:
        for name, value in _scores(row).items():
            models = scores.setdefault(name, {})
            models.setdefault(row["model"], []).append(f"{100 * value:.1f}")
    lines = [
        "### A released model",
        "",
        "The same probes on the same sentences, asked of a released model and of random weights of "
        "its shape: accuracy in percent, of trees UUAS, Spearman's correlation of distances (times "
        "100) and the share of roots found. Its states have 384 numbers, those of our models 256, "
        "and its layer 0 knows the position of a word (`python -m benchmarks probing_released`; "
        f"lesson 07b). {study['data']}. {study['machine']}.",
        "",
        f"| task | model | {' | '.join(map(str, layers))} |",
        "|---|---|" + "---:|" * len(layers),
    ]
    lines += [
        f"| {name} | {model} | {' | '.join(row)} |"
        for name, models in scores.items()
        for model, row in models.items()
    ]
    lines += ["", f"Differences in points on the same items, layer {study['layer']}:", ""]
    against = {"layers": "its layer 0", "released": "causal-small"}
    for row in study["pairs"]:
        told = "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * value for value in row["gain"]))
        lines.append(f"- {row['task']}, released model minus {against[row['pair']]}: {told}")
    return "\n".join(lines)


def _scores(row: dict) -> dict[str, float]:
    """What a row of a study of probes says, by the name of the task and of the score."""
    if "accuracy" in row:
        return {row["task"]: row["accuracy"][0]}
    names = {"UUAS": row["uuas"][0], "distances": row["distance_spearman"], "roots": row["root"]}
    return {f"{row['task']}, {name}": value for name, value in names.items()}


def growth_section(growth: dict[str, Any]) -> str:
    """What models know after so many tokens: a row a saved model.

    `growth` is what `python -m benchmarks growth` wrote.
    """
    first = growth["rows"][0]
    lines = [
        "## When does it come?",
        "",
        "Two models, saved on their way, before any decay of the learning rate. Parts of speech by "
        "a linear probe and trees by a distance probe, each in the layer that does best on "
        "validation sentences (accuracy and UUAS, percent, with 95 % intervals); agreement of verb "
        "and subject with nothing in between and with one noun of the other number (percent; "
        "guessing 50); loss in nats per target, which only compares models of one objective; and "
        "errors on TREC's dev split after fine-tuning (percent, a single run each). Word types "
        f"reach {100 * first['word types']:.1f} % of the parts of speech, neighbours in the "
        f"sentence {100 * first['linear order']:.1f} % of the trees (`python -m benchmarks "
        f"growth`; lesson 07b). {growth['data']}. {growth['machine']}.",
        "",
        "| objective | tokens read | parts of speech | trees | agreement | with an attractor | "
        "loss | TREC |",
        "|---|" + "---:|" * 7,
    ]
    asked = ("part of speech", "trees", "agreement, 0 attractors", "agreement, 1 attractor")
    for row in growth["rows"]:
        shares = ["{:.1f} ({:.1f} to {:.1f})".format(*(100 * x for x in row[k])) for k in asked]
        cells = [row["objective"], f"{row['tokens']:,}", *shares, f"{row['loss']:.2f}"]
        lines.append(f"| {' | '.join(cells)} | {row['dev error']:.1f} |")
    return "\n".join(lines)


def behaviour_section(behaviour: dict[str, Any]) -> str:
    """Which of two sentences models find likelier: a row a model, then one a construction.

    `behaviour` is what `python -m benchmarks behaviour` wrote.
    """
    rows = {(row["set"], row["group"], row["model"]): row for row in behaviour["rows"]}
    names = [each["model"] for each in behaviour["models"]]
    published = ", ".join(
        f"{share} ({name})" for name, share in behaviour["published"]["blimp"].items()
    )
    lines = [
        "## What models find likelier",
        "",
        "Pairs of a grammatical sentence and one that is not, and how often the first is the "
        "likelier one (percent; guessing 50), with 95 % intervals over pairs. Perplexity is "
        f"per word, on {PERPLEXITY}. The last three models have read the same text (`python -m "
        f"benchmarks behaviour`; lesson 07b). {behaviour['data']}. {behaviour['machine']}.",
        "",
        "| model | tokens read | perplexity | BLiMP | Marvin & Linzen |",
        "|---|---:|---:|---:|---:|",
    ]
    for each in behaviour["models"]:
        reads = each.get(PERPLEXITY)  # nothing from left to right, if it sees both sides
        cells = [each["model"], f"{each['facts']['tokens']:,}"]
        cells += [f"{reads['word_perplexity']:.0f}" if reads else ""]
        for kind in ("BLiMP", "Marvin & Linzen"):
            row = rows[kind, "all", each["model"]]
            ends = [100 * value for value in (row["accuracy"], *row["interval"])]
            cells.append("{:.1f} ({:.1f} to {:.1f})".format(*ends))
        lines.append(f"| {' | '.join(cells)} |")
    said = f"Published on BLiMP ({behaviour['published']['source']}): "
    lines += ["", f"{said}{published}.", "", *_constructions(rows, names)]
    return "\n".join(lines)


def _constructions(rows: dict[tuple[str, str, str], dict], names: list[str]) -> list[str]:
    """Percent right, a row a construction: our agreement sentences, Marvin & Linzen's."""
    lines = [
        "One row per construction, in percent. *Agreement* is of the course's grammar: with so "
        "many nouns of the other number between subject and verb, and the same in sentences that "
        "are grammatical and mean nothing.",
        "",
        f"| construction | pairs | {' | '.join(names)} |",
        "|---|---:|" + "---:|" * len(names),
    ]
    for kind, group, name in rows:
        if kind == "BLiMP" or group == "all" or name != names[0]:
            continue
        title = {"attractors": "agreement", "attractors, nonsense": "agreement, nonsense"}.get(kind)
        title = f"{title}, {group}" if title else group.replace("_", " ")
        shares = [f"{100 * rows[kind, group, model]['accuracy']:.1f}" for model in names]
        pairs = rows[kind, group, name]["pairs"]
        lines.append(f"| {title} | {pairs} | {' | '.join(shares)} |")
    return lines


def _right(row: dict) -> float:
    """The share that a probe gets right."""
    return (row["uuas"] if "uuas" in row else row["accuracy"])[0]


def _untaught(readers: dict[str, dict]) -> float:
    """The mean over the models that have read nothing, in percent."""
    return 100 * mean(_right(row) for name, row in readers.items() if name.startswith("random"))
