"""Runs the page's modules under node; the tests that need it are skipped where there is none."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
NODE = shutil.which("node")
needed = pytest.mark.skipif(NODE is None, reason="needs node, to run the page's modules")


def node(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs node with arguments; scripts are those beside this file."""
    return subprocess.run([NODE, *map(str, arguments)], capture_output=True, encoding="utf-8")


def answers(script: str, folder: Path, asked: Any) -> Any:
    """What a script answers to `asked`, which it finds in `folder`, where it also puts numbers."""
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    result = node(HERE / script, folder)
    assert result.returncode == 0, result.stderr
    return json.loads((folder / "answers.json").read_text(encoding="utf-8"))


def numbers(folder: Path, name: str) -> np.ndarray:
    """The float32 numbers that a script put into `folder`."""
    return np.fromfile(folder / f"{name}.f32", dtype="<f4")
