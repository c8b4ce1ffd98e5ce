"""What workers answer while they rebalance, through a socket of this machine."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from orchestrator.adapters.connect import ConnectCluster
from orchestrator.errors import ConnectError
from orchestrator.ports.connector import ConnectorStatus
from orchestrator.values import TopicPartition

Answer = tuple[int, object]
"""Status and body: a text as it is, all else as JSON."""


@contextmanager
def worker(answers: list[Answer]) -> Iterator[str]:
    """A worker that gives these answers in turn, and the last one for ever."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers.pop(0) if len(answers) > 1 else answers[0]
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_PUT = do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - http.server's own names

        def log_message(self, *_: object) -> None:
            """Nothing on stderr."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
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


NOT_A_MEMBER = {
    "error_code": 500,
    "message": "Request timed out. The worker is currently ensuring membership",
}
STATUS = {"a": {"status": {"connector": {"state": "RUNNING"}, "tasks": []}}}
RUNNING = {"a": ConnectorStatus("RUNNING")}


@pytest.mark.parametrize(
    "wrong",
    [
        (500, NOT_A_MEMBER),
        (503, "no healthy upstream"),
        (502, "<html>bad gateway</html>"),
        (404, "not found"),
        (404, {"error_code": 404, "message": "HTTP 404 Not Found"}),
        (200, "<html>login</html>"),
        (403, "<html>who are you</html>"),
    ],
)
def test_a_wrong_answer_does_not_hide_the_other_workers(wrong: Answer) -> None:
    """A worker outside its group, a proxy, or something else at the address."""
    with worker([wrong]) as first, worker([(200, STATUS)]) as second:
        assert ConnectCluster("east", [first, second]).connectors() == RUNNING


def test_the_worker_that_answered_last_is_asked_first() -> None:
    """Else each call would wait for the one that is cut off."""
    answers: list[Answer] = [(503, "starting"), (200, {"b": STATUS["a"]})]
    with worker(answers) as first, worker([(200, STATUS)]) as second:
        connect = ConnectCluster("east", [first, second])
        assert list(connect.connectors()) == ["a"]
        assert list(connect.connectors()) == ["a"]
        assert list(connect.within(5).connectors()) == ["a"]
        assert len(answers) == 1


def test_without_any_right_answer_each_address_is_named() -> None:
    """What a worker said stands beside the one that is away; it may pass."""
    with worker([(500, NOT_A_MEMBER)]) as url, pytest.raises(ConnectError) as found:
        ConnectCluster("east", ["http://127.0.0.1:1", url]).connectors()
    assert "http://127.0.0.1:1" in found.value.problem
    assert "ensuring membership" in found.value.problem
    assert found.value.is_passing


@pytest.mark.parametrize("body", ["<html>login</html>", "[1, 2]", '"yes"', '{"a": 5}'])
def test_an_answer_that_is_not_connects_is_an_error_in_words(body: str) -> None:
    """Never an exception of the reader's."""
    with worker([(200, body)]) as url:
        connect = ConnectCluster("east", [url])
        with pytest.raises(ConnectError, match="Connect"):
            connect.connectors()
        with pytest.raises(ConnectError, match="Connect"):
            connect.described()


def test_a_refusal_of_connects_own_is_not_asked_of_the_others() -> None:
    """That a connector is not there, every worker knows alike."""
    answers: list[Answer] = [(200, {"x": "1"}), (200, {"x": "2"})]
    missing: Answer = (404, {"error_code": 404, "message": "Connector a not found"})
    with worker([missing]) as first, worker(answers) as second, pytest.raises(ConnectError, match="404"):
        ConnectCluster("east", [first, second]).configuration("a")
    assert len(answers) == 2


def test_a_creation_that_may_have_been_done_is_looked_for_before_it_is_sent_again() -> None:
    """The second worker is asked what there is, and for nothing more."""
    looks: list[Answer] = [(200, ["a"]), (200, {"name": "a", "x": "1"}), (409, {"message": "a exists"})]
    with worker([(500, NOT_A_MEMBER)]) as first, worker(looks) as second:
        ConnectCluster("east", [first, second]).create_stopped("a", {"x": "1"})
    assert looks == [(409, {"message": "a exists"})]


def test_a_creation_that_was_not_done_is_sent_to_the_next_worker() -> None:
    """After the look."""
    answers: list[Answer] = [(200, []), (201, {}), (500, "none is asked for more")]
    with worker([(500, NOT_A_MEMBER)]) as first, worker(answers) as second:
        ConnectCluster("east", [first, second]).create_stopped("a", {"x": "1"})
    assert len(answers) == 1


def test_another_connector_of_that_name_is_a_conflict() -> None:
    """It was there before, and is not what was asked for."""
    answers: list[Answer] = [
        (200, ["a"]),
        (200, {"x": "2"}),
        (409, {"message": "Connector a already exists"}),
    ]
    with (
        worker([(500, NOT_A_MEMBER)]) as first,
        worker(answers) as second,
        pytest.raises(ConnectError, match="already exists"),
    ):
        ConnectCluster("east", [first, second]).create_stopped("a", {"x": "1"})


def test_a_worker_that_took_a_creation_and_said_nothing_may_have_done_it() -> None:
    """So it is looked for."""
    looks: list[Answer] = [(200, ["a"]), (200, {"x": "1"}), (409, {"message": "a exists"})]
    with socket.create_server(("127.0.0.1", 0)) as silent, worker(looks) as second:
        first = f"http://127.0.0.1:{silent.getsockname()[1]}"
        ConnectCluster("east", [first, second], timeout_s=0.5).create_stopped("a", {"x": "1"})
    assert len(looks) == 1


def test_offsets_that_were_set_are_not_set_again() -> None:
    """Connect may have taken them and not have said so."""
    place = {"partition": {"cluster": "west", "topic": "orders", "partition": 0}, "offset": {"offset": 7}}
    answers: list[Answer] = [(200, {"offsets": [place]}), (400, {"message": "must be stopped"})]
    with worker([(504, "gateway timeout")]) as first, worker(answers) as second:
        connect = ConnectCluster("east", [first, second])
        connect.set_source_offsets("a", "west", {TopicPartition("orders", 0): 7})
    assert len(answers) == 1


def test_a_worker_that_was_never_reached_has_done_nothing() -> None:
    """No look is needed."""
    answers: list[Answer] = [(201, {}), (500, "none is asked for more")]
    with worker(answers) as second:
        ConnectCluster("east", ["http://127.0.0.1:1", second]).create_stopped("a", {"x": "1"})
    assert len(answers) == 1
