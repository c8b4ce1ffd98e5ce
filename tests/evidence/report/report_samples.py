"""Reports as a drill would leave them, built by code so that their figures agree with each other."""

from __future__ import annotations

import math
from typing import Any

FAULT_S = 1_772_334_765.4  # 2026-03-01 03:12:45.4 UTC
SECONDS = range(-60, 76)
RATE = 1000  # records/s of each topic
TOPICS = {"orders": 4, "payments": 3}
# consumer -> topics, records behind at the fault, records per second it can process
CONSUMERS: dict[str, tuple[tuple[str, ...], int, int]] = {
    "billing": (("orders",), 0, 6000),
    "shipping": (("orders",), 100, 6000),
    "fraud": (("orders", "payments"), 5_000, 7000),
    "reporting": (("orders",), 50_000, 4000),
    "search": (("payments",), 340, 5000),
    "archive": (("payments",), 21_500, 0),
    "revenue": (("orders",), 1_900, 5000),
}
PRODUCER_RTO = {"checkout": 9.8, "settlement": 10.1}
CONSUMER_RTO = {
    "billing": 11.2,
    "shipping": 11.2,
    "fraud": 11.6,
    "reporting": 11.3,
    "search": 11.4,
    "archive": 11.5,
    "revenue": 19.7,
}
PHASES = (
    ("detect", 3.1),
    ("decide", 1.2),
    ("fence", 0.9),
    ("translate", 1.6),
    ("relocate", 0.7),
    ("redirect", 2.1),
    ("verify", 4.4),
)
TAILS = {"orders": 731, "payments": 581}
# The least each could be, what was expected, and the most: rate x (age of the sample + flush interval).
LOSSES = {"orders": (402, 655, 1_420), "payments": (377, 610, 1_385)}
# What a group would have read again from there includes what it had not committed.
MIRRORMAKER = {
    "billing": 176,
    "shipping": 310,
    "fraud": 6_343,
    "reporting": 49_979,
    "search": 449,
    "archive": 24_077,
}


def valid_report() -> dict[str, Any]:
    """All went as it had been stated."""
    return {
        "format_version": 1,
        "topology": "payments",
        "scenario": "site-loss",
        "backend": "process",
        "versions": {
            "kafka": "4.3.1",
            "spark": "4.0.0",
            "python": "3.11.9",
            "java": "17.0.13",
            "dcctl": "0.1.0",
        },
        "environment": {"cpus": 2, "memory_mb": 7941, "system": "Linux 6.1"},
        "started_at": "2026-03-01T03:11:20Z",
        "finished_at": "2026-03-01T03:14:32Z",
        "seed": 42,
        "run_id": "20260301-031249-failover-east",
        "verdict": "valid",
        "reasons": [
            "1,312 acknowledged records lost, within the stated bounds of every topic",
            "0 holes, 0 duplicates, 0 records out of order",
            "0 records skipped; every record read again has one of the three causes",
        ],
        "fault": {"kind": "kill", "targets": ["west"], "started_at": FAULT_S, "verified": True},
        "phases": _phases(),
        "rto": {
            "seconds": max(CONSUMER_RTO.values()),
            "per_producer": PRODUCER_RTO,
            "per_consumer": CONSUMER_RTO,
            "per_topic": {"checkout": {"orders": 9.8}, "settlement": {"payments": 10.1}},
            "clocks": {
                "checkout": {"before_s": -0.004, "after_s": 61.94, "plus_minus_s": 0.024},
                "settlement": {"before_s": None, "after_s": None, "plus_minus_s": None},
            },
            "limit_s": 60.0,
            "decision_to_first_ack_s": 5.5,
            "decision_to_first_record_s": 6.9,
        },
        "clusters": {"west": {"topics": {name: _topic(name) for name in TOPICS}}},
        "predicted": _predicted(),
        "consumers": [row for name in CONSUMERS for row in _consumer(name)],
        "spark": [
            {
                "query": "revenue",
                "batches_before": 58,
                "batches_after": 31,
                "state_rows": 5000,
                "restart_s": {"session": 6.8, "first_batch": 1.9},
                "counts_match": True,
            }
        ],
        "gates": _gates(),
        "steps": _steps(),
        "plan": {
            "description": [
                "Stop the mirror west → east and its group sync.",
                "Lose 1,265 records (at most 2,805) of 2 topics.",
                "Move 6 groups and 1 Spark query to explicit offsets; none is read again because of the translation.",
                "Start 2 producers and 7 consumers at east.",
            ],
            "loss_budget": {"records": 20_000, "seconds": 10.0},
            "accepted_loss": None,
        },
        "timeline": _timeline(),
        "series": _series(),
    }


