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


HUBS_NAMES = {  # in the order of their ids
    "sst-2": ["negative", "positive"],
    "imdb": ["neg", "pos"],
    "rte": ["entailment", "not_entailment"],
}
OUR_NAMES = HUBS_NAMES | {"imdb": ["negative", "positive"]}


def put_labelled(server, folder: Path, name: str, label: int | None = None) -> None:
    """A labelled set's parquet files: ids, with their names in the file; `label` for every row."""
    corpus, names = catalogue.get(name), HUBS_NAMES[name]
    place = corpus.places[0]
    texts = {ours: theirs for ours, theirs in corpus.columns.items() if ours != "label"}
    for split in place.files:
        rows = made.examples(name, split)
        ids = [OUR_NAMES[name].index(row["label"]) for row in rows]
        columns = {theirs: [row[ours] for row in rows] for ours, theirs in texts.items()}
        features = {column: datasets.Value("string") for column in columns}
        dataset = datasets.Dataset.from_dict(
            columns | {"label": ids if label is None else [label] * len(ids)},
            features=datasets.Features(features | {"label": datasets.ClassLabel(names=names)}),
        )
        put(server, place, split, parquet(dataset, folder))


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


def put_wikitext(server, folder: Path) -> None:
    place = catalogue.get("wikitext-2").places[0]
    for split in place.files:
        rows = made.wikitext_rows("wikitext-2", split)
        put(server, place, split, parquet(datasets.Dataset.from_dict({"text": rows}), folder))


def put_blimp(server, folder: Path) -> None:
    """One parquet file a paradigm."""
    rows, place = made.pairs(), catalogue.get("blimp").places[0]
    for number, name in enumerate(place.files["test"]):
        found = rows[1000 * number : 1000 * (number + 1)]
        columns = {
            "sentence_good": [row["good"] for row in found],
            "sentence_bad": [row["bad"] for row in found],
            "field": ["syntax"] * 1000,
            "linguistics_term": [row["phenomenon"] for row in found],
            "UID": [row["paradigm"] for row in found],
            "simple_LM_method": [True] * 1000,
            "pair_id": [row["pair"] for row in found],
        }
        path = f"/datasets/{place.repository}/resolve/{place.revision}/{name}"
        server.files[path] = parquet(datasets.Dataset.from_dict(columns), folder)


GOOD = ["wikitext-2", "blimp", *HUBS_NAMES]
NOBODY = "http://127.0.0.1:9"


def put_good(server, folder: Path) -> None:
    put_wikitext(server, folder)
    put_blimp(server, folder)
    for name in HUBS_NAMES:
        put_labelled(server, folder, name)


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
    "good": (GOOD, put_good),
    "withheld": (["rte"], partial(put_labelled, name="rte", label=-1)),
    "all the same": (["rte"], partial(put_labelled, name="rte", label=0)),
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


def test_good_data_have_the_rows_and_the_names_of_labels_of_the_hub(told) -> None:
    source, counts = "Hugging Face Hub", {"train": 36718, "validation": 3760, "test": 4358}
    first = {"text": made.wikitext_rows("wikitext-2", "train")[0]}
    expected = {
        "wikitext-2": [source, counts, first],
        "blimp": [source, {"test": 67_000}, made.pairs()[0]],
    }
    for name in HUBS_NAMES:
        place, facts = catalogue.get(name).places[0], catalogue.get(name).facts
        counts = {split: facts[split].rows for split in place.files}
        expected[name] = [source, counts, made.examples(name, "train")[0]]
    assert told["good"]["found"] == expected and list(expected) == GOOD


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("withheld", "expected ids of entailment, not_entailment in the column label, got another"),
        (
            "all the same",
            "expected {'entailment': 1249, 'not_entailment': 1241} labels, got {'entailment': 2490",
        ),
    ],
)
def test_labels_that_are_withheld_or_all_the_same(told, case: str, message: str) -> None:
    error = told[case]["found"]["rte"]
    assert error.startswith(f"rte train (Hugging Face Hub): {message}")


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
        ("too few", "expected 5,452 rows, got 5,451; clear that data set"),
        ("bare ids", "expected named labels, got bare ids"),
        ("no parquet", "expected parquet files"),
    ],
)
def test_wrong_data_are_an_error_not_a_sample(told, case: str, message: str) -> None:
    error = told[case]["found"]["trec"]
    assert error.startswith(f"trec train (Hugging Face Hub): {message}")


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
def test_the_published_questions_have_the_known_digest_by_way_of_the_hub(
    server, tmp_path: Path
) -> None:
    mirror = Path(os.environ["TLCOURSE_DATA"]) / "trec"
    place = catalogue.get("trec").places[1]
    for split, (name,) in place.files.items():
        put(server, place, split, (mirror / name).read_bytes())
    result = load("trec", endpoint_of(server), tmp_path, TLCOURSE_DATA="")
    assert loaded(result)[0] == "Hugging Face Hub" and "sha256" not in result.stdout
