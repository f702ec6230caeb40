"""The report of an adaptation: what was trained, and what it changed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """What `adapt` did."""

    history: list[dict]  # a record a step
    start_difference: float  # the most that the edit changed a logit, before the first step
    declared: tuple[str, ...]  # the parameters that were to move
    moved: tuple[str, ...]  # those that did
    trained: int  # numbers in the declared parameters
    parameters: int  # numbers in all
    seconds: float
    in_windows: int = 0  # texts that are longer than the body reads at once
