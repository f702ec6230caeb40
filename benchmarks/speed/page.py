"""The page in browsers, beside onnxruntime-web: bytes, seconds to the first answer, ms a text.

All run causal-small in a headless browser, which can reach no host but this machine, on one thread.
The page is one file, opened from disk, and from a plain web server. Its times are those that a
visitor gets: every head recorded, the rooms' figures computed. onnxruntime-web runs the same
weights in float32 as an ONNX graph that gives the logits after the last token, in Chromium and from
a web server, since it cannot be opened from disk. It needs `pip install onnx onnxscript` and npm,
which gets it from the registry; the browsers need `pip install -e ".[browser]"`, and Chromium its
driver.

`first_view` and `first_answer` are seconds from the opening: to what was computed beforehand, and
to the first answer to a text of one's own. `ms_16` to `ms_64` are medians over rounds.
"""

import contextlib
import functools
import http.server
import os
import shutil
import statistics
import string
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks import runner
from tlcourse import checkpoints, page
from tlcourse.page.packing import PLAIN

MODEL, PEER = "causal-small", "onnxruntime-web@1.23.2"
LENGTHS, ROUNDS = (16, 32, 64), 15
SECONDS = 120  # to wait for an answer
COLUMNS = {
    "name": "what",
    "browser": "in",
    "megabytes": "MB",
    "first_view": "first view, s",
    "first_answer": "first answer, s",
    **{f"ms_{length}": f"ms at {length}" for length in LENGTHS},
}
PEERS_PAGE = """<!doctype html><meta charset="utf-8"><title>peer</title>
<script src="ort.wasm.min.js"></script><script>
ort.env.wasm.numThreads = 1;
window.answer = async (ids) => {
  window.session ??= await ort.InferenceSession.create("model.onnx");
  const numbers = BigInt64Array.from(ids.map(BigInt));
  const before = performance.now();
  const tokens = new ort.Tensor("int64", numbers, [1, ids.length]);
  const { logits } = await session.run({ tokens });
  return { took: performance.now() - before, best: logits.data.indexOf(Math.max(...logits.data)) };
};
</script>"""
TYPE = """
const [text, done] = [document.getElementById("text"), arguments[1]];
delete document.documentElement.dataset.read;
text.value = arguments[0];
text.dispatchEvent(new Event("input"));
const look = () => "read" in document.documentElement.dataset
  ? done(document.getElementById("status").textContent) : setTimeout(look, 5);
look();"""
PAINTED = "return performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
CHROMIUM = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
NOBODY = {"http": "127.0.0.1", "http_port": 9, "ssl": "127.0.0.1", "ssl_port": 9}  # a closed port


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Headless Chromium by its driver; raises an ImportError without selenium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in CHROMIUM:
        options.add_argument(flag)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    browser = webdriver.Chrome(options=options, service=service)
    browser.version = f"Chromium {browser.capabilities['browserVersion']}"
    try:
        yield browser
    finally:
        browser.quit()


@contextlib.contextmanager
def firefox() -> Iterator[Any]:
    """Headless Firefox by its own protocol, since Debian has no driver for it.

    Raises an ImportError without marionette_driver, a FileNotFoundError without Firefox.
    """
    from marionette_driver.marionette import Marionette

    binary = shutil.which("firefox-esr") or shutil.which("firefox")
    if binary is None:
        raise FileNotFoundError("expected firefox-esr or firefox on the PATH, found neither")
    proxy = {f"network.proxy.{name}": value for name, value in NOBODY.items()}
    prefs = proxy | {"network.proxy.type": 1, "network.proxy.no_proxies_on": "127.0.0.1"}
    with tempfile.TemporaryDirectory() as logs:
        options = {"headless": True, "prefs": prefs, "gecko_log": logs}
        driver = Marionette(bin=os.path.realpath(binary), port=0, **options)
        try:
            driver.start_session()
            yield _Firefox(driver)
        finally:
            driver.cleanup()


