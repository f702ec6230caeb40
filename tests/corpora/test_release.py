"""The release of UD English EWT, in a child process, from a stand-in for GitHub on loopback."""

import json
from dataclasses import asdict

import pytest

from tests.corpora.stand_in import endpoint_of, load, loaded, serving
from tests.corpora.test_each import facts_of
from tlcourse import corpora, files
from tlcourse.corpora import catalogue, release

CORPUS = catalogue.get("ud-english-ewt")
PATH = f"/{CORPUS.release.repository}/{CORPUS.release.tag}/"
# Loads with the sample's counts for facts, in each of several cases: what the server has by then,
# the address that is asked, whether the cache is new, whether it is offline.
SCRIPT = """
import contextlib, io, json, sys, urllib.request
from dataclasses import replace
from huggingface_hub import constants
from tlcourse import corpora
from tlcourse.corpora import catalogue, hub, release
from tlcourse.corpora.checks import Facts
facts, cases = json.loads(open(sys.argv[1]).read())
corpus, server, cache = catalogue.get("ud-english-ewt"), constants.ENDPOINT, constants.HF_HUB_CACHE
told = {}
for case, (home, address, offline, right) in cases.items():
    known = {split: Facts(**each) for split, each in facts.items()}
    if not right:
        known["test"] = replace(known["test"], digest="0" * 64)
    catalogue.CORPORA["ud-english-ewt"] = replace(corpus, facts=known)
    constants.HF_ASSETS_CACHE, constants.HF_HUB_OFFLINE = f"{cache}/{home}", offline
    release.ADDRESS, hub.PATIENCE = address, 1.0
    urllib.request.urlopen(f"{server}/case/{case}").close()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            data = corpora.load("ud-english-ewt")
            rows = {split: len(data[split]) for split in data}
            found = [corpora.source_of(data), rows, corpora.describe("ud-english-ewt")]
        except corpora.DataError as error:
            found = str(error)
    told[case] = [found, said.getvalue()]
print(json.dumps(told))
"""
CASES = {  # the cache, whether the server is there, offline, whether the digest is the known one
    "nothing-there": ("empty", True, False, True),
    "one-file-missing": ("partly", True, False, True),
    "offline": ("empty", True, True, True),
    "refuses": ("empty", False, False, True),
    "good": ("good", True, False, True),
    "cached": ("good", False, True, True),
    "another-digest": ("good", False, True, False),
    "no-conllu": ("html", True, False, True),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list]:
    folder = tmp_path_factory.mktemp("release")
    sample = corpora.load("ud-english-ewt", source="sample")
    facts = {split: asdict(facts_of(CORPUS, rows)) for split, rows in sample.items()}
    content = {
        PATH + name: (files.bundled(CORPUS.sample) / name).read_bytes()
        for name in CORPUS.release.files.values()
    }
    with serving() as server:
        server.cases = dict.fromkeys(CASES, content) | {
            "nothing-there": {},
            "one-file-missing": dict(list(content.items())[:2]),
            "no-conllu": dict.fromkeys(content, b"<html>sign in</html>\n\n"),
        }
        there = {True: endpoint_of(server), False: "http://127.0.0.1:9"}
        cases = {case: [home, there[up], *more] for case, (home, up, *more) in CASES.items()}
        (folder / "told.json").write_text(json.dumps([facts, cases]), encoding="utf-8")
        result = load(
            str(folder / "told.json"),
            endpoint_of(server),
            folder / "home",
            script=SCRIPT,
            TLCOURSE_DATA="",
        )
    return loaded(result)


@pytest.mark.parametrize("case", ["good", "cached"])
def test_a_good_release_is_fetched_once_then_from_the_cache(told, case: str) -> None:
    found, said = told[case]
    counts = {"train": 200, "validation": 50, "test": 50}
    described = "rows: train 200, validation 50, test 50; counts and sha256 verified"
    assert found == [corpora.RELEASE, counts, f"ud-english-ewt: release on GitHub, {described}"]
    fetching = f"fetching r2.16 of {CORPUS.release.repository}, once" in said
    assert fetching == (case == "good")


@pytest.mark.parametrize(
    ("case", "because"),
    [
        ("nothing-there", "en_ewt-ud-train.conllu: HTTPStatusError 404"),
        ("one-file-missing", "en_ewt-ud-test.conllu: HTTPStatusError 404"),
        ("offline", "its release is not in the cache and the network is not used"),
        ("refuses", "GitHub does not answer"),
    ],
)
def test_without_the_whole_release_the_sample_serves(told, case: str, because: str) -> None:
    (source, *_), said = told[case]
    assert source == corpora.SAMPLE and because in said
    assert "numbers on it cannot be compared with published ones" in said


def test_a_release_with_another_digest_is_an_error_not_a_sample(told) -> None:
    assert told["another-digest"][0].startswith(
        "ud-english-ewt test (release on GitHub): expected 00000000"
    )
    assert "delete it from the folder assets of the Hugging Face cache" in told["another-digest"][0]


def test_what_is_no_conllu_is_an_error_that_names_file_and_line(told) -> None:
    assert told["no-conllu"][0].startswith("en_ewt-ud-train.conllu, line 1: expected ten columns")


def test_only_what_has_a_release_is_asked_for_it() -> None:
    with pytest.raises(corpora.DataError, match="there is no release of it on GitHub"):
        corpora.load("trec", source="release")
    with pytest.raises(corpora.DataError, match="it is not on the Hugging Face Hub"):
        corpora.load("ud-english-ewt", source="hub")


def test_a_file_in_a_folder_of_the_repository_is_asked_for_there(tmp_path, monkeypatch) -> None:
    asked = {}
    monkeypatch.setattr(release.constants, "HF_ASSETS_CACHE", str(tmp_path))
    monkeypatch.setattr(release.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(release.hub, "answers", lambda address: True)
    monkeypatch.setattr(release, "_download", asked.__setitem__)
    men = catalogue.get("men")
    found = release.fetch(men)
    file = "data/word-sim/EN-MEN-TR-3k.txt"
    address = f"{release.ADDRESS}/mfaruqui/eval-word-vectors/{men.release.tag}/{file}"
    assert asked == {address: found["test"]} and found["test"].as_posix().endswith(file)
