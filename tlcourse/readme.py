"""For maintainers: writes the README's tables from the logs (`python -m tlcourse.readme`)."""

import re
from pathlib import Path
from typing import Any

from tlcourse import files, first_cell, lessons, running


def lessons_table(logs: dict[str, Any]) -> str:
    """One row a lesson: title, measured minutes, badge."""
    rows = ["| lesson | minutes | |", "|---|---:|---|"]
    for lesson in lessons.every():
        minutes = logs.get(lesson.number, {}).get("minutes", "not measured yet")
        link = f"[{lesson.title}](notebooks/{lesson.path.name})"
        rows.append(f"| {link} | {minutes} | {first_cell.badge(lesson.path.name)} |")
    rows.append("\nMinutes at size `small` on two CPU cores without bf16, as the run's log says.")
    return "\n".join(rows)


def written(readme: str, root: Path) -> str:
    """The README's text with its tables brought up to date with the logs below `root`."""
    logs = root / running.RESULTS
    return _between(readme, "lessons", lessons_table(files.read_json(logs)))


def _between(text: str, name: str, content: str) -> str:
    """Replaces what stands between the two marks called `name`; ValueError if there are none."""
    marks = rf"(<!-- {name}: begin[^>]*-->\n).*?(<!-- {name}: end -->)"
    new, count = re.subn(marks, lambda m: f"{m[1]}{content}\n{m[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"expected one pair of marks '<!-- {name}: begin -->', got {count}")
    return new


def main() -> None:
    """Writes README.md."""
    path = files.find("README.md")
    old = path.read_text(encoding="utf-8")
    new = written(old, files.root())
    files.write_text(path, new)
    print("README.md written" if new != old else "README.md is up to date")


if __name__ == "__main__":
    main()
