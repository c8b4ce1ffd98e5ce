"""What is foretold of a kill and what a drill holds it against are one bound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.replication.copied_again import copied_again_at_most, may_be_copied_again


@given(
    rate=st.integers(1, 500),
    flush_s=st.floats(0.1, 60),
    first_s=st.floats(0, 1),
    behind=st.integers(0, 1_000),
)
def test_at_a_steady_rate_no_more_counts_than_was_foretold(
    rate: int, flush_s: float, first_s: float, behind: int
) -> None:
    """However the kill lies between two records; and not one record less than comes in that time."""
    killed_s = 200.0
    written = [first_s + number / rate for number in range(int(killed_s * rate))]
    count = sum(
        may_be_copied_again(written_at_s=at_s, killed_at_s=killed_s, flush_interval_s=flush_s)
        for at_s in written
        if at_s <= killed_s
    )
    foretold = copied_again_at_most(rate_records_per_s=rate, behind_records=behind, flush_interval_s=flush_s)
    assert count + behind <= foretold <= count + behind + 2


def test_two_flushes_and_a_second() -> None:
    """A flush waits for its records, at most until the next one."""
    assert copied_again_at_most(rate_records_per_s=100.0, behind_records=7, flush_interval_s=1.0) == 307
    for age_s, is_meant in ((2.9, True), (3.1, False), (-5.0, True)):
        found = may_be_copied_again(written_at_s=50.0 - age_s, killed_at_s=50.0, flush_interval_s=1.0)
        assert found is is_meant