def invalid_report() -> dict[str, Any]:
    """Some mirrored records are missing, some are there twice, and one producer never came back."""
    report = valid_report()
    orders = report["clusters"]["west"]["topics"]["orders"]
    orders["lost"]["hole"] = 212
    orders["present"] -= 212
    orders["duplicates"] = 37
    orders["partitions"] = [
        {
            "partition": 2,
            "topic": "west.orders",
            "hole": 212,
            "duplicates": 0,
            "detail": "first missing: checkout 81 004, between offsets 20 250 and 20 251",
        },
        {"partition": 3, "topic": "west.orders", "duplicates": 37, "detail": "first at offset 20 911"},
    ]
    report["predicted"]["loss"]["payments"] = {"at_least": 377, "expected": 402, "at_most": 540}
    report["consumers"][0]["skipped"] = 53
    report["rto"]["per_producer"] = {"checkout": 9.8, "settlement": None}
    report["rto"]["seconds"] = None
    report["spark"][0]["counts_match"] = False
    report["steps"][-1] |= {
        "outcome": "failed",
        "detail": "producer settlement: no acknowledgement within 60 s",
    }
    report["verdict"] = "invalid"
    report["sabotage"] = "records"
    report["reasons"] = [
        "west.orders-2: 212 records below the replicated position are missing (holes)",
        "west.orders-3: 37 records are there twice",
        "payments: 581 records lost, stated were at most 540",
        "billing skipped 53 records of orders-0",
        "producer settlement was not seen again within 60 s",
    ]
    return report


def unknown_report() -> dict[str, Any]:
    """The audit could not read everything."""
    report = valid_report()
    payments = report["clusters"]["west"]["topics"]["payments"]
    payments |= {"present": None, "duplicates": None, "reordered": None, "lost": {"tail": None, "hole": None}}
    for row in report["consumers"]:
        if row["topic"] == "payments":
            row["reread"] = {"map": 0, "position_age": None, "uncommitted": None}
            row["skipped"] = row["processed_but_lost"] = None
    report["spark"][0]["counts_match"] = None
    report["fault"]["verified"] = None
    report["verdict"] = "unknown"
    report["reasons"] = ["payments-1 at east could not be read to its end: 3 of 7 partitions are not audited"]
    return report


def refused_report() -> dict[str, Any]:
    """A budget of 0 refused the failover: nothing was changed, as had been stated."""
    report = valid_report()
    report["gates"][3] |= {
        "outcome": "refused",
        "measured": "2,805 records at most",
        "limit": "0 records",
        "reason": "more than the budget would be lost",
        "hint": "dcctl failover … --accept-loss 2805, if that can be borne",
    }
    never = dict.fromkeys
    for line in (*report["series"]["producers"], *report["series"]["consumers"]):
        for values in (line.get("acked_per_s"), line.get("processed_per_s")):
            if values is not None:
                values[:] = [0.0 if t >= 0 else value for t, value in zip(line["t_s"], values, strict=True)]
        lags = line.get("lag_records", [])
        lags[:] = [lags[-SECONDS.start] if t >= 0 else lag for t, lag in zip(line["t_s"], lags, strict=False)]
    report["timeline"] = [event for event in report["timeline"] if event["at_s"] <= FAULT_S + 4]
    report |= {"steps": [], "consumers": [], "spark": [], "phases": _phases()[:2], "verdict": "valid"}
    report["reasons"] = ["the failover was refused, as stated, and nothing was changed"]
    report["rto"] = {
        "seconds": None,
        "per_producer": never(PRODUCER_RTO),
        "per_consumer": never(CONSUMER_RTO),
    }
    return report


