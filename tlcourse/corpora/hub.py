"""Files of the Hugging Face Hub, from its cache or fetched; fails fast if it is unreachable."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from huggingface_hub import constants, errors, hf_hub_download, utils

from tlcourse.corpora.checks import HUB, WHAT_TO_DO, Absent, DataError
from tlcourse.corpora.corpus import Corpus, Place

if TYPE_CHECKING:
    import datasets

PATIENCE = 6  # seconds until a Hub that does not answer counts as unreachable
# OSError, and the base class of the errors of the HTTP library that `huggingface_hub` uses.
NETWORK_ERRORS = (OSError, *errors.HfHubHTTPError.__bases__)


def fetch(corpus: Corpus, *, network: bool = True) -> dict[str, list[Path]]:
    """The files of every split, all from one repository: from the cache, else from the Hub.

    Raises Absent if neither has them; without `network`, only the cache is searched.
    """
    for place in corpus.places:
        with contextlib.suppress(*NETWORK_ERRORS):
            return _files(place, local_files_only=True)
    if not corpus.places:
        raise Absent("it is not on the Hugging Face Hub")
    if not network or constants.HF_HUB_OFFLINE:
        raise Absent("it is not in the Hugging Face cache and the network is not used")
    if not answers(constants.ENDPOINT):
        raise Absent("the Hugging Face Hub does not answer")
    print(f"[data] {corpus.name}: fetching it from the Hugging Face Hub, once")
    failures = []
    for place in corpus.places:
        try:
            return _files(place, local_files_only=False)
        except NETWORK_ERRORS as error:
            status = getattr(getattr(error, "response", None), "status_code", "")
            failures.append(f"{place.repository}: {type(error).__name__} {status}".strip())
    raise Absent("; ".join(failures))


def _files(place: Place, local_files_only: bool) -> dict[str, list[Path]]:
    with _no_progress_bars():
        return {
            split: [
                Path(
                    hf_hub_download(
                        place.repository,
                        file,
                        repo_type="dataset",
                        revision=place.revision,
                        local_files_only=local_files_only,
                    )
                )
                for file in files
            ]
            for split, files in place.files.items()
        }


def answers(address: str) -> bool:
    """True if a server answers at all; in a thread, because name resolution has no time limit."""
    answered = threading.Event()

    def request() -> None:
        with contextlib.suppress(*NETWORK_ERRORS):
            utils.get_session().head(address, timeout=PATIENCE)
            answered.set()

    thread = threading.Thread(target=request, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return answered.is_set()


@contextlib.contextmanager
def _no_progress_bars() -> Iterator[None]:
    """Hides progress bars: GitHub does not render a notebook with their widget metadata."""
    import datasets

    switches = [module for module in (utils, datasets) if not module.are_progress_bars_disabled()]
    for module in switches:
        module.disable_progress_bars()
    try:
        yield
    finally:
        for module in switches:
            module.enable_progress_bars()


def read_parquet(paths: list[Path], columns: list[str], what: str) -> datasets.Dataset:
    """Columns of parquet files, memory-mapped; a damaged file or missing column is a DataError."""
    import datasets

    try:
        with _no_progress_bars():
            dataset = datasets.Dataset.from_parquet([str(path) for path in paths])
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise DataError(
            f"{what} ({HUB}): expected parquet files, got {type(error).__name__} on reading "
            f"{paths[0].name}; {WHAT_TO_DO[HUB]}"
        ) from error
    if not set(columns) <= set(dataset.column_names):
        raise DataError(
            f"{what} ({HUB}): expected the columns {', '.join(columns)}, got "
            f"{', '.join(dataset.column_names)}; {WHAT_TO_DO[HUB]}"
        )
    return dataset.select_columns(columns)


def rows(corpus: Corpus, paths: list[Path], what: str) -> Iterable[dict] | datasets.Dataset:
    """The canonical rows of one split's files; raises DataError, naming the split `what`."""
    if paths[0].suffix != ".parquet":
        return corpus.parse(paths[0], HUB)
    dataset = read_parquet(paths, list(corpus.columns.values()), what)
    if corpus.row is None:
        return dataset
    return (corpus.row(values, f"{what} ({HUB})") for values in _named(dataset, corpus.ids, what))


def _named(dataset: datasets.Dataset, ids: tuple[str, ...], what: str) -> Iterator[tuple]:
    """Rows in which the label ids of the columns `ids`, single or lists, are replaced by names."""
    import datasets

    values = {column: dataset[column][:] for column in dataset.column_names}
    for column in ids:
        feature = dataset.features[column]
        many = isinstance(feature, datasets.List)
        names = feature.feature if many else feature
        if not isinstance(names, datasets.ClassLabel):
            raise DataError(
                f"{what} ({HUB}): expected named labels, got bare ids; {WHAT_TO_DO[HUB]}"
            )
        try:
            labels = values[column]
            values[column] = [*map(names.int2str, labels)] if many else names.int2str(labels)
        except (ValueError, TypeError) as error:
            raise DataError(
                f"{what} ({HUB}): expected ids of {', '.join(names.names)} in the column "
                f"{column}, got another ({error}); {WHAT_TO_DO[HUB]}"
            ) from error
    return zip(*values.values(), strict=True)
