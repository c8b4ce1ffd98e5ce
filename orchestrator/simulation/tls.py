"""TLS of a simulation: which files its servers get, and what their configuration says of them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.adapters.certificates import Authority, write_private
from orchestrator.simulation.estate import HOST
from orchestrator.simulation.folders import Folders
from orchestrator.topology.model import Topology

_HOSTS = (HOST, "localhost")
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
    """Gives each server of one simulation its identity. It and its key end with this process."""

    folders: Folders
    authority: Authority = field(default_factory=lambda: Authority("dcctl simulation"))

    def write_authority(self) -> None:
        """Write the certificate that every client trusts."""
        self.folders.authority.write_bytes(self.authority.pem)

    def kafka(self, folder: Path) -> dict[str, str]:
        """Write the identity of a Kafka server into its folder; returns its settings for every listener."""
        identity = self._pem_identity(folder)
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(identity),
            # Brokers and controllers verify each other as clients do.
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.folders.authority),
        }

    def zookeeper(self, folder: Path) -> dict[str, str]:
        """The same for a ZooKeeper server that clients reach by TLS alone; they log in by digest."""
        identity = self._pem_identity(folder)
        return {
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "ssl.keyStore.type": "PEM",
            "ssl.keyStore.location": str(identity),
            "ssl.trustStore.type": "PEM",
            "ssl.trustStore.location": str(self.folders.authority),
            "ssl.clientAuth": "none",
        }

    def rest(self, folder: Path) -> dict[str, str]:
        """The same for a Connect worker's REST interface, whose server reads no PEM."""
        password = secrets.token_urlsafe(18)
        identity = self.authority.server(folder.name, _HOSTS)
        write_private(folder / _KEY_STORE, identity.pkcs12(password))
        write_private(folder / _TRUST_STORE, self.authority.truststore(password))
        write_private(folder / _STORES_PASSWORD, f"password={password}\n".encode("ascii"))
        reference = f"${{file:{folder / _STORES_PASSWORD}:password}}"
        settings = {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(folder / _KEY_STORE),
            "ssl.keystore.password": reference,
            "ssl.key.password": reference,
            # Workers forward requests to each other.
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": str(folder / _TRUST_STORE),
            "ssl.truststore.password": reference,
            "ssl.endpoint.identification.algorithm": "https",
        }
        return {f"listeners.https.{key}": value for key, value in settings.items()}

    def _pem_identity(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / _IDENTITY
        write_private(file, self.authority.server(folder.name, _HOSTS).pem)
        return file


def write_rest_users(folder: Path, users: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Let only `users` (name -> password) use a worker's REST interface.

    Returns settings of the worker, and options of its JVM.
    """
    lines = "".join(f"{user}={password}\n" for user, password in users.items())
    write_private(folder / _USERS, lines.encode("ascii"))
    modules = folder / _LOGIN_MODULES
    modules.write_text(
        f'KafkaConnect {{\n  {_BASIC}.PropertyFileLoginModule required file="{folder / _USERS}";\n}};\n',
        encoding="utf-8",
    )
    settings = {"rest.extension.classes": f"{_BASIC}.BasicAuthSecurityRestExtension"}
    return settings, [f"-Djava.security.auth.login.config={modules}"]
