"""Mirror connectors as the file says against those that run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.estate.observed import ObservedConnector
from orchestrator.reconcile.applied import cause_of
from orchestrator.reconcile.comparison import Comparison
from orchestrator.reconcile.connectors import (
    ConfigureConnectors,
    ConnectorMeant,
    ConnectorWanted,
    CreateConnectors,
    DeleteConnectors,
    RestartConnectors,
    ResumeHalted,
)
from orchestrator.reconcile.difference import CONFIG, Difference, Finding
from orchestrator.replication.engine import DesiredConnector
from orchestrator.topology.secrecy import NOT_SHOWN, hides

_HALTED = frozenset({"PAUSED", "STOPPED"})


def compare_connectors(side: Comparison, held: Mapping[str, str]) -> Iterator[Finding]:
    """Connectors that are missing, set up otherwise, not running, or no longer wanted.

    `held`: sources whose mirror into this cluster must not be touched, with the reason; a failover has
    stopped it on purpose.
    """
    found = side.observed.connectors
    if found is None:
        return
    for name, connector in sorted(side.desired.connectors.items()):
        if connector.source in held:
            continue
        seen = found.get(name)
        if seen is None:
            yield _missing(side, connector)
            continue
        changed = list(_settings(side, connector, seen))
        yield from changed
        yield from _state(side, connector, seen, is_configured=bool(changed))
    yield from _no_longer_wanted(side, found)


def _missing(side: Comparison, connector: DesiredConnector) -> Finding:
    is_drift = side.applied is not None and connector.name in side.applied.connectors
    reason = f"the mirror from {connector.source} needs it"
    return Finding(
        Difference(
            cluster=side.desired.name,
            subject=f"connector {connector.name}",
            aspect="existence",
            wanted="RUNNING",
            found="",
            cause="drift" if is_drift else "change",
            mend="planned",
            reason=f"it was deleted; {reason}" if is_drift else f"it does not exist; {reason}",
        ),
        CreateConnectors(cluster=side.desired.name, connectors={connector.name: _wanted(connector)}),
    )


def _settings(side: Comparison, connector: DesiredConnector, seen: ObservedConnector) -> Iterator[Finding]:
    """One finding for each property; all of them are mended by the same work."""
    last = side.applied.connectors.get(connector.name) if side.applied else None
    work = ConfigureConnectors(cluster=side.desired.name, connectors={connector.name: _wanted(connector)})
    for key in sorted(connector.config.keys() | seen.config.keys()):
        wanted, has = connector.config.get(key), seen.config.get(key)
        if wanted == has:
            continue
        yield Finding(
            Difference(
                cluster=side.desired.name,
                subject=f"connector {connector.name}",
                aspect=f"{CONFIG} {key}",
                wanted=_shown(key, wanted),
                found=_shown(key, has),
                cause=cause_of(last.get(key) if last else None, wanted, has, is_known=last is not None),
                mend="planned",
                reason="the file alone configures the mirror",
            ),
            work,
        )


def _state(
    side: Comparison, connector: DesiredConnector, seen: ObservedConnector, *, is_configured: bool
) -> Iterator[Finding]:
    failed = seen.state == "FAILED" or "FAILED" in seen.tasks
    mend: type[ResumeHalted | RestartConnectors]
    if seen.state in _HALTED:
        mend, reason = ResumeHalted, "somebody stopped it: nothing is mirrored"
    elif failed:
        mend, reason = RestartConnectors, "it has failed: see Connect's log"
    else:
        return
    meant: ConnectorMeant = {
        "source": connector.source,
        "may_lack_tasks": connector.may_lack_tasks,
        "is_configured": is_configured,
    }
    tasks = f", tasks {', '.join(seen.tasks)}" if seen.tasks else ""
    yield Finding(
        Difference(
            cluster=side.desired.name,
            subject=f"connector {connector.name}",
            aspect="state",
            wanted="RUNNING",
            found=f"{seen.state}{tasks}",
            cause="drift",
            mend="planned",
            reason=reason,
        ),
        mend(cluster=side.desired.name, connectors={connector.name: meant}),
    )


def _no_longer_wanted(side: Comparison, found: Mapping[str, ObservedConnector]) -> Iterator[Finding]:
    if side.applied is None:
        return
    is_allowed = "delete-connectors" in side.allow
    for name in sorted((side.applied.connectors.keys() - side.desired.connectors.keys()) & found.keys()):
        why = side.kept.connectors.get(name, "")
        yield Finding(
            Difference(
                cluster=side.desired.name,
                subject=f"connector {name}",
                aspect="existence",
                wanted="",
                found=found[name].state,
                cause="change",
                mend="kept" if why else "planned" if is_allowed else "not-allowed",
                reason=why or "the file does not have its mirror any more",
                needs=None if why else "delete-connectors",
            ),
            DeleteConnectors(cluster=side.desired.name, connectors={name: {}})
            if is_allowed and not why
            else None,
        )


def _wanted(connector: DesiredConnector) -> ConnectorWanted:
    return {
        "config": dict(connector.config),
        "source": connector.source,
        "may_lack_tasks": connector.may_lack_tasks,
    }


def _shown(key: str, value: str | None) -> str:
    """A value for people: none that might be a secret."""
    if value is None:
        return ""
    return NOT_SHOWN if hides([key], value) else value
