"""What the choice of device does to the process."""

import subprocess
import sys

import pytest

FAULTS = """
import ctypes, resource, sys, torch
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # pages of 4 KiB only, so that faults count bytes
from tlcourse.device import keep_freed_memory
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        [torch.ones(5_000_000) for _ in range(4)]  # 20 MB each: every page is touched
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
torch.set_num_threads(1)
if sys.argv[1] == "kept":
    keep_freed_memory()
[torch.ones(5_000_000) for _ in range(4)]
print(faults())
"""


def faults(*arguments: str) -> int:
    """Page faults of 20 times 4 tensors, made and freed."""
    ran = subprocess.run(
        [sys.executable, "-c", FAULTS, *arguments], capture_output=True, text=True, check=True
    )
    return int(ran.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of glibc")
def test_freed_memory_is_used_again() -> None:
    kept, returned = faults("kept"), faults("not")
    assert returned > 20 * 2 * 4_882  # two of the four tensors' pages at least, each time anew
    assert kept < returned / 10
