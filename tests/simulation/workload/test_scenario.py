"""Who carries how much, and who plays which role."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import DcctlError
from orchestrator.evidence.clients.config import ConsumerConfig, ProducerConfig, config_text, read_config
from orchestrator.evidence.clients.records import RecordId, decode_record_id, record_key, record_value
from orchestrator.simulation.local_files import LocalFiles
from orchestrator.simulation.workload.scenario import AT_END, DEFAULT, SCENARIOS, Scenario


def test_the_first_producer_carries_the_most_and_all_together_everything() -> None:
    """Whatever their number."""
    shares = DEFAULT.shares(["a", "b", "c"])
    assert shares["a"] > shares["b"] > shares["c"]
    assert sum(shares.values()) == pytest.approx(1)
    assert DEFAULT.shares(["only"]) == {"only": 1}


def test_the_default_scenario_is_the_one_that_was_asked_for() -> None:
    """200,000 records before the fault, 2,000/s through it, six kinds of consumers."""
    assert (DEFAULT.records_before, DEFAULT.rate_records_per_s) == (200_000, 2_000)
    roles = DEFAULT.roles_of([f"group-{number}" for number in range(6)])
    assert [role.hold_lag_records for role in roles.values()] == [0, 100, 5_000, 50_000, 0, 0]
    assert roles["group-4"].max_rate_records_per_s is not None
    assert roles["group-5"].stop_after_records is not None


@pytest.mark.parametrize("groups", [0, 1, 6, 9])
def test_roles_fit_any_number_of_groups(groups: int) -> None:
    """Those beyond the roles are at the end."""
    for scenario in SCENARIOS.values():
        names = [f"group-{number}" for number in range(groups)]
        roles = scenario.roles_of(names)
        assert list(roles) == names
        assert all(roles[name] == AT_END for name in names[len(scenario.roles) :])


def test_a_record_tells_who_sent_it() -> None:
    """Producer, number and life survive the padding; the size is as asked for."""
    value = record_value(RecordId("checkout", 17, 2), sent_ms=5, is_resent=True, size_bytes=100)
    assert len(value) == 100
    assert decode_record_id(value.encode()) == RecordId("checkout", 17, 2)


def test_a_foreign_record_is_refused() -> None:
    """It is not the workload's."""
    with pytest.raises(ValueError, match="unpack"):
        decode_record_id(b"something else")


def test_keys_are_all_used_and_belong_to_their_numbers() -> None:
    """The same number has the same key in every life; no key is left out."""
    keys = [record_key(sequence, 100, 7) for sequence in range(5_000)]
    assert len(set(keys)) == 100
    assert record_key(4_321, 100, 7) == keys[4_321]


def test_another_seed_draws_other_keys() -> None:
    """From the same ones, so that a drill can be repeated and varied."""
    first, second = ([record_key(n, 100, seed) for n in range(5_000)] for seed in (7, 8))
    assert set(first) == set(second)
    assert sum(a == b for a, b in zip(first, second, strict=True)) < 250


def test_a_configuration_is_read_as_written_and_is_private(tmp_path: Path) -> None:
    """It holds a password."""
    config = ConsumerConfig(
        name="billing", life=1, ledgers="/l", properties={"sasl.password": "x"}, topics=["orders"]
    )
    path = tmp_path / "clients" / "billing.json"
    LocalFiles(tmp_path).write("clients/billing.json", config_text(config), is_private=True)
    assert read_config(path, ConsumerConfig) == config
    assert path.stat().st_mode & 0o077 == 0


def test_a_wrong_configuration_is_said(tmp_path: Path) -> None:
    """Missing, broken, or of another program."""
    path = tmp_path / "x.json"
    with pytest.raises(DcctlError, match="not the configuration"):
        read_config(path, ProducerConfig)
    path.write_text('{"name": "x"}')
    with pytest.raises(DcctlError, match="not the configuration"):
        read_config(path, ProducerConfig)


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
@pytest.mark.parametrize("count", range(1, 12))
def test_any_number_of_producers_writes_all_that_is_waited_for(scenario: Scenario, count: int) -> None:
    """One record less, and a rehearsal would wait for it in vain."""
    shares = scenario.shares([f"p{number}" for number in range(count)])
    written = sum(scenario.preload_records(share) for share in shares.values())
    assert scenario.records_before <= written <= scenario.records_before + count
