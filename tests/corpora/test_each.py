"""What holds for every data set; a new one is tested by being there.

The bundled sample of each is served in all three ways, with its own counts for facts.
"""

import dataclasses
import json
import lzma
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import datasets
import pytest

from tests.corpora.stand_in import endpoint_of, load, loaded, parquet
from tlcourse import corpora, files
from tlcourse.corpora import catalogue, checks
from tlcourse.corpora.corpus import Corpus

CORPORA = catalogue.CORPORA
SAMPLED = [name for name, corpus in CORPORA.items() if corpus.sample]
HUB_TOO = [name for name in SAMPLED if CORPORA[name].places]
ALL_OF_THE_HUB = """
import contextlib, json, sys
from dataclasses import replace
from tlcourse import corpora
from tlcourse.corpora import catalogue
from tlcourse.corpora.checks import Facts
found = {}
for name, facts in json.load(open(sys.argv[1])).items():
    facts = {split: Facts(**known) for split, known in facts.items()}
    for right in (True, False):
        first = next(iter(facts))
        facts[first] = replace(facts[first], words=facts[first].words + (not right))
        catalogue.CORPORA[name] = replace(catalogue.get(name), facts=facts)
        try:
            data = corpora.load(name, source="hub")
            found[name] = [{split: rows[:] for split, rows in data.items()}]
        except corpora.DataError as error:
            found[name].append(str(error))
print(json.dumps(found))
"""


def many(value: object) -> bool:
    return isinstance(value, list)


def values_of(rows: datasets.Dataset) -> Iterator[tuple]:
    """The values of each row; a column at a time, which is much quicker than a row at a time."""
    return zip(*(rows[column][:] for column in rows.column_names), strict=True)


def measure(corpus: Corpus, rows: datasets.Dataset) -> checks.Measure:
    measured = checks.Measure()
    for values in values_of(rows):
        measured.add(corpus.count(*values))
    return measured


def facts_of(corpus: Corpus, rows: datasets.Dataset) -> checks.Facts:
    found = measure(corpus, rows)
    labels, fine = dict(found.labels) or None, len(found.fine_labels) or None
    return checks.Facts(len(rows), found.words, labels, fine, found.digest)


@pytest.fixture(scope="module")
def samples() -> dict[str, datasets.DatasetDict]:
    return {name: corpora.load(name, source="sample") for name in SAMPLED}


def test_every_module_with_a_data_set_is_found_and_has_a_name_of_its_own() -> None:
    folder = Path(catalogue.__file__).parent
    modules = [path for path in folder.glob("*.py") if "\nCORPUS = " in path.read_text("utf-8")]
    assert len(modules) == len(CORPORA) >= 9
    odd = [path.stem for path in modules if path.stem.replace("_", "-") not in CORPORA]
    assert odd == [], "a module is called as its data set"


def test_a_new_module_is_a_new_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "birds.py").write_text(
        "from tlcourse.corpora.checks import Facts\n"
        "from tlcourse.corpora.wikitext import wikitext\n"
        'CORPUS = wikitext("birds", {"train": "birds.tokens"}, {"train": Facts(1, 3)})\n',
        encoding="utf-8",
    )
    monkeypatch.setattr(corpora, "__path__", [*corpora.__path__, str(tmp_path)])
    found = catalogue.collect(corpora.__path__)
    assert list(found) == [*CORPORA, "birds"]
    monkeypatch.setattr(catalogue, "CORPORA", found)
    mirror = tmp_path / "mirror" / "birds"
    mirror.mkdir(parents=True)
    (mirror / "birds.tokens").write_text(" Owls fly \n", encoding="utf-8")
    monkeypatch.setenv("TLCOURSE_DATA", str(mirror.parent))
    assert corpora.load("birds")["train"][:] == {"text": [" Owls fly \n"]}
    assert corpora.describe("birds") == "birds: local mirror, rows: train 1; counts verified"


def inconsistent(corpus: Corpus) -> Iterator[str]:
    """What does not fit in what a data set says of itself."""
    hub = [split for place in corpus.places for split in place.files]
    if set(corpus.files) != set(corpus.facts) or not set(hub) <= set(corpus.files):
        yield f"facts of {', '.join(corpus.facts)}, files of {', '.join(corpus.files)}"
    if not set(corpus.ids) <= set(corpus.columns.values()):
        yield f"ids in {corpus.ids}"
    for split, facts in corpus.facts.items():
        if facts.labels is not None and not set(facts.labels) <= set(corpus.labels):
            yield f"{split}: labels that it has not"
        if facts.digest is not None and not re.fullmatch("[0-9a-f]{64}", facts.digest):
            yield f"{split}: no sha256"


