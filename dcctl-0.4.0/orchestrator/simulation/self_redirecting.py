"""Producers that move themselves, in a rehearsal: they follow once the other side is primary.

On a real estate DNS or a proxy sees to that; here their programs end at the one side and start at the other.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from orchestrator.errors import DcctlError
from orchestrator.moves.primary_gate import STEP as RECORD_PRIMARY
from orchestrator.runs.engine import OnEvent
from orchestrator.runs.plan import RunEvent
from orchestrator.simulation.running import Simulation
from orchestrator.snapshot.clients import producer_client


def followed_by(simulation: Simulation, dc: str, on_event: OnEvent) -> OnEvent:
    """`on_event`, beside which those producers move to `dc` when a run has recorded its primary."""
    topology = simulation.topology
    programs = [producer_client(p.name) for p in topology.producers if p.moved_by == "itself"]

    def take(event: RunEvent) -> None:
        is_primary = (event.kind, event.step, event.outcome) == ("step-outcome", RECORD_PRIMARY, "ok")
        if programs and is_primary:
            threading.Thread(target=_follow, args=(simulation, dc, programs), daemon=True).start()
        on_event(event)  # last: what is told is best effort

    return take


def _follow(simulation: Simulation, dc: str, programs: list[str]) -> None:
    # Whoever does not get there is not seen there, and named by the run.
    with suppress(DcctlError):
        for site in simulation.sites.values():
            if site.name != dc and site.state == "up":
                running = {name for name, state in site.states().items() if state == "RUNNING"}
                site.stop(sorted(running.intersection(programs)))
        simulation.site(dc).start(programs)
