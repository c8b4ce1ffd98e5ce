"""librdkafka settings shared by every client of ours, and its errors in our words."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from orchestrator.adapters.secrets import resolve_secrets
from orchestrator.errors import ClusterError

# librdkafka writes each refused connection to stderr unless its logs are routed elsewhere.
logger = logging.getLogger("orchestrator.librdkafka")
logger.addHandler(logging.NullHandler())
logger.propagate = False


def client_properties(name: str, bootstrap: Sequence[str], client: Mapping[str, str]) -> dict[str, Any]:
    """librdkafka properties for cluster `name`, with secrets resolved.

    Raises `ClusterError` where the topology has no bootstrap address for the cluster.
    """
    if not bootstrap:
        raise ClusterError(
            f"cluster {name}",
            "the topology file has no bootstrap addresses for it",
            f"add clusters.{name}.bootstrap, or use the file that `dcctl sim up` printed",
        )
    return {
        "bootstrap.servers": ",".join(bootstrap),
        "log.connection.close": "false",
        "socket.timeout.ms": "10000",
        "reconnect.backoff.ms": "50",
        "reconnect.backoff.max.ms": "500",
        **resolve_secrets(client, f"clusters.{name}.client"),
    }


@contextmanager
def translated_errors(subject: str, doing: str) -> Iterator[None]:
    """Turn confluent-kafka's exceptions into `ClusterError` about `subject` while `doing`."""
    try:
        yield
    except KafkaException as error:
        raise cluster_error(subject, doing, error.args[0]) from None


def cluster_error(subject: str, doing: str, error: object) -> ClusterError:
    """One `ClusterError` for librdkafka's error, with the hint that fits its code."""
    if isinstance(error, KafkaError):
        text = f"{doing}: {error.str() or error.name()} ({error.name()})"
        return ClusterError(subject, text, _HINTS.get(error.name(), ""), error.name())
    return ClusterError(subject, f"{doing}: {error}")


_HINTS = {
    "_TRANSPORT": "no broker answers: is the cluster up, and are the bootstrap addresses right?",
    "_ALL_BROKERS_DOWN": "no broker answers: is the cluster up, and are the bootstrap addresses right?",
    "_TIMED_OUT": "no answer in time: is the cluster up, and are the bootstrap addresses right?",
    "_AUTHENTICATION": "check the user and the secret under clusters.<name>.client",
    "SASL_AUTHENTICATION_FAILED": "check the user and the secret under clusters.<name>.client",
    "TOPIC_AUTHORIZATION_FAILED": "the principal lacks an ACL on the topic",
    "GROUP_AUTHORIZATION_FAILED": "the principal lacks an ACL on the group",
    "CLUSTER_AUTHORIZATION_FAILED": "the principal lacks an ACL on the cluster",
    "UNKNOWN_MEMBER_ID": "the group has running members: stop them first",
    "NON_EMPTY_GROUP": "the group has running members: stop them first",
}
