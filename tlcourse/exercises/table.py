"""The table of exercises: solved, tried, minutes, and the next one."""

import html
from collections.abc import Mapping

from tlcourse.exercises.answers import Kept
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


def of(states: Mapping[str, Kept]) -> Table:
    """The table of the records of all exercises, in the order of the lessons."""
    rows, open_ = [("", "exercise", "id", "minutes", "")], []
    for id, kept in states.items():
        task = facts(id)
        if kept.solved:
            state, mark = f"solved {kept.solved[:10]}, {_tries(kept.tries)}", "✓"
        else:
            state, mark = (_tries(kept.tries) if kept.tries else ""), "○"
            open_.append(task)
        rows.append((mark, f"{task.number} {task.title}", id, str(task.minutes), state))
    done = len(states) - len(open_)
    last = f"{done} of {len(states)} solved"
    if open_:
        minutes, first = sum(task.minutes for task in open_), open_[0]
        next_ = f"{first.number} {first.title}, lesson {first.lesson}"
        last += f"; about {minutes} minutes to go. Next: {next_}"
    return Table(rows, last + ".")


def _tries(count: int) -> str:
    return "1 try" if count == 1 else f"{count} tries"
