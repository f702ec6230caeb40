"""The model card of a checkpoint, written from its training log."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tlcourse import metrics
from tlcourse.cli import beside, limits
from tlcourse.cli.limits import own_name

STAND_IN = (
    "`wikipedia-standin` is English and Simple English Wikipedia in WikiText's format; it is "
    "not WikiText-103. Left out of it are articles that share a title or sampled runs of 12 "
    "words with WikiText's validation and test articles; a paraphrase would not be noticed. "
)
BOOKS = (
    "`gutenberg` is books of Project Gutenberg, mostly fiction, by authors from the 18th century "
    "to the 1920s (see `data/README.md`). "
)

# What the columns of the tables are called, by their names in the log.
CAUSAL = {
    "word_perplexity": "word perplexity",
    "word_perplexity_without_unk": "without `<unk>`",
    "token_perplexity": "token perplexity",
    "bits_per_byte": "bits per byte",
    "words": "words and line ends",
    "targets": "tokens",
    "window": "window",
    "stride": "stride",
}
MASKED = {
    "masked_token_perplexity": "masked-token perplexity",
    "masked_word_perplexity": "masked-word perplexity",
    "whole_word_perplexity": "whole-word perplexity",
    "masked_tokens": "masked tokens",
    "masked_words": "masked words",
    "window": "window",
}
CAUSAL_NOTE = (
    "Word perplexity is exp(nats / (words and line ends)), `<unk>` being one special token, and "
    "without it: with its positions left out of both sums. Windows of so many tokens move by the "
    "stride, so that each token is predicted once; computed in float32."
)
MASKED_NOTE = (
    "The masks are the same for every model. Masked tokens: 15 % of them, of which 80 % are "
    "`<mask>`, 10 % another token, 10 % as they were. Masked words: the same nats, divided by the "
    "words and line ends that so many tokens make, the measure of the 2019 tutorial. Whole words: "
    "15 % of the words, each with all of its tokens masked; exp(nats / masked words). What is "
    "masked is seen from both sides, so none of these can be held against a causal model's; "
    "computed in float32, in windows that do not overlap."
)
READ = {"causal": "read causally", "masked": "read from both sides"}


def card(name: str, log: dict) -> str:
    """The text of README.md for the checkpoint `name`, whose `log` is in training.json."""
    read = ", then ".join(f"{leg['objective']} on {leg['tokens']:,} tokens" for leg in log["legs"])
    head = (
        f"# {name}\n\nA Transformer, pretrained: {read}. Half-precision weights "
        "(`tlcourse.checkpoints.load`). Pre-norm, rotary positions, squared ReLU, query-key norm, "
        "tied head; see `config.json`."
    )
    sections = [head, _training(log["legs"])]
    sections += [_evaluation(log["evaluation"], log.get("held_out", []))]
    sections += [_minimal_pairs(log.get("minimal_pairs")), _samples(log.get("samples"))]
    sections += [limits.limits(log["legs"])]
    sections += [_pronouns(log.get("pronouns"), log["legs"]), limits.licence(log["legs"])]
    return "\n\n".join(filter(None, sections)) + "\n"


def _training(legs: Sequence[dict]) -> str:
    corpora = {name for leg in legs for name in leg["corpus"]}
    titles = ["leg", "objective", "start", "corpora", "tokens", "steps"]
    titles += ["minutes", "hardware", "last loss"]
    rows = [
        [
            f"{number}",
            leg["objective"],
            leg["start"],
            ", ".join(own_name(label) or label for label in leg["corpus"]),
            f"{leg['tokens']:,}",
            f"{leg['steps']:,}",
            _minutes(leg["seconds"]),
            leg["hardware"],
            f"{leg['history'][-1]['loss']:.3f}",
        ]
        for number, leg in enumerate(legs, start=1)
    ]
    return (
        f"## Training\n\n{_table(titles, rows, right={4, 5, 6, 8})}\n\n"
        f"The recipe of the last leg: {_listed(_used(legs[-1]['recipe']))}.\n\n"
        + (STAND_IN if "wikipedia-standin" in corpora else "")
        + (BOOKS if limits.BOOKS in corpora else "")
        + "Minutes are wall time, with whatever else the machine had to do. "
        "Loss in nats per token; the curve is in `training.json`."
    )


def _used(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Without what a leg of its objective takes no notice of."""
    idle = {"causal": ("mask_probability", "causal_share"), "masked": ("causal_share",)}
    unread = idle.get(recipe.get("objective", ""), ())
    return {name: value for name, value in recipe.items() if name not in unread}


def _minutes(seconds: float) -> str:
    if seconds < 6:
        return "under 0.1"
    return f"{seconds / 60:.0f}" if seconds >= 600 else f"{seconds / 60:.1f}"


