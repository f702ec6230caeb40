"""The page's models give what PyTorch gives: logits, attention, hidden states, probabilities."""

import copy
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from tests.page.node import answers, needed, numbers
from tlcourse import checkpoints, looking
from tlcourse.adaptation import Classifier, LayerMix, LoRA
from tlcourse.adaptation.edits import LoRALinear
from tlcourse.bpe import EOS, MASK, Tokenizer, normalise
from tlcourse.evaluation import generate
from tlcourse.looking.heads import intervening_on_heads
from tlcourse.page.packing import PLAIN, WEIGHTS, in_8_bits, load_rounded
from tlcourse.transformer import Config, Transformer, record

pytestmark = needed
CLOSE = 5e-6  # the largest difference, as a share of the largest number
TEXTS = [
    "The first train to Paris leaves in the morning, and the last one never does.",
    "Who wrote “Moby-Dick”?",
    "In 1912 the ship, which had left the harbour of the town four days before, met another one "
    "that was on its way home; nobody on the two ships knew the name of the other one. " * 2,
]
HEADS = [(0, 1), (3, 0), (3, 2), (5, 3)]
LABELS = ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"]
INPUTS = ["What is an atom?", "Who?", ["The train left.", "Nobody  was on\ta train “then”."]]
POOLINGS = ["classification token", "last token", "mean", "concatenation"]
STRENGTHS = [0, 0.5, 1]  # of LoRA, in the classifiers
UPDATED = ("lora", "some")
PAIR = ("small", "plain")  # the same checkpoint, read by either kernel
GREEDY = {"temperature": 0, "count": 8}


@dataclass
class Asked:
    """What node was asked and where its numbers are, beside the same models in PyTorch."""

    folder: Path
    answers: dict
    models: dict[str, Transformer]
    ids: list[list[int]]
    classifiers: dict[str, Classifier]

    def differs(self, name: str, expected: Any) -> float:
        """The largest difference from node's numbers, as a share of the largest of these."""
        found = numbers(self.folder, name)
        expected = np.asarray(expected, dtype=np.float32).ravel()
        assert found.shape == expected.shape
        difference, largest = np.abs(found - expected).max(), np.abs(expected).max()
        print(f"{name}: {difference:.1e} of {largest:.3g}")
        return float(difference / largest)


