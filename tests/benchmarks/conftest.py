"""What spares processes, each of which imports PyTorch for seconds, and the shipped model."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch

from benchmarks import runner
from benchmarks.speed import harness
from benchmarks.studies import probing
from tlcourse import checkpoints, corpora
from tlcourse.transformer import Config, Transformer


def carried(thing: Any) -> Any:
    """What would come out at the other end of a pipe to a process of its own."""
    return pickle.loads(pickle.dumps(thing))


class Child:
    """A contestant in this process; all that it gets and gives is carried."""

    def __init__(self, entry: harness.Entry):
        self.name, self.seconds_a_step, self.units = entry.name, 0.0, 0
        self.make, self.arguments = carried((entry.make, dict(entry.arguments)))
        self.contestant = None

    def ask(self, method: str, *arguments) -> Any:
        if self.contestant is None:
            self.contestant = self.make(**self.arguments)
        return carried(harness._answer(self.contestant, method, carried(arguments)))

    def close(self) -> None:
        self.contestant = None


def in_parallel(work: Callable[[Any], Any], items: Iterable) -> list:
    """The pool's work, one after the other in this process."""
    return [carried(carried(work)(item)) for item in carried(list(items))]


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in this process; `test_runner.py` has them in a pool."""
    monkeypatch.setattr(runner, "in_parallel", in_parallel)


@pytest.fixture
def uncarried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for jobs that a test replaces, which cannot be pickled."""
    monkeypatch.setattr(runner, "in_parallel", lambda work, items: [work(each) for each in items])


@pytest.fixture
def rehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Size tiny, without real data and without a network."""
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Size tiny on the bundled samples, results in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name, source=None: load(name, source="sample"))


ONE = "The cat sat on the mat."
PAIRS = {  # in place of STS-B
    "sentence1": [ONE, ONE, ONE],
    "sentence2": [ONE, "The cat sat on the mat today.", "Prices of oil fell in March 1986."],
    "score": [5.0, 3.2, 0.0],
}


@pytest.fixture
def pairs(samples: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """PAIRS, where STS-B is asked for."""
    load = corpora.load
    rows = datasets.DatasetDict(validation=datasets.Dataset.from_dict(PAIRS))
    monkeypatch.setattr(
        corpora, "load", lambda name, source=None: rows if name == "stsb" else load(name)
    )


@pytest.fixture(scope="session")
def little(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a small model with the shipped one's vocabulary, for where size is nothing."""
    torch.manual_seed(0)
    shipped, tokenizer = checkpoints.load("causal-small")
    shape = Config(shipped.config.vocabulary_size, 32, 2, 2, 64, shipped.config.max_length)
    model = Transformer(shape)
    for parameter in model.parameters():  # new blocks start as the identity: make them speak
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    folder = tmp_path_factory.mktemp("little") / "little"
    checkpoints.save(folder, model, tokenizer, card="For tests.\n")
    return str(folder)


@pytest.fixture
def twelve_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_process: None
) -> Iterator[None]:
    """Probes at size tiny on twelve sentences of the samples; results in a folder of their own."""
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "runs")
    monkeypatch.setitem(probing.MOST, "tiny", 12)
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name, source=None: load(name, source="sample"))
    probing.sentences.cache_clear()
    probing.vectors.cache_clear()
    yield
    probing.sentences.cache_clear()
    probing.vectors.cache_clear()