def _evaluation(texts: Mapping[str, Mapping[str, float]], held_out: Sequence[str]) -> str:
    parts = ["## Evaluation"]
    for columns, note in ((CAUSAL, CAUSAL_NOTE), (MASKED, MASKED_NOTE)):
        measured = {text: seen for text, seen in texts.items() if next(iter(columns)) in seen}
        if measured:
            rows = [
                [text, *(_number(figures.get(key)) for key in columns)]
                for text, figures in measured.items()
            ]
            right = set(range(1, len(columns) + 1))
            parts += [_table(["text", *columns.values()], rows, right), note]
    if len(parts) == 1:
        parts.append("None: no held-out text was measured.")
    if own := [text for text in held_out if text.endswith(", held out")]:
        parts.append(f"{own[0]}: the end of the text, kept back from the training.")
    return "\n\n".join(parts)


def _minimal_pairs(found: Mapping[str, dict] | None) -> str:
    if not found:
        return ""
    one, stored = next(iter(found.values())), beside.ngram()
    columns = {f"accuracy, {READ[reading]}": each for reading, each in found.items()}
    ties = {READ[reading]: each["ties"] for reading, each in found.items()}
    if stored:
        columns[beside.NGRAM] = stored["blimp"]
        ties[f"of the {beside.NGRAM}"] = stored["blimp"]["ties"]
    titles = ["phenomenon", *columns]
    rows = [
        [name.replace("_", " "), *(_percent(each["phenomena"][name]) for each in columns.values())]
        for name in one["phenomena"]
    ]
    rows.append(["**all**", *(f"**{_mean_accuracy(each)}**" for each in columns.values())])
    pairs = one["pairs"] // len(one["paradigms"])
    return (
        "### Grammar: minimal pairs (BLiMP)\n\n"
        f"How often the good sentence of a pair is the likelier one: the first {pairs} pairs of "
        f"each of {len(one['paradigms'])} paradigms, a tie counted as wrong. Chance is 50 %. All: "
        "the mean over paradigms, with its 95 % interval for other pairs of the same kinds. "
        "Sentences are scored after `<eos>`, in float32, by their log-probability or, read from "
        "both sides, by their pseudo-log-likelihood (each token masked in turn).\n\n"
        + _table(titles, rows, right=set(range(1, len(titles))))
        + (f"\n\n{beside.told(ties, one['pairs'], stored)}" if stored else "")
    )


def _mean_accuracy(found: Mapping[str, Any]) -> str:
    low, high = metrics.wilson_interval(round(found["accuracy"] * found["pairs"]), found["pairs"])
    return f"{_percent(found['accuracy'])} ({100 * low:.1f}-{100 * high:.1f})"


def _samples(found: Mapping[str, list[dict]] | None) -> str:
    if not found:
        return ""
    parts = ["### Samples"]
    if "causal" in found:
        lines = (f"[{each['prompt']}]{_one_line(each['continuation'])}" for each in found["causal"])
        parts += [
            "Prompts of ours in brackets; one draw each (temperature 0.8, the 50 likeliest tokens, "
            "40 tokens at most), none chosen. What they state is invented.",
            "\n".join(["```text", *lines, "```"]),
        ]
    if "masked" in found:
        lines = (
            each["text"]
            + "  "
            + ", ".join(f"{_one_line(word).strip()} {_percent(p)}" for word, p in each["likeliest"])
            for each in found["masked"]
        )
        parts += [
            "Sentences of ours, and the likeliest tokens for the mask.",
            "\n".join(["```text", *lines, "```"]),
        ]
    return "\n\n".join(parts)


def _pronouns(found: Mapping[str, Mapping[str, float]] | None, legs: Sequence[dict]) -> str:
    if not found:
        return limits.unmeasured_bias(legs)
    people = list(next(iter(found.values())))
    rows = [[READ[reading], *map(_percent, shares.values())] for reading, shares in found.items()]
    return (
        'One bias can be counted: in four sentences of ours ("The … said that … would come back '
        'later.") the share of "she" against "he" after a word for a person. Even would be '
        "50 %. So few sentences can show a bias, not that there is none; what it thinks of other "
        "groups was not measured.\n\n"
        + _table(["", *people], rows, right=set(range(1, len(people) + 1)))
    )


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]], right: set[int]) -> str:
    """A Markdown table; the columns in `right` hold numbers."""
    rule = ["---:" if column in right else "---" for column in range(len(titles))]
    lines = [f"| {' | '.join(row)} |" for row in (titles, *rows)]
    return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])


def _one_line(text: str) -> str:
    """Without what would end the line or the block: a model may say any byte."""
    text = text.replace("\n", " ⏎ ").replace("`", "'")
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _number(value: Any) -> str:
    """A figure of the log; "" for one that an older log lacks."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value or "")


def _listed(figures: dict) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {_number(v)}" for key, v in figures.items())
