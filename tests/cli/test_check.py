"""`tlcourse check`: what it looks at, and what to do."""

import os
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from packaging.requirements import Requirement

from tlcourse import environment
from tlcourse.cli import check, main


def test_check_says_ok(capsys) -> None:
    code = main(["check"])
    said = capsys.readouterr().out
    assert code == 0, said
    assert "[OK]   torch " in said
    assert "[OK]   waiting threads spin" in said
    assert "CPU thread" in said or "NVIDIA" in said


def test_check_says_what_to_do(capsys, monkeypatch) -> None:
    monkeypatch.setenv("TLCOURSE_DEVICE", "abacus")
    monkeypatch.setenv("TLCOURSE_SIZE", "huge")
    assert main(["check"]) == 1
    failed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[FAIL]")]
    assert len(failed) == 2
    assert any(line.count("unset") == line.count("unset TLCOURSE_DEVICE") == 1 for line in failed)


def test_what_to_do_about_wrong_data_is_said_once(capsys, monkeypatch) -> None:
    monkeypatch.setenv("TLCOURSE_DATA", "no-such-folder")
    assert main(["check"]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[FAIL]")]
    assert line.endswith("got 'no-such-folder'; correct or unset it")


def test_a_kernel_of_another_environment_is_told_though_both_link_to_one_python(
    tmp_path, capsys, monkeypatch
) -> None:
    other = tmp_path / "bin" / "python"
    spec = SimpleNamespace(argv=[str(other)])
    monkeypatch.setattr(KernelSpecManager, "get_kernel_spec", lambda *_: spec)
    for _ in range(2):  # first it is gone
        assert main(["check"]) == 1
        assert "python -m ipykernel install --sys-prefix" in capsys.readouterr().out
        other.parent.mkdir(exist_ok=True)
        if not other.exists():
            other.symlink_to(os.path.realpath(sys.executable))
    spec.argv = [sys.executable]
    assert main(["check"]) == 0


def test_colab_shows_notebooks_itself_and_is_asked_for_no_jupyterlab(capsys, monkeypatch) -> None:
    version = metadata.version

    def colabs(name: str) -> str:
        if name in environment.NOT_FOR_COLAB:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", colabs)
    assert main(["check"]) == 1
    assert "[FAIL] jupyterlab is not installed" in capsys.readouterr().out
    monkeypatch.setattr(environment, "on_colab", lambda: True)
    assert main(["check"]) == 0
    said = capsys.readouterr().out
    assert "jupyterlab" not in said and "[OK]   torch " in said
    assert said.endswith("Ready. Next: open a lesson in Colab\n")


@pytest.mark.parametrize("command", ["check", "lab"])
def test_a_folder_of_ones_own_that_cannot_be_written_to(tmp_path, capsys, monkeypatch, command):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    place = tmp_path / "file" / "mine"
    monkeypatch.setenv("TLCOURSE_MY", str(place))
    assert main([command]) == (1 if command == "check" else 2)
    out, err = capsys.readouterr()
    line = next(line for line in (out + err).splitlines() if "TLCOURSE_MY" in line)
    assert (
        f"expected a folder for your copy and answers that can be written to, got {place}" in line
    )
    assert "name another with TLCOURSE_MY" in line and "Errno" not in line


@pytest.mark.parametrize(
    ("asked", "good"),
    [("numpy", True), ("numpy>=1.0", True), ("numpy>=999", False), ("nOne>=1", False)],
)
def test_versions(asked: str, good: bool) -> None:
    result = check.version_result(Requirement(asked))
    assert result.good == good
    assert good or f'pip install "{asked}"' in str(result)


@pytest.mark.parametrize(
    "there", ["2.9.0", "2.10.1", "2.9.0+cpu", "2.9.0a0+50eac81.nv25.09", "2.11.0.dev2026", "2.8.1"]
)
def test_a_version_is_more_than_its_letters(monkeypatch, there: str) -> None:
    monkeypatch.setattr(check.metadata, "version", lambda name: there)
    result = check.version_result(Requirement("torch>=2.9.0"))
    assert result.good == (there != "2.8.1") and result.what == f"torch {there} (at least 2.9.0)"
