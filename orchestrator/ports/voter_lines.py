"""Which voters the configuration of a server names: `zoo.cfg` and `server.properties`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

SERVER = re.compile(r"\s*server\.(\d+)\s*[=:]")
GROUPING = re.compile(r"\s*(group|weight)\.\d+\s*[=:]")
LIST = re.compile(r"(\s*controller\.quorum\.voters\s*[=:]\s*)(.*)")


def voters_in(lines: Iterable[str]) -> dict[int, str]:
    """The voters that lines of a file name: id -> `host:port` (ZooKeeper: the peer port)."""
    found: dict[int, str] = {}
    for line in lines:
        if server := SERVER.match(line):
            host_and_ports = line[server.end() :].strip().partition(";")[0]
            host, _, ports = host_and_ports.partition(":")
            found[int(server[1])] = f"{host}:{ports.partition(':')[0]}"
        elif listed := LIST.match(line):
            rows = (row.partition("@") for row in listed[2].split(",") if row.strip())
            found |= {int(number): address.strip() for number, _, address in rows if number.strip().isdigit()}
    return found
