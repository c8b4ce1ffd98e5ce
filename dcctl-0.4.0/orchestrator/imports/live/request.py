"""Where to look, as a user says it: `[NAME=]VALUE`, with the name where there are several clusters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from orchestrator.errors import DcctlError, UsageError
from orchestrator.topology.model import ConnectClient
from orchestrator.topology.secrecy import is_secret_key

ONLY_CLUSTER = "main"
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)=(.+)", re.DOTALL)
_REFERENCE = re.compile(r"\$\{(env|file):[^}]+\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAt:
    """One cluster to look at.

    `client` and `connect_client` are used as they are, secrets included; `written_client` and
    `written_connect_client` have references in their place, to the environment variables `variables`.
    """

    name: str
    bootstrap: tuple[str, ...]
    connect: tuple[str, ...] = ()
    zookeeper: str = ""
    client: Mapping[str, str] = field(default_factory=dict)
    written_client: Mapping[str, str] = field(default_factory=dict)
    connect_client: ConnectClient | None = None
    written_connect_client: ConnectClient | None = None
    variables: tuple[str, ...] = ()


def places_to_look(
    bootstrap: Sequence[str],
    client: Sequence[str] = (),
    connect: Sequence[str] = (),
    zookeeper: Sequence[str] = (),
    connect_ca: Sequence[str] = (),
) -> tuple[LookAt, ...]:
    """The clusters that the options speak of, in the order in which they were named.

    Raises `UsageError` for a name that has no addresses, and `DcctlError` for a client file that cannot
    be read.
    """
    addresses: dict[str, list[str]] = {}
    for name, value in _named(bootstrap, None, "--bootstrap"):
        addresses.setdefault(name, []).extend(part.strip() for part in value.split(",") if part.strip())
    if not addresses:
        raise UsageError("import", "no addresses are given", "name brokers: --bootstrap HOST:PORT")
    for name, listed in addresses.items():
        _check_addresses(name, listed)
    urls: dict[str, list[str]] = {name: [] for name in addresses}
    for name, value in _named(connect, addresses, "--connect"):
        urls[name] += [part.strip() for part in value.split(",") if part.strip()]
    files = {name: Path(value) for name, value in _named(client, addresses, "--client")}
    ensembles = dict(_named(zookeeper, addresses, "--zookeeper"))
    authorities = dict(_named(connect_ca, addresses, "--connect-ca"))
    return tuple(
        _look_at(
            name,
            tuple(listed),
            urls[name],
            files.get(name),
            zookeeper=ensembles.get(name, ""),
            connect_ca=authorities.get(name),
        )
        for name, listed in addresses.items()
    )


def _named(
    values: Sequence[str], known: Mapping[str, object] | None, option: str
) -> Iterator[tuple[str, str]]:
    """Name and value of each; without a name it is that of the only cluster."""
    for value in values:
        match = _NAMED.fullmatch(value)
        if match and (known is None or match[1] in known):
            yield match[1], match[2]
        elif known is None:
            yield ONLY_CLUSTER, value
        elif len(known) == 1:
            yield next(iter(known)), value
        else:
            raise UsageError(
                f"{option} {value}",
                f"does not say of which cluster: {', '.join(known)}",
                f"write {option} NAME={value}",
            )


def _check_addresses(name: str, addresses: Iterable[str]) -> None:
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise UsageError(f"--bootstrap {address}", f"is no address of cluster {name}", "write HOST:PORT")


def _look_at(
    name: str,
    bootstrap: tuple[str, ...],
    urls: Sequence[str],
    file: Path | None,
    *,
    zookeeper: str,
    connect_ca: str | None,
) -> LookAt:
    client = read_client_file(file) if file is not None else {}
    written, variables = _referenced(client, name)
    plain = tuple(_without_user(url) for url in urls)
    users = [urlsplit(url) for url in urls if urlsplit(url).username]
    connect_client = ConnectClient(ca_location=connect_ca) if connect_ca else None
    written_connect = connect_client
    if users:
        user, password = users[0].username, users[0].password or ""
        connect_client = ConnectClient(username=user, password=password, ca_location=connect_ca)
        written_connect = connect_client
        if not _REFERENCE.fullmatch(password):
            variable = _variable(name, "connect.password")
            written_connect = replace(connect_client, password=f"${{env:{variable}}}")
            variables = (*variables, variable)
    return LookAt(
        name=name,
        bootstrap=bootstrap,
        connect=plain,
        zookeeper=zookeeper,
        client=client,
        written_client=written,
        connect_client=connect_client,
        written_connect_client=written_connect,
        variables=variables,
    )


def read_client_file(file: Path) -> dict[str, str]:
    """librdkafka properties, one `key=value` a line; `#` begins a remark."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise DcctlError(
            str(file), f"cannot be read: {reason}", "--client names librdkafka properties"
        ) from None
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        key, separator, value = line.strip().partition("=")
        if not key or key.startswith("#"):
            continue
        if not separator:
            raise DcctlError(f"{file}:{number}", "is no property", "write key=value")
        found[key.strip()] = value.strip()
    # The addresses have an option of their own.
    return {
        key: value for key, value in found.items() if key not in ("bootstrap.servers", "metadata.broker.list")
    }


def _referenced(client: Mapping[str, str], name: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The properties with a reference for each literal secret, and the variables that these name."""
    written, variables = dict(client), []
    for key, value in client.items():
        if is_secret_key(key) and not _REFERENCE.fullmatch(value):
            variable = _variable(name, key)
            variables.append(variable)
            written[key] = f"${{env:{variable}}}"
    return written, tuple(variables)


def _variable(name: str, key: str) -> str:
    return re.sub(r"\W", "_", f"DCCTL_{name}_{key}").upper()


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")
