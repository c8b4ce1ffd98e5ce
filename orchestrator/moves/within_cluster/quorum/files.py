"""Which lines of a voter's file change where fewer voters shall be the whole quorum. Pure.

Rules (facts: Kafka, "Two data centres, ZooKeeper mode" and "KRaft"): in zoo.cfg the lost servers, all groups
and all weights are commented out; in server.properties the static list of voters is shortened.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from orchestrator.ports.voters import FileChange, LineChange, Voter

_SERVER = re.compile(r"\s*server\.(\d+)\s*[=:]")
_GROUPING = re.compile(r"\s*(group|weight)\.\d+\s*[=:]")
_LIST = re.compile(r"(\s*controller\.quorum\.voters\s*[=:]\s*)(.*)")


def voters_listed(voter: Voter) -> dict[int, str]:
    """The voters that its file names: id -> `host:port` (ZooKeeper: the peer port)."""
    found: dict[int, str] = {}
    for _, line in voter.lines:
        if server := _SERVER.match(line):
            host_and_ports = line[server.end() :].strip().partition(";")[0]
            host, _, ports = host_and_ports.partition(":")
            found[int(server[1])] = f"{host}:{ports.partition(':')[0]}"
        elif listed := _LIST.match(line):
            rows = (row.partition("@") for row in listed[2].split(",") if row.strip())
            found |= {int(number): address.strip() for number, _, address in rows if number.strip().isdigit()}
    return found


def left_alone(voter: Voter, kept: Collection[int]) -> FileChange:
    """Its file with these voters as the whole quorum."""
    changes = tuple(
        LineChange(number, line, now) for number, line in voter.lines if (now := _line_of(line, kept)) != line
    )
    return FileChange(path=voter.file, sha256=voter.sha256, changes=changes)


def has_change(voter: Voter, change: FileChange) -> bool:
    """Whether its lines are as the change makes them."""
    lines = dict(voter.lines)
    shown = [line for line in change.changes if not line.now.startswith("#")]
    hidden = [line for line in change.changes if line.now.startswith("#")]
    return all(lines.get(line.number) == line.now for line in shown) and not any(
        line.number in lines for line in hidden
    )


def put_back(change: FileChange, now: str) -> FileChange:
    """The file as it was before `change`; `now`: the digest that it has since."""
    changes = tuple(LineChange(line.number, line.now, line.was) for line in change.changes)
    return FileChange(path=change.path, sha256=now, changes=changes, becomes=change.sha256)


def _line_of(line: str, kept: Collection[int]) -> str:
    server, grouping, listed = _SERVER.match(line), _GROUPING.match(line), _LIST.match(line)
    if grouping or (server and int(server[1]) not in kept):
        return f"#{line}"
    if listed:
        rows = [row.strip() for row in listed[2].split(",")]
        return listed[1] + ",".join(row for row in rows if int(row.partition("@")[0]) in kept)
    return line
