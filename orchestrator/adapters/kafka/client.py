"""librdkafka settings shared by every client of ours, and its errors in our words."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from confluent_kafka import KafkaError, KafkaException

from orchestrator.adapters.secrets import resolve_secrets
from orchestrator.errors import ClusterError

# librdkafka writes each refused connection to stderr unless its logs are routed elsewhere.
logger = logging.getLogger("orchestrator.librdkafka")
logger.addHandler(logging.NullHandler())
logger.propagate = False
P = ParamSpec("P")
T = TypeVar("T")


def client_properties(name: str, bootstrap: Sequence[str], client: Mapping[str, str]) -> dict[str, Any]:
    """librdkafka properties for cluster `name`, with secrets resolved.

    Raises `ClusterError` where the topology has no bootstrap address for the cluster.
    """
    if not bootstrap:
        raise ClusterError(
            f"cluster {name}",
            "the topology file has no bootstrap addresses for it",
            f"add clusters.{name}.bootstrap, or use the file that `dcctl sim up FILE` printed",
        )
    return {
        "bootstrap.servers": ",".join(bootstrap),
        "log.connection.close": "false",
        "socket.timeout.ms": "10000",
        "reconnect.backoff.ms": "50",
        "reconnect.backoff.max.ms": "500",
        **resolve_secrets(client, f"clusters.{name}.client"),
    }


class Refusals:
    """Why a client gets no answer, as far as librdkafka tells it: whoever is refused only sees a time-out.

    To be given as `error_cb`. A call that succeeds makes what was told before it history.
    """

    def __init__(self) -> None:
        self._last: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        """What librdkafka calls, from within `poll`."""
        if error.name() in _REFUSALS:
            self._last = error

    def forget(self) -> None:
        """A call has succeeded."""
        self._last = None

    def behind(self, error: object, client: Any) -> object:
        """The refusal behind a time-out of `client`; the error itself where there is none."""
        if isinstance(error, KafkaError) and error.name() in _NO_ANSWER:
            client.poll(0)
            return self._last or error
        return error


@contextmanager
def translated_errors(subject: str, doing: str) -> Iterator[None]:
    """Turn confluent-kafka's exceptions into `ClusterError` about `subject` while `doing`."""
    try:
        yield
    except KafkaException as error:
        raise cluster_error(subject, doing, error.args[0]) from None


def asked_anew(call: Callable[P, T]) -> Callable[P, T]:
    """Ask again until `timeout_s`, which is an argument of `call`, where who was asked has left the cluster.

    See `BROKER_GONE`. Or where whoever was asked stands still: librdkafka gives up waiting for one broker
    before the time is over. For calls that say or do the same when they are made twice.
    """
    signature = inspect.signature(call)

    @wraps(call)
    def asked(*args: P.args, **kwargs: P.kwargs) -> T:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        deadline = time.monotonic() + given.arguments["timeout_s"]
        while True:
            try:
                return call(*given.args, **given.kwargs)
            except ClusterError as error:
                left_s = deadline - time.monotonic()
                if error.code not in _ASKED_ANEW or left_s <= _ANEW_AFTER_S:
                    raise
            given.arguments["timeout_s"] = left_s
            time.sleep(_ANEW_AFTER_S)

    return asked


def cluster_error(subject: str, doing: str, error: object) -> ClusterError:
    """One `ClusterError` for librdkafka's error, with the hint that fits its code."""
    if isinstance(error, KafkaError):
        text = f"{doing}: {error.str() or error.name()} ({error.name()})"
        return ClusterError(subject, text, _HINTS.get(error.name(), ""), error.name())
    return ClusterError(subject, f"{doing}: {error}")


# A listener that speaks TLS closes the connection of a client that does not, without a word.
NO_BROKER = (
    "is the cluster up, are the bootstrap addresses right, and does security.protocol fit its listeners?"
)
WRONG_USER = "check the user and the secret under clusters.<name>.client"
_HAS_MEMBERS = "the group has running members: stop them first"
BROKER_GONE = "_DESTROY_BROKER"
"""What librdkafka says of a request to a broker that newer metadata does not name: it may have been done.

It gives such brokers up since 2.10, with what it had asked of them. They were fenced or taken away, or were
asked so soon after their start that not every other broker knew them.
"""
LATE = ("_TIMED_OUT", "_TRANSPORT", BROKER_GONE)
"""Codes of what was not answered, and may have been done."""
_ASKED_ANEW = ("_TIMED_OUT", BROKER_GONE)
TOO_FEW_BROKERS = "INVALID_REPLICATION_FACTOR"
"""What a topic is refused with that has more replicas than the controller knows brokers."""
_NO_ANSWER = ("_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN")
_ANEW_AFTER_S = 0.05
_REFUSALS = ("_AUTHENTICATION", "_SSL")
_HINTS = {
    "_SSL": "is ssl.ca.location under clusters.<name>.client the authority of its brokers?",
    "_TRANSPORT": NO_BROKER,
    "_ALL_BROKERS_DOWN": NO_BROKER,
    "_TIMED_OUT": NO_BROKER,
    BROKER_GONE: "the broker that was asked has left the cluster: run the same command again",
    "_AUTHENTICATION": WRONG_USER,
    "SASL_AUTHENTICATION_FAILED": WRONG_USER,
    TOO_FEW_BROKERS: "the cluster needs as many brokers as a topic has replicas: are all of them up?",
    "UNKNOWN_TOPIC_OR_PART": "is the topic there? Create it, or take it out of the file",
    "TOPIC_AUTHORIZATION_FAILED": "the principal lacks an ACL on the topic",
    "GROUP_AUTHORIZATION_FAILED": "the principal lacks an ACL on the group",
    "CLUSTER_AUTHORIZATION_FAILED": "the principal lacks an ACL on the cluster",
    "UNKNOWN_MEMBER_ID": _HAS_MEMBERS,
    "NON_EMPTY_GROUP": _HAS_MEMBERS,
}
