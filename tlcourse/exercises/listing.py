"""What there is, read from the text of the exercises' files: nothing is imported for a list."""

import ast
import pkgutil
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Listed:
    """What a table says of an exercise; `number` is that in the lesson, such as "1.2" or "1b.2"."""

    id: str
    number: str
    title: str
    difficulty: int
    minutes: int

    @property
    def lesson(self) -> str:
        """The id of its lesson."""
        return lesson_of(self.number)

    @property
    def order(self) -> tuple[str, int]:
        """Where it stands in the course."""
        return self.lesson, int(self.number.split(".")[1])


def lesson_of(number: str) -> str:
    """The id of the lesson that an exercise stands in: that of "3.1" is "03", of "3b.1" "03b"."""
    lesson = number.split(".")[0]
    return lesson.zfill(3 if lesson.endswith("b") else 2)


def names() -> list[str]:
    """The ids of all files, topic by topic; a name that begins with an underscore is only help."""
    return [
        f"{topic.name}.{each.name}"
        for topic in pkgutil.iter_modules([str(HERE)])
        if topic.ispkg
        for each in pkgutil.iter_modules([str(HERE / topic.name)])
        if not each.name.startswith("_")
    ]


def place(id: str) -> Path:
    """Where the file of an exercise is, or would be."""
    return HERE.joinpath(*id.split(".")).with_suffix(".py")


def read(id: str) -> Listed:
    """What the line `task = Exercise(...)` of an exercise's file says."""
    path = place(id)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "task":
            given = {each.arg: each.value for each in node.value.keywords}
            told = ("number", "title", "difficulty", "minutes")
            return Listed(id, *(ast.literal_eval(given[name]) for name in told))
    raise ValueError(f"expected `task = Exercise(...)` in {path}")
