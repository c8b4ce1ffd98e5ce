"""Builds the wheel, and installs it into environments that have nothing else: as somebody without this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.environment import uv_environment

ROOT = Path(__file__).parents[2]
UV = str(Path(sys.executable).parent / "uv")
_LOCKED = (
    *("--constraints", str(ROOT / "requirements.lock")),
    *("--build-constraints", str(ROOT / "requirements-bootstrap.lock")),
)
_KEPT_VARIABLES = ("HOME", "JAVA_HOME", "KAFKA_HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME")
_INSTALLED_WITHIN_S = 240.0


@dataclass(frozen=True)
class Installed:
    """dcctl in an environment of its own. Commands run in `work`, with nothing of this checkout about them."""

    folder: Path
    work: Path

    @property
    def python(self) -> Path:
        """The environment's Python."""
        return self.folder / "bin" / "python"

    def dcctl(self, *words: str, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
        """What the installed program says, and its status."""
        return self._run([str(self.folder / "bin" / "dcctl"), *words], timeout_s)

    def program(self, text: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
        """The same of a few lines of Python."""
        return self._run([str(self.python), "-c", text], timeout_s)

    def _run(self, words: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        outside = [
            path for path in os.environ["PATH"].split(os.pathsep) if not Path(path).is_relative_to(ROOT)
        ]
        return subprocess.run(
            words,
            cwd=self.work,
            env={**kept, "PATH": os.pathsep.join(outside), "DCCTL_STATE_DIR": str(self.work / "state")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )


def built(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is made of it: as `make package` does, elsewhere."""
    isolation = ("--offline", "--no-build-isolation", "--python", sys.executable)
    subprocess.run([UV, "build", "--quiet", *isolation, "--out-dir", str(folder), str(ROOT)], check=True)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def installed(wheel: Path, folder: Path, extra: str = "") -> Installed:
    """The wheel with the packages of an extra as they are locked, in a new environment below a folder.

    They are in the cache, since this checkout was set up; where that was emptied they are fetched again.
    """
    made = Installed(folder / (extra or "base"), folder / f"work-{extra or 'base'}")
    made.work.mkdir(parents=True)
    subprocess.run(
        [UV, "venv", "--quiet", "--offline", "--python", sys.executable, str(made.folder)], check=True
    )
    what = f"dcctl[{extra}] @ {wheel.as_uri()}" if extra else f"dcctl @ {wheel.as_uri()}"
    words = [UV, "pip", "install", "--quiet", "--python", str(made.python), *_LOCKED, what]
    environment = {**os.environ, **uv_environment()}
    if subprocess.run([*words, "--offline"], capture_output=True, check=False).returncode != 0:
        subprocess.run(words, env=environment, timeout=_INSTALLED_WITHIN_S, check=True)
    return made
