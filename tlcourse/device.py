"""The one place that decides device, precision, attention kernel and compilation."""

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
    """What to compute with. `precision` is the autocast type; parameters stay float32."""

    device: torch.device
    precision: torch.dtype
    attention: str  # "sdpa" or "explicit"
    compiles: bool  # whether torch.compile can work here (long runs use it)

    def autocast(self) -> contextlib.AbstractContextManager:
        """The context to run forward passes in."""
        if self.precision == torch.float32:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self.precision)


def choose() -> Compute:
    """The best there is: CUDA, else the CPU. `TLCOURSE_DEVICE=cpu|cuda` overrides.

    Apple's GPU is left alone (CPU, float32). Raises ValueError for a device that is not there.
    """
    wanted = os.environ.get("TLCOURSE_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    if wanted not in ("cpu", "cuda"):
        raise ValueError(
            f"expected TLCOURSE_DEVICE to be cpu or cuda, got {wanted!r}; set it so, or "
            "unset TLCOURSE_DEVICE"
        )
    if wanted == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(
                "TLCOURSE_DEVICE is cuda, but PyTorch sees no CUDA GPU; unset TLCOURSE_DEVICE"
            )
        bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
        precision = torch.bfloat16 if bf16 else torch.float16
        return Compute(torch.device("cuda"), precision, "sdpa", sys.platform == "linux")
    # On the CPU the backward of fused attention is slower than explicit softmax at short lengths.
    precision = torch.bfloat16 if _cpu_has_fast_bf16() else torch.float32
    return Compute(torch.device("cpu"), precision, "explicit", _has_compiler())


def _cpu_has_fast_bf16() -> bool:
    """oneDNN says yes, the CPU has AMX tiles or AVX512-BF16, and nobody switched them off."""
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA", "ALL").upper()
    capability = os.environ.get("ATEN_CPU_CAPABILITY", "").lower()
    switched_off = capability in ("default", "avx2") or not (
        limit in ("ALL", "DEFAULT") or "BF16" in limit or "AMX" in limit
    )
    if switched_off or sys.platform == "darwin":
        return False
    has_tiles = _says_yes(torch.cpu, "_is_amx_tile_supported")
    has_avx = _says_yes(torch.cpu, "_is_avx512_bf16_supported")
    return (has_tiles or has_avx) and _says_yes(torch.ops.mkldnn, "_is_mkldnn_bf16_supported")


def _says_yes(where: Any, question: str) -> bool:
    """What a private function of PyTorch answers; False where this version lacks it."""
    return bool(getattr(where, question, lambda: False)())


def _has_compiler() -> bool:
    return sys.platform == "linux" and any(shutil.which(name) for name in ("g++", "clang++"))


@functools.cache
def keep_freed_memory() -> None:
    """Has glibc keep freed blocks of less than 32 MiB for the next step; no other C library.

    Left alone it hands the large ones back and gets them again, page by page, with every tensor,
    which a training step on the CPU feels (`python -m benchmarks pretraining` has a row for it).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:  # the numbers are those of glibc's malloc.h
        mallopt(-3, 32 * 2**20)  # M_MMAP_THRESHOLD, as high as it goes
        mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


def memory_in_gib() -> float:
    """Physical memory of this machine in GiB; nan where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError, AttributeError):
        return float("nan")


def describe(compute: Compute | None = None) -> str:
    """One line for outputs and provenance: hardware, threads, precision; no host name.

    `compute` is that of `choose()` unless another is given.
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
