"""The kernel of a notebook that runs without a browser; it never outlives the command.

async def work():
    async with running(folder, variables) as (manager, client):
        ...

in_a_thread(work())    # a signal ends the kernel at once, quietly, and is then raised
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from jupyter_client import AsyncKernelClient, AsyncKernelManager

from tlcourse import signals

OPTIONS = ["--log-level=ERROR", "--HistoryManager.hist_file=:memory:"]
START = 60.0  # seconds that a kernel has to answer


@asynccontextmanager
async def running(
    folder: Path, variables: Mapping[str, str]
) -> AsyncIterator[tuple[AsyncKernelManager, AsyncKernelClient]]:
    """A kernel in `folder` with these environment variables, and who speaks with it.

    It ends in its own time, so that what it has registered for its exit is done; where the block,
    or this end, is cancelled, it is killed.
    """
    manager = AsyncKernelManager(kernel_name="python3")
    client = None
    try:
        where = {"env": dict(variables), "cwd": str(folder)}
        await manager.start_kernel(extra_arguments=OPTIONS, **where)
        client = manager.client()
        client.start_channels()
        await client.wait_for_ready(timeout=START)
        client.allow_stdin = False
        yield manager, client
    finally:
        if client is not None:
            client.stop_channels()
        try:
            if not asyncio.current_task().cancelling():
                await manager.shutdown_kernel()
        finally:
            if manager.has_kernel:
                # jupyter_client would interrupt it first, which one that is just starting reports.
                await manager.provisioner.kill()
                await manager.shutdown_kernel(now=True)


def in_a_thread(work: Coroutine[Any, Any, None]) -> None:
    """Does asynchronous work in a thread; what is raised here meanwhile cancels it, and goes up.

    Python handles signals in the main thread, so that none hits a library in the middle.
    """
    begun: Future = Future()
    done: Future | None = None

    async def whole() -> None:
        begun.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        await work

    with ThreadPoolExecutor(1) as pool:
        try:
            with signals.Held():
                done = pool.submit(asyncio.run, whole())
            while wait([done], 0.2).not_done:  # without an end, Windows hears no Ctrl-C
                signals.check()
        except BaseException:
            if done is not None:
                loop, task = begun.result()
                with suppress(RuntimeError):  # it has just ended by itself
                    loop.call_soon_threadsafe(task.cancel)
            raise
    done.result()
