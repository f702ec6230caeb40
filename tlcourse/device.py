"""The choice of device, precision, attention kernel and compilation."""

import contextlib
import ctypes
import functools
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from typing import Any

import torch

import tlcourse


@dataclass(frozen=True)
class Compute:
    """A device and how to use it; `precision` is the autocast type, parameters stay float32."""

    device: torch.device
    precision: torch.dtype
    attention: str  # "sdpa" or "explicit"
    compiles: bool  # True if torch.compile can work here (long runs use it)

    def autocast(self) -> contextlib.AbstractContextManager:
        """The context in which to run forward passes."""
        if self.precision == torch.float32:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self.precision)


def choose() -> Compute:
    """CUDA if it is available, else the CPU; `TLCOURSE_DEVICE=cpu|cuda` overrides this.

    Apple's GPU is not used (CPU, float32). Raises ValueError for a device that is not available.
    """
    name = os.environ.get("TLCOURSE_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    if name not in ("cpu", "cuda"):
        raise ValueError(
            f"expected TLCOURSE_DEVICE to be cpu or cuda, got {name!r}; set it to one of them, or "
            "unset TLCOURSE_DEVICE"
        )
    if name == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(
                "TLCOURSE_DEVICE is cuda, but PyTorch sees no CUDA GPU; unset TLCOURSE_DEVICE"
            )
        bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
        precision = torch.bfloat16 if bf16 else torch.float16
        return Compute(torch.device("cuda"), precision, "sdpa", sys.platform == "linux")
    # On the CPU, the backward pass of fused attention is slower than explicit softmax on short
    # texts.
    precision = torch.bfloat16 if _cpu_has_fast_bf16() else torch.float32
    return Compute(torch.device("cpu"), precision, "explicit", _has_compiler())


def _cpu_has_fast_bf16() -> bool:
    """True if oneDNN supports bf16 and the CPU has AMX or AVX512-BF16, not switched off."""
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA", "ALL").upper()
    capability = os.environ.get("ATEN_CPU_CAPABILITY", "").lower()
    switched_off = capability in ("default", "avx2") or not (
        limit in ("ALL", "DEFAULT") or "BF16" in limit or "AMX" in limit
    )
    if switched_off or sys.platform == "darwin":
        return False
    has_tiles = _call_if_defined(torch.cpu, "_is_amx_tile_supported")
    has_avx = _call_if_defined(torch.cpu, "_is_avx512_bf16_supported")
    fast = has_tiles or has_avx
    return fast and _call_if_defined(torch.ops.mkldnn, "_is_mkldnn_bf16_supported")


def _call_if_defined(module: Any, function: str) -> bool:
    """The result of a private function of PyTorch; False if this version lacks it."""
    return bool(getattr(module, function, lambda: False)())


def _has_compiler() -> bool:
    return sys.platform == "linux" and any(shutil.which(name) for name in ("g++", "clang++"))


@functools.cache
def keep_freed_memory() -> None:
    """Makes glibc keep freed blocks below 32 MiB for reuse; has no effect on other C libraries.

    By default glibc returns large blocks to the system and gets them back page by page for every
    tensor, which slows down training on the CPU (`python -m benchmarks pretraining` measures it).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:  # the constants are those of glibc's malloc.h
        mallopt(-3, 32 * 2**20)  # M_MMAP_THRESHOLD at its maximum
        mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


def memory_in_gib() -> float:
    """The physical memory of this machine in GiB; nan if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError, AttributeError):
        return float("nan")


def describe(compute: Compute | None = None) -> str:
    """One line on hardware, threads and precision, for outputs and provenance; no host name.

    `compute` defaults to `choose()`.
    """
    compute = choose() if compute is None else compute
    precision = str(compute.precision).removeprefix("torch.")
    if compute.device.type == "cuda":
        return f"{torch.cuda.get_device_name(compute.device)}, {precision}"
    threads = torch.get_num_threads()
    cores = f"{threads} CPU threads" if threads > 1 else "1 CPU thread"
    if tlcourse.TOO_LATE and threads > 1 and sys.platform == "linux":
        cores += ", slow beside another training: restart and import tlcourse before torch"
    return f"{cores} ({platform.machine()}, {torch.backends.cpu.get_cpu_capability()}), {precision}"
