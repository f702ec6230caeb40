"""A stand-in Hub on loopback, and a child process that loads from it."""

import hashlib
import http.server
import json
import os
import subprocess
import sys
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


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as the Hub does for a file: `server.files` maps path to content."""

    def do_GET(self) -> None:
        content = self.server.files.get(self.path)
        self.send_response(404 if content is None else 200)
        if content is None:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("ETag", f'"{hashlib.sha256(content or b"").hexdigest()}"')
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        if self.command == "GET" and content:
            self.wfile.write(content)

    do_HEAD = do_GET

    def log_message(self, *_) -> None:
        pass


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
