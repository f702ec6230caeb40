"""The stand-in Hub."""

import http.server
import threading
from collections.abc import Iterator

import pytest

from tests.corpora.stand_in import Handler


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.files = {}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
