"""The model card of a checkpoint, written from its training log, `training.json`.

    log = model_card.log_of("causal-small")
    print(model_card.card("causal-small", log))

It says what the legs of the training read, what was measured, and what the model knows and does not
know, by the texts that it learnt from: facts about data sets are fields of `corpora.Corpus`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tlcourse import checkpoints, metrics, ranges, results
from tlcourse.corpora.catalogue import CORPORA, own_name
from tlcourse.evaluation.minimal_pairs import BLIMP_PUBLISHED
from tlcourse.recipes import OBJECTIVES

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

SMALL = """\
- Small: it knows common words and the style of {read}, few facts, and invents the rest.
"""
HARDLY = """\
- Hardly trained: it has read {tokens:,} tokens, and knows little more than which are frequent.
"""
ENGLISH = """\
- English only. What its {texts} say wrongly or one-sidedly about people and groups, it has learnt;
  nothing was filtered. Do not let it speak to anyone unwatched.
- Text in WikiText's spacing and text as people write it are both at home: half of the articles were
  detokenised, and user text passes `tlcourse.bpe.normalise`. {strange} and the language of
  today are not.
"""
OTHER_TEXT = """\
- It learnt from {texts}, and knows nothing else: what is not in there it invents.
- Its language, its style, and what it says wrongly or one-sidedly about people and groups are those
  of that text; nothing was filtered. Do not let it speak to anyone unwatched.
- It may say passages of that text word for word: hand it on only where you may hand on the text.
"""
BOTH = """\
- It learnt from {read}, and from {texts}; what is not in there it invents.
- Of its language only that of {read} is known, English. What its texts say wrongly or
  one-sidedly about people and groups, it has learnt; nothing was filtered. Do not let it speak to
  anyone unwatched.
- It may say passages of {texts} word for word: hand it on only where you may hand that on.
"""
WINDOWS = (
    "- It read windows of {length} tokens; what lies farther apart it has never seen together."
)
NOTHING_OF_BIAS = (
    "What it thinks of groups of people was not measured: our sentences for that are English, and "
    "which language its text is in is not known (`tlcourse evaluate … --on pronouns` asks it all "
    "the same)."
)
WIKIPEDIA, BOOKS = "Wikipedia", "books"  # kinds of text
LITTLE = 1_000_000  # tokens
NGRAM = "5-gram model"  # what it is called there, and above its column
NGRAM_TEXT = "wikitext-103 validation"


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
    sections += [_limits(log["legs"])]
    sections += [_pronouns(log.get("pronouns"), log["legs"]), _licence(log["legs"])]
    return "\n\n".join(filter(None, sections)) + "\n"


def _training(legs: Sequence[dict]) -> str:
    read = (corpus for corpus in CORPORA.values() if corpus.name in _labels(legs))
    notes = [corpus.card for corpus in sorted(read, key=lambda corpus: corpus.kind != WIKIPEDIA)]
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
        f"The recipe of the last leg: {_listed(_used(legs[-1]))}.\n\n"
        + "".join(f"{note} " for note in notes if note)
        + "Minutes are wall time, with whatever else the machine had to do. "
        "Loss in nats per token; the curve is in `training.json`."
    )


def _used(leg: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a leg's recipe that have an effect on its objective."""
    unused = OBJECTIVES[leg["objective"]].unused
    return {name: value for name, value in leg["recipe"].items() if name not in unused}


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
    one, stored = next(iter(found.values())), _ngram()
    columns = {f"accuracy, {READ[reading]}": each for reading, each in found.items()}
    ties = {READ[reading]: each["ties"] for reading, each in found.items()}
    if stored:
        columns[NGRAM] = stored["blimp"]
        ties[f"of the {NGRAM}"] = stored["blimp"]["ties"]
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
        + (f"\n\n{_beside(ties, one['pairs'], stored)}" if stored else "")
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
        return _unmeasured_bias(legs)
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


def log_of(name: str | Path) -> dict:
    """The log of a checkpoint, from which a card can be written.

    Raises ValueError for a damaged one: before anything is trained or measured, not after it.
    """
    log = checkpoints.log_of(name)
    try:
        for leg in log["legs"]:
            length, corpus = leg["recipe"]["length"], leg["corpus"]
            OBJECTIVES[leg["objective"]]
            if not ranges.COUNT.holds(length) or not isinstance(corpus, list):
                raise ValueError(f"a leg of length {length!r} on the corpora {corpus!r}")
        if log["legs"]:
            card(checkpoints.name_of(name), {"evaluation": {}} | log)
    except (LookupError, TypeError, AttributeError, ValueError, StopIteration) as error:
        raise ValueError(
            "expected legs and figures as `tlcourse pretrain` writes them in "
            f"{checkpoints.folder_of(name) / 'training.json'}, but {error!r}; restore the file"
        ) from None
    return log


