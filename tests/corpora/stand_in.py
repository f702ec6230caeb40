"""A stand-in Hub on loopback, and a child process that loads from it."""

import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import datasets

from tlcourse.corpora.corpus import Place

LOAD = """
import json, sys
from tlcourse import corpora
try:
    data = corpora.load(sys.argv[1])
except corpora.DataError as error:
    sys.exit(f"DataError: {error}")
rows = {split: len(data[split]) for split in data}
first = next(iter(data.values()))[0]
print(json.dumps([corpora.source_of(data), rows, first]))
"""


# Loads the data sets of several cases, each with a cache of its own and what the server has in it.
EACH_CASE = """
import contextlib, io, json, sys, urllib.request
from huggingface_hub import constants
from tlcourse import corpora
from tlcourse.corpora import hub
server, cache, told = constants.ENDPOINT, constants.HF_HUB_CACHE, {}
for case, (names, constants.ENDPOINT, hub.PATIENCE) in json.loads(sys.argv[1]).items():
    constants.HF_HUB_CACHE = f"{cache}/{case}"
    urllib.request.urlopen(f"{server}/case/{case}").close()
    said, found = io.StringIO(), {}
    for name in names:
        with contextlib.redirect_stdout(said):
            try:
                data = corpora.load(name)
            except corpora.DataError as error:
                found[name] = str(error)
                continue
        rows = {split: len(data[split]) for split in data}
        found[name] = [corpora.source_of(data), rows, next(iter(data.values()))[0]]
    told[case] = {"found": found, "said": said.getvalue()}
print(json.dumps(told))
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as the Hub does for a file: `server.files` maps path to content.

    Asked for /case/NAME, it has the files of `server.cases[NAME]` from then on.
    """

    def do_GET(self) -> None:
        if self.path.startswith("/case/"):
            self.server.files = self.server.cases[self.path.removeprefix("/case/")]
            self.send_response(200)
            self.end_headers()
            return
        content = self.server.files.get(self.path)
        self.send_response(404 if content is None else 200)
        if content is None:
            repositories = {path.partition("/resolve/")[0] for path in self.server.files}
            known = any(repository in self.path for repository in repositories)
            self.send_header("X-Error-Code", "EntryNotFound" if known else "RepoNotFound")
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("ETag", f'"{hashlib.sha256(content or b"").hexdigest()}"')
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        if self.command == "GET" and content:
            self.wfile.write(content)

    do_HEAD = do_GET

    def log_message(self, *_) -> None:
        pass


@contextmanager
def serving() -> Iterator[http.server.ThreadingHTTPServer]:
    """A Hub that has nothing yet."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.files, server.cases = {}, {}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def put(server, place: Place, split: str, content: bytes) -> None:
    revision = place.revision.replace("/", "%2F")
    path = f"/datasets/{place.repository}/resolve/{revision}/{place.files[split][0]}"
    server.files[path] = content


def parquet(dataset: datasets.Dataset, folder: Path) -> bytes:
    path = folder / "made.parquet"
    dataset.to_parquet(path)
    return path.read_bytes()


def load(
    name: str, endpoint: str, home: Path, *, script: str = LOAD, **environment: str
) -> subprocess.CompletedProcess:
    """What a fresh process says on loading a data set; it reads HF_* when it starts."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    settings = {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    return subprocess.run(
        [sys.executable, "-c", script, name],
        env=kept | settings | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def endpoint_of(server) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def loaded(result: subprocess.CompletedProcess) -> list:
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])
