"""The course's demonstrations, run on a learner's own kept answers, and a page that shows them.

    from tlcourse import milestones

    results = list(milestones.run())                # a minute or two, without a network
    for result in results:
        print(result.passed, result.own, result.line)
    if all(result.passed and result.own for result in results):
        milestones.write_page("my/milestone.html", results)

An answer that is not kept is replaced by the reference, and the line says so. A demonstration is
one row of `DEMONSTRATIONS`: it compares the answers with a program that they had no part in.
"""

from tlcourse.milestones.demonstrations import DEMONSTRATIONS, Demonstration, Failed, Shown
from tlcourse.milestones.page import write_page
from tlcourse.milestones.running import Result, run

__all__ = ["DEMONSTRATIONS", "Demonstration", "Failed", "Result", "Shown", "run", "write_page"]
