"""Lists the exercises from the text of their files, without importing them."""

import ast
import pkgutil
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Listed:
    """The facts of an exercise for tables; `number` is such as "1.2" or "1b.2"."""

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
        """The sort key of its position in the course."""
        return self.lesson, int(self.number.split(".")[1])


def lesson_of(number: str) -> str:
    """The id of the lesson of an exercise: "03" for the number "3.1", "03b" for "3b.1"."""
    lesson = number.split(".")[0]
    return lesson.zfill(3 if lesson.endswith("b") else 2)


def names() -> list[str]:
    """The ids of all exercises, topic by topic; files that begin with an underscore are helpers."""
    return [
        f"{topic.name}.{module.name}"
        for topic in pkgutil.iter_modules([str(HERE)])
        if topic.ispkg
        for module in pkgutil.iter_modules([str(HERE / topic.name)])
        if not module.name.startswith("_")
    ]


def place(id: str) -> Path:
    """The path of the file of an exercise, which need not exist."""
    return HERE.joinpath(*id.split(".")).with_suffix(".py")


def read(id: str) -> Listed:
    """The facts in `task = Exercise(...)` of an exercise's file; raises ValueError without one."""
    path = place(id)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "task":
            values = {keyword.arg: keyword.value for keyword in node.value.keywords}
            names = ("number", "title", "difficulty", "minutes")
            return Listed(id, *(ast.literal_eval(values[name]) for name in names))
    raise ValueError(f"expected `task = Exercise(...)` in {path}, found none")
