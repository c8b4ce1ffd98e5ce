"""Where a simulation keeps what: one folder each, below the user's state folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.runs.live.state_folder import state_folder


def simulations_folder() -> Path:
    """Holds one folder for each simulation that has not been taken down."""
    return state_folder() / "simulations"


def failures_folder() -> Path:
    """Holds the logs of each simulation that did not come up: its own folder is removed."""
    return state_folder() / "failed"


@dataclass(frozen=True, slots=True)
class Folders:
    """The paths inside one simulation's folder."""

    root: Path

    @property
    def topology(self) -> Path:
        """The completed topology file."""
        return self.root / "topology.yaml"

    @property
    def state(self) -> Path:
        """State of the simulation (`state.SimulationState`)."""
        return self.root / "simulation.json"

    @property
    def history(self) -> Path:
        """Every fault and its healing, one JSON object a line."""
        return self.root / "history.jsonl"

    @property
    def apply(self) -> Path:
        """Plan, journal and result of the apply that has filled the clusters."""
        return self.root / "apply"

    @property
    def inventory(self) -> Path:
        """Ansible's inventory."""
        return self.root / "inventory.yaml"

    @property
    def secrets(self) -> Path:
        """One file a principal, with its password."""
        return self.root / "secrets"

    @property
    def worker_secrets(self) -> Path:
        """The mirrors' passwords as Connect workers read them, wherever they are: outside all sites."""
        return self.root / "connect.properties"

    @property
    def logins(self) -> Path:
        """Passwords of dcctl itself at what is not Kafka, one file each."""
        return self.root / "logins"

    @property
    def authority(self) -> Path:
        """Certificate of the authority that every client trusts; only where connections are encrypted."""
        return self.root / "authority.pem"

    @property
    def coordination(self) -> Path:
        """The operator's ZooKeeper, outside all sites."""
        return self.root / "coordination"

    @property
    def ledgers(self) -> Path:
        """What clients write down about themselves, outside all sites."""
        return self.root / "ledgers"

    def site(self, dc: str) -> Path:
        """All that lies in one data centre."""
        return self.root / "sites" / dc

    def away(self, dc: str) -> Path:
        """Where a lost data centre's files are out of reach until it returns."""
        return self.root / "away" / dc

    def create(self) -> None:
        """Make the folders that are there from the beginning."""
        for private in (self.secrets, self.logins):
            private.mkdir(mode=0o700, parents=True)
        for folder in (self.coordination, self.ledgers, self.root / "sites", self.root / "away"):
            folder.mkdir(parents=True)
