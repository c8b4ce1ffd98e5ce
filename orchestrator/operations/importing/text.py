"""An imported topology as the text of a file: for people to read, correct and keep."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from orchestrator.planning.importing.seen import Imported
from orchestrator.topology.loading import dump_topology

_WIDTH = 110
_ORDER = (
    "version",
    "name",
    "layout",
    "datacenters",
    "clusters",
    "topics",
    "replication",
    "producers",
    "consumers",
    "coordination",
    "inventory",
)
_ROWS = frozenset({"topics", "replication", "producers", "consumers"})
_SAID: Mapping[str, str] = {
    "topics": "",
    "clusters": "What stands under `unknown` could not be seen from where dcctl looked; fill it in by hand.",
    "replication": "`managed: false` belongs to somebody else: it is observed, and never changed.",
    "producers": "Kafka does not know who produces: these are principals with the right to write. "
    "What they wait for (acks) cannot be seen.",
    "consumers": "Consumer groups. Spark queries cannot be told apart: their offsets lie in checkpoints.",
}


def topology_text(imported: Imported, origin: str) -> str:
    """The file: `origin` says who wrote it from what, the notes follow, then the topology."""
    data = dump_topology(imported.topology)
    keys = [*(key for key in _ORDER if key in data), *(key for key in data if key not in _ORDER)]
    text = _in_rows({key: data[key] for key in keys})
    head = [*_remark(origin), *(line for note in imported.notes for line in _remark(note, "- "))]
    return "\n".join([*head, *_with_remarks(text)]) + "\n"


def _in_rows(data: dict[str, Any]) -> str:
    """YAML in which every topic, mirror and client is one row, as people write them."""
    # What holds no further collection stands in one line by itself.
    representer: Any = yaml.representer.SafeRepresenter
    node = representer(default_flow_style=None, sort_keys=False).represent_data(data)
    for key, value in node.value:
        if key.value in _ROWS:
            for row in value.value:
                row.flow_style = True
    text: str = yaml.serialize(node, Dumper=yaml.CSafeDumper, allow_unicode=True, width=10_000)
    return text


def _with_remarks(text: str) -> Iterator[str]:
    for line in text.splitlines():
        key = line.partition(":")[0]
        if key in _SAID:
            yield ""
            yield from _remark(_SAID[key])
        yield line


def _remark(text: str, mark: str = "") -> Iterator[str]:
    """Lines of a comment."""
    first, rest = f"# {mark}", f"# {' ' * len(mark)}"
    yield from textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
