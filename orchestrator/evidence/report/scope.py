"""What a report does not prove, in sentences: from what was run and by what it was measured. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator

from orchestrator.topology.model import Topology
from orchestrator.wording import listed

_VALID = (
    "The verdict says whether what was measured is what had been stated. Whether that loss and that time are"
    " acceptable is for the recovery objectives to say"
)
_NO_OBJECTIVES = ", and the topology file states none (failover.objectives)"
_ONE_RUN = "It is one run: another one, under another load or at another hour, may take longer and lose more."


def rehearsal_limits(
    topology: Topology,
    *,
    backend_limits: str,
    rate_records_per_s: float,
    mirror_stall_s: float,
    is_planned: bool,
    returns: bool,
    is_moved: bool = True,
    is_watched: bool = True,
) -> list[str]:
    """Of a drill. `backend_limits`: what its back end says of itself; `mirror_stall_s`: 0 where none was
    done; `is_moved`: a command was given; `is_watched`: once a watcher had seen the loss.
    """
    limits = [
        backend_limits,
        f"The applications were programs of dcctl's own, {len(topology.producers)} producers and"
        f" {len(topology.consumers)} consumers, with a steady, synthetic load of"
        f" {rate_records_per_s:,.0f} records"
        " a second in all. Your applications, how they start, and what depends on them took no part.",
    ]
    if mirror_stall_s and not is_planned:
        limits.append(
            f"The mirror was stopped on purpose for the last {mirror_stall_s:g} s before each loss, so"
            f" that there"
            " was something to lose: how much a real link leaves behind is not shown."
        )
    if not is_planned:
        limits.append(
            "The site was lost at once and as a whole. Slow disks, a link that comes and goes, or half a site"
            " are other losses."
        )
    if not is_planned and is_moved:
        limits.append(
            "Nobody had to notice, to be called or to decide: the drill gave the command by itself "
            + ("as soon as the watcher had seen the loss." if is_watched else "some seconds after the loss.")
        )
    if returns:
        limits.append(
            "The lost site came back whole, with all of its disks: a way back with empty or damaged disks"
            " is not"
            " shown."
        )
    return [*limits, *_common(topology)]


def canary_limits(
    topology: Topology,
    *,
    canaries: Iterable[str],
    unmeasured: int,
    is_failover: bool,
    is_file_of_run: bool = True,
) -> list[str]:
    """Of a real run that canaries measured. `unmeasured`: topics and consumers that moved without a
    canary.
    """
    names = list(canaries)
    limits = [
        f"Canaries are not the applications. What {listed(names)} went through is measured; they write"
        f" and read"
        " topics of their own, at a rate of their own."
        if names
        else "Nothing was measured: no canary of the topology file wrote or read."
    ]
    if unmeasured:
        limits.append(
            f"{unmeasured} topics and consumers moved with the canaries and have none themselves: of them"
            f" there is"
            " only what the plan had stated."
        )
    if is_failover:
        limits.append(
            "When the site was lost is known only as far as a watcher saw it: times since the fault begin"
            " there."
        )
    if not is_file_of_run:
        limits.append(
            "The topology file has changed since the run was planned: what the file of that day said is"
            " in the"
            " plan of the run."
        )
    if is_on_this_machine(topology):
        limits.append(
            "Every server of the topology file has an address of one machine's loopback interface: this was a"
            " simulation, without a network between data centres."
        )
    return [*limits, *_common(topology)]


def _common(topology: Topology) -> Iterator[str]:
    yield _ONE_RUN
    yield _VALID + ("." if topology.failover.objectives is not None else f"{_NO_OBJECTIVES}.")


def is_on_this_machine(topology: Topology) -> bool:
    """Whether every broker's address is of a loopback interface; False where the file has no addresses."""
    hosts = [
        address.rpartition(":")[0].strip("[]")
        for cluster in topology.clusters.values()
        for address in cluster.bootstrap
    ]
    return bool(hosts) and all(_is_loopback(host) for host in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