def test_what_a_data_set_says_of_itself_fits() -> None:
    wrong = {name: found for name, each in CORPORA.items() if (found := [*inconsistent(each)])}
    assert wrong == {}
    assert corpora.labels_of("rte") == ("entailment", "not_entailment")
    assert corpora.labels_of("wikitext-2") == ()


def test_every_data_set_has_a_card_with_its_counts() -> None:
    """A card is a part of a README below `data/` that says how to load the data set."""
    paths = files.bundled("data").rglob("README.md")
    parts = [part for path in paths for part in re.split(r"\n##? ", path.read_text("utf-8"))]
    missing = {}
    for name, corpus in CORPORA.items():
        card = "".join(part for part in parts if f'load("{name}")' in part)
        numbers = [f"{facts.rows:,}" for facts in corpus.facts.values()]
        said = [*numbers, *corpus.columns, *(place.repository for place in corpus.places)]
        missing[name] = [each for each in said if each not in card]
    assert {name: each for name, each in missing.items() if each} == {}


def test_the_samples_have_the_columns_labels_and_splits_of_their_sets(samples) -> None:
    wrong = []
    for name, data in samples.items():
        corpus = CORPORA[name]
        for split, rows in data.items():
            unknown = set(measure(corpus, rows).labels) - set(corpus.labels)
            if rows.column_names != list(corpus.columns) or not len(rows) or unknown:
                wrong.append((name, split, rows.column_names, unknown))
        if corpus.facts.keys() - data.keys() not in (set(), {"test"}):
            wrong.append((name, list(data)))
        seen = {label for rows in data.values() for label in measure(corpus, rows).labels}
        if len(seen) < min(len(corpus.labels), 8):
            wrong.append((name, "labels", seen))
    assert wrong == []


@pytest.fixture
def mirrored(
    samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, list[Path]]]:
    """A mirror of the samples, with their counts for facts: the files of each."""
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path))
    found = {}
    for name, data in samples.items():
        corpus = CORPORA[name]
        shutil.copytree(files.bundled(corpus.sample), tmp_path / name)
        facts = {split: facts_of(corpus, rows) for split, rows in data.items()}
        monkeypatch.setitem(CORPORA, name, dataclasses.replace(corpus, facts=facts))
        paths = [tmp_path / name / corpus.files[split] for split in data]
        found[name] = [
            each for path in paths for each in (sorted(path.iterdir()) if path.is_dir() else [path])
        ]
    yield found


