"""The working folder: the data, how far the plan is, and the parcels that carry both.

data/           tokens, vocabulary, what is read for measuring
training/NAME/  state and log of a training that has begun
checkpoints/    those that are finished, in half precision
logs/NAME/      what is kept of a training beside that
progress.json   what of the plan is done, with its rows; how many slices there were
"""

import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import runner
from benchmarks.gpu import parcels, plan
from benchmarks.gpu.parcels import Part
from benchmarks.gpu.plan import Training
from tlcourse import checkpoints, corpora, files, pretraining, sizes
from tlcourse.bpe import Tokenizer

VOCABULARY = "causal-small"  # whose vocabulary all models share
TEXTS = "texts.json"  # beside the tokens: what is read for measuring
PROGRESS, ARRIVED = "progress.json", "arrived.json"
VALIDATION, QUESTIONS = "wikitext-103", "trec"


def folder() -> Path:
    """Where everything lies; a rehearsal has a folder of its own."""
    return runner.FOLDER / ("gpu-tiny" if sizes.current().name == "tiny" else "gpu")


def progress() -> dict:
    """What is done: "legs" by name, each with its rows; and the number of "slices" there were."""
    path = folder() / PROGRESS
    return files.read_json(path) if path.exists() else {"slices": 0, "legs": {}}


def note(name: str, found: dict) -> None:
    """Writes down that a leg of the plan is done, and what was found."""
    done = progress()
    done["legs"][name] = found
    files.write_json(folder() / PROGRESS, done)


def data() -> Path:
    """The folder of the data; ValueError that names the missing parts where it is not there."""
    place = folder() / "data"
    if not (place / TEXTS).exists():
        there = [Part.read(path) for path in (folder() / "arriving").glob("data-*-of-*.part")]
        names = parcels.missing(there[0], folder() / "arriving") if there else ["all parts of it"]
        raise ValueError(
            f"expected the data in {place}, but {', '.join(names)} did not arrive; run "
            "`python -m benchmarks gpu take --from PART` for each"
        )
    return place


def pack_data(names: Sequence[str], to: Path) -> list[Path]:
    """Prepares corpora with the shipped vocabulary, as `tlcourse pretrain` does, and packs them.

    With them go the validation split of WikiText-103 and the questions of TREC's train.
    """
    place = folder() / "data"
    known = Tokenizer.load(checkpoints.folder_of(VOCABULARY) / "tokenizer.json")
    pretraining.prepare(
        place, names, vocabulary_size=known.vocabulary_size, tokenizer=known, at_least=2 * 257
    )
    validation, questions = corpora.load(VALIDATION), corpora.load(QUESTIONS)
    texts = {
        "articles": list(corpora.articles(validation["validation"])),
        "articles_source": corpora.source_of(validation),
        "questions": {key: list(questions["train"][key]) for key in ("text", "label")},
        "questions_source": corpora.source_of(questions),
    }
    files.write_json(place / TEXTS, texts)
    members = {f"data/{path.name}": path for path in sorted(place.iterdir())}
    return parcels.wrap("data", members, to, size=parcels.CHUNK, method=zipfile.ZIP_LZMA)


def pack_state(to: Path) -> list[Path]:
    """Packs how far the plan is, for a machine that knows nothing of it."""
    if not (folder() / PROGRESS).exists():
        raise ValueError(f"expected how far the plan is in {folder()}, but no slice came home yet")
    done = progress()["legs"]
    legs = [each for each in plan.current() if isinstance(each, Training)]
    starts = {leg.start for leg in legs if leg.name not in done} & done.keys()
    members = _members([PROGRESS, "training", *(f"checkpoints/{name}" for name in sorted(starts))])
    return parcels.wrap("state", members, to, size=parcels.CHUNK)


def hand_back(finished: Iterable[str], to: Path) -> list[Path]:
    """Packs what a slice leaves: state, logs, rows, and the checkpoints it finished."""
    done = progress()
    done["slices"] += 1
    files.write_json(folder() / PROGRESS, done)
    given = [PROGRESS, "training", "logs", *(f"checkpoints/{name}" for name in finished)]
    paths = parcels.wrap("slice", _members(given), to, size=parcels.PART)
    files.write_json(to / "gpu.json", done)  # readable as it is
    total = sum(path.stat().st_size for path in to.iterdir())
    if total > parcels.CALL or len(paths) >= parcels.MOST:
        print(f"[gpu] {total / parcels.MIB:.1f} MiB are handed back, more than may come home")
    return paths


