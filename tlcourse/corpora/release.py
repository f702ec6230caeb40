"""Files of a release on GitHub: from a cache beside the Hub's, else fetched over HTTPS."""

from pathlib import Path

from huggingface_hub import cached_assets_path, constants, utils

from tlcourse import files
from tlcourse.corpora import hub
from tlcourse.corpora.checks import Absent
from tlcourse.corpora.corpus import Corpus

ADDRESS = "https://raw.githubusercontent.com"


def fetch(corpus: Corpus, *, network: bool = True) -> dict[str, Path]:
    """The file of every split; raises Absent where neither the cache nor GitHub has all of them.

    Without `network`, or with HF_HUB_OFFLINE=1, only the cache is asked.
    """
    release = corpus.release
    if release is None:
        raise Absent("there is no release of it on GitHub")
    folder = cached_assets_path(
        "tlcourse", corpus.name, release.tag, assets_dir=constants.HF_ASSETS_CACHE
    )
    found = {split: folder / file for split, file in release.files.items()}
    missing = [path for path in found.values() if not path.exists()]
    if not missing:
        return found
    if not network or constants.HF_HUB_OFFLINE:
        raise Absent("its release is not in the cache and the network is not used")
    if not hub.answers(ADDRESS):
        raise Absent("GitHub does not answer")
    print(f"[data] {corpus.name}: fetching {release.tag} of {release.repository}, once")
    for path in missing:
        _download(f"{ADDRESS}/{release.repository}/{release.tag}/{path.name}", path)
    return found


def _download(address: str, path: Path) -> None:
    """The file at `address`, whole or not at all; raises Absent where it cannot be had."""
    try:
        answer = utils.get_session().get(address, timeout=10 * hub.PATIENCE)
        answer.raise_for_status()
    except hub.WENT_WRONG as error:
        status = getattr(getattr(error, "response", None), "status_code", "")
        raise Absent(f"{address}: {type(error).__name__} {status}".strip()) from error
    with files.atomic(path) as temporary:
        temporary.write_bytes(answer.content)