def halved(lines: list) -> list:
    return lines[: len(lines) // 2]


def told(name: str) -> str:
    """The error of loading a data set, one line, or what was loaded."""
    try:
        return f"loaded from {corpora.source_of(corpora.load(name))}"
    except corpora.DataError as error:
        assert "\n" not in str(error)
        return str(error)


def test_a_mirror_is_read_packed_or_not(mirrored, samples, capsys) -> None:
    for packed in (False, True):
        for name, paths in mirrored.items():
            if packed and CORPORA[name].archive is None:
                for path in paths:
                    path.with_name(f"{path.name}.xz").write_bytes(lzma.compress(path.read_bytes()))
                    path.unlink()
            data = corpora.load(name)
            assert corpora.source_of(data) == "local mirror" and list(data) == list(samples[name])
            for split, rows in data.items():
                assert rows[:] == samples[name][split][:], f"{name} {split}"
            assert corpora.describe(name).endswith("; counts and sha256 verified")
    assert capsys.readouterr().out == ""


def test_every_fact_is_held(mirrored, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {
        "rows": lambda rows: rows + 1,
        "words": lambda words: words + 1,
        "labels": lambda labels: labels | {next(iter(labels)): 0},
        "fine labels": lambda number: number + 1,
        "sha256": lambda digest: digest[::-1],
    }
    passed = []
    for name in mirrored:
        corpus = CORPORA[name]
        split, facts = next(iter(corpus.facts.items()))
        for unit, change in changes.items():
            field = {"sha256": "digest"}.get(unit, unit.replace(" ", "_"))
            if getattr(facts, field) is None:
                continue
            wrong = dataclasses.replace(facts, **{field: change(getattr(facts, field))})
            with monkeypatch.context() as patch:
                other = dataclasses.replace(corpus, facts=corpus.facts | {split: wrong})
                patch.setitem(CORPORA, name, other)
                said = told(name)
            expected = rf"{name} {split} \(local mirror\): expected .* {unit}, got .*; replace the"
            if not re.match(expected, said):
                passed.append((name, unit, said))
    assert passed == []


def test_damaged_files_are_errors_that_name_them(mirrored) -> None:
    damages = {
        "a line more": lambda content: content + b"what is this\n",
        "half of it": lambda content: b"".join(halved(content.splitlines(keepends=True))),
        "another kind": lambda content: lzma.compress(content),
    }
    passed = []
    for name, paths in mirrored.items():
        content = paths[0].read_bytes()
        for damage, change in damages.items():
            paths[0].write_bytes(change(content))
            said = told(name)
            if not said.startswith((paths[0].name, f"{name} ", "expected to read")):
                passed.append((name, damage, said))
        paths[0].write_bytes(content)
        assert told(name) == "loaded from local mirror"
    assert passed == []


def test_no_row_lacks_a_value_or_has_an_unknown_label(samples) -> None:
    passed = []
    for name, data in samples.items():
        corpus, first = CORPORA[name], tuple(next(iter(data.values()))[0].values())
        if corpus.row is None:
            continue
        assert tuple(corpus.row(first, "here").values()) == first
        for number, value in enumerate(first):
            empty = [] if many(value) else ""
            other = ["what"] * len(value) if many(value) else "what"
            labelled = list(corpus.columns.values())[number] in corpus.ids
            for bad in (empty, other) if labelled else (empty,):
                try:
                    corpus.row((*first[:number], bad, *first[number + 1 :]), "here")
                    passed.append((name, number, bad))
                except corpora.DataError as error:
                    assert str(error).startswith("here: expected ")
    assert passed == []


def put_on_the_hub(server, corpus: Corpus, data: dict, folder: Path) -> None:
    """The rows of a sample as parquet files of the Hub's form: ids, with their names in the file.

    Where a split has several files, its rows are in the first two. There is a column of no use.
    """
    place = corpus.places[0]
    for split in place.files.keys() & data.keys():
        rows, columns, features = data[split], {}, {}
        for ours, theirs in corpus.columns.items():
            values = rows[ours][:]
            feature = rows.features[ours]
            if theirs in corpus.ids:
                flat = [each for value in values for each in (value if many(value) else [value])]
                label = datasets.ClassLabel(names=sorted(set(flat), reverse=True))
                feature = datasets.List(label) if many(values[0]) else label
                values = [label.str2int(value) for value in values]
            columns[theirs], features[theirs] = values, feature
        columns["idx"], features["idx"] = [*range(len(rows))], datasets.Value("int64")
        size = -(-len(rows) // min(2, len(place.files[split])))
        for number, file in enumerate(place.files[split]):
            part = slice(number * size, (number + 1) * size)
            some = {name: values[part] for name, values in columns.items()}
            table = datasets.Dataset.from_dict(some, features=datasets.Features(features))
            path = f"/datasets/{place.repository}/resolve/{place.revision.replace('/', '%2F')}/"
            server.files[path + file] = parquet(table, folder)


def test_the_hub_gives_the_rows_of_the_files(server, samples, tmp_path: Path) -> None:
    facts = {}
    for name in HUB_TOO:
        corpus, data = CORPORA[name], samples[name]
        put_on_the_hub(server, corpus, data, tmp_path)
        facts[name] = {
            split: dataclasses.asdict(facts_of(corpus, data[split]))
            for split in corpus.places[0].files
        }
    (tmp_path / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    arguments = (str(tmp_path / "facts.json"), endpoint_of(server), tmp_path / "home")
    result = load(*arguments, script=ALL_OF_THE_HUB)
    found, wrong = loaded(result), []
    assert list(found) == HUB_TOO and "sha256 unknown" not in result.stdout
    for name, (rows, said) in found.items():
        expected = {split: samples[name][split][:] for split in CORPORA[name].places[0].files}
        first = f"{name} {next(iter(expected))} (Hugging Face Hub): expected "
        if rows != expected or not said.startswith(first) or " words, got " not in said:
            wrong.append((name, said))
    assert wrong == []
