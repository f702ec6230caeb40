"""Sections of the results page: how fast the course's steps are beside the libraries'."""

from typing import Any


def speed_section(pretraining: dict[str, Any]) -> str:
    """How fast a pretraining step is beside the libraries': a row a peer, a column a job.

    `pretraining` is what `python -m benchmarks pretraining` wrote. A cell is our tokens per second
    over the peer's, and in brackets our training memory over theirs.
    """
    columns = list(dict.fromkeys((row["job"], row["vocabulary"]) for row in pretraining["rows"]))
    cells: dict[str, dict] = {}
    for row in pretraining["rows"]:
        peer = row["peer"].replace("GPT-2", "model").replace("BERT", "model")
        described = ["as it comes"] * (row["form"].startswith("float32"))
        described += ["fastest form"] * row["fastest"]
        if described:
            cell = f"{row['ratio']:.2f} ({row['memory_ratio']:.2f})"
            name = f"{peer}, {' and '.join(described)}: {row['form']}"
            cells.setdefault(name, {})[row["job"], row["vocabulary"]] = cell
    lines = [
        "## Speed",
        "",
        "A step of our pretraining against the libraries': our tokens per second over theirs (above"
        " 1 we are faster), in brackets our training memory over theirs. One run, every contestant"
        f" in its own process; {pretraining['step']}; {pretraining['machine']}"
        " (`python -m benchmarks pretraining`).",
        "",
        "| | " + " | ".join(f"{job}, vocabulary {size:,}" for job, size in columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for name, found in cells.items():
        lines.append(f"| {name} | " + " | ".join(found.get(c, "") for c in columns) + " |")
    shares = [f"{100 * row['peak_share']:.0f} %" for row in pretraining["ours"]]
    lines += ["", f"Our step reaches {', '.join(shares)} of this machine's fastest matrix product "]
    lines[-1] += "(a number for each column)."
    return "\n".join(lines)


def finetuning_section(finetuning: dict[str, Any]) -> str:
    """How many questions a second fine-tuning reads beside others: a line a body, precision, peer.

    `finetuning` is what `python -m benchmarks finetuning` wrote. Of a peer's forms its quickest.
    """
    return (
        "Fine-tuning, our questions per second over theirs, nobody compiled; in brackets the "
        f"lowest and the highest of {finetuning['rows'][0]['rounds']} rounds. "
        f"{finetuning['data']}; {finetuning['machine']} (`python -m benchmarks finetuning`):\n\n"
        + _finetuning_lines(finetuning)
    )


def finetuning_again_section(finetuning: dict[str, Any]) -> str:
    """The same lines, of a second run of that command on another machine."""
    return (
        "The same command on another machine of that kind, where the rounds lie farther apart:\n\n"
        + _finetuning_lines(finetuning)
    )


def _finetuning_lines(finetuning: dict[str, Any]) -> str:
    rows: dict[tuple[str, str, str], dict] = {}
    for row in finetuning["rows"]:
        key = row["body"], row["precision"], row["peer"]
        rows[key] = min(rows.get(key, row), row, key=lambda each: each["ratio"])
    return "\n".join(
        f"- {body} body, {precision}, {peer} ({row['form']}): {row['ratio']:.2f} "
        f"({row['ratio_lowest']:.2f} to {row['ratio_highest']:.2f})"
        for (body, precision, peer), row in rows.items()
    )
