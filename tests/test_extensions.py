"""What is built in and what installed packages bring, by entry points as pip writes them."""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational
from pathlib import Path

import pytest

from orchestrator.errors import DcctlError
from orchestrator.extensions import Extensions
from orchestrator.topology.consumer_kinds import ConsumerKind

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
    ("reference", "said"),
    [
        ("no_such_module:toy", "package toys names no_such_module:toy, which cannot be imported"),
        ("fractions:no_such", "cannot be imported"),
        ("math:pi", "package toys is wrong: math:pi is no type"),
    ],
)
def test_a_package_that_is_wrong_is_named(installed, reference: str, said: str) -> None:
    """Whose fault it is stands in the error. What others bring serves, and nothing is left out unsaid."""
    installed("toys", f"toy = {reference}")
    installed("well", "good = fractions:Fraction")
    with pytest.raises(DcctlError, match=said):
        KNOWN.get("toy")
    assert KNOWN.names() == ("here", "good", "toy")
    assert list(KNOWN.all()) == ["here", "good"]
    (broken,) = KNOWN.broken()
    assert broken.subject == f"extension toy of {GROUP}"


def test_a_name_that_is_built_in_cannot_be_taken(installed) -> None:
    """dcctl's own serves, and who wanted its name is told of."""
    installed("toys", "here = fractions:Fraction")
    assert KNOWN.get("here").__name__ == "Decimal"
    assert KNOWN.names() == ("here",) == tuple(KNOWN.all())
    (broken,) = KNOWN.broken()
    assert broken.problem == "package toys and dcctl itself bring it"


def test_a_name_of_its_own_is_that_of_the_entry_point(installed) -> None:
    """Else a file would be read by one name, and what was read of it looked up by another."""
    installed("toys", "toy = tests.moves.toy_declared:TOY", "tally = tests.moves.toy_declared:TOY")
    kinds = Extensions(GROUP, ConsumerKind, {"own": "tests.moves.toy_declared:TOY"})
    assert kinds.get("toy").name == "toy"
    for name, whose in (("tally", "package toys"), ("own", "dcctl itself")):
        with pytest.raises(DcctlError, match=f"{whose} brings it, and it calls itself toy"):
            kinds.get(name)


@pytest.mark.parametrize(
    ("name", "reference", "said"),
    [
        ("here", "no_such_module:part", "dcctl itself names no_such_module:part, which cannot be imported"),
        ("toy", "fractions:no_such", "package toys names fractions:no_such, which cannot be imported"),
        ("toy", "math:pi", "package toys is wrong: math:pi is no type"),
    ],
)
def test_what_one_refers_to_is_found_or_its_package_named(
    installed, name: str, reference: str, said: str
) -> None:
    """And is what it has to be."""
    installed("toys", "toy = fractions:Fraction")
    assert KNOWN.part(name, "fractions:Fraction", type).__name__ == "Fraction"
    with pytest.raises(DcctlError, match=said):
        KNOWN.part(name, reference, type)


def test_what_one_makes_is_what_it_has_to_be(installed) -> None:
    """A class that is called, or a function."""
    installed("toys", "toy = fractions:Fraction")
    assert KNOWN.made("toy", "fractions:Fraction", Rational, 1, 2) == Fraction(1, 2)
    with pytest.raises(DcctlError, match="package toys is wrong: what decimal:Decimal makes is no Rational"):
        KNOWN.made("toy", "decimal:Decimal", Rational, 1)


def test_a_built_in_that_cannot_be_imported_is_named() -> None:
    """A part of dcctl that is missing is no traceback."""
    with pytest.raises(DcctlError, match="dcctl itself names no_such_module:it, which cannot be imported"):
        Extensions(GROUP, type, {"here": "no_such_module:it"}).get("here")


def test_two_packages_with_one_name_are_both_named(installed) -> None:
    """Which one was meant cannot be told."""
    installed("toys", "toy = fractions:Fraction")
    installed("more-toys", "toy = decimal:Decimal")
    installed("well", "good = fractions:Fraction")
    with pytest.raises(DcctlError, match=r"package .*toys and package .*toys bring it"):
        KNOWN.get("toy")
    assert list(KNOWN.all()) == ["here", "good"]
    (broken,) = KNOWN.broken()
    assert "toys bring it" in broken.problem
