"""Grades submitted lessons: cuts the answers out and checks them again, one process an answer.

    from pathlib import Path
    from tlcourse.grading import grade, submissions
    from tlcourse.lessons import get, solved_copy

    solved_copy(get("02"), Path("handed-in"))    # one submission, for this example
    for submission in submissions("handed-in", "02"):
        for result in grade(submission):
            print(submission.student, result.id, result.passed, result.stage)

On a command line that is `tlcourse grade handed-in --lesson 02`. It is no sandbox: an answer runs
with the rights of whoever grades, although with limits of time, memory and output.
"""

from tlcourse.grading.checking import Result, grade
from tlcourse.grading.report import write_report
from tlcourse.grading.submitted import Answer, Submission, submissions

__all__ = [
    "Answer",
    "Result",
    "Submission",
    "grade",
    "submissions",
    "write_report",
]
