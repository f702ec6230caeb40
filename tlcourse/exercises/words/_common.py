"""What the exercises of lesson 11 share: what an array holds."""

from typing import Any

import numpy as np

from tlcourse.exercises.pretraining._common import told

KINDS = {"f": "floats", "i": "integers", "u": "integers", "b": "booleans"}


def kind(got: Any) -> tuple:
    """What an array holds, and its shape, such as ("floats", 3); the type of any other value."""
    if got is None:
        return (told(got),)
    if not isinstance(got, np.ndarray):
        return (type(got).__name__,)
    return KINDS.get(got.dtype.kind, str(got.dtype)), *got.shape
