"""The published JSON Schema and the model are one: what an editor accepts is what `validate` reads."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.topology.loading import check_text
from orchestrator.topology.schema import described_keys, topology_schema

TOPOLOGIES = Path(__file__).parents[2] / "topologies"
EXAMPLES = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in TOPOLOGIES.glob("*.yaml")}
VALIDATOR = jsonschema.Draft202012Validator(topology_schema())


def paths(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every path in plain data, the root last."""
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in parts:
        yield from paths(value, (*path, key))
    yield path


def structural_errors(data: Any) -> list[str]:
    """What the model says of the form of a file; rules have ids and are left out."""
    problems = check_text(json.dumps(data), "f").problems
    return [problem.text("f") for problem in problems if not problem.rule]


def test_the_schema_is_one() -> None:
    """By its own meta schema."""
    jsonschema.Draft202012Validator.check_schema(topology_schema())


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_valid_by_the_schema(name: str) -> None:
    """Editors show no false alarm."""
    VALIDATOR.validate(EXAMPLES[name])


def test_every_key_is_described_for_editors() -> None:
    """Each mapping of the file says what it is, and each of its keys what it is for."""
    schema = topology_schema()
    mappings = {"": schema, **schema["$defs"]}
    undescribed = [name for name, part in mappings.items() if not part.get("description")]
    undescribed += [
        f"{name}.{key}"
        for name, part in mappings.items()
        for key, of in part["properties"].items()
        if not of.get("description")
    ]
    assert not undescribed


def test_a_class_without_source_has_no_words() -> None:
    """As of a package that was installed without it."""
    assert described_keys(type("Made", (), {})) == {}


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.sampled_from([0.5, 1.5, -0.5]),
    st.sampled_from(
        ["", "west", "orders", "kraft", "1", "all", "4.3.1", "a b", "User:x", "User:", "x" * 250, "é"]
    ),
    st.just([]),
    st.just({}),
    st.just(["west"]),
    st.just({"x": 1}),
    st.just({"name": "x"}),
)


@st.composite
def changed_files(draw: st.DrawFn) -> Any:
    """An example with one to three parts removed, replaced, renamed or doubled."""
    data = copy.deepcopy(EXAMPLES[draw(st.sampled_from(sorted(EXAMPLES)))])
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([path for path in paths(data) if path]))
        *above, key = path
        parent = data
        for part in above:
            parent = parent[part]
        change = draw(st.sampled_from(["remove", "replace", "rename", "double"]))
        if change == "remove":
            del parent[key]
        elif change == "replace":
            parent[key] = copy.deepcopy(draw(VALUES))
        elif change == "rename" and isinstance(parent, dict):
            parent[f"{key}s"] = parent.pop(key)
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(parent[int(key)]))
    return data


@settings(max_examples=300, deadline=None)
@given(changed_files())
def test_schema_and_model_agree_on_broken_files(data: Any) -> None:
    """What the one refuses the other refuses, whatever was done to a file; and nothing crashes."""
    assert VALIDATOR.is_valid(data) == (not structural_errors(data)), structural_errors(data)


def test_truth_is_no_number() -> None:
    """`version: true` equals 1 for Python, and is no version."""
    data = {**copy.deepcopy(next(iter(EXAMPLES.values()))), "version": True}
    assert not VALIDATOR.is_valid(data)
    assert structural_errors(data)
