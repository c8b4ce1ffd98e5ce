"""What closes the gates of a failover, once the site is lost."""

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
    NO_WORKER,
    NOT_READ,
    OF_A_MOVE,
    STOPPED,
    WATCHER_SILENT,
    Case,
    no_ensemble,
    silent,
)

LOST = (
    Case(
        name="the ensemble is stopped",
        state="lost",
        breaks=b.ensemble_stopped,
        unknown={"failover": no_ensemble(*OF_A_MOVE)},
    ),
    Case(
        name="somebody else is at it",
        state="lost",
        breaks=b.lock_held,
        refused={"failover": {"coordination": LOCKED}},
    ),
    Case(
        name="the ensemble is given up, but answers",
        state="lost",
        breaks=b.asked(options=("--without-coordination", "--reason", "fire")),
        refused={
            "failover": {
                "coordination": ("there is no need to do without it", "leave out --without-coordination")
            }
        },
    ),
    Case(name="a hold stands", state="lost", breaks=b.held, refused={"failover": {"not-held": HELD}}),
    Case(
        name="east was another cluster",
        state="lost",
        breaks=b.another_cluster_remembered("east"),
        refused={"failover": {"same-clusters": ANOTHER_CLUSTER, "watcher-alive": WATCHER_SILENT}},
    ),
    Case(
        name="nobody attests",
        state="lost",
        breaks=b.asked(instead={"failover": ("--to", "east")}),
        refused={"failover": {"attested": ("nobody attests that west is down", "--attest-down west")}},
    ),
    Case(
        name="a landing topic is deleted",
        state="lost",
        breaks=b.landing_topic_deleted("orders"),
        refused={"failover": {"target-topics": ("orders does not exist", "create these topics at east")}},
    ),
    Case(
        name="a connector is deleted",
        state="lost",
        breaks=b.connector_deleted("heartbeat"),
        refused={
            "failover": {
                "mirror-controlled": (
                    "Connect has no connector west-to-east-heartbeat",
                    "has to be created again",
                )
            }
        },
    ),
    Case(
        name="the mirror passes over what it cannot write",
        state="lost",
        breaks=b.errors_tolerated,
        refused={
            "failover": {
                "mirror-trusted": (
                    "errors.tolerance=all",
                    "remove it from the configuration of west-to-east-source",
                )
            }
        },
    ),
    Case(
        name="the worker is stopped",
        state="lost",
        breaks=b.worker_stopped(),
        unknown={"failover": {"mirror-controlled": NO_WORKER, "mirror-trusted": NO_WORKER}},
    ),
    Case(
        name="a group has a member at the target",
        state="lost",
        breaks=b.member_at_target,
        refused={
            "failover": {
                "groups-idle": ("with members at east: billing (1)", "stop these consumers at east first")
            }
        },
    ),
    Case(
        name="the watcher is stopped",
        state="lost",
        breaks=b.watcher_stopped("watch"),
        refused={"failover": {"watcher-alive": WATCHER_SILENT}},
    ),
    Case(
        name="too few in sync at the target",
        state="lost",
        breaks=b.not_in_sync("east", "payments"),
        refused={"failover": {"target-healthy": (IN_SYNC, "bring the brokers of east back first")}},
    ),
    Case(
        name="positions may be no older than they can be",
        state="lost",
        breaks=b.file_says(files.no_age_at_all),
        refused={
            "failover": {
                "watcher-alive": WATCHER_SILENT,
                "positions-fresh": (
                    "recorded positions older than 0.01 s: billing orders-0",
                    "the watcher was slow when west was lost",
                ),
            }
        },
    ),
    Case(
        name="a group was never seen",
        state="lost",
        breaks=b.file_says(files.another_group),
        refused={
            "failover": {
                "positions-fresh": ("never recorded a position of newcomer", "take newcomer out of the file")
            }
        },
    ),
    Case(
        name="a query has no copy",
        state="lost",
        breaks=b.file_says(files.a_query),
        refused={
            "failover": {
                "checkpoints-copied": (
                    "revenue: there is no copy of its checkpoint",
                    "take the query out of the file",
                )
            }
        },
    ),
    Case(
        name="no loss is allowed",
        state="lost",
        breaks=b.asked(options=("--accept-loss", "0")),
        refused={"failover": {"loss-within-budget": ("more than the budget", "--accept-loss ")}},
    ),
    Case(
        name="the inventory has no host there",
        state="lost",
        breaks=files.hosts_only_in("west"),
        refused={"failover": {"clients-startable": NO_HOST}},
    ),
    Case(
        name="the inventory is not there",
        state="lost",
        breaks=b.file_says(files.no_inventory_file),
        unknown={"failover": {"clients-startable": NO_INVENTORY}},
    ),
    Case(
        name="dcctl may not read the samples",
        state="lost",
        breaks=b.not_allowed("east", ("READ", "TOPIC", "dcctl-samples.west.internal")),
        unknown={
            "failover": dict.fromkeys(
                (
                    "source-unreachable",
                    "mirror-trusted",
                    "watcher-alive",
                    "positions-fresh",
                    "map-complete",
                    "loss-within-budget",
                    "checkpoints-copied",
                ),
                NOT_READ,
            )
        },
    ),
    Case(
        name="dcctl may not read the offset syncs",
        state="lost",
        breaks=b.not_allowed("east", ("READ", "TOPIC", "mm2-offset-syncs.west.internal")),
        unknown={
            "failover": dict.fromkeys(("positions-fresh", "map-complete", "loss-within-budget"), NOT_READ)
        },
    ),
    Case(
        name="dcctl may not read what stands by",
        state="lost",
        breaks=b.not_allowed("east", ("DESCRIBE_CONFIGS", "TOPIC", "*"), ("DESCRIBE", "GROUP", "*")),
        unknown={"failover": dict.fromkeys(("target-healthy", "target-topics", "groups-idle"), NOT_READ)},
    ),
    Case(
        name="the target is paused",
        state="lost",
        breaks=b.site_paused("east"),
        unknown={
            "failover": {
                "mirror-controlled": NO_WORKER,
                "mirror-trusted": NO_WORKER,
                **dict.fromkeys(
                    (
                        "source-unreachable",
                        "target-healthy",
                        "target-topics",
                        "watcher-alive",
                        "positions-fresh",
                        "map-complete",
                        "loss-within-budget",
                        "checkpoints-copied",
                        "groups-idle",
                    ),
                    silent("east"),
                ),
            }
        },
        is_readable=False,
    ),
    Case(
        name="a failover was killed",
        state="lost",
        breaks=b.run_stopped_at("let-land", "failover", "--to", "east", "--attest-down", "west", "--yes"),
        refused={"failover": {"needed": STOPPED}},
    ),
    Case(
        name="what was mirrored is deleted",
        state="lost",
        breaks=b.records_deleted("east", "west.payments"),
        refused={"failover": {"map-complete": ("is gone: the target's log starts at", "on_untranslatable")}},
    ),
)