class _Firefox:
    """Firefox in the words of selenium."""

    def __init__(self, driver: Any):
        self.driver = driver
        self.version = f"Firefox {driver.session_capabilities['browserVersion']}"

    def get(self, address: str) -> None:
        self.driver.navigate(address)

    def execute_script(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, script_args=arguments, sandbox=None)

    def execute_async_script(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_async_script(script, script_args=arguments, sandbox=None)

    def set_script_timeout(self, seconds: float) -> None:
        self.driver.timeout.script = seconds


def measure() -> dict:
    """A row for each browser with the page from disk and from a server, one for onnxruntime-web."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = page.build(folder / "page.html", [MODEL])
        with served(folder) as address:
            places = {"from disk": built.as_uri(), "from a server": f"{address}/page.html"}
            rows = [
                row
                for opened in (chromium, firefox)
                for place, address_there in places.items()
                if (row := _page(f"the page, {place}", opened, address_there, built))
            ]
            if peer := _peer(folder / "peer", address):
                rows.append(peer)
    return {"job": "page", **runner.provenance(f"{MODEL}, {PEER}, one thread"), "rows": rows}


def _page(name: str, opened: Callable, address: str, built: Path) -> dict | None:
    """A row, or None and a printed line if that browser or its driver is missing."""
    try:
        with opened() as browser:
            return {
                "name": name,
                **_timed(browser, address),
                "megabytes": built.stat().st_size / 1e6,
            }
    except (ImportError, FileNotFoundError) as error:
        print(f"no row for {name} in {opened.__name__}: {error}")
        return None


def _timed(browser: Any, address: str) -> dict:
    browser.set_script_timeout(SECONDS)
    start = time.monotonic()
    browser.get(address)
    _typed(browser, "The ship sank.")
    row = {"browser": browser.version, "first_answer": time.monotonic() - start}
    row["first_view"] = browser.execute_script(PAINTED)
    for length in LENGTHS:
        texts = [f"{letter}{' a' * (length - 2)}" for letter in string.ascii_uppercase[:ROUNDS]]
        status = [_typed(browser, text).split(" tokens, read in ") for text in texts]
        assert {int(count) for count, _ in status} == {length}, status[0]
        row[f"ms_{length}"] = statistics.median(float(ms.split()[0]) for _, ms in status)
    return row


def _typed(browser: Any, text: str) -> str:
    return browser.execute_async_script(TYPE, text)


def _peer(folder: Path, address: str) -> dict | None:
    """onnxruntime-web's row, or None and a printed line if something that it needs is missing."""
    folder.mkdir()
    try:
        parts = [_runtime(folder), _exported(folder / "model.onnx")]
    except (ImportError, FileNotFoundError, subprocess.CalledProcessError) as error:
        print(f"no row for {PEER}: {error}")
        return None
    (folder / "index.html").write_text(PEERS_PAGE, encoding="utf-8")
    model, _ = checkpoints.load(MODEL, PLAIN)
    with chromium() as browser:

        def answer(length: int, seed: int) -> dict:
            ids = _tokens(length, seed, model.config.vocabulary_size)
            script = "answer(arguments[0]).then(arguments[1])"
            return browser.execute_async_script(script, ids) | {"ids": ids}

        browser.set_script_timeout(SECONDS)
        start = time.monotonic()
        browser.get(f"{address}/peer/index.html")
        answered = answer(LENGTHS[0], 0)
        first = time.monotonic() - start
        with torch.no_grad():
            best = int(model(torch.tensor([answered["ids"]]))[0, -1].argmax())
        got = answered["best"]
        assert got == best, f"expected token {best} from {PEER}, got {got}"
        row = {"name": PEER, "browser": browser.version, "first_answer": first}
        row["megabytes"] = sum(parts) / 1e6
        for length in LENGTHS:
            rounds = [answer(length, seed)["took"] for seed in range(ROUNDS)]
            row[f"ms_{length}"] = statistics.median(rounds)
    return row


def _tokens(length: int, seed: int, most: int) -> list[int]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(100, most, (length,), generator=generator).tolist()


def _runtime(folder: Path) -> int:
    """Puts the runtime's script and WebAssembly into the folder; returns their bytes."""
    subprocess.run(["npm", "pack", "--silent", PEER], cwd=folder, check=True, capture_output=True)
    (packed,) = folder.glob("*.tgz")
    with tarfile.open(packed) as archive:
        archive.extractall(folder / "all", filter="data")
    packed.unlink()
    names = ("ort.wasm.min.js", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
    for name in names:
        shutil.move(folder / "all" / "package" / "dist" / name, folder / name)
    shutil.rmtree(folder / "all")
    return sum((folder / name).stat().st_size for name in names)


def _exported(path: Path) -> int:
    """Writes the model as an ONNX graph, tokens → the logits after the last; returns its bytes."""
    model, _ = checkpoints.load(MODEL, PLAIN)

    class Last(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.model.logits(self.model.hidden(tokens)[:, -1])

    lengths = ({1: torch.export.Dim("length", min=2, max=model.config.max_length)},)
    torch.onnx.export(
        Last().eval(),
        (torch.arange(8)[None],),
        path,
        input_names=["tokens"],
        output_names=["logits"],
        dynamic_shapes=lengths,
        external_data=False,
        verbose=False,
    )
    return path.stat().st_size


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Yields the address of a plain web server on a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
