"""A slice: the next things of the plan that fit into some minutes, and what is handed back."""

from pathlib import Path

import torch

from benchmarks.gpu import measuring, place, plan, training
from benchmarks.gpu.plan import Clock, Training
from tlcourse import sizes


def work(minutes: float, out: Path) -> list[Path]:
    """Works off the plan from where it is; returns the parts of what has to go home, in `out`.

    A slice ends where a training ends: its checkpoint, and the state of the next one, would be
    too much to hand back at once. What is there is handed back even if something fails. Raises
    ValueError without the data, and without a GPU at a size that needs one.
    """
    if not torch.cuda.is_available() and sizes.current().name != "tiny":
        raise ValueError(
            "expected a GPU with CUDA, found none; TLCOURSE_SIZE=tiny rehearses the plan without"
        )
    place.data()
    clock, finished = Clock(minutes), []
    try:
        for leg in plan.current():
            if leg.name in place.progress()["legs"]:
                continue
            if clock.left() < leg.least:
                print(f"[gpu] {leg.name}: {clock.left():.0f} s are left, too few to begin it")
                break
            print(f"[gpu] {leg.name}: begins, {clock.left():.0f} s are left", flush=True)
            if isinstance(leg, Training):
                finished = [leg.name] * training.train(leg, clock)
                break
            place.note(leg.name, measuring.in_child(leg.name, leg.least))
    finally:
        paths = place.hand_back(finished, out)
    return paths


def left() -> list[str]:
    """What of the plan is still to be done."""
    done = place.progress()["legs"]
    return [leg.name for leg in plan.current() if leg.name not in done]
