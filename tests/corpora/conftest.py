"""The stand-in Hub."""

import http.server
from collections.abc import Iterator

import pytest

from tests.corpora.stand_in import serving


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    with serving() as server:
        yield server
