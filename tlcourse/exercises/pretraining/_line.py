"""For `finetuning._rows`, until it takes `numbers` from `_common`."""

from tlcourse.exercises.pretraining._common import numbers

__all__ = ["numbers"]
