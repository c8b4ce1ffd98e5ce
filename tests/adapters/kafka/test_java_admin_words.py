"""What Kafka's Java client says, in our words; no JVM runs."""

from __future__ import annotations

import pytest

from orchestrator.adapters.kafka.java_admin import JavaAdmin
from orchestrator.adapters.kafka.java_admin_connection import partition_of
from orchestrator.adapters.kafka.java_admin_jvm import error_name, java_cluster_error, without_wrapping
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.values import TopicPartition

_UNKNOWN = (
    "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
    "This server does not host this topic-partition."
)


def test_name_and_words_of_an_error() -> None:
    """The package goes, and so does the full stop; the hint fits the name."""
    error = java_cluster_error("cluster west", "deleting topics", _UNKNOWN)
    assert str(error) == (
        "cluster west: deleting topics: This server does not host this topic-partition "
        "(UnknownTopicOrPartition)"
    )
    assert error.code == "UnknownTopicOrPartition"
    refused = java_cluster_error("cluster west", "listing", "a.b.SaslAuthenticationException: no")
    assert "check the user and the secret" in refused.hint
    assert java_cluster_error("c", "d", "a.b.PolicyViolationException").problem == "d: PolicyViolation"


@pytest.mark.parametrize(
    ("text", "name"), [(_UNKNOWN, "UnknownTopicOrPartition"), ("Timeout: x", "Timeout"), ("a.B", "B")]
)
def test_short_names(text: str, name: str) -> None:
    """With a package or without, with words or without."""
    assert error_name(text) == name


def test_what_futures_wrap_around() -> None:
    """However often."""
    wrapped = "java.util.concurrent.CompletionException: java.util.concurrent.ExecutionException: "
    assert without_wrapping(wrapped + _UNKNOWN) == _UNKNOWN


def test_topics_have_hyphens_of_their_own() -> None:
    """The last one counts."""
    assert partition_of("a-1-b-12") == TopicPartition("a-1-b", 12)


def test_clients_without_addresses_or_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Said before any Java is looked for."""
    with pytest.raises(ClusterError, match="no bootstrap addresses"):
        JavaAdmin("west", [], {})
    monkeypatch.delenv("NOT_THERE", raising=False)
    with pytest.raises(DcctlError, match="NOT_THERE is not set"):
        JavaAdmin("west", ["h:1"], {"sasl.password": "${env:NOT_THERE}"})
