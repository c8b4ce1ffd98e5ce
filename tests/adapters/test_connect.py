"""What workers answer while they rebalance, through a socket of this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from orchestrator.adapters.connect import ConnectCluster
from orchestrator.errors import ConnectError

Answer = tuple[int, object]


@contextmanager
def worker(answers: list[Answer]) -> Iterator[str]:
    """A worker that gives these answers in turn, and the last one for ever."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers.pop(0) if len(answers) > 1 else answers[0]
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_PUT = do_GET  # noqa: N815 - http.server's own name

        def log_message(self, *_: object) -> None:
            """Nothing on stderr."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


REBALANCE = {"message": "Request cannot be completed because a rebalance is expected"}


def test_a_worker_that_rebalances_is_asked_again() -> None:
    """It answers 409 or 500 then, and has changed nothing."""
    with worker([(500, REBALANCE), (409, REBALANCE), (200, {"tasks.max": "2"})]) as url:
        assert ConnectCluster("east", [url]).configuration("a") == {"tasks.max": "2"}


def test_it_is_not_asked_for_ever() -> None:
    """After the time that a call may take, it is said what stays, and where to look."""
    with worker([(500, REBALANCE)]) as url, pytest.raises(ConnectError) as found:
        ConnectCluster("east", [url], timeout_s=0.5).configuration("a")
    assert "still rebalances after 0.5 s" in found.value.problem
    assert "Their logs tell" in found.value.hint


def test_a_change_is_asked_for_once_and_its_caller_decides_about_the_next_time() -> None:
    """The caller looks between two tries whether its run was interrupted."""
    answers: list[Answer] = [(500, REBALANCE), (204, None)]
    with worker(answers) as url, pytest.raises(ConnectError, match="rebalance") as found:
        ConnectCluster("east", [url]).stop("a")
    assert found.value.is_passing
    assert answers == [(204, None)]


def test_another_refusal_is_told_at_once() -> None:
    """Only a rebalance passes by itself."""
    with (
        worker([(404, {"message": "Connector a not found"})]) as url,
        pytest.raises(ConnectError, match="404"),
    ):
        ConnectCluster("east", [url]).configuration("a")
