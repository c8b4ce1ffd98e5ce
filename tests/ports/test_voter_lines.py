"""What configurations of servers say is read by guards as it is by dcctl's modules on hosts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.ports.voter_lines import values_of
from tests.twin.voters import module

_PARTS = st.sampled_from(
    ["node.id", "process.roles", "=", ":", " ", "\t", "#", "!", "1", "broker", "é", "\\", "\n"]
)


@given(st.lists(_PARTS, max_size=30).map("".join))
def test_guards_and_modules_read_a_file_alike(text: str) -> None:
    """Otherwise a guard would take a voter for a broker, and let it start."""
    module("dcctl_voters")
    assert values_of(text) == module("dcctl_voters").values_of(text)
