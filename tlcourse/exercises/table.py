"""The table of exercises: solved, tried, minutes, and the next one."""

import html
from collections.abc import Mapping
from itertools import groupby

from tlcourse.exercises.answers import Kept
from tlcourse.exercises.listing import Listed
from tlcourse.exercises.task import facts


class Table:
    """Rows of exercises that a notebook shows as a table, and that print as text."""

    def __init__(self, rows: list[tuple[str, ...]], last: str):
        self.rows, self.last = rows, last

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.rows, strict=True)]
        lines = [
            "  ".join(field.ljust(width) for field, width in zip(row, widths, strict=True)).rstrip()
            for row in self.rows
        ]
        return "\n".join([*lines, self.last])

    def _repr_html_(self) -> str:
        rows = [
            "<tr>" + "".join(f'<td style="text-align:left">{html.escape(f)}</td>' for f in row)
            for row in self.rows
        ]
        return f"<table>{''.join(rows)}</table><p>{html.escape(self.last)}</p>"


def of(states: Mapping[str, Kept], every: bool = False) -> Table:
    """The table of the records of all exercises, in the order of the lessons.

    The first lesson with an open exercise and the one after it are listed exercise by exercise, any
    other in a single row; with `every`, all are listed.
    """
    lessons = {
        lesson: list(tasks)
        for lesson, tasks in groupby(map(facts, states), key=lambda task: task.lesson)
    }
    open_ = [task for tasks in lessons.values() for task in tasks if not states[task.id].solved]
    near = [lesson for lesson in lessons if open_ and lesson >= open_[0].lesson][:2]
    rows = [("", "exercise", "id", "minutes", "")]
    for lesson, tasks in lessons.items():
        if every or lesson in near:
            rows += [_row(task, states[task.id]) for task in tasks]
            continue
        solved = sum(bool(states[task.id].solved) for task in tasks)
        mark, minutes = "✓" if solved == len(tasks) else "○", sum(task.minutes for task in tasks)
        state = f"{solved} of {len(tasks)} solved"
        rows.append((mark, f"all of lesson {lesson}", "", str(minutes), state))
    done = len(states) - len(open_)
    last = f"{done} of {len(states)} solved"
    if open_:
        minutes, first = sum(task.minutes for task in open_), open_[0]
        next_ = f"{first.number} {first.title}, lesson {first.lesson}"
        last += f"; about {minutes} minutes to go. Next: {next_}"
    return Table(rows, last + ".")


def _row(task: Listed, kept: Kept) -> tuple[str, ...]:
    """The row of one exercise."""
    if kept.solved:
        state = f"solved {kept.solved[:10]}, {_tries(kept.tries)}"
    else:
        state = _tries(kept.tries) if kept.tries else ""
    mark = "✓" if kept.solved else "○"
    return mark, f"{task.number} {task.title}", task.id, str(task.minutes), state


def _tries(count: int) -> str:
    return "1 try" if count == 1 else f"{count} tries"