def take(source: Path) -> list[str]:
    """Takes a part, or all in a folder; puts a parcel in its place once all of it is there.

    Returns the names of the parts that are missing. What arrived before is not put there again.
    Raises ValueError for a damaged part, and where there is none.
    """
    paths = sorted(source.glob("*-of-*.part")) if source.is_dir() else [source]
    if not paths or not source.exists():
        raise ValueError(f"expected a part of a parcel, or a folder of them, got {source}")
    arriving, last = folder() / "arriving", {}
    for part in map(Part.read, paths):
        last[part.kind] = part
        if not _arrived(part):
            parcels.receive(part, arriving)
    absent = []
    for part in last.values():
        if _arrived(part):
            print(f"[gpu] {part.kind}: is there, whole")
        elif names := parcels.missing(part, arriving):
            print(f"[gpu] {part.kind}: {', '.join(names)} still missing")
            absent += names
        else:
            _put_in_place(part, arriving)
    return absent


def results() -> Path:
    """Writes the rows of all that is done, with what they rest on, and returns the file."""
    legs = progress()["legs"]
    found = {
        "job": "gpu",
        "rows": [row for leg in legs.values() for row in leg["rows"]],
        "benchmarks": {
            name: {key: value for key, value in leg.items() if key != "rows"}
            for name, leg in legs.items()
        },
    }
    rehearsed = sizes.current().name == "tiny"
    path = (folder() if rehearsed else runner.RESULTS) / "gpu.json"
    files.write_json(path, found)
    held_out = folder() / "data" / pretraining.HELD_OUT
    if held_out.exists():  # where `tlcourse evaluate` looks for it
        beside = folder() / "checkpoints" / pretraining.HELD_OUT
        files.write_text(beside, held_out.read_text(encoding="utf-8"))
    return path


def _members(names: Iterable[str]) -> dict[str, Path]:
    """The files of the working folder with these names, or below them."""
    base, found = folder(), []
    for place in (base / name for name in names):
        found += [place] if place.is_file() else sorted(place.rglob("*"))
    return {path.relative_to(base).as_posix(): path for path in found if path.is_file()}


def _arrived(part: Part) -> bool:
    path = folder() / ARRIVED
    return path.exists() and files.read_json(path).get(part.kind) == list(part.digests)


def _put_in_place(part: Part, arriving: Path) -> None:
    """Unpacks a parcel over what is there, unless that is newer; its parts are then removed."""
    base = folder()
    with tempfile.TemporaryDirectory(dir=base) as temporary:
        with parcels.joined(part, arriving) as archive:
            archive.extractall(temporary)
        new = Path(temporary)
        there = progress()["slices"]
        here = files.read_json(new / PROGRESS) if (new / PROGRESS).exists() else None
        if here is not None and here["slices"] < there:
            print(
                f"[gpu] {part.kind}: of slice {here['slices']}, older than what is here (slice "
                f"{there}); nothing was changed"
            )
        else:
            _move(new, base)
            print(f"[gpu] {part.kind}: all parts are there, unpacked to {base}")
    arrived = base / ARRIVED
    known = files.read_json(arrived) if arrived.exists() else {}
    files.write_json(arrived, known | {part.kind: list(part.digests)})
    for path in arriving.glob(f"{part.kind}-*-of-*.part"):
        path.unlink()


def _move(new: Path, base: Path) -> None:
    """Each file over the old one, what says how far the plan is last of all.

    The state of a training that is finished is of no use any more.
    """
    if (new / "data").exists():  # all or nothing
        shutil.rmtree(base / "data", ignore_errors=True)
        (new / "data").rename(base / "data")
    found = sorted(path for path in new.rglob("*") if path.is_file())
    for path in sorted(found, key=lambda path: path.name == PROGRESS):
        place = base / path.relative_to(new)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.replace(place)
    for name in progress()["legs"]:
        shutil.rmtree(base / "training" / name, ignore_errors=True)
