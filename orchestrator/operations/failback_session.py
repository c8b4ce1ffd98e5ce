"""What the actions of a failback share: both mirrors' sessions, and what earlier runs have recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from orchestrator.operations.estate_store import EstateRecord
from orchestrator.operations.observe import Estate
from orchestrator.operations.session import Session
from orchestrator.planning.failback import FailbackRequest
from orchestrator.planning.failback_picture import FailbackPicture
from orchestrator.topology.model import Replication, Topology


class FailbackSession(Session):
    """The session of the reverse mirror, whose target is the primary; `forward` is the mirror's own.

    Connect is the same for both: the workers at the standby.
    """

    def __init__(  # noqa: PLR0917 - the estate from both sides
        self,
        topology: Topology,
        mirror: Replication,
        estate: Estate,
        picture: FailbackPicture,
        request: FailbackRequest,
        folder: Path,
        run_id: str,
        estate_record: EstateRecord | None = None,
        holds_lock: Callable[[], bool] = lambda: True,
        attested_writers: Iterable[str] = (),
    ) -> None:
        super().__init__(
            estate,
            picture.observation,
            folder,
            run_id=run_id,
            estate_record=estate_record,
            holds_lock=holds_lock,
            attested_writers=attested_writers,
        )
        self.file = topology
        self.mirror = mirror
        self.picture = picture
        self.request = request
        standby = estate.servers.kafka(topology, mirror.target)
        ahead = replace(estate, topology=topology, mirror=mirror, target=standby)
        self.forward = Session(ahead, picture.observation, folder, run_id=run_id)

    def cancel(self) -> None:
        """Make every wait of this run end soon."""
        super().cancel()
        self.forward.cancel()
