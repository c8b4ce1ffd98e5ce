"""Who dcctl is to the coordination ensemble, and how it knows the ensemble's servers.

ZooKeeper's digest scheme refuses no password: a wrong one is simply another user, who then may not touch
what belongs to the right one. So a wrong login shows itself at the first znode, not when connecting.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kazoo.security import ACL, Permissions, make_digest_acl

from orchestrator.errors import CoordinationError

_READ_ONLY = Permissions.READ


@dataclass(frozen=True, slots=True)
class EnsembleAccess:
    """A digest login (None: anybody), and the PEM file of the servers' authority (None: without TLS)."""

    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_location: str | None = None

    @property
    def has_login(self) -> bool:
        """Whether what is written is closed to others."""
        return self.username is not None

    def client_options(self, subject: str) -> dict[str, Any]:
        """Options of `KazooClient`. Raises `CoordinationError` for an authority that cannot be used."""
        options: dict[str, Any] = {}
        if self.username is not None:
            # Nobody but this user may read, write or delete what is created, nor change that.
            options["auth_data"] = [("digest", f"{self.username}:{self.password}")]
            options["default_acl"] = [make_digest_acl(self.username, self.password or "", all=True)]
        if self.ca_location is not None:
            _trusting(self.ca_location, subject)
            options |= {"use_ssl": True, "ca": self.ca_location, "verify_certs": True, "check_hostname": True}
        return options

    def tls_problem(self, hosts: str, timeout_s: float) -> str:
        """Why no server of `host:port,…` can be spoken to by TLS, as far as TLS is the reason; else empty."""
        if self.ca_location is None:
            return ""
        context = _trusting(self.ca_location, hosts)
        for address in hosts.partition("/")[0].split(","):
            host, _, port = address.strip().rpartition(":")
            bare = host.strip("[]")
            try:
                with (
                    socket.create_connection((bare, int(port)), timeout_s) as plain,
                    context.wrap_socket(plain, server_hostname=bare),
                ):
                    return ""
            except ssl.SSLCertVerificationError as error:
                return f"{address} is not who it should be: {error.verify_message}"
            except (ssl.SSLError, ConnectionResetError) as error:
                return f"{address} does not speak TLS ({getattr(error, 'reason', None) or error})"
            except (OSError, ValueError):
                continue
        return ""


def is_open(acls: Iterable[ACL]) -> bool:
    """Whether anybody may do more with a znode than read it."""
    return any(acl.id.scheme == "world" and acl.perms & ~_READ_ONLY for acl in acls)


def _trusting(ca_location: str, subject: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_location)
    except (OSError, ssl.SSLError) as error:
        raise CoordinationError(
            subject, f"cannot use {ca_location}: {error.strerror or error}", "check coordination.ca_location"
        ) from None