def _limits(legs: Sequence[dict]) -> str:
    """What the model knows and does not know, by the texts of all its legs."""
    known, books = _known(legs), BOOKS in _kinds(legs)
    read = "an encyclopaedia and old books" if books else "an encyclopaedia"
    small = SMALL.format(read=read)
    others = [_read(leg, known) for leg in legs if not set(leg["corpus"]) <= known]
    if others:
        kind = BOTH if known else OTHER_TEXT
        said = kind.format(texts="; ".join(dict.fromkeys(others)), read=read)
    else:
        texts, strange = ("articles and books", "Code") if books else ("articles", "Dialogue, code")
        said = small + ENGLISH.format(texts=texts, strange=strange)
    if (tokens := sum(leg["tokens"] for leg in legs)) < LITTLE:
        said = HARDLY.format(tokens=tokens) + said.removeprefix(small)
    windows = WINDOWS.format(length=legs[-1]["recipe"]["length"])
    return f"## Limits and biases\n\n{said}{windows}"


def _labels(legs: Sequence[dict]) -> set[str]:
    """The corpora of all legs, as a log names them."""
    return {label for leg in legs for label in leg["corpus"]}


def _kinds(legs: Sequence[dict]) -> set[str]:
    """The kinds of text that the data sets among them hold, such as "books"."""
    return {CORPORA[label].kind for label in _labels(legs) if label in CORPORA}


def _known(legs: Sequence[dict]) -> set[str]:
    """The data sets whose effect on a model is known: Wikipedia's, and books beside them."""
    known = {WIKIPEDIA, BOOKS} if WIKIPEDIA in _kinds(legs) else set()
    return {corpus.name for corpus in CORPORA.values() if corpus.kind in known}


def _read(leg: dict, known: set[str]) -> str:
    """The texts of a leg that are not known; if it had no others, how much of them it read.

    Such as "5,522 words of my.txt, read 1.4 times".
    """
    others = [own_name(label) or label for label in leg["corpus"] if label not in known]
    names, read = ", ".join(others), leg.get("read", {})
    if "words" not in read or len(others) < len(leg["corpus"]):
        return names
    times = leg["tokens"] / read["tokens"]
    often = f"read {times:.1f} times" if times >= 1 else f"of which it read {100 * times:.0f} %"
    return f"{read['words']:,} words of {names}, {often}"


def _unmeasured_bias(legs: Sequence[dict]) -> str:
    """What is said where no bias was measured; nothing of a model that learnt from data sets."""
    own = all(own_name(label) for leg in legs for label in leg["corpus"])
    return NOTHING_OF_BIAS if own else ""


def _licence(legs: Sequence[dict]) -> str:
    """What may be done with the weights, as far as it is known."""
    labels = _labels(legs)
    if not labels <= _known(legs):
        return "## Licence\n\nThe weights: not stated; it depends on the texts behind them."
    by_kind = {CORPORA[label].kind: CORPORA[label].licence for label in labels}
    terms = f"The weights: {by_kind[WIKIPEDIA]}, as the Wikipedia text they were trained on."
    if BOOKS in by_kind:
        terms += f" The books among their texts are {by_kind[BOOKS]}."
    return f"## Licence\n\n{terms}"


def _ngram() -> dict[str, Any] | None:
    """The stored figures of the 5-gram model; None where none are stored."""
    try:
        models = results.stored("behaviour")["models"]
    except FileNotFoundError:
        return None
    return next((model for model in models if model["model"] == NGRAM), None)


def _beside(ties: Mapping[str, int], pairs: int, stored: Mapping[str, Any]) -> str:
    """A paragraph below the table; `ties` by the titles of its columns, of so many `pairs`."""
    tied = ", ".join(f"{count:,} {column}" for column, count in ties.items())
    published = ", ".join(f"{share} % ({name})" for name, share in BLIMP_PUBLISHED.items())
    return (
        f"The {NGRAM} has counted {stored['facts']['tokens']:,} tokens of the shipped models' text "
        "(modified Kneser-Ney, the same vocabulary); its word perplexity on "
        f"{NGRAM_TEXT} is {stored[NGRAM_TEXT]['word_perplexity']:.4g}. Ties: {tied}, of {pairs:,} "
        "pairs.\n\n"
        f"Published for all 67,000 pairs (Warstadt et al., 2020): {published}. Behind those scores "
        "stand other vocabularies and other text, and the pairs here are the first tenth: figures "
        "that are near to each other are not ranked by this."
    )
