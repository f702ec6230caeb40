"""Exercises that never stop a notebook, and keep the answers that pass.

    from tlcourse.exercises import exercise, for_long_runs, hint, solution, yours

    def merge_pair(tokens, pair, new_token): ...    # the learner's answer

    merge_pair = exercise("bpe.merge_pair", merge_pair)    # checked; the reference if it fails
    hint()                                                 # the next hint of that exercise
    solution("bpe.merge_pair")                             # one solution, ready to paste
    merge_pair = yours("bpe.merge_pair")                   # in a later lesson: the kept answer
    fast = for_long_runs("bpe.merge_pair", merge_pair, probe)    # the reference if too slow

An exercise is one file, TOPIC/NAME.py, with its text, its stages and its known mistakes.
`progress()` shows a table of the solved exercises, and the next one.
"""

from tlcourse.exercises.pace import for_long_runs
from tlcourse.exercises.session import exercise, hint, progress, solution, yours

__all__ = ["exercise", "for_long_runs", "hint", "progress", "solution", "yours"]
