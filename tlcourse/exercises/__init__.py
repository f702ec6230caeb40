"""Exercises that never stop a notebook; each topic is a module, loaded when first asked for."""

from tlcourse.exercises.machinery import exercise, hint, solution

__all__ = ["exercise", "hint", "solution"]
