"""What is installed with dcctl: the folders that come with its code, and the extras of its distribution."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Literal

from orchestrator.errors import DcctlError

DISTRIBUTION = "dcctl"

_CODE = Path(__file__).resolve().parent
_REQUIREMENT = re.compile(r"(?P<package>[\w.-]+).*?extra == \W(?P<extra>[\w-]+)")


def own_folder(name: Literal["playbooks", "topologies"]) -> Path:
    """A folder that comes with the code: inside the package, or beside it in a checkout.

    In an installation it may be missing all the same; the path says where it should be.
    """
    installed, checkout = _CODE / name, _CODE.parent
    is_checkout = not installed.is_dir() and (checkout / "pyproject.toml").is_file()
    return checkout / name if is_checkout else installed


def missing_package(error: ModuleNotFoundError) -> DcctlError | None:
    """What a user is told where a package of one of the extras is missing; None for any other module."""
    package = _normalized((error.name or "").partition(".")[0])
    extra = _extras().get(package)
    if extra is None:
        return None
    return DcctlError(
        f"Python package {package}",
        "is not installed, and this command needs it",
        install_extra(extra),
    )


def install_extra(extra: str) -> str:
    """The hint for what an extra has."""
    return f'install the rest of dcctl that this needs: pip install "{DISTRIBUTION}[{extra}]"'


def _extras() -> dict[str, str]:
    """For each package that an extra names: which one. Empty where dcctl runs without being installed."""
    try:
        found = [_REQUIREMENT.match(line) for line in requires(DISTRIBUTION) or ()]
    except PackageNotFoundError:
        return {}
    return {_normalized(one["package"]): one["extra"] for one in found if one is not None}


def _normalized(name: str) -> str:
    """Of a module or a package: `prometheus_client` is `prometheus-client`, by the rule of PyPI."""
    return re.sub(r"[-_.]+", "-", name).lower()
