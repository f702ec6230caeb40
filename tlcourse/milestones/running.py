"""Runs the demonstrations on the kept answers."""

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass

from tlcourse.exercises import keeping, running, task
from tlcourse.exercises.keeping import Found
from tlcourse.exercises.messages import Message
from tlcourse.milestones.demonstrations import DEMONSTRATIONS, Demonstration, Failed, Shown


@dataclass(frozen=True)
class Result:
    """A demonstration, the answers that it ran on, and what it showed or how it failed."""

    demonstration: Demonstration
    pieces: dict[str, Found]
    shown: Shown | None
    fault: str = ""

    @property
    def passed(self) -> bool:
        """Whether the demonstration did what it should, on whosever code."""
        return self.shown is not None

    @property
    def missing(self) -> dict[str, Found]:
        """The pieces for which the reference stands in."""
        return {id: piece for id, piece in self.pieces.items() if not piece.kept.text}

    @property
    def own(self) -> bool:
        """Whether all of it ran on the learner's own code."""
        return not self.missing

    @property
    def line(self) -> Message:
        """One line with a mark: solved, open (a part is the reference) or wrong."""
        whose = "Your" if self.own else "The"
        told = f"{whose} {self.demonstration.name}"
        told += f" {self.shown.says}." if self.shown else f": {self.fault}."
        numbers = [(task.facts(id).number, piece.fault) for id, piece in self.missing.items()]
        unwritten = ", ".join(number for number, fault in numbers if not fault)
        unused = ", ".join(f"{number} ({fault})" for number, fault in numbers if fault)
        told += f" Not written yet: {unwritten}." * bool(unwritten)
        told += f" Not used: your {unused}." * bool(unused)
        kind = "wrong" if not self.passed else "solved" if self.own else "open"
        return Message(kind, [f"{self.demonstration.lesson} {told}"])


def run() -> Iterator[Result]:
    """Runs one demonstration after the other on the kept answers; what they print is not shown.

    An error of the learner's code is the result's fault; without any of it, errors are raised.
    """
    for demonstration in DEMONSTRATIONS:
        with running.preserve_randomness(), contextlib.redirect_stdout(io.StringIO()):
            result = _result(demonstration)
        yield result


def _result(demonstration: Demonstration) -> Result:
    pieces = {id: keeping.found(task.get(id)) for id in demonstration.pieces}
    try:
        shown = demonstration.show({id: piece.answer for id, piece in pieces.items()})
    except Failed as failed:
        return Result(demonstration, pieces, None, str(failed))
    except Exception as error:
        if not any(piece.kept.text for piece in pieces.values()):
            raise
        where = running.line_of_error(error.__traceback__)
        raised = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        return Result(demonstration, pieces, None, f"raised {raised}{where and f', in {where}'}")
    return Result(demonstration, pieces, shown)
