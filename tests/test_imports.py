"""The house stands: modules import only from the floors below, and a package has a face."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from tests.notebooks import imports_of, lessons_code
from tlcourse.files import PACKAGE

FLOORS = {
    name: floor
    for floor, names in enumerate(
        (
            "environment sizes device files history ranges recipes results signals views wording",
            "bpe transformer recurrent encoders words",
            "corpora batching objectives metrics spans generation checkpoints huggingface released "
            "glove memory",
            "training",
            "pretraining evaluation adaptation probing looking",
            "exercises lessons milestones grading page site cli __main__",
        )
    )
    for name in names.split()
}
TOP = [name for name, floor in FLOORS.items() if floor == 5]  # each may import those before it
SLOW = {"ignite", "datasets", "pandas", "pyarrow", "sympy", "sklearn", "scipy", "transformers"}
MODULES = sorted(PACKAGE.rglob("*.py"))
LESSONS = lessons_code()


def modules_imported(source: str) -> Iterator[str]:
    """The dotted names that `source` imports, at any depth and for types alone too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports are not used here"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def names_imported(source: str) -> set[str]:
    """The modules and packages directly below `tlcourse` that `source` imports."""
    names = modules_imported(source)
    return {name.split(".")[1] for name in names if name.startswith("tlcourse.")}


def goes_up(module: str, imported: str) -> bool:
    """Whether an import breaks the table of floors."""
    if imported not in FLOORS or module == imported:
        return False
    floor, below = FLOORS[module], FLOORS[imported]
    if (module, imported) == ("adaptation", "pretraining"):
        return False
    if floor == below == 5:
        return TOP.index(imported) > TOP.index(module)
    allowed_beside = floor in (0, 2)  # floors of tools; those of floors 1 and 4 stand alone
    return below > floor or (below == floor and not allowed_beside) or (floor == 1 and below == 0)


def top(path: Path) -> str:
    """The module or package, directly below `tlcourse`, that holds the file at `path`."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_only(path: Path) -> None:
    imported = names_imported(path.read_text(encoding="utf-8"))
    if path == PACKAGE / "__init__.py":
        assert imported == {"environment"}
        return
    module = top(path)
    assert module in FLOORS, f"give {module} a floor in tests/test_imports.py"
    up = sorted(name for name in imported if goes_up(module, name))
    assert not up, f"{module} (floor {FLOORS[module]}) must not import {', '.join(up)}"


def imports_between(sources: dict[str, str]) -> dict[str, set[str]]:
    """Which modules each module imports, by dotted names: anywhere in it, for types alone too.

    A package's face imports its modules, and a module its package's `__init__` with that; so an
    import of a module in the same package counts as that of the module alone.
    """
    found: dict[str, set[str]] = {name: set() for name in sources}
    for name, source in sources.items():
        for imported in modules_imported(source):
            while imported and imported not in sources:
                imported = imported.rpartition(".")[0]
            if imported and imported != name and not imported.startswith(f"{name}."):
                found[name].add(imported)
    return found


def circle_in(imports: dict[str, set[str]]) -> list[str]:
    """A circle of imports, as the names along it; empty where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_modules_import_each_other() -> None:
    sources = {}
    for path in MODULES:
        parts = ("tlcourse", *path.relative_to(PACKAGE).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        sources[name] = path.read_text(encoding="utf-8")
    assert circle_in(imports_between(sources)) == []


def test_the_guard_sees_a_circle() -> None:
    lazily = "def f():\n    from tlcourse.a import two\n"
    typed = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tlcourse.a.one import One\n"
    )
    for back in (lazily, typed):
        sources = {"tlcourse.a": "", "tlcourse.a.one": lazily, "tlcourse.a.two": back}
        expected = {"tlcourse.a.one"} if back is typed else set()
        imports = imports_between(sources)
        assert imports["tlcourse.a.one"] == {"tlcourse.a.two"}
        assert imports["tlcourse.a.two"] == expected
        assert bool(circle_in(imports)) == bool(expected)


@pytest.mark.parametrize(
    ("module", "source", "up"),
    [
        ("bpe", "from tlcourse import training", {"training"}),
        ("transformer", "from tlcourse.device import choose", {"device"}),
        ("views", "def f():\n    import tlcourse.bpe", {"bpe"}),
        ("adaptation", "from tlcourse.evaluation import evaluate", {"evaluation"}),
        ("adaptation", "from tlcourse import pretraining, batching", set()),
        ("training", "import torch, json\nfrom tlcourse import files", set()),
        ("lessons", "from tlcourse.cli import run", {"cli"}),
        ("page", "from tlcourse import exercises, lessons", set()),
    ],
)
def test_the_guard_sees_an_import_that_goes_up(module: str, source: str, up: set[str]) -> None:
    assert {name for name in names_imported(source) if goes_up(module, name)} == up


def test_what_lessons_import_loads_slow_libraries_only_where_they_work() -> None:
    """`huggingface` is left out: who imports it works with `transformers`."""
    faces = ["training", "pretraining", "adaptation", "evaluation", "probing", "looking"]
    faces += ["batching", "checkpoints", "corpora.treebank", "exercises", "lessons", "metrics"]
    code = f"import sys, {', '.join(f'tlcourse.{face}' for face in faces)}; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    loaded = set(ran.stdout.split())
    assert {"torch", "tlcourse.corpora.trec"} <= loaded
    assert not SLOW & loaded


def behind_a_face(code: str) -> list[str]:
    """What a lesson uses of this package that no face shows.

    A lesson may write `import tlcourse`, `from tlcourse import x` and `from tlcourse.x import y`,
    where `x` is a package or a flat module and exports `y`.
    """
    found, faces, imports = [], {}, imports_of(code)
    for module, name in imports:
        if module.count(".") > 1:
            found.append(module)
            continue
        faces[module.split(".")[1]] = face = import_module(module)
        if name is not None and not exports(face, name):
            found.append(f"{module}.{name}")
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            face, module = faces.get(node.value.id), f"tlcourse.{node.value.id}"
            imported = (module, None) in imports
            if face is not None and imported and not exports(face, node.attr):
                found.append(f"{module}.{node.attr}")
    return sorted(set(found))


def exports(face, name: str) -> bool:
    """Whether a package has a name in `__all__`; a flat module, whether it is public there."""
    if hasattr(face, "__path__"):
        return name in getattr(face, "__all__", ())
    return hasattr(face, name) and not name.startswith("_")


@pytest.mark.parametrize("lesson", LESSONS)
def test_lessons_import_from_faces_only(lesson: str) -> None:
    assert behind_a_face(LESSONS[lesson]) == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import tlcourse\nfrom tlcourse import corpora, sizes\nsizes.current()", []),
        ("from tlcourse.views import curves\nfrom tlcourse.lessons import headline", []),
        ("import tlcourse.views.lines as lines", ["tlcourse.views.lines"]),
        ("from tlcourse.views import lines", ["tlcourse.views.lines"]),
        ("def f():\n    from tlcourse.bpe import text", ["tlcourse.bpe.text"]),
        ("from tlcourse import corpora\ncorpora.hub.fetch(1)", ["tlcourse.corpora.hub"]),
        ("from tlcourse.metrics import _positive", ["tlcourse.metrics._positive"]),
        ("from tlcourse import metrics\nmetrics.nothing", ["tlcourse.metrics.nothing"]),
    ],
)
def test_the_guard_sees_what_no_face_shows(code: str, found: list[str]) -> None:
    assert behind_a_face(code) == found
