"""Exercises that never stop a notebook, and answers that are kept.

    from tlcourse.exercises import exercise, for_long_runs, hint, solution, yours

    def merge_pair(tokens, pair, new_token): ...    # what the learner writes

    merge_pair = exercise("bpe.merge_pair", merge_pair)    # checked; theirs if right, else ours
    hint()                                                 # the next hint of that exercise
    solution("bpe.merge_pair")                             # one way, ready to paste
    merge_pair = yours("bpe.merge_pair")                   # in a later lesson: theirs, if solved
    fast = for_long_runs("bpe.merge_pair", merge_pair, probe)    # ours if theirs is too slow

All of one exercise is one file, TOPIC/NAME.py: its text, its stages, the mistakes that it knows.
`progress()` shows a table of what is solved, and what is next.
"""

from tlcourse.exercises.pace import for_long_runs
from tlcourse.exercises.session import exercise, hint, progress, solution, yours

__all__ = ["exercise", "for_long_runs", "hint", "progress", "solution", "yours"]
