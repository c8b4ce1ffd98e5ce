"""What a user says of where to look."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import DcctlError, UsageError
from orchestrator.imports.live.request import places_to_look, read_client_file


def test_one_cluster_needs_no_name() -> None:
    """Its addresses come one by one or together."""
    (place,) = places_to_look(["a:1,b:2", "c:3"], connect=["http://w:8083/"], zookeeper=["z:2181"])
    assert (place.name, place.bootstrap) == ("main", ("a:1", "b:2", "c:3"))
    assert (place.connect, place.zookeeper) == (("http://w:8083",), "z:2181")


def test_several_clusters_have_names() -> None:
    """Each further option says of which; a value with `=` is not mistaken for a name."""
    places = places_to_look(
        ["west=a:1", "east=b:1", "west=a:2"], connect=["east=http://w:8083?x=1", "east=http://v:8083"]
    )
    assert [(p.name, p.bootstrap, p.connect) for p in places] == [
        ("west", ("a:1", "a:2"), ()),
        ("east", ("b:1",), ("http://w:8083?x=1", "http://v:8083")),
    ]


@pytest.mark.parametrize(
    ("bootstrap", "connect", "words"),
    [
        (["west=a:1", "east=b:1"], ["http://w:8083"], "does not say of which cluster: west, east"),
        (["west=a:1", "east=b:1"], ["weste=http://w"], "does not say of which cluster"),
        (["a"], [], "is no address of cluster main"),
        (["west=a:x"], [], "is no address of cluster west"),
        ([], [], "no addresses are given"),
    ],
)
def test_what_makes_no_sense_is_said(bootstrap: list[str], connect: list[str], words: str) -> None:
    """Before anything is asked."""
    with pytest.raises(UsageError, match=words):
        places_to_look(bootstrap, connect=connect)


def test_secrets_are_used_and_not_written(tmp_path: Path) -> None:
    """A literal one becomes a reference to a variable; a reference stays what it is."""
    file = tmp_path / "west.properties"
    file.write_text(
        "# who we are\n"
        "bootstrap.servers=elsewhere:9092\n"
        "security.protocol = SASL_SSL\n"
        "sasl.password=hu=sh\n"
        "ssl.key.password=${file:/run/key}\n"
        "ssl.ca.location=/etc/ca.pem\n",
        encoding="utf-8",
    )
    (place,) = places_to_look(["w-1=a:1"], client=[f"w-1={file}"], connect=["w-1=https://me:pw@c:8083"])
    assert place.client["sasl.password"] == "hu=sh"
    assert place.written_client == {
        "security.protocol": "SASL_SSL",
        "sasl.password": "${env:DCCTL_W_1_SASL_PASSWORD}",
        "ssl.key.password": "${file:/run/key}",
        "ssl.ca.location": "/etc/ca.pem",
    }
    assert place.connect == ("https://c:8083",)
    assert place.connect_client is not None
    assert (place.connect_client.username, place.connect_client.password) == ("me", "pw")
    assert place.written_connect_client is not None
    assert place.written_connect_client.password == "${env:DCCTL_W_1_CONNECT_PASSWORD}"
    assert place.variables == ("DCCTL_W_1_SASL_PASSWORD", "DCCTL_W_1_CONNECT_PASSWORD")


def test_client_file_that_is_none(tmp_path: Path) -> None:
    """Not there, or no properties: with the line."""
    with pytest.raises(DcctlError, match="No such file"):
        read_client_file(tmp_path / "nothing")
    (tmp_path / "f").write_text("a=1\nnonsense\n", encoding="utf-8")
    with pytest.raises(DcctlError, match=r"f:2: is no property"):
        read_client_file(tmp_path / "f")


def test_a_password_by_reference_stays_one() -> None:
    """It is then in no command line; and the authority behind https goes into the file."""
    (place,) = places_to_look(
        ["a:1"], connect=["https://me:${env:CONNECT}@c:8083"], connect_ca=["/etc/authority.pem"]
    )
    assert place.connect == ("https://c:8083",)
    assert place.connect_client is not None
    assert place.connect_client == place.written_connect_client
    assert (place.connect_client.password, place.variables) == ("${env:CONNECT}", ())
    assert place.connect_client.ca_location == "/etc/authority.pem"


def test_an_authority_needs_no_login() -> None:
    """A worker behind https that lets everybody in."""
    (place,) = places_to_look(["a:1"], connect=["https://c:8083"], connect_ca=["/etc/authority.pem"])
    assert place.connect_client is not None
    assert (place.connect_client.username, place.connect_client.ca_location) == (None, "/etc/authority.pem")
