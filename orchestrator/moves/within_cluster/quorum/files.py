"""Which lines of a voter's file change where fewer voters shall be the whole quorum. Pure.

Rules (facts: Kafka, "Two data centres, ZooKeeper mode" and "KRaft"): in zoo.cfg the lost servers, all groups
and all weights are commented out; in server.properties the static list of voters is shortened.
"""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.ports.voter_lines import GROUPING, LIST, SERVER, voters_in
from orchestrator.ports.voters import FileChange, LineChange, Voter


def voters_listed(voter: Voter) -> dict[int, str]:
    """The voters that its file names. See `voters_in`."""
    return voters_in(line for _, line in voter.lines)


def line_of_list(voter: Voter) -> int:
    """The number of the line that names voters; of the first that may where none does."""
    naming = [number for number, line in voter.lines if SERVER.match(line) or LIST.match(line)]
    return next(iter([*naming, *(number for number, _ in voter.lines)]), 1)


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


def put_back(change: FileChange, found: Voter) -> FileChange:
    """The file of a voter as it was before `change`, which may not have been made, or be put back already."""
    lines: tuple[LineChange, ...] = ()
    if found.sha256 != change.sha256:
        lines = tuple(LineChange(line.number, line.now, line.was) for line in change.changes)
    return FileChange(path=change.path, sha256=found.sha256, changes=lines, becomes=change.sha256)


def _line_of(line: str, kept: Collection[int]) -> str:
    server, grouping, listed = SERVER.match(line), GROUPING.match(line), LIST.match(line)
    if grouping or (server and int(server[1]) not in kept):
        return f"#{line}"
    if listed:
        rows = [row.strip() for row in listed[2].split(",")]
        return listed[1] + ",".join(row for row in rows if int(row.partition("@")[0]) in kept)
    return line
