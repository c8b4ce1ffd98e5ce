"""Files of a host that lie in a folder of this machine."""

from __future__ import annotations

from pathlib import Path

from orchestrator.adapters.certificates import write_private
from orchestrator.errors import SimulationError


class LocalFiles:
    """See `backend.Files`: all below one folder, which is moved away while the host is lost."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def can_be_reached(self) -> bool:
        """See `Files`."""
        return self._folder.exists()

    def place(self, path: str) -> Path:
        """See `Files`."""
        return self._folder / path

    def read(self, path: str) -> bytes:
        """See `Files`."""
        self._require()
        try:
            return self.place(path).read_bytes()
        except OSError as error:
            raise SimulationError(str(self.place(path)), f"cannot be read: {error.strerror}") from None

    def write(self, path: str, content: str | bytes, *, is_private: bool = False) -> None:
        """See `Files`."""
        self._require()
        file = self.place(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode("utf-8") if isinstance(content, str) else content
        if is_private:
            write_private(file, data)
        else:
            file.write_bytes(data)

    def make_folder(self, path: str) -> None:
        """See `Files`."""
        self._require()
        self.place(path).mkdir(parents=True, exist_ok=True)

    def list(self, folder: str = "") -> tuple[str, ...]:
        """See `Files`."""
        self._require()
        found = (file for file in self.place(folder).rglob("*") if file.is_file())
        return tuple(sorted(str(file.relative_to(self._folder)) for file in found))

    def remove(self, path: str) -> None:
        """See `Files`."""
        self._require()
        self.place(path).unlink(missing_ok=True)

    def _require(self) -> None:
        if not self.can_be_reached:
            raise SimulationError(str(self._folder), "cannot be reached: its host is lost or was never there")