def minimal_report() -> dict[str, Any]:
    """Nothing but what a report must have."""
    return {
        "topology": "empty",
        "scenario": "site-loss",
        "backend": "process",
        "versions": {},
        "started_at": "2026-03-01T03:11:20Z",
        "seed": None,
        "verdict": "unknown",
        "reasons": [],
        "fault": None,
        "rto": {"seconds": None},
    }


def _phases() -> list[dict[str, Any]]:
    rows, at_s = [], FAULT_S
    for name, seconds in PHASES:
        rows.append({"name": name, "seconds": seconds, "started_at_s": round(at_s, 3)})
        at_s += seconds
    return rows


def _topic(name: str) -> dict[str, Any]:
    acked = 100_000 + RATE * (60 + 64) + 17 * len(name)
    return {
        "acked": acked,
        "present": acked - TAILS[name],
        "lost": {"tail": TAILS[name], "hole": 0},
        "quarantined": 0,
        "duplicates": 0,
        "reordered": 0,
        "indeterminate": {"present": 41, "absent": 12},
        "resent_copies": 41,
        "partitions": [],
    }


def _predicted() -> dict[str, Any]:
    return {
        "loss": {
            name: {
                "at_least": least,
                "expected": expected,
                "at_most": most,
                "rate_records_per_s": float(RATE),
                "sample_age_s": 0.4,
                "flush_interval_s": 1.0,
            }
            for name, (least, expected, most) in LOSSES.items()
        },
        "reread": {name: {"map": 0, "position_age": _age_reread(name)} for name in CONSUMERS},
        "seconds": 14.0,
    }


def _age_reread(name: str) -> int:
    return {"archive": 0, "revenue": 0, "reporting": 212}.get(name, 84)


