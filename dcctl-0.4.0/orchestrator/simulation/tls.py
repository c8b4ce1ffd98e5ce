"""TLS of a simulation: which files its servers get, and what their configuration says of them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.adapters.certificates import Authority
from orchestrator.simulation.backend import Files
from orchestrator.simulation.folders import Folders
from orchestrator.topology.model import Topology

_IDENTITY = "identity.pem"
_KEY_STORE = "identity.p12"
_TRUST_STORE = "authority.p12"
_STORES_PASSWORD = "stores.properties"  # noqa: S105 - a file's name
_USERS = "rest-users.properties"
_LOGIN_MODULES = "rest-login.conf"
_BASIC = "org.apache.kafka.connect.rest.basic.auth.extension"


def authority_file(topology: Topology, folders: Folders) -> Path | None:
    """Where clients find the authority's certificate; None where nothing is encrypted."""
    return folders.authority if topology.is_encrypted else None


@dataclass(frozen=True, slots=True)
class Issuer:
    """Gives each server of one simulation its identity. It and its key end with this process.

    A server's files go to its `folder` among those of its host; `hosts` are the names and numbers by which
    clients know it.
    """

    folders: Folders
    authority: Authority = field(default_factory=lambda: Authority("dcctl simulation"))

    def write_authority(self) -> None:
        """Write the certificate that every client trusts."""
        self.folders.authority.write_bytes(self.authority.pem)

    def kafka(self, files: Files, folder: str, hosts: Iterable[str]) -> dict[str, str]:
        """Write the identity of a Kafka server; returns its settings for every listener."""
        identity = self._pem_identity(files, folder, hosts)
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(identity),
            # Brokers and controllers verify each other as clients do.
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.folders.authority),
        }

    def zookeeper(self, files: Files, folder: str, hosts: Iterable[str]) -> dict[str, str]:
        """The same for a ZooKeeper server that clients reach by TLS alone; they log in by digest."""
        identity = self._pem_identity(files, folder, hosts)
        return {
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "ssl.keyStore.type": "PEM",
            "ssl.keyStore.location": str(identity),
            "ssl.trustStore.type": "PEM",
            "ssl.trustStore.location": str(self.folders.authority),
            "ssl.clientAuth": "none",
        }

    def rest(self, files: Files, folder: str, hosts: Iterable[str]) -> dict[str, str]:
        """The same for a Connect worker's REST interface, whose server reads no PEM."""
        password = secrets.token_urlsafe(18)
        identity = self.authority.server(folder, _all_names(hosts))
        key_store, trust_store, stores = (
            f"{folder}/{name}" for name in (_KEY_STORE, _TRUST_STORE, _STORES_PASSWORD)
        )
        files.write(key_store, identity.pkcs12(password), is_private=True)
        files.write(trust_store, self.authority.truststore(password), is_private=True)
        files.write(stores, f"password={password}\n", is_private=True)
        reference = f"${{file:{files.place(stores)}:password}}"
        settings = {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(files.place(key_store)),
            "ssl.keystore.password": reference,
            "ssl.key.password": reference,
            # Workers forward requests to each other.
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": str(files.place(trust_store)),
            "ssl.truststore.password": reference,
            "ssl.endpoint.identification.algorithm": "https",
        }
        return {f"listeners.https.{key}": value for key, value in settings.items()}

    def _pem_identity(self, files: Files, folder: str, hosts: Iterable[str]) -> Path:
        file = f"{folder}/{_IDENTITY}"
        files.write(file, self.authority.server(folder, _all_names(hosts)).pem, is_private=True)
        return files.place(file)


def _all_names(hosts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*hosts, "localhost"]))


def write_rest_users(files: Files, folder: str, users: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Let only `users` (name -> password) use the REST interface of the worker in `folder`.

    Returns settings of the worker, and options of its JVM.
    """
    lines = "".join(f"{user}={password}\n" for user, password in users.items())
    files.write(f"{folder}/{_USERS}", lines, is_private=True)
    listed = files.place(f"{folder}/{_USERS}")
    modules = f"{folder}/{_LOGIN_MODULES}"
    files.write(
        modules, f'KafkaConnect {{\n  {_BASIC}.PropertyFileLoginModule required file="{listed}";\n}};\n'
    )
    settings = {"rest.extension.classes": f"{_BASIC}.BasicAuthSecurityRestExtension"}
    return settings, [f"-Djava.security.auth.login.config={files.place(modules)}"]
