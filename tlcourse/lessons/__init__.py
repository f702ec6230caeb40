"""The lessons: headline numbers, and functions that find, execute and copy the notebooks.

    from tlcourse.lessons import every, get, headline

    headline("bpe.merges_equal", 3_834, "merges", data="WikiText-2")    # in a lesson: its result
    print([lesson.id for lesson in every()])                            # 03b would follow 03
    print(get("0").title)

`run_lesson(get("0"), "tiny")` executes a lesson; `tlcourse run` and `tlcourse lab` use the rest.
For maintainers: `python -m tlcourse.lessons.first_cell` and `python -m tlcourse.lessons.readme`.
"""

from importlib import import_module
from typing import Any

# Each is imported on first use: a lesson that prints a number waits for no notebook library.
ELSEWHERE = {
    "Lesson": "finding",
    "LessonFailed": "execution",
    "commit_outputs": "execution",
    "every": "finding",
    "get": "finding",
    "hand_out": "copies",
    "headline": "headlines",
    "learners_copy": "copies",
    "run_lesson": "execution",
    "solved_copy": "copies",
}
__all__ = list(ELSEWHERE)


def __getattr__(name: str) -> Any:
    if name not in ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{ELSEWHERE[name]}"), name)