def _spread(value: int, parts: int) -> list[int]:
    return [value // parts + (index < value % parts) for index in range(parts)]


def _consumer(name: str) -> list[dict[str, Any]]:
    topics, behind, _ = CONSUMERS[name]
    places = [(topic, partition) for topic in topics for partition in range(TOPICS[topic])]
    count = len(places)
    age, uncommitted = _spread(_age_reread(name), count), _spread(0 if name == "archive" else 55, count)
    lost = _spread(0 if behind > 1_000 else 590, count)
    theirs = _spread(MIRRORMAKER[name], count) if name in MIRRORMAKER else [None] * count
    rows = []
    for index, (topic, partition) in enumerate(places):
        position = 40_000 + 321 * partition - _spread(behind, count)[index]
        rows.append(
            {
                "name": name,
                "kind": "spark" if name == "revenue" else "group",
                "source": "west",
                "topic": topic,
                "partition": partition,
                "source_offset": position,
                "position_age_s": 0.4,
                "target_offset": position + 7 * partition,
                "exact": True,
                "reread": {"map": 0, "position_age": age[index], "uncommitted": uncommitted[index]},
                "skipped": 0,
                "processed_but_lost": lost[index],
                "mirrormaker_reread": theirs[index],
                "behind": _spread(behind, count)[index],
                "target_topic": f"west.{topic}",
            }
        )
    rows += [
        row
        | {"source_offset": None, "position_age_s": None, "target_offset": 0, "target_topic": row["topic"]}
        | {"reread": {"map": 0, "position_age": 0, "uncommitted": 0}, "processed_but_lost": 0, "behind": 0}
        | {"mirrormaker_reread": None, "source": "east", "reason": "landing topic: from where it stood"}
        for row in rows
        if row["partition"] == 0
    ]
    return rows


def _gates() -> list[dict[str, Any]]:
    rows = (
        (
            "source-unreachable",
            "0 of 3 brokers answer",
            "none",
            "west is attested down, and nothing of it answers",
        ),
        ("map-complete", "7 of 7 partitions", "every partition", "the offset map covers every partition"),
        ("positions-fresh", "0.4 s", "5 s", "positions were sampled shortly before the loss"),
        (
            "loss-within-budget",
            "2,805 records at most",
            "20,000 records",
            "the predicted loss is within the budget",
        ),
        (
            "target-healthy",
            "3 of 3 brokers, 0 partitions under-replicated",
            "all in sync",
            "east can take the work",
        ),
    )
    return [
        {"id": name, "outcome": "ok", "measured": measured, "limit": limit, "reason": reason, "hint": ""}
        for name, measured, limit, reason in rows
    ]


def _steps() -> list[dict[str, Any]]:
    rows = (
        ("stop-mirror", "fence", "mirror.stop", "Stop the mirror's connectors and its group sync", 0.31),
        ("record-fence", "fence", "offsets.fence", "Record the end offsets of the mirrored topics", 0.09),
        ("read-syncs", "translate", "map.read", "Read the offset syncs to their end: 18,204 of them", 0.84),
        ("save-offsets", "translate", "offsets.save", "Save what stood at the target before", 0.12),
        (
            "write-offsets",
            "translate",
            "offsets.write",
            "Write explicit offsets of 6 groups on 31 partitions",
            0.41,
        ),
        ("move-revenue", "relocate", "spark.relocate", "Relocate the checkpoint of revenue", 0.66),
        ("start-producers", "redirect", "clients.start", "Start 2 producers at east", 1.02),
        ("start-consumers", "redirect", "clients.start", "Start 7 consumers at east", 1.05),
        ("verify-progress", "verify", "clients.verify", "See every client make progress at east", 4.21),
    )
    steps, at_s = [], FAULT_S + 4.3
    for name, phase, action, description, seconds in rows:
        steps.append(
            {
                "id": name,
                "phase": phase,
                "action": action,
                "description": description,
                "outcome": "ok",
                "started_at_s": round(at_s, 3),
                "seconds": seconds,
                "detail": "",
            }
        )
        at_s += seconds + 0.05
    return steps


def _timeline() -> list[dict[str, Any]]:
    events = [
        (-58.0, "workload started at west", "event"),
        (0.0, "west killed", "fault"),
        (0.3, "kill verified", "event"),
    ]
    at_s = 0.0
    for name, seconds in PHASES:
        events.append((round(at_s, 1), name, "phase"))
        at_s += seconds
    events += [
        (9.8, "first acknowledged write at east", "event"),
        (11.2, "first processed record at east", "event"),
    ]
    return [{"at_s": FAULT_S + at_s, "name": name, "kind": kind} for at_s, name, kind in sorted(events)]


def _series() -> dict[str, Any]:
    axis = [float(second) for second in SECONDS]
    producers = [
        {
            "name": name,
            "t_s": axis,
            "acked_per_s": [
                0.0 if 0 <= t < back else float(round(RATE + 40 * math.sin(t * 1.7 + len(name))))
                for t in axis
            ],
        }
        for name, back in PRODUCER_RTO.items()
    ]
    return {"producers": producers, "consumers": [_consumer_series(name, axis) for name in CONSUMERS]}


def _consumer_series(name: str, axis: list[float]) -> dict[str, Any]:
    topics, behind, most = CONSUMERS[name]
    rate = RATE * len(topics)
    back, writes_back = CONSUMER_RTO[name], PRODUCER_RTO["checkout"]
    lag, lags, processed = float(behind), [], []
    for t in axis:
        if t < 0:
            done = float(rate if most else 0)
            lag = behind + 20 * (1 + math.sin(t)) if most else max(0.0, behind + rate * t)
            done = done if most else 0.0
        else:
            arriving = rate if t >= writes_back else 0
            done = min(float(most), lag + arriving) if t >= back else 0.0
            lag += arriving - done
        lags.append(round(lag, 1))
        processed.append(round(done, 1))
    return {"name": name, "t_s": axis, "processed_per_s": processed, "lag_records": lags}


SAMPLES = {
    "valid": valid_report,
    "invalid": invalid_report,
    "unknown": unknown_report,
    "refused": refused_report,
    "minimal": minimal_report,
}
