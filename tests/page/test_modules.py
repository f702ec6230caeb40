"""The page's modules: readable, easy to put into one file, and right by themselves."""

import base64
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.page.node import HERE, needed, node
from tlcourse.files import PACKAGE

PAGE = PACKAGE / "page"
MODULES = sorted(PAGE.glob("*.js"))
OTHERS = "lean_qr.js"  # which others wrote, on one line
VIEW = PACKAGE / "views" / "attention.js"
LONGEST = 260  # lines, as in test_imports.py
IMPORT = re.compile(r'^import \{[^}]*\} from "([./\w]+\.js)";$', flags=re.MULTILINE)


def sources() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in MODULES}


def top_names(source: str) -> list[str]:
    """What a module defines at its top level."""
    found = re.findall(
        r"^(?:export )?(?:async )?(?:function\*?|class|const|let) (\w+|\[.*?\]|\{.*?\})",
        source,
        flags=re.MULTILINE,
    )
    return [name for each in found for name in re.findall(r"\w+", each)]


def test_modules_can_be_read_in_one_sitting() -> None:
    assert {"bpe.js", "model.js", "attention.js", "kernel.js"} <= set(sources())
    for path in [*MODULES, PAGE / "kernel.wat"]:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= LONGEST, path.name
        assert path.name == OTHERS or max(map(len, lines)) <= 100, path.name


def test_modules_can_stand_one_behind_the_other_in_one_file() -> None:
    places: dict[str, str] = {}
    for name, source in {**sources(), "view.js": VIEW.read_text(encoding="utf-8")}.items():
        lines = IMPORT.sub("", source)
        assert not re.search(r"^\s*import\b|\bimport\(|\bexport (default|\{|\*)", lines, re.M), name
        assert not re.search(r"^(const .*)?await\b", lines, re.M), name
        assert all((PAGE / path).is_file() for path in IMPORT.findall(source)), name
        for each in top_names(source):
            assert each not in places, f"{each} is defined in {places.get(each)} and in {name}"
            places[each] = name
    assert places["causalMask"] == "attention.js"
    assert places["EOS"] == "bpe.js"


def kernel() -> bytes:
    """The assembled kernel, as kernel.js keeps it."""
    block = sources()["kernel.js"].split("export const KERNEL = [")[1].split("]")[0]
    return base64.b64decode("".join(re.findall(r'"([^"]*)"', block)), validate=True)


def test_the_kernels_bytes_are_those_of_its_text(tmp_path: Path) -> None:
    assembler = shutil.which("wat2wasm")
    if assembler is None:
        pytest.skip("needs wat2wasm (the package wabt), to assemble kernel.wat")
    assembled = tmp_path / "kernel.wasm"
    subprocess.run([assembler, PAGE / "kernel.wat", "-o", assembled], check=True)
    assert kernel() == assembled.read_bytes(), "put `base64 -w 88 kernel.wasm` into kernel.js"


def test_the_kernel_is_a_small_module() -> None:
    assert kernel().startswith(b"\0asm\1\0\0\0")
    assert len(kernel()) < 1000


@needed
def test_the_modules_by_themselves() -> None:
    result = node("--test", HERE / "units_test.mjs", HERE / "reading_test.mjs")
    assert result.returncode == 0, result.stdout
    assert re.search(r"^# pass [1-9]", result.stdout, flags=re.MULTILINE)
