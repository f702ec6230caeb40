"""Trains the question classifier that the page ships: LoRA and a head, without the base model.

    python -m tlcourse.page.trec --out data/classifiers/trec-lora

It needs TREC (TLCOURSE_DATA, or the Hub) and some minutes on two CPU cores. The folder gets the
added weights in half precision, classifier.json, and a card; the base model is a shipped one.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from tlcourse import checkpoints, corpora, device, files
from tlcourse.adaptation import (
    AddedOnly,
    Classifier,
    LoRA,
    Recipe,
    Scheme,
    adapt,
    misclassified,
    serialization,
)
from tlcourse.adaptation.serialization import RECORD, in_words
from tlcourse.metrics import wilson_interval
from tlcourse.page.packing import PLAIN
from tlcourse.transformer import Transformer

BASE = "causal-small"
SCHEME = Scheme("LoRA in all layers", edit=LoRA(rank=8, layers="all"), groups=AddedOnly(factor=8.0))
RECIPE = Recipe(epochs=5)
LARGEST = 1_000_000  # the most bytes of weights
CARD = """# trec-lora

A classifier of English questions by the kind of answer they ask for, TREC's six: {labels}.
The weights are those of LoRA and of the head alone, {bytes:,} bytes in half precision; the model
under them is the shipped `{base}`, whose licence and limits hold here, too.

- Trained on TREC's {train} questions (Li & Roth, 2002), in {minutes:.0f} minutes on {hardware}
- Scheme: `{scheme}`
- Recipe: {recipe}; seed {seed}
- Test error: {error}. Measured with these weights. Scheme and recipe are those of the README's
  example. They were taken after a smaller LoRA had done worse on the same questions, so this error
  is a little too good.

The page in the browser reads it (`tlcourse page`); so does `tlcourse.page.trec.load(folder)`.

Limits: it has seen questions only; of any other text it still names one of the six labels. The
questions are of 1999 to 2001, and six labels are a coarse view of them: it is for showing, not for
use.
"""


def train(seed: int = 0) -> tuple[Classifier, dict[str, Any]]:
    """The adapted classifier, with added weights rounded to half precision, and its record."""
    data, compute = corpora.load("trec"), device.choose()
    start = Classifier.from_checkpoint(
        BASE, labels=corpora.TREC_LABELS, pooling="mean", seed=seed, compute=compute
    )
    texts, labels = data["train"]["text"], data["train"]["label"]
    before = time.monotonic()
    adapted = adapt(start, texts, labels, scheme=SCHEME, recipe=RECIPE, seed=seed, compute=compute)
    seconds = time.monotonic() - before
    with torch.no_grad():
        for parameter in added(adapted).values():
            parameter.copy_(parameter.half())
    record = {
        "labels": adapted.labels,
        "pooling": adapted.pooling,
        "dropout": adapted.dropout.p,
        "scheme": SCHEME.to_plain(),
        "precision": "float16",
        "base_model": BASE,
        "recipe": asdict(RECIPE),
        "seed": seed,
        "train": {"rows": len(texts), "seconds": round(seconds)},
        "test": tested(adapted, data["test"]["text"], data["test"]["label"]),
        "hardware": device.describe(compute),
        "versions": serialization.versions(),
    }
    return adapted, record


def tested(classifier: Classifier, texts: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
    """The misclassified questions, computed in float32, and the interval of their share."""
    rows = misclassified(classifier.probabilities(texts, compute=PLAIN), labels, classifier.labels)
    interval = wilson_interval(len(rows), len(texts))
    return {"rows": len(texts), "wrong": rows, "interval": list(interval)}


def added(classifier: Classifier) -> dict[str, torch.Tensor]:
    """The weights of LoRA and of the head, by name."""
    names = dict(classifier.named_parameters())
    return {n: p for n, p in names.items() if n.endswith((".a", ".b")) or n.startswith("head.")}


def save(folder: str | Path, classifier: Classifier, record: dict[str, Any]) -> None:
    """Writes weights, record and card into a new folder; raises ValueError above 1 MB."""
    tensors = {name: p.detach().half().contiguous() for name, p in added(classifier).items()}
    size = sum(2 * tensor.numel() for tensor in tensors.values())
    if size > LARGEST:
        raise ValueError(f"expected at most {LARGEST:,} bytes of weights, got {size:,}")
    with files.new_folder(folder) as temporary:
        save_file(tensors, temporary / "model.safetensors")
        files.write_json(temporary / RECORD, record)
        files.write_text(temporary / "README.md", card(record, size))


def card(record: dict[str, Any], size: int) -> str:
    """The text of README.md for a record and `size` bytes of weights."""
    recipe = ", ".join(f"{name} {value}" for name, value in record["recipe"].items())
    return CARD.format(
        labels=", ".join(record["labels"]),
        bytes=size,
        base=record["base_model"],
        train=f"{record['train']['rows']:,}",
        minutes=max(record["train"]["seconds"] / 60, 1),
        hardware=record["hardware"],
        scheme=Scheme.from_plain(record["scheme"]),
        recipe=recipe,
        seed=record["seed"],
        error=in_words(record["test"]),
    )


def load(folder: str | Path) -> Classifier:
    """The classifier that `save` wrote, on its shipped base model.

    Raises ValueError if a file is damaged or the weights are not those of LoRA and a head;
    FileNotFoundError for a base model that does not exist.
    """
    record, path = serialization.record_of(folder), Path(folder) / "model.safetensors"
    scheme = serialization.scheme_of(record, folder)
    body, tokenizer = checkpoints.load(serialization.base_of(record, folder))

    def on(body: Transformer) -> Classifier:
        return Classifier.from_record(body, tokenizer, record, scheme, folder)

    weights = checkpoints.weights_in(path)
    checkpoints.check_draft(lambda: added(on(Transformer(body.config))), weights, path)
    classifier = on(body)
    classifier.load_state_dict(weights, strict=False)
    return classifier.eval()


def main(words: Sequence[str] | None = None) -> None:
    """Trains, evaluates and saves the classifier."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="new folder")
    out = parser.parse_args(words).out
    files.refuse_occupied(out)
    classifier, record = train()
    save(out, classifier, record)
    print(f"{out} is written; test error {in_words(record['test'])}")


if __name__ == "__main__":
    main()
