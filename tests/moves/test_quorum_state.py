"""What controllers forget before they become a quorum without the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.twin.voters import module

STATE = module("dcctl_quorum_state")
KEPT = {"clusterId": "", "appliedOffset": 0, "currentVoters": [{"voterId": 101}], "data_version": 0}
NUMBERS = st.integers(-1, 120)


@given(NUMBERS, NUMBERS, st.integers(0, 9), st.integers(0, 9))
def test_nobody_leads_or_has_a_vote_in_the_latest_epoch(
    leader: int, voted: int, epoch: int, known: int
) -> None:
    """Whoever has gone on to a later one is left as it is; no epoch goes back, and nothing else changes."""
    before = {**KEPT, "leaderId": leader, "leaderEpoch": epoch, "votedId": voted}
    after = STATE.forgotten(before, known)
    if epoch > known:
        assert after is None
        return
    assert after == {**KEPT, "leaderId": -1, "leaderEpoch": known, "votedId": -1}
    assert STATE.forgotten(after, known) == after


def test_the_directory_of_a_vote_is_forgotten_as_well() -> None:
    """As voters with directory ids have it (KIP-853)."""
    before = {"leaderId": 101, "leaderEpoch": 3, "votedId": 104, "votedDirectoryId": "_pWMnOSAQv2JKLm6FPBCUg"}
    assert STATE.forgotten(before, 3)["votedDirectoryId"] == "A" * 22


@pytest.mark.parametrize(
    ("lines", "folder"),
    [
        (["log.dirs=/a,/b"], "/a"),
        (["log.dirs=/a", "metadata.log.dir = /m"], "/m"),
        (["# log.dirs=/old", "log.dir=/c"], "/c"),
    ],
)
def test_where_it_lies_follows_from_the_configuration(tmp_path: Path, lines: list[str], folder: Any) -> None:
    """Beside the metadata log."""
    config = tmp_path / "server.properties"
    config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert STATE.state_file(config) == Path(folder) / "__cluster_metadata-0" / "quorum-state"
