"""README, continuous integration, constraints and licence files say the same thing."""

import ast
import copy
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from tests.notebooks import lessons_code
from tlcourse import files, released
from tlcourse.cli import command_line
from tlcourse.lessons import finding, readme, start

ROOT = files.root()
pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="these files are in the clone only"
)


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def commands() -> list[str]:
    """The README's set-up commands, found by another way than .ci/run's."""
    blocks = re.findall(r"```bash\n(.*?)```", text("README.md"), flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if "pip install" in line]


def test_the_readme_has_two_set_up_commands_that_ci_takes() -> None:
    install, test = commands()
    assert install.endswith(" && .venv/bin/tlcourse lab")
    assert test.endswith(" && .venv/bin/python -m pytest")
    for command in (install, test):
        assert " -c constraints.txt " in command
    found = subprocess.run(
        ["grep", "^python3 -m venv ", "README.md"], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert found.stdout.splitlines() == [install, test]
    script = text(".ci/run")
    assert "grep '^python3 -m venv ' README.md" in script
    assert "${commands[0]% && .venv/bin/tlcourse lab}" in script


def test_the_readme_and_the_results_page_are_up_to_date() -> None:
    from benchmarks import results_page  # seconds, which the other tests here need not wait

    said = "run `python -m tlcourse.lessons.readme`"
    assert readme.written(text("README.md"), ROOT) == text("README.md"), said
    assert results_page.page(ROOT) == text("RESULTS.md"), "run `python -m benchmarks results`"


def test_the_page_of_commands_has_a_row_for_each() -> None:
    rows = re.findall(r"^\| `tlcourse (\w+)", text("docs/commands.md"), flags=re.MULTILINE)
    assert rows == list(command_line.COMMANDS)


def test_lesson_00_has_the_map_of_all_lessons_and_the_readmes_example() -> None:
    book = finding.read_notebook(finding.every()[0].path)
    written = start.updated(copy.deepcopy(book), text("README.md"))
    assert written == book, "run `python -m tlcourse.lessons.readme`"


def test_the_readmes_pictures_are_the_lessons() -> None:
    shown = {each.name: each.png for each in readme.figures()}
    kept = {path.name: path.read_bytes() for path in (ROOT / readme.PICTURES).glob("*")}
    assert kept == shown, "run `python -m tlcourse.lessons.readme` and remove what no lesson shows"


def test_links_of_the_markdown_files_resolve() -> None:
    for path in [
        *ROOT.glob("*.md"),
        *(ROOT / "data").rglob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
    ]:
        for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:|#", target):
                assert (path.parent / target.split("#")[0]).exists(), f"{path.name}: {target}"


def test_constraints_hold_every_dependency_exactly() -> None:
    lines = text("constraints.txt").splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines), "no local versions, paths"
    held = {plain(line) for line in lines}
    project = tomllib.loads(text("pyproject.toml"))["project"]
    asked = project["dependencies"] + sum(project["optional-dependencies"].values(), [])
    assert set(map(plain, asked)) <= held


# Where a library may be used that comes only with one of the extras; elsewhere none may.
EXTRAS = {
    "tlcourse": ("tensorboard", "site"),
    "notebooks": (),
    "benchmarks": ("test", "browser"),
    "tests": ("test", "browser"),
}


def plain(name: str) -> str:
    """A distribution's name as registries compare it, its version left out."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", name)[0]).lower()


def imported(folder: str) -> dict[str, set[str]]:
    """The top-level modules of others that the code in a folder imports, and where."""
    codes = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in [
            *(ROOT / folder).rglob("*.py"),
            *([ROOT / "conftest.py"] * (folder == "tests")),
        ]
    }
    if folder == "notebooks":
        codes = lessons_code()
    found: dict[str, set[str]] = {}
    for name, code in codes.items():
        for node in ast.walk(ast.parse(code)):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module]
            for module in modules:
                found.setdefault(module.split(".")[0], set()).add(name)
    own = {"tlcourse", "benchmarks", "tests", *sys.stdlib_module_names}
    return {module: where for module, where in found.items() if module not in own}


@pytest.mark.parametrize("folder", EXTRAS)
def test_what_is_imported_is_declared(folder: str) -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    extras = [project["optional-dependencies"][extra] for extra in EXTRAS[folder]]
    declared = {plain(name) for name in sum(extras, project["dependencies"])}
    distributions = metadata.packages_distributions()
    missing = {
        module: where
        for module, where in imported(folder).items()
        if not {plain(name) for name in distributions.get(module, [module])} & declared
    }
    assert missing == {}, "declare these in pyproject.toml, and pin them in constraints.txt"


def test_dependencies_have_floors_and_no_pins_but_the_wheels_of_models() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    extras = dict(project["optional-dependencies"])
    wheels = {each.wheel.requirement for each in released.KNOWN.values() if each.wheel}
    assert wheels <= set(extras["released"])
    for name in sorted({*sum(extras.values(), project["dependencies"])} - wheels):
        assert re.fullmatch(r"[\w-]+(>=[\d.]+)?", name), name


def test_the_address_is_the_same_everywhere() -> None:
    address = tomllib.loads(text("pyproject.toml"))["project"]["urls"]["Repository"]
    assert f'repository-code: "{address}"' in text("CITATION.cff")


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, tracked.stdout.decode().split("\0")):
        path = ROOT / name
        if (
            path.suffix in (".py", ".md", ".toml", ".yml", ".json", ".txt", ".cff")
            and path.exists()
        ):
            found = re.search(r"(?<![\w./])/(?:work|root)/\w+", path.read_text(encoding="utf-8"))
            assert not found, f"{name}: {found and found[0]}"


def test_module_docstrings() -> None:
    for path in Path(files.PACKAGE).rglob("*.py"):
        source = path.read_text(encoding="utf-8").strip()
        assert not source or source.startswith('"""'), f"{path.name} begins without a docstring"
