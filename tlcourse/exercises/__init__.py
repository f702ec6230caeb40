"""Exercises that never stop a notebook; each topic is a module, loaded when first asked for.

    from tlcourse.exercises import exercise, hint, solution

    def merge_pair(tokens, pair, new_token):
        ...

    merge_pair = exercise("bpe.merge_pair", merge_pair)   # yours where it passes, else ours
    hint("bpe.merge_pair")                                # one hint more at every call
    solution("bpe.merge_pair")                            # one way to write it

An exercise is called TOPIC.NAME; another name is a KeyError that lists those there are.
"""

from tlcourse.exercises.machinery import exercise, hint, solution

__all__ = ["exercise", "hint", "solution"]
