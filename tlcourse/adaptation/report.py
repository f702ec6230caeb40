"""The report of an adaptation: what was trained, and what it changed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """The record of one call of `adapt`."""

    history: list[dict]  # one record per step, see `training.train`
    start_difference: float  # largest change of a logit by the edit, before the first step
    declared: tuple[str, ...]  # names of the parameters that the scheme trains
    moved: tuple[str, ...]  # names of the parameters whose values changed
    trained: int  # number of values in the declared parameters
    parameters: int  # number of values in all parameters
    seconds: float
    in_windows: int = 0  # number of texts longer than the body's maximum, read in windows
