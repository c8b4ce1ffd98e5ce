"""Files that say something else than the estate they are about: each changes one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import yaml

from tests.gates.world import Asked, World


def no_inventory_file(data: dict[str, Any]) -> None:
    """The inventory is not where the file says."""
    data["inventory"] = "/no/such/inventory.yaml"


def both_read_copies(data: dict[str, Any]) -> None:
    """Who packs at east reads west's copies as well, as those of west would there."""
    (packing,) = (one for one in data["consumers"] if one["name"] == "packing-east")
    packing["topics"] = ["orders", "west.orders"]


def audit_reads_copies_alone(data: dict[str, Any]) -> None:
    """A consumer of a centre does not read what producers write there."""
    (audit,) = (one for one in data["consumers"] if one["name"] == "audit")
    audit["topics"] = ["dc1.orders"]


def as_operator(data: dict[str, Any]) -> None:
    """A producer logs in as dcctl does."""
    data["producers"][0]["principal"] = "User:operator"


def one_broker_more(data: dict[str, Any]) -> None:
    """A topic is to be made where a broker is missing."""
    data["clusters"]["west"]["nodes"][0]["brokers"] = 2
    data["topics"].append({**data["topics"][0], "name": "refunds"})


def fewer_partitions(data: dict[str, Any]) -> None:
    """What Kafka cannot do."""
    data["topics"][0]["partitions"] = 1


def no_age_at_all(data: dict[str, Any]) -> None:
    """A limit that nobody can keep."""
    data["failover"]["max_position_age_s"] = 0.01


def any_age(data: dict[str, Any]) -> None:
    """A limit that is not reached, however long a busy machine looks at a site that is not lost."""
    data["failover"]["max_position_age_s"] = 600


def another_group(data: dict[str, Any]) -> None:
    """A group that has never committed anything."""
    data["consumers"].append({**data["consumers"][0], "name": "newcomer", "principal": "User:newcomer"})


def a_query(data: dict[str, Any]) -> None:
    """A Spark query of which the watcher has never had a checkpoint."""
    paths = {"checkpoint": "/no/such/checkpoint", "standby_checkpoint": "/no/such/standby"}
    query = {**data["consumers"][0], "name": "revenue", "kind": "spark", "principal": "User:revenue", **paths}
    data["consumers"].append({**query, "sink": {"kind": "files", "remembers": "batch-id"}})


def hosts_only_in(dc: str) -> Callable[[World], AbstractContextManager[Asked]]:
    """The inventory has hosts in that data centre alone."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        host = {"dc": dc, "service_manager": "supervisor", "ansible_connection": "local"}
        file = world.folder / "inventory.yaml"
        file.write_text(yaml.safe_dump({"all": {"hosts": {"only": host}}}), encoding="utf-8")
        yield Asked(file=world.variant("hosts", lambda data: data.update(inventory=str(file))))

    return broken


def reads_again(data: dict[str, Any]) -> None:
    """Groups without an exact place read everything again."""
    for consumer in data["consumers"]:
        consumer["on_untranslatable"] = "earliest"


def one_topic_more(data: dict[str, Any]) -> None:
    """The mirror has a topic that nobody has made."""
    data["topics"].append({**data["topics"][0], "name": "refunds"})
    data["replication"][0]["topics"].append("refunds")
