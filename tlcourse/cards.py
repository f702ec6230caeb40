"""The model card of a checkpoint, written from its training log."""

LIMITS = """## Limits

- Small: it knows common words and the style of an encyclopaedia, few facts, and invents the rest.
- English only. What its articles say wrongly or one-sidedly about people and groups, it has learnt;
  nothing was filtered. Do not let it speak to anyone unwatched.
- Text in WikiText's spacing and text as people write it are both at home: half of the articles were
  detokenised, and user text passes `tlcourse.bpe.normalise`.

## Licence

The weights: CC BY-SA 3.0, as the Wikipedia text they were trained on."""


def card(name: str, log: dict) -> str:
    """The text of README.md for the checkpoint `name`, whose `log` is in training.json."""
    last = log["legs"][-1]
    read = ", then ".join(f"{leg['objective']} on {leg['tokens']:,} tokens" for leg in log["legs"])
    lines = [
        f"# {name}",
        "",
        f"A Transformer, pretrained: {read}. Half-precision weights "
        "(`tlcourse.checkpoints.load`). Pre-norm, rotary positions, squared ReLU, query-key norm, "
        "tied head; see `config.json`.",
        "",
        "## Training",
        "",
        "| leg | objective | start | corpora | tokens | steps | minutes | hardware | last loss |",
        "|---|---|---|---|---:|---:|---:|---|---:|",
    ]
    for number, leg in enumerate(log["legs"], start=1):
        lines.append(
            f"| {number} | {leg['objective']} | {leg['start']} | {', '.join(leg['corpus'])} "
            f"| {leg['tokens']:,} | {leg['steps']:,} | {leg['seconds'] / 60:.0f} "
            f"| {leg['hardware']} | {leg['history'][-1]['loss']:.3f} |"
        )
    lines += ["", f"The recipe of the last leg: {_listed(last['recipe'])}.", ""]
    lines += [
        "`wikipedia-standin` is English and Simple English Wikipedia in WikiText's format; it is "
        "not WikiText-103. Left out of it are articles that share a title or sampled runs of 12 "
        "words with WikiText's validation and test articles; a paraphrase would not be noticed. "
        "Minutes are wall time, with whatever else the machine had to do. "
        "Loss in nats a token; the curve is in `training.json`.",
        "",
        "## Evaluation",
        "",
    ]
    for text, figures in log["evaluation"].items():
        lines.append(f"On {text}: {_listed(figures)}.")
    if not log["evaluation"]:
        lines.append("None: no held-out text was on the machine.")
    return "\n".join([*lines, "", LIMITS]) + "\n"


def _listed(figures: dict) -> str:
    def shown(value) -> str:
        if isinstance(value, float):
            return f"{value:.4g}"
        return f"{value:,}" if isinstance(value, int) else str(value)

    return ", ".join(f"{key.replace('_', ' ')} {shown(value)}" for key, value in figures.items())
