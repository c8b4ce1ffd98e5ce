"""The topology files of the situations: one small estate, and what a situation changes in it.

Each feature changes the file in the file's own words; a situation names those that it wants.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

File = dict[str, Any]
_INTERNAL = {
    name: {"replicas": 1, "min_insync_replicas": 1} for name in ("__consumer_offsets", "__transaction_state")
}


def small() -> File:
    """Two sites, one mirror, two topics, two producers, three groups."""

    def cluster(name: str, **more: int) -> File:
        nodes = [{"dc": name, "brokers": 1, "controllers": 1, **more}]
        return {"kafka": "4.3.1", "metadata": "kraft", "nodes": nodes, "internal_topics": _INTERNAL}

    def topic(name: str, partitions: int) -> File:
        return {
            "name": name,
            "cluster": "west",
            "partitions": partitions,
            "replicas": 1,
            "min_insync_replicas": 1,
        }

    return {
        "version": 1,
        "name": "small",
        "layout": "active-passive",
        "datacenters": ["west", "east"],
        "clusters": {
            "west": cluster(
                "west",
            ),
            "east": cluster("east", connect_workers=1),
        },
        "topics": [topic("orders", 2), topic("payments", 1)],
        "replication": [
            {"source": "west", "target": "east", "topics": ["orders", "payments"], "policy": "default"}
        ],
        "producers": [_application("checkout", "orders"), _application("settlement", "payments")],
        "consumers": [
            _application("billing", "orders", kind="group"),
            _application("shipping", "orders", kind="group"),
            _application("fraud", "orders", "payments", kind="group"),
        ],
        "failover": {"max_loss": {"records": 20000, "seconds": 60}, "max_position_age_s": 5},
    }


def _application(name: str, *topics: str, **more: Any) -> File:
    return {"name": name, "cluster": "west", "topics": list(topics), "principal": f"User:{name}", **more}


def _identity(file: File) -> None:
    file["replication"][0]["policy"] = "identity"


def _query(file: File, name: str = "revenue", remembers: str = "batch-id", **sink: str) -> None:
    file["consumers"].append(
        _application(
            name,
            "payments",
            kind="spark",
            checkpoint=f"checkpoints/{name}",
            standby_checkpoint=f"checkpoints/{name}",
            sink={"kind": "files", "remembers": remembers, **sink},
        )
    )


def _itself(file: File) -> None:
    file["producers"][0]["moved_by"] = "itself"


def _all_themselves(file: File) -> None:
    for producer in file["producers"]:
        producer["moved_by"] = "itself"


def _shared(file: File) -> None:
    """Two write the same topic, and each marks its records."""
    file["producers"].append(_application("returns", "orders"))
    for producer in file["producers"]:
        producer["identified_by"] = {"header": "app", "value": producer["name"]}


def _shared_unmarked(file: File) -> None:
    file["producers"].append(_application("returns", "orders"))


def _three_brokers(file: File) -> None:
    for cluster in file["clusters"].values():
        cluster["nodes"][0] |= {"brokers": 3, "controllers": 3}
        cluster["internal_topics"] = {name: {"replicas": 3, "min_insync_replicas": 2} for name in _INTERNAL}
    for topic in file["topics"]:
        topic |= {"replicas": 3, "min_insync_replicas": 2}


def _hooks(file: File) -> None:
    verbs = ("failover", "switchover", "failback", "fence", "unfence")
    file["hooks"] = {f"{when}_{verb}": f"HOOKS/{when}.yaml" for when in ("pre", "post") for verb in verbs}


def _canary(file: File) -> None:
    file["topics"].append({**file["topics"][1], "name": "canary"})
    file["replication"][0]["topics"].append(
        "canary",
    )
    file["producers"].append(_application("canary-writes", "canary", canary=True))
    file["consumers"].append(_application("canary-reads", "canary", kind="group", canary=True))


def _many_topics(file: File) -> None:
    for name in ("prices", "stock", "returns"):
        file["topics"].append({**file["topics"][0], "name": name, "partitions": 3})
        file["replication"][0]["topics"].append(name)
        file["producers"].append(_application(f"writes-{name}", name))
        file["consumers"].append(_application(f"reads-{name}", name, "orders", kind="group"))


def _part_mirrored(file: File) -> None:
    """Only one of the two topics has a mirror."""
    file["replication"][0]["topics"] = ["orders"]
    file["consumers"] = file["consumers"][:2]


def _no_producers(file: File) -> None:
    file["producers"] = []


def _no_consumers(file: File) -> None:
    file["consumers"] = []


def _records(file: File, records: int) -> None:
    file["failover"]["max_loss"] = {"records": records, "seconds": 60}


def _quiet(file: File) -> None:
    file["failover"]["quiet_after_move_s"] = 1800


def _unprincipled(file: File) -> None:
    file["producers"][0]["acks"] = "1"


def _consumers(key: str, value: str) -> Callable[[File], None]:
    def change(file: File) -> None:
        for consumer in file["consumers"]:
            consumer[key] = value

    return change


def _pattern(file: File) -> None:
    del file["consumers"][0]["topics"]
    file["consumers"][0]["pattern"] = "ord.*"


def _separator(file: File) -> None:
    file["replication"][0]["separator"] = "_"


def _unmanaged(file: File) -> None:
    file["replication"][0]["managed"] = False


FEATURES: Mapping[str, Callable[[File], None]] = {
    "identity": _identity,
    "query": _query,
    "query without memory": lambda file: _query(file, remembers="nothing"),
    "query that refuses": lambda file: _query(file, on_relocation="refuse"),
    "two queries": lambda file: (_query(file), _query(file, "audit"))[0],
    "itself": _itself,
    "all themselves": _all_themselves,
    "shared": _shared,
    "shared, unmarked": _shared_unmarked,
    "three brokers": _three_brokers,
    "hooks": _hooks,
    "canary": _canary,
    "many topics": _many_topics,
    "part mirrored": _part_mirrored,
    "no producers": _no_producers,
    "no consumers": _no_consumers,
    "no loss": lambda file: _records(file, 0),
    "little loss": lambda file: _records(file, 3),
    "quiet": _quiet,
    "acks 1": _unprincipled,
    "earliest": _consumers("on_untranslatable", "earliest"),
    "timestamp": _consumers("on_untranslatable", "timestamp"),
    "ordered": _consumers("order", "required"),
    "no duplicates": _consumers("duplicates", "refused"),
    "pattern": _pattern,
    "separator": _separator,
    "unmanaged": _unmanaged,
}
"""What a situation may change in the file."""


def topology_text(features: Iterable[str]) -> str:
    """The topology file with these features."""
    file = small()
    for feature in features:
        FEATURES[feature](file)
    return json.dumps(file)
