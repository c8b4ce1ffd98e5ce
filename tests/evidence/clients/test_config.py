"""Which life a client lives when it starts, and what is different in the later ones."""

from __future__ import annotations

import pytest

from orchestrator.evidence.clients.config import ConsumerConfig, in_its_life, life_now


@pytest.mark.parametrize(
    ("first", "lived", "life"),
    [
        (1, [], 1),
        (1, [1], 1),  # stopped, and started again where it was
        (2, [1], 2),
        (2, [], 2),  # the first place was lost before it ever ran there
        (2, [1, 2], 2),
        (1, [1, 2], 3),
        (1, [2], 3),
        (2, [1, 2, 3], 4),
        (1, [1, 2, 3], 3),
    ],
)
def test_lives_are_odd_at_the_source_and_even_at_the_target(first: int, lived: list[int], life: int) -> None:
    """So every ledger tells where its client was."""
    assert life_now(first, lived) == life


def test_only_a_later_life_differs() -> None:
    """Back at the source it reads what was written elsewhere meanwhile, from nothing but given positions."""
    config = ConsumerConfig(
        name="billing",
        life=1,
        ledgers="",
        properties={},
        topics=["orders"],
        offset_reset="earliest",
        hold_lag_records=10,
        later={"topics": ["east.orders", "orders"], "offset_reset": "error", "hold_lag_records": 0},
    )
    assert in_its_life(config, [1]) is config
    back = in_its_life(config, [1, 2])
    assert (back.life, back.offset_reset, back.hold_lag_records) == (3, "error", 0)
    assert back.topics == ["east.orders", "orders"]