def shaken(parameters: Iterable[nn.Parameter], by: float = 0.1, seed: int = 0) -> None:
    """Adds noise to weights, so that no part of a new model still does nothing."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in parameters:
            parameter += by * torch.randn(parameter.shape, generator=draw)


def small(folder: Path, tokenizer: Tokenizer) -> Transformer:
    """A checkpoint of other sizes than the shipped ones, in half precision, and what it holds."""
    model = Transformer(Config(width=36, layers=3, heads=3, feed_forward=22, max_length=40))
    shaken(model.parameters())
    checkpoints.save(folder, model, tokenizer)
    return checkpoints.load(folder, PLAIN)[0]


def made(body: Transformer, tokenizer: Tokenizer) -> dict[str, Classifier]:
    """Classifiers of all poolings, and of the edits that the page reads."""
    found = {}
    for number, pooling in enumerate(POOLINGS):
        found[pooling] = Classifier(copy.deepcopy(body), tokenizer, LABELS, pooling=pooling)
        shaken(found[pooling].parameters(), 0.05, number)
    edits = {"lora": LoRA(rank=3, layers="all"), "some": LoRA(alpha=5.0), "mix": LayerMix()}
    for name, edit in edits.items():
        found[name] = Classifier(copy.deepcopy(body), tokenizer, LABELS)
        new = [*found[name].add(edit), "head.weight", "head.bias"]
        shaken(parameter for name_, parameter in found[name].named_parameters() if name_ in new)
    return found


def without_body(folder: Path, to: Path) -> None:
    """A copy of a saved LoRA classifier that holds LoRA and the head alone, as one is shipped."""
    to.mkdir()
    for path in folder.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    tensors = load_file(folder / "model.safetensors")
    kept = {n: t for n, t in tensors.items() if n.endswith((".a", ".b")) or n.startswith("head.")}
    save_file(kept, to / "model.safetensors")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    folder = tmp_path_factory.mktemp("numbers")
    models = {name: checkpoints.load(name, PLAIN)[0] for name in ("causal-small", "masked-small")}
    tokenizer = Tokenizer.load(checkpoints.folder_of("causal-small") / "tokenizer.json")
    ids = [[EOS, *tokenizer.encode(normalise(text))][:64] for text in TEXTS]
    ids[1][2] = MASK
    models["small"] = small(folder / "small", tokenizer)
    places = {name: {"folder": str(checkpoints.folder_of(name))} for name in list(models)[:2]}
    places |= {name: {"folder": str(folder / "small"), "plain": name == "plain"} for name in PAIR}
    packed, models["eight"] = folder / "eight", load_rounded("causal-small")[0]
    shutil.copytree(checkpoints.folder_of("causal-small"), packed)
    weights = packed / WEIGHTS
    weights.write_bytes(in_8_bits(weights.read_bytes()))
    places["eight"] = {"folder": str(packed)}
    classifiers = made(models["small"], tokenizer)
    for name, classifier in classifiers.items():
        classifier.save(folder / name)
    without_body(folder / "lora", folder / "alone")
    asks = [{"name": name, "folder": str(folder / name), "inputs": INPUTS} for name in classifiers]
    asks = [each | {"strengths": STRENGTHS} if each["name"] in UPDATED else each for each in asks]
    asks.append({**asks[-3], "name": "alone", "folder": str(folder / "alone"), "base": "small"})
    asked = {
        "models": places,
        "runs": list(runs(ids)),
        "lenses": [{"name": "lens", "model": "causal-small", "ids": ids[1]}],
        "texts": [{"name": "greedy", "model": "causal-small", "ids": ids[0], **GREEDY}],
        "classifiers": asks,
    }
    return Asked(folder, answers("numbers.mjs", folder, asked), models, ids, classifiers)


def runs(ids: list[list[int]]) -> Iterator[dict]:
    """What `Transformer.run` is asked."""
    for name in ("causal-small", "masked-small"):
        for number, each in enumerate(ids):
            yield {"name": f"{name}-{number}", "model": name, "ids": each}
        yield {"name": f"{name}-off", "model": name, "ids": ids[0], "heads": HEADS}
        turned = {"causal": name == "masked-small"}
        yield {"name": f"{name}-turned", "model": name, "ids": ids[0], **turned}
    doubled = {"heads": HEADS, "scale": 2.5}
    yield {"name": "doubled", "model": "causal-small", "ids": ids[0], **doubled}
    yield {"name": "half-way", "model": "causal-small", "ids": ids[0], "upTo": 3}
    yield {"name": "last", "model": "causal-small", "ids": ids[0], "logits": "last"}
    yield {"name": "one", "model": "causal-small", "ids": ids[0][:1]}
    for name in PAIR:
        yield {"name": name, "model": name, "ids": ids[0][:15]}
    yield {"name": "eight", "model": "eight", "ids": ids[0]}


@torch.no_grad()
def check(asked: Asked, name: str, model: Transformer, ids: list[int], causal=None) -> None:
    """Attention, hidden states and logits of one run against PyTorch's."""
    turned = None if causal is None else torch.tensor([causal])
    with record(model) as seen:
        logits = model.logits(model.hidden(torch.tensor([ids]), causal=turned))
    assert asked.differs(f"{name}.attention", torch.stack(seen.attention)) < CLOSE
    assert asked.differs(f"{name}.states", torch.stack(seen.hidden_states)) < CLOSE
    assert asked.differs(f"{name}.logits", logits) < CLOSE


@pytest.mark.parametrize("name", ["causal-small", "masked-small"])
def test_shipped_models(asked: Asked, name: str) -> None:
    assert max(map(len, asked.ids)) == 64
    for number, ids in enumerate(asked.ids):
        check(asked, f"{name}-{number}", asked.models[name], ids)
    check(asked, "one", asked.models["causal-small"], asked.ids[0][:1])


