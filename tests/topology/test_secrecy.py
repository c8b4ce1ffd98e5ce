"""Secrets in the settings of a connector: none is shown, and what a file may say in plain text is."""

from __future__ import annotations

import pytest

from orchestrator.topology.secrecy import NOT_SHOWN, WORKER_REFERENCE, is_literal_secret, masked

_JAAS = "source.cluster.sasl.jaas.config"
_KERBEROS = (
    'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/run/mirror.keytab";'
)


@pytest.mark.parametrize(
    ("key", "value", "is_secret"),
    [
        (_JAAS, 'x required password="hush";', True),
        (_JAAS, 'x required clientId="mirror" clientSecret="hush";', True),
        (_JAAS, 'x required password="${directory:/run:mirror}";', False),
        (_JAAS, "${directory:/run:jaas}", False),
        (_JAAS, _KERBEROS, False),
        ("database.password", "hush", True),
        ("database.password", "", False),
        ("database.password", "hush-${directory:/run:db}", True),
        ("topics", "password-changes", False),
        ("source.cluster.sasl.oauthbearer.token.endpoint.url", "https://sso.example/token", False),
        ("source.cluster.ssl.keystore.location", "/run/mirror.p12", False),
        ("source.cluster.ssl.keystore.key", "-----BEGIN PRIVATE KEY-----", True),
    ],
)
def test_literal_secrets_are_masked_and_nothing_else(key: str, value: str, is_secret: bool) -> None:
    """References stay, and so does what only looks like a secret by its name: a plan compares them."""
    assert is_literal_secret(key, value, WORKER_REFERENCE) == is_secret
    assert masked(key, value) == (NOT_SHOWN if is_secret else value)
