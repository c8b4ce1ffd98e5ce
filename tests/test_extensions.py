"""What is built in and what installed packages bring, by entry points as pip writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import DcctlError
from orchestrator.extensions import Extensions

GROUP = "dcctl.of-this-test"
BUILT_IN = {"here": "decimal:Decimal"}
KNOWN: Extensions[type] = Extensions(GROUP, type, BUILT_IN)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Installs a package: its name, and its entry points as lines."""

    def install(package: str, *lines: str) -> None:
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
        monkeypatch.syspath_prepend(str(tmp_path))

    return install


def test_what_is_built_in_is_found_without_a_look_at_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual case costs nothing."""
    monkeypatch.setattr("orchestrator.extensions.entry_points", None)
    assert KNOWN.get("here").__name__ == "Decimal"


def test_what_a_package_brings_is_found_by_its_entry_point(installed) -> None:
    """It stands behind what is built in."""
    installed("toys", "toy = fractions:Fraction")
    assert KNOWN.names() == ("here", "toy")
    assert [found.__name__ for found in KNOWN.all().values()] == ["Decimal", "Fraction"]
    assert KNOWN.get("else") is None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("toy = no_such_module:toy",), "package toys names no_such_module:toy, which cannot be imported"),
        (("toy = fractions:no_such",), "cannot be imported"),
        (("toy = math:pi",), "math:pi is no type"),
        (("here = fractions:Fraction",), "package toys and dcctl itself bring it"),
    ],
)
def test_a_package_that_is_wrong_is_named(installed, lines: tuple[str, ...], said: str) -> None:
    """Whose fault it is stands in the error."""
    installed("toys", *lines)
    with pytest.raises(DcctlError, match=said):
        KNOWN.all()


def test_two_packages_with_one_name_are_both_named(installed) -> None:
    """Which one was meant cannot be told."""
    installed("toys", "toy = fractions:Fraction")
    installed("more-toys", "toy = decimal:Decimal")
    with pytest.raises(DcctlError, match=r"package .*toys and package .*toys bring it"):
        KNOWN.get("toy")
