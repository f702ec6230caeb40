"""The Hub's path, in a child process, against a stand-in Hub on loopback."""

import json
import os
import socket
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import datasets
import pytest

from tests.corpora import made
from tests.corpora.stand_in import EACH_CASE, endpoint_of, load, loaded, parquet, put, serving
from tlcourse import corpora
from tlcourse.corpora import catalogue, hub

HUBS_LABELS = ["ABBR", "ENTY", "DESC", "HUM", "LOC", "NUM"]  # not in alphabetical order
HUBS_FINE_LABELS = sorted(
    corpora.TREC_FINE_LABELS, key=lambda name: (HUBS_LABELS.index(name.split(":")[0]), name)
)


def put_trec(server, folder: Path, named: bool = True, drop: int = 0) -> None:
    """CogComp/trec's parquet files: ids, with their names in the file."""
    label, fine_label = (
        datasets.ClassLabel(names=names) if named else datasets.Value("int64")
        for names in (HUBS_LABELS, HUBS_FINE_LABELS)
    )
    for split in ("train", "test"):
        rows = made.questions(split)[drop:]
        dataset = datasets.Dataset.from_dict(
            {
                "text": [text for _, text in rows],
                "coarse_label": [HUBS_LABELS.index(fine.split(":")[0]) for fine, _ in rows],
                "fine_label": [HUBS_FINE_LABELS.index(fine) for fine, _ in rows],
            },
            features=datasets.Features(
                {"text": datasets.Value("string"), "coarse_label": label, "fine_label": fine_label}
            ),
        )
        put(server, catalogue.get("trec").places[0], split, parquet(dataset, folder))


def put_rte(server, folder: Path, label: int) -> None:
    """RTE's parquet files, in which every row has the same label."""
    corpus = catalogue.get("rte")
    names = datasets.ClassLabel(names=list(corpus.labels))
    text = datasets.Value("string")
    features = {"sentence1": text, "sentence2": text, "label": names}
    for split in corpus.places[0].files:
        rows = [{**row, "label": label} for row in made.examples("rte", split)]
        columns = {theirs: [row[ours] for row in rows] for ours, theirs in corpus.columns.items()}
        dataset = datasets.Dataset.from_dict(columns, features=datasets.Features(features))
        put(server, corpus.places[0], split, parquet(dataset, folder))


def test_good_trec_is_loaded_once_then_from_the_cache(server, tmp_path: Path) -> None:
    put_trec(server, tmp_path)
    result = load("trec", endpoint_of(server), tmp_path / "home")
    fine, text = made.questions("train")[0]
    expected = [
        "Hugging Face Hub",
        {"train": 5452, "test": 500},
        {"text": text, "label": "ABBR", "fine": fine},
    ]
    assert loaded(result) == expected
    assert "fetching it from the Hugging Face Hub, once" in result.stdout
    assert result.stdout.count("sha256 unknown") == 2  # made-up questions are not TREC's
    assert "%|" not in result.stderr  # progress bars
    offline = load("trec", "http://127.0.0.1:9", tmp_path / "home", HF_HUB_OFFLINE="1")
    assert loaded(offline) == expected and "fetching" not in offline.stdout


NOBODY = "http://127.0.0.1:9"


def put_second(server, folder: Path) -> None:
    """What the second repository has of TREC."""
    made.write_label_files(folder / "trec")
    place = catalogue.get("trec").places[1]
    for split, (name,) in place.files.items():
        put(server, place, split, (folder / "trec" / name).read_bytes())


def put_no_parquet(server, folder: Path) -> None:
    for split in ("train", "test"):
        put(server, catalogue.get("trec").places[0], split, b"<html>sign in</html>")


# What is loaded, and what the Hub has of it.
CASES = {
    "withheld": (["rte"], partial(put_rte, label=-1)),
    "all the same": (["rte"], partial(put_rte, label=0)),
    "second": (["trec"], put_second),
    "both gone": (["trec"], None),
    "too few": (["trec"], partial(put_trec, drop=1)),
    "bare ids": (["trec"], partial(put_trec, named=False)),
    "no parquet": (["trec"], put_no_parquet),
    "refuses": (["trec"], None),
    "says nothing": (["trec"], None),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """What one child process finds and says in each case."""
    folder = tmp_path_factory.mktemp("hub")
    with serving() as server, socket.create_server(("127.0.0.1", 0)) as silent:
        asked = {}
        for case, (names, fill) in CASES.items():
            there = SimpleNamespace(files={})
            if fill is not None:
                fill(there, folder)
            server.cases[case.replace(" ", "-")] = there.files
            asked[case.replace(" ", "-")] = [names, endpoint_of(server), hub.PATIENCE]
        asked["refuses"][1] = NOBODY
        asked["says-nothing"][1:] = [f"http://127.0.0.1:{silent.getsockname()[1]}", 1.0]
        result = load(json.dumps(asked), endpoint_of(server), folder / "home", script=EACH_CASE)
    return {case.replace("-", " "): told for case, told in loaded(result).items()}


def test_where_the_first_repository_is_gone_the_second_serves(told) -> None:
    source, rows, _ = told["second"]["found"]["trec"]
    assert (source, rows) == ("Hugging Face Hub", {"train": 5452, "test": 500})


def test_where_both_are_gone_the_sample_serves(told) -> None:
    assert told["both gone"]["found"]["trec"][:2] == ["bundled sample", {"train": 200, "test": 100}]
    for repository in ("CogComp/trec", "SetFit/TREC-QC"):
        assert f"{repository}: RepositoryNotFoundError 404" in told["both gone"]["said"]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("withheld", "expected ids of entailment, not_entailment in the column label, got another"),
        ("all the same", "expected {'entailment': 1249, 'not_entailment': 1241} labels, got {'ent"),
        ("too few", "expected 5,452 rows, got 5,451; clear that data set"),
        ("bare ids", "expected named labels, got bare ids"),
        ("no parquet", "expected parquet files"),
    ],
)
def test_wrong_data_are_an_error_not_a_sample(told, case: str, message: str) -> None:
    ((name, error),) = told[case]["found"].items()
    assert error.startswith(f"{name} train (Hugging Face Hub): {message}")


@pytest.mark.parametrize("case", ["refuses", "says nothing"])
def test_a_hub_that_is_not_there_gives_way_to_the_sample(told, case: str) -> None:
    assert told[case]["found"]["trec"][0] == "bundled sample"
    assert "the Hugging Face Hub does not answer" in told[case]["said"]
    assert hub.PATIENCE < 10


@pytest.mark.network
@pytest.mark.skipif(
    os.environ.get("HF_HUB_OFFLINE", "1") != "0",
    reason="asks the real Hugging Face Hub: set HF_HUB_OFFLINE=0",
)
@pytest.mark.parametrize("name", [name for name, each in catalogue.CORPORA.items() if each.places])
def test_the_real_hub(name: str, tmp_path: Path) -> None:
    result = load(name, "https://huggingface.co", tmp_path)
    assert loaded(result)[0] == "Hugging Face Hub"


@pytest.mark.real_data
def test_the_published_questions_have_the_known_digest_by_way_of_the_hub(server, tmp_path):
    mirror = Path(os.environ["TLCOURSE_DATA"]) / "trec"
    place = catalogue.get("trec").places[1]
    for split, (name,) in place.files.items():
        put(server, place, split, (mirror / name).read_bytes())
    result = load("trec", endpoint_of(server), tmp_path, TLCOURSE_DATA="")
    assert loaded(result)[0] == "Hugging Face Hub" and "sha256" not in result.stdout
