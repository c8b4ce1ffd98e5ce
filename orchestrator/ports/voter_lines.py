"""What the configuration of a server says: `zoo.cfg` and `server.properties`; which voters it names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

SERVER = re.compile(r"\s*server\.(\d+)\s*[=:]")
GROUPING = re.compile(r"\s*(group|weight)\.(\d+)\s*[=:]\s*(.*)")
LIST = re.compile(r"(\s*controller\.quorum\.voters\s*[=:]\s*)(.*)")

# A test compares it with the one of `playbooks/module_utils/dcctl_log_files.py`, which hosts get.
_VALUE = re.compile(r"\s*([^#!\s=:][^\s=:]*)\s*[=:]\s*(.*?)\s*$")


def values_of(text: str) -> dict[str, str]:
    """The settings of a file; a later one of the same name counts."""
    return {match[1]: match[2] for match in map(_VALUE.match, text.splitlines()) if match}


def voters_in(lines: Iterable[str]) -> dict[int, str]:
    """The voters that lines of a file name: id -> `host:port`, at which it takes connections while it runs.

    In ZooKeeper that is the election port: only who leads opens the peer port (`QuorumCnxManager.Listener`).
    """
    found: dict[int, str] = {}
    for line in lines:
        if server := SERVER.match(line):
            host_and_ports = line[server.end() :].strip().partition(";")[0]
            host, _, ports = host_and_ports.partition(":")
            peer, _, election = ports.partition(":")
            found[int(server[1])] = f"{host}:{election.partition(':')[0] or peer}"
        elif listed := LIST.match(line):
            rows = (row.partition("@") for row in listed[2].split(",") if row.strip())
            found |= {int(number): address.strip() for number, _, address in rows if number.strip().isdigit()}
    return found


def groups_in(lines: Iterable[str]) -> dict[int, tuple[int, int]]:
    """Of each voter that stands in a group of a hierarchical quorum, that group and its weight."""
    group_of, weights = dict[int, int](), dict[int, int]()
    for line in lines:
        if (found := GROUPING.match(line)) and found[1] == "group":
            group_of |= {int(one): int(found[2]) for one in found[3].split(":") if one.strip().isdigit()}
        elif found and found[3].strip().isdigit():
            weights[int(found[2])] = int(found[3])
    return {number: (group, weights.get(number, 1)) for number, group in group_of.items()}
