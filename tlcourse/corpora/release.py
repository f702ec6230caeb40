"""Files of a release on GitHub: from a cache beside the Hub's, else fetched over HTTPS."""

from pathlib import Path

from huggingface_hub import cached_assets_path, constants, utils

from tlcourse import files
from tlcourse.corpora import hub
from tlcourse.corpora.checks import Absent
from tlcourse.corpora.corpus import Corpus

ADDRESS = "https://raw.githubusercontent.com"


def fetch(corpus: Corpus, *, network: bool = True) -> dict[str, Path]:
    """The file of every split; raises Absent if neither the cache nor GitHub has all of them.

    Without `network`, or with HF_HUB_OFFLINE=1, only the cache is searched.
    """
    release = corpus.release
    if release is None:
        raise Absent("there is no release of it on GitHub")
    folder = cached_assets_path(
        "tlcourse", corpus.name, release.tag, assets_dir=constants.HF_ASSETS_CACHE
    )
    paths = {split: folder / file for split, file in release.files.items()}
    missing = [split for split, path in paths.items() if not path.exists()]
    if not missing:
        return paths
    if not network or constants.HF_HUB_OFFLINE:
        raise Absent("its release is not in the cache and the network is not used")
    if not hub.answers(ADDRESS):
        raise Absent("GitHub does not answer")
    print(f"[data] {corpus.name}: fetching {release.tag} of {release.repository}, once")
    for split in missing:
        file = release.files[split]
        _download(f"{ADDRESS}/{release.repository}/{release.tag}/{file}", paths[split])
    return paths


def _download(address: str, path: Path) -> None:
    """Downloads `address` into `path`, completely or not at all; raises Absent if it cannot."""
    try:
        response = utils.get_session().get(address, timeout=10 * hub.PATIENCE)
        response.raise_for_status()
    except hub.NETWORK_ERRORS as error:
        status = getattr(getattr(error, "response", None), "status_code", "")
        raise Absent(f"{address}: {type(error).__name__} {status}".strip()) from error
    with files.atomic(path) as temporary:
        temporary.write_bytes(response.content)
