"""The command `tlcourse pretrain`: corpus to checkpoint, resumable at every stage."""

import argparse
import itertools
from dataclasses import asdict, replace
from pathlib import Path

import torch
from tqdm import tqdm

from tlcourse import cards, checkpoints, corpora, device, files, pretraining
from tlcourse.batching import TokenFile
from tlcourse.bpe import Tokenizer
from tlcourse.transformer import Config, Transformer

VOCABULARY_ARTICLES = 6_600  # the vocabulary is learnt from the first articles of the corpus
HISTORY = 300  # points of the loss curve kept in training.json


def prepare(folder: Path, names: list[str], tokens: int, vocabulary: int) -> Tokenizer:
    """The vocabulary and, beside it, the token file in `folder`; what is there is kept.

    Raises ValueError when what is there was made from other corpora or for fewer tokens, DataError
    for names that are none of a text.
    """
    wanted = {"corpus": names, "vocabulary": vocabulary}
    made = folder / "corpus.json"
    if made.exists():
        found = files.read_json(made)
        if any(found[key] != wanted[key] for key in wanted) or found["tokens"] < tokens:
            raise ValueError(
                f"{folder} holds {found}, but {wanted | {'tokens': tokens}} is asked for; "
                "name another folder with --prepared, or remove this one"
            )
        return Tokenizer.load(folder / "tokenizer.json")
    first = itertools.islice(pretraining.training_articles(names), VOCABULARY_ARTICLES)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "tokenizer.json").exists():
        print(f"learning a vocabulary of {vocabulary:,} entries")
        words = (article.replace("<unk>", "") for article in first)
        with files.atomic(folder / "tokenizer.json") as temporary:
            Tokenizer.train(words, vocabulary).save(temporary)
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    articles = pretraining.training_articles(names)
    count = pretraining.write_corpus(folder / "tokens.bin", articles, tokenizer, tokens)
    files.write_json(made, wanted | {"tokens": count})
    return tokenizer


def run(arguments: argparse.Namespace) -> int:
    """Pretrains a model and writes its checkpoint; a run that was stopped goes on."""
    tokens, recipe = int(arguments.tokens), pretraining.Recipe(seed=arguments.seed)
    prepared = arguments.prepared or arguments.out / "corpus"
    tokenizer = prepare(prepared, arguments.corpus, tokens, arguments.vocabulary)
    compute = device.choose()
    torch.manual_seed(arguments.seed)
    model, legs = _start(arguments, tokenizer)
    file = TokenFile(prepared / "tokens.bin")
    with tqdm(total=tokens, unit="token", unit_scale=True) as bar:

        def progress(record: dict) -> None:
            bar.set_postfix_str(f"loss {record['loss']:.3f}")
            bar.update((record["step"] + 1) * recipe.batch * recipe.length - bar.n)

        history = pretraining.pretrain(
            model, file, tokens, compute, recipe, arguments.out, on_step=[progress]
        )
    leg = {
        "objective": arguments.objective,
        "start": _name(Path(arguments.start)) if arguments.start else "random weights",
        "corpus": arguments.corpus,
        "tokens": len(history) * recipe.batch * recipe.length,
        "steps": len(history),
        "seconds": history[-1]["seconds"],
        "hardware": device.describe(compute),
        "recipe": asdict(recipe),
        "history": [
            {key: record[key] for key in ("step", "loss", "seconds")}
            for record in history[:: max(1, len(history) // HISTORY)]
        ],
    }
    log = {"legs": [*legs, leg], "evaluation": evaluate(model, tokenizer, compute)}
    name = arguments.out.name
    checkpoints.save(arguments.out / "checkpoint", model, tokenizer, cards.card(name, log), log)
    print(f"checkpoint written to {arguments.out / 'checkpoint'}")
    return 0


def _name(start: Path) -> str:
    """A run's folder name, whether the run, its checkpoint or a shipped name was given."""
    return start.parent.name if start.name == "checkpoint" else start.name


def _start(arguments: argparse.Namespace, tokenizer: Tokenizer) -> tuple[Transformer, list[dict]]:
    """The model before this leg, and the legs behind it."""
    causal = arguments.objective == "causal"
    if arguments.start:
        base, known = checkpoints.load(arguments.start)
        if known.merges != tokenizer.merges:
            raise ValueError(
                f"{arguments.start} has another vocabulary than the token file; "
                "put its tokenizer.json into a new --prepared folder first"
            )
        model = Transformer(replace(base.config, causal=causal))
        model.load_state_dict(base.state_dict())
        return model, checkpoints.log_of(arguments.start)["legs"]
    shape = Config(
        vocabulary_size=arguments.vocabulary,
        width=arguments.width,
        layers=arguments.layers,
        heads=arguments.heads,
        feed_forward=4 * arguments.width,
        causal=causal,
    )
    return Transformer(shape), []


def evaluate(model: Transformer, tokenizer: Tokenizer, compute: device.Compute) -> dict:
    """Figures on the real WikiText-103 validation text, where it is on this machine."""
    if corpora.LOCAL not in corpora.available()["wikitext-103"]:
        return {}
    articles = list(corpora.articles(corpora.load("wikitext-103", "local")["validation"]))
    if not model.config.causal:
        return {
            "wikitext-103 validation": pretraining.evaluate_masked(
                model, tokenizer, articles, compute
            )
        }
    found = pretraining.evaluate(model, tokenizer, articles, compute)
    return {"wikitext-103 validation": found.figures()}
