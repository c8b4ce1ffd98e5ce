"""What closes the gates of a failback, once the site is back."""

from __future__ import annotations

from tests.gates import breaking as b
from tests.gates import files
from tests.gates.case import (
    ANOTHER_CLUSTER,
    HELD,
    IN_SYNC,
    LOCKED,
    NO_HOST,
    NO_INVENTORY,
    NOT_READ,
    OF_A_MOVE,
    OWN,
    SMALLER,
    STOPPED,
    Case,
    no_ensemble,
    silent,
)

_NOT_AGAIN_YET = ("would move to and fro", "--acknowledge")

RETURNED = (
    Case(
        name="the ensemble is stopped",
        state="returned",
        breaks=b.ensemble_stopped,
        unknown={"failback": no_ensemble(*OF_A_MOVE, "moved-away", "same-topics", "returned-log")},
    ),
    Case(
        name="somebody else is at it",
        state="returned",
        breaks=b.lock_held,
        refused={"failback": {"coordination": LOCKED}},
    ),
    Case(name="a hold stands", state="returned", breaks=b.held, refused={"failback": {"not-held": HELD}}),
    Case(
        name="west was another cluster",
        state="returned",
        breaks=b.another_cluster_remembered("west"),
        refused={"failback": {"same-clusters": ANOTHER_CLUSTER}},
    ),
    Case(
        name="the other side is primary",
        state="returned",
        breaks=b.nothing,
        refused={
            "unfence": {"primary-here": ("write at a second primary", "dcctl failback FILE makes west")}
        },
    ),
    Case(
        name="nobody answers for another move so soon",
        state="returned",
        breaks=b.asked(instead={"failback": ()}),
        refused={"failback": {"not-flapping": _NOT_AGAIN_YET}},
    ),
    Case(
        name="a copy takes smaller records than its source",
        state="returned",
        breaks=b.takes_smaller_records("east", "west.payments"),
        refused={"failback": {"sides-agree": SMALLER}},
    ),
    Case(
        name="a connector is deleted",
        state="returned",
        breaks=b.connector_deleted("heartbeat"),
        refused={
            "failback": {
                "mirror-there": ("Connect has no connector west-to-east-heartbeat", "initial_state STOPPED")
            }
        },
    ),
    Case(
        name="the worker is stopped",
        state="returned",
        breaks=b.worker_stopped(),
        unknown={
            "failback": dict.fromkeys(
                ("returned-log", "mirror-there", "mirror-trusted", "sides-agree"),
                ("Connect at east: no worker", "is the worker up"),
            )
        },
    ),
    Case(
        name="too few in sync at the standby",
        state="returned",
        breaks=b.not_in_sync("east", "payments"),
        refused={"failback": {"standby-healthy": (IN_SYNC, "repair east first")}},
    ),
    Case(
        name="too few in sync at the returned primary",
        state="returned",
        breaks=b.not_in_sync("west", "payments"),
        refused={"failback": {"target-healthy": (IN_SYNC, "bring the brokers of west back first")}},
    ),
    Case(
        name="the checkpoint of a query is not there",
        state="returned",
        breaks=b.file_says(files.a_query),
        unknown={"failback": {"queries": ("has no `metadata` file", "is this a Spark checkpoint?")}},
    ),
    Case(
        name="a producer has dcctl's own login",
        state="returned",
        breaks=b.file_says(files.as_operator),
        refused={"failback": {"fenceable": OWN, "fenceable-returned": OWN}},
    ),
    Case(
        name="the inventory has no host there",
        state="returned",
        breaks=files.hosts_only_in("east"),
        refused={"failback": {"clients-startable": NO_HOST}},
    ),
    Case(
        name="the inventory is not there",
        state="returned",
        breaks=b.file_says(files.no_inventory_file),
        unknown={"failback": {"clients-startable": NO_INVENTORY}},
    ),
    Case(
        name="dcctl may not read the samples",
        state="returned",
        breaks=b.not_allowed("east", ("READ", "TOPIC", "dcctl-samples.west.internal")),
        # The failover has recorded how the logs stood: who wrote the copies is known of the samples alone.
        unknown={"failback": {"mirror-trusted": NOT_READ}},
    ),
    Case(
        name="dcctl may not read what is at the standby",
        state="returned",
        breaks=b.not_allowed(
            "east",
            ("DESCRIBE_CONFIGS", "TOPIC", "*"),
            ("DESCRIBE_CONFIGS", "CLUSTER", "kafka-cluster"),
            ("DESCRIBE", "GROUP", "*"),
        ),
        unknown={
            "failback": dict.fromkeys(
                ("standby-healthy", "positions-known", "fenceable", "sides-agree"), NOT_READ
            )
        },
    ),
    Case(
        name="the returned primary is paused",
        state="returned",
        breaks=b.site_paused("west"),
        unknown={
            "failback": dict.fromkeys(
                ("target-healthy", "same-topics", "returned-log", "fenceable-returned", "sides-agree"),
                silent("west"),
            )
        },
        is_readable=False,
    ),
    Case(
        name="a failback was killed",
        state="returned",
        breaks=b.run_stopped_at(
            "record-returned-rules", "failback", "--acknowledge", "test: at once", "--yes"
        ),
        refused={
            "failback": {"needed": STOPPED},
            "switchover": {
                "needed": STOPPED,
                "not-flapping": _NOT_AGAIN_YET,
                "source-primary": ("primary at east, by run", "dcctl history"),
                "mirror-running": ("west-to-east-source STOPPED", "dcctl apply"),
            },
            "failover": {
                "needed": STOPPED,
                "not-flapping": _NOT_AGAIN_YET,
                "source-primary": ("primary at east, by run", "dcctl history"),
                "loss-within-budget": ("more than the budget", "--accept-loss "),
            },
        },
    ),
    Case(
        name="a topic was never there",
        state="returned",
        breaks=b.file_says(files.one_topic_more),
        refused={
            "failback": {
                "same-topics": ("refunds does not exist", "does not continue the copies"),
            }
        },
        unknown={"failback": {"returned-log": ("UNKNOWN_TOPIC_OR_PART", "is the topic there?")}},
    ),
    Case(
        name="what was not copied is deleted",
        state="returned",
        breaks=b.records_deleted("west", "payments"),
        refused={
            "failback": {"returned-log": ("deleted by retention before they were copied", "--accept-loss ")}
        },
    ),
)
