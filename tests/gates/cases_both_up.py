"""What closes the gates while both sites are up."""

from __future__ import annotations

from tests.gates import breaking as b
from tests.gates import files
from tests.gates.case import (
    ANOTHER_CLUSTER,
    ANSWERS,
    HELD,
    IN_SYNC,
    LOCKED,
    NO_HOST,
    NO_INVENTORY,
    NO_WORKER,
    NOT_READ,
    OF_A_MOVE,
    OWN,
    SMALLER,
    STOPPED,
    WATCHER_SILENT,
    Case,
    no_ensemble,
    silent,
)

_ANY_LOSS = ("--accept-loss", "1000000")
WHILE_BOTH_ARE_UP = ("switchover", "fence", "unfence", "leaders", "apply")
"""Verbs that can be asked for as long as nothing is lost, a move first."""

BOTH_UP = (
    Case(
        name="the ensemble is stopped",
        state="both up",
        breaks=b.ensemble_stopped,
        unknown={
            "switchover": no_ensemble(*OF_A_MOVE),
            "fence": no_ensemble("coordination", "not-held", "same-clusters"),
            "unfence": no_ensemble("coordination", "not-held", "same-clusters", "primary-here"),
            "leaders": no_ensemble("coordination", "not-held", "same-clusters"),
            "apply": no_ensemble("coordination", "not-held", "same-clusters", "moves-ended"),
        },
    ),
    Case(
        name="somebody else is at it",
        state="both up",
        breaks=b.lock_held,
        refused={verb: {"coordination": LOCKED} for verb in WHILE_BOTH_ARE_UP},
    ),
    Case(
        name="a hold stands",
        state="both up",
        breaks=b.held,
        refused={verb: {"not-held": HELD} for verb in WHILE_BOTH_ARE_UP},
    ),
    Case(
        name="west was another cluster",
        state="both up",
        breaks=b.another_cluster_remembered("west"),
        refused={
            "switchover": {"same-clusters": ANOTHER_CLUSTER, "watcher-alive": WATCHER_SILENT},
            **{verb: {"same-clusters": ANOTHER_CLUSTER} for verb in WHILE_BOTH_ARE_UP[1:]},
        },
    ),
    Case(
        name="nobody attests, and the source answers",
        state="both up",
        # Of a site that is not lost positions and possible losses age while it is looked at.
        breaks=b.file_says(files.any_age, instead={"failover": ("--to", "east", *_ANY_LOSS)}),
        refused={
            "failover": {
                "attested": ("nobody attests that west is down", "--attest-down west"),
                "source-unreachable": ANSWERS,
            }
        },
    ),
    Case(
        name="nothing was moved",
        state="both up",
        breaks=b.nothing,
        refused={"failback": {"moved-away": ("nothing can be moved back", "dcctl switchover")}},
        # Nobody has left the logs, so nobody has recorded how they stood.
        unknown={"failback": {"returned-log": ("is not recorded: orders-0", "--accept-unrecorded")}},
    ),
    Case(
        name="a landing topic is deleted",
        state="both up",
        breaks=b.landing_topic_deleted("orders"),
        refused={"switchover": {"target-topics": ("orders does not exist", "create these topics at east")}},
    ),
    Case(
        name="a copy takes smaller records than its source",
        state="both up",
        breaks=b.takes_smaller_records("east", "west.payments"),
        refused={"switchover": {"sides-agree": SMALLER}},
    ),
    Case(
        name="a connector is deleted",
        state="both up",
        breaks=b.connector_deleted("checkpoint"),
        refused={
            "switchover": {
                "mirror-controlled": ("Connect has no connector west-to-east-checkpoint", "dcctl apply")
            }
        },
    ),
    Case(
        name="a connector is stopped",
        state="both up",
        breaks=b.connector_stopped("source"),
        refused={"switchover": {"mirror-running": ("west-to-east-source STOPPED", "dcctl apply")}},
    ),
    Case(
        name="a task of the mirror has failed",
        state="both up",
        breaks=b.task_failed,
        refused={"switchover": {"mirror-running": ("west-to-east-source RUNNING, but task", "dcctl apply")}},
    ),
    Case(
        name="the mirror passes over what it cannot write",
        state="both up",
        breaks=b.errors_tolerated,
        refused={
            "switchover": {
                "mirror-trusted": (
                    "errors.tolerance=all",
                    "remove it from the configuration of west-to-east-source",
                )
            }
        },
    ),
    Case(
        name="the worker is stopped",
        state="both up",
        breaks=b.worker_stopped(),
        unknown={
            "switchover": dict.fromkeys(
                ("mirror-controlled", "mirror-trusted", "mirror-running", "mirror-lag", "sides-agree"),
                NO_WORKER,
            ),
            "apply": {"clusters-known": ("east: connectors: Connect at east", "make it readable first")},
        },
    ),
    Case(
        name="a group has a member at the target",
        state="both up",
        breaks=b.member_at_target,
        refused={
            "switchover": {
                "groups-idle": ("with members at east: billing (1)", "stop these consumers at east first")
            }
        },
    ),
    Case(
        name="the watcher is stopped",
        state="both up",
        breaks=b.watcher_stopped("watch"),
        refused={"switchover": {"watcher-alive": WATCHER_SILENT}},
    ),
    Case(
        name="too few in sync at the source",
        state="both up",
        breaks=b.not_in_sync("west", "payments"),
        refused={"switchover": {"source-healthy": (IN_SYNC, "repair west first")}},
    ),
    Case(
        name="too few in sync at the target",
        state="both up",
        breaks=b.not_in_sync("east", "payments"),
        refused={"switchover": {"target-healthy": (IN_SYNC, "bring the brokers of east back first")}},
    ),
    Case(
        name="dcctl may not read the groups at the source",
        state="both up",
        breaks=b.not_allowed("west", ("DESCRIBE", "GROUP", "*")),
        unknown={"switchover": {"positions-known": NOT_READ}},
    ),
    Case(
        name="dcctl may not read the source's settings",
        state="both up",
        breaks=b.not_allowed(
            "west", ("DESCRIBE_CONFIGS", "TOPIC", "*"), ("DESCRIBE_CONFIGS", "CLUSTER", "kafka-cluster")
        ),
        unknown={
            "switchover": dict.fromkeys(("source-healthy", "fenceable", "sides-agree"), NOT_READ),
            "fence": {"fenceable": NOT_READ},
        },
    ),
    Case(
        name="dcctl may not read what stands by",
        state="both up",
        breaks=b.not_allowed("east", ("DESCRIBE_CONFIGS", "TOPIC", "*"), ("DESCRIBE", "GROUP", "*")),
        unknown={
            "switchover": dict.fromkeys(
                ("target-healthy", "target-topics", "groups-idle", "sides-agree"), NOT_READ
            )
        },
    ),
    Case(
        name="dcctl may not read the samples",
        state="both up",
        breaks=b.not_allowed("east", ("READ", "TOPIC", "dcctl-samples.west.internal")),
        unknown={
            "switchover": dict.fromkeys(("mirror-trusted", "watcher-alive", "positions-known"), NOT_READ)
        },
    ),
    Case(
        name="the source is paused",
        state="both up",
        # How much is lost grows while a site that does not answer is asked: a person accepts it.
        breaks=b.site_paused(
            "west", instead={"failover": ("--to", "east", "--attest-down", "west", *_ANY_LOSS)}
        ),
        unknown={
            "failover": {"source-unreachable": ("does not answer as Kafka", "stop the brokers of west")},
            "switchover": dict.fromkeys(
                ("source-healthy", "mirror-lag", "positions-known", "fenceable", "sides-agree"),
                silent("west"),
            ),
            "fence": dict.fromkeys(("reachable", "fenceable"), ("cluster west: ", "")),
            "unfence": {"reachable": silent("west")},
            "leaders": dict.fromkeys(("reachable", "leaders-known"), ("cluster west: ", "")),
            "apply": {"clusters-known": ("west: ", "make it readable first")},
        },
        is_readable=False,
    ),
    Case(
        name="a producer has dcctl's own login",
        state="both up",
        breaks=b.file_says(files.as_operator),
        refused={"switchover": {"fenceable": OWN}, "fence": {"fenceable": OWN}},
    ),
    Case(
        name="the inventory has no host there",
        state="both up",
        breaks=files.hosts_only_in("west"),
        refused={"switchover": {"clients-startable": NO_HOST}},
    ),
    Case(
        name="the inventory is not there",
        state="both up",
        breaks=b.file_says(files.no_inventory_file),
        unknown={"switchover": {"clients-startable": NO_INVENTORY}},
    ),
    Case(
        name="the file wants a broker more",
        state="both up",
        breaks=b.file_says(files.one_broker_more),
        refused={"apply": {"brokers-alive": ("west has 1 of 2 brokers", "start these brokers")}},
    ),
    Case(
        name="the file wants fewer partitions",
        state="both up",
        breaks=b.file_says(files.fewer_partitions),
        refused={"apply": {"possible": ("partitions 2, the file says 1", "Kafka cannot remove a partition")}},
    ),
    Case(
        name="a switchover was killed",
        state="both up",
        breaks=b.run_stopped_at("record-rules", "switchover", "--to", "east", "--yes"),
        refused={
            "switchover": {"needed": STOPPED},
            "apply": {"moves-ended": ("stopped on the way", "dcctl resume ")},
        },
    ),
    Case(
        name="what was mirrored is deleted",
        state="both up",
        breaks=b.records_deleted("east", "west.payments"),
        refused={
            "switchover": {"positions-known": ("is gone: the target's log starts at", "on_untranslatable")}
        },
    ),
)
