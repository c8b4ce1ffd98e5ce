"""librdkafka's properties become those of a Java client."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.adapters.java.client_properties import java_client_properties
from orchestrator.errors import ClusterError


def test_plain_password_becomes_a_jaas_line():
    """User and password go into one quoted line; librdkafka's own settings stay behind."""
    java = java_client_properties(
        {
            "bootstrap.servers": "a:1,b:2",
            "security.protocol": "sasl_plaintext",
            "sasl.mechanisms": "PLAIN",
            "sasl.username": "operator",
            "sasl.password": 'x"y\\z',
            "socket.timeout.ms": "10000",
            "log.connection.close": "false",
            "reconnect.backoff.ms": "50",
            "error_cb": print,
        }
    )
    assert java == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="operator" password="x\\"y\\\\z";',
        "reconnect.backoff.ms": "50",
    }


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_has_a_module_of_its_own(mechanism):
    """SCRAM and PLAIN differ in the login module, not in the words."""
    java = java_client_properties(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.username": "u",
            "sasl.password": "p",
        }
    )
    assert java["sasl.mechanism"] == mechanism
    assert java["sasl.jaas.config"].startswith("org.apache.kafka.common.security.scram.ScramLoginModule ")


def test_authority_in_a_file_becomes_a_pem_trust_store():
    """ssl.ca.location is named, not read; an endpoint check that is off is an empty word in Java."""
    java = java_client_properties(
        {
            "security.protocol": "SSL",
            "ssl.ca.location": "/etc/ca.pem",
            "ssl.endpoint.identification.algorithm": "none",
        }
    )
    assert java == {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/etc/ca.pem",
        "ssl.endpoint.identification.algorithm": "",
    }


def test_certificate_and_key_in_two_files_are_read(tmp_path: Path):
    """Java takes them in one store, or as text."""
    (tmp_path / "cert").write_text("CERT", encoding="ascii")
    (tmp_path / "key").write_text("KEY", encoding="ascii")
    java = java_client_properties(
        {
            "security.protocol": "SSL",
            "ssl.certificate.location": str(tmp_path / "cert"),
            "ssl.key.location": str(tmp_path / "key"),
            "ssl.key.password": "${env:KEY}",
        }
    )
    assert (java["ssl.keystore.certificate.chain"], java["ssl.keystore.key"]) == ("CERT", "KEY")
    assert (java["ssl.keystore.type"], java["ssl.key.password"]) == ("PEM", "${env:KEY}")


def test_missing_key_file_is_named(tmp_path: Path):
    """The error names the file and the client."""
    with pytest.raises(ClusterError, match=r"clusters\.west\.client: cannot read .*nothing: No such file"):
        java_client_properties(
            {
                "security.protocol": "SSL",
                "ssl.certificate.location": str(tmp_path / "nothing"),
                "ssl.key.location": str(tmp_path / "nothing"),
            },
            "clusters.west.client",
        )


def test_key_store_of_librdkafka_is_pkcs12():
    """ssl.keystore.location means PKCS#12 there; Java is told so."""
    java = java_client_properties(
        {
            "security.protocol": "SSL",
            "ssl.keystore.location": "/etc/store.p12",
            "ssl.keystore.password": "p",
        }
    )
    assert java["ssl.keystore.type"] == "PKCS12"


def test_kerberos_and_tokens():
    """A key tab, and a token endpoint, in Java's words."""
    kerberos = java_client_properties(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.kerberos.keytab": "/etc/k.keytab",
            "sasl.kerberos.principal": "dcctl@X",
        }
    )
    assert kerberos["sasl.kerberos.service.name"] == "kafka"
    assert 'keyTab="/etc/k.keytab" principal="dcctl@X"' in kerberos["sasl.jaas.config"]
    tokens = java_client_properties(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanisms": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": "dcctl",
            "sasl.oauthbearer.client.secret": "s",
            "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
        }
    )
    assert tokens["sasl.oauthbearer.token.endpoint.url"] == "https://idp/token"
    assert tokens["sasl.jaas.config"].endswith('clientId="dcctl" clientSecret="s";')


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"security.protocol": "SASL_SSL", "sasl.mechanisms": "MAGIC"}, "MAGIC is not known"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanisms": "OAUTHBEARER"}, "takes its tokens from code"),
        ({"security.protocol": "SSL", "enable.ssl.certificate.verification": "false"}, "always verify"),
    ],
)
def test_what_java_cannot_do_is_said(properties, words):
    """No silent half of a translation."""
    with pytest.raises(ClusterError, match=words):
        java_client_properties(properties)
