"""Setting the repository's address: every place follows, and setting it back restores each."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from tlcourse import files
from tlcourse.lessons import address, first_cell

OURS = files.root()
COPIED = (
    *address.FILES,
    "README.md",
    "benchmarks/results/lessons.json",
    "notebooks/00_start_here.ipynb",
    "notebooks/04_finetuning_on_trec.ipynb",
)
pytestmark = pytest.mark.skipif(
    not (OURS / "pyproject.toml").exists(), reason="these files are in the clone only"
)


@pytest.fixture
def clone(tmp_path, monkeypatch) -> Path:
    """A small copy of the repository, which `files` takes for the real one."""
    for name in COPIED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(OURS / name, tmp_path / name)
    (tmp_path / "notebooks/pictures").mkdir()
    monkeypatch.setattr(files, "root", lambda: tmp_path)
    address.set_to(first_cell.UNSET)
    return tmp_path


def contents(clone: Path) -> dict[str, str]:
    return {name: (clone / name).read_text(encoding="utf-8") for name in COPIED}


def test_every_place_follows_and_setting_it_back_restores_each(clone) -> None:
    unset = contents(clone)
    url = "https://github.com/someone/a-course"
    address.set_to(url)
    found = contents(clone)
    urls = tomllib.loads(found["pyproject.toml"])["project"]["urls"]
    assert urls["Repository"] == url and f'"{url}"' in found["CITATION.cff"]
    badge = f"({url.replace('github.com', 'colab.research.google.com/github')}/blob/main/notebooks/"
    assert f"git clone --depth 1 {url}\n" in found["README.md"]
    assert found["README.md"].count(badge + "00_start_here.ipynb") == 2  # on top, in the table
    assert found["README.md"].count(badge + "04_finetuning_on_trec.ipynb") == 1
    for name in COPIED[-2:]:
        assert badge + Path(name).name in found[name] and f"git+{url} " in found[name]
    assert not any(re.search("/OWNER/|/YOU/", text) for text in found.values())
    address.set_to(first_cell.UNSET)
    assert contents(clone) == unset
    assert not any("colab-badge.svg" in text for text in unset.values())
    assert "tlcourse.lessons.address https://github.com/YOU/tlcourse" in unset["README.md"]


def test_an_address_that_is_not_on_github_has_no_badges(clone) -> None:
    address.set_to("https://git.example/someone/a-course")
    assert not any("colab-badge.svg" in text for text in contents(clone).values())


@pytest.mark.parametrize("url", ["", "github.com/a/b", "https://github.com/a", 'https://h/a/b"c'])
def test_what_is_no_address_of_a_repository_changes_nothing(
    clone, url, monkeypatch, capsys
) -> None:
    before = contents(clone)
    monkeypatch.setattr("sys.argv", ["address", url])
    with pytest.raises(SystemExit):
        address.main()
    assert "expected the address of a repository" in capsys.readouterr().err
    assert contents(clone) == before
