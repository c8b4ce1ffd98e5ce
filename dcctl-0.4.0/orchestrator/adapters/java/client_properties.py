"""librdkafka's client properties in the words of Kafka's Java clients.

The topology file speaks librdkafka (its CONFIGURATION.md); Admin, Connect and Spark speak Java
(`CommonClientConfigs`, `SaslConfigs`, `SslConfigs`). Most properties are the same in both; those that are
not are told apart here, in one place. Values may still be references to secrets: they are carried along.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.errors import ClusterError

# What only librdkafka knows: its own buffers, timers, logs and plugins.
_LIBRDKAFKA_ONLY = (
    "api.version.",
    "broker.",
    "builtin.features",
    "debug",
    "log",
    "message.",
    "opaque",
    "plugin.",
    "queue",
    "socket.blocking",
    "socket.keepalive",
    "socket.max",
    "socket.nagle",
    "socket.timeout",
    "ssl.engine",
    "statistics.",
    "topic.metadata.",
)
_RENAMED = {
    "metadata.broker.list": "bootstrap.servers",
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.key.password": "ssl.key.password",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "GSSAPI": "com.sun.security.auth.module.Krb5LoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
_TOKENS_FROM_A_SERVER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"


def java_client_properties(properties: Mapping[str, Any], subject: str = "client") -> dict[str, str]:
    """The same client for Java: addresses, who it is, and how it knows the brokers.

    `properties` are librdkafka's. Files are named, not read, but for one case: certificate and key in
    two files, which Java takes only as text. Raises `ClusterError` about `subject` for what Java's
    clients cannot do.
    """
    given = {key: str(value) for key, value in properties.items() if not callable(value)}
    java = {
        _RENAMED.get(key, key): value
        for key, value in given.items()
        if not key.startswith((*_LIBRDKAFKA_ONLY, "sasl.", "ssl.", "enable.ssl.", "enable.sasl."))
    }
    if "security.protocol" in java:
        java["security.protocol"] = java["security.protocol"].upper()
    if java.get("security.protocol", "PLAINTEXT").startswith("SASL"):
        java |= _sasl(given, subject)
    if java.get("security.protocol", "PLAINTEXT").endswith("SSL"):
        java |= _ssl(given, subject)
    return java


def _sasl(given: Mapping[str, str], subject: str) -> dict[str, str]:
    # librdkafka's default is Kerberos, as it is Java's.
    mechanism = given.get("sasl.mechanisms", given.get("sasl.mechanism", "GSSAPI"))
    if mechanism not in _MODULES:
        raise ClusterError(
            subject, f"sasl.mechanisms {mechanism} is not known", f"known are: {', '.join(_MODULES)}"
        )
    java = {"sasl.mechanism": mechanism}
    if mechanism == "GSSAPI":
        service = given.get("sasl.kerberos.service.name", "kafka")
        options = {"useKeyTab": "true", "storeKey": "true"}
        keytab = {
            "keyTab": given.get("sasl.kerberos.keytab", ""),
            "principal": given.get("sasl.kerberos.principal", ""),
        }
        options |= {key: value for key, value in keytab.items() if value}
        return {**java, "sasl.kerberos.service.name": service, "sasl.jaas.config": _jaas(mechanism, options)}
    if mechanism == "OAUTHBEARER":
        if given.get("sasl.oauthbearer.method") != "oidc":
            raise ClusterError(
                subject,
                "OAUTHBEARER without sasl.oauthbearer.method=oidc takes its tokens from code",
                "name a token endpoint: sasl.oauthbearer.token.endpoint.url",
            )
        options = {
            "clientId": given.get("sasl.oauthbearer.client.id", ""),
            "clientSecret": given.get("sasl.oauthbearer.client.secret", ""),
            "scope": given.get("sasl.oauthbearer.scope", ""),
        }
        return {
            **java,
            "sasl.oauthbearer.token.endpoint.url": given.get("sasl.oauthbearer.token.endpoint.url", ""),
            "sasl.login.callback.handler.class": _TOKENS_FROM_A_SERVER,
            "sasl.jaas.config": _jaas(mechanism, {key: value for key, value in options.items() if value}),
        }
    who = {"username": given.get("sasl.username", ""), "password": given.get("sasl.password", "")}
    return {**java, "sasl.jaas.config": _jaas(mechanism, who)}


def _ssl(given: Mapping[str, str], subject: str) -> dict[str, str]:
    if given.get("enable.ssl.certificate.verification", "true").lower() == "false":
        raise ClusterError(
            subject,
            "enable.ssl.certificate.verification=false: Java's clients always verify certificates",
            "name the authority's certificate in ssl.ca.location",
        )
    java = {new: given[old] for old, new in _RENAMED.items() if old.startswith("ssl.") and old in given}
    if "ssl.ca.location" in given:
        java |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": given["ssl.ca.location"]}
    if "ssl.truststore.certificates" in java:
        java["ssl.truststore.type"] = "PEM"
    if "ssl.certificate.location" in given and "ssl.key.location" in given:
        java["ssl.keystore.certificate.chain"] = _text(given["ssl.certificate.location"], subject)
        java["ssl.keystore.key"] = _text(given["ssl.key.location"], subject)
    if "ssl.keystore.key" in java:
        java["ssl.keystore.type"] = "PEM"
    if "ssl.keystore.location" in given:
        # librdkafka knows no other kind of key store.
        java |= {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": given["ssl.keystore.location"]}
        java["ssl.keystore.password"] = given.get("ssl.keystore.password", "")
    algorithm = given.get("ssl.endpoint.identification.algorithm")
    if algorithm is not None:
        java["ssl.endpoint.identification.algorithm"] = "" if algorithm == "none" else algorithm
    return java


def _text(file: str, subject: str) -> str:
    try:
        return Path(file).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not PEM"
        raise ClusterError(
            subject, f"cannot read {file}: {reason}", "check the path and its rights"
        ) from None


def _jaas(mechanism: str, options: Mapping[str, str]) -> str:
    listed = "".join(f' {key}="{_quoted(value)}"' for key, value in options.items())
    return f"{_MODULES[mechanism]} required{listed};"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