def test_weights_in_8_bits(asked: Asked) -> None:
    check(asked, "eight", asked.models["eight"], asked.ids[0])
    exact = numbers(asked.folder, "causal-small-0.logits")
    assert 0.01 < np.abs(numbers(asked.folder, "eight.logits") - exact).max() < 1


@pytest.mark.parametrize("name", ["causal-small", "masked-small"])
def test_the_other_mask_is_the_same_call(asked: Asked, name: str) -> None:
    check(asked, f"{name}-turned", asked.models[name], asked.ids[0], causal=name == "masked-small")


@pytest.mark.parametrize("name", ["causal-small", "masked-small"])
def test_heads_taken_out(asked: Asked, name: str) -> None:
    model, before = asked.models[name], numbers(asked.folder, f"{name}-0.logits")
    with looking.ablating(model, HEADS):
        check(asked, f"{name}-off", model, asked.ids[0])
    assert np.abs(numbers(asked.folder, f"{name}-off.logits") - before).max() > 0.1


def test_heads_at_another_strength(asked: Asked) -> None:
    model = asked.models["causal-small"]

    def change(layer: int, mixed: torch.Tensor) -> torch.Tensor:
        scales = [2.5 if (layer, head) in HEADS else 1.0 for head in range(4)]
        return mixed * torch.tensor(scales)[:, None]

    with intervening_on_heads(model, change):
        check(asked, "doubled", model, asked.ids[0])


@torch.no_grad()
def test_a_part_of_the_work(asked: Asked) -> None:
    model, ids = asked.models["causal-small"], asked.ids[0]
    lens = looking.logit_lens(model, ids)
    assert asked.differs("half-way.logits", lens[3]) < CLOSE
    assert len(numbers(asked.folder, "half-way.states")) == 4 * len(ids) * 256
    assert asked.differs("last.logits", lens[-1][-1]) < CLOSE
    assert asked.differs("lens", looking.logit_lens(model, asked.ids[1])) < CLOSE


@pytest.mark.parametrize("name", PAIR)
def test_both_kernels_and_other_sizes(asked: Asked, name: str) -> None:
    assert asked.answers["kernel"] == ""  # node has SIMD
    check(asked, name, asked.models["small"], asked.ids[0][:15])


def test_the_likeliest_continuation(asked: Asked) -> None:
    expected = generate(asked.models["causal-small"], asked.ids[0], 8, temperature=0)
    assert asked.answers["written"]["greedy"] == expected


def probabilities(classifier: Classifier) -> torch.Tensor:
    texts = [each if isinstance(each, str) else tuple(each) for each in INPUTS]
    return classifier.probabilities(texts, compute=PLAIN)


@pytest.mark.parametrize("name", [*POOLINGS, "mix"])
def test_saved_classifiers(asked: Asked, name: str) -> None:
    expected = probabilities(asked.classifiers[name])
    assert expected.std(dim=0).max() > 0.01, "all texts look the same to it"
    assert asked.differs(f"{name}-1.all", expected) < CLOSE


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("name", [*UPDATED, "alone"])
def test_lora_at_any_strength(asked: Asked, name: str, strength: float) -> None:
    classifier = asked.classifiers["lora" if name == "alone" else name].copy()
    trained = probabilities(classifier)
    for module in classifier.modules():
        if isinstance(module, LoRALinear):
            module.scale *= strength
    expected = probabilities(classifier)
    assert (strength == 1) == torch.equal(expected, trained)
    assert asked.differs(f"{name}-{strength}.all", expected) < CLOSE
    with record(classifier.body) as seen:
        classifier.body(torch.tensor(classifier.encode(INPUTS[:1])))
    assert asked.differs(f"{name}-{strength}.states", torch.stack(seen.hidden_states)) < CLOSE
    assert asked.differs(f"{name}-{strength}.attention", torch.stack(seen.attention)) < CLOSE
    assert asked.answers["same"][name], "the originals changed"
