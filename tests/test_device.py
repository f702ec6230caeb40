"""What the choice of device does to the process."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from tlcourse import device


def test_a_pytorch_without_its_private_questions_counts_in_float32(monkeypatch):
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    monkeypatch.setenv("TLCOURSE_DEVICE", "cpu")
    monkeypatch.setattr(device.sys, "platform", "linux")
    cpu = SimpleNamespace(_is_amx_tile_supported=lambda: True)
    onednn = SimpleNamespace(_is_mkldnn_bf16_supported=lambda: True)
    monkeypatch.setattr(torch, "cpu", cpu)
    monkeypatch.setattr(torch.ops, "mkldnn", onednn, raising=False)
    assert device.choose().precision == torch.bfloat16
    del onednn._is_mkldnn_bf16_supported
    assert device.choose().precision == torch.float32
    onednn._is_mkldnn_bf16_supported = lambda: True
    del cpu._is_amx_tile_supported
    assert device.choose().precision == torch.float32


def test_a_description_is_that_of_what_would_be_chosen(monkeypatch):
    monkeypatch.setenv("TLCOURSE_DEVICE", "cpu")
    assert device.describe() == device.describe(device.choose())


FAULTS = """
import ctypes, resource, torch
from tlcourse.device import keep_freed_memory

libc = ctypes.CDLL(None)
libc.prctl(41, 1, 0, 0, 0)  # pages of 4 KiB only, so that faults count bytes
libc.mallopt(-3, 128 * 1024)  # what glibc begins with, and keeps from now on
libc.mallopt(-1, 128 * 1024)
torch.set_num_threads(1)

def faults(rounds):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        [torch.ones(5_000_000) for _ in range(4)]  # 20 MB each: every page is touched
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults(5)
print(faults(20))
keep_freed_memory()
faults(5)
print(faults(20))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of glibc")
def test_freed_memory_is_used_again() -> None:
    """Page faults of 20 times 4 tensors, made and freed, before it is asked for and after."""
    command = [sys.executable, "-c", FAULTS]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    returned, kept = map(int, said.split())
    assert returned >= 20 * 4 * 4_882  # every tensor's pages, each time anew
    assert kept < returned / 10
